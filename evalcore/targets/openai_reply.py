"""From the bytes of a chat completion to a `Completion`, or to the `Failure` that they are.

Nothing of a reply is taken on trust: a gateway's page, an error with status 200, missing choices
and parts of the wrong type are told apart. An empty answer is an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from evalcore.records import Completion, Failure, ToolCall, Usage
from evalcore.targets import failures

_THOUGHT = re.compile(r"\s*<(think|thinking)>(.*?)(?:</\1>|\Z)\s*", re.DOTALL)
_END_OF_THOUGHT = re.compile(r"</think(?:ing)?>\s*")
_decoder = msgspec.json.Decoder()


def read(content: bytes, sent: Mapping[str, Any], latency: float) -> Completion | Failure:
    """The completion in a body of status 200; a Failure of kind malformed where there is none.

    `sent` are the parameters that went out, `latency` seconds from request to reply.
    """
    try:
        reply = _decoder.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return failures.malformed(f"status 200 with {_kind_of_text(content)}")
    if not isinstance(reply, dict):
        return failures.malformed("status 200 with JSON that is no object")
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        return _without_choice(reply, content)
    message = choice.get("message")
    if not isinstance(message, dict):
        return _without_choice(reply | {"error": reply.get("error", choice.get("error"))}, content)
    try:
        text, reasoning = _texts(message)
        calls = _tool_calls(message.get("tool_calls"))
    except (TypeError, AttributeError, KeyError):
        return failures.malformed("status 200 with a message whose parts have the wrong type")
    return Completion(
        text=text,
        reasoning=reasoning,
        tool_calls=calls,
        finish_reason=_finish(choice.get("finish_reason"), calls),
        usage=_usage(reply.get("usage")),
        latency=latency,
        model=str(reply.get("model") or ""),
        sent=dict(sent),
    )


def _kind_of_text(content: bytes) -> str:
    start = content[:200].decode("utf-8", "replace").strip()
    if start.startswith("<"):
        return f"a page in place of JSON; is base_url right? {start}"
    return f"malformed JSON: {start}" if start else "an empty body"


def _without_choice(reply: dict[str, Any], content: bytes) -> Failure:
    if reply.get("error"):
        return failures.from_error_body(reply["error"], content.decode("utf-8", "replace"))
    return failures.malformed("status 200 without choices")


def _texts(message: Mapping[str, Any]) -> tuple[str, str]:
    """Answer and reasoning, wherever the server put the latter."""
    content = message.get("content")
    apart = message.get("reasoning_content") or message.get("reasoning") or ""
    reasoning = apart if isinstance(apart, str) else json.dumps(apart, ensure_ascii=False)
    if isinstance(content, list):
        text, thought = _parts(content)
        reasoning = reasoning or thought
    elif content is None:
        text = message.get("refusal") or ""
    else:
        text = content
    if not isinstance(text, str):
        raise TypeError("content")
    inner, text = split_thought(text)
    return text, "\n".join(part for part in (reasoning, inner) if part)


def _parts(parts: list[Any]) -> tuple[str, str]:
    """The joined texts and thoughts of a content that comes in parts."""
    texts: list[str] = []
    thoughts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif part["type"] in ("thinking", "reasoning"):
            thought = part.get("thinking") or part.get("text") or ""
            thoughts.append(thought if isinstance(thought, str) else _parts(thought)[0])
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


def _tool_calls(calls: Any) -> tuple[ToolCall, ...]:
    """Calls with their arguments as text; a server that parsed them gets them back as JSON."""
    made = []
    for number, call in enumerate(calls or ()):
        function = call["function"]
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments or {}, ensure_ascii=False)
        made.append(
            ToolCall(
                id=str(call.get("id") or f"call_{number}"),
                name=str(function.get("name") or ""),
                arguments=arguments,
            )
        )
    return tuple(made)


def _finish(reason: Any, calls: tuple[ToolCall, ...]) -> str:
    if isinstance(reason, str) and reason:
        return reason
    return "tool_calls" if calls else "unknown"


def _usage(usage: Any) -> Usage:
    """Tokens as reported; what is missing or no count stays None."""
    if not isinstance(usage, dict):
        return Usage()
    return Usage(
        input_tokens=_count(usage, "prompt_tokens"),
        output_tokens=_count(usage, "completion_tokens"),
        reasoning_tokens=_count(usage.get("completion_tokens_details"), "reasoning_tokens"),
        cached_tokens=_first(
            _count(usage.get("prompt_tokens_details"), "cached_tokens"),
            _count(usage, "prompt_cache_hit_tokens"),  # DeepSeek's name
        ),
    )


def _first(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)


def _count(holder: Any, name: str) -> int | None:
    value = holder.get(name) if isinstance(holder, dict) else None
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    return int(value) if whole else None  # type: ignore[arg-type]
