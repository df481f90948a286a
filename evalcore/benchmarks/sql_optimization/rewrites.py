"""What is found out about a rewrite, and how the three rewrite metrics rule on it.

Every metric pays for effect alone: the same rows, for clearly less work by the engine's own
counter on a large database. Where that counter shows no saving for the authored rewrite either,
a rule of the case that the parse tree shows counts as the effect.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from evalcore.benchmarks import sql_scoring
from evalcore.benchmarks.answer_scoring import ScoringResult
from evalcore.benchmarks.base import Context
from evalcore.benchmarks.sql_optimization import prompts
from evalcore.benchmarks.sql_scoring import ExecutedBenchmark, score_execution
from evalcore.i18n import Note
from evalcore.judges import Question
from evalcore.records import MEASURED, Record, Sample, Section
from evalcore.sqlkit import rewrite_rules
from evalcore.sqlkit.engines import Work
from evalcore.sqlkit.equivalence import Equivalence, EquivalenceQuestion
from evalcore.sqlkit.query_plans import WorkMeter
from evalcore.sqlkit.rewrite_rules import is_same_statement

# What is found out about one rewrite, once for all metrics that are scored on it.

#: A rewrite may read this much more and is still not worse; counters jump by a page or a step.
_SLACK, _SLACK_UNITS = 1.05, 8
#: It is better only from here on.
_BETTER = 0.9


#: The product that a case of a dialect means.
_PRODUCTS = {"mysql": "MySQL"}


class Assessment(Record, frozen=True):
    """One rewrite beside its original. Work is None where it was not counted."""

    unchanged: bool
    equivalence: Equivalence
    before: Work | None = None
    after: Work | None = None
    same_plan: bool = False

    @property
    def is_worse(self) -> bool:
        """Reads more than the original, or fails on a large database where that one does not."""
        if self.before is None or self.after is None or not self.before.unit:
            return False
        if not self.after.unit:
            return True
        return self.after.amount > self.before.amount * _SLACK + _SLACK_UNITS

    @property
    def saves_work(self) -> bool | None:
        """Whether the engine does clearly less work, None where that cannot be told; where it
        counted neither statement, equal plans mean that nothing is saved."""
        return False if self.same_plan else has_less_work(self.before, self.after)


def has_less_work(before: Work | None, after: Work | None) -> bool | None:
    """Whether the second is clearly less work by the engine's counter, None without a count.

    A statement that only the original cannot finish on the large database saves, too.
    """
    if before is None or after is None or not (before.unit or after.unit):
        return None
    return bool(after.unit) and (not before.unit or after.amount < before.amount * _BETTER)


def build_rewrite_question(sample: Sample) -> EquivalenceQuestion:
    """The original is what answers are held against; the authored rewrite only helps to mine."""
    reference = sample.reference
    related = ((reference["reference"], reference["dialect"]),) if reference["reference"] else ()
    return EquivalenceQuestion(
        engine=reference["engine"],
        schema=tuple(sample.input["schema"]),
        reference=sample.input["sql"],
        related=related,
        data=tuple(tuple(script) for script in reference["data"]),
        ordered=reference["ordered"],
    )


async def assess_rewrite(
    benchmark: ExecutedBenchmark,
    meter: WorkMeter,
    question: EquivalenceQuestion,
    sql: str,
    dialect: str,
) -> Assessment:
    """Compare with the original, then count the work of both where they are equivalent."""
    unchanged = is_same_statement(question.reference, sql, dialect, question.schema)
    equivalence = await benchmark.decide_equivalence(question, sql, _PRODUCTS.get(dialect, ""))
    if unchanged or equivalence.status != "equivalent":
        return Assessment(unchanged=unchanged, equivalence=equivalence)
    before = await asyncio.to_thread(meter.measure_reference, question)
    after = await asyncio.to_thread(meter.measure_work, question, sql)
    same_plan = not before.unit and await asyncio.to_thread(meter.has_same_plan, question, sql)
    return Assessment(False, equivalence, before, after, same_plan)


# The rulings of the three rewrite metrics on one assessed rewrite.
# Every metric pays for effect alone: the rewrite gives the same rows, and the engine does clearly
# less work for them by its own counter on a large database. Where that counter shows no saving
# for the authored rewrite either, a rule of the case that the parse tree shows counts as the
# effect. An equal rewrite without effect is `no_saving`. A rule of the depth metric counts in
# such a rewrite if the parse tree shows it, or if it reads about as little as the authored one. A
# panel is asked for what is left open in cases that come without an authored rewrite.

#: As little as the authored rewrite, with some slack for another plan.
_AS_LITTLE = 1.1


@dataclass(frozen=True)
class AssessedRewrite:
    """An answer, what is known of it, and who could tell more; `context` None: nobody."""

    sample: Sample
    sql: str
    assessment: Assessment
    meter: WorkMeter
    context: Context | None

    @property
    def authored_sql(self) -> str:
        """The rewrite that the case brings, if any."""
        return str(self.sample.reference["reference"])

    async def resolve_open_result(self, result: ScoringResult, question: Question) -> ScoringResult:
        """The ruling, or the panel's where there is none and the case is to be judged."""
        asked = self.context is not None and self.context.judges and not self.authored_sql
        if result.outcome in MEASURED or not asked:
            return result
        return await sql_scoring.score_by_panel(self.context, question)


async def score_equivalence(rewrite: AssessedRewrite) -> ScoringResult:
    """The same rows, for less work."""
    question = prompts.build_equivalence_question(rewrite.sample, rewrite.sql)
    return await rewrite.resolve_open_result(await _score_execution(rewrite), question)


