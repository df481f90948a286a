"""The rulings of the three rewrite metrics on one assessed rewrite.

Every metric pays for effect alone: the rewrite gives the same rows, and the engine does clearly
less work for them by its own counter on a large database. Where that counter shows no saving for
the authored rewrite either, a rule of the case that the parse tree shows counts as the effect. An
equal rewrite without effect is `no_saving`. A rule of the depth metric counts in such a rewrite if
the parse tree shows it, or if it reads about as little as the authored one. A panel is asked for
what is left open in cases that come without an authored rewrite.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from evalcore.benchmarks import judged
from evalcore.benchmarks.base import Context
from evalcore.benchmarks.executed import by_execution
from evalcore.benchmarks.sql_optimization import judging
from evalcore.benchmarks.sql_optimization.assessment import Assessment, question_of, saves
from evalcore.benchmarks.sql_verdict import Ruling
from evalcore.judges.records import Question
from evalcore.records import MEASURED, Sample, Section
from evalcore.sqlkit import rewrite_rules
from evalcore.sqlkit.equivalence.effort import WorkMeter

#: As little as the authored rewrite, with some slack for another plan.
_AS_LITTLE = 1.1

_UNCHANGED = "The statement was returned as it was."
_WORSE = "The same rows, but the engine reads more for them than before."
_NO_SAVING = "The same rows, but the engine does no less work for them than before."
_UNCOUNTED = "The same rows, but the work for them cannot be counted: {message}"


@dataclass(frozen=True)
class Rewrite:
    """An answer, what is known of it, and who could tell more; `context` None: nobody."""

    sample: Sample
    sql: str
    found: Assessment
    meter: WorkMeter
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
    """The same rows, for less work."""
    question = judging.equivalence(rewrite.sample, rewrite.sql)
    return await rewrite.unless_open(await _executed(rewrite), question)


async def runs(rewrite: Rewrite) -> Ruling:
    """Valid on the engine; only a rewrite with effect earns it, as any valid statement runs."""
    question = judging.validity(rewrite.sample, rewrite.sql)
    return await rewrite.unless_open(await _executed(rewrite), question)


async def depth(rewrite: Rewrite) -> Ruling:
    """One rule of the case, in an equivalent rewrite."""
    ruling = await equivalence(rewrite)
    if ruling.outcome != "passed":
        return ruling
    check, shown = _shown(rewrite, _rule(rewrite))
    details = {**ruling.details, "rule": str(_rule(rewrite)["rule_id"]), "check": check}
    ruling = msgspec.structs.replace(ruling, details=details)
    if shown:
        note = "The parse tree shows the improvement, and the rewrite is equivalent."
        return msgspec.structs.replace(ruling, note=note)
    if rewrite.found.saves and await _as_little(rewrite):
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


async def _executed(rewrite: Rewrite) -> Ruling:
    """What execution and the counters say."""
    found = rewrite.found
    ruling = _with_work(by_execution(found.equivalence, rewrite.sample.input["sql"]), found)
    if found.unchanged:
        return _failed(ruling, "unchanged", _UNCHANGED)
    if ruling.outcome != "passed":
        return ruling
    if found.worse:
        return _failed(ruling, "worse", _WORSE)
    if found.saves:
        return ruling
    if _rules_shown(rewrite) and not await _authored_saves(rewrite):
        details = {**ruling.details, "effect": "rule"}
        return msgspec.structs.replace(ruling, details=details)
    if found.saves is None:
        message = found.before.execution.message if found.before else ""
        note = _UNCOUNTED.format(message=message)
        return msgspec.structs.replace(ruling, outcome="not_executed", reason="no_count", note=note)
    return _failed(ruling, "no_saving", _NO_SAVING, "no_saving")


async def _authored_saves(rewrite: Rewrite) -> bool:
    """Whether the counter shows the saving of the authored rewrite; without one it might."""
    before = rewrite.found.before
    if not rewrite.authored:
        return rewrite.found.saves is not None
    question = question_of(rewrite.sample)
    best = await asyncio.to_thread(rewrite.meter.measure_cached, question, rewrite.authored)
    return saves(before, best) is True


def _rules_shown(rewrite: Rewrite) -> bool:
    """Whether the parse tree shows that some fault is gone which a rule of the case names."""
    return any(_shown(rewrite, rule)[1] for rule in rewrite.sample.reference.get("rules", ()))


def _rule(rewrite: Rewrite) -> dict[str, Any]:
    rule: dict[str, Any] = rewrite.sample.reference["rule"]
    return rule


def _shown(rewrite: Rewrite, rule: Mapping[str, Any]) -> tuple[str, bool | None]:
    """The detector for a rule and what it says; None where there is none, or it cannot tell."""
    sample = rewrite.sample
    check = rule.get("check") or rewrite_rules.detector_for(str(rule.get("rationale", "")))
    if not check:
        return "", None
    original, schema = sample.input["sql"], sample.input["schema"]
    dialect = sample.reference["dialect"]
    return check, rewrite_rules.has_rewrite(check, original, rewrite.sql, dialect, schema)


async def _as_little(rewrite: Rewrite) -> bool:
    """Without an authored rewrite, clearly less than before is enough."""
    after = rewrite.found.after
    if not rewrite.authored or after is None:
        return after is not None
    question = question_of(rewrite.sample)
    best = await asyncio.to_thread(rewrite.meter.measure_cached, question, rewrite.authored)
    return bool(best.unit) and after.amount <= best.amount * _AS_LITTLE


def _failed(ruling: Ruling, error: str, note: str, reason: str = "wrong_answer") -> Ruling:
    details: dict[str, Any] = {**ruling.details, "error_type": error}
    return msgspec.structs.replace(
        ruling, outcome="failed", reason=reason, note=note, details=details
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
