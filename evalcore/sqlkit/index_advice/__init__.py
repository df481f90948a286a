"""Index advice judged by its effect, counted by the engine with the indexes created.

The statement's work is counted without any index, with the advised ones, and with each alternative
that the case knows. `_UNITS` is the grain of a counter, `_SLACK` the same for large amounts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from evalcore.records import Record
from evalcore.sqlkit.engines import Work
from evalcore.sqlkit.index_advice.parsing import (
    Advice,
    AdvisedIndex,
    UnreadableIndex,
    build_index_ddl,
    qualify_index_table,
    read_advice,
    read_index,
)

# Whether an advised index does what the best known one does, by the engine's own counters.
# The indexes are really created on the large database of the question, and the statement's work
# is counted without any, with the advised ones, and with each alternative that the case knows.
# Counters are the same at every repetition, so small margins suffice: `_UNITS` is the grain of a
# counter (the handler that counts SQLite's steps in twenties, the ends of a range, a page more
# where an index is wider), `_SLACK` the same for large amounts. In the bundled cases good indexes
# differ by one page at most, and the best of the weaker ones needs an eighth more.

MAX_INDEXES = 5
_SLACK = 1.05
_UNITS = {"vm_steps": 60, "rows": 4, "pages": 2}
#: An index helps if the work falls to this part of what it was, or further.
_CLEARLY = 0.8

#: The work of the question's statement after some CREATE INDEX statements.
Measure = Callable[[tuple[str, ...]], Work]
_Effect = Literal["as_good", "weaker", "useless", "needless", "invalid", "too_many", "helps"]
_Sentence = Literal[
    "not_needed", "cannot_help", "helps", "right_sentence", "no_effect", "no_count", "unsupported"
]
EffectFinding = Literal[_Effect, _Sentence, "unsupported"]


class Expectation(Record, frozen=True):
    """What a case knows: each alternative alone is good; sentences that are right besides."""

    alternatives: tuple[AdvisedIndex, ...] = ()
    none_ok: bool = False
    cannot_ok: bool = False


class MeasuredIndex(Record, frozen=True):
    """The work with one known index."""

    index: AdvisedIndex
    work: Work


class Effect(Record, frozen=True):
    """What was found out, with the work without an index, with the advised and each known one.

    found: as_good (passes), right_sentence (passes); weaker, useless (no less work), needless
    (`index` can be left out), invalid (`message` are the engine's words), too_many; not_needed and
    cannot_help (an index or the other sentence where that is the answer), helps (a sentence where
    an index helps). Undecided are no_effect (no known index helps on this database), no_count (the
    statement cannot be counted, see `message`) and unsupported (a kind of index that MySQL has and
    MariaDB has not).
    """

    finding: EffectFinding
    before: Work | None = None
    after: Work | None = None
    alternatives: tuple[MeasuredIndex, ...] = ()
    message: str = ""
    index: AdvisedIndex | None = None

    @property
    def best(self) -> Work | None:
        """The least work with a known index, if one could be counted."""
        works = (measured.work for measured in self.alternatives if measured.work.unit)
        return min(works, key=lambda work: work.amount, default=None)


def check_sentence(measure: Measure, advice: Advice, expected: Expectation, engine: str) -> Effect:
    """Whether it is right that no index is needed, or that none can help.

    The flags of the case decide; where an index is good, the best one is counted to show it.
    """
    if expected.none_ok if advice.says == "none" else expected.cannot_ok:
        return Effect(finding="right_sentence")
    if not expected.alternatives:
        return Effect(finding=_finding_from_flags(expected))
    before = measure(())
    if not before.unit:
        return Effect(finding="no_count", message=before.execution.message)
    effect = Effect(
        finding="helps",
        before=before,
        alternatives=_measure_alternatives(measure, expected, engine),
    )
    return effect if _is_improvement(effect.best, before) else _set_finding(effect, "no_effect")


def check_advice(
    measure: Measure, indexes: Sequence[AdvisedIndex], expected: Expectation, engine: str
) -> Effect:
    """Create the advised indexes, count, and compare with the best alternative.

    Of several indexes each must be worth its cost: one without which the work stays as low is
    needless. `engine` is that of the question.
    """
    if len(indexes) > MAX_INDEXES:
        return Effect(finding="too_many", message=str(len(indexes)))
    before = measure(())
    if not before.unit:
        return Effect(finding="no_count", message=before.execution.message)
    after = measure(build_index_ddl(indexes, engine))
    if not after.unit:
        finding = _classify_refusal(after, indexes, expected, engine)
        return Effect(finding=finding, before=before, message=after.execution.message)
    alternatives = _measure_alternatives(measure, expected, engine)
    effect = Effect(finding="as_good", before=before, after=after, alternatives=alternatives)
    if not alternatives:
        return _set_finding(effect, _finding_from_flags(expected))
    best = effect.best
    if best is None or not _is_improvement(best, before):
        return _set_finding(effect, "no_effect")
    if not _is_improvement(after, before):
        return _set_finding(effect, "useless")
    if not _is_about_equal(after, best):
        return _set_finding(effect, "weaker")
    needless = _find_needless_index(measure, indexes, after, engine)
    return _set_finding(effect, "needless", needless) if needless else effect


def _set_finding(
    effect: Effect, finding: EffectFinding, index: AdvisedIndex | None = None
) -> Effect:
    return msgspec.structs.replace(effect, finding=finding, index=index)


def _finding_from_flags(expected: Expectation) -> EffectFinding:
    """Why no index is right where the case knows none."""
    return "not_needed" if expected.none_ok else "cannot_help"


def _classify_refusal(
    work: Work, indexes: Sequence[AdvisedIndex], expected: Expectation, engine: str
) -> EffectFinding:
    """MariaDB, which stands for MySQL, takes an index on an expression for a syntax error."""
    expressions = any(index.on_expressions for index in indexes)
    if engine == "mysql" and expressions and work.execution.status == "syntax_error":
        return "unsupported" if expected.alternatives else _finding_from_flags(expected)
    return "invalid"


def _measure_alternatives(
    measure: Measure, expected: Expectation, engine: str
) -> tuple[MeasuredIndex, ...]:
    return tuple(
        MeasuredIndex(index=index, work=measure(build_index_ddl((index,), engine)))
        for index in expected.alternatives
    )


def _find_needless_index(
    measure: Measure, indexes: Sequence[AdvisedIndex], after: Work, engine: str
) -> AdvisedIndex | None:
    for left_out in indexes if len(indexes) > 1 else ():
        others = [index for index in indexes if index is not left_out]
        work = measure(build_index_ddl(others, engine))
        if work.unit and _is_about_equal(work, after):
            return left_out
    return None


def _is_improvement(work: Work | None, before: Work) -> bool:
    return work is not None and bool(work.unit) and work.amount <= before.amount * _CLEARLY


def _is_about_equal(work: Work, minimum: Work) -> bool:
    """As little as `minimum`, apart from the grain of the counter."""
    return work.amount <= minimum.amount * _SLACK + _UNITS.get(minimum.unit, 0)


__all__ = [
    "Advice",
    "AdvisedIndex",
    "UnreadableIndex",
    "build_index_ddl",
    "qualify_index_table",
    "read_advice",
    "read_index",
]
