"""A chat server on the loopback that answers BFCL's questions rightly, natively or in text.

It knows the bundled entries and finds the one that is asked by the first message of the user. What
it may do with tools is its `skill`: `native` calls them, `refuses` answers requests that offer any
with an error, as servers without a parser for calls do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.bfcl.answers import prompt_text, reference_answer
from evalcore.benchmarks.bfcl.categories import MULTI_TURN, find_category_language
from evalcore.benchmarks.bfcl.dataset import load_bfcl_samples, sample_to_entry
from evalcore.benchmarks.bfcl.entry import BfclEntry
from evalcore.benchmarks.bfcl.multi_turn.conversations import reference_step
from evalcore.benchmarks.bfcl.tool_prompts import to_wire_name
from evalcore.benchmarks.call_decoding import prompt_mode
from evalcore.records import Completion, Message, ToolCall
from tests.support import quiet_server

BUNDLED = Path(__file__).parents[2] / "datasets" / "bfcl"
_REFUSAL = {"error": {"message": "this model does not support tools", "type": "invalid_request"}}


@dataclass
class ToolServer:
    """`requests` are the bodies that came; `failing` makes every answer a server error."""

    skill: str = "native"
    failing: bool = False
    requests: list[dict[str, Any]] = field(default_factory=list)
    base_url: str = ""

    def __post_init__(self) -> None:
        samples = load_bfcl_samples(DatasetSource(path=str(BUNDLED)), (), False)
        self._entries = {_opening(entry): entry for entry in map(sample_to_entry, samples)}

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.requests.append(body)
        if self.failing:
            return 503, {"error": {"message": "overloaded"}}
        if body.get("tools") and self.skill == "refuses":
            return 400, _REFUSAL
        text = self._choose_reply(body)
        calls = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in text.tool_calls
        ]
        message = {"role": "assistant", "content": text.text} | (
            {"tool_calls": calls} if calls else {}
        )
        choice = {"index": 0, "message": message, "finish_reason": text.finish_reason}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        return 200, {"id": "1", "object": "chat.completion", "model": "m", "choices": [choice]} | {
            "usage": usage
        }

    def _choose_reply(self, body: dict[str, Any]) -> Completion:
        messages = [_message(message) for message in body["messages"]]
        first = next(m.content for m in messages if m.role == "user")
        entry = self._entries.get(first)
        if entry is None:
            return Completion(text="Hello.")
        native = bool(body.get("tools"))
        in_json = '"arguments": {"<argument>"' in messages[0].content
        if entry.category in MULTI_TURN:
            step = reference_step(entry, messages)
            return (
                step if native else Completion(text=_written(step.tool_calls, in_json) or step.text)
            )
        if native:
            return _native(entry)
        if in_json:
            return Completion(text=_as_json(entry))
        answer = reference_answer(entry, prompt_mode(find_category_language(entry.category)))
        assert isinstance(answer, str)
        return Completion(text=answer)


@contextmanager
def serve(skill: str = "native") -> Iterator[ToolServer]:
    """The server, listening; `base_url` is where."""
    state = ToolServer(skill)

    class Handler(quiet_server.Handler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            status, reply = state.answer(json.loads(self.content()))
            self.send_json(reply, status)

    with quiet_server.listening(Handler) as port:
        state.base_url = f"http://127.0.0.1:{port}/v1"
        yield state


def _opening(entry: BfclEntry) -> str:
    return next(m["content"] for turn in entry.question for m in turn if m["role"] == "user")


def _message(args: Mapping[str, Any]) -> Message:
    """A message as the reference control sees it: results told in text are a tool's."""
    content = args.get("content") or ""
    if args["role"] == "user" and content.startswith("[{'role': 'tool'"):
        return Message("tool", content)
    return msgspec.convert({"role": args["role"], "content": content}, Message)


def _native(entry: BfclEntry) -> Completion:
    answer = reference_answer(entry, "fc")
    if isinstance(answer, str):
        return Completion(text=answer)
    return Completion(tool_calls=answer, finish_reason="tool_calls")


def _as_json(entry: BfclEntry) -> str:
    answer = reference_answer(entry, "fc")
    if isinstance(answer, str):
        return answer
    names = {to_wire_name(function["name"]): function["name"] for function in entry.functions}
    calls = [{"name": names[c.name], "arguments": json.loads(c.arguments)} for c in answer]
    return json.dumps(calls if len(calls) > 1 else calls[0])


def _written(calls: tuple[ToolCall, ...], in_json: bool) -> str:
    """The calls of a step in text; nothing where there are none."""
    if not calls:
        return ""
    decoded = [{call.name: json.loads(call.arguments)} for call in calls]
    if not in_json:
        return prompt_text(decoded)
    return json.dumps([{"name": n, "arguments": a} for call in decoded for n, a in call.items()])
