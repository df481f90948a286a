"""The databases of a question, each with what the reference shows on it.

A database is kept only if the reference runs on it and shows the same on a twin with the same rows
in another physical order. The order of rows is asked for only where it is the same on the twin too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any

import msgspec
from sqlglot import exp

from evalcore.records import Record
from evalcore.sqlkit import generate
from evalcore.sqlkit.engines import Engine, SessionScript, Status
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.equivalence.observations import (
    Observation,
    build_select_all,
    find_difference,
    observe_each,
    observe_statement,
)
from evalcore.sqlkit.equivalence.refused_rows import drop_refused_rows
from evalcore.sqlkit.generate.definitions import read_altered_schema
from evalcore.sqlkit.generate.hints import find_nodes, parse_trees
from evalcore.sqlkit.schema import Schema, plain_name
from evalcore.sqlkit.syntax import (
    build_tie_breakers,
    has_order_by,
    makes_one_choice,
    read_definition,
    use_aria_engine,
)


class Trial(Record, frozen=True):
    """One database with what the reference shows on it.

    `rows` is None for a database made by hand, which cannot be shrunk; `shows` tells whether there
    was anything to see: a row, or a changed table. An answer that fails with a status `excused` is
    not different for that: at the bounds of numbers arithmetic may overflow, and large ones may be
    lengths or counts.
    """

    profile: str
    setup: tuple[str, ...]
    expected: Observation
    ordered: bool
    shows: bool
    rows: generate.Database | None = None
    excused: frozenset[Status] = frozenset()


class OpenTrial(Record, frozen=True):
    """A database on which the reference may give either of two results, as rows are tied; `twin`
    holds the same rows in another order."""

    setup: tuple[str, ...]
    twin: tuple[str, ...]
    results: tuple[Observation, ...]


class Trials(Record, frozen=True):
    """All databases that can decide a question, and why the others cannot.

    Of the `usable` ones `usual` are no sparse ones and none of edges; only with them it is compared
    how many are `unstable`. On `slow` ones the reference ran into the limits of a call. On
    `agreed` ones an answer gave at once what the reference gave, which `agreed_shown` tells of a
    row: they need no twin and are no trials. `patient` says that the reference needs more time on
    them than a call has.
    """

    schema: Schema
    usable: tuple[Trial, ...]
    failed: int = 0
    unstable: int = 0
    message: str = ""
    usual: int = 0
    slow: int = 0
    agreed: int = 0
    agreed_shown: int = 0
    open: tuple[OpenTrial, ...] = ()
    patient: bool = False


def prepare_trials(engine: Engine, question: EquivalenceQuestion) -> Trials:
    """Generate the databases and run the reference on each and on its twin."""
    schema = read_altered_schema(question.schema, question.reference, question.engine)
    mined = ((question.reference, question.engine), *question.related)
    generated = generate.generate_databases(schema, mined, seed=question.seed, count=question.count)
    by_hand = (
        (f"by hand {number}", None, script) for number, script in enumerate(question.data, 1)
    )
    initial = collect_trials(
        engine, question, schema, (*by_hand, *map(source_from_database, generated))
    )
    parts = [initial]
    if 2 * len(list(select_nonempty(initial.usable))) < question.count:
        generated = generate.generate_databases(
            schema, mined, seed=question.seed + 2, count=question.count // 2, eager=True
        )
        parts += [collect_trials(engine, question, schema, map(source_from_database, generated))]
    usual = parts[:]
    sparse = generate.generate_sparse_databases(schema, mined, seed=question.seed)
    parts += [collect_trials(engine, question, schema, map(source_from_database, sparse))]
    standing = islice(_iter_standing(question, schema, (*parts[-1].usable, *initial.usable)), _MET)
    parts += [collect_trials(engine, question, schema, map(source_from_database, standing))]
    edges = generate.generate_edge_databases(schema, mined, seed=question.seed)
    parts += [prepare_edge_trials(engine, question, schema, edges)]
    return Trials(
        schema=schema,
        usable=tuple(trial for part in parts for trial in part.usable),
        failed=sum(part.failed for part in parts),
        unstable=sum(part.unstable for part in usual),
        message=next((part.message for part in parts if part.message), ""),
        usual=sum(len(part.usable) for part in usual),
        slow=sum(part.slow for part in parts),
    )


def _iter_standing(
    question: EquivalenceQuestion, schema: Schema, tried: Iterable[Trial]
) -> Iterator[generate.Database]:
    """Databases that hold what the reference adds to another, where it computes keys."""
    trees = parse_trees(question.reference, question.engine)
    written = {
        plain_name(target.name)
        for tree in trees
        for node in find_nodes(tree, exp.Insert, exp.Merge)
        if (isinstance(node, exp.Merge) or node.find(exp.Select))
        and (target := node.this.find(exp.Table)) is not None
    }
    for trial in tried:
        for name, table in trial.expected.tables.items():
            if trial.rows is not None and table is not None and plain_name(name) in written:
                columns, rows = table.columns, table.rows
                if standing := generate.add_standing_rows(schema, trial.rows, name, columns, rows):
                    yield standing


_MET = 6  # databases with what the reference adds to others
_MAX_EDGE_SPLITS = 4  # halvings of the edges on which a reference decides nothing
_LARGE = 1_000
RESOURCES: frozenset[Status] = frozenset(("timeout", "memory"))
_EXTREME: frozenset[Status] = RESOURCES | {"error"}
_NAMED: frozenset[Status] = frozenset(("error",))  # of an answer that names an index
_Source = tuple[str, generate.Database | None, tuple[str, ...]]


def prepare_edge_trials(
    engine: Engine,
    question: EquivalenceQuestion,
    schema: Schema,
    databases: Iterable[generate.EdgeDatabase],
    answer: str = "",
) -> Trials:
    """Databases of edges; where the reference decides nothing on all edges together, parts of them.

    Where it ran into the limits of a call, only small numbers are tried: others may be lengths.
    """
    usable: list[Trial] = []
    agreed = shown = 0
    for number, database in enumerate(databases):
        splits, excused = (1, _EXTREME) if number else (_MAX_EDGE_SPLITS, RESOURCES)
        waiting: list[tuple[tuple[generate.Edge, ...], int]] = [(database.edges, splits)]
        while waiting:
            edges, splits = waiting.pop(0)
            source = source_from_database(database.apply_edges(edges))
            tried = None
            if answer and edges is not database.edges:  # rarely more than the whole shows
                tried = _try_reference(engine, question, schema, source)
            tried = tried or collect_trials(engine, question, schema, (source,), answer)
            usable += [msgspec.structs.replace(trial, excused=excused) for trial in tried.usable]
            agreed, shown = agreed + tried.agreed, shown + tried.agreed_shown
            if tried.slow:
                small = tuple(edge for edge in edges if not _is_large(edge.value))
                waiting = [(small, 0)] if splits and number == 0 else []
            elif not (tried.usable or tried.agreed) and splits and len(edges) > 1:
                waiting += [(half, splits - 1) for half in generate.split_edges(edges)]
    return Trials(schema=schema, usable=tuple(usable), agreed=agreed, agreed_shown=shown)


def _try_reference(
    engine: Engine, question: EquivalenceQuestion, schema: Schema, source: _Source
) -> Trials | None:
    """What `collect_trials` says of a database on which the reference fails, which an answer need
    not be run on; None where it does not."""
    setup = _build_source_setup(question, schema, source)
    status = observe_statement(engine, setup, question, question.reference).execution.status
    return Trials(schema, (), failed=1, slow=status in RESOURCES) if status != "ok" else None


def _is_large(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and abs(float(value)) > _LARGE


def prepare_witness_trial(
    engine: Engine, question: EquivalenceQuestion, schema: Schema, database: generate.Database
) -> tuple[Trial, ...]:
    """The database that a proof found, none where the reference decides nothing on it."""
    return collect_trials(engine, question, schema, (source_from_database(database),)).usable


def source_from_database(database: generate.Database) -> _Source:
    return database.profile, database, ()


def collect_trials(
    engine: Engine,
    question: EquivalenceQuestion,
    schema: Schema,
    sources: Iterable[_Source],
    answer: str = "",
) -> Trials:
    """The databases on which the reference decides something, less those on which an `answer`
    that runs on others agrees with it."""
    usable: list[Trial] = []
    failed, unstable, slow, message = 0, 0, 0, ""
    agreed: list[bool] = []
    trials = [(*source, _build_source_setup(question, schema, source)) for source in sources]
    if answer and not (question.state_of or question.calls):
        setups = [setup for *_, setup in trials]
        shown = list(_iter_agreements(engine, question, setups, answer))
        agreed = [shows for shows in shown if shows is not None]
        trials = [trial for trial, shows in zip(trials, shown, strict=True) if shows is None]
    setups = [setup for *_, setup in trials]
    observed = observe_each(engine, setups, question, question.reference, eager=True)
    for (profile, rows, _, setup), seen in zip(trials, observed, strict=True):
        is_refused = not seen.ok and seen.execution.stage == "setup"
        if is_refused and rows and (left := drop_refused_rows(engine, question, schema, rows)):
            rows, setup = left, build_setup(question, schema, left)
            seen = observe_statement(engine, setup, question, question.reference)
        if not seen.ok or seen.truncated:
            failed += 1
            slow += seen.execution.status in RESOURCES
            message = message or seen.execution.message or "the result is too large"
            continue
        ordered = is_ordered(engine, question, schema, rows, seen)
        if ordered is None:
            unstable += 1
            continue
        shows = _has_visible_result(engine, question, setup, seen)
        excused = _NAMED if profile == generate.TIED else frozenset[Status]()
        usable.append(Trial(profile, setup, seen, ordered, shows, rows, excused))
    return Trials(
        schema,
        tuple(usable),
        failed,
        unstable,
        message,
        slow=slow,
        agreed=len(agreed),
        agreed_shown=sum(agreed),
    )


def _build_source_setup(
    question: EquivalenceQuestion, schema: Schema, source: _Source
) -> tuple[str, ...]:
    _, rows, script = source
    if rows is None:
        return (*question.build_tables(), *script)
    return build_setup(question, schema, rows)


def _iter_agreements(
    engine: Engine, question: EquivalenceQuestion, setups: Sequence[Sequence[str]], answer: str
) -> Iterator[bool | None]:
    """For each database whether two queries, run at once, give some row, where they give the same
    in the order that may be asked for; None where they do not, or it takes more than this to
    know."""
    ordered = question.ordered
    if ordered is None:
        ordered = has_order_by(question.reference, question.engine)
    for done in engine.execute_each(setups, answer, probes=[question.reference], eager=True):
        if done.status != "ok" or done.table is None or len(done.probed) != 1:
            yield None
            continue
        given, expected = (Observation(done, {"": table}) for table in (done.table, done.probed[0]))
        if given.truncated or expected.truncated:
            yield None
            continue
        differs = find_difference(question, expected, given, ordered) is not None
        yield None if differs else bool(done.table.rows)


def is_ordered(
    engine: Engine,
    question: EquivalenceQuestion,
    schema: Schema,
    rows: generate.Database | None,
    seen: Observation,
) -> bool | None:
    """Whether the order of rows is the reference's own on this database; None if even the rows
    depend on ties or on how they happen to lie."""
    setup = build_setup(question, schema, rows) if rows is not None else ()
    again = None
    if rows is not None:
        twin = build_twin_setup(question, schema, rows)
        again = observe_statement(engine, twin, question, question.reference)
        if not again.ok or find_difference(question, seen, again, ordered=False):
            return None
    ordered = question.ordered
    if ordered is None:
        ordered = has_order_by(question.reference, question.engine)
    if again is None:
        return ordered
    ordered = ordered and find_difference(question, seen, again, ordered=True) is None
    width = len(table.columns) if (table := seen.tables.get("")) else 0
    broken = [
        tried
        for sql in build_tie_breakers(
            question.reference, question.engine, width, schema.list_columns()
        )
        if (tried := observe_statement(engine, setup, question, sql)).ok
    ]
    if any(find_difference(question, seen, tried, ordered=False) for tried in broken):
        return None
    return ordered and not any(
        find_difference(question, seen, tried, ordered=True) for tried in broken
    )


def _has_visible_result(
    engine: Engine, question: EquivalenceQuestion, setup: Sequence[str], seen: Observation
) -> bool:
    """A query shows a row, a created table one that it was filled with; a change makes a table
    other than it was."""
    defined = read_definition(question.reference, question.engine)
    if question.calls or not (question.state_of or defined.dropped):
        return any(table and table.rows for table in seen.tables.values())
    if defined.dropped or ((rows := seen.tables.get("")) and rows.rows):
        return True
    names = [name for name in question.state_of if name != defined.created]
    if len(names) < len(question.state_of):
        filled = seen.tables[defined.created]
        if not defined.filled or (filled and filled.rows):
            return True
    probes = [build_select_all(table, question.engine) for table in names]
    before = engine.execute(setup, "SELECT 1", probes=probes)
    was = Observation(execution=before, tables=dict(zip(names, before.probed, strict=False)))
    now = msgspec.structs.replace(seen, tables={name: seen.tables[name] for name in was.tables})
    return find_difference(question, was, now, ordered=False) is not None


def select_nonempty(trials: Iterable[Trial]) -> Iterator[Trial]:
    return (trial for trial in trials if trial.shows)


# Databases of two tied rows decide something where both results that the reference may give are
# known: an answer that gives neither is wrong.


def iter_open_trials(
    engine: Engine, question: EquivalenceQuestion, schema: Schema
) -> Iterator[OpenTrial]:
    """Two tied rows, where the reference gives one of two results: both are known, so that an
    answer that gives neither is wrong."""
    if question.state_of or question.calls or question.session:
        return
    sql = question.reference
    mined = ((sql, question.engine), *question.related)
    for column, rows in generate.generate_sibling_pairs(schema, mined, seed=question.seed):
        if not makes_one_choice(sql, question.engine, column):
            continue
        setup = build_setup(question, schema, rows)
        twin = build_twin_setup(question, schema, rows)
        seen = observe_statement(engine, setup, question, sql)
        if not seen.ok or not (table := seen.tables.get("")):
            continue
        broken = build_tie_breakers(sql, question.engine, len(table.columns), schema.list_columns())
        others = [observe_statement(engine, twin, question, sql)]
        others += [observe_statement(engine, setup, question, text) for text in broken]
        second = [other for other in others if other.ok and _differ(question, seen, other)]
        if second and all(not _differ(question, second[0], other) for other in second):
            yield OpenTrial(setup, twin, (seen, second[0]))


def _differ(question: EquivalenceQuestion, left: Observation, right: Observation) -> bool:
    return find_difference(question, left, right, ordered=False) is not None


def gives_neither(
    engine: Engine, question: EquivalenceQuestion, trial: OpenTrial, answer: str
) -> Observation | None:
    """What an answer gives where it is none of the results that the reference may give, in
    whatever order the rows lie."""
    seen = None
    for setup in (trial.setup, trial.twin):
        seen = observe_statement(engine, setup, question, answer)
        if not seen.ok or not all(_differ(question, result, seen) for result in trial.results):
            return None
    return seen


def build_setup(
    question: EquivalenceQuestion, schema: Schema, rows: generate.Database
) -> tuple[str, ...]:
    rows = generate.fill_empty_texts(schema, rows) if question.empty_is_null else rows
    tables = question.build_tables()
    if rows.profile == generate.TIED:
        tables = tuple(text for text in map(_drop_indexes, tables) if text)
    return (*tables, *generate.render_inserts(schema, rows, question.engine))


def _drop_indexes(ddl: str) -> str:
    """DDL without the indexes that keep nothing unique."""
    if isinstance(ddl, SessionScript):
        return ddl
    return "" if _INDEX.fullmatch(ddl) else _INLINE_INDEX.sub("", ddl)


_INDEX = re.compile(r"\s*CREATE\s+INDEX\b[^;]*;?\s*", re.I)
_INLINE_INDEX = re.compile(r",\s*(?:KEY|INDEX)\s+[\w`]+\s*\([\w\s,`]*\)", re.I)


def build_twin_setup(
    question: EquivalenceQuestion, schema: Schema, rows: generate.Database
) -> tuple[str, ...]:
    """The same rows, lying in another order even where the engine would keep them by their key."""
    permuted = generate.permute_rows(rows)
    if question.engine == "duckdb":  # it looks for a row referred to before it has those after it
        permuted = generate.order_own_references(schema, permuted)
    setup = build_setup(question, schema, permuted)
    if question.state_of or question.calls:
        return setup
    if question.engine == "sqlite":
        return tuple(_ROWID.sub("INT PRIMARY KEY", text) for text in setup)
    if question.engine == "mysql":
        return tuple(map(use_aria_engine, setup))
    return setup


#: What makes SQLite keep rows by key; with INT it is a key like any other.
_ROWID = re.compile(r"\bINTEGER(\s+NOT\s+NULL)?\s+PRIMARY\s+KEY(\s+AUTOINCREMENT)?", re.I)
