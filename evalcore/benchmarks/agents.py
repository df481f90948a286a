"""Agents with tools: how the tools are offered, and what an answer means.

An answer is a native tool call, a call in the text in any format, or words to the user.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from evalcore.benchmarks.base import ToolCallMode
from evalcore.benchmarks.call_decoding import cut_reasoning, strip_special_tokens
from evalcore.benchmarks.call_decoding.call import replace_surrogates, to_plain_value
from evalcore.call_formats import read_calls
from evalcore.call_formats.values import parse_argument_text
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
    read. Words beside calls are for nobody, as in tau-bench. `call_format` names the format that
    the calls of a text were read in."""

    user_message: str = ""
    calls: tuple[AgentCall, ...] = ()
    problem: str = ""
    call_format: str = ""


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
    arguments = parse_argument_text(call.arguments)
    if not isinstance(arguments, dict):
        return AgentCall(name, problem="the arguments are not a JSON object")
    return AgentCall(name, to_plain_value(arguments))


# Answers in text: calls in any format (`evalcore.call_formats`), or words to the user. What an
# agent makes up as a tool's result, and all after it, is cut away.

#: The action by which an agent may say something to the user.
RESPOND = "respond"
MAX_CALLS = 20

_MADE_UP = re.compile(
    r"^[ \t]*(?:observation|api output)\b[^\n:]{0,40}:|<(?:tool_response|function_results?)>",
    re.I | re.M,
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
_AS_TEXT = "a call was written as text and not made; call the tool itself"
_NOTHING = "there is neither an action nor a message to the user"


_RESPOND_FUNCTION: Schema = {"name": RESPOND, "parameters": {"properties": {"content": {}}}}


def _list_functions(offered: Sequence[Tool]) -> list[Schema]:
    return [{"name": tool.name, "parameters": tool.parameters} for tool in offered]


def parse_text_turn(text: str, offered: Sequence[Tool]) -> AgentTurn:
    """What a text means to the environment and the user; never raises."""
    written = cut_reasoning(text)
    made_up = _MADE_UP.search(written)
    if made_up and written[: made_up.start()].strip():
        written = written[: made_up.start()].rstrip()
    functions = [*_list_functions(offered), _RESPOND_FUNCTION]
    reading = read_calls(written, functions, lenient=True)
    calls = tuple(
        AgentCall(replace_surrogates(name), to_plain_value(arguments))
        for name, arguments in reading.calls
        if isinstance(arguments, dict)
    )
    acts = tuple(call for call in calls if call.name != RESPOND)
    if len(acts) > MAX_CALLS:
        return AgentTurn(problem=_TOO_MANY)
    if acts:
        return AgentTurn(calls=acts, call_format=reading.format)
    if calls:
        spoken = "\n".join(_extract_content(call.kwargs) for call in calls)
        return AgentTurn(user_message=replace_surrogates(spoken))
    shown = strip_special_tokens(written)
    if _MEANT.search(written):
        return AgentTurn(problem=_UNREADABLE)
    return _parse_user_message(shown)


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


#: How the calls of a turn were read: as asked for, in another form, or not at all.
CallReadingKind = Literal["native", "rescued", "lost"]
#: Formats in which an agent that is asked for JSON, or for an action in JSON, does as it is asked.
_ASKED_FORMATS = ("json", "json_in_prose")


def classify_call_reading(
    turn: AgentTurn, style: Style, offered: Sequence[Tool]
) -> CallReadingKind | None:
    """How the calls of a turn were read; None for a turn without any. Calls that are written as
    text where native ones are asked for are words to the user, and lost."""
    if turn.problem or any(call.problem for call in turn.calls):
        return "lost"
    if not turn.calls:
        said = cut_reasoning(turn.user_message) if style == "native" else ""
        return "lost" if read_calls(said, _list_functions(offered)).calls else None
    return "native" if style == "native" or turn.call_format in _ASKED_FORMATS else "rescued"


def summarize_call_readings(state: Mapping[str, Any]) -> dict[str, str | bool]:
    """The details `call_reading` and `lost_to_format` of a verdict: the worst reading of the turns
    with calls that the state of an episode counts in `call_readings`, and whether any was lost;
    nothing where there were none."""
    readings = state.get("call_readings") or {}
    worst = next((kind for kind in ("lost", "rescued", "native") if readings.get(kind)), "")
    return {"call_reading": worst, "lost_to_format": worst == "lost"} if worst else {}


def parse_turn(answer: Completion, style: Style, offered: Sequence[Tool]) -> AgentTurn:
    """What an answer means; never raises, whatever a model wrote."""
    if answer.finish_reason == "unparsable" and (style == "native" or not answer.text.strip()):
        return AgentTurn(problem=UNREADABLE)
    if style != "native":
        return parse_text_turn(answer.text, offered)
    turn = parse_native_turn(answer)
    if not turn.calls and read_calls(turn.user_message, _list_functions(offered)).calls:
        return AgentTurn(problem=_AS_TEXT)  # neither words to a user nor an answer
    return turn


def is_withheld(completion: Completion) -> bool:
    """Whether the provider's policy left nothing of an answer."""
    empty = not completion.text and not completion.tool_calls
    return empty and completion.finish_reason == "content_filter"
