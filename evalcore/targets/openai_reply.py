"""From the bytes of a chat completion to a `Completion`, or to the `Failure` that they are.

Nothing of a reply is taken on trust: a gateway's page, an error with status 200, missing choices
and parts of the wrong type are told apart. An empty answer is an answer; one that the server says
it broke off is none. Why an answer ended is read by the table `_FINISH`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from evalcore.errors import IntakeError
from evalcore.intake import add_numbers, read_cost, read_count
from evalcore.intake.http import ANSWER_LIMIT, decode_json, repair_escapes
from evalcore.records import Completion, Failure, FailureKind, ToolCall, Usage
from evalcore.targets import failures

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
    """Read the body of a reply of status 200; a Failure where it holds no completion.

    `sent` are the parameters that went out, `latency` seconds from request to reply.
    """
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
    """Read why an answer ended, as the field's word (empty where the server does not say).

    An end that the table does not know is a failure of the provider: it may have cut the answer.
    Some servers write two words, such as `content_filter: PROHIBITED_CONTENT`; the last that the
    table knows counts.
    """
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
    return failures.malformed_failure(
        f"status 200 with a finish_reason that nobody knows: {reason!r}"
    )


def is_answer(completion: Completion) -> bool:
    """Whether a recorded completion is one: older versions took any end of a reply for the
    model's own, and journals and caches may hold answers that the provider had broken off."""
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
    """Thought and answer of a text that begins with `<think>`.

    A thought without an end was cut: nothing of it is an answer. Where the prompt itself opened
    the thought, the text holds its end only.
    """
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
