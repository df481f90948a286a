"""The dialect of chat completions: from a `GenerationRequest` to a body, and from the JSON of a
reply to a `Completion` or a `Failure`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from evalcore.i18n import Note
from evalcore.intake import add_numbers, read_cost
from evalcore.intake.http import ANSWER_LIMIT, repair_escapes
from evalcore.records import (
    Completion,
    Failure,
    GenerationRequest,
    Message,
    Sampling,
    ToolCall,
    Usage,
    to_json,
)
from evalcore.targets import failures
from evalcore.targets.endpoint.dialect import (
    TOKEN_FIELDS,
    Capabilities,
    WireRequest,
    first_count,
    read_finish_reason,
    read_token_count,
    split_thought,
)
from evalcore.targets.endpoint.stream import ChatStream, find_choice, find_error, read_error

#: Fields of a message that a provider wants back as they came, with the turn they came with.
_ECHOED = ("extra_content", "reasoning_details", "thinking_blocks", "thought_signature")
#: Those of a call of a tool.
_ECHOED_OF_CALLS = ("extra_content", "thought_signature", "provider_specific_fields")
_NAME, _REASONING = "chat", "reasoning_content"
_PATH = "/chat/completions"
#: What asks for a streamed answer, with its usage at the end.
_STREAM: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
#: Ends that leave no message, with some servers.
_WITHOUT_MESSAGE = ("content_filter", "length")


class ChatDialect:
    """`ApiDialect` of OpenAI's chat completions, which most servers speak."""

    name = _NAME
    token_fields = TOKEN_FIELDS
    adaptable = frozenset({*TOKEN_FIELDS, "temperature", "top_p", "seed", "stop", *_STREAM})

    def __init__(self, model: str, extra_body: Mapping[str, Any]) -> None:
        self._model, self._extra_body = model, dict(extra_body)

    def build_parameters(self, sampling: Sampling, capabilities: Capabilities) -> dict[str, Any]:
        return build_parameters(self._model, sampling, self._extra_body, capabilities)

    def build_request(
        self, request: GenerationRequest, parameters: Mapping[str, Any], capabilities: Capabilities
    ) -> WireRequest:
        return WireRequest(_PATH, build_request_body(request, parameters, capabilities))

    def authorize(self, key: str, url: str, body: bytes) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {key}"}

    def parse_reply(self, reply: Any, sent: Mapping[str, Any]) -> Completion | Failure:
        return parse_chat_completion(reply, sent)

    def start_stream(self) -> ChatStream:
        return ChatStream()


def build_parameters(
    model: str, sampling: Sampling, extra_body: Mapping[str, Any], capabilities: Capabilities
) -> dict[str, Any]:
    """All of the body but messages and tools; parameters that nobody set are left out."""
    requested: dict[str, Any] = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed,
        "stop": list(sampling.stop) or None,
        "reasoning_effort": sampling.reasoning_effort,
    }
    field = capabilities.limit_field()
    if field is not None:
        requested[field] = sampling.max_tokens
    set_ = {
        name: value
        for name, value in requested.items()
        if value is not None and name not in capabilities.refused
    }
    if capabilities.stream:
        set_ |= {name: value for name, value in _STREAM.items() if name not in capabilities.refused}
    merged = {"model": model, **set_, **extra_body}
    limit = find_token_limit(merged)
    if limit is not None and capabilities.most_tokens and limit > capabilities.most_tokens:
        merged |= {name: capabilities.most_tokens for name in TOKEN_FIELDS if name in merged}
    return merged


def find_token_limit(parameters: Mapping[str, Any]) -> int | None:
    """The limit of an answer among sent parameters, None where there is none."""
    limits = (parameters.get(name) for name in TOKEN_FIELDS)
    return next((limit for limit in limits if isinstance(limit, int)), None)


def build_request_body(
    request: GenerationRequest, parameters: Mapping[str, Any], capabilities: Capabilities
) -> dict[str, Any]:
    turns = fold_system_turns(request.messages) if capabilities.fold_system else request.messages
    messages = [_build_chat_message(turn, bool(request.tools), capabilities) for turn in turns]
    tools = {"tools": wrap_tools(request.tools)} if request.tools else {}
    return {**parameters, "messages": messages, **tools}


