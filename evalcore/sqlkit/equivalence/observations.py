"""What is seen of a statement on one database, and the first thing that differs from another's."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

import msgspec
from sqlglot import exp
from sqlglot.errors import SqlglotError

from evalcore.records import Record
from evalcore.sqlkit.engines import Engine, Execution
from evalcore.sqlkit.engines.guard import MAX_SQL_CHARACTERS, split_script
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.result_tables import ResultTable, TableDiff, compare_tables
from evalcore.sqlkit.row_matching import DOUBLE_TOLERANCE, SINGLE_TOLERANCE, CellRules
from evalcore.sqlkit.schema import plain_name, read_schema
from evalcore.sqlkit.syntax import read_definition

_PLAIN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class Observation(Record, frozen=True):
    """What was seen: by name, the statement's rows ("") or what calls and tables gave."""

    execution: Execution
    tables: dict[str, ResultTable | None] = {}

    @property
    def ok(self) -> bool:
        return self.execution.status == "ok"

    @property
    def truncated(self) -> bool:
        return any(table.truncated for table in self.tables.values() if table)


class Difference(Record, frozen=True):
    """The first observation that is not the same; `diff` is None where one side has no rows."""

    subject: str
    expected: ResultTable | None
    actual: ResultTable | None
    diff: TableDiff | None


def observe_statement(
    engine: Engine, setup: Sequence[str], question: EquivalenceQuestion, sql: str
) -> Observation:
    """Run `sql` after `setup`, then the calls and the queries for the tables of the question."""
    probes = _list_probes(question)
    done = engine.execute(setup, sql, probes=probes, script=bool(question.calls))
    return _build_observation(question, done)


def observe_each(
    engine: Engine,
    setups: Sequence[Sequence[str]],
    question: EquivalenceQuestion,
    sql: str,
    *,
    eager: bool = False,
) -> Iterator[Observation]:
    """`observe_statement` on one setup after the other; `eager` where all will be looked at."""
    script, probes = bool(question.calls), _list_probes(question)
    for done in engine.execute_each(setups, sql, probes=probes, script=script, eager=eager):
        yield _build_observation(question, done)


def _list_probes(question: EquivalenceQuestion) -> tuple[str, ...]:
    states = (build_select_all(table, question.engine) for table in question.state_of)
    return (*question.calls, *states)


def _build_observation(question: EquivalenceQuestion, done: Execution) -> Observation:
    if done.status != "ok":
        return Observation(execution=done)
    calls = range(1, len(done.probed) - len(question.state_of) + 1)
    names = (*(f"call {number}" for number in calls), *question.state_of)
    tables: dict[str, ResultTable | None] = {} if question.calls else {"": done.table}
    tables.update(zip(names, done.probed, strict=True))
    return Observation(execution=done, tables=tables)


#: Words without which a statement leaves every table as it is.
_WRITING = frozenset(
    "INSERT UPDATE DELETE MERGE REPLACE TRUNCATE CREATE ALTER DROP RENAME CALL DO INTO".split()  # noqa: SIM905
)


def add_written_tables(question: EquivalenceQuestion, answer: str = "") -> EquivalenceQuestion:
    """The question with all tables to be compared where the reference or the answer may change
    one, and what the reference creates; a statement that cannot be cut into words does not run
    either."""
    routines = re.compile(r"\bFUNCTION\b", re.I)
    if (
        not any(map(routines.search, question.schema))
        and not _may_write(question.reference, question.engine)
        and not _may_write(answer, question.engine, frozenset(("REPLACE", "INSERT", "TRUNCATE")))
    ):
        return question
    stated = {plain_name(table) for table in question.state_of}
    others = [table.name for table in read_schema(question.schema, question.engine).tables]
    defined = read_definition(question.reference, question.engine)
    if not question.calls:
        dropped = set(map(plain_name, defined.dropped))
        others = [name for name in others if plain_name(name) not in dropped]
        others += [defined.created] if defined.created else []
    added = (name for name in dict.fromkeys(others) if plain_name(name) not in stated)
    return msgspec.structs.replace(question, state_of=(*question.state_of, *added))


def _may_write(sql: str, dialect: str, functions: frozenset[str] = frozenset()) -> bool:
    """Whether a statement holds a word that writes; `functions` write none where each is called."""
    return any(
        statement.words.count(word) > statement.calls.count(word.lower()) * (word in functions)
        for statement in split_script(sql[:MAX_SQL_CHARACTERS], dialect) or ()
        for word in _WRITING.intersection(statement.words)
    )


def build_select_all(table: str, dialect: str) -> str:
    """The query for all rows of a table, which may be qualified (`sales.orders`).

    A plain name is left bare, so that the engine folds its case as it did when it was created.
    """
    if _PLAIN.fullmatch(table):
        return f"SELECT * FROM {table}"  # noqa: S608 - a plain name
    return f"SELECT * FROM {_quote_name(table, dialect)}"  # noqa: S608 - quoted


