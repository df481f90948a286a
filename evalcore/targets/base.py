"""The contract of a target (open, answer requests, close), and the control targets: the ceiling
and the floors of a benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from evalcore.catalog import CONTROLS, COSMETIC_CONTROLS
from evalcore.errors import EnvironmentFailure, UsageError, suggest_name
from evalcore.i18n import Note
from evalcore.records import Completion, GenerationRequest, ProgressCallback, Record, TargetSpec

TargetKind = Literal["endpoint", "local", "application", "baseline", "control"]
_JSON_OPTIONS = ("stop", "extra_body", "headers")


#: The logarithm of a probability too small to tell from nothing, for which JSON has no number.
LEAST_LOGPROB = -1e6


def bound_logprob(value: float) -> float:
    """A log-probability as JSON holds it: finite, and none above certainty."""
    return min(0.0, value) if value > LEAST_LOGPROB else LEAST_LOGPROB


class TargetInfo(Record, frozen=True):
    """What a target says of itself. `revision` belongs to the cache key of its answers.
    `max_in_flight` is the width it can use, `start_in_flight` where the scheduler begins;
    `cacheable` is False where asking again costs nothing. `tools`: whether it takes tools, None
    where only its server knows; `likelihoods`: whether it says how likely a given text is;
    `needs_limit`: whether an answer without a limit would be cut short, or never end. `card`
    records capabilities."""

    kind: TargetKind
    title: str
    max_in_flight: int = 64
    start_in_flight: int = 8
    revision: str = ""
    cacheable: bool = False
    tools: bool | None = False
    likelihoods: bool = False
    needs_limit: bool = False
    card: dict[str, Any] = {}


class ServedModel(Record, frozen=True):
    """A model in a server's list; `context` is in tokens, None where the server does not say."""

    id: str
    title: str = ""
    context: int | None = None


_Options = TypeVar("_Options", bound=Record)


def convert_options(key: str, values: Mapping[str, Any], kind: type[_Options]) -> _Options:
    """The options of a target as a record: numbers may come as text, `stop` and `extra_body` as
    JSON. Raises UsageError naming the one that is wrong, without its value."""
    names = kind.__struct_fields__
    for name in values:
        if name not in names:
            problem = Note("target_option_unknown", owner=key, name=name, names=", ".join(names))
            raise UsageError(suggest_name(problem, name, names))
    parsed = {name: _parse_json_option(values[name]) for name in _JSON_OPTIONS if name in values}
    if isinstance(values.get("stop"), str) and not isinstance(parsed["stop"], list):
        parsed["stop"] = [values["stop"]]  # a text that is no list is one stop string
    try:
        return msgspec.convert({**values, **parsed}, kind, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(Note("target_option_wrong", owner=key, problem=error)) from None


def _parse_json_option(value: Any) -> Any:
    """A list or object typed as JSON on a command line; all else as it is."""
    try:
        return msgspec.json.decode(value) if isinstance(value, str) else value
    except msgspec.DecodeError:
        return value


#: Takes the parts of answers that were cut, for the request that is being answered.
_keep_partial: ContextVar[Callable[[Completion], None] | None] = ContextVar("partial", default=None)


@contextmanager
def collect_partial_answers(keep: Callable[[Completion], None]) -> Iterator[None]:
    """Within the block, give `keep` what arrived of answers that were cut by a time limit or a
    lost connection: they are paid for, also where another attempt succeeds."""
    token = _keep_partial.set(keep)
    try:
        yield
    finally:
        _keep_partial.reset(token)


def report_partial_answer(partial: Completion) -> None:
    """Hand over what arrived of an answer; a target calls this before its failure is raised."""
    keep = _keep_partial.get()
    if keep is not None:
        keep(partial)


class Target(Protocol):
    """A system under test. `generate` may be called concurrently up to `info.max_in_flight`."""

    key: str
    info: TargetInfo

    async def open(self, progress: ProgressCallback) -> None:
        """Load or connect; `progress` takes a line for people. Raises UsageError with a remedy."""

    async def generate(self, request: GenerationRequest) -> Completion:
        """One attempt at an answer, never retried here; raises TargetFailure."""

    async def close(self) -> None:
        """Free everything; safe to call twice."""


# `control:reference` answers with the reference, `control:null` with nothing, `control:noop` with
# its input; `control:cte`, `control:limit` and `control:tautology` with the input in a disguise
# that saves nothing, where it is a statement to rewrite. They are answered by `Benchmark.control`:
# the runner asks the benchmark in their place, because a request never holds a reference.

KINDS = (*CONTROLS, *COSMETIC_CONTROLS)


def read_variant(spec: TargetSpec, variants: Iterable[str]) -> str:
    """Which of the variants of a kind of target a spec names. Raises UsageError for another, and
    for options, as they take none."""
    kind, _, name = spec.key.partition(":")
    if name not in variants:
        keys = [f"{kind}:{variant}" for variant in variants]
        problem = Note("target_unknown", target=spec.key, names=", ".join(keys))
        raise UsageError(suggest_name(problem, spec.key, keys))
    if spec.options:
        raise UsageError(Note("target_no_options", target=spec.key, names=", ".join(spec.options)))
    return name


class Control:
    """A target without an answer of its own; `kind` says what the benchmark is to give."""

    def __init__(self, spec: TargetSpec, *_: object) -> None:
        self.kind = read_variant(spec, KINDS)
        self.key = spec.key
        self.info = TargetInfo(
            kind="control", title=f"Control: {self.kind}", start_in_flight=64, tools=True
        )

    async def open(self, progress: ProgressCallback) -> None:
        """Nothing to open."""

    async def generate(self, request: GenerationRequest) -> Completion:
        raise EnvironmentFailure(Note("answered_by_benchmark", name=self.key))

    async def close(self) -> None:
        """Nothing to close."""