def fold_system_turns(messages: Sequence[Message]) -> list[Message]:
    """The turns with what the system says at the head of the first user turn, for models whose
    template has no system turn (Gemma)."""
    system = [message.content for message in messages if message.role == "system"]
    turns = [message for message in messages if message.role != "system"]
    for position, turn in enumerate(turns):
        if system and turn.role == "user":
            text = "\n\n".join([*system, turn.content])
            turns[position] = msgspec.structs.replace(turn, content=text)
            return turns
    return [Message("user", text) for text in system] + turns


def _build_chat_message(
    message: Message, tools: bool, capabilities: Capabilities
) -> dict[str, Any]:
    if message.role == "tool":
        result = {"role": "tool", "content": message.content}
        named = {"name": message.name} if message.name else {}
        return result | {"tool_call_id": message.tool_call_id} | named
    opaque = message.opaque.get(_NAME)
    echoed: dict[str, Any] = opaque if isinstance(opaque, dict) else {}
    turn: dict[str, Any] = {"role": message.role, "content": _build_message_content(message)}
    if message.tool_calls:
        turn["content"] = message.content or None
        echoes = echoed.get("tool_calls")
        turn["tool_calls"] = [
            _build_call(call) | _find_echo(echoes, call.id, capabilities)
            for call in message.tool_calls
        ]
    wanted_back = capabilities.send_reasoning or echoed.get("reasoning_content")
    thought = message.reasoning or (
        " " if capabilities.send_reasoning and message.tool_calls else ""
    )
    if tools and wanted_back and thought and _REASONING not in capabilities.refused:
        turn[_REASONING] = thought
    return turn | _find_echo(echoed, "message", capabilities)


def _build_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _find_echo(holder: Any, name: str, capabilities: Capabilities) -> dict[str, Any]:
    """The fields to give back for a message or a call, without those that the server refused."""
    fields = holder.get(name) if isinstance(holder, dict) else None
    if not isinstance(fields, dict):
        return {}
    return {field: value for field, value in fields.items() if field not in capabilities.refused}


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


# From the JSON of a chat completion to a `Completion`, or to the `Failure` that it is. Nothing of a
# reply is taken on trust: an error with status 200, missing choices and parts of the wrong type are
# told apart. An empty answer is an answer; one that the server says it broke off is none.


def parse_chat_completion(reply: Any, sent: Mapping[str, Any]) -> Completion | Failure:
    """Read the JSON of a reply of status 200; a Failure where it holds no completion. `sent` are
    the parameters that went out."""
    if not isinstance(reply, dict):
        return failures.malformed_failure(Note("reply_no_object"))
    choices = reply.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    choice = find_choice(choices) or (first if isinstance(first, dict) else {})
    error = find_error(reply) or read_error(choice.get("error"))
    if error:
        return failures.from_error_body(error)
    stated = reply.get("base_resp")
    if isinstance(stated, dict) and stated.get("status_code"):
        return _read_base_response(stated)
    finish = read_finish_reason(choice.get("finish_reason"))
    if isinstance(finish, Failure):
        return finish
    message = choice.get("message")
    if message is None and finish in _WITHOUT_MESSAGE:
        message = {}
    if message is None and isinstance(choice.get("text"), str):  # of the older completions
        message = {"content": choice["text"]}
    if not isinstance(message, dict):
        return failures.malformed_failure(Note("reply_without", field="choices"))
    try:
        text, reasoning = _parse_message_texts(message)
        calls = _parse_reply_tool_calls(_find_reply_calls(message))
    except (TypeError, AttributeError, KeyError):
        return failures.malformed_failure(Note("reply_wrong_type"))
    if len(text) + len(reasoning) + sum(len(call.arguments) for call in calls) > ANSWER_LIMIT:
        return failures.malformed_failure(Note("reply_long", count=f"{ANSWER_LIMIT:,}"))
    opaque = _collect_echoed(message, calls)
    if opaque and len(to_json(opaque)) > ANSWER_LIMIT:
        return failures.malformed_failure(Note("reply_long", count=f"{ANSWER_LIMIT:,}"))
    return Completion(
        text=text,
        reasoning=reasoning,
        tool_calls=calls,
        finish_reason=finish or ("tool_calls" if calls else "unknown"),
        usage=_parse_reply_usage(reply.get("usage")),
        model=str(reply.get("model") or ""),
        sent=dict(sent),
        opaque=opaque,
    )


