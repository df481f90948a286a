"""What an API dialect implements, and what all of them share: capabilities, seeds, thoughts, and
the table of finish reasons.

A dialect is pure: it builds requests and reads replies, and never sends anything. The target
(`target.py`) asks it for parameters and a request, sends that by the transport, and gives it the
reply back, decoded, or event by event where the server streams. To add one, write a class with the
methods of `ApiDialect` and name it in `select.create_dialect`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from evalcore.i18n import Note
from evalcore.intake import read_count
from evalcore.records import (
    Completion,
    Failure,
    FailureKind,
    GenerationRequest,
    Message,
    Record,
    Sampling,
    content_hash,
)
from evalcore.settings import Endpoint
from evalcore.targets import failures
from evalcore.targets.endpoint.turns import find_mend

#: Names of the limit of an answer in chat completions.
TOKEN_FIELDS = ("max_tokens", "max_completion_tokens")


#: Fields of past turns, in any API, that a server may refuse; they are then left out.
ECHOED_FIELDS = frozenset(
    {
        *("reasoning_content", "reasoning_details", "thinking_blocks", "extra_content"),
        *("thought_signature", "provider_specific_fields"),
    }
)


class Capabilities(Record, frozen=True):
    """What one server accepts, learned from its refusals and shared by all requests of a target.

    `refused` are the parameters to leave out, `most_tokens` the largest limit of an answer that the
    model takes (None until it was refused), `stream` whether answers are streamed, `fold_system`
    whether the system turn goes into the first user turn, `mends` what is changed in past turns
    (`turns.mend_turns`).
    """

    token_field: str = "max_tokens"
    refused: frozenset[str] = frozenset()
    send_reasoning: bool = False
    most_tokens: int | None = None
    stream: bool = True
    fold_system: bool = False
    mends: frozenset[str] = frozenset()

    def limit_field(self) -> str | None:
        """The name under which the limit of an answer goes; None if all were refused."""
        names = (self.token_field, *(n for n in TOKEN_FIELDS if n != self.token_field))
        return next((name for name in names if name not in self.refused), None)

    def without_parameter(self, name: str) -> Capabilities | None:
        """The capabilities after a refusal; None where the request cannot do without `name`."""
        if name == "stream":
            return msgspec.structs.replace(self, stream=False)
        learned = msgspec.structs.replace(self, refused=self.refused | {name})
        return None if name in TOKEN_FIELDS and learned.limit_field() is None else learned

    def with_mends(self, *names: str) -> Capabilities:
        return msgspec.structs.replace(self, mends=self.mends.union(names))

    def to_card(self) -> dict[str, Any]:
        """Return the capability card entries: the limit's name, and the parameters left out."""
        dropped = sorted(self.refused - set(TOKEN_FIELDS))
        most = {"most_tokens": self.most_tokens} if self.most_tokens else {}
        folded = {"system_turn": "folded into the user's"} if self.fold_system else {}
        mended = {"past_turns": sorted(self.mends)} if self.mends else {}
        return {
            "token_field": self.limit_field(),
            "dropped": dropped,
            "streaming": self.stream,
            **most,
            **folded,
            **mended,
        }


