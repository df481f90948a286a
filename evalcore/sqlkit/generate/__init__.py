"""Generate databases on which two statements that differ should show it.

Everything is drawn from one seeded generator in a fixed order, so equal arguments give equal
databases on every machine. Tables that others refer to are filled first.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec
from sqlglot import exp

from evalcore.sqlkit.generate import edge_databases, nasty
from evalcore.sqlkit.generate.balances import Balance, list_balances
from evalcore.sqlkit.generate.chains import generate_chain_databases, generate_loop_database
from evalcore.sqlkit.generate.clusters import generate_alike, generate_clusters, generate_histories
from evalcore.sqlkit.generate.conditions import may_conflict
from evalcore.sqlkit.generate.crowds import generate_crowds
from evalcore.sqlkit.generate.database import (
    Database,
    Row,
    drop_dangling_rows,
    fill_empty_texts,
    order_own_references,
    permute_rows,
    render_copies,
    render_inserts,
    shrink_database,
)
from evalcore.sqlkit.generate.edge_databases import Edge, EdgeDatabase, split_edges
from evalcore.sqlkit.generate.edges import (
    holds_json,
    list_documents,
    list_plain_documents,
    list_text_forms,
)
from evalcore.sqlkit.generate.filler import Domains, Filler
from evalcore.sqlkit.generate.hints import Hints, list_row_limits, parse_trees, read_hints
from evalcore.sqlkit.generate.nasty import add_standing_rows
from evalcore.sqlkit.generate.profiles import CROWDED, SCALED, Profile, choose_profiles, make_eager
from evalcore.sqlkit.generate.ties import TIED, generate_tie_databases
from evalcore.sqlkit.generate.usage import Usage, read_usage
from evalcore.sqlkit.schema import Schema, plain_name, sort_by_dependency

_MAX_BALANCES = 16  # comparisons of several columns that have rows of their own


def generate_databases(
    schema: Schema,
    statements: Sequence[tuple[str, str]],
    *,
    seed: int,
    count: int = 16,
    eager: bool = False,
) -> tuple[Database, ...]:
    """`count` databases of different profiles; `statements` are (sql, dialect) to mine.

    With `eager` nearly every row satisfies some condition: for statements with so many conditions
    that else hardly a row would pass them all.
    """
    hints, usage = _read_statements(schema, statements)
    if eager and hints.documents:
        documents = dict.fromkeys(hints.documents, list_plain_documents(usage))
        hints = msgspec.structs.replace(hints, documents=documents)
    profiles = choose_profiles(hints.counts, count, ranked=hints.ranked)
    return tuple(
        _generate_database(schema, hints, profile, random.Random(f"{seed}/{number}"))  # noqa: S311
        for number, profile in enumerate(map(make_eager, profiles) if eager else profiles)
    )


def generate_sparse_databases(
    schema: Schema, statements: Sequence[tuple[str, str]], *, seed: int
) -> tuple[Database, ...]:
    """Databases that lack something: see `nasty.generate_sparse_databases`; one of groups
    within which rows repeat, and one of rows that turn a comparison and have a history; one long
    chain where a statement recurses; and those of ties."""
    hints, usage = _read_statements(schema, statements)
    solved = _list_solved_balances(statements)
    trees = (tree for sql, dialect in statements for tree in parse_trees(sql, dialect))
    inserts = (tree.find(exp.Table) for tree in trees if may_conflict(tree))
    written = {plain_name(table.name) for table in inserts if table is not None}
    databases = (
        *nasty.generate_sparse_databases(schema, hints, usage, seed),
        *filter(None, [generate_clusters(schema, hints, usage, seed)]),
        generate_alike(schema, hints, seed),
        *generate_crowds(schema, hints, seed),
        *filter(None, [generate_histories(schema, hints, seed, solved)]),
        *generate_chain_databases(schema, statements, hints, seed),
        *generate_loop_database(schema, statements, hints, seed),
        *generate_tie_databases(schema, hints, usage, seed),
        *(nasty.generate_conflicts(schema, hints, seed, written) if written else ()),
    )
    return tuple(drop_dangling_rows(schema, database) for database in databases)


def generate_sibling_pairs(
    schema: Schema, statements: Sequence[tuple[str, str]], *, seed: int
) -> tuple[tuple[str, Database], ...]:
    """The smallest databases in which one row joins two that differ in one flag, with its name."""
    hints, usage = _read_statements(schema, statements)
    return tuple(nasty.generate_sibling_pairs(schema, hints, usage, seed))


def generate_edge_databases(
    schema: Schema, statements: Sequence[tuple[str, str]], *, seed: int
) -> tuple[EdgeDatabase, ...]:
    """Databases of values at which types and statements turn over, those at which arithmetic may
    overflow last."""
    hints, usage = _read_statements(schema, statements)
    solved = _list_solved_balances(statements)
    return tuple(
        edge_databases.generate_edge_databases(schema, hints, usage, seed, balances=solved)
    )


def _list_solved_balances(statements: Sequence[tuple[str, str]]) -> tuple[Balance, ...]:
    """The comparisons of several columns in some statements, so many as have rows of their own."""
    balances = {
        (balance[0].sql(), balance[1].sql()): balance
        for sql, dialect in statements
        for balance in list_balances(sql, dialect)
    }
    return tuple(balances.values())[:_MAX_BALANCES]


def generate_added_edges(
    schema: Schema, statements: tuple[tuple[str, str], ...], other: tuple[str, str], *, seed: int
) -> EdgeDatabase:
    """The values at which another statement turns over and `statements[0]`, with which it is
    compared, does not: no edges where the databases of `statements` have them all."""
    hints, usage = _read_statements(schema, (other, statements[0]))
    present = _list_edge_cells(schema, statements)
    return next(edge_databases.generate_edge_databases(schema, hints, usage, seed, present))


def generate_added_crowds(
    schema: Schema, statements: Sequence[tuple[str, str]], *, seed: int
) -> tuple[Database, ...]:
    """Crowds for statements of which a question's own databases know only some."""
    hints, _ = _read_statements(schema, statements)
    return tuple(generate_crowds(schema, hints, seed, even=True))


