"""The metric `index_advice`: the advised index is created, and its effect decides.

A case of ours lists the indexes that are good; a sentence instead of an index is right where the
case says so. SCALE's expectations are prose, which only a panel can hold an answer against.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evalcore.benchmarks import sql_scoring
from evalcore.benchmarks.answer_scoring import ScoringResult, build_no_answer_verdict, to_verdict
from evalcore.benchmarks.base import Context
from evalcore.benchmarks.sql_markup import split_fences, strip_thinking
from evalcore.benchmarks.sql_optimization import prompts
from evalcore.benchmarks.sql_roles import is_aside, is_withdrawn
from evalcore.errors import EnvironmentFailure, MissingDependency
from evalcore.i18n import Note
from evalcore.records import Episode, Outcome, Sample, Section, Verdict
from evalcore.sqlkit import index_advice as indexing
from evalcore.sqlkit.engines import Work
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.index_advice import MAX_INDEXES, Advice, Effect, Expectation
from evalcore.sqlkit.schema import read_schema

if TYPE_CHECKING:
    from evalcore.benchmarks.sql_optimization.benchmark import SqlOptimization

#: How each finding is ruled: outcome, reason, code of the note.
OUTCOMES_BY_FINDING: dict[str, tuple[Outcome, str, str]] = {
    "as_good": ("passed", "", "index_helps"),
    "right_sentence": ("passed", "", "index_none_right"),
    "weaker": ("failed", "wrong_answer", "index_weaker"),
    "useless": ("failed", "wrong_answer", "index_useless"),
    "needless": ("failed", "wrong_answer", "index_needless"),
    "invalid": ("failed", "invalid_sql", "index_refused"),
    "unreadable": ("failed", "invalid_sql", "index_unreadable"),
    "too_many": ("failed", "wrong_answer", "index_too_many"),
    "not_needed": ("failed", "wrong_answer", "index_not_needed"),
    "cannot_help": ("failed", "wrong_answer", "index_cannot_help"),
    "helps": ("failed", "wrong_answer", "index_exists"),
    "no_effect": ("not_executed", "no_effect", "index_no_effect"),
    "no_count": ("not_executed", "reference_fails", "index_no_count"),
    "unsupported": ("not_executed", "no_engine", "index_unsupported"),
}
_SENTENCES = {"none_ok": "No index is needed.", "cannot_ok": "No index can help."}


def build_expectation(expected: Mapping[str, Any], dialect: str) -> Expectation:
    """The structured `expected` of a case; raises Unreadable for an alternative that is none."""
    return Expectation(
        alternatives=tuple(
            indexing.read_index(
                str(alternative["table"]), [str(c) for c in alternative["columns"]], dialect
            )
            for alternative in expected["alternatives"]
        ),
        none_ok=bool(expected.get("none_ok")),
        cannot_ok=bool(expected.get("cannot_ok")),
    )


def list_right_answers(expected: Mapping[str, Any], dialect: str) -> list[str]:
    """All answers that a case itself calls right, each alone; the first is the reference."""
    parsed_expectation = build_expectation(expected, dialect)
    statements = [
        f"{indexing.build_index_ddl((index,), dialect)[0]};".replace(
            "INDEX advised_", "INDEX ix_", 1
        )
        for index in parsed_expectation.alternatives
    ]
    return statements + [text for flag, text in _SENTENCES.items() if expected.get(flag)]


def find_reference_advice(sample: Sample) -> str:
    """The first right answer of a case; of SCALE's the text that is expected."""
    expected = sample.reference["expected"]
    if isinstance(expected, str):
        return expected
    return list_right_answers(expected, sample.reference["dialect"])[0]


_CREATES = re.compile(r"\b(?:CREATE|ADD)\s+(?:\w+\s+){0,3}(?:INDEX|KEY)\b", re.I)


def drop_mentioned_indexes(answer: str) -> str:
    """An answer without the indexes that it takes back, offers as an alternative, or only mentions
    in words beside a code block that advises one."""
    blocks, prose = split_fences(answer)
    creating = [block for block in blocks if _CREATES.search(block.body)]
    if not creating:
        return _drop_bare_indexes(answer)
    dropped = [part for part in creating if is_aside(part.before) or is_withdrawn(part.after)]
    if len(dropped) == len(creating) or not (dropped or _CREATES.search(prose)):
        return answer
    left = [block.body for block in blocks if block not in dropped]
    return "\n".join([re.sub(r"`[^`\n]*`", "", prose), *(f"```\n{body}\n```" for body in left)])


_BARE_INDEX = re.compile(rf"{_CREATES.pattern}(?:(?!\n[ \t]*\n)[^;`])*+[;`]?", re.I)


def _drop_bare_indexes(answer: str) -> str:
    """The same where no index stands in a code block."""
    found = list(_BARE_INDEX.finditer(answer))
    starts = [*(match.start() for match in found[1:]), len(answer)]
    ends = [0, *(match.end() for match in found)]
    dropped = [
        match
        for match, end, start in zip(found, ends, starts, strict=False)
        if is_aside(answer[end : match.start()]) or is_withdrawn(answer[match.end() : start])
    ]
    for match in reversed(dropped if len(dropped) < len(found) else []):
        answer = f"{answer[: match.start()]}{answer[match.end() :]}"
    return answer


