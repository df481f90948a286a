"""From a `GenerationRequest` to the body of a chat completion, with the parameters a server takes.

Servers differ in what they accept. `Dialect` holds what is known of one: how it calls the limit of
an answer, and which parameters it refused; a refusal is recognised by `find_refused_parameter`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from evalcore.records import GenerationRequest, Message, Record, Sampling, content_hash
from evalcore.settings import Endpoint

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
        """For the capability card: the name of the limit, and what is left out."""
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
    """The seed of a repetition, from 0 to 2**31 - 1 as every server takes it.

    Equal seeds would make all epochs one. The first keeps the seed; a negative one, by which some
    servers mean a random one, stays as it is.
    """
    if not epoch or seed < 0:
        return seed
    return int(content_hash([seed, epoch]), 16) % 2**31


def build_request_body(
    request: GenerationRequest, parameters: Mapping[str, Any], dialect: Dialect
) -> dict[str, Any]:
    """The body of POST /chat/completions."""
    reasoning = dialect.send_reasoning and bool(request.tools)
    messages = [_build_chat_message(message, reasoning) for message in request.messages]
    tools = {"tools": [_wrap_tool(tool) for tool in request.tools]} if request.tools else {}
    return {**parameters, "messages": messages, **tools}


def _build_chat_message(message: Message, reasoning: bool) -> dict[str, Any]:
    if message.role == "tool":
        return {
            "role": "tool",
            "content": message.content,
            "tool_call_id": message.tool_call_id,
        }
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


def _wrap_tool(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool in the field's form; a bare function description is wrapped."""
    return tool if "function" in tool else {"type": "function", "function": tool}


def find_refused_parameter(status: int | None, text: str, sent: Mapping[str, Any]) -> str | None:
    """The sent parameter that an error says the server does not take, if it is adaptable.

    A complaint about a value ("must be between 0 and 2") is no refusal: leaving the parameter out
    would then hide a mistake.
    """
    if status not in (400, 422) or not _REFUSAL.search(text):
        return None
    offsets_by_name = {
        name: match.start()
        for name in ADAPTABLE & sent.keys()
        if (match := re.search(rf"\b{name}\b", text))
    }
    return min(offsets_by_name, key=lambda name: offsets_by_name[name], default=None)
