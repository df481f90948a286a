"""Past turns as a server takes them: what a model wrote may be refused when it comes back.

A refusal names what is wrong with the conversation (arguments that are no JSON, an empty turn, two
turns of one role, calls without results, ids, opaque fields of another model), and the request is
sent again with that mended. Nothing of a turn is changed before a server refused it. The mends hold
for every dialect, since they change messages and not their wire form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from evalcore.records import Message, ToolCall, content_hash, to_json
from evalcore.targets.endpoint.native import OPENING, read_arguments

#: What stands for a text that a server wants and the model did not write.
EMPTY_TEXT = "(empty)"
_NO_RESULT = "(no result)"

#: What the words of a refusal say is to be mended.
_REFUSALS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.I | re.S))
    for name, pattern in (
        (
            "arguments",
            r"arguments.{0,80}\b(json|object|dict|mapping)|expecting (property name|value|',')"
            r"|unterminated string starting|item pairs from a mapping|extra data: line"
            r"|tool_use\.input|function_?call\.args|tool.?calls?\b.{0,40}\b(parse|json)",
        ),
        (
            "ids",
            r"ids? must be unique|duplicate.{0,30}\bid|tool.?call.{0,20}\bid.{0,60}"
            r"(too long|pattern|length of)|id.{0,30}string too long|tool_use\.id",
        ),
        (
            "results",
            r"followed by tool|without.{0,60}tool_result|number of function (calls?|response)"
            r"|no tool (output|call) found|response to a preceding|tool_use_id.{0,60}found"
            r"|insufficient tool messages|did not have response messages",
        ),
        (
            "alternating",
            r"must alternate|successive (user|assistant)|interleave|consecutive (user|assistant)"
            r"|unexpected role|(first|1st) (message|turn|content).{0,40}\buser"
            r"|comes immediately after a user turn|no user query found",
        ),
        (
            "texts",
            r"non-?empty|(must|should|can) ?not be empty|is empty\b|either content or tool"
            r"|content.{0,20}\b(is required|is missing|field required)|at least one (part|content)"
            r"|contents?(\.parts)? must|content.{0,40}valid string|must be a string",
        ),
        (
            "opaque",
            r"(invalid|corrupted).{0,30}signature|encrypted content.{0,60}could not"
            r"|without its required following item|thinking blocks?.{0,80}cannot be modified"
            r"|item with id .{0,80}not found",
        ),
    )
)
MENDS = frozenset(name for name, _ in _REFUSALS)


def find_mend(words: str, messages: Sequence[Message], mends: frozenset[str]) -> str | None:
    """What a refusal says is to be mended in past turns that were sent with `mends`; None where it
    says nothing of the kind, or there are no past turns."""
    if not has_past_turns(messages):
        return None
    names = (name for name, pattern in _REFUSALS if name not in mends and pattern.search(words))
    return next(names, None)


def has_past_turns(messages: Iterable[Message]) -> bool:
    return any(message.role in ("assistant", "tool") for message in messages)


def mend_turns(messages: Sequence[Message], mends: frozenset[str]) -> tuple[Message, ...]:
    """The messages with all that `mends` names changed; those that need nothing stay as they
    are."""
    for name, mend in _MENDERS.items():
        if name in mends:
            messages = mend(messages)
    return tuple(messages)


def _write_objects(messages: Sequence[Message]) -> list[Message]:
    """Calls with arguments that are a JSON object; others become the text of one."""

    def mend(call: ToolCall) -> ToolCall:
        written = to_json(read_arguments(call)).decode()
        return call if _is_object(call) else msgspec.structs.replace(call, arguments=written)

    return [
        msgspec.structs.replace(message, tool_calls=tuple(map(mend, message.tool_calls)))
        for message in messages
    ]


def _is_object(call: ToolCall) -> bool:
    try:
        return isinstance(msgspec.json.decode(call.arguments), dict)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False


def _renumber_calls(messages: Sequence[Message]) -> list[Message]:
    """Calls with ids of nine letters and digits that differ, and results with those of theirs."""
    mended: list[Message] = []
    current: dict[str, list[str]] = {}
    for at, message in enumerate(messages):
        changes: dict[str, object] = {}
        if message.tool_calls:
            current = {}
            calls = []
            for number, call in enumerate(message.tool_calls):
                new = content_hash([at, number, call.id], 9)
                current.setdefault(call.id, []).append(new)
                calls.append(msgspec.structs.replace(call, id=new))
            changes["tool_calls"] = tuple(calls)
        elif message.role == "tool" and current.get(message.tool_call_id):
            ids = current[message.tool_call_id]
            changes["tool_call_id"] = ids.pop(0) if len(ids) > 1 else ids[0]
        mended.append(msgspec.structs.replace(message, **changes))
    return mended


def _complete_results(messages: Sequence[Message]) -> list[Message]:
    """Every call with one result right behind its turn, and no result without a call."""
    mended: list[Message] = []
    for at, message in enumerate(messages):
        if message.role == "tool":
            continue
        mended.append(message)
        results: dict[str, Message] = {}
        for later in messages[at + 1 :]:
            if later.role == "assistant":
                break
            if later.role == "tool":
                results.setdefault(later.tool_call_id, later)
        mended += [
            results.get(call.id, Message("tool", _NO_RESULT, tool_call_id=call.id))
            for call in message.tool_calls
        ]
    return mended


def _join_neighbors(messages: Sequence[Message]) -> list[Message]:
    """Turns of a person and of the model in turns, a person's first; results belong to a call."""
    mended: list[Message] = []
    for message in messages:
        last = mended[-1] if mended else None
        if last and last.role == message.role and message.role in ("user", "assistant"):
            joined = "\n\n".join(filter(None, (last.content, message.content)))
            mended[-1] = msgspec.structs.replace(
                last,
                content=joined,
                images=(*last.images, *message.images),
                tool_calls=(*last.tool_calls, *message.tool_calls),
                opaque={},
            )
            continue
        if message.role == "assistant" and (last is None or last.role == "system"):
            mended.append(OPENING)
        if message.role == "user" and last and last.role == "tool":
            mended.append(Message("assistant", EMPTY_TEXT))
        mended.append(message)
    return mended


def _fill_texts(messages: Sequence[Message]) -> list[Message]:
    """No turn without a text but one with calls, whose text some servers want to be none."""
    return [
        message
        if message.content.strip() or message.tool_calls or message.images
        else msgspec.structs.replace(message, content=EMPTY_TEXT, opaque={})
        for message in messages
    ]


def _strip_opaque(messages: Sequence[Message]) -> list[Message]:
    return [msgspec.structs.replace(message, opaque={}) for message in messages]


_MENDERS: Mapping[str, Callable[[Sequence[Message]], list[Message]]] = {
    "arguments": _write_objects,
    "ids": _renumber_calls,
    "results": _complete_results,
    "alternating": _join_neighbors,
    "texts": _fill_texts,
    "opaque": _strip_opaque,
}
