"""The dialect of OpenAI's Responses API (also Azure, vLLM, OpenRouter and others).

Nothing is stored at the provider: each request holds the whole conversation, and the items of an
answer with their encrypted reasoning go back as they came.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from evalcore.i18n import Note
from evalcore.records import (
    Completion,
    Failure,
    FailureKind,
    GenerationRequest,
    Message,
    Sampling,
    ToolCall,
    Usage,
)
from evalcore.targets import failures
from evalcore.targets.endpoint.dialect import (
    Capabilities,
    WireRequest,
    read_finish_reason,
    read_token_count,
)
from evalcore.targets.endpoint.native import (
    cap_limit,
    check_answer_size,
    describe_function,
    drop_unset,
    fail_by_code,
    refuse_odd_events,
    refuse_odd_parts,
    unwrap_tool,
    write_arguments,
)
from evalcore.targets.endpoint.stream import decode_event

_PATH = "/responses"
_LEAST_TOKENS = 16  # the API refuses a lower limit
#: Models that reason; others refuse to be asked for encrypted reasoning.
_REASONING_MODEL = re.compile(r"(?i)(^|/)(o[1-9]|gpt-[5-9]|codex|gpt-oss)")
#: Errors of a response, in place of an HTTP status. Refusals by policy are no failures.
_ERRORS: dict[str, FailureKind | int] = {
    "server_error": "retryable",
    "vector_store_timeout": "retryable",
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "context_length_exceeded": 400,
    "invalid_prompt": "permanent",
}
_POLICY_ERRORS = frozenset(
    {"bio_policy", "misalignment_policy_violation", "image_content_policy_violation"}
)


class ResponsesDialect:
    """`ApiDialect` of the Responses API."""

    name = "responses"
    token_fields = ("max_output_tokens",)
    adaptable = frozenset(
        {"max_output_tokens", "temperature", "top_p", "include", "store", "stream"}
    )

    #: What a person may set and the API does not have.
    unsent = ("seed", "stop")

    def __init__(self, model: str, extra_body: Mapping[str, Any]) -> None:
        self._model, self._extra_body = model, dict(extra_body)

    def build_parameters(self, sampling: Sampling, capabilities: Capabilities) -> dict[str, Any]:
        """The API has neither stop strings nor a seed: they are not sent."""
        limit, effort = sampling.max_tokens, sampling.reasoning_effort
        reasons = effort not in (None, "none") or _REASONING_MODEL.search(self._model)
        requested = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_output_tokens": None if limit is None else max(limit, _LEAST_TOKENS),
            "reasoning": {"effort": effort} if effort else None,
            "store": False,
            "include": ["reasoning.encrypted_content"] if reasons else None,
            "stream": True if capabilities.stream else None,
        }
        merged = {
            "model": self._model,
            **drop_unset(requested, capabilities.refused),
            **self._extra_body,
        }
        return cap_limit(merged, self.token_fields, capabilities.most_tokens)

    def build_request(
        self, request: GenerationRequest, parameters: Mapping[str, Any], capabilities: Capabilities
    ) -> WireRequest:
        items = [item for message in request.messages for item in _build_items(message)]
        tools = {"tools": [_build_tool(tool) for tool in request.tools]} if request.tools else {}
        return WireRequest(_PATH, {**parameters, "input": items, **tools})

    def authorize(self, key: str, url: str, body: bytes) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {key}"}

    def parse_reply(self, reply: Any, sent: Mapping[str, Any]) -> Completion | Failure:
        return parse_response(reply, sent)

    def start_stream(self) -> ResponseStream:
        return ResponseStream()


def _build_items(message: Message) -> Iterator[dict[str, Any]]:
    """The items of one turn. What the provider wants back of an answer stands in its own order;
    calls have the arguments of the message, which may have been repaired."""
    if message.role == "tool":
        yield {
            "type": "function_call_output",
            "call_id": message.tool_call_id,
            "output": message.content,
        }
        return
    calls = {call.id: _build_call(call) for call in message.tool_calls}
    returned = message.opaque.get("responses")
    if message.role == "assistant" and isinstance(returned, list):
        for item in returned:
            if item.get("type") != "function_call":
                yield item
            elif str(item.get("call_id")) in calls:
                yield calls.pop(str(item["call_id"]))
    elif message.images:
        text = [{"type": "input_text", "text": message.content}] if message.content else []
        images = [{"type": "input_image", "image_url": image} for image in message.images]
        yield {"role": message.role, "content": [*text, *images]}
    elif message.content or not calls:
        yield {"role": message.role, "content": message.content}
    yield from calls.values()


def _build_call(call: ToolCall) -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
    }


def _build_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool as chat completions mean it: here a schema would be strict unless it says no."""
    is_strict = bool(unwrap_tool(tool).get("strict", False))
    return {"type": "function", **describe_function(tool, "parameters"), "strict": is_strict}


@refuse_odd_parts
def parse_response(reply: Any, sent: Mapping[str, Any]) -> Completion | Failure:
    """Read the JSON of a response; a Failure where it holds no answer."""
    if not isinstance(reply, dict):
        return failures.malformed_failure(Note("reply_no_object"))
    error, usage = reply.get("error"), _parse_usage(reply.get("usage"))
    if error:
        is_policy = isinstance(error, dict) and str(error.get("code")) in _POLICY_ERRORS
        if is_policy or failures.is_content_filter(400, json.dumps({"error": error})):
            return Completion(finish_reason="content_filter", usage=usage, sent=dict(sent))
        return fail_by_code(error, _ERRORS)
    finish = _read_finish(reply)
    if isinstance(finish, Failure):
        return finish
    items = reply.get("output")
    if not isinstance(items, list):
        return failures.malformed_failure(Note("reply_without", field="output"))
    answer, commentary, thoughts, calls = _parse_items(items)
    if finish == "stop" and calls:
        finish = "tool_calls"
    return check_answer_size(
        Completion(
            text="".join(answer or commentary),
            reasoning="\n".join([*thoughts, *(commentary if answer else ())]),
            tool_calls=calls,
            finish_reason=finish or ("tool_calls" if calls else "unknown"),
            usage=usage,
            model=str(reply.get("model") or ""),
            sent=dict(sent),
            opaque=_collect_opaque(items),
        )
    )


