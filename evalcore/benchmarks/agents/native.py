"""Answers with the server's own tool calls."""

from __future__ import annotations

from evalcore.benchmarks.agents.turn import Called, Turn, clean
from evalcore.benchmarks.bfcl.decode.call import plain
from evalcore.benchmarks.bfcl.decode.json_styles import read_arguments
from evalcore.records import Completion, ToolCall

_LONGEST = 200_000


def native_turn(answer: Completion) -> Turn:
    """The calls of an answer, in order; without any, its text is said to the user."""
    if answer.tool_calls:
        return Turn(calls=tuple(map(_called, answer.tool_calls)))
    return Turn(said=clean(answer.text))


def _called(call: ToolCall) -> Called:
    name = clean(call.name)
    if len(call.arguments) > _LONGEST:
        return Called(name, problem="the arguments are too long")
    found = read_arguments(call.arguments) if call.arguments.strip() else {}
    if not isinstance(found, dict):
        return Called(name, problem="the arguments are not a JSON object")
    return Called(name, plain(found))
