"""What is found out about one rewrite, once for all metrics that are scored on it."""

from __future__ import annotations

import asyncio

from evalcore.benchmarks.executed import ExecutedBenchmark
from evalcore.records import Record, Sample
from evalcore.sqlkit.engines.base import Work
from evalcore.sqlkit.equivalence.effort import WorkMeter
from evalcore.sqlkit.equivalence.records import Equivalence, EquivalenceQuestion
from evalcore.sqlkit.rewrite_rules import is_same_statement

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