def capabilities_of_endpoint(endpoint: Endpoint, *, stream: bool = True) -> Capabilities:
    return Capabilities(
        token_field=endpoint.token_field, send_reasoning=endpoint.send_reasoning, stream=stream
    )


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One HTTP POST: `path` goes behind the target's base_url (and may hold a query), `headers`
    beside those of `ApiDialect.authorize`."""

    path: str
    body: dict[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)


class StreamAssembler(Protocol):
    """The events of one streamed reply, put together to what `ApiDialect.parse_reply` reads."""

    @property
    def is_complete(self) -> bool:
        """Whether the server said that the answer is whole. A stream that merely ends was cut."""

    def add_event(self, event: str, data: bytes) -> bool:
        """Take one server-sent event; True where it carries a piece of the answer (text, thought
        or call), which is how the time to the first token is taken. Raises IntakeError for data
        that is not JSON."""

    def build_reply(self) -> Any:
        """The reply as if it had not been streamed: all of it, or what has arrived. An error that
        came as an event stands where `parse_reply` looks for errors. None where nothing came."""


class ApiDialect(Protocol):
    """How one API is spoken. An instance belongs to one target and knows model and extra body."""

    @property
    def name(self) -> str:
        """The value of the option `api`."""

    @property
    def token_fields(self) -> tuple[str, ...]:
        """The parameters that limit an answer, by the names of this API."""

    @property
    def adaptable(self) -> frozenset[str]:
        """The parameters that a request can do without, or for which there is another name; the
        target leaves out what a server refuses, by `Capabilities.without_parameter`."""

    def build_parameters(self, sampling: Sampling, capabilities: Capabilities) -> dict[str, Any]:
        """All that goes out but messages and tools, under the names of this API and flat; recorded
        as `Completion.sent`. Parameters that nobody set are left out. The target may change the
        `seed` and the fields of `token_fields` in a copy of it."""

    def build_request(
        self, request: GenerationRequest, parameters: Mapping[str, Any], capabilities: Capabilities
    ) -> WireRequest:
        """The request; streaming where `capabilities.stream`."""

    def authorize(self, key: str, url: str, body: bytes) -> Mapping[str, str]:
        """The headers that carry the key, or a signature of the request by it."""

    def parse_reply(self, reply: Any, sent: Mapping[str, Any]) -> Completion | Failure:
        """Read the decoded JSON of a reply of status 200; a Failure where it holds no answer.
        Latency, attempts and timings are filled in by the target."""

    def start_stream(self) -> StreamAssembler:
        """An empty assembler for one reply."""


# What a person set for a target goes before what a benchmark requests, and each repetition has a
# seed of its own.


def merge_sampling(requested: Sampling, options: Sampling) -> Sampling:
    """What the benchmark requests, overridden by what the person set for this target."""
    changes = {
        name: value
        for name in Sampling.__struct_fields__
        if (value := getattr(options, name)) not in (None, ())
    }
    return msgspec.structs.replace(requested, **changes) if changes else requested


def derive_epoch_seed(seed: int, request: GenerationRequest) -> int:
    """The seed of a repetition of a sample, from 0 to 2**31 - 1 as every server takes it. Equal
    seeds would make all epochs one, and the same draws meet in all samples of one. The first epoch
    keeps the seed; a negative one, by which some servers mean a random one, stays as it is."""
    if not request.epoch or seed < 0:
        return seed
    sample = [message.content for message in request.messages[:2]]  # the same in all its turns
    return int(content_hash([seed, request.epoch, sample]), 16) % 2**31


_REFUSAL = re.compile(
    r"(?i)unsupported|not support|unrecognized|unknown|unexpected|not permitted|not allowed"
    r"|deprecated|only\b.{0,40}\b(supported|allowed)|verified to stream"
    r"|cannot (both )?be (set|used|specified)|extra_forbidden"
    r"|may only be set|unset when|不支持|不允许|未知"
)


#: Two parameters of which a server takes one (Anthropic).
_TOGETHER = re.compile(r"(?is)temperature.{0,20}top_p.{0,20}(both|together)|both.{0,20}temperature")


def find_refused_parameter(
    status: int | None, text: str, sent: Mapping[str, Any], adaptable: frozenset[str]
) -> str | None:
    """The sent parameter that an error says the server does not take, if it is adaptable. A
    complaint about a value ("must be between 0 and 2") is no refusal: leaving the parameter out
    would then hide a mistake."""
    if status not in (400, 422) or not _REFUSAL.search(text):
        return None
    if _TOGETHER.search(text) and {"temperature", "top_p"} <= sent.keys():
        return "top_p"
    offsets_by_name = {
        name: match.start()
        for name in adaptable & sent.keys()
        if (
            match := re.search(rf"(?<![A-Za-z_]){name.replace('_', '_?')}(?![A-Za-z_])", text, re.I)
        )
    }
    return min(offsets_by_name, key=lambda name: offsets_by_name[name], default=None)


#: A server that has no turn for the system (Gemma's template, by various servers).
_NO_SYSTEM_TURN = re.compile(
    r"(?i)developer instruction is not enabled|system (role|message|instruction)s? (is |are )?not"
    r" (supported|enabled|allowed)|does not support (the )?(system|developer) (role|message|instr)"
)
#: A server that wants thoughts back with the calls they led to (DeepSeek, Moonshot).
_WANTS_THOUGHTS = re.compile(
    r"(?is)reasoning_content.{0,80}(must|should|has to) be (passed|sent|included)"
    r"|reasoning_content.{0,40}(is )?(missing|required)|missing.{0,40}reasoning_content"
)
#: A server that answers streamed only, or not so.
_ONLY_STREAM = re.compile(
    r"(?i)only supports? stream|must be set to false for non-?streaming|stream(ing)? is required"
    r"|(please )?(use|enable|set) stream(ing)?( mode|=true)"
)
_NO_STREAM = re.compile(
    r"(?i)stream(ing|ed)?( mode| responses?)?\b.{0,40}\b(not|isn't|un)\s?(yet )?"
    r"(supported|available|implemented|allowed|permitted|enabled)"
    r"|does(n't| not) support stream|verified to stream"
)

#: What the words of a refusal say of a capability, in the order in which they are looked for.
_LESSONS: tuple[tuple[re.Pattern[str], str, bool], ...] = (
    (_NO_SYSTEM_TURN, "fold_system", True),
    (_ONLY_STREAM, "stream", True),
    (_NO_STREAM, "stream", False),
    (_WANTS_THOUGHTS, "send_reasoning", True),
)


def learn_capabilities(
    status: int | None,
    words: str,
    sent: Mapping[str, Any],
    capabilities: Capabilities,
    dialect: ApiDialect,
    messages: Sequence[Message] = (),
) -> Capabilities | None:
    """What a refusal of a request with `messages` teaches about a server; None where it teaches
    nothing. Errors of a chat template come with status 500 from some servers."""
    if status not in (400, 404, 405, 415, 422, 500, 501):
        return None
    text = failures.provider_message(words)
    for pattern, name, value in _LESSONS:
        if getattr(capabilities, name) != value and pattern.search(text):
            return msgspec.structs.replace(capabilities, **{name: value})
    said = f"{words}\n{text}"  # the body may escape what it says
    refused = find_refused_parameter(status, said, sent, dialect.adaptable)
    if refused is None:
        echoed = ECHOED_FIELDS - capabilities.refused
        refused = find_refused_parameter(status, said, dict.fromkeys(echoed), echoed)
    if refused is not None and refused not in capabilities.refused:
        return capabilities.without_parameter(refused)
    mend = find_mend(text, messages, capabilities.mends)
    return capabilities.with_mends(mend) if mend else None


# Why an answer ended. Words of all APIs in one table: none of them means two things.

#: Ends of an answer that is the model's own, in the servers' words and in the field's.
_ENDS: dict[str, tuple[str, ...]] = {
    "stop": (
        *("stop", "end_turn", "stop_sequence", "stop_token", "eos", "eos_token", "complete"),
        *("endoftext", "end_of_text", "normal", "finish", "stop_criteria_met", "eosfound"),
        "stopstringfound",
    ),
    "length": (
        *("length", "max_tokens", "max_output_tokens", "max_length", "model_length"),
        *("model_context_window_exceeded", "token_limit", "error_limit", "maximum_tokens"),
        *("contextlengthreached", "maxpredictedtokensreached"),
    ),
    "tool_calls": ("tool_calls", "tool_call", "tool_use", "function_call", "toolcalls"),
    "content_filter": (
        *("content_filter", "content_filtered", "guardrail_intervened", "refusal", "sensitive"),
        *("safety", "recitation", "blocklist", "prohibited_content", "spii", "image_safety"),
        "error_toxic",
    ),
}
#: Ends that are no answer: the server broke off, or could not digest what the model wrote.
_FAILURES: dict[FailureKind, tuple[str, ...]] = {
    "retryable": (
        *("error", "insufficient_system_resource", "abort", "aborted", "cancelled", "canceled"),
        *("timeout", "network_error", "server_error", "overloaded", "time_limit", "user_cancel"),
        *("not_finished", "load", "unload", "modelunloaded", "userstopped", "failed"),
    ),
    "model_output": (
        *("malformed_function_call", "function_call_filter", "unexpected_tool_call"),
        *("malformed_tool_call", "malformed_response", "malformed_model_output"),
        "malformed_tool_use",
    ),
}
_FINISH: dict[str, str] = {word: end for end, words in _ENDS.items() for word in words}
_FAILED: dict[str, FailureKind] = {
    word: kind for kind, words in _FAILURES.items() for word in words
}
#: The end of an answer of which a part arrived before a time limit; recorded, never scored.
CUT_BY_TIMEOUT = "timeout"


def read_finish_reason(reason: Any) -> str | Failure:
    """Read why an answer ended, as the field's word (empty where the server does not say). An end
    that the table does not know is a failure of the provider: it may have cut the answer. Some
    servers write two words, such as `content_filter: PROHIBITED_CONTENT`; the last that the table
    knows counts."""
    if reason in (None, "", "null"):  # DashScope writes the word
        return ""
    words = str(reason).lower().split(":")
    for word in (str(reason).lower(), *reversed(words)):
        name = word.strip().replace("-", "_")
        if name in _FINISH:
            return _FINISH[name]
        if name in _FAILED:
            message = Note("reply_ended", reason=repr(reason))
            return Failure(kind=_FAILED[name], message=message, status=200)
    return failures.malformed_failure(Note("reply_end_unknown", reason=repr(reason)))


def is_answer(completion: Completion) -> bool:
    """Whether a recorded completion is an answer: older versions took any end of a reply for the
    model's own, and journals and caches may hold answers that the provider broke off."""
    return completion.finish_reason.lower() not in _FAILED


