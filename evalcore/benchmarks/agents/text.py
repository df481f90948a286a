"""Answers in text: calls as JSON in whatever dress, ReAct's actions, or words to the user.

Read are fences, `TOOL_CALL:`, `<tool_call>`, `[TOOL_CALLS]`, `<function=...>`, `Action:` with or
without `Action Input:`, lists, Python's quotes, text around a call, and a missing last brace. What
an agent makes up as a tool's result, and all after it, is cut away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from evalcore.benchmarks.agents.braces import find_balanced_spans
from evalcore.benchmarks.agents.tool import Tool
from evalcore.benchmarks.agents.turn import AgentCall, AgentTurn, replace_surrogates
from evalcore.benchmarks.bfcl.decode.call import Call, DecodeError, to_plain_value
from evalcore.benchmarks.bfcl.decode.json_styles import calls_in_json, parse_arguments
from evalcore.benchmarks.bfcl.decode.tolerant import strip_hidden_text, tolerant_calls

#: The action by which an agent may say something to the user.
RESPOND = "respond"
MAX_CALLS = 20

_MADE_UP = re.compile(r"^[ \t]*(?:observation|api output)\b[^\n:]{0,40}:", re.I | re.M)
_ACTION = re.compile(
    r"^[ \t*]*action[ \t*]*:[ \t*`]*([\w.-]+)[ \t*`]*\n\s*[*]*action[ _]input[ \t*]*:", re.I | re.M
)
_THOUGHT = re.compile(r"\s*[*]*thought[s]?[*]*\s*:", re.I)
_SPOKEN = re.compile(
    r"^[ \t*]*(?:(?:final |user )?(?:answer|response)|respond)[ \t*]*:[ \t*]*", re.I | re.M
)
#: What only a call looks like.
_MEANT = re.compile(
    r"TOOL_CALLS?\b|</?(?:tool_call|toolcall|function_call)|<function=|<\|python_tag\|>"
    r"|^[ \t*]*action[ \t*]*:|[\"'](?:arguments|parameters|kwargs|args)[\"']\s*:",
    re.I | re.M,
)
_UNREADABLE = "no call can be read; give one JSON object with name and arguments"
_TOO_MANY = f"more than {MAX_CALLS} calls at once"
_NOTHING = "there is neither an action nor a message to the user"


def parse_text_turn(text: str, offered: Sequence[Tool]) -> AgentTurn:
    """What a text means to the environment and the user; never raises."""
    shown = strip_hidden_text(text)
    made_up = _MADE_UP.search(shown)
    if made_up and made_up.start():
        shown = shown[: made_up.start()].rstrip()
    calls = [pair for call in _find_text_calls(shown, offered) for pair in call.items()]
    acts = [
        AgentCall(replace_surrogates(name), to_plain_value(arguments))
        for name, arguments in calls
        if name != RESPOND
    ]
    if len(acts) > MAX_CALLS:
        return AgentTurn(problem=_TOO_MANY)
    if acts:
        return AgentTurn(calls=tuple(acts))
    if calls:
        return AgentTurn(
            user_message=replace_surrogates(
                "\n".join(_extract_content(arguments) for _, arguments in calls)
            )
        )
    if _MEANT.search(shown):
        return AgentTurn(problem=_UNREADABLE)
    return _parse_user_message(shown)


def _find_text_calls(text: str, offered: Sequence[Tool]) -> list[Call]:
    functions = [{"name": tool.name, "parameters": tool.parameters} for tool in offered]
    functions.append({"name": RESPOND, "parameters": {"properties": {"content": {}}}})
    function_names = {str(function["name"]) for function in functions}
    calls = _parse_react_actions(text)
    if calls:
        return calls
    whole, cut = find_balanced_spans(text)
    calls = _parse_json_parts(whole, function_names)
    if calls:
        return calls
    try:
        return tolerant_calls(text, functions)
    except DecodeError:
        return _parse_json_parts([cut], function_names) if cut else []


def _parse_json_parts(parts: Iterable[str], function_names: set[str]) -> list[Call]:
    return [call for part in parts for call in calls_in_json(part, function_names) or []]


def _parse_react_actions(text: str) -> list[Call]:
    """ReAct's two lines: the name of a tool, and its input as an object."""
    calls = []
    for action in _ACTION.finditer(text):
        whole, cut = find_balanced_spans(text[action.end() :].split("\nAction", 1)[0])
        arguments = parse_arguments((whole or [cut])[0])
        if isinstance(arguments, dict):
            calls.append({action[1]: arguments})
    return calls


def _extract_content(arguments: dict[str, object]) -> str:
    return str(arguments.get("content", next(iter(arguments.values()), "")))


def _parse_user_message(text: str) -> AgentTurn:
    """The words for the user, without the thought before them."""
    if not _THOUGHT.match(text):
        return AgentTurn(user_message=replace_surrogates(text))
    label = _SPOKEN.search(text)
    message = text[label.end() :] if label else text.partition("\n")[2]
    return (
        AgentTurn(user_message=replace_surrogates(message.strip()))
        if message.strip()
        else AgentTurn(problem=_NOTHING)
    )