def covers_statement(
    schema: Schema, statements: tuple[tuple[str, str], ...], other: tuple[str, str]
) -> bool:
    """Whether the databases of some statements hold every value at which another turns over, and
    as many rows as it counts, and are made with each of its comparisons in view: `a >= 5` beside
    `a > 5` needs rows in which 5 alone decides."""
    counts = frozenset[int]().union(*(list_row_limits(*statement) for statement in statements))
    if not list_row_limits(*other) <= counts:
        return False
    known, new = read_hints(statements), read_hints((other,))
    if not (set(new.years) <= set(known.years) and new.combined.items() <= known.combined.items()):
        return False
    return all(
        set(constants) <= set(known.constants.get(name, ()))
        for name, constants in new.constants.items()
    ) and _list_edge_cells(schema, (other,)) <= _list_edge_cells(schema, statements)


def read_compared_columns(statements: Sequence[tuple[str, str]]) -> frozenset[str]:
    """The columns, folded, that statements compare with something or join."""
    hints = read_hints(statements)
    return frozenset((*hints.constants, *hints.kindred))


@lru_cache(maxsize=128)
def _list_edge_cells(
    schema: Schema, statements: tuple[tuple[str, str], ...]
) -> frozenset[edge_databases.EdgeCell]:
    cells = edge_databases.list_edge_cells_by_table(schema, *_read_statements(schema, statements))
    return frozenset((name, n, value) for name, pairs in cells.items() for n, value in pairs)


def generate_scaled_database(
    schema: Schema, statements: Sequence[tuple[str, str]], *, seed: int, rows: int = 4000
) -> Database:
    """One large database with rare and frequent values, on which plans and work can be told."""
    profile = msgspec.structs.replace(SCALED, rows=rows)
    hints, _ = _read_statements(schema, statements)
    return _generate_database(schema, hints, profile, random.Random(f"{seed}/scaled"))  # noqa: S311


def generate_crowded_database(
    schema: Schema, statements: Sequence[tuple[str, str]], *, seed: int, rows: int
) -> Database:
    """One database of so many rows a table, nearly all of which pass the statements' conditions:
    on it a limit below that number cuts something off."""
    profile = msgspec.structs.replace(CROWDED, name=f"{rows} rows to limit", rows=rows)
    hints, _ = _read_statements(schema, statements)
    return _generate_database(schema, hints, profile, random.Random(f"{seed}/{rows}"))  # noqa: S311


