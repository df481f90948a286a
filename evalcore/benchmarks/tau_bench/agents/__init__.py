"""What an agent is told of the tools, and what its answers mean: calls, or words to the user."""

from __future__ import annotations

from collections.abc import Sequence

from evalcore.benchmarks.tau_bench.agents.native import native_turn
from evalcore.benchmarks.tau_bench.agents.prompts import STYLES, Style, style_of, system, tools
from evalcore.benchmarks.tau_bench.agents.text import text_turn
from evalcore.benchmarks.tau_bench.agents.turn import Called, Turn
from evalcore.benchmarks.tau_bench.environment import Tool
from evalcore.records import Completion

__all__ = ["STYLES", "Called", "Style", "Turn", "read", "style_of", "system", "tools"]

UNREADABLE = "the server could not read the call that the model wrote"


def read(answer: Completion, style: Style, offered: Sequence[Tool]) -> Turn:
    """What an answer means; never raises, whatever a model wrote."""
    if answer.finish_reason == "unparsable":
        return Turn(problem=UNREADABLE)
    if style == "native":
        return native_turn(answer)
    return text_turn(answer.text, offered)
