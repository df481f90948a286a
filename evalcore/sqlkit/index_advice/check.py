"""Whether an advised index does what the best known one does, by the engine's own counters.

The indexes are really created on the large database of the question, and the statement's work is
counted without any, with the advised ones, and with each alternative that the case knows. Counters
are the same at every repetition, so small margins suffice: `_UNITS` is the grain of a counter (the
handler that counts SQLite's steps in twenties, the ends of a range, a page more where an index is
wider), `_SLACK` the same for large amounts. In the bundled cases good indexes differ by one page at
most, and the best of the weaker ones needs an eighth more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from evalcore.records import Record
from evalcore.sqlkit.engines.base import Work
from evalcore.sqlkit.index_advice.reading import Advice
from evalcore.sqlkit.index_advice.statement import AdvisedIndex, ddl_of

MOST_INDEXES = 5
_SLACK = 1.05
_UNITS = {"vm_steps": 60, "rows": 4, "pages": 2}
#: An index helps if the work falls to this part of what it was, or further.
_CLEARLY = 0.8

#: The work of the question's statement after some CREATE INDEX statements.
Measure = Callable[[tuple[str, ...]], Work]
Found = Literal[
    "as_good",
    "weaker",
    "useless",
    "needless",
    "invalid",
    "too_many",
    "not_needed",
    "cannot_help",
    "helps",
    "right_sentence",
    "no_effect",
    "no_count",
    "unsupported",
]


class Expectation(Record, frozen=True):
    """What a case knows: each alternative alone is good; sentences that are right besides."""

    alternatives: tuple[AdvisedIndex, ...] = ()
    none_ok: bool = False
    cannot_ok: bool = False


class Counted(Record, frozen=True):
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

    found: Found
    before: Work | None = None
    after: Work | None = None
    known: tuple[Counted, ...] = ()
    message: str = ""
    index: AdvisedIndex | None = None

    @property
    def best(self) -> Work | None:
        """The least work with a known index, if one could be counted."""
        works = (one.work for one in self.known if one.work.unit)
        return min(works, key=lambda work: work.amount, default=None)


def check_sentence(measure: Measure, advice: Advice, expected: Expectation, engine: str) -> Effect:
    """Whether it is right that no index is needed, or that none can help.

    The flags of the case decide; where an index is good, the best one is counted to show it.
    """
    if expected.none_ok if advice.says == "none" else expected.cannot_ok:
        return Effect(found="right_sentence")
    if not expected.alternatives:
        return Effect(found=_of_flags(expected))
    before = measure(())
    if not before.unit:
        return Effect(found="no_count", message=before.execution.message)
    effect = Effect(found="helps", before=before, known=_known(measure, expected, engine))
    return effect if _helps(effect.best, before) else _named(effect, "no_effect")


def check_advice(
    measure: Measure, indexes: Sequence[AdvisedIndex], expected: Expectation, engine: str
) -> Effect:
    """Create the advised indexes, count, and compare with the best alternative.

    Of several indexes each must be worth its cost: one without which the work stays as low is
    needless. `engine` is that of the question.
    """
    if len(indexes) > MOST_INDEXES:
        return Effect(found="too_many", message=str(len(indexes)))
    before = measure(())
    if not before.unit:
        return Effect(found="no_count", message=before.execution.message)
    after = measure(ddl_of(indexes, engine))
    if not after.unit:
        found = _refused(after, indexes, expected, engine)
        return Effect(found=found, before=before, message=after.execution.message)
    known = _known(measure, expected, engine)
    effect = Effect(found="as_good", before=before, after=after, known=known)
    if not known:
        return _named(effect, _of_flags(expected))
    best = effect.best
    if best is None or not _helps(best, before):
        return _named(effect, "no_effect")
    if not _helps(after, before):
        return _named(effect, "useless")
    if not _about(after, best):
        return _named(effect, "weaker")
    needless = _needless(measure, indexes, after, engine)
    return _named(effect, "needless", needless) if needless else effect


def _named(effect: Effect, found: Found, index: AdvisedIndex | None = None) -> Effect:
    return msgspec.structs.replace(effect, found=found, index=index)


def _of_flags(expected: Expectation) -> Found:
    """Why no index is right where the case knows none."""
    return "not_needed" if expected.none_ok else "cannot_help"


def _refused(
    work: Work, indexes: Sequence[AdvisedIndex], expected: Expectation, engine: str
) -> Found:
    """MariaDB, which stands for MySQL, takes an index on an expression for a syntax error."""
    expressions = any(index.on_expressions for index in indexes)
    if engine == "mysql" and expressions and work.execution.status == "syntax_error":
        return "unsupported" if expected.alternatives else _of_flags(expected)
    return "invalid"


def _known(measure: Measure, expected: Expectation, engine: str) -> tuple[Counted, ...]:
    return tuple(
        Counted(index=index, work=measure(ddl_of((index,), engine)))
        for index in expected.alternatives
    )


def _needless(
    measure: Measure, indexes: Sequence[AdvisedIndex], after: Work, engine: str
) -> AdvisedIndex | None:
    for left_out in indexes if len(indexes) > 1 else ():
        others = [index for index in indexes if index is not left_out]
        work = measure(ddl_of(others, engine))
        if work.unit and _about(work, after):
            return left_out
    return None


def _helps(work: Work | None, before: Work) -> bool:
    return work is not None and bool(work.unit) and work.amount <= before.amount * _CLEARLY


def _about(work: Work, least: Work) -> bool:
    """As little as `least`, apart from the grain of the counter."""
    return work.amount <= least.amount * _SLACK + _UNITS.get(least.unit, 0)
