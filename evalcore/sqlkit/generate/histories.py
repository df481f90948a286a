"""A database in which each comparison of several columns turns on a row that has a history.

Statements often ask two things at once: that a row has others before it, and that a comparison
just holds for it. On an island of single rows the first is never met, so that the second decides
nothing. Here the rows that a comparison turns on have two copies each, earlier and under other
keys.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from evalcore.sqlkit.generate.balances import Balance, list_balance_changes
from evalcore.sqlkit.generate.clocks import move_time
from evalcore.sqlkit.generate.clusters import Triple, add_members, list_copied_keys
from evalcore.sqlkit.generate.conditions import compile_checks
from evalcore.sqlkit.generate.database import Database, Row
from evalcore.sqlkit.generate.hints import Hints
from evalcore.sqlkit.generate.islands import fill_islands, is_bound, replace_cells
from evalcore.sqlkit.generate.values import build_fit_check
from evalcore.sqlkit.schema import Schema, Table, plain_name

_AROUND = 3  # values about the one at which a balance turns
_TIMES = ("date", "timestamp")


def generate_histories(
    schema: Schema, hints: Hints, seed: int, balances: Sequence[Balance]
) -> Database | None:
    """Islands of all turns of the balances, with earlier copies of the rows that they compare; None
    where there are no balances, or none of these rows can be copied."""
    base = fill_islands(schema, hints, "histories", seed, _AROUND * len(balances))
    filled = {name: list(rows) for name, rows in base.tables.items()}
    copied = False
    for number, (balance, turn) in enumerate((b, n) for b in balances for n in range(_AROUND)):
        island = {name: rows[number] for name, rows in filled.items() if number < len(rows)}
        changes = list_balance_changes(schema, hints, balance, island)
        for name, column, value in changes[turn] if turn < len(changes) else ():
            table = next(table for table in schema.tables if table.name == name)
            rows, cells = filled[name][: number + 1], [None] * number + [value]
            filled[name][: number + 1] = replace_cells(table, rows, column, cells, schema.dialect)
        compared = {column.table for side in balance for column in side.find_all(exp.Column)}
        for table in schema.tables if turn < len(changes) else ():
            rows = filled[table.name]
            if plain_name(table.name) in compared and list_copied_keys(table) is not None:
                earlier = _list_earlier(schema, table, rows[number])
                copied |= bool(add_members(table, rows, number, earlier, (), schema.dialect))
    return (
        Database(base.profile, {n: tuple(rows) for n, rows in filled.items()}) if copied else None
    )


def _list_earlier(schema: Schema, table: Table, row: Row) -> dict[int, Triple]:
    """The times of a row, a day and two days earlier in its copies, where that fits."""
    names = [column.name.lower() for column in table.columns]
    checks = compile_checks(table.checks, schema.dialect)
    keyed = {name.lower() for key in table.keys for name in key.columns}
    triples: dict[int, Triple] = {}
    for n, column in enumerate(table.columns):
        if column.kind not in _TIMES or column.computed or names[n] in keyed or row[n] is None:
            continue
        values = [move_time(row[n], hours, column.kind) for hours in (0, -24, -48)]
        rows = [dict(zip(names, (*row[:n], value, *row[n + 1 :]), strict=True)) for value in values]
        fits = all(map(build_fit_check(column), values)) and None not in values
        is_valid = fits and all(check(each) for each in rows for check in checks)
        if is_valid and not is_bound(schema, table, column):
            triples[n] = (row[n], values[1], values[2])
    return triples
