"""Values at which a comparison of several columns turns: `a.left + b.come <= 0`, `2 * pay > cost`.

The comparison is solved for one of its columns on an island, a row of each table that join: there
an aggregate gives what its only row holds.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import combinations, product
from typing import Any

from sqlglot import exp

from evalcore.sqlkit.generate.conditions import COMPARISONS, fold_constant, solve_for_column
from evalcore.sqlkit.generate.database import Row
from evalcore.sqlkit.generate.hints import Hints, parse_trees
from evalcore.sqlkit.generate.islands import is_bound
from evalcore.sqlkit.generate.values import build_fit_check
from evalcore.sqlkit.schema import Column, Schema, Table, plain_name

_MAX_BALANCES = 30  # comparisons of a statement that are looked at
_MAX_COMPARED = 60  # comparisons of a statement that are read, those of several columns first
_MAX_DEPTH = 4  # queries inside queries
_MAX_COLUMNS = 3  # of an expression that stands for a column
_STATEMENTS = (exp.Select, exp.Update, exp.Delete, exp.Insert, exp.Merge)
_NUMBERS = ("integer", "decimal", "float")
#: What gives its first operand, on a row alone or nearly.
_TRANSPARENT = (
    *(exp.Paren, exp.Cast, exp.Sum, exp.Min, exp.Max, exp.Avg, exp.AnyValue, exp.Round),
    *(exp.Coalesce, exp.First, exp.Last, exp.Window),
)
_OPERATIONS: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: operator.truediv,
}
Balance = tuple[exp.Expr, exp.Expr]
Cell = tuple[str, int, Any]


@lru_cache(maxsize=256)
def list_balances(sql: str, dialect: str) -> tuple[Balance, ...]:
    """Both sides of the comparisons in which columns of tables meet, with these as
    `table.column`; not those that only equate two columns."""
    try:
        return _list_balances(sql, dialect)
    except RecursionError:  # nested too deeply
        return ()


def _list_balances(sql: str, dialect: str) -> tuple[Balance, ...]:
    balances: dict[tuple[str, str], Balance] = {}
    for tree in parse_trees(sql, dialect):
        ctes = {cte.alias.lower(): cte.this for cte in tree.find_all(exp.CTE)}
        compared = sorted(  # those of several columns first
            tree.find_all(*COMPARISONS), key=lambda node: len([*node.find_all(exp.Column)]) < 2
        )
        for node in compared[:_MAX_COMPARED]:
            bare = isinstance(node.this, exp.Column) and isinstance(node.expression, exp.Column)
            if bare and isinstance(node, exp.EQ):
                continue
            sides = [_resolve(_unwrap(side), ctes, 0) for side in (node.this, node.expression)]
            columns = {column.sql().lower() for side in sides for column in _iter_columns(side)}
            if len(columns) > 1:
                balances[sides[0].sql(), sides[1].sql()] = (sides[0], sides[1])
    return tuple(balances.values())[:_MAX_BALANCES]


def _unwrap(node: exp.Expr) -> exp.Expr:
    """What a scalar query gives, else the expression."""
    inner = node.this if isinstance(node, exp.Subquery) else None
    return inner.selects[0] if isinstance(inner, exp.Select) and inner.selects else node


def _iter_columns(node: exp.Expr) -> Iterator[exp.Column]:
    """The columns of tables in an expression, as they are written: a length of time is the first
    less the second."""
    return (column for column in node.find_all(exp.Column, bfs=False) if column.table)


def _resolve(node: exp.Expr, ctes: Mapping[str, exp.Expr], depth: int) -> exp.Expr:
    """A copy with the columns of tables in place of those of queries and aliases."""
    copy = node.unalias().copy()
    originals = list(node.unalias().find_all(exp.Column))
    for column, original in zip(list(copy.find_all(exp.Column)), originals, strict=True):
        resolved = _resolve_column(original, ctes, depth)
        if column is copy:
            return resolved
        column.replace(resolved)
    return copy


def _resolve_column(column: exp.Column, ctes: Mapping[str, exp.Expr], depth: int) -> exp.Expr:
    statement = column.find_ancestor(*_STATEMENTS)
    while statement is not None and depth < _MAX_DEPTH:
        sources = [
            source
            for source in statement.find_all(exp.Table, exp.Subquery)
            if source.find_ancestor(*_STATEMENTS) is statement and source.alias_or_name
        ]
        named = [s for s in sources if s.alias_or_name.lower() == column.table.lower()]
        if named or (not column.table and len(sources) == 1):
            return _resolve_in(column, (named or sources)[0], ctes, depth)
        statement = statement.find_ancestor(*_STATEMENTS)
    return exp.column(column.name)


def _resolve_in(
    column: exp.Column, source: exp.Expr, ctes: Mapping[str, exp.Expr], depth: int
) -> exp.Expr:
    query = ctes.get(source.name.lower()) if isinstance(source, exp.Table) else source.this
    if query is None:
        return exp.column(column.name.lower(), table=source.name.lower())
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    for part in query.selects if isinstance(query, exp.Select) else ():
        if part.alias_or_name.lower() == column.name.lower():
            if len(list(part.find_all(exp.Column))) > _MAX_COLUMNS:
                break
            return _resolve(part, ctes, depth + 1)
    return exp.column(column.name)


def list_balance_changes(
    schema: Schema, hints: Hints, balance: Balance, island: Mapping[str, Row]
) -> list[tuple[Cell, ...]]:
    """The cells of an island to change so that both sides of a balance are equal, then so that they
    just are not; none where it can be solved for no column.

    Where no whole number solves it, another column is changed too.
    """
    tables = {plain_name(table.name): table for table in schema.tables if table.name in island}
    values = {
        f"{name}.{column.name.lower()}": cell
        for name, table in tables.items()
        for column, cell in zip(table.columns, island[table.name], strict=True)
    }
    free: list[tuple[exp.Column, Table, int]] = []
    for node in dict.fromkeys(c for side in balance for c in _iter_columns(side)):
        table = tables.get(node.table)
        names = [each.name.lower() for each in table.columns] if table else []
        if table is not None and node.name in names:
            index = names.index(node.name)
            if _is_free(schema, table, table.columns[index], hints):
                free.append((node, table, index))
    # a column that little else is asked of can move without failing another condition
    free.sort(key=lambda cell: len(hints.constants.get(cell[0].name, ())))
    inexact: list[tuple[Cell, ...]] = []
    for node, table, index in free:
        for other, first in _iter_settings(free, node):
            column = table.columns[index]
            cells, exact = _list_turning(balance, node, {**values, **other}, column)
            fitting = list(filter(build_fit_check(column), cells))
            changes = [(*first, (table.name, index, cell)) for cell in fitting]
            if exact and changes:
                turns = (changes[0], changes[-1])
                place = (table.name, index)
                late = (_list_late_starts(values, free, place, turn) for turn in turns)
                return [*changes, *(change for each in late for change in each)]
            inexact = inexact or changes
    return inexact


def _list_late_starts(
    values: Mapping[str, Any],
    free: Sequence[tuple[exp.Column, Table, int]],
    place: tuple[str, int],
    change: tuple[Cell, ...],
) -> Iterator[tuple[Cell, ...]]:
    """A late start, and the first second of the day at which its length in days turns: whether
    days are counted from midnight or from the start tells these apart."""
    for node, table, index in free:
        if (table.name, index) == place or table.columns[index].kind not in ("timestamp", "text"):
            continue
        with suppress(ValueError):
            start, end = (
                datetime.fromisoformat(str(t)) for t in (values[node.sql()], change[-1][2])
            )
            late = (table.name, index, str(start.replace(hour=18, minute=45, second=10)))
            yield late, (*place, str(end.replace(hour=0, minute=0, second=1)))


def _iter_settings(
    free: Sequence[tuple[exp.Column, Table, int]], node: exp.Column
) -> Iterator[tuple[dict[str, Any], tuple[Cell, ...]]]:
    """What other columns hold: what they do, or small numbers that many others divide, first in
    one of them."""
    others = [
        each for each in free if each[0] != node and each[1].columns[each[2]].kind in _NUMBERS
    ]
    yield {}, ()
    for count in (1, 2):
        for chosen in combinations(others, count):
            for numbers in product((12, 60, 2, 3, 1), repeat=count):
                pairs = list(zip(chosen, numbers, strict=True))
                values = {column.sql(): number for (column, _, _), number in pairs}
                yield values, tuple((t.name, index, number) for (_, t, index), number in pairs)


def _is_free(schema: Schema, table: Table, column: Column, hints: Hints) -> bool:
    name = column.name.lower()
    keyed = any(name in map(str.lower, key.columns) for key in table.keys)
    bound = column.computed or keyed or name in hints.equated or is_bound(schema, table, column)
    forms = hints.forms.get(name)
    timed = column.kind in ("date", "timestamp") or (forms is not None and forms.holds_days)
    return (timed or column.kind in _NUMBERS) and not bound


def _list_turning(
    balance: Balance, node: exp.Column, values: Mapping[str, Any], column: Column
) -> tuple[Sequence[Any], bool]:
    """The value of a column with which both sides are equal, and those just beside it; and whether
    the first is exact."""
    if column.kind in _NUMBERS:
        root = _solve(balance, node.sql(), values)
        if root is None:
            return (), False
        around = _list_around(root, column)
        return around, abs(root) > 0 and abs(around[0] - root) < _EXACT
    if (moved := _list_moved(balance, node, values, column)) is not None:
        return moved, True
    sides = [_strip(side) for side in balance]
    others = [side for side in sides if side != node]
    if len(others) != 1 or not all(isinstance(side, exp.Column) for side in sides):
        return (), False
    try:
        moment = datetime.fromisoformat(str(values.get(others[0].sql())))
        steps = [moment + timedelta(days=days) for days in (0, -1, 1)]
    except (ValueError, OverflowError):
        return (), False
    return [str(step.date() if column.kind == "date" else step) for step in steps], True


_EXACT = 1e-9
_UNITS = (
    ("day", 86_400),
    ("hour", 3_600),
    ("minute", 60),
    ("second", 1),
    ("epoch", 1),
    ("unix", 1),
)


def _list_moved(
    balance: Balance, node: exp.Column, values: Mapping[str, Any], column: Column
) -> Sequence[Any] | None:
    """The times at which the length between two times is what it is compared with, one unit less
    and one more; None where the comparison is none of a length with a number."""
    names = list(dict.fromkeys(c.sql() for side in balance for c in _iter_columns(side)))
    if len(names) != 2 or node.sql() not in names:
        return None
    for side, other in (balance, balance[::-1]):
        number = fold_constant(other)
        if number is None or not next(_iter_columns(side), None):
            continue
        length, number = solve_for_column(side, number)
        text = length.sql().lower()
        unit = next((size for word, size in _UNITS if word in text), 86_400)
        sign, start = (1, names[1]) if names[0] == node.sql() else (-1, names[0])
        spans = [sign * unit * (number + step) for step in (0, -1, 1)]
        return _move_time(str(values.get(start)), spans, column.kind)
    return None


def _move_time(start: str, spans: Sequence[float], kind: str) -> Sequence[Any] | None:
    """The times so many seconds later."""
    try:
        steps = [datetime.fromisoformat(start) + timedelta(seconds=span) for span in spans]
    except (ValueError, OverflowError):
        return None
    return [str(step.date() if kind == "date" else step) for step in steps]


def _strip(node: exp.Expr) -> exp.Expr:
    while isinstance(node, _TRANSPARENT):
        node = node.this
    return node


def _solve(balance: Balance, name: str, values: Mapping[str, Any]) -> float | None:
    """The value of a column with which both sides are equal, where they are linear in it."""
    try:
        zero, one, two = (_subtract(balance, {**values, name: n}) for n in (0.0, 1.0, 2.0))
    except (TypeError, ValueError, ArithmeticError):
        return None
    slope = one - zero
    if slope == 0 or abs(two - one - slope) > 1e-9 * abs(slope):
        return None
    root = -zero / slope
    return root if math.isfinite(root) else None


def _subtract(balance: Balance, values: Mapping[str, Any]) -> float:
    return _evaluate(balance[0], values) - _evaluate(balance[1], values)


def _evaluate(node: exp.Expr, values: Mapping[str, Any]) -> float:
    """Raises ValueError, TypeError or ArithmeticError where the expression has no number."""
    if isinstance(node, exp.Column):
        value: Any = values.get(node.sql())
        return math.nan if isinstance(value, str) else float(value)
    if isinstance(node, exp.Literal):
        return float(node.name)
    if isinstance(node, exp.Neg):
        return -_evaluate(node.this, values)
    if isinstance(node, exp.Count):
        return 1.0
    if isinstance(node, exp.If):
        branch = "true" if _is_met(node.this, values) else "false"
        return _evaluate(node.args.get(branch) or exp.Literal.number(0), values)
    if isinstance(node, exp.Distinct) and len(node.expressions) == 1:
        return _evaluate(node.expressions[0], values)
    if isinstance(node, _TRANSPARENT):
        return _evaluate(node.this, values)
    if type(node) in _OPERATIONS:
        left, right = _evaluate(node.this, values), _evaluate(node.expression, values)
        return float(_OPERATIONS[type(node)](left, right))
    raise ValueError(f"no number: {type(node).__name__}")


def _is_met(condition: exp.Expr, values: Mapping[str, Any]) -> bool:
    """Whether a value is the one that is asked for; other conditions are met by most rows."""
    if not isinstance(condition, exp.EQ) or not isinstance(condition.expression, exp.Literal):
        return True
    return str(values.get(condition.this.sql())) == condition.expression.name


def _list_around(root: float, column: Column) -> Sequence[Any]:
    if column.kind == "integer":
        below = math.ceil(root) - 1
        return (round(root), below) if root != int(root) else (int(root), below, int(root) + 1)
    if column.kind == "float":
        return (root, root - 0.5, root + 0.5)
    unit = Decimal(1).scaleb(-(2 if column.scale is None else column.scale))
    exact = Decimal(repr(root)).quantize(unit)
    return tuple(float(exact + step) for step in (0, -unit, unit))
