"""Agents: what they are told of tools, what their answers mean, and the loop of one alone."""

from __future__ import annotations

from collections.abc import Sequence

from evalcore.benchmarks.agents.native import parse_native_turn
from evalcore.benchmarks.agents.prompts import (
    STYLES,
    Style,
    build_tool_schemas,
    choose_style,
    describe_tools,
)
from evalcore.benchmarks.agents.text import parse_text_turn
from evalcore.benchmarks.agents.tool import Tool
from evalcore.benchmarks.agents.turn import AgentCall, AgentTurn
from evalcore.records import Completion

__all__ = [
    "STYLES",
    "AgentCall",
    "AgentTurn",
    "Style",
    "Tool",
    "build_tool_schemas",
    "choose_style",
    "describe_tools",
    "parse_turn",
]

UNREADABLE = "the server could not read the call that the model wrote"


def parse_turn(answer: Completion, style: Style, offered: Sequence[Tool]) -> AgentTurn:
    """What an answer means; never raises, whatever a model wrote."""
    if answer.finish_reason == "unparsable":
        return AgentTurn(problem=UNREADABLE)
    if style == "native":
        return parse_native_turn(answer)
    return parse_text_turn(answer.text, offered)
