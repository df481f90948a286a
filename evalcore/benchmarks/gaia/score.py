"""The official scorer of GAIA, exactly, and the verdict on an episode that rests on it.

A truth that reads as a number is compared as one, with no tolerance. Else a truth with a comma or
semicolon is a list, compared element by element in order, each by its own kind. Any other truth
is a text without white space, upper case and ASCII punctuation. Source of the rules: `scorer.py`
of the leaderboard of GAIA, in its newest form, where no answer at all is the text "None".
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from typing import Any, Literal

from evalcore.benchmarks.agents import summarize_call_readings
from evalcore.benchmarks.answer_scoring import NOTES, no_answer_reason
from evalcore.benchmarks.call_decoding.call import replace_surrogates
from evalcore.benchmarks.gaia.extraction import (
    ExtractedAnswer,
    extract_answer,
    to_answer_text,
    unwrap_answer,
)
from evalcore.i18n import Note
from evalcore.records import Episode, Record, Sample, Section, Verdict

Branch = Literal["number", "list", "string"]

_SEPARATORS = re.compile("[,;]")
_BLANK = re.compile(r"\s")
_NOT_IN_NUMBERS = str.maketrans("", "", "$%,")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_OTHER_LENGTH = "Answer lists have different lengths, returning False."
_UNREADABLE = "String {} cannot be normalized to number str."
_PART = 60  # characters of an answer in a note


class ScoredAnswer(Record, frozen=True):
    """A verdict, by which of the three comparisons it came, and in a sentence why it is not right.
    `warnings` and `printed` are the lines by which the official scorer complains."""

    right: bool
    branch: Branch
    note: str = ""
    warnings: tuple[str, ...] = ()
    printed: tuple[str, ...] = ()


def question_scorer(answer: object, truth: str) -> ScoredAnswer:
    """Whether an answer is right. What is no text, such as a number out of JSON, is read as Python
    writes it. Time is linear in the lengths."""
    text = answer if isinstance(answer, str) else str(answer)
    branch = select_branch(truth)
    return _RULES[branch](text, truth)


def select_branch(truth: str) -> Branch:
    """How answers to a question with this truth are compared."""
    if _parse_number(truth) is not None:
        return "number"
    return "list" if _SEPARATORS.search(truth) else "string"


def _score_number(answer: str, truth: str) -> ScoredAnswer:
    right, printed = _compare_number(answer, truth)
    code = "gaia_not_a_number" if printed else "gaia_other_number"
    wrong = Note(code, part=_shorten_part(answer))
    return ScoredAnswer(right, "number", "" if right else wrong, printed=printed)


def _score_list(answer: str, truth: str) -> ScoredAnswer:
    elements, expected = _SEPARATORS.split(answer), _SEPARATORS.split(truth)
    if len(elements) != len(expected):
        length_note = Note("gaia_other_length", found=len(elements))
        return ScoredAnswer(False, "list", length_note, warnings=(_OTHER_LENGTH,))
    note, printed = "", list[str]()
    for index, (element, other) in enumerate(zip(elements, expected, strict=True), 1):
        right, complaints = _compare_element(element, other)
        printed += complaints
        if not right and not note:
            element_code = "gaia_element_not_a_number" if complaints else "gaia_other_element"
            note = Note(element_code, index=index, part=_shorten_part(element))
    return ScoredAnswer(not note, "list", note, printed=tuple(printed))


def _score_text(answer: str, truth: str) -> ScoredAnswer:
    right = _normalize_answer_text(answer).translate(_PUNCTUATION) == _normalize_answer_text(
        truth
    ).translate(_PUNCTUATION)
    note = "" if right else Note("gaia_other_text", part=_shorten_part(answer))
    return ScoredAnswer(right, "string", note)


_RULES: dict[Branch, Callable[[str, str], ScoredAnswer]] = {
    "number": _score_number,
    "list": _score_list,
    "string": _score_text,
}


def _compare_element(answer: str, truth: str) -> tuple[bool, tuple[str, ...]]:
    """Punctuation counts in the texts of a list, unlike in a text alone."""
    if _parse_number(truth) is None:
        return _normalize_answer_text(answer) == _normalize_answer_text(truth), ()
    return _compare_number(answer, truth)


def _compare_number(answer: str, truth: str) -> tuple[bool, tuple[str, ...]]:
    """Whether they are equal, and what is printed; what cannot be read counts as infinite."""
    digits = answer.translate(_NOT_IN_NUMBERS)
    number = _parse_number(digits)
    if number is None:
        return float("inf") == float(truth), (_UNREADABLE.format(replace_surrogates(digits)),)
    return number == float(truth), ()


def _parse_number(text: str) -> float | None:
    """Whatever Python reads as a number: blanks around it, 1_000, 1e3, inf, nan, any digits."""
    try:
        return float(text)
    except ValueError:
        return None


def _normalize_answer_text(text: str) -> str:
    return _BLANK.sub("", text).lower()


def _shorten_part(part: str) -> str:
    """What a note tells of an answer; of the truth it tells nothing."""
    short = " ".join(replace_surrogates(part[: 4 * _PART]).split())
    return (short if len(short) <= _PART else f"{short[:_PART]}…") or "nothing"


HIDDEN = "hidden_answer"
_HIDDEN_NOTE = Note("gaia_hidden")
_BUDGET = {
    "max_steps": "budget",
    "max_parse_errors": "budget",
    "context_overflow": "context_overflow",
}
_BUDGET_NOTE = Note("gaia_budget")


def build_gaia_verdict(sample: Sample, episode: Episode, *, bare: bool) -> Verdict:
    """`bare`: the whole reply was asked to be the answer."""
    if sample.meta.get("hidden"):
        return _assemble_verdict(
            sample, episode, outcome="not_executed", reason=HIDDEN, note=_HIDDEN_NOTE
        )
    if "answer" in episode.state:  # an answer of its own, scored as it stands
        answer = episode.state["answer"]
        return _build_scored_verdict(
            sample, episode, ExtractedAnswer(to_answer_text(answer), "final_answer"), answer
        )
    extracted = extract_answer(episode.answer)
    if bare and extracted.how == "fallback":
        # In the bare form a reply of one line is the answer as it was asked for.
        whole = unwrap_answer(episode.answer)
        if whole == extracted.answer:
            extracted = ExtractedAnswer(whole, "final_answer")
    if extracted.how != "none":
        return _build_scored_verdict(sample, episode, extracted, extracted.answer)
    reason = _BUDGET.get(episode.termination) or no_answer_reason(episode)
    note = _BUDGET_NOTE if reason == "budget" else NOTES[reason]
    views = {"strict": 0.0, "lenient": 0.0}
    return _assemble_verdict(
        sample, episode, outcome="failed", reason=reason, note=note, score=0.0, views=views
    )


def _build_scored_verdict(
    sample: Sample, episode: Episode, extracted: ExtractedAnswer, answer: Any
) -> Verdict:
    truth = str(sample.reference["answer"])
    scored = question_scorer(answer, truth)
    score = float(scored.right)
    truncated = not scored.right and episode.finish_reason == "length"
    body = {
        "columns": ["answer", "expected", "found_by", "compared_as"],
        "rows": [[extracted.answer, truth, extracted.how, scored.branch]],
    }
    steps = sample.reference.get("derivation")
    return _assemble_verdict(
        sample,
        episode,
        outcome="passed" if scored.right else "failed",
        reason="" if scored.right else "token_limit" if truncated else "wrong_answer",
        note=scored.note,
        score=score,
        views={"strict": score if extracted.how == "final_answer" else 0.0, "lenient": score},
        details={
            "extraction": extracted.how,
            "answer": extracted.answer,
            "comparison": scored.branch,
        },
        evidence=(
            Section(kind="table", title="answer_compared", body=body),
            *((Section(kind="json", title="derivation", body=steps),) if steps else ()),
        ),
    )


def _assemble_verdict(sample: Sample, episode: Episode, **fields: Any) -> Verdict:
    details = {**fields.pop("details", {}), **_collect_verdict_facts(sample, episode)}
    return Verdict(
        metric=sample.metric, id=sample.id, epoch=episode.epoch, details=details, **fields
    )


def _collect_verdict_facts(sample: Sample, episode: Episode) -> dict[str, Any]:
    """What is worth counting over episodes."""
    facts: dict[str, Any] = {"file": bool(sample.input.get("file_name"))}
    facts |= summarize_call_readings(episode.state)
    if sample.meta.get("needs_web"):
        facts["needs_web"] = True
    if "calls" in episode.state:
        facts["tool_calls"] = len(episode.state["calls"])
    searched = ("provider", "date")
    return facts | {name: episode.state[name] for name in searched if name in episode.state}
