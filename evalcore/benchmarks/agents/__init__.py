"""Agents: what they are told of tools, what their answers mean, and the loop of one alone."""

from __future__ import annotations

from collections.abc import Sequence

from evalcore.benchmarks.agents.native import native_turn
from evalcore.benchmarks.agents.prompts import STYLES, Style, described, style_of, tools
from evalcore.benchmarks.agents.text import text_turn
from evalcore.benchmarks.agents.tool import Tool
from evalcore.benchmarks.agents.turn import Called, Turn
from evalcore.records import Completion

__all__ = ["STYLES", "Called", "Style", "Tool", "Turn", "described", "read", "style_of", "tools"]

UNREADABLE = "the server could not read the call that the model wrote"


def read(answer: Completion, style: Style, offered: Sequence[Tool]) -> Turn:
    """What an answer means; never raises, whatever a model wrote."""
    if answer.finish_reason == "unparsable":
        return Turn(problem=UNREADABLE)
    if style == "native":
        return native_turn(answer)
    return text_turn(answer.text, offered)
