"""The format of chat completions: from a `GenerationRequest` to a body, and from the bytes of a
reply to a `Completion` or a `Failure`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from evalcore.errors import IntakeError
from evalcore.intake import add_numbers, read_cost, read_count
from evalcore.intake.http import ANSWER_LIMIT, decode_json, repair_escapes
from evalcore.records import (
    Completion,
    Failure,
    FailureKind,
    GenerationRequest,
    Message,
    Record,
    Sampling,
    ToolCall,
    Usage,
    content_hash,
)
from evalcore.settings import Endpoint
from evalcore.targets import failures

# Servers differ in what they accept. `Dialect` holds what is known of one: how it calls the limit
# of an answer, and which parameters it refused; a refusal is recognised by
# `find_refused_parameter`.

#: Names of the limit of an answer.
TOKEN_FIELDS = ("max_tokens", "max_completion_tokens")
#: Parameters a request can do without, or for which there is another name.
ADAPTABLE = frozenset({*TOKEN_FIELDS, "temperature", "top_p", "seed"})
_REFUSAL = re.compile(
    r"(?i)unsupported|not support|unrecognized|unknown|unexpected|not permitted|not allowed"
    r"|deprecated|only\b.{0,40}\b(supported|allowed)"
)


class Dialect(Record, frozen=True):
    """What a server accepts; `refused` grows as it says no. `most_tokens` is the largest limit of
    an answer that the model takes, None until it was refused."""

    token_field: str = "max_tokens"
    refused: frozenset[str] = frozenset()
    send_reasoning: bool = False
    most_tokens: int | None = None

    def limit_field(self) -> str | None:
        """The name under which the limit of an answer goes; None if all were refused."""
        names = (self.token_field, *(n for n in TOKEN_FIELDS if n != self.token_field))
        return next((name for name in names if name not in self.refused), None)

    def without_parameter(self, name: str) -> Dialect | None:
        """The dialect after a refusal; None where the request cannot do without `name`."""
        learned = msgspec.structs.replace(self, refused=self.refused | {name})
        return None if name in TOKEN_FIELDS and learned.limit_field() is None else learned

    def to_card(self) -> dict[str, Any]:
        """Return the capability card entries: the limit's name, and the parameters left out."""
        dropped = sorted(self.refused - set(TOKEN_FIELDS))
        most = {"most_tokens": self.most_tokens} if self.most_tokens else {}
        return {"token_field": self.limit_field(), "dropped": dropped, **most}


def dialect_for_endpoint(endpoint: Endpoint) -> Dialect:
    return Dialect(token_field=endpoint.token_field, send_reasoning=endpoint.send_reasoning)


def merge_sampling(requested: Sampling, options: Sampling) -> Sampling:
    """What the benchmark requests, overridden by what the person set for this target."""
    changes = {
        name: value
        for name in Sampling.__struct_fields__
        if (value := getattr(options, name)) not in (None, ())
    }
    return msgspec.structs.replace(requested, **changes) if changes else requested


def build_parameters(
    model: str, sampling: Sampling, extra_body: Mapping[str, Any], dialect: Dialect
) -> dict[str, Any]:
    """All of the body but messages and tools; parameters that nobody set are left out."""
    requested: dict[str, Any] = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed,
        "stop": list(sampling.stop) or None,
        "reasoning_effort": sampling.reasoning_effort,
    }
    field = dialect.limit_field()
    if field is not None:
        requested[field] = sampling.max_tokens
    set_ = {
        name: value
        for name, value in requested.items()
        if value is not None and name not in dialect.refused
    }
    merged = {"model": model, **set_, **extra_body}
    limit = find_token_limit(merged)
    if limit is not None and dialect.most_tokens and limit > dialect.most_tokens:
        merged |= {name: dialect.most_tokens for name in TOKEN_FIELDS if name in merged}
    return merged