def _quote_name(table: str, dialect: str) -> str:
    """A name as it is written where that is a name and nothing else, else quoted as one."""
    try:
        read = exp.to_table(table, dialect=dialect)
    except SqlglotError:
        read = exp.Table()
    held = {name for name, value in read.args.items() if value}
    parts = read.parts if held <= {"this", "db", "catalog"} else []
    if not parts or not all(isinstance(part, exp.Identifier) for part in parts):
        parts = [exp.to_identifier(table, quoted=True)]
    return ".".join(part.sql(dialect=dialect) for part in parts)


@lru_cache(maxsize=256)
def build_cell_rules(engine: str, schema: tuple[str, ...]) -> CellRules:
    """Build the comparison rules of an engine's results: exact where the type is exact."""
    columns = [column for table in read_schema(schema, engine).tables for column in table.columns]
    single = engine != "sqlite" and any(_SINGLE.match(column.declared) for column in columns)
    return CellRules(
        exact=True,
        plain_text=engine == "sqlite",
        tolerance=SINGLE_TOLERANCE if single else DOUBLE_TOLERANCE,
    )


_SINGLE = re.compile(r"(?:FLOAT4?|REAL)\b", re.I)


def find_difference(
    question: EquivalenceQuestion, expected: Observation, actual: Observation, ordered: bool
) -> Difference | None:
    """The first thing seen that is not the same, None where all is; both ran.

    The rows of a statement that is to change tables count only where the reference gives some.
    """
    rules = build_cell_rules(question.engine, question.schema)
    for name, want in expected.tables.items():
        got = actual.tables.get(name)
        if want is None and name == "":
            continue
        if want is None or got is None:
            if want is not got:
                return Difference(subject=name, expected=want, actual=got, diff=None)
            continue
        diff = compare_tables(want, got, ordered=ordered and name == "", rules=rules)
        if diff.equal and name in question.state_of and not question.calls:
            diff = _compare_stated_names(question, want, got)
        if not diff.equal:
            return Difference(subject=name, expected=want, actual=got, diff=diff)
    if len(actual.tables) > len(expected.tables):
        name = next(name for name in actual.tables if name not in expected.tables)
        return Difference(subject=name, expected=None, actual=actual.tables[name], diff=None)
    return None


def _compare_stated_names(
    question: EquivalenceQuestion, want: ResultTable, got: ResultTable
) -> TableDiff:
    """Whether the columns that the reference itself names have these names."""
    stated = read_definition(question.reference, question.engine).columns
    pairs = ((a.lower(), b.lower()) for a, b in zip(want.columns, got.columns, strict=True))
    if any(a != b and a in stated for a, b in pairs):
        return TableDiff(equal=False, reason="column_names", same_columns=False)
    return TableDiff(equal=True)


def differs_by_collation(question: EquivalenceQuestion, difference: Difference) -> bool:
    """Whether the engine, by its collation, takes all texts that differ for the same."""
    fold = _FOLDS.get(question.engine)
    declared = any(map(_COLLATED.search, question.schema))
    if declared != (question.engine == "sqlite"):
        return False  # no case where none is declared, or perhaps case where one is
    want, got = difference.expected, difference.actual
    if fold is None or want is None or got is None or difference.diff is None:
        return False
    folded = [
        msgspec.structs.replace(
            table,
            rows=tuple(
                tuple(fold(cell) if isinstance(cell, str) else cell for cell in row)
                for row in table.rows
            ),
        )
        for table in (want, got)
    ]
    rules = build_cell_rules(question.engine, question.schema)
    by_order = difference.diff.reason == "order"
    return compare_tables(folded[0], folded[1], ordered=by_order, rules=rules).equal


def holds_variants(question: EquivalenceQuestion, tables: Iterable[ResultTable]) -> bool:
    """Whether tables hold texts that differ but are the same to the engine: which of them stands
    for a group is then left open."""
    fold = _FOLDS.get(question.engine, str)
    rows = (row for table in tables for row in table.rows)
    texts = {cell for row in rows for cell in row if isinstance(cell, str)}
    return len({fold(text) for text in texts}) < len(texts)


def _fold_accents(text: str) -> str:
    """A text as collations without case and accents see it."""
    letters = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()


#: What makes SQLite overlook case, and MySQL perhaps not.
_COLLATED = re.compile(r"\bCOLLATE\s+[\"`]?NOCASE\b|_(?:bin|cs)\b|\bBINARY\b", re.I)
_FOLDS: dict[str, Callable[[str], str]] = {"mysql": _fold_accents, "sqlite": str.lower}
