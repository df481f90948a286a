"""Score one answer to one entry in four views (official, tolerant, strict, fuzzy) and show the
evidence.

Errors of infrastructure are no answers: `is_infrastructure_error` keeps them out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

from evalcore.benchmarks.agents import CallReadingKind
from evalcore.benchmarks.bfcl.categories import DECODE_ONLY, find_category_language
from evalcore.benchmarks.bfcl.checker import Finding, check_calls
from evalcore.benchmarks.bfcl.checker.arguments import Group, Step, classify_call_error
from evalcore.benchmarks.bfcl.checker.matching import match_calls
from evalcore.benchmarks.bfcl.entry import BfclEntry
from evalcore.benchmarks.bfcl.multi_turn.service import ReplayOutcome, StateDifference
from evalcore.benchmarks.call_decoding import (
    MODES,
    Call,
    DecodeError,
    TolerantReading,
    cut_reasoning,
    decode_calls,
    prompt_mode,
    read_tolerant,
    strip_hidden_text,
)
from evalcore.benchmarks.call_decoding.call import to_plain_value
from evalcore.call_formats import read_calls
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Record, Section


@dataclass(frozen=True)
class DecodedAnswer:
    """`mode` is one of `decode_calls.MODES`; an answer that holds no calls reads as its
    DecodeError."""

    entry: BfclEntry
    answer: Any
    mode: str

    @cached_property
    def official_calls(self) -> list[Call] | DecodeError:
        try:
            return decode_calls(self.answer, self.mode)
        except DecodeError as error:
            return error

    @cached_property
    def tolerant_reading(self) -> TolerantReading | DecodeError:
        language = find_category_language(self.entry.category)
        try:
            return read_tolerant(self.answer, self.entry.functions, language)
        except DecodeError as error:
            return error

    @property
    def tolerant_calls(self) -> list[Call] | DecodeError:
        reading = self.tolerant_reading
        return reading if isinstance(reading, DecodeError) else reading.calls

    @property
    def call_format(self) -> str:
        """The key of the format that the calls were written in, "" for native and for no calls."""
        reading = self.tolerant_reading
        return "" if isinstance(reading, DecodeError) else reading.format

    @property
    def intended_calls(self) -> list[Call] | DecodeError:
        """The calls of either decoding, the tolerant one first."""
        undecoded = isinstance(self.tolerant_calls, DecodeError)
        return self.official_calls if undecoded else self.tolerant_calls


def list_function_names(entry: BfclEntry) -> list[str]:
    return [str(function.get("name")) for function in entry.functions]


# What became of the calls that an answer tried: upstream's decoder read them, the reader of all
# formats did, or nobody could. Answers that tried none are not counted.


def classify_call_reading(reading: DecodedAnswer) -> CallReadingKind | None:
    """How the calls of an answer were read; None for an answer without any."""
    answer_kind = classify_abstention(reading)
    if answer_kind != "call":
        return "lost" if answer_kind == "malformed" else None
    official = reading.official_calls
    return "native" if isinstance(official, list) and official else "rescued"


def classify_conversation_reading(readings: Iterable[DecodedAnswer]) -> CallReadingKind | None:
    """How the calls of a conversation were read: native or lost, since what upstream's decoder
    cannot read is not run. Its answers may speak of calls, so that lost are only calls between
    marks and answers that consist of calls; None for a conversation without any."""
    made = False
    for reading in readings:
        if isinstance(reading.official_calls, list):
            made = made or bool(reading.official_calls)
        elif not isinstance(reading.answer, str):
            return "lost"
        else:
            text = cut_reasoning(reading.answer)
            if _CALL_MARKS.search(text) or read_calls(text, reading.entry.functions).calls:
                return "lost"
    return "native" if made else None


def describe_conversation_reading(
    entry: BfclEntry, message_answers: Iterable[tuple[Any, str]]
) -> dict[str, Any]:
    """The details `call_reading` and `lost_to_format` of a conversation's verdict, by its answers
    with their modes; nothing where no answer tried a call."""
    readings = (decode_answer(entry, answer, mode) for answer, mode in message_answers)
    kind = classify_conversation_reading(readings)
    return {"call_reading": kind, "lost_to_format": kind == "lost"} if kind else {}


# What an answer did where no function fits: upstream counts all but a readable call as right.
# The four kinds keep apart what upstream adds up: a real abstention, an answer that tried a call
# which upstream cannot read, and no answer at all.

AbstentionKind = Literal["call", "malformed", "empty", "abstained"]

#: How upstream stores a failed request, as if it were the model's answer; it must not be scored.
INFRASTRUCTURE_PREFIX = "Error during inference:"

_CALL_MARKS = re.compile(r"<tool_?calls?>|\[TOOL_CALLS\]|<\|python_tag\|>|<function=", re.I)
_MARKS = re.compile(
    rf"{_CALL_MARKS.pattern}|<function"
    r"|\"(?:name|function)\"\s*:\s*[\"{]|\w\(\s*[A-Za-z_]\w*\s*=(?!=)",
    re.I,
)


def is_infrastructure_error(answer: Any) -> bool:
    """Whether an imported answer is upstream's record of a failed request, not a model's text."""
    return isinstance(answer, str) and answer.lstrip().startswith(INFRASTRUCTURE_PREFIX)


def classify_abstention(reading: DecodedAnswer) -> AbstentionKind:
    """What the answer did: `call` if either decoding reads one, `malformed` if one was tried. An
    explicit empty list is an abstention; `empty` is no text and no tool calls, or text that is
    nothing but reasoning. A function's name in a sentence is no call."""
    for calls in (reading.official_calls, reading.tolerant_calls):
        if isinstance(calls, list) and calls:
            return "call"
    answer = reading.answer
    if isinstance(answer, str):
        text = strip_hidden_text(answer)
        if not text:
            return "empty"
        return "malformed" if _is_attempted_call(text, reading.entry) else "abstained"
    return "malformed" if answer else "empty"


