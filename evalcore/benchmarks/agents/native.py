"""Answers with the server's own tool calls."""

from __future__ import annotations

from evalcore.benchmarks.agents.turn import AgentCall, AgentTurn, replace_surrogates
from evalcore.benchmarks.bfcl.decode.call import to_plain_value
from evalcore.benchmarks.bfcl.decode.json_styles import parse_arguments
from evalcore.records import Completion, ToolCall

_MAX_ARGUMENTS_LENGTH = 200_000


def parse_native_turn(answer: Completion) -> AgentTurn:
    """The calls of an answer, in order; without any, its text is said to the user."""
    if answer.tool_calls:
        return AgentTurn(calls=tuple(map(_parse_native_call, answer.tool_calls)))
    return AgentTurn(user_message=replace_surrogates(answer.text))


def _parse_native_call(call: ToolCall) -> AgentCall:
    name = replace_surrogates(call.name)
    if len(call.arguments) > _MAX_ARGUMENTS_LENGTH:
        return AgentCall(name, problem="the arguments are too long")
    arguments = parse_arguments(call.arguments) if call.arguments.strip() else {}
    if not isinstance(arguments, dict):
        return AgentCall(name, problem="the arguments are not a JSON object")
    return AgentCall(name, to_plain_value(arguments))
