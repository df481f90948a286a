"""Streamed answers: what the events of a server add up to."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest

from evalcore.errors import IntakeError
from evalcore.targets.endpoint.chat import parse_chat_completion
from evalcore.targets.endpoint.stream import ChatStream, EventReader, is_event_stream

CALL = {"index": 0, "id": "c1", "function": {"name": "add", "arguments": ""}}


def delta(more: dict[str, Any] | None, reason: str | None = None, **chunk: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": more or {}, "finish_reason": reason}
    return {"model": "m", "choices": [choice], **chunk}


def arguments(text: str, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, "function": {"arguments": text}} | more]}


def assemble(*chunks: Any, done: bool = True) -> ChatStream:
    stream = ChatStream()
    for chunk in chunks:
        stream.add_event("", json.dumps(chunk).encode())
    if done:
        stream.add_event("", b"[DONE]")
    return stream


def read(*chunks: Any) -> Any:
    return parse_chat_completion(assemble(*chunks).build_reply(), {})


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_events_are_read_from_pieces_of_any_size(size: int, newline: str) -> None:
    lines = [": hello", "", "event: a", "data: 1", "", "data:2", "data: 3", "id: 7", "", "data: 4"]
    body = newline.join(lines).encode()
    reader, events = EventReader(), []
    for at in range(0, len(body), size):
        events += reader.feed(body[at : at + size])
    events += reader.end()
    assert events == [("a", b"1"), ("", b"2\n3"), ("", b"4")]


def test_a_stream_is_known_by_its_type_or_its_beginning() -> None:
    assert is_event_stream("text/event-stream; charset=utf-8", b"")
    assert is_event_stream("application/json", b"\n\ndata: {}")
    assert is_event_stream("", b": OPENROUTER PROCESSING\n")
    assert not is_event_stream("application/json", b'{"data": 1}')


def test_text_thought_and_usage_add_up() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    done = read(
        delta({"role": "assistant", "content": ""}),
        delta({"reasoning_content": "I th"}),
        delta({"reasoning_content": "ink"}),
        delta({"content": "4"}),
        delta({"content": "2"}),
        delta({}, "stop"),
        {"choices": [], "usage": usage},
    )
    assert (done.text, done.reasoning, done.finish_reason) == ("42", "I think", "stop")
    assert (done.usage.input_tokens, done.usage.output_tokens) == (3, 2)


@pytest.mark.parametrize(
    "chunks",
    [
        [delta({"tool_calls": [CALL]}), delta(arguments('{"a"')), delta(arguments(": 1}"))],
        [delta({"tool_calls": [CALL | {"function": {"name": "add", "arguments": '{"a": 1}'}}]})],
        [delta({"tool_calls": [CALL | {"function": {"name": "add", "arguments": {"a": 1}}}]})],
        [
            delta({"tool_calls": [CALL]}),
            delta(arguments('{"a": 1}', function={"name": "add", "arguments": '{"a": 1}'})),
        ],
        [
            delta({"tool_calls": [{"id": "c1", "function": {"name": "add", "arguments": '{"a"'}}]}),
            delta({"tool_calls": [{"function": {"arguments": ": 1}"}}]}),
        ],
        [
            {"choices": [{"delta": {"tool_calls": [CALL]}, "index": 0}]},
            {"choices": [{"delta": arguments('{"a": 1}', id=""), "index": 0}]},
        ],
    ],
    ids=["pieces", "whole", "object", "name repeated", "no numbers", "empty id"],
)
def test_a_call_adds_up_whatever_its_pieces(chunks: list[Any]) -> None:
    done = read(*chunks, delta({}, "tool_calls"))
    [call] = done.tool_calls
    assert (call.id, call.name, json.loads(call.arguments)) == ("c1", "add", {"a": 1})


@pytest.mark.parametrize(
    ("numbers", "ids"),
    [
        ((0, 1), ("a", "b")),
        ((0, 1), ("", "")),
        ((0, 0), ("a", "b")),
        ((None, None), ("a", "b")),
        ((None, None), ("", "")),
    ],
)
def test_two_calls_stay_two(numbers: tuple[Any, Any], ids: tuple[str, str]) -> None:
    calls = [
        {"index": number, "id": own_id, "function": {"name": name, "arguments": "{}"}}
        for number, own_id, name in zip(numbers, ids, ("one", "two"), strict=True)
    ]
    done = read(*(delta({"tool_calls": [call]}) for call in calls), delta({}, "tool_calls"))
    assert [call.name for call in done.tool_calls] == ["one", "two"]
    assert [call.arguments for call in done.tool_calls] == ["{}", "{}"]


def test_parts_of_thinking_and_text_are_joined() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    done = read(
        delta({"content": [thought]}), delta({"content": "a"}), delta({"content": "b"}, "stop")
    )
    assert (done.text, done.reasoning) == ("ab", "hm")


def test_a_whole_message_replaces_what_came_before() -> None:
    choices = [
        {"index": 0, "message": {"content": text}, "finish_reason": reason}
        for text, reason in (("4", None), ("42", "stop"))
    ]
    assert read(*({"choices": [choice]} for choice in choices)).text == "42"


@pytest.mark.parametrize(
    "chunk",
    [
        {"error": {"code": 502, "message": "upstream is down"}},
        {"choices": [{"index": 0, "delta": {}, "error": {"code": 502, "message": "is down"}}]},
        {"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]},
    ],
)
def test_an_error_in_the_stream_is_no_answer(chunk: Any) -> None:
    assert read(delta({"content": "half"}), chunk).kind == "retryable"


def test_other_choices_are_passed_over() -> None:
    other = {"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}
    done = read(delta({"content": "a"}), {"choices": [other]}, delta({"content": "b"}, "stop"))
    assert done.text == "ab"


def test_what_has_arrived_of_a_cut_stream_is_there_and_not_whole() -> None:
    stream = assemble(delta({"content": "ha"}), delta({"content": "lf"}), done=False)
    assert not stream.is_complete
    assert parse_chat_completion(stream.build_reply(), {}).text == "half"
    assert ChatStream().build_reply() is None


@pytest.mark.parametrize("data", [b"5", b"[]", b"{", b'{"choices": [', b"\xff"])
def test_what_is_no_object_is_refused(data: bytes) -> None:
    with pytest.raises(IntakeError):
        ChatStream().add_event("", data)


@pytest.mark.parametrize(
    "delta_",
    [{"tool_calls": 5}, {"tool_calls": [5]}, {"content": {"a": 1}}, {"content": 5}, {"x": [1, {}]}],
)
def test_parts_of_the_wrong_type_end_nothing_but_the_answer(delta_: Any) -> None:
    with contextlib.suppress(IntakeError):
        read(delta(delta_, "stop"))


@pytest.mark.parametrize(
    "make",
    [
        lambda number: {f"field_{number}": "x"},
        lambda number: {"x": [{"index": number * 1000 + n} for n in range(1000)]},
        lambda number: {"tool_calls": [{"index": number * 1000 + n} for n in range(1000)]},
    ],
    ids=["fields", "parts", "calls"],
)
def test_what_a_stream_adds_up_to_is_bounded(make: Any) -> None:
    stream = ChatStream()
    with pytest.raises(IntakeError, match="more than"):
        for number in range(200):
            stream.add_event("", json.dumps(delta(make(number))).encode())


def test_opaque_fields_are_as_bounded_as_an_answer() -> None:
    message = {"content": "a", "thought_signature": "x" * 2_100_000}
    reply = {"choices": [{"message": message, "finish_reason": "stop"}]}
    assert parse_chat_completion(reply, {}).kind == "malformed"


def test_a_long_stream_takes_linear_time() -> None:
    stream = ChatStream()
    piece = json.dumps(delta(arguments("x" * 10))).encode()
    stream.add_event("", json.dumps(delta({"tool_calls": [CALL]})).encode())
    for _ in range(20_000):
        stream.add_event("", piece)
    reply = stream.build_reply()
    [call] = reply["choices"][0]["message"]["tool_calls"]
    assert len(call["function"]["arguments"]) == 200_000