async def score_validity(rewrite: AssessedRewrite) -> ScoringResult:
    """Valid on the engine; only a rewrite with effect earns it, as any valid statement runs."""
    question = prompts.build_validity_question(rewrite.sample, rewrite.sql)
    return await rewrite.resolve_open_result(await _score_execution(rewrite), question)


async def score_depth(rewrite: AssessedRewrite) -> ScoringResult:
    """One rule of the case, in an equivalent rewrite."""
    result = await score_equivalence(rewrite)
    if result.outcome != "passed":
        return result
    check, shown = _detect_rule(rewrite, _get_rule(rewrite))
    details = {**result.details, "rule": str(_get_rule(rewrite)["rule_id"]), "check": check}
    result = msgspec.structs.replace(result, details=details)
    if shown:
        note = Note("rule_shown")
        return msgspec.structs.replace(result, note=note)
    if rewrite.assessment.saves_work and await _reads_as_little(rewrite):
        note = Note("rule_effect")
        return msgspec.structs.replace(result, note=note)
    if shown is False:
        return _mark_failed(result, "rule_absent", Note("rule_absent"))
    undecided = msgspec.structs.replace(
        result,
        outcome="not_executed",
        reason="no_panel",
        note=Note("rule_undecided"),
    )
    return await rewrite.resolve_open_result(
        undecided, prompts.build_rules_question(rewrite.sample, rewrite.sql)
    )


#: By metric.
RULES: dict[str, Callable[[AssessedRewrite], Awaitable[ScoringResult]]] = {
    "logical_equivalence": score_equivalence,
    "syntax_error_detection": score_validity,
    "optimization_depth": score_depth,
}


async def _score_execution(rewrite: AssessedRewrite) -> ScoringResult:
    """What execution and the counters say."""
    assessment = rewrite.assessment
    result = _add_work_evidence(
        score_execution(assessment.equivalence, rewrite.sample.input["sql"]), assessment
    )
    if assessment.unchanged:
        return _mark_failed(result, "unchanged", Note("unchanged"))
    if result.outcome != "passed":
        return result
    if assessment.is_worse:
        return _mark_failed(result, "worse", Note("worse"))
    if assessment.saves_work:
        return result
    if _rules_shown(rewrite) and not await _authored_saves(rewrite):
        details = {**result.details, "effect": "rule"}
        return msgspec.structs.replace(result, details=details)
    if assessment.saves_work is None:
        message = assessment.before.execution.message if assessment.before else ""
        note = Note("uncounted", message=message)
        return msgspec.structs.replace(result, outcome="not_executed", reason="no_count", note=note)
    return _mark_failed(result, "no_saving", Note("no_saving"), "no_saving")


async def _authored_saves(rewrite: AssessedRewrite) -> bool:
    """Whether the counter shows the saving of the authored rewrite; without one it might."""
    before = rewrite.assessment.before
    if not rewrite.authored_sql:
        return rewrite.assessment.saves_work is not None
    question = build_rewrite_question(rewrite.sample)
    best = await asyncio.to_thread(rewrite.meter.measure_cached, question, rewrite.authored_sql)
    return has_less_work(before, best) is True


def _rules_shown(rewrite: AssessedRewrite) -> bool:
    """Whether the parse tree shows that some fault is gone which a rule of the case names."""
    return any(_detect_rule(rewrite, rule)[1] for rule in rewrite.sample.reference.get("rules", ()))


def _get_rule(rewrite: AssessedRewrite) -> dict[str, Any]:
    rule: dict[str, Any] = rewrite.sample.reference["rule"]
    return rule


def _detect_rule(rewrite: AssessedRewrite, rule: Mapping[str, Any]) -> tuple[str, bool | None]:
    """The detector for a rule and what it says; None where there is none, or it cannot tell."""
    sample = rewrite.sample
    check = rule.get("check") or rewrite_rules.detector_for(str(rule.get("rationale", "")))
    if not check:
        return "", None
    original, schema = sample.input["sql"], sample.input["schema"]
    dialect = sample.reference["dialect"]
    return check, rewrite_rules.has_rewrite(check, original, rewrite.sql, dialect, schema)


async def _reads_as_little(rewrite: AssessedRewrite) -> bool:
    """Without an authored rewrite, clearly less than before is enough."""
    after = rewrite.assessment.after
    if not rewrite.authored_sql or after is None:
        return after is not None
    question = build_rewrite_question(rewrite.sample)
    best = await asyncio.to_thread(rewrite.meter.measure_cached, question, rewrite.authored_sql)
    return bool(best.unit) and after.amount <= best.amount * _AS_LITTLE


def _mark_failed(
    result: ScoringResult, error: str, note: str, reason: str = "wrong_answer"
) -> ScoringResult:
    details: dict[str, Any] = {**result.details, "error_type": error}
    return msgspec.structs.replace(
        result, outcome="failed", reason=reason, note=note, details=details
    )


def _add_work_evidence(result: ScoringResult, assessment: Assessment) -> ScoringResult:
    """Add what was counted before and after, with both plans."""
    if assessment.before is None or assessment.after is None:
        return result
    facts = {
        "work_unit": assessment.before.unit,
        "work_before": assessment.before.amount,
        "work_after": assessment.after.amount,
    }
    plans = Section(
        kind="plans",
        title="work",
        body={
            "unit": assessment.before.unit,
            "before": {"amount": assessment.before.amount, "plan": list(assessment.before.plan)},
            "after": {"amount": assessment.after.amount, "plan": list(assessment.after.plan)},
        },
    )
    return msgspec.structs.replace(
        result, details={**result.details, **facts}, evidence=(*result.evidence, plans)
    )
