"""The value types that everything passes around: frozen, typed and JSON round-trip.

A record is encoded by `to_json` and decoded by `from_json`; fields that hold their default are left
out of the JSON, and unknown fields are ignored, so that an old reader understands a newer journal.
Times are ISO 8601 in UTC, durations are seconds, scores are 0 to 1 (`results` has those of 0 to
100), token counts are integers and None means "not reported".
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal, Self, TypeVar

import msgspec

from evalcore.errors import IntakeError
from evalcore.i18n import Note, map_note, restore_notes, unpack_note
from evalcore.intake import read_count, read_number
from evalcore.intake.json_text import parse_json, replace_surrogates

_Error = Literal["target_error", "judge_error", "environment_error"]
Outcome = Literal["passed", "failed", "not_executed", "not_applicable", _Error]
EvidenceKind = Literal["executed", "checked", "parsed", "judged"]
FailureKind = Literal[
    "rate_limited",  # the provider asked to slow down
    "retryable",  # 5xx, reset, timeout: may go away
    "permanent",  # 4xx: the same request will fail again
    "malformed",  # a reply that is no completion
    "model_output",  # the server could not digest what the model wrote, each time the same
    "timeout",  # the wall-clock limit of the sample
    "environment",  # our side: sandbox, engine, memory
]
_Tables = Literal["table", "table_diff", "tree_diff", "database", "plans", "calls"]
SectionKind = _Tables | Literal["text", "code", "json", "chat", "votes", "log"]

#: Outcomes that say something about the target; the others leave the sample unmeasured.
MEASURED: frozenset[Outcome] = frozenset({"passed", "failed"})


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """Base of every value type."""


class Measured(Record, frozen=True):
    """A record with numbers that others reported. One that is out of range, decoded or constructed,
    becomes the default of its field, which says "unknown": no sum of them fails to be written."""

    def __post_init__(self) -> None:
        for name, read, default in _bounded_fields(type(self)):
            value = getattr(self, name)
            if value is default or (type(value) is int and read is read_count and 0 <= value < 1e9):
                continue  # the usual values, without a call
            number = None if value is None else read(value)
            if number is not value:  # 12.0 tokens are 12: a count is written as one
                number = default if number is None else number
                msgspec.structs.force_setattr(self, name, number)


@cache
def _bounded_fields(kind: type[Measured]) -> tuple[tuple[str, Callable[[object], Any], Any], ...]:
    """The counts and the other numbers of a record, each with its reader and default."""
    readers: dict[Any, Callable[[object], Any]] = {
        int: read_count,
        int | None: read_count,
        float: read_number,
        float | None: read_number,
    }
    return tuple(
        (field.name, readers[field.type], field.default)
        for field in msgspec.structs.fields(kind)
        if field.type in readers and field.default is not msgspec.NODEFAULT
    )


R = TypeVar("R", bound=Record)
#: Is called with one line for people whenever long work got further.
ProgressCallback = Callable[[str], None]


def to_json(value: Any, *, ordered: bool = True) -> bytes:
    """One line of UTF-8 JSON for a record or plain data; mappings by their names if `ordered`.
    Nothing that came through the gate fails here: an integer may have any length, and half of a
    surrogate pair, which a model may write into its JSON, becomes the replacement character."""
    try:
        return (_ordered_encoder if ordered else _encoder).encode(value)
    except UnicodeEncodeError:
        plain = to_plain(value, order="deterministic" if ordered else None)
        return msgspec.json.encode(replace_surrogates(plain))


def to_plain(
    value: Any,
    packed_notes: dict[str, Any] | None = None,
    order: Literal["deterministic"] | None = None,
) -> Any:
    """A record or plain data as plain data. A note becomes its English text; `restore_notes` makes
    it one again by the code and the values that `packed_notes` gets by that text."""

    def strip_note(item: Any) -> str:
        if packed_notes is not None and isinstance(item, Note):
            packed_notes[item.english] = item.pack()
        return _strip_note(item)

    return msgspec.to_builtins(value, enc_hook=strip_note, order=order)


def to_json_with_notes(record: Record, *, ordered: bool = True) -> bytes:
    """`to_json` of a record whose notes stay notes: `from_json_with_notes` reads it, and any other
    reader their English texts."""
    packed_notes: dict[str, Any] = {}
    content = to_plain(record, packed_notes)
    if packed_notes:
        content["packed_notes"] = packed_notes
    return to_json(content, ordered=ordered)


def from_json_with_notes(kind: type[R], line: bytes) -> R:
    """Decode what `to_json_with_notes` wrote; raises msgspec.DecodeError as `from_json` does."""
    record = from_json(kind, line)
    if b'"packed_notes"' not in line:
        return record
    try:
        content = msgspec.json.decode(line, type=dict[str, Any])
        packed_notes = msgspec.convert(content.pop("packed_notes", {}), dict[str, Any])
        return msgspec.convert(restore_notes(content, packed_notes), kind)
    except (UnicodeError, RecursionError, msgspec.MsgspecError):
        return record  # the texts are right, only their notes are not


def _strip_note(item: Any) -> str:
    if isinstance(item, Note):
        return item.english
    raise TypeError(f"objects of type {type(item).__name__} are no plain data")


def from_json(kind: type[R], line: bytes | str) -> R:
    """Decode one record; raises msgspec.DecodeError, naming the JSON path of a wrong field. A
    number that is not finite (NaN, 1e400) or too long leaves its field at the default, and half of
    a surrogate pair becomes the replacement character."""
    if (decoder := _decoders.get(kind)) is None:
        with _making_decoder:  # two threads that make one of a type at once crash the process
            decoder = _decoders.setdefault(kind, msgspec.json.Decoder(kind))
    try:
        return decoder.decode(line)  # type: ignore[no-any-return]
    except (UnicodeError, RecursionError) as error:  # what a decoder raises of other kinds
        raise msgspec.DecodeError(f"not UTF-8 or nested too deep: {error}") from None
    except msgspec.DecodeError:
        try:
            return msgspec.convert(parse_json(line, drop=True), kind)
        except (IntakeError, msgspec.ValidationError, RecursionError):
            pass
        raise


def content_hash(value: Any, length: int = 16) -> str:
    """Hex digits of the sha256 of canonical JSON (keys sorted): equal content, equal hash."""
    return hashlib.sha256(to_json(value)).hexdigest()[:length]


def utc_now() -> str:
    """The present moment as ISO 8601 in UTC with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class ToolCall(Record, frozen=True):
    """A function call as the model wrote it; `arguments` is its unparsed JSON text."""

    id: str
    name: str
    arguments: str