def _is_attempted_call(text: str, entry: BfclEntry) -> bool:
    bare = text.strip("` \n")
    if bare != "[]" and bare.startswith(("[", "{")):
        return True
    if _MARKS.search(text):
        return True
    names = (re.escape(name) for name in list_function_names(entry) if name)
    called = re.compile(rf"(?<![\w.])(?:{'|'.join(names) or '(?!)'})\s*\(\s*[\w\"'\[{{]")
    return called.search(text) is not None


# The views of an answer. Errors of infrastructure are none: `is_infrastructure_error`.
# - official: decoded and checked exactly as upstream, quirks and error types included;
# - tolerant: read with good will, then checked by the same rules; the difference is what the format
#   cost;
# - strict, fuzzy: slm-evals' two meanings, decided correctly (`checker.matching`).

_CALLED = "irrelevance_error:decoder_success"
_NOT_CALLED = "relevance_error:decoder_failed"


class ViewResult(Record, frozen=True):
    """The outcome of one view. `error_type` is upstream's, empty if valid; `cause` is the error
    type of the nearest call where no call of a parallel answer matched.

    `calls` are the decoded calls, None where nothing decoded; they hold what Python literals can
    (`to_plain_value` makes JSON of them). `argument` leads to the first mismatch: the argument's
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
        """The group of the error, one of `GROUPS`; None if valid."""
        return classify_call_error(self.error_type, self.cause)


def resolve_answer_mode(category: str, answer: Any, mode: str = "") -> str:
    """The mode itself, or that of an answer without one: text as upstream asks for it, else `fc`.
    Raises UsageError for an unknown mode."""
    if mode and mode not in MODES:
        raise UsageError(Note("mode_unknown", mode=mode, names=", ".join(sorted(MODES))))
    if mode or not isinstance(answer, str):
        return mode or "fc"
    return prompt_mode(find_category_language(category))


def decode_answer(entry: BfclEntry, answer: Any, mode: str = "") -> DecodedAnswer:
    """Decode an answer for several views. Raises UsageError for an unknown mode."""
    return DecodedAnswer(entry, answer, resolve_answer_mode(entry.category, answer, mode))


def score_official(reading: DecodedAnswer) -> ViewResult:
    """Upstream's verdict; raises nothing, whatever a model wrote."""
    if isinstance(reading.official_calls, DecodeError):
        return _score_undecoded(reading.entry, reading.official_calls)
    return _score_calls(reading.entry, reading.official_calls, underscores=reading.mode == "fc")


def score_tolerant(reading: DecodedAnswer) -> ViewResult:
    """The official rules on what the answer meant; valid wherever official is. Where no function
    fits, only an abstention or an empty answer is right; upstream also counts a call that it cannot
    read."""
    entry = reading.entry
    if "irrelevance" in entry.category:
        return _score_abstention(reading, ("abstained", "empty"))
    first = score_official(reading)
    if first.valid:
        return first
    if isinstance(reading.tolerant_calls, DecodeError):
        return _score_undecoded(entry, reading.tolerant_calls)
    return _score_calls(entry, reading.tolerant_calls, underscores=False)


def score_strict(reading: DecodedAnswer) -> ViewResult:
    """Require exact names, argument names and values. If no function fits, the answer has to say
    so; if one fits, the answer has to call one that was offered."""
    return _score_matching(reading, fuzzy=False)


def score_fuzzy(reading: DecodedAnswer) -> ViewResult:
    """Exact names, values compared with good will; `score` is the share of right arguments, valid
    is all of them."""
    return _score_matching(reading, fuzzy=True)


VIEWS: MappingProxyType[str, Callable[[DecodedAnswer], ViewResult]] = MappingProxyType(
    {
        "official": score_official,
        "tolerant": score_tolerant,
        "strict": score_strict,
        "fuzzy": score_fuzzy,
    }
)


def score_all_views(reading: DecodedAnswer) -> dict[str, ViewResult]:
    return {name: view(reading) for name, view in VIEWS.items()}


