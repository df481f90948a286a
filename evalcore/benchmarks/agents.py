"""Agents with tools: how the tools are offered, and what an answer means.

An answer is a native tool call, a call in the text in one of several styles, or words to the user.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from evalcore.benchmarks.base import ToolCallMode
from evalcore.benchmarks.call_decoding import strip_hidden_text, tolerant_calls
from evalcore.benchmarks.call_decoding.call import (
    Call,
    DecodeError,
    replace_surrogates,
    to_plain_value,
)
from evalcore.benchmarks.call_decoding.json_and_xml import calls_in_json, parse_arguments
from evalcore.records import Completion, Message, Record, ToolCall

Schema = dict[str, Any]


class Tool(Record, frozen=True):
    """A name, what it does, and the JSON schema of its arguments in `parameters`."""

    name: str
    description: str
    parameters: Schema


class AgentCall(Record, frozen=True):
    """A call that an agent wrote; with a `problem` its arguments could not be read."""

    name: str
    kwargs: dict[str, Any] = {}
    problem: str = ""


class AgentTurn(Record, frozen=True):
    """`calls`, else what is `user_message` to the user, else a `problem`: a call that nobody can
    read. Words beside calls are for nobody, as in tau-bench."""

    user_message: str = ""
    calls: tuple[AgentCall, ...] = ()
    problem: str = ""


_MARK = re.compile(r'[{}\[\]"]')
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_CLOSED_BY = {"}": "{", "]": "["}
_CLOSES = {"{": "}", "[": "]"}
#: So far a closing brace looks for its partner; nothing deeper would be taken for a call.
_MAX_DEPTH = 64


def find_balanced_spans(text: str) -> tuple[list[str], str]:
    """The outermost balanced stretches in order, and the last unbalanced one, closed; or "". What
    stands in double quotes within braces is skipped. A brace that nothing closes hides nothing
    after it."""
    spans: list[tuple[int, int]] = []
    opened: list[tuple[str, int]] = []
    at, strings = 0, True
    while mark := _MARK.search(text, at):
        at, sign = mark.end(), mark[0]
        if sign == '"':
            string = _STRING.match(text, mark.start()) if opened and strings else None
            strings = strings and (string is not None or not opened)
            at = string.end() if string else at
        elif sign in _CLOSES:
            opened.append((sign, mark.start()))
        elif any(opener == _CLOSED_BY[sign] for opener, _ in opened[-_MAX_DEPTH:]):
            while opened:
                opener, start = opened.pop()
                if opener == _CLOSED_BY[sign]:
                    while spans and spans[-1][0] > start:
                        spans.pop()
                    spans.append((start, at))
                    break
    return [text[start:end] for start, end in spans], _close_open_span(text, opened)


def _close_open_span(text: str, opened: list[tuple[str, int]]) -> str:
    """The text from the first brace that is still open, with what closes it: an answer cut short
    by a bracket or two."""
    open_braces = [pair for pair in opened[:_MAX_DEPTH] if pair[0] == "{"]
    if not open_braces or len(opened) > _MAX_DEPTH:
        return ""
    start = open_braces[0][1]
    closing = "".join(_CLOSES[sign] for sign, offset in reversed(opened) if offset >= start)
    return text[start:].rstrip(" \t\r\n`") + closing


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


# Answers in text: calls as JSON in whatever dress, ReAct's actions, or words to the user.
# Read are fences, `TOOL_CALL:`, `<tool_call>`, `[TOOL_CALLS]`, `<function=...>`, `Action:` with
# or without `Action Input:`, lists, Python's quotes, text around a call, and a missing last
# brace. What an agent makes up as a tool's result, and all after it, is cut away.

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
    if not _THOUGHT.match(text):
        return AgentTurn(user_message=replace_surrogates(text))
    label = _SPOKEN.search(text)
    message = text[label.end() :] if label else text.partition("\n")[2]
    return (
        AgentTurn(user_message=replace_surrogates(message.strip()))
        if message.strip()
        else AgentTurn(problem=_NOTHING)
    )


# How an agent is asked: `native` (the server's own tool calls), or by prompt: `json` (a call is one
# JSON object), `react` (a thought before every action, words to the user being an action too).

Style = Literal["native", "json", "react"]
#: What may be chosen where tools are described in the prompt.
STYLES = ("json", "react")

#: How results of tools are announced in a message, as in tau-bench's text agents.
OUTPUT = "API output: "

#: Both forms, for an agent that talks to a user.
_JSON = """Every reply is either one call of a tool or a message to the user, never both.
To call a tool, reply with nothing but one JSON object:
{"name": "<tool>", "arguments": {"<argument>": <value>}}
Its result comes back in a message that begins with "API output:". Any other reply is read by the
user."""

_REACT = f"""Every reply is a thought and one action:
Thought: <what to do next, and why; the user does not see it>
Action: {{"name": "<tool>", "arguments": {{"<argument>": <value>}}}}
The result of a tool comes back in a message that begins with "API output:". To say something to
the user, the action is:
Action: {{"name": "{RESPOND}", "arguments": {{"content": "<your message>"}}}}"""

#: The form for an agent that works alone.
_ALONE = """Every reply is either one call of a tool or your final answer, never both.
To call a tool, reply with nothing but one JSON object:
{"name": "<tool>", "arguments": {"<argument>": <value>}}
Its result comes back in a message that begins with "API output:". Any other reply ends the task."""


def choose_style(mode: ToolCallMode, chosen: str) -> Style:
    """The style for a way of asking; `chosen` decides where it is by prompt."""
    if mode == "native":
        return "native"
    return "react" if mode == "prompt" and chosen == "react" else "json"


def describe_tools(offered: Sequence[Tool], style: Style, *, alone: bool = False) -> str:
    """What follows the instructions in the system message: nothing where tools are offered
    natively, else the tools and the form of a reply, to a user or `alone`."""
    if style == "native":
        return ""
    listed = json.dumps([_tool_to_dict(tool) for tool in offered], ensure_ascii=False)
    form = _ALONE if alone else _REACT if style == "react" else _JSON
    return f"\n\n# Tools\n{listed}\n\n# Form of your replies\n{form}"


def build_tool_schemas(offered: Sequence[Tool]) -> tuple[dict[str, Any], ...]:
    return tuple({"type": "function", "function": _tool_to_dict(tool)} for tool in offered)


def _tool_to_dict(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def assign_call_ids(calls: Sequence[ToolCall], step: int) -> tuple[ToolCall, ...]:
    """The calls with ids that are there and differ, the same each time that it is played."""
    ids = [call.id for call in calls]
    if all(ids) and len(set(ids)) == len(ids):
        return tuple(calls)
    return tuple(
        msgspec.structs.replace(call, id=f"call_{step}_{at}") for at, call in enumerate(calls)
    )


def repair_call_arguments(
    calls: Sequence[ToolCall], read_as: Sequence[AgentCall]
) -> tuple[ToolCall, ...]:
    """The calls as a server can read them back: many fail on arguments that are no JSON object,
    which would make an error of the target out of what the agent wrote. The transcript keeps them
    as they were."""
    if not calls:
        return ()
    return tuple(
        call if _is_object(call.arguments) else _with_arguments(call, called)
        for call, called in zip(calls, read_as, strict=True)
    )


def build_answer_messages(
    answer: Completion, calls: Sequence[ToolCall], read_as: Sequence[AgentCall]
) -> tuple[Message, Message]:
    """The answer with its native `calls` as it is recorded, and as the agent gets it back, with
    arguments that a server can read and what its provider wants to see again."""
    text, reasoning = replace_surrogates(answer.text), replace_surrogates(answer.reasoning)
    written = Message("assistant", text, reasoning, tuple(calls))
    repaired = repair_call_arguments(calls, read_as)
    return written, msgspec.structs.replace(written, tool_calls=repaired, opaque=answer.opaque)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _with_arguments(call: ToolCall, called: AgentCall) -> ToolCall:
    return msgspec.structs.replace(call, arguments=json.dumps(called.kwargs))


UNREADABLE = "the server could not read the call that the model wrote"


def parse_turn(answer: Completion, style: Style, offered: Sequence[Tool]) -> AgentTurn:
    """What an answer means; never raises, whatever a model wrote."""
    if answer.finish_reason == "unparsable":
        return AgentTurn(problem=UNREADABLE)
    if style == "native":
        return parse_native_turn(answer)
    return parse_text_turn(answer.text, offered)