class Message(Record, frozen=True):
    """One turn of a conversation. `reasoning` is kept apart and never shown to a scorer; `images`
    are data addresses, which are sent and not journaled. `opaque` is what the provider of an answer
    wants back with it in the next turn, by the name of its API: signatures of thoughts, encrypted
    reasoning. It is no part of the answer. `name` is that of the tool whose result it is, where a
    protocol sends it."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    images: tuple[str, ...] = ()
    opaque: dict[str, Any] = {}
    name: str = ""


class Sampling(Record, frozen=True):
    """Requested generation parameters; None leaves the choice to the target."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    reasoning_effort: str | None = None


class GenerationRequest(Record, frozen=True):
    """What a target is asked. `input` is the sample's structured input, without the reference;
    `epoch` the repetition. `is_text`: to go on with the text of the messages, without a template;
    `continuations` are pairs of context and text whose likelihoods are asked for."""

    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...] = ()
    sampling: Sampling = Sampling()
    input: dict[str, Any] = {}
    epoch: int = 0
    is_text: bool = False
    continuations: tuple[tuple[str, str], ...] = ()


#: Who says what an answer cost: the provider of the answer, the prices in the settings, the price
#: list of the package, or nobody.
CostSource = Literal["provider", "user_table", "price_list", "unknown"]