async def evaluate_advice(
    benchmark: SqlOptimization, sample: Sample, episode: Episode, context: Context | None = None
) -> Verdict:
    """The verdict on an answer; `not_executed` where the engine or a panel is missing."""
    answer = strip_thinking(episode.answer).strip()
    advised = drop_mentioned_indexes(answer)
    advice = indexing.read_advice(advised, sample.reference["dialect"])
    prose = isinstance(sample.reference["expected"], str)
    if not answer or (advice.says == "nothing" and not prose):
        return build_no_answer_verdict(sample, episode, "executed")
    is_strict = advice.form == "strict" and advised == episode.answer.strip()
    if prose:
        question = prompts.QUESTIONS[sample.metric](sample, answer)
        result = await sql_scoring.score_by_panel(context, question)
    else:
        result = await _score_by_effect(benchmark, sample, advice)
    return to_verdict(sample, episode, "strict" if is_strict else "lenient", result)


async def _score_by_effect(
    benchmark: SqlOptimization, sample: Sample, advice: Advice
) -> ScoringResult:
    if advice.problem:
        return _build_advice_result(
            Effect(finding="invalid", message=advice.problem), advice, "unreadable"
        )
    if not sample.reference["engine"]:
        return _build_no_engine_result(sample.input["dialect"])
    try:
        effect = await asyncio.to_thread(_measure_effect, benchmark, sample, advice)
    except (MissingDependency, EnvironmentFailure) as error:
        return _build_no_engine_result(str(error))
    return _build_advice_result(effect, advice, effect.finding)


def _measure_effect(benchmark: SqlOptimization, sample: Sample, advice: Advice) -> Effect:
    # the statement on its tables; nothing of the expectation is in it
    question = EquivalenceQuestion(
        engine=sample.reference["engine"],
        schema=tuple(sample.input["schema"]),
        reference=sample.input["sql"],
    )
    expected = build_expectation(sample.reference["expected"], sample.reference["dialect"])

    def measure_work(indexes: tuple[str, ...]) -> Work:
        return benchmark.meter.measure_cached(question, question.reference, indexes)

    if advice.says != "create":
        return indexing.check_sentence(measure_work, advice, expected, question.engine)
    schema = read_schema(question.schema, question.engine)
    indexes = [indexing.qualify_index_table(index, schema) for index in advice.indexes]
    return indexing.check_advice(measure_work, indexes, expected, question.engine)


def _build_no_engine_result(message: str) -> ScoringResult:
    return ScoringResult(
        outcome="not_executed",
        evidence_kind="executed",
        reason="no_engine",
        note=Note("exec_undecided", message=message),
    )


def _build_advice_result(effect: Effect, advice: Advice, finding: str) -> ScoringResult:
    outcome, reason, code = OUTCOMES_BY_FINDING[finding]
    counted = {"before": effect.before, "after": effect.after, "best": effect.best}
    amounts = {name: work.amount for name, work in counted.items() if work and work.unit}
    facts: dict[str, Any] = {f"work_{name}": amount for name, amount in amounts.items()}
    if amounts and effect.before:
        facts["work_unit"] = effect.before.unit
    if any(index.unique for index in advice.indexes):
        facts["unique_index"] = True
    if any(index.where for index in advice.indexes):
        facts["partial_index"] = True
    if outcome != "passed":
        facts["error_type"] = finding
    index = effect.index.target if effect.index else ""
    return ScoringResult(
        outcome=outcome,
        evidence_kind="executed" if effect.before else "checked",
        reason=reason,
        note=Note(code, message=effect.message, most=MAX_INDEXES, index=index, **amounts),
        details={"advice": advice.says, **facts},
        evidence=_build_effect_sections(effect, advice),
    )


def _build_effect_sections(effect: Effect, advice: Advice) -> tuple[Section, ...]:
    """Both plans, then what was counted: without an index, with the advised, with each known one.

    Where a sentence was given although an index helps, the second plan is that of the best one.
    """
    after = effect.after or effect.best
    if effect.before is None or after is None:
        return ()
    sides = {"before": effect.before, "after": after}
    plans = {name: {"amount": w.amount, "plan": list(w.plan)} for name, w in sides.items()}
    rows: list[list[Any]] = [["-", effect.before.amount]]
    if effect.after is not None:
        advised = "; ".join(index.target for index in advice.indexes)
        rows.append([advised, effect.after.amount])
    rows += [
        [alternative.index.target, alternative.work.amount]
        for alternative in effect.alternatives
        if alternative.work.unit
    ]
    unit = effect.before.unit
    return (
        Section(kind="plans", title="index_effect", body={"unit": unit, **plans}),
        Section(kind="table", title="index_works", body={"columns": ["index", unit], "rows": rows}),
    )
