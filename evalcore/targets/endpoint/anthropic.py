"""The dialect of Anthropic's Messages API, at Anthropic, on Amazon Bedrock and on Vertex AI.

Plain HTTP in place of the SDK: that speaks the API's version 2026-10-21 only, which refuses
`temperature` and `top_p`, and older models are to be asked as other models are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote

from evalcore.i18n import Note
from evalcore.intake import add_counts
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
from evalcore.targets.endpoint import native
from evalcore.targets.endpoint.dialect import (
    Capabilities,
    WireRequest,
    read_finish_reason,
    read_token_count,
)
from evalcore.targets.endpoint.stream import decode_event

VERSION = "2023-06-01"
#: Who runs the model: it decides the path, and where version and model are named.
Platform = Literal["anthropic", "bedrock", "vertex"]
_PLATFORM_VERSIONS = {"bedrock": "bedrock-2023-05-31", "vertex": "vertex-2023-10-16"}
#: The limit of an answer where nobody set one; the API wants one. A model that takes less says so.
_DEFAULT_TOKENS = 32_000
#: Models that think by a number of tokens, not by an effort.
_BUDGET_MODEL = re.compile(r"claude-(3|(opus|sonnet|haiku)-4(?!-[6-9]))")
_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384}
_MOST_BUDGET = 32_000
_EFFORTS = {"minimal": "low"}
#: Types of errors in a stream or in a reply of status 200, and the status each has elsewhere.
_ERRORS: dict[str, FailureKind | int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_BAD_ID = re.compile(r"[^a-zA-Z0-9_-]")


def detect_platform(base_url: str) -> Platform:
    """Who runs the model at an address, by the forms that Amazon and Google give theirs."""
    if re.search(r"//bedrock-runtime[.-]", base_url):
        return "bedrock"
    return "vertex" if "/publishers/anthropic" in base_url else "anthropic"


class AnthropicDialect:
    """`ApiDialect` of the Messages API."""

    name = "anthropic"
    token_fields = ("max_tokens",)
    adaptable = frozenset({"max_tokens", "temperature", "top_p", "stop_sequences", "stream"})

    #: What a person may set and the API does not have.
    unsent = ("seed",)

    def __init__(
        self, model: str, extra_body: Mapping[str, Any], platform: Platform = "anthropic"
    ) -> None:
        self._model, self._extra_body, self._platform = model, dict(extra_body), platform

    def build_parameters(self, sampling: Sampling, capabilities: Capabilities) -> dict[str, Any]:
        """The API has no seed and takes no blank stop string: they are not sent. A thought comes
        out of the limit of the answer."""
        limit = sampling.max_tokens or _DEFAULT_TOKENS
        # Bedrock streams in a framing of its own, so that it is asked for whole answers there.
        streams = capabilities.stream and self._platform != "bedrock"
        requested = {
            "max_tokens": limit,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "stop_sequences": [text for text in sampling.stop if text.strip()] or None,
            "stream": True if streams else None,
            **_build_thinking(self._model, sampling.reasoning_effort, limit),
        }
        merged = {
            "model": self._model,
            **native.drop_unset(requested, capabilities.refused - {"max_tokens"}),
            **self._extra_body,
        }
        return native.cap_limit(merged, self.token_fields, capabilities.most_tokens)

    def build_request(
        self, request: GenerationRequest, parameters: Mapping[str, Any], capabilities: Capabilities
    ) -> WireRequest:
        system, turns = native.split_system_turns(request.messages)
        merged = native.merge_turns((_role(turn), _build_blocks(turn)) for turn in turns)
        body: dict[str, Any] = {
            **parameters,
            **({"system": system} if system else {}),
            "messages": [{"role": role, "content": blocks} for role, blocks in merged],
        }
        if request.tools:
            body["tools"] = [
                native.describe_function(tool, "input_schema") for tool in request.tools
            ]
        if self._platform == "anthropic":
            return WireRequest("/messages", body, {"anthropic-version": VERSION})
        body["anthropic_version"] = _PLATFORM_VERSIONS[self._platform]
        model = quote(str(body.pop("model")), safe=":@" if self._platform == "vertex" else "")
        if self._platform == "bedrock":
            body.pop("stream", None)
            return WireRequest(f"/model/{model}/invoke", body)
        verb = "streamRawPredict" if body.get("stream") else "rawPredict"
        return WireRequest(f"/models/{model}:{verb}", body)

    def authorize(self, key: str, url: str, body: bytes) -> Mapping[str, str]:
        if self._platform == "anthropic":
            return {"x-api-key": key}
        return {"Authorization": f"Bearer {key}"}

    def parse_reply(self, reply: Any, sent: Mapping[str, Any]) -> Completion | Failure:
        return parse_message(reply, sent)

    def start_stream(self) -> MessageStream:
        return MessageStream()


def _build_thinking(model: str, effort: str | None, limit: int) -> dict[str, Any]:
    """How a model is asked to think; nothing where nobody said how much."""
    if not effort:
        return {}
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    if _BUDGET_MODEL.search(model):
        budget = max(1024, min(_BUDGETS.get(effort, _MOST_BUDGET), limit // 2))
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}
    return {
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": _EFFORTS.get(effort, effort)},
    }


def _role(message: Message) -> str:
    return "assistant" if message.role == "assistant" else "user"


def _build_blocks(message: Message) -> list[dict[str, Any]]:
    """The content of one turn. Thoughts go back unchanged and in their place; the API takes no
    empty text."""
    if message.role == "tool":
        result = {"type": "tool_result", "tool_use_id": _clean_id(message.tool_call_id)}
        return [{**result, **({"content": message.content} if message.content else {})}]
    calls = {call.id: _build_tool_use(call) for call in message.tool_calls}
    blocks: list[dict[str, Any]] = []
    returned = message.opaque.get("anthropic")
    if message.role == "assistant" and isinstance(returned, list):
        for block in returned:
            if block.get("type") == "tool_use":
                call = calls.pop(str(block.get("id")), None)
                blocks += [call] if call else []
            elif block.get("type") != "text" or str(block.get("text") or "").strip():
                blocks.append(block)
    elif message.content.strip():
        blocks.append({"type": "text", "text": message.content})
    blocks += [_build_image(image) for image in message.images]
    return [*blocks, *calls.values()]


def _build_tool_use(call: ToolCall) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": _clean_id(call.id),
        "name": call.name,
        "input": native.read_arguments(call),
    }


def _clean_id(call_id: str) -> str:
    return _BAD_ID.sub("_", call_id) or "call"


def _build_image(image: str) -> dict[str, Any]:
    data = native.split_data_address(image)
    if data is None:
        return {"type": "image", "source": {"type": "url", "url": image}}
    source = {"type": "base64", "media_type": data[0], "data": data[1]}
    return {"type": "image", "source": source}


@native.refuse_odd_parts
def parse_message(reply: Any, sent: Mapping[str, Any]) -> Completion | Failure:
    """Read the JSON of a message; a Failure where it holds no answer."""
    if not isinstance(reply, dict):
        return failures.malformed_failure(Note("reply_no_object"))
    if reply.get("error"):
        return native.fail_by_code(reply["error"], _ERRORS)
    finish = read_finish_reason(reply.get("stop_reason"))
    if isinstance(finish, Failure):
        return finish
    blocks = reply.get("content")
    blocks = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
    if not isinstance(blocks, list):
        return failures.malformed_failure(Note("reply_without", field="content"))
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    for block in blocks:
        if block["type"] == "text":
            texts.append(block["text"])
        elif block["type"] == "thinking":
            thoughts.append(block.get("thinking") or "")
        elif block["type"] == "tool_use":
            arguments = native.write_arguments(block.get("input"))
            calls.append(ToolCall(str(block["id"]), str(block["name"]), arguments))
    signed = any(block["type"] in ("thinking", "redacted_thinking") for block in blocks)
    return native.check_answer_size(
        Completion(
            text="".join(texts),
            reasoning="\n".join(thoughts),
            tool_calls=tuple(calls),
            finish_reason=finish or ("tool_calls" if calls else "unknown"),
            usage=_parse_usage(reply.get("usage")),
            model=str(reply.get("model") or ""),
            sent=dict(sent),
            opaque={"anthropic": blocks} if signed else {},
        )
    )


def _parse_usage(usage: Any) -> Usage:
    """`input_tokens` counts neither what was read from the cache nor what was written to it."""
    if not isinstance(usage, dict):
        return Usage()
    cached = read_token_count(usage, "cache_read_input_tokens")
    written = read_token_count(usage, "cache_creation_input_tokens")
    plain = read_token_count(usage, "input_tokens")
    return Usage(
        input_tokens=None if plain is None else add_counts(add_counts(plain, cached), written),
        output_tokens=read_token_count(usage, "output_tokens"),
        reasoning_tokens=read_token_count(usage.get("output_tokens_details"), "thinking_tokens"),
        cached_tokens=cached,
    )


#: Fields of a block of which a stream sends pieces, by the type of the piece.
_PIECES = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}


class MessageStream:
    """`StreamAssembler` of the Messages API."""

    def __init__(self) -> None:
        self.is_complete = False
        self._error: Any = None
        self._message: dict[str, Any] | None = None
        self._blocks: dict[Any, dict[str, Any]] = {}
        self._pieces: dict[tuple[Any, str], list[str]] = {}

    @native.refuse_odd_events
    def add_event(self, event: str, data: bytes) -> bool:
        content = None if data.strip() == b"[DONE]" else decode_event(data)
        if not isinstance(content, dict):
            return False
        kind, index = content.get("type") or event, content.get("index")
        delta = content.get("delta")
        if not isinstance(delta, dict):
            delta = {}
        if kind == "error" or content.get("error"):
            self._error, self.is_complete = content.get("error") or content, True
        elif kind == "message_start" and isinstance(content.get("message"), dict):
            self._message = dict(content["message"])
        elif kind == "content_block_start" and isinstance(content.get("content_block"), dict):
            self._blocks[index] = dict(content["content_block"])
        elif kind == "content_block_delta":
            return self._take_piece(index, delta)
        elif kind == "message_delta":
            self._take_end(delta, content.get("usage"))
        elif kind == "message_stop":
            self.is_complete = True
        return False

    def _take_piece(self, index: Any, delta: dict[str, Any]) -> bool:
        field = _PIECES.get(str(delta.get("type")), "")
        piece = delta.get(field)
        if not isinstance(piece, str):
            return False
        self._pieces.setdefault((index, field), []).append(piece)
        return bool(piece) and field != "signature"

    def _take_end(self, delta: dict[str, Any], usage: Any) -> None:
        self._message = {**(self._message or {}), **delta}
        self.is_complete = self.is_complete or bool(delta.get("stop_reason"))
        if isinstance(usage, dict):
            counted = self._message.get("usage")
            reported = {name: count for name, count in usage.items() if count is not None}
            self._message["usage"] = {**(counted if isinstance(counted, dict) else {}), **reported}

    def build_reply(self) -> Any:
        if self._error:
            return {"error": self._error}
        if self._message is None and not self._blocks:
            return None
        blocks = {index: dict(block) for index, block in self._blocks.items()}
        for (index, field), pieces in self._pieces.items():
            block = blocks.setdefault(index, {"type": "text"})
            joined = "".join(pieces)
            if field == "partial_json":
                block["input"] = joined or block.get("input")
            else:
                block[field] = str(block.get(field) or "") + joined
        return {**(self._message or {}), "content": list(blocks.values())}
