"""What the dialects of single vendors (OpenAI Responses, Anthropic Messages, Gemini) share: turns
in their order, tools, images, and the bounds of an answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

import msgspec

from evalcore.errors import IntakeError
from evalcore.i18n import Note
from evalcore.intake.http import ANSWER_LIMIT
from evalcore.records import Completion, Failure, FailureKind, Message, ToolCall
from evalcore.targets import failures

#: The first turn of a person where a conversation begins with the model's, which these vendors
#: do not take.
OPENING = Message("user", "Please begin.")

_T = TypeVar("_T")
_SURPRISES = (TypeError, AttributeError, KeyError, ValueError, IndexError)


def split_system_turns(messages: Sequence[Message]) -> tuple[str, list[Message]]:
    """The text of the system turns, and the other turns, which begin with a person's."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    turns = [message for message in messages if message.role != "system"]
    if not turns or turns[0].role != "user":
        turns.insert(0, OPENING)
    return system, turns


def merge_turns(turns: Iterable[tuple[str, list[_T]]]) -> list[tuple[str, list[_T]]]:
    """Turns of (role, parts) without the empty ones, neighbors of one role as one: the results of
    all calls of an answer have to come in a single turn."""
    merged: list[tuple[str, list[_T]]] = []
    for role, parts in turns:
        if parts and merged and merged[-1][0] == role:
            merged[-1][1].extend(parts)
        elif parts:
            merged.append((role, list(parts)))
    return merged


def unwrap_tool(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """The bare description of a function: name, description, parameters."""
    function = tool.get("function")
    return function if isinstance(function, dict) else tool


def describe_parameters(function: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of a function's parameters, which is of an object; one without any takes an
    empty one."""
    return {"type": "object", "properties": {}, **(function.get("parameters") or {})}


def describe_function(tool: Mapping[str, Any], schema: str) -> dict[str, Any]:
    """A function with its parameters under the name `schema`; without a description it has none."""
    function = unwrap_tool(tool)
    described = {"description": function["description"]} if function.get("description") else {}
    return {"name": function.get("name"), **described, schema: describe_parameters(function)}


def split_data_address(image: str) -> tuple[str, str] | None:
    """Media type and base64 of a data address; None for any other address."""
    head, comma, data = image.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    return head[len("data:") : -len(";base64")] or "image/png", data


def read_arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call as an object; what the model wrote in another form stays a text."""
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return {"arguments": call.arguments}
    return arguments if isinstance(arguments, dict) else {"arguments": call.arguments}


def write_arguments(value: Any) -> str:
    """Arguments as JSON text, whether the server sent an object or a text."""
    return value if isinstance(value, str) else json.dumps(value or {}, ensure_ascii=False)


def drop_unset(values: Mapping[str, Any], refused: Iterable[str] = ()) -> dict[str, Any]:
    """Parameters that somebody set and the server takes."""
    leave_out = frozenset(refused)
    return {name: v for name, v in values.items() if v is not None and name not in leave_out}


def cap_limit(
    parameters: dict[str, Any], fields: Sequence[str], most_tokens: int | None
) -> dict[str, Any]:
    """The parameters with no limit of the answer above what the model takes."""
    too_large = {
        name: most_tokens
        for name in fields
        if most_tokens and isinstance(parameters.get(name), int) and parameters[name] > most_tokens
    }
    return parameters | too_large


def refuse_odd_parts(
    parse: Callable[[Any, Mapping[str, Any]], Completion | Failure],
) -> Callable[[Any, Mapping[str, Any]], Completion | Failure]:
    """Make a parser's surprise at the types of a reply's parts the failure that it is."""

    @wraps(parse)
    def parse_strictly(reply: Any, sent: Mapping[str, Any]) -> Completion | Failure:
        try:
            return parse(reply, sent)
        except _SURPRISES:
            return failures.malformed_failure(Note("reply_wrong_type"))

    return parse_strictly


def refuse_odd_events(
    add_event: Callable[[_T, str, bytes], bool],
) -> Callable[[_T, str, bytes], bool]:
    """As `refuse_odd_parts`, for the events of a stream: raises IntakeError."""

    @wraps(add_event)
    def add_strictly(assembler: _T, event: str, data: bytes) -> bool:
        try:
            return add_event(assembler, event, data)
        except _SURPRISES:
            raise IntakeError(Note("stream_parts")) from None

    return add_strictly


def check_answer_size(completion: Completion) -> Completion | Failure:
    """The answer, or the failure that it is too large to be kept."""
    opaque = msgspec.json.encode(completion.opaque) if completion.opaque else b""
    arguments = sum(len(call.arguments) for call in completion.tool_calls)
    size = len(completion.text) + len(completion.reasoning) + arguments + len(opaque)
    if size > ANSWER_LIMIT:
        return failures.malformed_failure(Note("reply_long", count=f"{ANSWER_LIMIT:,}"))
    return completion


def fail_by_code(error: Any, kinds: Mapping[str, FailureKind | int]) -> Failure:
    """The failure that an error inside a reply of status 200 means, by the first of its words
    (code, type, status) that `kinds` maps to a kind or to the HTTP status it stands for."""
    fields = error if isinstance(error, dict) else {}
    for name in ("code", "type", "status"):
        meaning = kinds.get(str(fields.get(name)).lower())
        if isinstance(meaning, int):
            body = json.dumps({"error": error}, ensure_ascii=False)
            return failures.from_status(meaning, {}, body)
        if meaning is not None:
            words = str(fields.get("message") or fields.get(name))
            return Failure(kind=meaning, message=Note("reply_error", message=words), status=200)
    return failures.from_error_body(error)
