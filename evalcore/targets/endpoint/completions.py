"""The dialect of plain completions, `POST /completions`: a text goes in, what follows it comes out.

It is the way to ask a base model, and the only one by which a server says how likely a given text
is: the text is sent with `echo`, and its own tokens come back with their logarithms. Servers that
do so: vLLM, SGLang, llama.cpp's Python server, and OpenAI's older models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalcore.i18n import Note
from evalcore.records import Completion, Failure, GenerationRequest, Message, Sampling, Usage
from evalcore.targets import failures
from evalcore.targets.base import bound_logprob
from evalcore.targets.endpoint.dialect import (
    TOKEN_FIELDS,
    ApiDialect,
    Capabilities,
    WireRequest,
    read_finish_reason,
    read_token_count,
)
from evalcore.targets.endpoint.native import (
    cap_limit,
    check_answer_size,
    drop_unset,
    refuse_odd_parts,
)
from evalcore.targets.endpoint.stream import ChatStream, find_error

_PATH = "/completions"
_WORDS = {"system": "System", "user": "User", "assistant": "Assistant", "tool": "Result"}
#: Tokens that a server generates beyond a text whose likelihood is asked for: some take no zero.
_BEYOND = 1


class CompletionsDialect:
    """The dialect for one model. Answers are not streamed."""

    name = "completions"
    token_fields = TOKEN_FIELDS[:1]
    adaptable = frozenset({"temperature", "top_p", "seed", "stop"})

    def __init__(self, model: str, extra_body: Mapping[str, Any]) -> None:
        self.model, self._extra_body = model, dict(extra_body)

    def build_parameters(self, sampling: Sampling, capabilities: Capabilities) -> dict[str, Any]:
        requested = {
            "model": self.model,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
            "stop": list(sampling.stop) or None,
            "max_tokens": sampling.max_tokens,
        }
        parameters = drop_unset(requested, capabilities.refused) | self._extra_body
        return cap_limit(parameters, self.token_fields, capabilities.most_tokens)

    def build_request(
        self, request: GenerationRequest, parameters: Mapping[str, Any], capabilities: Capabilities
    ) -> WireRequest:
        return WireRequest(_PATH, {**parameters, "prompt": write_prompt(request)})

    def authorize(self, key: str, url: str, body: bytes) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {key}"}

    def parse_reply(self, reply: Any, sent: Mapping[str, Any]) -> Completion | Failure:
        return refuse_odd_parts(self._parse_reply)(reply, sent)

    def _parse_reply(self, reply: Any, sent: Mapping[str, Any]) -> Completion | Failure:
        error = find_error(reply)
        if error:
            return failures.from_error_body(error)
        choice = reply["choices"][0]
        finish = read_finish_reason(choice.get("finish_reason"))
        if isinstance(finish, Failure):
            return finish
        return check_answer_size(
            Completion(
                text=choice["text"] or "",
                finish_reason=finish or "unknown",
                usage=_read_usage(reply),
                model=str(reply.get("model") or ""),
                sent=dict(sent),
            )
        )

    def start_stream(self) -> ChatStream:
        return ChatStream()


class LikelihoodDialect(CompletionsDialect):
    """The dialect for one request that asks how likely its continuations are."""

    def __init__(self, model: str, continuations: Sequence[tuple[str, str]]) -> None:
        super().__init__(model, {})
        self._continuations = continuations

    def build_request(
        self, request: GenerationRequest, parameters: Mapping[str, Any], capabilities: Capabilities
    ) -> WireRequest:
        texts = [context + text for context, text in self._continuations]
        asked = {"prompt": texts, "echo": True, "logprobs": 1, "max_tokens": _BEYOND}
        return WireRequest(_PATH, {**parameters, "temperature": 0.0, **asked})

    def _parse_reply(self, reply: Any, sent: Mapping[str, Any]) -> Completion | Failure:
        error = find_error(reply)
        if error:
            return failures.from_error_body(error)
        choices = sorted(reply["choices"], key=lambda choice: choice.get("index") or 0)
        if len(choices) != len(self._continuations):
            return failures.malformed_failure(
                Note("reply_choices", choices=len(choices), texts=len(self._continuations))
            )
        read = [
            _read_likelihood(choice.get("logprobs"), continuation)
            for choice, continuation in zip(choices, self._continuations, strict=True)
        ]
        likelihoods = tuple(likelihood for likelihood in read if likelihood is not None)
        if len(likelihoods) < len(read):
            return Failure(kind="permanent", message=Note("reply_no_likelihoods"), status=200)
        model = str(reply.get("model") or "")
        usage, asked = _read_usage(reply), {"echo": True, "logprobs": 1}
        return Completion(likelihoods=likelihoods, usage=usage, model=model, sent={**sent, **asked})


def fit_to_request(dialect: ApiDialect, request: GenerationRequest) -> ApiDialect:
    """The dialect in which a request is sent: where likelihoods are asked for, the only one that
    can say them."""
    if not request.continuations:
        return dialect
    model = dialect.model if isinstance(dialect, CompletionsDialect) else ""
    return LikelihoodDialect(model, request.continuations)


def write_prompt(request: GenerationRequest) -> str:
    """The text to go on with; of a conversation, its turns in lines."""
    if request.is_text:
        return "".join(message.content for message in request.messages)
    return "\n".join([*map(_write_turn, request.messages), "Assistant:"])


def _write_turn(message: Message) -> str:
    return f"{_WORDS[message.role]}: {message.content}"


def _read_likelihood(logprobs: Any, continuation: tuple[str, str]) -> tuple[float, bool] | None:
    """The likelihood of a continuation among the tokens of an echoed text; None where they are not
    there. White space at the end of the context belongs to the continuation, as does a token that
    reaches into it."""
    if not isinstance(logprobs, dict) or not logprobs.get("tokens"):
        return None
    start, end = len(continuation[0].rstrip()), sum(map(len, continuation))
    tokens, values = logprobs["tokens"], logprobs["token_logprobs"]
    offsets, likeliest = logprobs["text_offset"], logprobs.get("top_logprobs") or []
    first_offset = offsets[0]
    ends = [*offsets[1:], first_offset + end + 1]
    total, is_greedy, count = 0.0, True, 0
    for number, (token, value, offset, stop) in enumerate(
        zip(tokens, values, offsets, ends, strict=True)
    ):
        if stop - first_offset <= start or offset - first_offset >= end:
            continue
        if value is None:  # nothing precedes the first token of a text
            continue
        best = likeliest[number] if number < len(likeliest) else None
        total, count = total + float(value), count + 1
        is_greedy = is_greedy and (not best or max(best, key=best.get) == token)
    return (bound_logprob(total), is_greedy) if count else None


def _read_usage(reply: Mapping[str, Any]) -> Usage:
    usage = reply.get("usage")
    if not isinstance(usage, dict):
        return Usage()
    return Usage(
        input_tokens=read_token_count(usage, "prompt_tokens"),
        output_tokens=read_token_count(usage, "completion_tokens"),
    )