#: Channels of gpt-oss in a text that a server did not take apart: with its marks, or without them.
_CHANNEL = re.compile(
    r"<\|channel\|>\s*(analysis|commentary|final)(?P<to>[^<]*)(?:<\|constrain\|>[^<]*)?<\|message\|>"
    r"(?P<text>.*?)(?=<\|(?:end|return|call|start|channel)\|>|\Z)",
    re.DOTALL,
)
#: Who a message goes to, before its channel or behind it.
_RECIPIENT = re.compile(r"\bto=[\w.]+\s*(?:<\|channel\|>\s*\w+)?[^<]*\Z")
_BARE_CHANNELS = re.compile(r"analysis(.+?)assistant\s?final(.*)", re.DOTALL)
_THOUGHT = re.compile(r"\s*<(think|thinking)>(.*?)(?:</\1>|\Z)\s*", re.DOTALL)
_END_OF_THOUGHT = re.compile(r"</think(?:ing)?>\s*")


def split_thought(text: str) -> tuple[str, str]:
    """Thought and answer of a text that begins with `<think>`. A thought without an end was cut:
    nothing of it is an answer. Where the prompt itself opened the thought, the text holds its end
    only."""
    if "<|channel|>" in text or text.startswith("analysis"):
        return _split_channels(text)
    if "think" not in text:
        return "", text
    opened = _THOUGHT.match(text)
    if opened:
        return opened[2].strip(), text[opened.end() :]
    ended = _END_OF_THOUGHT.search(text)
    if ended and "<think" not in text[: ended.start()]:
        return text[: ended.start()].strip(), text[ended.end() :]
    return "", text


def _split_channels(text: str) -> tuple[str, str]:
    """Thought and answer of a text in channels; one with a call stays whole for who reads calls."""
    bare = _BARE_CHANNELS.fullmatch(text)
    if bare:
        return bare[1].strip(), bare[2]
    parts = list(_CHANNEL.finditer(text))
    if not parts or any(_RECIPIENT.search(text[: part.end("to")]) for part in parts):
        return "", text
    thoughts = [part["text"] for part in parts if part[1] != "final"]
    return "\n".join(thoughts).strip(), "".join(
        part["text"] for part in parts if part[1] == "final"
    )


def first_count(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)


def read_token_count(holder: Any, name: str) -> int | None:
    """A count of a reply's usage; None where it is missing or out of range."""
    return read_count(holder.get(name)) if isinstance(holder, dict) else None
