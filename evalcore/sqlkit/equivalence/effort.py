"""How much an engine reads for a statement, on one large database of the question."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from evalcore.sqlkit.engines.base import Engine, Work
from evalcore.sqlkit.equivalence.records import EquivalenceQuestion
from evalcore.sqlkit.generate import generate_scaled_database, render_inserts
from evalcore.sqlkit.schema import read_schema
from evalcore.sqlkit.table import ResultTable

ROWS = 4_000
_REMEMBERED = 32


@lru_cache(maxsize=_REMEMBERED)
def build_large_setup(question: EquivalenceQuestion) -> tuple[str, ...]:
    """DDL and rows of the database on which work is counted; the same for every answer."""
    schema = read_schema(question.schema, question.engine)
    mined = ((question.reference, question.engine), *question.related)
    rows = generate_scaled_database(schema, mined, seed=question.seed, rows=ROWS)
    return (*question.schema, *render_inserts(schema, rows, question.engine))


class WorkMeter:
    """Counts work on engines that `open_engine` gives; the reference's count is remembered."""

    def __init__(self, open_engine: Callable[[str], Engine]) -> None:
        self._open = open_engine
        self._cache: dict[tuple[EquivalenceQuestion, str, tuple[str, ...]], Work] = {}

    def measure_work(
        self, question: EquivalenceQuestion, sql: str, indexes: tuple[str, ...] = ()
    ) -> Work:
        """The work of `sql` once the statements `indexes` have run too."""
        engine = self._open(question.engine)
        return engine.measure((*build_large_setup(question), *indexes), sql)

    def measure_reference(self, question: EquivalenceQuestion) -> Work:
        """The work of the statement that answers are held against."""
        return self.measure_cached(question, question.reference)

    def measure_cached(
        self, question: EquivalenceQuestion, sql: str, indexes: tuple[str, ...] = ()
    ) -> Work:
        """As `measure_work`, remembered: for statements of the case itself."""
        key = (question, sql, indexes)
        if key in self._cache:
            return self._cache[key]
        work = self.measure_work(question, sql, indexes)
        if not work.unit:  # a busy machine may have cut it short
            work = self.measure_work(question, sql, indexes)
        if work.unit:
            self._cache[key] = work
        return work

    def has_same_plan(self, question: EquivalenceQuestion, sql: str) -> bool:
        """Whether the engine would run `sql` as it runs the reference, but for names and costs."""
        engine = self._open(question.engine)
        plans = [engine.explain(question.schema, text) for text in (question.reference, sql)]
        first, second = (normalize_plan(plan.table) if plan.table else None for plan in plans)
        return first is not None and first == second


#: What a plan says beside its steps: costs, counted rows, the names that a statement gives.
_INCIDENTAL = re.compile(
    r"\((?:cost|rows|~?\d)[^()]*\)|~?\d+ rows?|\bAS \S+|\b(?:CTE|SUBQUERY) \S+|\d+(?:\.\d+)?"
    r"|[│┌┐└┘─┴┬]"
)


def normalize_plan(table: ResultTable) -> tuple[str, ...]:
    """The steps of a plan without costs, counts and the names that a statement makes up."""
    lines = "\n".join(str(cell) for row in table.rows for cell in row if isinstance(cell, str))
    bare = (_INCIDENTAL.sub("", line).strip() for line in lines.splitlines())
    return tuple(line for line in bare if line)
