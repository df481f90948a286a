"""The rulings of the three rewrite metrics on one assessed rewrite.

Returning the input earns nothing: each metric asks for a statement that is another one. A rule of
the depth metric counts only in an equivalent rewrite, and then either if the parse tree shows it or
if the rewrite reads clearly less, and about as little as the authored one. A panel is asked for
what is left open in cases that come without an authored rewrite.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from evalcore.benchmarks import judged
from evalcore.benchmarks.base import Context
from evalcore.benchmarks.executed import by_execution
from evalcore.benchmarks.sql_optimization import judging
from evalcore.benchmarks.sql_optimization.assessment import Assessment, question_of
from evalcore.benchmarks.sql_verdict import Ruling
from evalcore.judges.records import Question
from evalcore.records import MEASURED, Sample, Section
from evalcore.sqlkit import rewrite_rules
from evalcore.sqlkit.equivalence.effort import Meter

#: As little as the authored rewrite, with some slack for another plan.
_AS_LITTLE = 1.1

_UNCHANGED = "The statement was returned as it was."
_WORSE = "The same rows, but the engine reads more for them than before."


@dataclass(frozen=True)
class Rewrite:
    """An answer, what is known of it, and who could tell more; `context` None: nobody."""

    sample: Sample
    sql: str
    found: Assessment
    meter: Meter
    context: Context | None

    @property
    def authored(self) -> str:
        """The rewrite that the case brings, if any."""
        return str(self.sample.reference["reference"])

    async def unless_open(self, ruling: Ruling, question: Question) -> Ruling:
        """The ruling, or the panel's where there is none and the case is to be judged."""
        asked = self.context is not None and self.context.judges and not self.authored
        if ruling.outcome in MEASURED or not asked:
            return ruling
        return await judged.by_panel(self.context, question)


async def equivalence(rewrite: Rewrite) -> Ruling:
    """The same rows, from another statement that reads no more."""
    question = judging.equivalence(rewrite.sample, rewrite.sql)
    return await rewrite.unless_open(_executed(rewrite), question)


async def runs(rewrite: Rewrite) -> Ruling:
    """Another statement that runs and gives the same columns; its rows are for other metrics."""
    found = rewrite.found
    ruling = by_execution(found.equivalence, rewrite.sample.input["sql"])
    if found.unchanged:
        return _failed(ruling, "unchanged", _UNCHANGED)
    example = found.equivalence.counterexample
    if found.equivalence.status == "different" and example is not None:
        if example.reason in ("columns_count", "no_rows", "failed"):
            return ruling
        note = "It runs and gives the same columns."
        return msgspec.structs.replace(ruling, outcome="passed", reason="", note=note, evidence=())
    return await rewrite.unless_open(ruling, judging.validity(rewrite.sample, rewrite.sql))


async def depth(rewrite: Rewrite) -> Ruling:
    """One rule of the case, in an equivalent rewrite."""
    ruling = await equivalence(rewrite)
    if ruling.outcome != "passed":
        return ruling
    check, shown = _shown(rewrite)
    details = {**ruling.details, "rule": str(_rule(rewrite)["rule_id"]), "check": check}
    ruling = msgspec.structs.replace(ruling, details=details)
    if shown:
        note = "The parse tree shows the improvement, and the rewrite is equivalent."
        return msgspec.structs.replace(ruling, note=note)
    if rewrite.found.better and await _as_little(rewrite):
        note = "The engine reads as little as for the reference, so the improvement is there."
        return msgspec.structs.replace(ruling, note=note)
    if shown is False:
        return _failed(ruling, "rule_absent", "The improvement is not in the rewrite.")
    undecided = msgspec.structs.replace(
        ruling,
        outcome="not_executed",
        reason="no_panel",
        note="Neither parse tree nor plan decides this rule, and no panel was asked.",
    )
    return await rewrite.unless_open(undecided, judging.rules(rewrite.sample, rewrite.sql))


#: By metric.
RULES: dict[str, Callable[[Rewrite], Awaitable[Ruling]]] = {
    "logical_equivalence": equivalence,
    "syntax_error_detection": runs,
    "optimization_depth": depth,
}


def _executed(rewrite: Rewrite) -> Ruling:
    """What execution and the counters say."""
    found = rewrite.found
    ruling = _with_work(by_execution(found.equivalence, rewrite.sample.input["sql"]), found)
    if found.unchanged:
        return _failed(ruling, "unchanged", _UNCHANGED)
    if ruling.outcome == "passed" and found.worse:
        return _failed(ruling, "worse", _WORSE)
    return ruling


def _rule(rewrite: Rewrite) -> dict[str, Any]:
    rule: dict[str, Any] = rewrite.sample.reference["rule"]
    return rule


def _shown(rewrite: Rewrite) -> tuple[str, bool | None]:
    """The detector for the rule and what it says; None where there is none, or it cannot tell."""
    rule, sample = _rule(rewrite), rewrite.sample
    check = rule.get("check") or rewrite_rules.detector_for(str(rule.get("rationale", "")))
    if not check:
        return "", None
    original, schema = sample.input["sql"], sample.input["schema"]
    dialect = sample.reference["dialect"]
    return check, rewrite_rules.holds(check, original, rewrite.sql, dialect, schema)


async def _as_little(rewrite: Rewrite) -> bool:
    """Without an authored rewrite, clearly less than before is enough."""
    after = rewrite.found.after
    if not rewrite.authored or after is None:
        return after is not None
    question = question_of(rewrite.sample)
    best = await asyncio.to_thread(rewrite.meter.of_known, question, rewrite.authored)
    return bool(best.unit) and after.amount <= best.amount * _AS_LITTLE


def _failed(ruling: Ruling, error: str, note: str) -> Ruling:
    details: dict[str, Any] = {**ruling.details, "error_type": error}
    return msgspec.structs.replace(
        ruling, outcome="failed", reason="wrong_answer", note=note, details=details
    )


def _with_work(ruling: Ruling, found: Assessment) -> Ruling:
    """Add what was counted before and after, with both plans."""
    if found.before is None or found.after is None:
        return ruling
    facts = {
        "work_unit": found.before.unit,
        "work_before": found.before.amount,
        "work_after": found.after.amount,
    }
    plans = Section(
        kind="plans",
        title="work",
        body={
            "unit": found.before.unit,
            "before": {"amount": found.before.amount, "plan": list(found.before.plan)},
            "after": {"amount": found.after.amount, "plan": list(found.after.plan)},
        },
    )
    return msgspec.structs.replace(
        ruling, details={**ruling.details, **facts}, evidence=(*ruling.evidence, plans)
    )
