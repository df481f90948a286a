"""What statements and CHECKs hold columns against: constants, lengths of time, whole conditions."""

from __future__ import annotations

import operator
import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from itertools import product
from typing import Any, Literal

import sqlglot
from sqlglot import exp

from evalcore.records import Record
from evalcore.sqlkit.generate.regex_samples import sample_matches

# The value at which a comparison turns, where arithmetic stands between column and constant.

Number = int | float
_OPERATIONS: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: operator.truediv,
}
#: What undoes an operation with a constant on its right, and turns no comparison round.
_UNDONE: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: operator.sub,
    exp.Sub: operator.add,
    exp.Mul: operator.truediv,
    exp.Div: operator.mul,
}
_MAX_EXACT = 2**53  # beyond it fractions are not exact


def fold_constant(node: exp.Expr) -> Number | None:
    """The number that an expression of numbers alone gives, such as 12 * 25; None for others."""
    if isinstance(node, exp.Paren | exp.Cast):
        return fold_constant(node.this)
    if isinstance(node, exp.Neg):
        inner = fold_constant(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Literal):
        return None if node.is_string else _parse_exact_number(node.this)
    if type(node) not in _OPERATIONS:
        return None
    left, right = fold_constant(node.this), fold_constant(node.expression)
    return (
        None if left is None or right is None else _apply_operation(_OPERATIONS, node, left, right)
    )


def solve_for_column(node: exp.Expr, value: Number) -> tuple[exp.Expr, Number]:
    """What is left of `node` without its constants, and the value to hold it against.

    `units * 2 - 40` against 300 is `units` against 170. Constants on the left of an operator are
    left, and so are factors below 0, which would turn the comparison round.
    """
    while True:
        if isinstance(node, exp.Paren):
            node = node.this
            continue
        constant = fold_constant(node.expression) if type(node) in _UNDONE else None
        scaling = isinstance(node, exp.Mul | exp.Div)
        if constant is None or (scaling and constant <= 0):
            return node, value
        undone = _apply_operation(_UNDONE, node, value, constant)
        if undone is None:
            return node, value
        node, value = node.this, undone


def _apply_operation(
    table: dict[type[exp.Expr], Callable[[Any, Any], Any]],
    node: exp.Expr,
    left: Number,
    right: Number,
) -> Number | None:
    try:
        number = table[type(node)](left, right)
    except (ArithmeticError, ValueError):
        return None
    if not abs(number) < _MAX_EXACT:
        return None
    return int(number) if number == int(number) else round(number, 6)


def _parse_exact_number(text: str) -> Number | None:
    try:
        number = float(text)
    except ValueError:
        return None
    if not abs(number) < _MAX_EXACT:
        return None
    return int(number) if number == int(number) else number


# The values that statements hold columns against: comparisons, patterns, lists, defaults.

Operator = Literal["=", "<>", "<", "<=", ">", ">=", "like", "not like", "null", "not null", "about"]


class Constant(Record, frozen=True):
    """A value, None for NULL, that a column is held against, or that is no more than `about` it."""

    operator: Operator
    value: str | int | float | None


#: The operator from either side.
COMPARISONS: dict[type[exp.Expr], tuple[Operator, Operator]] = {
    exp.EQ: ("=", "="),
    exp.NullSafeEQ: ("=", "="),
    exp.NEQ: ("<>", "<>"),
    exp.NullSafeNEQ: ("<>", "<>"),
    exp.LT: ("<", ">"),
    exp.LTE: ("<=", ">="),
    exp.GT: (">", "<"),
    exp.GTE: (">=", "<="),
}
_NEGATED: dict[Operator, Operator] = {
    "=": "<>",
    "<>": "=",
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
    "like": "not like",
    "null": "not null",
    "not null": "not null",
    "about": "about",
}
ColumnConstant = tuple[tuple[str, ...], Constant]


def list_column_names(node: exp.Expr) -> tuple[str, ...]:
    """The columns of an expression, folded, not those of a query inside it."""
    if isinstance(node, exp.Query):
        return ()
    if isinstance(node, exp.Column):
        return (node.name.lower(),)
    return tuple(name for child in node.iter_expressions() for name in list_column_names(child))


def iter_constants(tree: exp.Expr) -> Iterator[ColumnConstant]:
    """Every constant of a statement with the columns that are held against it.

    A column that stands alone as a condition is held against 1, under NOT against 0; an alias of
    a literal stands for it.
    """
    for read in filter(None, (tree, _inline_literals(tree))):
        yield from _iter_tree_constants(read)


