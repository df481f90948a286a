"""What is known of a rewrite, and how the three rewrite metrics rule on it.

Every metric pays for effect alone: the same rows, on small databases and on a large one, for
clearly less work by the engine's own counter, and not by wrappers or another order of joins, from
which only a planner gains. Equivalence and validity are paid by the share of
the work saved that the authored rewrite saves. Where that counter shows no saving for the authored
rewrite either, the rules of the case that the parse tree shows count as the effect.
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
from evalcore.sqlkit.dialects import Server
from evalcore.sqlkit.engines import Work
from evalcore.sqlkit.equivalence import Equivalence, EquivalenceQuestion
from evalcore.sqlkit.equivalence.decider import MUCH_SLOWER
from evalcore.sqlkit.products.decision import read_on_stand_in
from evalcore.sqlkit.query_plans import FEWER_ROWS, ROWS, WorkMeter, build_scaled_database
from evalcore.sqlkit.rewrite_rules import is_rearranged_statement, is_same_statement

# What is found out about one rewrite, once for all metrics that are scored on it.

#: A rewrite may read this much more and is still not worse; counters jump by a page or a step.
_SLACK, _SLACK_UNITS = 1.05, 8
#: It is better only from here on.
_BETTER = 0.9
#: As little as the authored rewrite, with some slack for another plan.
_AS_LITTLE = 1.1
#: Another plan may visit some times the rows for fewer pages, but not so many.
_MORE_VISITED = 4


class Assessment(Record, frozen=True):
    """One rewrite beside its original and the authored rewrite, `best`. Work is None where it was
    not counted; `scaled` tells whether the rows of the large database were compared, too;
    `rearranged` that the statement is only wrapped, or its inner joins stand in another order."""

    unchanged: bool
    equivalence: Equivalence
    rearranged: bool = False
    before: Work | None = None
    after: Work | None = None
    best: Work | None = None
    same_plan: bool = False
    scaled: bool = False

    @property
    def is_worse(self) -> bool:
        """Reads more than the original, or fails on a large database where that one does not."""
        if self.before is None or self.after is None or not self.before.unit:
            return False
        if not self.after.unit:
            return _is_certain_failure(self.after, self.before)
        return self.after.amount > self.before.amount * _SLACK + _SLACK_UNITS

    @property
    def saves_work(self) -> bool | None:
        """Whether the engine does clearly less work, None where that cannot be determined; where
        it counted neither statement, equal plans mean that nothing is saved."""
        if self.same_plan:
            return False
        before, after, best = self.before, self.after, self.best
        by_count = has_less_work(before, after)
        if by_count and before and after and best and best.unit:
            share = _compute_visited_share if before.unit else _compute_best_ratio
            return share(before, after, best) > 1 - _BETTER
        return by_count

    @property
    def best_saves_work(self) -> bool | None:
        """Whether the counter shows the saving of the authored rewrite; without one it might."""
        if self.best is None:
            return self.saves_work is not None
        return has_less_work(self.before, self.best) is True

    @property
    def reads_as_little(self) -> bool:
        """As the authored rewrite; without one, clearly less than before is enough."""
        if not self.saves_work or self.after is None:
            return False
        if self.best is None:
            return True
        return bool(self.best.unit) and self.after.amount <= self.best.amount * _AS_LITTLE

    @property
    def saved_share(self) -> float:
        """The work saved, from 0 to 1, as a share of what the authored rewrite saves; the lesser
        one where that saves visited rows, too.

        1 without an authored rewrite that saves. Where the original never ends, the share is the
        authored rewrite's work by that of the answer.
        """
        before, after, best = self.before, self.after, self.best
        if not self.saves_work or before is None or after is None:
            return 0.0
        if best is None or not self.best_saves_work:
            return 1.0
        if not before.unit:
            share = _compute_best_ratio(before, after, best)
        elif self.reads_as_little:
            share = _compute_visited_share(before, after, best)
        else:
            by_count = (before.amount - after.amount) / (before.amount - best.amount)
            share = min(by_count, _compute_visited_share(before, after, best))
        return round(min(1.0, share), 3)


def has_less_work(before: Work | None, after: Work | None) -> bool | None:
    """Whether the second is clearly less work by the engine's counter, None without a count.

    A statement that only the original cannot finish on the large database saves, too. Visiting
    many times more rows does not: the counter overlooks those of a buffer.
    """
    if before is None or after is None or not (before.unit or after.unit):
        return None
    if not before.unit and not _is_certain_failure(before, after):
        return None
    if not after.unit and not _is_certain_failure(after, before):
        return None
    if before.unit and after.visited > _MORE_VISITED * max(before.visited, ROWS):
        return False
    return bool(after.unit) and (not before.unit or after.amount < before.amount * _BETTER)


def _is_certain_failure(failed: Work, finished: Work) -> bool:
    """Whether a statement fails of its own beside one that finished, and not of a busy machine: the
    clock that ended it gave it several times as long as the other took."""
    execution = failed.execution
    if execution.status == "crashed" or execution.stage != "statement":
        return False
    return (
        execution.status != "timeout"
        or execution.elapsed > MUCH_SLOWER * finished.execution.elapsed
    )


def _compute_best_ratio(before: Work, after: Work, best: Work) -> float:
    """1 within the slack of the authored rewrite's work, and less the more work an answer is."""
    return min(1.0, _AS_LITTLE * best.amount / max(1, after.amount))


