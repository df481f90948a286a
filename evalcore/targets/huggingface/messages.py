"""What the process of a model and its parent tell each other: the options of an `hf:` target,
orders and events as frames on a pipe, and why a model cannot be loaded.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.plain_text import to_single_line
from evalcore.records import (
    Completion,
    FailureKind,
    GenerationRequest,
    Record,
    Sampling,
    TargetSpec,
)
from evalcore.targets.base import convert_options

ReasoningEffort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Dtype = Literal["auto", "float32", "float16", "bfloat16", "int8", "int4"]
_DEVICE = re.compile(r"auto|cpu|mps|cuda(:(\d{1,3}|all))?")
#: Other names of a dtype that configurations in use hold.
_DTYPES = {"fp32": "float32", "fp16": "float16", "half": "float16", "bf16": "bfloat16"}


Engine = Literal["transformers", "vllm", "sglang", "llamacpp"]


class HuggingFaceOptions(Record, frozen=True, forbid_unknown_fields=True):
    """Options of a target; numbers may come as text.

    `dtype` auto is that of the checkpoint; int8 and int4 quantise while loading. `batch_size` 0 is
    as many as `batch_tokens` allow, 1 the exact mode; `batch_tokens` 0 is the device's default,
    `threads` 0 OMP_NUM_THREADS or the physical cores, `context` (tokens) 0 the model's own.
    `sampling` is what holds where nobody set it: greedy, or the model's own `generation_config`.
    `top_k` and `min_p` (0: off) cut what is drawn from; both need a temperature.
    `repetition_penalty` (1: off) changes greedy answers, too; `chat_template` is a file that
    replaces the model's own template. `trust_remote_code` lets code beside the weights run,
    `allow_pickle` weights that may hold code. `max_new_tokens` is another name of `max_tokens`,
    `enable_thinking` of `reasoning_effort` none or medium. `engine` serves the model: transformers
    in this package, or a server that is started and stopped with the run; `server_args` are further
    words of its command line, `server_timeout` the seconds it may take to load the model,
    `engine_version` the version that must answer ("": any).
    """

    device: str = "auto"
    dtype: Dtype = "auto"
    adapter: str = ""
    revision: str = ""
    attn_implementation: str = ""
    trust_remote_code: bool = False
    allow_pickle: bool = False
    batch_size: int = 0
    batch_tokens: int = 0
    threads: int = 0
    context: int = 0
    sampling: Literal["greedy", "model"] = "greedy"
    temperature: float | None = None
    top_p: float | None = None
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    max_tokens: int | None = None
    max_new_tokens: int | None = None
    seed: int | None = None
    reasoning_effort: ReasoningEffort | None = None
    enable_thinking: bool | None = None
    stop: tuple[str, ...] = ()
    chat_template: str = ""
    asking: Literal["auto", "native", "prompt", "json"] = "auto"
    engine: Engine = "transformers"
    engine_version: str = ""
    server_args: str = ""
    server_timeout: float = 1800.0

    @property
    def requested(self) -> Sampling:
        return Sampling(
            temperature=self.temperature,
            top_p=self.top_p,
            max_tokens=self.max_tokens or self.max_new_tokens,
            seed=self.seed,
            stop=self.stop,
            reasoning_effort=self._resolve_effort(),
        )

    def _resolve_effort(self) -> str | None:
        if self.enable_thinking is None:
            return self.reasoning_effort
        return "medium" if self.enable_thinking else "none"


def read_huggingface_options(spec: TargetSpec) -> HuggingFaceOptions:
    """The options of a spec, converted; raises UsageError naming the one that is wrong."""
    values = dict(spec.options)
    if isinstance(values.get("dtype"), str):
        plain = values["dtype"].removeprefix("torch.")
        values["dtype"] = _DTYPES.get(plain, plain)
    options = convert_options(spec.key, values, HuggingFaceOptions)
    problem = _find_option_problem(options)
    if problem:
        raise UsageError(Note("local_option", owner=spec.key, problem=problem))
    return options


def _find_option_problem(options: HuggingFaceOptions) -> str:
    if not _DEVICE.fullmatch(options.device):
        return f"device is auto, cpu, mps, cuda, cuda:N or cuda:all, not {options.device!r}"
    for name in ("batch_size", "batch_tokens", "threads", "context", "top_k"):
        if getattr(options, name) < 0:
            return f"{name} must be 0 or more"
    for name in ("max_tokens", "max_new_tokens"):
        limit = getattr(options, name)
        if limit is not None and limit < 1:
            return f"{name} must be 1 or more"
    both = (options.max_tokens, options.max_new_tokens)
    if None not in both and both[0] != both[1]:
        return "max_tokens and max_new_tokens mean the same; give one of them"
    if options.reasoning_effort is not None and options.enable_thinking is not None:
        return "enable_thinking is another name of reasoning_effort; give one of them"
    if options.temperature is not None and not 0 <= options.temperature < float("inf"):
        return "temperature must be 0 or more"
    if options.top_p is not None and not 0 < options.top_p <= 1:
        return "top_p must be more than 0 and at most 1"
    if not 0 <= options.min_p <= 1:
        return "min_p must be from 0 to 1"
    if not 0 < options.repetition_penalty < float("inf"):
        return "repetition_penalty must be more than 0"
    if not 0 < options.server_timeout < float("inf"):
        return "server_timeout must be more than 0 seconds"
    if options.engine == "transformers" and (options.server_args or options.engine_version):
        return "server_args and engine_version need an engine: vllm, sglang or llamacpp"
    return "stop must not contain an empty text" if "" in options.stop else ""


class StartOrder(Record, frozen=True):
    """The parent's first message. `halved` tells how often an earlier process ran out of memory or
    was killed: so often the budget of a batch is halved from the start."""

    key: str
    options: HuggingFaceOptions
    halved: int = 0


class AskOrder(Record, frozen=True, tag="ask"):
    id: str
    request: GenerationRequest


class CancelOrder(Record, frozen=True, tag="cancel"):
    """Nobody waits for this answer any more."""

    id: str


class LoadingEvent(Record, frozen=True, tag="loading"):
    """A line for people while the model is loaded."""

    line: str


class ReadyEvent(Record, frozen=True, tag="ready"):
    """The model is loaded; `report` holds the fields of `load.Report`."""

    report: dict[str, Any]


class RefusedEvent(Record, frozen=True, tag="refused"):
    """The model cannot be loaded; `kind` is that of a LoadError, else empty."""

    kind: str
    message: str


class AnswerEvent(Record, frozen=True, tag="answer"):
    id: str
    completion: Completion


class FailedEvent(Record, frozen=True, tag="failed"):
    """A request without an answer."""

    id: str
    kind: FailureKind
    message: str


class StatsEvent(Record, frozen=True, tag="stats"):
    """How the process does: new tokens a second since the last such message and in all, bytes that
    it holds (on the GPU where the model is there), rows running and waiting, places that a batch
    may take and how often they were halved."""

    tokens_per_second: float
    tokens: int
    process_bytes: int
    batch: int
    waiting: int
    budget_tokens: int
    halved: int


WorkerOrder = AskOrder | CancelOrder
WorkerEvent = LoadingEvent | ReadyEvent | RefusedEvent | AnswerEvent | FailedEvent | StatsEvent

_order_decoder: msgspec.json.Decoder[WorkerOrder] = msgspec.json.Decoder(WorkerOrder)
_event_decoder: msgspec.json.Decoder[WorkerEvent] = msgspec.json.Decoder(WorkerEvent)


def read_order(frame: bytes) -> WorkerOrder:
    return _order_decoder.decode(frame)


def read_event(frame: bytes) -> WorkerEvent:
    return _event_decoder.decode(frame)


LoadErrorKind = Literal[
    "path_missing",  # no such folder, file or model on the Hub
    "no_config",
    "unknown_architecture",
    "no_tokenizer",
    "empty_tokenizer",  # far fewer tokens than the model embeds
    "pickle_only",  # weights that can run code when they are read
    "missing_weights",  # layers would stay random
    "truncated_weights",
    "shape_mismatch",
    "remote_code",
    "no_memory",
    "no_device",
    "dtype_unsupported",
    "adapter_mismatch",
    "offline_missing",
    "attention_missing",
    "engine_missing",  # the program of a server is not installed
    "engine_failed",  # a server ended or was not ready in time
]


class LoadError(UsageError):
    """A model that cannot be loaded. `kind` is stable, for machines; the text is for people."""

    def __init__(self, kind: LoadErrorKind, text: str) -> None:
        self.kind = kind
        super().__init__(text)


# The libraries tell causes apart by the words of their messages alone, so the table matches those;
# what no row knows becomes a LoadError of the stage's own kind, with the original words.

_CAUSES: tuple[tuple[str, LoadErrorKind, str], ...] = (
    (
        r"trust_remote_code|custom code",
        "remote_code",
        "the model needs the code that comes with its weights; read that code and, if you trust "
        "it, set the option trust_remote_code to true",
    ),
    (
        r"out of memory|can't allocate memory|MemoryError|not enough memory",
        "no_memory",
        "the memory does not suffice; choose a smaller dtype (int8, int4), another device or a "
        "smaller model",
    ),
    (
        r"flash.?attn|flash.?attention|attn_implementation|attention implementation",
        "attention_missing",
        "this attention is not installed or does not fit the model; leave the option "
        "attn_implementation out, or set it to sdpa or eager",
    ),
    (
        r"not compiled with CUDA|no CUDA GPUs|invalid device ordinal|no NVIDIA driver",
        "no_device",
        "PyTorch finds no such device here; set the option device to cpu or auto",
    ),
    (
        r"incomplete metadata|file not fully covered|header.{0,20}(too large|invalid|deserializ)",
        "truncated_weights",
        "a file of weights is cut off; copy or download it again",
    ),
    (
        r"ignore_mismatched_sizes|size mismatch|shapes? mismatch|mismatched",
        "shape_mismatch",
        "the weights have other shapes than config.json says; they belong to another model",
    ),
    (
        r"Unrecognized (model|configuration)|does not recognize this architecture|model type",
        "unknown_architecture",
        "the installed transformers does not know this architecture; a newer release may",
    ),
    (
        r"no file named .*(safetensors|bin)",
        "missing_weights",
        "the folder has no weights that may be read; convert them to safetensors",
    ),
)


def classify_load_error(error: BaseException, stage: LoadErrorKind, what: str) -> LoadError:
    """The LoadError that an exception of a library means; `stage` is its kind where no words tell,
    `what` begins the text."""
    if isinstance(error, LoadError):
        return error
    message = f"{type(error).__name__}: {error}"
    for words, kind, remedy in _CAUSES:
        if re.search(words, message, re.IGNORECASE | re.DOTALL):
            return LoadError(kind, f"{what}: {remedy} ({to_single_line(message, 300)})")
    return LoadError(stage, f"{what}: {to_single_line(message, 300)}")
