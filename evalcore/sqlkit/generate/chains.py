"""Databases in which rows refer to each other in one long chain, for statements that recurse, and
one with a row that refers to itself.

A recursion that stops too early, or that follows a reference the wrong way, gives the same as the
right one on rows that hardly refer to each other.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import msgspec
from sqlglot import exp

from evalcore.sqlkit.generate.checks import compile_row_check
from evalcore.sqlkit.generate.database import Database, Row, refers_to_itself
from evalcore.sqlkit.generate.filler import Domains, Filler
from evalcore.sqlkit.generate.hints import Hints, parse_trees
from evalcore.sqlkit.generate.islands import fill_islands, replace_cells
from evalcore.sqlkit.generate.profiles import Profile
from evalcore.sqlkit.schema import (
    Schema,
    Table,
    list_target_columns,
    plain_name,
    sort_by_dependency,
)

_LENGTH, _MAX_LENGTH = 16, 120  # rows of a chain
_CHAIN = Profile(
    "a long chain", rows=_LENGTH, good=1.0, near=0.0, null=0.0, duplicate=0.0, dangling=0.0
)
_LOOP_ROWS = 4
_KINDS = ("integer", "text", "decimal")


def generate_chain_databases(
    schema: Schema, statements: Sequence[tuple[str, str]], hints: Hints, seed: int
) -> Iterator[Database]:
    """One database with a chain in each table that a recursion follows, none where no statement
    recurses."""
    trees = [tree for sql, dialect in statements for tree in parse_trees(sql, dialect)]
    clauses = [clause for tree in trees for clause in tree.find_all(exp.With) if clause.recursive]
    mentioned = {name for clause in clauses for name in _list_names(clause)}
    links = {
        table.name: link
        for table in schema.tables
        if plain_name(table.name) in mentioned
        and (link := _find_link(table, mentioned, hints)) is not None
    }
    if not links:
        return
    literals = (each for clause in clauses for each in clause.find_all(exp.Literal) if each.is_int)
    lengths = (int(each.name) + 4 for each in literals)
    length = max([_LENGTH, *(length for length in lengths if length <= _MAX_LENGTH)])
    profile = msgspec.structs.replace(_CHAIN, rows=length)
    unions = (union for clause in clauses for union in clause.find_all(exp.Union))
    starts = {each.name for union in unions for each in union.this.find_all(exp.Literal)}
    rng = random.Random(f"{seed}/{profile.name}")  # noqa: S311
    filled: dict[str, list[Row]] = {}
    domains = Domains(schema, hints, profile)
    for table in sort_by_dependency(schema):
        rows = list(
            Filler(schema, table, hints, profile, rng, domains, filled).generate_rows(length)
        )
        if not refers_to_itself(table) or table.name in links:  # a chain begins as a recursion does
            rows.sort(key=lambda row: starts.isdisjoint(map(str, row)))
        if table.name in links:
            rows = _chain_rows(schema, table, rows, links[table.name], hints, filled)
        filled[table.name] = rows
    yield Database(profile.name, {table.name: tuple(filled[table.name]) for table in schema.tables})


def generate_loop_database(
    schema: Schema, statements: Sequence[tuple[str, str]], hints: Hints, seed: int
) -> Iterator[Database]:
    """One database in which the last row of each table that refers to itself leads to that row;
    none where no table does, or a recursion would begin there and never end."""
    trees = [tree for sql, dialect in statements for tree in parse_trees(sql, dialect)]
    for clause in (clause for tree in trees for clause in tree.find_all(exp.With)):
        unions = clause.find_all(exp.Union) if clause.recursive else ()
        if any(not union.args.get("distinct") and not _is_filtered(union.this) for union in unions):
            return
    base = fill_islands(schema, hints, "a row that leads to itself", seed, _LOOP_ROWS)
    tables = dict(base.tables)
    for table in schema.tables:
        link, rows = _find_link(table, set(hints.kindred), hints), tables[table.name]
        bound = schema.dialect == "duckdb" and table.foreign  # it takes no such row
        if link is not None and rows and not bound:
            own = (*[None] * (len(rows) - 1), rows[-1][link[1]])
            tables[table.name] = tuple(
                replace_cells(table, list(rows), link[0], own, schema.dialect)
            )
    if tables != base.tables:
        yield msgspec.structs.replace(base, tables=tables)


def _is_filtered(query: exp.Expr) -> bool:
    return isinstance(query, exp.Select) and query.args.get("where") is not None


def _list_names(clause: exp.Expr) -> set[str]:
    tables = {table.name.lower() for table in clause.find_all(exp.Table)}
    return tables | {column.name.lower() for column in clause.find_all(exp.Column)}


def _find_link(table: Table, mentioned: set[str], hints: Hints) -> tuple[int, int] | None:
    """The columns by which a row leads to the next: the key and the reference to it, or two of a
    kind that the recursion joins."""
    names = [column.name.lower() for column in table.columns]
    for foreign in table.foreign:
        if plain_name(foreign.table) == plain_name(table.name) and len(foreign.columns) == 1:
            target = list_target_columns(table, foreign)[0].lower()
            return names.index(foreign.columns[0].lower()), names.index(target)
    used = [
        n
        for n, column in enumerate(table.columns)
        if names[n] in mentioned and column.kind in _KINDS and not column.computed
    ]
    pairs = [
        (first, second)
        for first in used
        for second in used
        if first < second and table.columns[first].kind == table.columns[second].kind
    ]
    targets = {
        foreign.columns[0].lower(): plain_name(foreign.table)
        for foreign in table.foreign
        if len(foreign.columns) == 1
    }
    joined = [
        pair
        for pair in pairs
        if hints.find_family(names[pair[0]]) == hints.find_family(names[pair[1]])
        or len({targets.get(names[n], n) for n in pair}) == 1
    ]
    if not joined:
        return None
    first, second = joined[0]
    keys = {key.columns[0].lower() for key in table.keys if len(key.columns) == 1}
    return (second, first) if names[first] in keys else (first, second)


def _chain_rows(
    schema: Schema,
    table: Table,
    rows: list[Row],
    link: tuple[int, int],
    hints: Hints,
    filled: dict[str, list[Row]],
) -> list[Row]:
    """The rows with each leading to the next; those that break a CHECK as they were.

    Where the second column is a key, `reference` leads back to the row before, which has to exist.
    """
    reference, target = link
    column = table.columns[target]
    keys = [key.columns for key in table.keys if len(key.columns) == 1]
    if (column.name,) in keys:
        values = [row[target] for row in rows]
        first = None if table.columns[reference].nullable else rows[0][reference]
        before = [first, *values][: len(rows)]
        chained = [
            (*r[:reference], value, *r[reference + 1 :])
            for r, value in zip(rows, before, strict=True)
        ]
    else:
        stops = _list_stops(schema, table, link, len(rows) + 1, hints, filled)
        chained = []
        for row, start, stop in zip(rows, stops, stops[1:], strict=False):
            cells = [*row]
            cells[reference], cells[target] = start, stop
            chained.append(tuple(cells))
    return [*filter(compile_row_check(table, schema.dialect), chained)] or rows


def _list_stops(
    schema: Schema,
    table: Table,
    link: tuple[int, int],
    count: int,
    hints: Hints,
    filled: dict[str, list[Row]],
) -> Sequence[object]:
    """What the rows of a chain lead over: keys of the table that both columns refer to, else
    numbers or texts from the constant that the chain begins with."""
    name = table.columns[link[0]].name.lower()
    for foreign in table.foreign:
        if [part.lower() for part in foreign.columns] == [name]:
            parent = schema.find_table(foreign.table)
            if parent is not None and filled.get(parent.name):
                key = list_target_columns(parent, foreign)[0].lower()
                index = [column.name.lower() for column in parent.columns].index(key)
                return [row[index] for row in filled[parent.name]]
    constants = [c.value for c in hints.constants.get(name, ()) if c.value is not None]
    if table.columns[link[0]].kind == "text":
        return [*(str(value) for value in constants[:1]), *(f"n{n}" for n in range(1, count))]
    begin = next((value for value in constants if isinstance(value, int)), 1)
    return [begin + n for n in range(count)]
