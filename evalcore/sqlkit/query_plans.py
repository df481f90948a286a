"""Query plans as facts, and the work that an engine counts for a statement."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from evalcore.sqlkit.engines import Limits, Work
from evalcore.sqlkit.engines.registry import PATIENT_SECONDS, EnginePool
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.equivalence.decider import Decider
from evalcore.sqlkit.generate import Database, generate_scaled_database, render_inserts
from evalcore.sqlkit.result_tables import ResultTable
from evalcore.sqlkit.schema import read_schema

# Query plans as facts: which tables are visited in which way, and whether something is sorted.
# Reads the details of SQLite's EXPLAIN QUERY PLAN, whose wording is documented as not stable: the
# forms here are those of SQLite 3.36 and later ("SCAN t", formerly "SCAN TABLE t").

_VISIT = re.compile(
    r"""(?P<access>SCAN|SEARCH)\ (?:TABLE\ )?(?P<table>.+?)
        (?:\ AS\ (?P<alias>\S+))?
        (?:\ USING\ (?P<using>.+?))?
        (?:\ \(.*\))? (?:\ LEFT-JOIN)? (?:\ VIRTUAL\ TABLE\ INDEX\ .*)?\Z""",
    re.VERBOSE,
)
_PRIMARY = re.compile(r"INTEGER PRIMARY KEY|PRIMARY KEY|(?:COVERING )?INDEX sqlite_autoindex_\S+")
_AUTOMATIC = re.compile(r"AUTOMATIC (?:PARTIAL )?(?:COVERING )?INDEX")
_NAMED = re.compile(r"(?:COVERING )?INDEX (?P<index>.+)")
#: Constant rows are no table that anybody chose a way into.
_NO_TABLE = re.compile(r"CONSTANT ROW|\d+(?:-ROW| CONSTANT ROWS).*")


def sqlite_steps(rows: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """The plan in rows of (id, parent, detail), in the order in which SQLite gives them.

    Returns {"steps": [{"table", "access", "index"}], "temp_sort"}: a step per table visited, by its
    alias where it has one; access "scan" or "search"; index the name of the index used,
    "PRIMARY KEY" for row id or primary key, "AUTOMATIC" for an index built for the query, else
    None; temp_sort whether a temporary b-tree serves ORDER BY, GROUP BY or DISTINCT.
    """
    details = [str(row[2]) for row in rows]
    visits = (_VISIT.match(detail) for detail in details)
    return {
        "steps": [
            _build_plan_step(visit)
            for visit in visits
            if visit and not _NO_TABLE.match(visit["table"])
        ],
        "temp_sort": any(detail.startswith("USE TEMP B-TREE") for detail in details),
    }


_POSTGRES_VISIT = re.compile(
    r"""\s*(?:->\s+)?(?P<kind>Seq|Index|Index\ Only|Bitmap\ Heap)\ Scan(?:\ Backward)?
        (?:\ using\ (?P<index>\S+))? \ on\ (?P<table>(?:"[^"]*"|\S)+)
        (?:\ (?P<alias>[^\s(]\S*))? \ \ \(""",
    re.VERBOSE,
)
_POSTGRES_SORT = re.compile(
    r"\s*(?:->\s+)?(?:Sort|Incremental Sort|HashAggregate|MixedAggregate)\b"
)
_BITMAP_INDEX = re.compile(r"Bitmap Index Scan on (\S+)")


def postgres_steps(rows: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """The plan in the lines of PostgreSQL's EXPLAIN, from top to bottom, as `sqlite_steps` has it.

    An index that is read without a condition on it is scanned. temp_sort tells whether a node sorts
    or hashes rows for ORDER BY, GROUP BY or DISTINCT.
    """
    lines = [str(row[0]) for row in rows]
    visits = [
        (at, visit) for at, line in enumerate(lines) if (visit := _POSTGRES_VISIT.match(line))
    ]
    ends = [*(at for at, _ in visits[1:]), len(lines)]
    steps = []
    for (start, visit), end in zip(visits, ends, strict=False):
        node = "\n".join(lines[start:end])
        bitmap = _BITMAP_INDEX.search(node)
        index = visit["index"] or (bitmap[1] if bitmap else None)
        steps.append(
            {
                "table": (visit["alias"] or visit["table"]).strip('"'),
                "access": "search" if index and "Index Cond:" in node else "scan",
                "index": "PRIMARY KEY" if index and index.endswith("_pkey") else index,
            }
        )
    return {"steps": steps, "temp_sort": any(map(_POSTGRES_SORT.match, lines))}


def mysql_steps(rows: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """The plan in the rows of EXPLAIN of MariaDB, in their order, as `sqlite_steps` has it: columns
    id, select_type, table, type, possible_keys, key, key_len, ref, rows, Extra."""
    visits = [row for row in rows if row[2] and not str(row[2]).startswith("<")]
    return {
        "steps": [
            {
                "table": str(row[2]),
                "access": "scan" if row[3] in ("ALL", "index") else "search",
                "index": "PRIMARY KEY" if row[5] == "PRIMARY" else row[5],
            }
            for row in visits
        ],
        "temp_sort": any(
            "Using temporary" in row[9] or "Using filesort" in row[9] for row in visits
        ),
    }


#: Engines whose plans can be told as steps.
PLAN_READERS: dict[str, Callable[[Iterable[Sequence[Any]]], dict[str, Any]]] = {
    "sqlite": sqlite_steps,
    "postgres": postgres_steps,
    "mysql": mysql_steps,
}


def _build_plan_step(visit: re.Match[str]) -> dict[str, str | None]:
    return {
        "table": visit["alias"] or visit["table"],
        "access": visit["access"].lower(),
        "index": _classify_index(visit["using"] or ""),
    }


def _classify_index(using: str) -> str | None:
    if _PRIMARY.fullmatch(using):
        return "PRIMARY KEY"
    if _AUTOMATIC.match(using):
        return "AUTOMATIC"
    named = _NAMED.fullmatch(using)
    return named["index"] if named else None


# How much an engine reads for a statement, on one large database of the question.

ROWS = 4_000
FEWER_ROWS = 500  # for results or times that grow with the square of the rows
_REMEMBERED = 32


@lru_cache(maxsize=_REMEMBERED)
def build_scaled_database(question: EquivalenceQuestion, rows: int = ROWS) -> Database:
    """The rows on which work is counted; the same for every answer."""
    schema = read_schema(question.schema, question.engine)
    mined = ((question.reference, question.engine), *question.related)
    return generate_scaled_database(schema, mined, seed=question.seed, rows=rows)


@lru_cache(maxsize=_REMEMBERED)
def build_large_setup(question: EquivalenceQuestion) -> tuple[str, ...]:
    """DDL and rows of the database on which work is counted."""
    schema = read_schema(question.schema, question.engine)
    rows = build_scaled_database(question)
    return (*question.build_tables(), *render_inserts(schema, rows, question.engine))


class WorkMeter:
    """Counts work on engines of its own, which are patient; the reference's count is remembered."""

    def __init__(self) -> None:
        self._engines = EnginePool(Limits(seconds=PATIENT_SECONDS))
        self.decider = Decider(self._engines.get)  # for results of a large database
        self._cache: dict[tuple[EquivalenceQuestion, str, tuple[str, ...]], Work] = {}

    def measure_work(
        self, question: EquivalenceQuestion, sql: str, indexes: tuple[str, ...] = ()
    ) -> Work:
        """Measure the work of `sql` after running the statements `indexes`."""
        engine = self._engines.get(question.engine)
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

    def close(self) -> None:
        self._engines.close()

    def has_same_plan(self, question: EquivalenceQuestion, sql: str) -> bool:
        """Whether the engine would run `sql` as it runs the reference, but for names and costs."""
        engine = self._engines.get(question.engine)
        plans = [
            engine.explain(question.build_tables(), text) for text in (question.reference, sql)
        ]
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
