"""Scoring one answer to one entry, in four views that share one dataset and one vocabulary.

- official: decoded and checked exactly as upstream, quirks and error types included;
- tolerant: read with good will (`decode.tolerant`), then checked by the same official rules; the
  difference to official is what the format cost;
- strict, fuzzy: slm-evals' two meanings, decided correctly (`checker.matching`).

Errors of infrastructure are no answers; `irrelevance.is_infrastructure_error` keeps them out.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from evalcore.benchmarks.bfcl.categories import DECODE_ONLY, language
from evalcore.benchmarks.bfcl.checker import Finding, check
from evalcore.benchmarks.bfcl.checker.finding import Step
from evalcore.benchmarks.bfcl.checker.groups import Group, group
from evalcore.benchmarks.bfcl.checker.matching import match
from evalcore.benchmarks.bfcl.decode import MODES, Call, DecodeError, prompt_mode
from evalcore.benchmarks.bfcl.decode.tolerant import known_functions
from evalcore.benchmarks.bfcl.entry import Entry
from evalcore.benchmarks.bfcl.irrelevance import kind
from evalcore.benchmarks.bfcl.reading import Reading
from evalcore.errors import UsageError
from evalcore.records import Record

_CALLED = "irrelevance_error:decoder_success"
_NOT_CALLED = "relevance_error:decoder_failed"


class Scored(Record, frozen=True):
    """The outcome of one view. `error_type` is upstream's, empty if valid; `cause` is the error
    type of the nearest call where no call of a parallel answer matched.

    `calls` are the decoded calls, None where nothing decoded; they hold what Python literals can
    (`decode.call.plain` makes JSON of them). `argument` leads to the first mismatch: the argument's
    name, then keys and indices; `output` and `expected` are the indices of the calls it is between.
    `score` is 0 or 1, in the fuzzy view the share of right arguments.
    """

    valid: bool
    error_type: str = ""
    message: str = ""
    calls: tuple[Call, ...] | None = None
    argument: tuple[Step, ...] = ()
    output: int | None = None
    expected: int | None = None
    cause: str = ""
    score: float = 0.0

    @property
    def group(self) -> Group | None:
        """The group of the error, one of `checker.groups.GROUPS`; None if valid."""
        return group(self.error_type, self.cause)


def asking_mode(category: str, answer: Any, mode: str = "") -> str:
    """The mode itself, or that of an answer without one: text as upstream asks for it, else `fc`.

    Raises UsageError for an unknown mode.
    """
    if mode and mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}; one of {', '.join(sorted(MODES))}")
    return mode or (prompt_mode(language(category)) if isinstance(answer, str) else "fc")


def read(entry: Entry, answer: Any, mode: str = "") -> Reading:
    """An answer to look at in several views. Raises UsageError for an unknown mode."""
    return Reading(entry, answer, asking_mode(entry.category, answer, mode))


def official(reading: Reading) -> Scored:
    """Upstream's verdict; raises nothing, whatever a model wrote."""
    if isinstance(reading.official, DecodeError):
        return _undecoded(reading.entry, reading.official)
    return _judged(reading.entry, reading.official, underscores=reading.mode == "fc")


def tolerant(reading: Reading) -> Scored:
    """The official rules on what the answer meant; valid wherever official is.

    Where no function fits, only an abstention or an empty answer is right; upstream also counts a
    call that it cannot read.
    """
    entry = reading.entry
    if "irrelevance" in entry.category:
        return _abstention(reading, ("abstained", "empty"))
    first = official(reading)
    if first.valid:
        return first
    if isinstance(reading.tolerant, DecodeError):
        return _undecoded(entry, reading.tolerant)
    return _judged(entry, reading.tolerant, underscores=False)


def strict(reading: Reading) -> Scored:
    """Exact names, argument names and values. Where no function fits, the answer has to say so;
    where one fits, it has to be an offered one."""
    return _matched(reading, fuzzy=False)


def fuzzy(reading: Reading) -> Scored:
    """Exact names, values compared with good will; `score` is the share of right arguments, valid
    is all of them."""
    return _matched(reading, fuzzy=True)


VIEWS: MappingProxyType[str, Callable[[Reading], Scored]] = MappingProxyType(
    {"official": official, "tolerant": tolerant, "strict": strict, "fuzzy": fuzzy}
)


def views(reading: Reading) -> dict[str, Scored]:
    """All four views of one answer."""
    return {name: view(reading) for name, view in VIEWS.items()}


def _judged(entry: Entry, calls: list[Call], *, underscores: bool) -> Scored:
    if entry.category in DECODE_ONLY:
        return _relevance(entry, calls)
    found = check(
        entry.category,
        entry.functions,
        calls,
        entry.ground_truth or [],
        language=language(entry.category),
        underscores=underscores,
    )
    return _scored(found, calls, float(found is None))


def _scored(found: Finding | None, calls: list[Call], score: float) -> Scored:
    if found is None:
        return Scored(True, calls=tuple(calls), score=1.0)
    return Scored(
        False,
        found.error_type,
        found.message,
        tuple(calls),
        found.path,
        found.output,
        found.expected,
        found.cause,
        score,
    )


def _undecoded(entry: Entry, error: DecodeError) -> Scored:
    if entry.category in DECODE_ONLY:
        return _relevance(entry, None, str(error))
    return Scored(False, f"ast_decoder:{error.kind}", str(error))


def _relevance(entry: Entry, calls: list[Call] | None, reason: str = "") -> Scored:
    """Right is a call where one is wanted, and anything else where none is."""
    kept = None if calls is None else tuple(calls)
    if "irrelevance" in entry.category:
        if calls:
            return Scored(False, _CALLED, "a function was called although none fits", kept)
    elif not calls:
        return Scored(False, _NOT_CALLED, reason or "no function was called", kept)
    return Scored(True, calls=kept, score=1.0)


def _abstention(reading: Reading, right: tuple[str, ...]) -> Scored:
    found = kind(reading)
    if found in right:
        return Scored(True, score=1.0)
    reason = {"call": "a function was called", "malformed": "a call was tried"}
    return Scored(False, _CALLED, reason.get(found, "there is no answer"))


def _matched(reading: Reading, *, fuzzy: bool) -> Scored:
    entry = reading.entry
    if "irrelevance" in entry.category:
        return _abstention(reading, ("abstained", "empty") if fuzzy else ("abstained",))
    calls = reading.meant
    if isinstance(calls, DecodeError):
        return _undecoded(entry, calls)
    if entry.category in DECODE_ONLY:
        known = known_functions(entry.functions)
        return _relevance(entry, calls if any(name in known for c in calls for name in c) else None)
    tongue = language(entry.category)
    found = match(entry.functions, calls, entry.ground_truth or [], language=tongue, fuzzy=fuzzy)
    share = found.share if fuzzy else float(found.finding is None)
    return _scored(found.finding, calls, share)
