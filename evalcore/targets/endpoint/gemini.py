"""The dialect of Gemini's own API (`generateContent`), at Google AI and on Vertex AI."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
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
from evalcore.targets.endpoint.chat import fold_system_turns
from evalcore.targets.endpoint.dialect import (
    Capabilities,
    WireRequest,
    read_finish_reason,
    read_token_count,
)
from evalcore.targets.endpoint.stream import decode_event

#: Parameters that stand in `generationConfig`.
_GENERATION = (
    *("temperature", "topP", "topK", "maxOutputTokens", "stopSequences", "seed"),
    *("thinkingConfig", "presencePenalty", "frequencyPenalty", "candidateCount"),
)
#: Models that think by a number of tokens, as Google's own table turns an effort into one.
_BUDGET_MODEL = re.compile(r"gemini-(1|2)[.-]")
_BUDGETS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24_576}
_LEVELS = {"none": "minimal", "max": "xhigh"}
#: Ends of an answer in words that only this API has.
_ENDS = frozenset(
    {
        *("language", "model_armor", "escalation", "jailbreak"),
        *("image_prohibited_content", "image_recitation"),
    }
)
_FAILURES: dict[str, tuple[FailureKind, str]] = {
    "other": ("retryable", "gemini_other"),
    "finish_reason_unspecified": ("retryable", "gemini_other"),
    "continuation": ("retryable", "gemini_cut"),
    "too_many_tool_calls": ("model_output", "gemini_calls"),
    "missing_thought_signature": ("permanent", "gemini_signature"),
    "pup_limited_disabled": ("permanent", "gemini_account"),
}
#: An id of a call that this module made up, because the server gave none.
_OWN_ID = re.compile(r"call_[0-9]+")


class GeminiDialect:
    """`ApiDialect` of `generateContent`."""

    name = "gemini"
    token_fields = ("maxOutputTokens",)
    adaptable = frozenset({"maxOutputTokens", "temperature", "topP", "seed", "stopSequences"})

    #: Other names of what a person may set, for the card.
    names = {"topP": "top_p", "stopSequences": "stop"}

    def __init__(self, model: str, extra_body: Mapping[str, Any], bearer: bool = False) -> None:
        self._model, self._bearer = model, bearer
        self._extra_body = dict(extra_body)

    def build_parameters(self, sampling: Sampling, capabilities: Capabilities) -> dict[str, Any]:
        requested = {
            "temperature": sampling.temperature,
            "topP": sampling.top_p,
            "maxOutputTokens": sampling.max_tokens,
            "stopSequences": list(sampling.stop) or None,
            "seed": sampling.seed,
            "thinkingConfig": _build_thinking(self._model, sampling.reasoning_effort),
        }
        extra = dict(self._extra_body)
        configured = extra.pop("generationConfig", None) or {}
        merged = {
            "model": self._model,
            **native.drop_unset(requested, capabilities.refused),
            **configured,
            **extra,
        }
        return native.cap_limit(merged, self.token_fields, capabilities.most_tokens)

    def build_request(
        self, request: GenerationRequest, parameters: Mapping[str, Any], capabilities: Capabilities
    ) -> WireRequest:
        messages: Sequence[Message] = request.messages
        if capabilities.fold_system:
            messages = fold_system_turns(messages)
        system, turns = native.split_system_turns(messages)
        merged = native.merge_turns(_build_turns(turns))
        config = {name: value for name, value in parameters.items() if name in _GENERATION}
        body: dict[str, Any] = {
            "contents": [{"role": role, "parts": parts} for role, parts in merged],
            **{n: v for n, v in parameters.items() if n not in (*_GENERATION, "model")},
        }
        if config:
            body["generationConfig"] = config
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        if request.tools:
            declared = [
                native.describe_function(tool, "parametersJsonSchema") for tool in request.tools
            ]
            body["tools"] = [{"functionDeclarations": declared}]
        model = quote(str(parameters["model"]).removeprefix("models/"), safe="")
        verb = "streamGenerateContent?alt=sse" if capabilities.stream else "generateContent"
        return WireRequest(f"/models/{model}:{verb}", body)

    def authorize(self, key: str, url: str, body: bytes) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {key}"} if self._bearer else {"x-goog-api-key": key}

    def parse_reply(self, reply: Any, sent: Mapping[str, Any]) -> Completion | Failure:
        return parse_content(reply, sent)

    def start_stream(self) -> ContentStream:
        return ContentStream()


def _build_thinking(model: str, effort: str | None) -> dict[str, Any] | None:
    """How a model is asked to think, and to sum its thoughts up; None where nobody said so."""
    if not effort:
        return None
    shown = {"includeThoughts": True} if effort != "none" else {}
    if _BUDGET_MODEL.search(model):
        return {"thinkingBudget": _BUDGETS.get(effort, _BUDGETS["high"]), **shown}
    return {"thinkingLevel": _LEVELS.get(effort, effort), **shown}


def _build_turns(turns: Sequence[Message]) -> list[tuple[str, list[dict[str, Any]]]]:
    """The contents. A result names its function, which only the call before it knows."""
    names: dict[str, str] = {}
    contents = []
    for turn in turns:
        names |= {call.id: call.name for call in turn.tool_calls}
        if turn.role == "tool":
            name = names.get(turn.tool_call_id, turn.tool_call_id)
            response = {"name": name, "response": {"output": turn.content}}
            part = {"functionResponse": _with_id(response, turn.tool_call_id)}
            contents.append(("user", [part]))
        else:
            role = "model" if turn.role == "assistant" else "user"
            contents.append((role, _build_parts(turn)))
    return contents


def _with_id(part: dict[str, Any], call_id: str) -> dict[str, Any]:
    return part if not call_id or _OWN_ID.fullmatch(call_id) else {"id": call_id, **part}


def _build_parts(message: Message) -> list[dict[str, Any]]:
    """The parts of one turn. Those with a signature go back as they came and in their order; their
    calls are counted, since not every server gives them ids."""
    returned = message.opaque.get("gemini")
    if message.role == "assistant" and isinstance(returned, list):
        left = {call.id for call in message.tool_calls}
        parts = []
        for number, part in enumerate(returned):
            called = part.get("functionCall")
            if called is None or str(called.get("id") or f"call_{number}") in left:
                parts.append(part)
        return parts
    parts = [{"text": message.content}] if message.content else []
    for image in message.images:
        data = native.split_data_address(image)
        inline = data and {"inlineData": {"mimeType": data[0], "data": data[1]}}
        parts.append(inline or {"fileData": {"fileUri": image}})
    for call in message.tool_calls:
        called = {"name": call.name, "args": native.read_arguments(call)}
        parts.append({"functionCall": _with_id(called, call.id)})
    return parts


@native.refuse_odd_parts
def parse_content(reply: Any, sent: Mapping[str, Any]) -> Completion | Failure:
    """Read the JSON of a generated content; a Failure where it holds no answer. Errors may come as
    a list."""
    if isinstance(reply, list):  # the pieces of a stream in one body
        stream = ContentStream()
        for piece in reply:
            stream.take_chunk(piece)
        reply = stream.build_reply()
    if not isinstance(reply, dict):
        return failures.malformed_failure(Note("reply_no_object"))
    if reply.get("error"):
        return failures.from_error_body(reply["error"])
    usage, feedback = _parse_usage(reply.get("usageMetadata")), reply.get("promptFeedback")
    candidates = reply.get("candidates")
    candidate = candidates[0] if isinstance(candidates, list) and candidates else None
    if candidate is None and isinstance(feedback, dict) and feedback.get("blockReason"):
        return Completion(finish_reason="content_filter", usage=usage, sent=dict(sent))
    if not isinstance(candidate, dict):
        return failures.malformed_failure(Note("reply_without", field="candidates"))
    finish = _read_finish(candidate)
    if isinstance(finish, Failure):
        return finish
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    text, thoughts, calls = _parse_parts(parts or [])
    signed = any("thoughtSignature" in part for part in parts or ())
    if finish == "stop" and calls:
        finish = "tool_calls"
    return native.check_answer_size(
        Completion(
            text=text,
            reasoning=thoughts,
            tool_calls=calls,
            finish_reason=finish or ("tool_calls" if calls else "unknown"),
            usage=usage,
            model=str(reply.get("modelVersion") or ""),
            sent=dict(sent),
            opaque={"gemini": [p for p in parts or () if not p.get("thought")]} if signed else {},
        )
    )


def _read_finish(candidate: Mapping[str, Any]) -> str | Failure:
    reason = str(candidate.get("finishReason") or "")
    if reason.lower() in _ENDS:
        return "content_filter"
    if reason.lower() in _FAILURES:
        kind, code = _FAILURES[reason.lower()]
        message = candidate.get("finishMessage")
        hint = message if isinstance(message, str) and message else Note(code)
        problem = Note("failure_hint", problem=f"finishReason {reason}", hint=hint)
        return Failure(kind=kind, message=problem, status=200)
    return read_finish_reason(reason)


def _parse_parts(parts: list[Any]) -> tuple[str, str, tuple[ToolCall, ...]]:
    """Answer, thoughts and calls. Calls without an id are numbered by their place among the parts
    without thoughts, as `_build_parts` counts them."""
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    number = 0
    for part in parts:
        called = part.get("functionCall")
        if called is not None:
            arguments = native.write_arguments(called.get("args"))
            name = str(called["name"])
            calls.append(ToolCall(str(called.get("id") or f"call_{number}"), name, arguments))
        elif "text" in part:
            (thoughts if part.get("thought") else texts).append(part["text"] or "")
        number += not part.get("thought")
    return "".join(texts), "".join(thoughts), tuple(calls)


def _parse_usage(usage: Any) -> Usage:
    """Thoughts are billed as output, but not counted in that of the candidates."""
    if not isinstance(usage, dict):
        return Usage()
    thoughts = read_token_count(usage, "thoughtsTokenCount")
    return Usage(
        input_tokens=add_counts(
            read_token_count(usage, "promptTokenCount"),
            read_token_count(usage, "toolUsePromptTokenCount"),
        ),
        output_tokens=add_counts(read_token_count(usage, "candidatesTokenCount"), thoughts),
        reasoning_tokens=thoughts,
        cached_tokens=read_token_count(usage, "cachedContentTokenCount"),
    )


class ContentStream:
    """`StreamAssembler` of `streamGenerateContent`: each event is a reply with what is new."""

    def __init__(self) -> None:
        self.is_complete = False
        self._error: Any = None
        self._head: dict[str, Any] = {}
        self._candidate: dict[str, Any] | None = None
        self._parts: list[dict[str, Any]] = []
        self._texts: list[str] = []  # the pieces of the last part

    @native.refuse_odd_events
    def add_event(self, event: str, data: bytes) -> bool:
        chunk = None if data.strip() == b"[DONE]" else decode_event(data)
        pieces = chunk if isinstance(chunk, list) else [chunk]
        has_content = [self.take_chunk(piece) for piece in pieces]
        return any(has_content)

    def take_chunk(self, chunk: Any) -> bool:
        """Take in one reply of the stream; whether it holds a part of the answer."""
        if not isinstance(chunk, dict):
            return False
        if chunk.get("error"):
            self._error, self.is_complete = chunk["error"], True
            return False
        for name in ("usageMetadata", "promptFeedback", "modelVersion"):
            if chunk.get(name):
                self._head[name] = chunk[name]
        feedback, candidates = chunk.get("promptFeedback"), chunk.get("candidates")
        if isinstance(feedback, dict) and feedback.get("blockReason"):
            self.is_complete = True
        candidate = candidates[0] if isinstance(candidates, list) and candidates else None
        return isinstance(candidate, dict) and self._take_candidate(candidate)

    def _take_candidate(self, candidate: dict[str, Any]) -> bool:
        known = {name: value for name, value in candidate.items() if name != "content"}
        self._candidate = {**(self._candidate or {}), **known}
        self.is_complete = self.is_complete or bool(candidate.get("finishReason"))
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        added = [part for part in parts or () if isinstance(part, dict)]
        for part in added:
            self._take_part(part)
        return any(part.get("text") or part.get("functionCall") for part in added)

    def _take_part(self, part: dict[str, Any]) -> None:
        """Add a part; a text that goes on with the last one is joined to it, unless it has a
        signature: such parts have to go back as they came."""
        plain = set(part) <= {"text", "thought"} and isinstance(part.get("text"), str)
        same = plain and self._texts and self._parts[-1].get("thought") == part.get("thought")
        if same:
            self._texts.append(part["text"])
            return
        self._close_part()
        self._parts.append(part)
        self._texts = [part["text"]] if plain else []

    def _close_part(self) -> None:
        if self._texts:
            self._parts[-1] = {**self._parts[-1], "text": "".join(self._texts)}

    def build_reply(self) -> Any:
        if self._error:
            return {"error": self._error}
        if self._candidate is None:
            return self._head or None
        self._close_part()
        self._texts = self._texts and ["".join(self._texts)]
        candidate = {**self._candidate, "content": {"role": "model", "parts": list(self._parts)}}
        return {**self._head, "candidates": [candidate]}