def _read_statements(schema: Schema, statements: Sequence[tuple[str, str]]) -> tuple[Hints, Usage]:
    """What the statements hint at and use, with the documents that a JSON column may hold
    and the texts that one read as something else may."""
    statements = (*statements, *_iter_inlined_formulas(schema, statements))
    usage = read_usage(statements)
    inserts = _iter_named_inserts(schema, statements)
    checks = tuple(_iter_check_queries(schema))
    all_usage = read_usage((*statements, *checks))
    documents = {
        column.name.lower(): list_documents(all_usage)
        for table in schema.tables
        for column in table.columns
        if holds_json(column, all_usage)
    }
    hints = read_hints((*statements, *checks, *inserts))
    forms = list_text_forms(schema, hints, all_usage)
    return msgspec.structs.replace(hints, documents=documents, forms=forms), usage


def _iter_named_inserts(
    schema: Schema, statements: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """The INSERTs that name no columns again with those of the table, so that rows are made which
    stand in the way of theirs."""
    for sql, dialect in statements:
        for tree in parse_trees(sql, dialect):
            bare = isinstance(tree, exp.Insert) and isinstance(tree.this, exp.Table)
            table = schema.find_table(tree.this.name) if bare else None
            if table is not None and isinstance(tree.expression, exp.Values):
                named = tree.copy()
                columns = [exp.to_identifier(c.name) for c in table.columns if not c.computed]
                named.set("this", exp.Schema(this=named.this, expressions=columns))
                yield named.sql(dialect=dialect), dialect


def _iter_inlined_formulas(
    schema: Schema, statements: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """The statements again with formulas in place of the columns that these compute."""
    columns = [column for table in schema.tables for column in table.columns if column.formula]
    formulas = {
        column.name.lower(): parse_trees(column.formula, schema.dialect) for column in columns
    }

    def inline(node: exp.Expr) -> exp.Expr:
        name = node.name.lower() if isinstance(node, exp.Column) else ""
        return exp.paren(formulas[name][0]) if formulas.get(name) else node

    for sql, dialect in statements if formulas else ():
        for tree in parse_trees(sql, dialect):
            inlined = tree.transform(inline)
            if inlined != tree:
                yield inlined.sql(dialect=dialect), dialect


def _iter_check_queries(schema: Schema) -> Iterator[tuple[str, str]]:
    """CHECK conditions as queries, so that what they allow is among the values."""
    for table in schema.tables:
        for check in table.checks:
            yield f"SELECT 1 FROM {table.name} WHERE {check}", schema.dialect  # noqa: S608


def _generate_database(
    schema: Schema, hints: Hints, profile: Profile, rng: random.Random
) -> Database:
    filled: dict[str, list[Row]] = {}
    domains = Domains(schema, hints, profile)
    referred = {
        plain_name(foreign.table)
        for table in schema.tables
        for foreign in table.foreign
        if plain_name(foreign.table) != plain_name(table.name)
    }
    parents = _find_parent_tables(schema, hints) | referred
    for number, table in enumerate(sort_by_dependency(schema)):
        rows = profile.rows
        if profile.parents is not None and plain_name(table.name) in parents:
            rows = profile.parents
        elif plain_name(table.name) in referred:
            rows = max(2, int(rows * (0.1 if profile.wide else min(0.6, profile.domain))))
        if profile.empty and number % profile.empty == profile.empty - 1:
            rows = 0
        filled[table.name] = list(
            Filler(schema, table, hints, profile, rng, domains, filled).generate_rows(rows)
        )
    return Database(
        profile=profile.name,
        tables={table.name: tuple(filled[table.name]) for table in schema.tables},
    )


def _find_parent_tables(schema: Schema, hints: Hints) -> set[str]:
    """Tables whose key is joined to a column of another table that may repeat there."""
    alone = {
        (plain_name(table.name), key.columns[0].lower())
        for table in schema.tables
        for key in table.keys
        if len(key.columns) == 1
    }
    return {
        name
        for name, key in alone
        if key in hints.kindred
        and any(
            hints.find_family(column.name) == hints.find_family(key)
            for table in schema.tables
            if plain_name(table.name) != name
            for column in table.columns
            if (plain_name(table.name), column.name.lower()) not in alone
        )
    }


__all__ = [
    "TIED",
    "Database",
    "Edge",
    "EdgeDatabase",
    "Row",
    "add_standing_rows",
    "covers_statement",
    "fill_empty_texts",
    "generate_added_edges",
    "list_row_limits",
    "order_own_references",
    "permute_rows",
    "read_compared_columns",
    "render_copies",
    "render_inserts",
    "shrink_database",
    "split_edges",
]