def _read_finish(reply: Mapping[str, Any]) -> str | Failure:
    status, details = reply.get("status"), reply.get("incomplete_details")
    if status == "completed":
        return "stop"
    if status == "incomplete":
        reason = details.get("reason") if isinstance(details, dict) else None
        return read_finish_reason(reason or "incomplete")
    return read_finish_reason("error" if status == "failed" else status)


def _parse_items(items: list[Any]) -> tuple[list[str], list[str], list[str], tuple[ToolCall, ...]]:
    """Texts that are the answer, texts that are not called so (`phase`), thoughts and calls."""
    answer: list[str] = []
    commentary: list[str] = []
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    for item in items:
        kind = item.get("type")
        if kind == "message":
            texts = answer if item.get("phase") != "commentary" else commentary
            for part in item["content"] or ():
                text = part.get("text") if "text" in part else part.get("refusal")
                texts.append(_check_text(text))
        elif kind == "reasoning":
            parts = [*(item.get("summary") or ()), *(item.get("content") or ())]
            thoughts += [_check_text(part.get("text")) for part in parts]
        elif kind == "function_call":
            calls.append(
                ToolCall(
                    id=str(item.get("call_id") or item.get("id") or f"call_{len(calls)}"),
                    name=str(item.get("name") or ""),
                    arguments=write_arguments(item.get("arguments")),
                )
            )
    return answer, commentary, thoughts, tuple(calls)


def _check_text(text: Any) -> str:
    if not isinstance(text, str | None):
        raise TypeError("text")
    return text or ""


def _collect_opaque(items: list[Any]) -> dict[str, Any]:
    """The items, where some hold what a turn of chat completions cannot: encrypted reasoning, or
    the phase of a message. Fields that say nothing are left out, since the API refuses some."""
    if not any("encrypted_content" in item or item.get("phase") for item in items):
        return {}
    return {
        "responses": [
            {
                name: value
                for name, value in item.items()
                if value is not None and (name, item.get("type")) != ("status", "reasoning")
            }
            for item in items
        ]
    }


def _parse_usage(usage: Any) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    return Usage(
        input_tokens=read_token_count(usage, "input_tokens"),
        output_tokens=read_token_count(usage, "output_tokens"),
        reasoning_tokens=read_token_count(usage.get("output_tokens_details"), "reasoning_tokens"),
        cached_tokens=read_token_count(usage.get("input_tokens_details"), "cached_tokens"),
    )


#: Events that end a stream with the whole response.
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
#: Events with a piece of an item: the list of the item that it belongs to, and the form of a part.
_PIECES: dict[str, tuple[str, str, str]] = {
    "response.output_text.delta": ("content", "output_text", "text"),
    "response.refusal.delta": ("content", "refusal", "refusal"),
    "response.reasoning_text.delta": ("content", "reasoning_text", "text"),
    "response.reasoning_summary_text.delta": ("summary", "summary_text", "text"),
    "response.function_call_arguments.delta": ("arguments", "", ""),
}


class ResponseStream:
    """`StreamAssembler` of the Responses API: its last event holds the whole response; without it,
    what has arrived is put together from the items and their pieces."""

    def __init__(self) -> None:
        self.is_complete = False
        self._error: Any = None
        self._head: dict[str, Any] = {}
        self._items: dict[Any, dict[str, Any]] = {}
        self._pieces: dict[tuple[Any, str, str, str], list[str]] = {}

    @refuse_odd_events
    def add_event(self, event: str, data: bytes) -> bool:
        content = None if data.strip() == b"[DONE]" else decode_event(data)
        if not isinstance(content, dict):
            return False
        kind, index = content.get("type") or event, content.get("output_index")
        item, response, delta = (content.get(name) for name in ("item", "response", "delta"))
        if isinstance(response, dict):
            self._head, self.is_complete = response, kind in _ENDS
        elif kind == "error" or (content.get("error") and not item):
            self._error, self.is_complete = content.get("error") or content, True
        elif isinstance(item, dict):
            self._items[index] = item
            if kind == "response.output_item.done":
                self._pieces = {k: v for k, v in self._pieces.items() if k[0] != index}
        elif kind in _PIECES and isinstance(delta, str):
            self._pieces.setdefault((index, *_PIECES[kind]), []).append(delta)
            return bool(delta)
        return False

    def build_reply(self) -> Any:
        if self._error:
            return {"error": self._error}
        if self._head.get("output") and self.is_complete:
            return self._head
        if not self._head and not self._items and not self._pieces:
            return None
        items = {index: dict(item) for index, item in self._items.items()}
        for (index, field, kind, name), texts in self._pieces.items():
            default = "function_call" if field == "arguments" else "message"
            item = items.setdefault(index, {"type": default})
            joined = "".join(texts)
            part = joined if field == "arguments" else [{"type": kind, name: joined}]
            item[field] = part
        head = self._head if self.is_complete else {**self._head, "status": None}
        return head | {"output": list(items.values())}
