"""Answers in text: calls as JSON in whatever dress, ReAct's actions, or words to the user.

Read are fences, `TOOL_CALL:`, `<tool_call>`, `[TOOL_CALLS]`, `<function=...>`, `Action:` with or
without `Action Input:`, lists, Python's quotes, text around a call, and a missing last brace. What
an agent makes up as a tool's result, and all after it, is cut away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from evalcore.benchmarks.agents.braces import stretches
from evalcore.benchmarks.agents.tool import Tool
from evalcore.benchmarks.agents.turn import Called, Turn, clean
from evalcore.benchmarks.bfcl.decode.call import Call, DecodeError, plain
from evalcore.benchmarks.bfcl.decode.json_styles import calls_in_json, read_arguments
from evalcore.benchmarks.bfcl.decode.tolerant import tolerant_calls, visible

#: The action by which an agent may say something to the user.
RESPOND = "respond"
MOST_CALLS = 20

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
_TOO_MANY = f"more than {MOST_CALLS} calls at once"
_NOTHING = "there is neither an action nor a message to the user"


def text_turn(text: str, offered: Sequence[Tool]) -> Turn:
    """What a text means to the environment and the user; never raises."""
    shown = visible(text)
    made_up = _MADE_UP.search(shown)
    if made_up and made_up.start():
        shown = shown[: made_up.start()].rstrip()
    calls = [pair for call in _calls(shown, offered) for pair in call.items()]
    acts = [Called(clean(name), plain(given)) for name, given in calls if name != RESPOND]
    if len(acts) > MOST_CALLS:
        return Turn(problem=_TOO_MANY)
    if acts:
        return Turn(calls=tuple(acts))
    if calls:
        return Turn(said=clean("\n".join(_content(given) for _, given in calls)))
    if _MEANT.search(shown):
        return Turn(problem=_UNREADABLE)
    return _spoken(shown)


def _calls(text: str, offered: Sequence[Tool]) -> list[Call]:
    functions = [{"name": tool.name, "parameters": tool.parameters} for tool in offered]
    functions.append({"name": RESPOND, "parameters": {"properties": {"content": {}}}})
    known = {str(function["name"]) for function in functions}
    found = _actions(text)
    if found:
        return found
    whole, cut = stretches(text)
    found = _readable(whole, known)
    if found:
        return found
    try:
        return tolerant_calls(text, functions)
    except DecodeError:
        return _readable([cut], known) if cut else []


def _readable(parts: Iterable[str], known: set[str]) -> list[Call]:
    return [call for part in parts for call in calls_in_json(part, known) or []]


def _actions(text: str) -> list[Call]:
    """ReAct's two lines: the name of a tool, and its input as an object."""
    found = []
    for action in _ACTION.finditer(text):
        whole, cut = stretches(text[action.end() :].split("\nAction", 1)[0])
        given = read_arguments((whole or [cut])[0])
        if isinstance(given, dict):
            found.append({action[1]: given})
    return found


def _content(given: dict[str, object]) -> str:
    return str(given.get("content", next(iter(given.values()), "")))


def _spoken(text: str) -> Turn:
    """The words for the user, without the thought before them."""
    if not _THOUGHT.match(text):
        return Turn(said=clean(text))
    label = _SPOKEN.search(text)
    said = text[label.end() :] if label else text.partition("\n")[2]
    return Turn(said=clean(said.strip())) if said.strip() else Turn(problem=_NOTHING)