def _inline_literals(tree: exp.Expr) -> exp.Expr | None:
    """A copy of the statement with literals in place of the columns that inner queries give them
    as, such as `bounds.low` for `WITH bounds AS (SELECT 5 AS low)`; None where there are none."""
    literals: dict[str, exp.Expr] = {}
    for alias in tree.find_all(exp.Alias):
        literals.setdefault(alias.alias.lower(), alias.this)
    for named in tree.find_all(exp.CTE, exp.Subquery):  # WITH bounds (low) AS (SELECT 5)
        declared = named.args["alias"].columns if named.args.get("alias") else ()
        selected = named.this.selects if isinstance(named.this, exp.Select) else ()
        for identifier, part in zip(declared, selected, strict=False):
            literals.setdefault(identifier.name.lower(), part)
    fixed = {
        name: node
        for name, node in literals.items()
        if _list_literals(node) and not list_column_names(node) and not node.find(exp.Query)
    }
    if not any(column.name.lower() in fixed for column in tree.find_all(exp.Column)):
        return None
    return tree.transform(
        lambda node: (
            fixed[node.name.lower()].copy()
            if isinstance(node, exp.Column) and node.name.lower() in fixed
            else node
        )
    )


def _iter_tree_constants(tree: exp.Expr) -> Iterator[ColumnConstant]:
    for node in tree.walk():
        negated = _is_negated(node)
        for columns, constant in _iter_node_constants(node):
            if negated:
                yield columns, Constant(_NEGATED[constant.operator], constant.value)
            else:
                yield columns, constant
        if isinstance(node, exp.Column) and _is_condition(node):
            yield list_column_names(node), Constant("=", 0 if negated else 1)


def _is_negated(node: exp.Expr) -> bool:
    if node.args.get("negate"):
        return True
    around = node.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    return isinstance(around, exp.Not)


def _iter_node_constants(node: exp.Expr) -> Iterator[ColumnConstant]:
    if type(node) in COMPARISONS:
        forward, backward = COMPARISONS[type(node)]
        yield from _pair_constants(node.this, node.expression, forward)
        yield from _pair_constants(node.expression, node.this, backward)
        yield from _iter_shifted_dates(node)
    elif isinstance(node, exp.Like | exp.ILike):
        yield from _pair_constants(node.this, node.expression, "like")
    elif isinstance(node, exp.Glob):
        for value in _list_literals(node.expression):
            pattern = str(value).replace("*", "%").replace("?", "_")
            yield list_column_names(node.this), Constant("like", pattern)
    elif isinstance(node, exp.Between):
        yield from _pair_constants(node.this, node.args["low"], ">=")
        yield from _pair_constants(node.this, node.args["high"], "<=")
        yield from _iter_shifted_dates(node)
    elif isinstance(node, exp.In):
        for item in node.expressions:
            yield from _pair_constants(node.this, item, "=")
    elif isinstance(node, exp.Is):
        operator: Operator = "null" if isinstance(node.expression, exp.Null) else "not null"
        yield list_column_names(node.this), Constant(operator, None)
    elif isinstance(node, exp.StartsWith | exp.Contains):
        for value in _list_literals(node.expression):
            yield list_column_names(node.this), Constant("like", f"%{value}%")
    elif isinstance(node, exp.ArrayContains | exp.ArrayContainsAll | exp.ArrayOverlaps):
        yield from _pair_constants(node.this, node.expression, "=")
        yield from _pair_constants(node.expression, node.this, "=")
    elif isinstance(node, exp.Bracket):  # the key of a map
        for part in node.expressions:
            yield from _pair_constants(node.this, part, "=")
    elif _takes_pattern(node):
        yield from _iter_regex_constants(node)
    else:
        yield from _iter_alternatives(node)