def find_token_limit(parameters: Mapping[str, Any]) -> int | None:
    """The limit of an answer among sent parameters, None where there is none."""
    limits = (parameters.get(name) for name in TOKEN_FIELDS)
    return next((limit for limit in limits if isinstance(limit, int)), None)


def derive_epoch_seed(seed: int, epoch: int) -> int:
    """The seed of a repetition, from 0 to 2**31 - 1 as every server takes it. Equal seeds would
    make all epochs one. The first keeps the seed; a negative one, by which some servers mean a
    random one, stays as it is."""
    if not epoch or seed < 0:
        return seed
    return int(content_hash([seed, epoch]), 16) % 2**31


def build_request_body(
    request: GenerationRequest, parameters: Mapping[str, Any], dialect: Dialect
) -> dict[str, Any]:
    reasoning = dialect.send_reasoning and bool(request.tools)
    messages = [_build_chat_message(message, reasoning) for message in request.messages]
    tools = {"tools": wrap_tools(request.tools)} if request.tools else {}
    return {**parameters, "messages": messages, **tools}


def _build_chat_message(message: Message, reasoning: bool) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "content": message.content, "tool_call_id": message.tool_call_id}
    turn: dict[str, Any] = {"role": message.role, "content": _build_message_content(message)}
    if message.tool_calls:
        turn["content"] = message.content or None
        turn["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if reasoning and message.reasoning:
        turn["reasoning_content"] = message.reasoning
    return turn


def _build_message_content(message: Message) -> str | list[dict[str, Any]]:
    """The text; where there are images, the parts of text and images."""
    if not message.images:
        return message.content
    images = [{"type": "image_url", "image_url": {"url": image}} for image in message.images]
    return [{"type": "text", "text": message.content}, *images]


def wrap_tools(tools: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Tools in the field's form; a bare function description is wrapped."""
    return [
        tool if "function" in tool else {"type": "function", "function": tool} for tool in tools
    ]


def find_refused_parameter(status: int | None, text: str, sent: Mapping[str, Any]) -> str | None:
    """The sent parameter that an error says the server does not take, if it is adaptable. A
    complaint about a value ("must be between 0 and 2") is no refusal: leaving the parameter out
    would then hide a mistake."""
    if status not in (400, 422) or not _REFUSAL.search(text):
        return None
    offsets_by_name = {
        name: match.start()
        for name in ADAPTABLE & sent.keys()
        if (match := re.search(rf"\b{name}\b", text))
    }
    return min(offsets_by_name, key=lambda name: offsets_by_name[name], default=None)


# From the bytes of a chat completion to a `Completion`, or to the `Failure` that they are. Nothing
# of a reply is taken on trust: a gateway's page, an error with status 200, missing choices and
# parts of the wrong type are told apart. An empty answer is an answer; one that the server says it
# broke off is none. Why an answer ended is read by the table `_FINISH`.

_THOUGHT = re.compile(r"\s*<(think|thinking)>(.*?)(?:</\1>|\Z)\s*", re.DOTALL)
_END_OF_THOUGHT = re.compile(r"</think(?:ing)?>\s*")
#: Ends of an answer that is the model's own, in the servers' words and in the field's.
_ENDS: dict[str, tuple[str, ...]] = {
    "stop": ("stop", "end_turn", "stop_sequence", "stop_token", "eos", "eos_token"),
    "length": (
        *("length", "max_tokens", "max_output_tokens", "max_length", "model_length"),
        "model_context_window_exceeded",
    ),
    "tool_calls": ("tool_calls", "tool_call", "tool_use", "function_call"),
    "content_filter": (
        *("content_filter", "content_filtered", "guardrail_intervened", "refusal", "sensitive"),
        *("safety", "recitation", "blocklist", "prohibited_content", "spii", "image_safety"),
    ),
}
#: Ends that are no answer: the server broke off, or could not digest what the model wrote.
_FAILURES: dict[FailureKind, tuple[str, ...]] = {
    "retryable": (
        *("error", "insufficient_system_resource", "abort", "aborted", "cancelled", "canceled"),
        *("timeout", "network_error", "server_error", "overloaded"),
    ),
    "model_output": (
        *("malformed_function_call", "function_call_filter", "unexpected_tool_call"),
        *("malformed_tool_call", "malformed_response"),
    ),
}
_FINISH: dict[str, str] = {word: end for end, words in _ENDS.items() for word in words}
_FAILED: dict[str, FailureKind] = {
    word: kind for kind, words in _FAILURES.items() for word in words
}
#: Ends that leave no message, with some servers.
_WITHOUT_MESSAGE = ("content_filter", "length")


def parse_chat_completion(
    content: bytes, sent: Mapping[str, Any], latency: float
) -> Completion | Failure:
    """Read the body of a reply of status 200; a Failure where it holds no completion. `sent` are
    the parameters that went out, `latency` seconds from request to reply."""
    try:
        reply = decode_json(content)
    except IntakeError:
        return failures.malformed_failure(f"status 200 with {_kind_of_text(content)}")
    if not isinstance(reply, dict):
        return failures.malformed_failure("status 200 with JSON that is no object")
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        choice = {}
    error = reply.get("error") or choice.get("error")
    if error:
        return failures.from_error_body(error)
    finish = read_finish_reason(choice.get("finish_reason"))
    if isinstance(finish, Failure):
        return finish
    message = choice.get("message")
    if message is None and finish in _WITHOUT_MESSAGE:
        message = {}
    if not isinstance(message, dict):
        return failures.malformed_failure("status 200 without choices")
    try:
        text, reasoning = _parse_message_texts(message)
        calls = _parse_reply_tool_calls(message.get("tool_calls"))
    except (TypeError, AttributeError, KeyError):
        return failures.malformed_failure(
            "status 200 with a message whose parts have the wrong type"
        )
    if len(text) + len(reasoning) + sum(len(call.arguments) for call in calls) > ANSWER_LIMIT:
        return failures.malformed_failure(f"status 200 with more than {ANSWER_LIMIT:,} characters")
    return Completion(
        text=text,
        reasoning=reasoning,
        tool_calls=calls,
        finish_reason=finish or ("tool_calls" if calls else "unknown"),
        usage=_parse_reply_usage(reply.get("usage")),
        latency=latency,
        model=str(reply.get("model") or ""),
        sent=dict(sent),
    )


def read_finish_reason(reason: Any) -> str | Failure:
    """Read why an answer ended, as the field's word (empty where the server does not say). An end
    that the table does not know is a failure of the provider: it may have cut the answer. Some
    servers write two words, such as `content_filter: PROHIBITED_CONTENT`; the last that the table
    knows counts."""
    if reason is None or reason == "":
        return ""
    words = str(reason).lower().split(":")
    for word in (str(reason).lower(), *reversed(words)):
        name = word.strip()
        if name in _FINISH:
            return _FINISH[name]
        if name in _FAILED:
            message = f"the server ended the answer with finish_reason {reason!r}"
            return Failure(kind=_FAILED[name], message=message, status=200)
    return failures.malformed_failure(f"status 200 with an unknown finish_reason: {reason!r}")


def is_answer(completion: Completion) -> bool:
    """Whether a recorded completion is an answer: older versions took any end of a reply for the
    model's own, and journals and caches may hold answers that the provider broke off."""
    return completion.finish_reason.lower() not in _FAILED


def _kind_of_text(content: bytes) -> str:
    start = content[:200].decode("utf-8", "replace").strip()
    if start.startswith("<"):
        return f"a page in place of JSON; is base_url right? {start}"
    return f"malformed JSON: {start}" if start else "an empty body"


def _parse_message_texts(message: Mapping[str, Any]) -> tuple[str, str]:
    """Answer and reasoning, wherever the server put the latter."""
    content = message.get("content")
    reasoning_field = message.get("reasoning_content") or message.get("reasoning") or ""
    reasoning = (
        reasoning_field
        if isinstance(reasoning_field, str)
        else json.dumps(reasoning_field, ensure_ascii=False)
    )
    if isinstance(content, list):
        text, thought = _join_content_parts(content)
        reasoning = reasoning or thought
    elif content is None:
        text = message.get("refusal") or ""
    else:
        text = content
    if not isinstance(text, str):
        raise TypeError("content")
    inner, text = split_thought(text)
    return text, "\n".join(part for part in (reasoning, inner) if part)


def _join_content_parts(parts: list[Any]) -> tuple[str, str]:
    """The joined texts and thoughts of a content that comes in parts."""
    texts: list[str] = []
    thoughts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif part["type"] in ("thinking", "reasoning"):
            thought = part.get("thinking") or part.get("text") or ""
            thoughts.append(
                thought if isinstance(thought, str) else _join_content_parts(thought)[0]
            )
        elif part["type"] in ("text", "output_text"):
            texts.append(part["text"])
    return "".join(texts), "".join(thoughts)


def split_thought(text: str) -> tuple[str, str]:
    """Thought and answer of a text that begins with `<think>`. A thought without an end was cut:
    nothing of it is an answer. Where the prompt itself opened the thought, the text holds its end
    only."""
    opened = _THOUGHT.match(text)
    if opened:
        return opened[2].strip(), text[opened.end() :]
    ended = _END_OF_THOUGHT.search(text)
    if ended and "<think" not in text[: ended.start()]:
        return text[: ended.start()].strip(), text[ended.end() :]
    return "", text


def _parse_reply_tool_calls(calls: Any) -> tuple[ToolCall, ...]:
    """Calls with their arguments as text; a server that parsed them gets them back as JSON."""
    tool_calls = []
    for number, call in enumerate(calls or ()):
        function = call["function"]
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments or {}, ensure_ascii=False)
        elif "\\u" in arguments:  # a JSON text, in which halves of pairs stand escaped
            arguments = repair_escapes(arguments)
        tool_calls.append(
            ToolCall(
                id=str(call.get("id") or f"call_{number}"),
                name=str(function.get("name") or ""),
                arguments=arguments,
            )
        )
    return tuple(tool_calls)


def _parse_reply_usage(usage: Any) -> Usage:
    """Tokens and cost as reported; what is missing or out of range stays None."""
    if not isinstance(usage, dict):
        return Usage()
    return Usage(
        input_tokens=_read_token_count(usage, "prompt_tokens"),
        output_tokens=_read_token_count(usage, "completion_tokens"),
        reasoning_tokens=_read_token_count(
            usage.get("completion_tokens_details"), "reasoning_tokens"
        ),
        cached_tokens=_first_count(
            _read_token_count(usage.get("prompt_tokens_details"), "cached_tokens"),
            _read_token_count(usage, "prompt_cache_hit_tokens"),  # DeepSeek's name
        ),
        cost=_parse_reported_cost(usage),
    )


def _parse_reported_cost(usage: Mapping[str, Any]) -> float | None:
    """USD that the request cost by `usage.cost` (OpenRouter, LiteLLM), or by its `total_cost` where
    it is split (Perplexity). With a key of one's own for the provider behind it, OpenRouter states
    its fee there and the rest in `cost_details`."""
    stated, details = usage.get("cost"), usage.get("cost_details")
    cost = read_cost(stated.get("total_cost") if isinstance(stated, dict) else stated)
    if usage.get("is_byok") is not True:
        return cost
    behind = details.get("upstream_inference_cost") if isinstance(details, dict) else None
    return add_numbers(cost, read_cost(behind))


def _first_count(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)


def _read_token_count(holder: Any, name: str) -> int | None:
    return read_count(holder.get(name)) if isinstance(holder, dict) else None