#: Codes of MiniMax's `base_resp`, by the HTTP status that each stands for; all others: 500.
_BASE_STATUSES = {1002: 429, 1004: 401, 1008: 402, 1039: 429, 2013: 400, 2049: 401, 2056: 429}
_BASE_FILTERED = (1026, 1027)


def _read_base_response(stated: Mapping[str, Any]) -> Completion | Failure:
    """What MiniMax says in place of an answer, with status 200."""
    code, words = stated["status_code"], stated.get("status_msg")
    if code in _BASE_FILTERED:
        return Completion(finish_reason="content_filter")
    status = _BASE_STATUSES.get(code, 500) if isinstance(code, int) else 500
    return failures.from_error_body({"code": status, "message": f"{words} ({code})"})


def _collect_echoed(message: Mapping[str, Any], calls: Sequence[ToolCall]) -> dict[str, Any]:
    """What the provider wants back with this answer. The text of `reasoning_content` stands in the
    answer already: only that it came under this name is noted."""
    echoed: dict[str, Any] = {}
    if message.get(_REASONING):
        echoed[_REASONING] = True
    fields = {name: message[name] for name in _ECHOED if message.get(name)}
    if fields:
        echoed["message"] = fields
    of_calls = {}
    for call, source in zip(calls, _find_reply_calls(message), strict=True):
        fields = {name: source[name] for name in _ECHOED_OF_CALLS if source.get(name)}
        if fields:
            of_calls[call.id] = fields
    if of_calls:
        echoed["tool_calls"] = of_calls
    return {_NAME: echoed} if echoed else {}


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
        elif part.get("type") in ("thinking", "reasoning"):
            thought = part.get("thinking") or part.get("text") or ""
            thoughts.append(
                thought if isinstance(thought, str) else _join_content_parts(thought)[0]
            )
        elif part.get("type") in ("text", "output_text", None):
            texts.append(part["text"])
        elif part["type"] == "refusal":
            texts.append(part["refusal"])
    return "".join(texts), "".join(thoughts)


def _find_reply_calls(message: Mapping[str, Any]) -> list[Any]:
    """The calls of a message, wherever they stand: as blocks of its content, or in the older form
    of a single call."""
    calls = message.get("tool_calls")
    if calls:
        return [calls] if isinstance(calls, dict) else list(calls)
    older = message.get("function_call")
    if isinstance(older, dict) and older.get("name"):
        return [{"function": older}]
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return [
        {"id": block.get("id"), "function": {"name": block["name"], "arguments": block["input"]}}
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "tool_use"
    ]


def _parse_reply_tool_calls(calls: Any) -> tuple[ToolCall, ...]:
    """Calls with their arguments as text; a server that parsed them gets them back as JSON."""
    tool_calls: list[ToolCall] = []
    used: set[str] = set()
    for number, call in enumerate(calls or ()):
        function = call if "function" not in call and "name" in call else call["function"]
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments or {}, ensure_ascii=False)
        elif "\\u" in arguments:  # a JSON text, in which halves of pairs stand escaped
            arguments = repair_escapes(arguments)
        call_id = str(call.get("id") or f"call_{number}")
        if call_id in used:  # some servers give all calls of an answer one id
            call_id = f"{call_id}_{number}"
        used.add(call_id)
        tool_calls.append(
            ToolCall(id=call_id, name=str(function.get("name") or ""), arguments=arguments)
        )
    return tuple(tool_calls)


def _parse_reply_usage(usage: Any) -> Usage:
    """Tokens and cost as reported; what is missing or out of range stays None."""
    if not isinstance(usage, dict):
        return Usage()
    return Usage(
        input_tokens=read_token_count(usage, "prompt_tokens"),
        output_tokens=read_token_count(usage, "completion_tokens"),
        reasoning_tokens=read_token_count(
            usage.get("completion_tokens_details"), "reasoning_tokens"
        ),
        cached_tokens=first_count(
            read_token_count(usage.get("prompt_tokens_details"), "cached_tokens"),
            read_token_count(usage, "prompt_cache_hit_tokens"),  # DeepSeek's name
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