def _compute_visited_share(before: Work, after: Work, best: Work) -> float:
    """The visited rows saved, as a share of what the authored rewrite saves; 1 where that saves
    less than half of them."""
    if not before.visited or best.visited * 2 > before.visited:
        return 1.0
    if after.visited <= best.visited * _AS_LITTLE:
        return 1.0
    return (before.visited - after.visited) / (before.visited - best.visited)


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
    server: Server,
    authored: str = "",
) -> Assessment:
    """Compare with the original, then count the work of both where they are equivalent, and
    compare their rows on the database on which it was counted."""
    unchanged = is_same_statement(question.reference, sql, server.dialect, question.schema)
    product = server.title, server.version
    equivalence = await benchmark.decide_equivalence(question, sql, *product)
    if unchanged or equivalence.status != "equivalent":
        return Assessment(unchanged=unchanged, equivalence=equivalence)
    (_, authored), (question, sql) = [
        await asyncio.to_thread(read_on_stand_in, benchmark.decider, question, text, *product)
        for text in (authored, sql)
    ]
    before = await asyncio.to_thread(meter.measure_reference, question)
    after = await asyncio.to_thread(meter.measure_work, question, sql)
    best = await asyncio.to_thread(meter.measure_cached, question, authored) if authored else None
    same_plan = not before.unit and await asyncio.to_thread(meter.has_same_plan, question, sql)
    texts = question.reference, sql
    rearranged = is_rearranged_statement(*texts, server.dialect, question.schema)
    assessment = Assessment(False, equivalence, rearranged, before, after, best, same_plan)
    if not after.unit:  # an answer that does not end there is worse
        return assessment
    for rows in (ROWS, FEWER_ROWS) if before.unit else (FEWER_ROWS,):
        database = build_scaled_database(question, rows)
        scaled = await asyncio.to_thread(meter.decider.decide_scaled, question, database, sql)
        if scaled.status != "equivalent":
            return Assessment(unchanged=False, equivalence=scaled, scaled=True)
        if scaled.databases:
            return msgspec.structs.replace(assessment, scaled=True)
    return assessment


# The rulings of the three rewrite metrics on one assessed rewrite.
# An equal rewrite without effect is `no_saving`. A rule of the depth metric counts in a rewrite
# with effect if the parse tree shows it, or if it reads about as little as the authored one. A
# panel is asked for what is left open in cases that come without an authored rewrite.