def _takes_pattern(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return _REGEX_FUNCTION.match(node.name) is not None
    named = isinstance(node, exp.Func) and _REGEX_FUNCTION.match(node.sql_name()) is not None
    return named or isinstance(node, exp.SimilarTo | exp.RegexpLike | exp.RegexpILike)


_REGEX_FUNCTION = re.compile(r"REGEXP?_?|RLIKE", re.I)


def _iter_regex_constants(node: exp.Expr) -> Iterator[ColumnConstant]:
    """Texts that the pattern of a function matches, the first of its literals."""
    patterns = [part for part in node.iter_expressions() if isinstance(part, exp.Literal)]
    columns = next(filter(None, map(list_column_names, node.iter_expressions())), ())
    for pattern in [part.this for part in patterns if part.is_string][:1]:
        for text in sample_matches(pattern.replace("%", ".*")):
            yield columns, Constant("=", text)


def _iter_alternatives(node: exp.Expr) -> Iterator[ColumnConstant]:
    """What a value is replaced by, or told apart from."""
    if isinstance(node, exp.Coalesce):
        yield list_column_names(node.this), Constant("not null", None)
        for other in node.expressions:
            yield from _pair_constants(node.this, other, "about")
    elif isinstance(node, exp.Case) and node.this is not None:
        for branch in node.args.get("ifs", ()):
            yield from _pair_constants(node.this, branch.this, "=")


def _is_condition(column: exp.Column) -> bool:
    """Whether a column alone is true or false, such as `WHERE NOT closed`."""
    around = column.parent
    if isinstance(around, exp.If | exp.Where | exp.Having | exp.Filter):
        return around.this is column
    return isinstance(around, exp.Not | exp.And | exp.Or)


def _pair_constants(left: Any, right: Any, operator: Operator) -> Iterator[ColumnConstant]:
    if isinstance(left, exp.Subquery) and isinstance(left.this, exp.Select):
        left = next(iter(left.this.selects), left)  # what a scalar subquery gives
    columns = list_column_names(left)
    if not columns:
        return
    if list_column_names(right):
        operator = "about"
    for value in _list_literals(right):
        yield columns, Constant(operator, value)
    number = fold_constant(right)
    if number is not None:
        yield columns, Constant(operator, solve_for_column(left, number)[1])


def _list_literals(node: exp.Expr) -> tuple[str | int | float, ...]:
    """The literal values of an expression, a negated one with its sign."""
    if isinstance(node, exp.Query):
        return ()
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
        return tuple(-v for v in _list_literals(node.this) if not isinstance(v, str))
    if isinstance(node, exp.Literal):
        return (node.this if node.is_string else _parse_numeric_literal(node.this),)
    if isinstance(node, exp.Boolean):
        return (int(node.this),)
    return tuple(value for child in node.iter_expressions() for value in _list_literals(child))


def _parse_numeric_literal(text: str) -> int | float | str:
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


# Days and moments for statements that ask what day it is: of late, and as long ago as they say.
# "ordered within the last 3 years" -> days just inside three years, just outside, far outside

_CLOCKS = (exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentDatetime, exp.CurrentTime)
_CLOCK_NAMES = frozenset(("now", "curdate", "getdate", "sysdate", "localtimestamp", "today"))
_DAYS = {"day": 1.0, "week": 7.0, "month": 30.44, "quarter": 91.3, "year": 365.25}
_LENGTH = re.compile(r"([+-]?\d{1,4})\s*(day|week|month|quarter|year)s?", re.IGNORECASE)
_UNIT = re.compile(r"(day|week|month|quarter|year)s?", re.IGNORECASE)
_LATELY = (0, 1, 6, 8, 29, 32, 89, 93, 178, 184, 364, 400, -2)
_LONGEST = 60 * 365


def is_time_dependent(tree: exp.Expr) -> bool:
    """Whether a statement reads the current time."""
    if tree.find(*_CLOCKS):
        return True
    named = any(node.name.lower() in _CLOCK_NAMES for node in tree.find_all(exp.Anonymous))
    return named or any(text.name.lower() == "now" for text in tree.find_all(exp.Literal))


def list_interval_days(trees: Iterable[exp.Expr]) -> tuple[int, ...]:
    """The lengths of time, in whole days, that statements add to dates or take from them."""
    candidates = (
        days for tree in trees for node in tree.walk() for days in _parse_interval_days(node)
    )
    return tuple(dict.fromkeys(days for days in candidates if 0 < days <= _LONGEST))


def days_around(today: date, intervals: Sequence[int]) -> tuple[list[date], list[date]]:
    """Days of late, then days about so many days from today: inside of that, and outside."""
    inside = [today - timedelta(days=days) for days in _LATELY]
    outside = []
    for days in intervals:
        inside += [today - timedelta(days=gone) for gone in (days - 2, days // 2)]
        outside += [today - timedelta(days=gone) for gone in (days + 3, 2 * days + 45)]
    return inside, outside


def _iter_shifted_dates(node: exp.Expr) -> Iterator[ColumnConstant]:
    """The dates of a comparison moved by the intervals in it: where `day + INTERVAL '1 month'` is
    held against a date, `day` turns a month before it."""
    columns = list_column_names(node)
    spans = [span for part in node.walk() for span in _parse_calendar_spans(part)][:4]
    days = [day for value in _list_literals(node) if (day := _parse_day(value)) is not None]
    if columns and spans:
        for day, (amount, unit), sign in product(days[:3], spans, (1, -1)):
            with suppress(ValueError, OverflowError):
                moved = _move_day(day, sign * amount, unit)
                ends = range(4) if moved.day > 27 and unit not in ("day", "week") else range(1)
                for more in ends:  # days that the same day of a shorter month stands for
                    yield columns, Constant("=", (moved + timedelta(days=more)).isoformat())


def _parse_calendar_spans(node: exp.Expr) -> list[tuple[int, str]]:
    unit = _UNIT.fullmatch(node.text("unit"))
    amount = node.this if isinstance(node, exp.Interval) else node.args.get("expression")
    if unit is not None and isinstance(amount, exp.Literal) and amount.name.lstrip("-").isdigit():
        return [(abs(int(amount.name)), unit[1].lower())]
    if isinstance(node, exp.Literal) and node.is_string and len(node.name) < 40:
        return [(abs(int(n)), u.lower()) for n, u in _LENGTH.findall(node.name)]
    return []


def _parse_day(value: Any) -> date | None:
    try:
        return date.fromisoformat(str(value)[:10]) if isinstance(value, str) else None
    except ValueError:
        return None


def _move_day(day: date, amount: int, unit: str) -> date:
    """The day so many units later, the last of a month where that has fewer days."""
    months = amount * {"month": 1, "quarter": 3, "year": 12}.get(unit, 0)
    if not months:
        return day + timedelta(days=amount * (7 if unit == "week" else 1))
    count = day.year * 12 + day.month - 1 + months
    first = date(count // 12, count % 12 + 1, 1)
    return first + timedelta(days=min(day.day, monthrange(first.year, first.month)[1]) - 1)


def _parse_interval_days(node: exp.Expr) -> list[int]:
    return [round(amount * _DAYS[unit]) for amount, unit in _parse_calendar_spans(node)]


# Whether a row keeps the CHECK conditions of its table, as far as they are simple.

Condition = Callable[[Mapping[str, Any]], bool]

_OPERATORS: dict[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}


class _NotEvaluated(Exception):
    """An expression that is not evaluated here: the engine has the word."""


def compile_checks(checks: Sequence[str], dialect: str) -> list[Condition]:
    """The checks as functions of a row by folded column name; what cannot be told holds."""
    return [
        _compile_condition(tree)
        for text in checks
        if (tree := _parse_check(text, dialect)) is not None
    ]


def _parse_check(text: str, dialect: str) -> exp.Expr | None:
    try:
        return sqlglot.parse_one(text, dialect=dialect, into=exp.Condition)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return None


def _compile_condition(tree: exp.Expr) -> Condition:
    def is_satisfied(row: Mapping[str, Any]) -> bool:
        try:
            return _evaluate_expression(tree, row) is not False
        except (_NotEvaluated, TypeError, ZeroDivisionError):
            return True

    return is_satisfied


def _evaluate_expression(node: exp.Expr, row: Mapping[str, Any]) -> Any:
    """SQL's value of an expression: None is NULL or unknown."""
    if isinstance(node, exp.Paren):
        return _evaluate_expression(node.this, row)
    if isinstance(node, exp.Column):
        return row[node.name.lower()] if node.name.lower() in row else _raise_not_evaluated()
    if isinstance(node, exp.Literal):
        return node.this if node.is_string else float(node.this)
    if isinstance(node, exp.Neg):
        return -_evaluate_expression(node.this, row)
    if isinstance(node, exp.And | exp.Or):
        return _evaluate_logical(node, row)
    if isinstance(node, exp.Not):
        inner = _evaluate_expression(node.this, row)
        return None if inner is None else not inner
    if isinstance(node, exp.Is):
        return (_evaluate_expression(node.this, row) is None) == isinstance(
            node.expression, exp.Null
        )
    if isinstance(node, exp.In) and node.expressions:
        return _evaluate_in(
            _evaluate_expression(node.this, row),
            [_evaluate_expression(item, row) for item in node.expressions],
        )
    if isinstance(node, exp.Between):
        value = _evaluate_expression(node.this, row)
        low, high = (
            _evaluate_expression(node.args["low"], row),
            _evaluate_expression(node.args["high"], row),
        )
        return None if None in (value, low, high) else low <= value <= high
    if type(node) in _OPERATORS:
        left, right = (
            _evaluate_expression(node.this, row),
            _evaluate_expression(node.expression, row),
        )
        return None if left is None or right is None else _OPERATORS[type(node)](left, right)
    return _raise_not_evaluated()


def _evaluate_logical(node: exp.And | exp.Or, row: Mapping[str, Any]) -> bool | None:
    decisive = isinstance(node, exp.Or)
    sides = (_evaluate_expression(node.this, row), _evaluate_expression(node.expression, row))
    if decisive in sides:
        return decisive
    return None if None in sides else not decisive


def _evaluate_in(value: Any, items: list[Any]) -> bool | None:
    return None if value is None else value in items


def _raise_not_evaluated() -> Any:
    raise _NotEvaluated