def _score_calls(entry: BfclEntry, calls: list[Call], *, underscores: bool) -> ViewResult:
    if entry.category in DECODE_ONLY:
        return _score_relevance(entry, calls)
    finding = check_calls(
        entry.category,
        entry.functions,
        calls,
        entry.ground_truth or [],
        language=find_category_language(entry.category),
        underscores=underscores,
    )
    return _build_view_result(finding, calls, float(finding is None))


def _build_view_result(finding: Finding | None, calls: list[Call], score: float) -> ViewResult:
    if finding is None:
        return ViewResult(True, calls=tuple(calls), score=1.0)
    where = (finding.path, finding.output, finding.expected, finding.cause)
    return ViewResult(False, finding.error_type, finding.message, tuple(calls), *where, score)


def _score_undecoded(entry: BfclEntry, error: DecodeError) -> ViewResult:
    if entry.category in DECODE_ONLY:
        return _score_relevance(entry, None, str(error))
    return ViewResult(False, f"ast_decoder:{error.kind}", str(error))


def _score_relevance(entry: BfclEntry, calls: list[Call] | None, reason: str = "") -> ViewResult:
    """Right is a call where one is wanted, and anything else where none is."""
    decoded_calls = None if calls is None else tuple(calls)
    if "irrelevance" in entry.category:
        if calls:
            message = Note("call_wrongly")
            return ViewResult(False, _CALLED, message, decoded_calls)
    elif not calls:
        return ViewResult(False, _NOT_CALLED, reason or Note("call_not_made"), decoded_calls)
    return ViewResult(True, calls=decoded_calls, score=1.0)


def _score_abstention(reading: DecodedAnswer, right: tuple[str, ...]) -> ViewResult:
    answer_kind = classify_abstention(reading)
    if answer_kind in right:
        return ViewResult(True, score=1.0)
    notes = {"call": Note("call_made"), "malformed": Note("call_tried")}
    return ViewResult(False, _CALLED, notes.get(answer_kind, Note("call_no_answer")))


def _score_matching(reading: DecodedAnswer, *, fuzzy: bool) -> ViewResult:
    entry = reading.entry
    if "irrelevance" in entry.category:
        return _score_abstention(reading, ("abstained", "empty") if fuzzy else ("abstained",))
    calls = reading.intended_calls
    if isinstance(calls, DecodeError):
        return _score_undecoded(entry, calls)
    if entry.category in DECODE_ONLY:
        names = list_function_names(entry)
        offered = any(name in names for call in calls for name in call)
        return _score_relevance(entry, calls if offered else None)
    language, truth = find_category_language(entry.category), entry.ground_truth or []
    call_match = match_calls(entry.functions, calls, truth, language=language, fuzzy=fuzzy)
    share = call_match.share if fuzzy else float(call_match.finding is None)
    return _build_view_result(call_match.finding, calls, share)


def build_call_sections(entry: BfclEntry, scored: ViewResult) -> tuple[Section, ...]:
    """The decoded calls beside the accepted values, with the place of the first mismatch."""
    if scored.calls is None and not entry.ground_truth:
        return ()
    body = {
        "answer": None if scored.calls is None else _list_call_rows(scored.calls),
        "accepted": None if entry.ground_truth is None else _list_call_rows(entry.ground_truth),
        "output": scored.output,
        "expected": scored.expected,
        "argument": [to_plain_value(step) for step in scored.argument],
    }
    return (Section(kind="calls", title="calls", body=body),)


def build_turn_sections(outcome: ReplayOutcome) -> tuple[Section, ...]:
    """Every call with its result, the first difference of the states, the missing results."""
    sections = []
    rows = [
        [number, side, call, result]
        for number, turn in enumerate(outcome.turns, 1)
        for side, made in (("answer", turn.called), ("reference", turn.expected))
        for call, result in made
    ]
    if outcome.difference is not None:
        sections.append(_build_state_section(outcome.difference))
    if outcome.missing:
        missing = [[to_plain_value(result)] for result in outcome.missing]
        sections.append(_build_table_section("missing_results", ["result"], missing))
    if rows:
        sections.append(_build_table_section("turns", ["turn", "by", "call", "result"], rows))
    return tuple(sections)


def _build_state_section(difference: StateDifference) -> Section:
    path = ".".join((difference.api, difference.attribute, *difference.path))
    pair = {"expected": difference.expected, "actual": difference.actual}
    body = {**pair, "differences": [{"path": path, **pair}]}
    return Section(kind="tree_diff", title="state_difference", body=body)


def _build_table_section(title: str, columns: list[str], rows: list[list[Any]]) -> Section:
    return Section(kind="table", title=title, body={"columns": columns, "rows": rows})


def _list_call_rows(calls: Iterable[Call]) -> list[dict[str, Any]]:
    return [
        {"name": str(name), "arguments": to_plain_value(arguments)}
        for call in calls
        for name, arguments in call.items()
    ]