class Usage(Measured, frozen=True):
    """Tokens, and the cost in USD where it states that, as the provider reported them."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None


class Completion(Measured, frozen=True):
    """The answer to one request, after `attempts`; `sent` are the parameters that really went out,
    `finish_reason` is the usual word: stop, length, tool_calls, content_filter, context_overflow;
    or `unparsable` (a server could not digest what the model wrote; `text` if it quotes that).
    `opaque` is that of the `Message`, `call_format` the format of calls in text. `latency` is the
    model's own, `queue_time` the wait before it, `time_to_first_token` None unless streamed.
    `likelihoods`, of continuations: log-probability, and whether they are the likeliest."""

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    usage: Usage = Usage()
    latency: float = 0.0
    attempts: int = 1
    cached: bool = False
    model: str = ""
    sent: dict[str, Any] = {}
    opaque: dict[str, Any] = {}
    time_to_first_token: float | None = None
    queue_time: float | None = None
    call_format: str = ""
    likelihoods: tuple[tuple[float, bool], ...] = ()


class Failure(Measured, frozen=True):
    """Why no completion was had. `message` never holds a key; `status` is the HTTP status;
    `model_text` what the model wrote where the server could not read that and quotes it."""

    kind: FailureKind
    message: str
    status: int | None = None
    retry_after: float | None = None
    attempts: int = 1
    packed_notes: dict[str, Any] = {}
    model_text: str = ""

    def __post_init__(self) -> None:
        Measured.__post_init__(self)
        if isinstance(self.message, Note):
            packed_notes = {self.message.english: self.message.pack()}
            msgspec.structs.force_setattr(self, "message", self.message.english)
            msgspec.structs.force_setattr(self, "packed_notes", packed_notes)

    @property
    def localizable_message(self) -> str:
        """The message with its code and values, for `translate_note`."""
        message: str = restore_notes(self.message, self.packed_notes)
        return message

    def with_message(self, change: Callable[[str], str]) -> Self:
        """The failure with `change` made to its message and to the texts that it holds."""
        message = map_note(self.localizable_message, change)
        return msgspec.structs.replace(self, message=message, packed_notes={})


class Call(Record, frozen=True):
    """Journal line: one answered request, found again on resume by `key`, `turn` and `request`."""

    key: str
    epoch: int
    turn: int
    role: str
    request: str
    completion: Completion
    at: str


class Sample(Record, frozen=True):
    """One case of a benchmark, identified by (metric, id). It weighs its `difficulty`, 1 to 3,
    unless `weight` is set. A target may know `input`, only the scorer `reference`; `meta` is for
    neither: provenance, line."""

    metric: str
    id: str
    input: dict[str, Any]
    reference: dict[str, Any] = {}
    difficulty: int = 1
    meta: dict[str, Any] = {}
    weight: float | None = None

    @property
    def key(self) -> str:
        return f"{self.metric}/{self.id}"

    @property
    def case_hash(self) -> str:
        """Hash of all that decides what is asked and what is right."""
        weight = [] if self.weight is None else [self.weight]
        parts = [self.metric, self.id, self.input, self.reference, self.difficulty, *weight]
        return content_hash(parts)


class Episode(Measured, frozen=True):
    """All that happened for one generation key in one epoch: `answer` is the final text, `failure`
    why there is none, `messages` the transcript and prompt, `termination` the limit that ended it,
    `cost_sources` who says what the answers cost (nobody needs to where they are free), `latency`
    the sum of the answers', as `queue_time`, and `time_to_first_token` their mean."""

    key: str
    epoch: int
    answer: str = ""
    messages: tuple[Message, ...] = ()
    completions: int = 0
    finish_reason: str = ""
    usage: Usage = Usage()
    cost: float | None = None
    cost_sources: tuple[CostSource, ...] = ()
    latency: float = 0.0
    attempts: int = 0
    cached: bool = False
    failure: Failure | None = None
    termination: str = ""
    state: dict[str, Any] = {}
    at: str = ""
    time_to_first_token: float | None = None
    queue_time: float | None = None

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens of the answers by the seconds that they took, None where either is unknown."""
        tokens = self.usage.output_tokens
        return tokens / self.latency if tokens and self.latency else None


class Section(Record, frozen=True):
    """A piece of evidence for people. `title` is a catalogue key `section.<title>`.

    Bodies by kind: text, code, log: str (code: {"language", "text"}); json: any;
    table: {"columns", "rows"}; table_diff: {"columns", "expected", "actual", "missing", "extra"}
    (lists of rows); database: {"profile", "tables": [{"name", "columns", "rows"}]}; plans:
    {"unit", "before", "after"} of {"amount", "plan": lines}; chat: list of messages;
    votes: list of {"judge", "vote", "reason"}; calls: {"answer", "accepted": lists of {"name",
    "arguments"}, "output", "expected", "argument": where the first mismatch is};
    tree_diff: {"expected", "actual", "differences": [{"path", "expected", "actual"}]}.
    """

    kind: SectionKind
    title: str
    body: Any


class Verdict(Record, frozen=True):
    """The outcome of scoring one episode of one sample: `score` is 0 to 1, None unless measured,
    `views` scores under second readings, `details` a flat mapping of facts for machines. `note`
    is English; a `Note` leaves its code and values in `note_code` and `note_params`."""

    metric: str
    id: str
    outcome: Outcome
    epoch: int = 0
    score: float | None = None
    evidence_kind: EvidenceKind = "checked"
    reason: str = ""
    note: str = ""
    views: dict[str, float] = {}
    details: dict[str, Any] = {}
    evidence: tuple[Section, ...] = ()
    note_code: str = ""
    note_params: dict[str, Any] = {}

    def __post_init__(self) -> None:
        if isinstance(self.note, Note):
            packed = self.note.pack()
            msgspec.structs.force_setattr(self, "note_code", packed["code"])
            msgspec.structs.force_setattr(self, "note_params", packed["params"])
            msgspec.structs.force_setattr(self, "note", self.note.english)

    @property
    def localizable_note(self) -> str:
        """The note with its code and values, for `translate_note`."""
        if not self.note_code:
            return self.note
        return unpack_note(self.note, self.note_code, self.note_params)

    def with_note(self, change: Callable[[str], str]) -> Self:
        """The verdict with `change` made to its note and to the texts that the note holds."""
        return msgspec.structs.replace(
            self, note=change(self.note), note_params=_map_texts(self.note_params, change)
        )


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, dict):  # of a note within a note the code is no text
        return {k: v if k == "code" else _map_texts(v, change) for k, v in value.items()}
    return change(value) if isinstance(value, str) else value


class TargetSpec(Record, frozen=True):
    """Which target, with the options that belong to its identity (sampling, dtype, endpoint)."""

    key: str
    options: dict[str, Any] = {}

    @property
    def identity(self) -> str:
        """The key, followed by a short hash where options set it apart."""
        return f"{self.key}#{content_hash(self.options, 8)}" if self.options else self.key


class BenchmarkSpec(Record, frozen=True):
    """One benchmark of a run, frozen; runs are comparable exactly where the key `column` is equal.
    `full` is False for a subset (max_samples, chosen metrics), which never enters the full board;
    `judges` is the panel where some of its samples may be judged, else empty; `difficulty_weights`
    is what a case weighs by its difficulty where that is not the difficulty itself."""

    key: str
    suite: str
    dataset: str
    dataset_hash: str
    options: dict[str, Any]
    weights: dict[str, float]
    prompt_version: str
    scorer_version: str
    column: str
    samples: int
    full: bool = True
    metrics: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    difficulty_weights: dict[str, float] = {}

    def case_weight(self, sample: Any) -> float:
        """What a case weighs within its metric: its own weight, else that of its difficulty."""
        if sample.weight is not None:
            return float(sample.weight)
        return self.difficulty_weights.get(str(sample.difficulty), float(sample.difficulty))

    def apply_weights(self, samples: Sequence[Sample]) -> list[Sample]:
        """The samples with the weights that their difficulty has in this run."""
        if not self.difficulty_weights:
            return list(samples)
        return [msgspec.structs.replace(each, weight=self.case_weight(each)) for each in samples]


class RunSpec(Record, frozen=True):
    """All that is needed to repeat a run; written once to `spec.json` and never changed.
    `access` is the mode under which a visitor started it, "" for the operator's own; `started_by`
    tells the runs of one visitor from those of others, and not who they are. `budget` in USD, 0 for
    no limit, is that of the start; `scope` that of an application; `executor` "" is one process."""

    run_id: str
    created_at: str
    target: TargetSpec
    benchmarks: tuple[BenchmarkSpec, ...]
    seed: int = 0
    epochs: int = 1
    concurrency: int = 0
    max_samples: int | None = None
    judges: tuple[str, ...] = ()
    sample_timeout: float = 0.0
    use_cache: bool = True
    origin: Literal["executed", "imported"] = "executed"
    versions: dict[str, str] = {}
    git_commit: str = ""
    command: str = ""
    note: str = ""
    access: str = ""
    started_by: str = ""
    budget: float = 0.0
    scope: dict[str, tuple[str, ...]] = {}
    executor: Literal["", "ray"] = ""


_encoder = msgspec.json.Encoder(enc_hook=_strip_note)
_ordered_encoder = msgspec.json.Encoder(enc_hook=_strip_note, order="deterministic")
_decoders: dict[type[Record], msgspec.json.Decoder[Any]] = {}
_making_decoder = threading.Lock()