@dataclass(frozen=True)
class AssessedRewrite:
    """An answer, what is known of it, and who could tell more; `context` None: nobody."""

    sample: Sample
    sql: str
    assessment: Assessment
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
    result = msgspec.structs.replace(result, share=1.0)
    if shown or rewrite.assessment.reads_as_little:
        note = Note("rule_shown" if shown else "rule_effect")
        return msgspec.structs.replace(result, note=note)
    if shown is False:
        return _mark_failed(result, "rule_absent", Note("rule_absent"))
    undecided = msgspec.structs.replace(
        result, outcome="not_executed", reason="no_panel", note=Note("rule_undecided")
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
    by_rule = _compute_rule_share(rewrite)
    if assessment.rearranged and not by_rule:  # what it saves is the planner's luck
        return _mark_failed(result, "no_saving", Note("no_saving"), "no_saving")
    if assessment.saves_work:
        share = assessment.saved_share
        note = Note("work_saved", share=f"{100 * share:.3g}", decision=result.note)
        return _pay_share(result, "work", share, note if assessment.best else result.note)
    share = 0.0 if assessment.best_saves_work else by_rule
    if share:
        note = Note("work_by_rule", share=f"{100 * share:.3g}", decision=result.note)
        return _pay_share(result, "rule", share, note)
    if assessment.saves_work is None:
        message = assessment.before.execution.message if assessment.before else ""
        note = Note("uncounted", message=message)
        return msgspec.structs.replace(result, outcome="not_executed", reason="no_count", note=note)
    return _mark_failed(result, "no_saving", Note("no_saving"), "no_saving")


def _pay_share(result: ScoringResult, effect: str, share: float, note: str) -> ScoringResult:
    details = {**result.details, "effect": effect, "saved_share": share}
    return msgspec.structs.replace(result, details=details, share=share, note=note)


def _compute_rule_share(rewrite: AssessedRewrite) -> float:
    """The share, by difficulty, of the rules of the case that the parse tree shows, among those
    that it shows for the authored rewrite."""
    rules = rewrite.sample.reference.get("rules", ())
    if rewrite.authored_sql:
        rules = [rule for rule in rules if _detect_rule(rewrite, rule, rewrite.authored_sql)[1]]
    weights = [int(rule["difficulty_level"]) for rule in rules]
    shown = [w for rule, w in zip(rules, weights, strict=True) if _detect_rule(rewrite, rule)[1]]
    return round(sum(shown) / sum(weights), 3) if weights else 0.0


def _get_rule(rewrite: AssessedRewrite) -> dict[str, Any]:
    rule: dict[str, Any] = rewrite.sample.reference["rule"]
    return rule


def _detect_rule(
    rewrite: AssessedRewrite, rule: Mapping[str, Any], sql: str = ""
) -> tuple[str, bool | None]:
    """The detector for a rule and what it says of the answer, or of `sql`; None where there is
    none, or it cannot tell."""
    sample = rewrite.sample
    check = rule.get("check") or rewrite_rules.detector_for(str(rule.get("rationale", "")))
    if not check:
        return "", None
    original, schema = sample.input["sql"], sample.input["schema"]
    dialect = sample.reference["dialect"]
    answer = sql or rewrite.sql
    return check, rewrite_rules.has_rewrite(check, original, answer, dialect, schema)


def _mark_failed(
    result: ScoringResult, error: str, note: str, reason: str = "wrong_answer"
) -> ScoringResult:
    details: dict[str, Any] = {**result.details, "error_type": error}
    return msgspec.structs.replace(
        result, outcome="failed", reason=reason, note=note, details=details
    )


def _add_work_evidence(result: ScoringResult, assessment: Assessment) -> ScoringResult:
    """Add what was counted before, after and for the authored rewrite, with both plans."""
    before, after, best = assessment.before, assessment.after, assessment.best
    if before is None or after is None:
        return result
    sides = {"before": before, "after": after, "best": best}
    counted = {name: work for name, work in sides.items() if work and work.unit}
    unit = before.unit or after.unit
    facts = {
        "work_unit": unit,
        **{f"work_{name}": work.amount for name, work in counted.items()},
        "scaled_compared": assessment.scaled,
    }
    columns = ["statement", unit, "saved", *(["visited"] if before.visited else [])]
    rows = [
        [name, work.amount, _format_saving(before, work), work.visited][: len(columns)]
        for name, work in counted.items()
    ]
    table = Section(kind="table", title="works", body={"columns": columns, "rows": rows})
    plans = Section(
        kind="plans",
        title="work",
        body={
            "unit": before.unit,
            "before": {"amount": before.amount, "plan": list(before.plan)},
            "after": {"amount": after.amount, "plan": list(after.plan)},
        },
    )
    return msgspec.structs.replace(
        result, details={**result.details, **facts}, evidence=(*result.evidence, table, plans)
    )


def _format_saving(before: Work, work: Work) -> str:
    return f"{100 * (1 - work.amount / before.amount):.1f} %" if before.amount else "-"
