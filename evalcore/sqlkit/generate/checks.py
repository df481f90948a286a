"""Whether a row keeps the CHECK conditions of its table, as far as these can be told without an
engine: comparisons, arithmetic, patterns and the common functions of texts and days.

A row that an engine refuses takes its whole database with it.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp

from evalcore.sqlkit.schema import Table

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


_UNCLEAR = (
    *(_NotEvaluated, TypeError, ValueError, LookupError, AttributeError, ArithmeticError),
    RecursionError,  # JSON nested too deeply
)


def compile_checks(checks: Sequence[str], dialect: str, *, unclear: bool = True) -> list[Condition]:
    """The checks as functions of a row by folded column name; what cannot be told of its cells
    holds or, where it is not `unclear`, does not, and what asks for others holds."""
    trees = (tree for text in checks for tree in _parse_check(text, dialect))
    return [_compile_condition(tree, unclear) for tree in trees]


def compile_row_check(table: Table, dialect: str) -> Callable[[Sequence[Any]], bool]:
    """Whether a row keeps all checks of its table."""
    checks = compile_checks(table.checks, dialect)
    names = [column.name.lower() for column in table.columns]
    return lambda row: all(check(dict(zip(names, row, strict=True))) for check in checks)


@lru_cache(maxsize=512)
def _parse_check(text: str, dialect: str) -> tuple[exp.Expr, ...]:
    """The check, none where it cannot be read, with case written where the engine overlooks it."""
    try:
        tree = sqlglot.parse_one(text, dialect=dialect, into=exp.Condition)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return ()
    return (tree.transform(_write_case, dialect),)


def _write_case(node: exp.Expr, dialect: str) -> exp.Expr:
    if isinstance(node, exp.Like) and dialect in ("sqlite", "mysql"):
        return exp.ILike(**node.args)
    if isinstance(node, exp.RegexpLike) and dialect == "mysql":
        return exp.RegexpILike(**node.args)
    if isinstance(node, exp.JSONType) and dialect == "sqlite":
        return exp.Anonymous(this="JSON_TYPE", expressions=[node.this])
    return node.this if isinstance(node, exp.Upper | exp.Lower) and dialect == "mysql" else node


def _compile_condition(tree: exp.Expr, unclear: bool) -> Condition:
    def is_satisfied(row: Mapping[str, Any]) -> bool:
        try:
            value = _evaluate_expression(tree, row)
            return value is None or value != 0
        except _UNCLEAR as problem:
            return unclear or isinstance(problem, LookupError)

    return is_satisfied


def solve_checks(checks: Sequence[str], row: Mapping[str, Any], dialect: str) -> dict[str, Any]:
    """The cells, by folded name, that a check says outright, such as `total = price * amount`."""
    solved: dict[str, Any] = {}
    for tree in (tree for text in checks for tree in _parse_check(text, dialect)):
        for node in tree.find_all(exp.EQ, exp.NullSafeEQ):
            for side, other in ((node.this, node.expression), (node.expression, node.this)):
                name = side.name.lower() if isinstance(side, exp.Column) else ""
                if name in row and name not in solved and other.find(exp.Column):
                    with suppress(*_UNCLEAR):
                        value = _evaluate_expression(other, row)
                        if value is not None:
                            solved[name] = float(value) if isinstance(value, Decimal) else value
                            break
    return solved


def iter_compared_columns(checks: Sequence[str], dialect: str) -> Iterator[tuple[str, str]]:
    """The columns, folded, that checks hold against each other, each with the other."""
    for tree in (tree for text in checks for tree in _parse_check(text, dialect)):
        for node in tree.find_all(*_OPERATORS):
            if isinstance(node.this, exp.Column) and isinstance(node.expression, exp.Column):
                names = node.this.name.lower(), node.expression.name.lower()
                yield from (names, names[::-1])


def _evaluate_expression(node: exp.Expr, row: Mapping[str, Any]) -> Any:
    """SQL's value of an expression: None is NULL or unknown. Raises one of _UNCLEAR."""
    if isinstance(node, exp.Column):
        value = row[node.name.lower()]
        return Decimal(str(value)) if isinstance(value, float) else value
    if isinstance(node, exp.Literal):
        return node.this if node.is_string else Decimal(node.this)
    if isinstance(node, exp.Null | exp.Boolean):
        return node.args.get("this")
    call = _CALLS.get(type(node))
    if call is None and not isinstance(node, (*_COMBINED, *_OPERATORS)):
        raise _NotEvaluated
    parts = (p for p in node.iter_expressions() if not isinstance(p, exp.Var | exp.DataType))
    values = [_evaluate_expression(part, row) for part in parts]
    if isinstance(node, exp.And | exp.Or):
        decisive = isinstance(node, exp.Or)
        return decisive if decisive in values else None if None in values else not decisive
    if isinstance(node, exp.Is):
        if isinstance(values[1], bool) and not isinstance(values[0], bool | None):
            raise _NotEvaluated  # a number that is told to be true
        return (values[0] is values[1]) != bool(node.args.get("negate"))
    if isinstance(node, exp.NullSafeEQ | exp.NullSafeNEQ):
        return (values[0] == values[1]) == isinstance(node, exp.NullSafeEQ)
    if isinstance(node, exp.Coalesce):
        return next((value for value in values if value is not None), None)
    if None in values or isinstance(node, exp.Paren):
        return None if None in values else values[0]
    if call is not None:
        return call(node, *values)
    if isinstance(node, exp.Not | exp.Neg):
        return not values[0] if isinstance(node, exp.Not) else -values[0]
    if len({isinstance(value, str) for value in values}) > 1:
        raise _NotEvaluated  # which of the two is read as the other, only the engine knows
    if isinstance(node, exp.In):
        return values[0] in values[1:]
    if isinstance(node, exp.Between):
        return values[1] <= values[0] <= values[2]
    return _OPERATORS[type(node)](*values)


_COMBINED = (
    *(exp.Paren, exp.Neg, exp.Not, exp.And, exp.Or, exp.Is, exp.In, exp.Between, exp.Coalesce),
    *(exp.NullSafeEQ, exp.NullSafeNEQ),
)
_RISKY = re.compile(r".{121}|\)[*+?{]|\[:|([*+?{].*){4}", re.S)  # slow, or not Python's


def _match_pattern(node: exp.Expr, text: str, pattern: str) -> bool:
    """Whether a text matches in full or, where only an expression is sought, in part."""
    whole = isinstance(node, exp.Like | exp.ILike | exp.Glob | exp.RegexpFullMatch)
    if isinstance(node, exp.Like | exp.ILike):
        marks = {"%": ".*", "_": "."}
        pattern = "".join(marks.get(mark) or re.escape(mark) for mark in pattern)
    elif isinstance(node, exp.Glob):
        pattern = pattern.replace(".", r"\.").replace("*", ".*").replace("?", ".")
    if _RISKY.search(pattern) or isinstance(node.parent, exp.Escape) or len(text) > _MAX_TEXT:
        raise _NotEvaluated
    flags = re.S | (re.I if isinstance(node, exp.ILike | exp.RegexpILike) else 0)
    found = (re.fullmatch if whole else re.search)(pattern, text, flags) is not None
    return found != bool(node.args.get("negate"))


_MAX_TEXT = 200


def _read_day(node: exp.Expr, value: str, *more: Any) -> str | None:
    """The day that a text begins with, None for a text that is none."""
    if more:
        raise _NotEvaluated
    if _DAY.match(value):
        with suppress(ValueError):
            return date.fromisoformat(value[:10]).isoformat()
        return None
    if isinstance(node, exp.Date):  # SQLite reads a number as a day long ago
        return _LONG_AGO if _is_number(value) else None
    raise _NotEvaluated


_DAY = re.compile(r"\d{4}-\d\d-\d\d(?!\S)|\d{4}-\d\d-\d\dT")


def _call_by_name(node: exp.Expr, value: str, *more: Any) -> str | bool | None:
    """JSON_VALID, PostgreSQL's JSON_TYPEOF, and SQLite's DATETIME: a day or a moment in full, None
    for what is neither."""
    if node.name.upper() == "JSON_VALID":
        with suppress(ValueError):
            json.loads(value)
            return True
        return False
    if node.name.upper() in ("JSONB_TYPEOF", "JSON_TYPEOF", "JSON_TYPE"):
        with suppress(ValueError):
            kinds = _SQLITE_KINDS if node.name.upper() == "JSON_TYPE" else _POSTGRES_KINDS
            return kinds.get(type(json.loads(value)), value)
        return None
    if node.name.upper() != "DATETIME" or more:
        raise _NotEvaluated
    if _is_number(value):
        return _LONG_AGO
    day, clock = _read_day(node, value) if _DAY.match(value) else None, value[11:] or "00:00"
    return f"{day} {clock}:00"[:19] if day and _CLOCK.fullmatch(clock) else None


def _is_number(value: str) -> bool:
    return re.fullmatch(r"[\d.:+-]+", value) is not None and "-" not in value[1:]


#: The words for the types of JSON; others, such as null, are their own.
_SQLITE_KINDS: dict[type, str] = dict(
    zip((dict, list, str, int, float), ("object", "array", "text", "integer", "real"), strict=True)
)
_POSTGRES_KINDS = _SQLITE_KINDS | {str: "string", bool: "boolean", int: "number", float: "number"}
_LONG_AGO = "-4713-11-24"  # what SQLite makes of numbers
_CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?")


def _read_part(node: exp.Expr, value: str) -> int:
    unit = node.this.name if isinstance(node, exp.Extract) else type(node).__name__
    return int(value[slice(*{"year": (0, 4), "month": (5, 7), "day": (8, 10)}[unit.lower()])])


def _cast_value(node: exp.Expr, value: Any) -> Any:
    kind = str(node.args["to"].this.value)
    if kind == "DATE":
        return _read_day(node, value)
    if isinstance(value, str) == kind.startswith(("TEXT", "VARCHAR", "TIMESTAMP", "DATETIME")):
        return value
    raise _NotEvaluated


def _truncate_time(node: exp.Expr, value: str) -> str:
    size, rest = {"year": (4, "-01-01"), "month": (7, "-01"), "day": (10, "")}[
        node.text("unit").lower()
    ]
    return f"{value[:size]}{rest}{' 00:00:00' if len(value) > 10 else ''}"


_TRIMS = {"": str.strip, "BOTH": str.strip, "LEADING": str.lstrip, "TRAILING": str.rstrip}
#: What a function gives for the values of its arguments, none of which is NULL.
_CALLS: dict[type[exp.Expr], Callable[..., Any]] = {
    exp.Add: lambda node, a, b: a + b,
    exp.Sub: lambda node, a, b: a - b,
    exp.Mul: lambda node, a, b: a * b,
    exp.Mod: lambda node, a, b: Decimal(a) % Decimal(b),
    exp.Abs: lambda node, a: abs(a),
    exp.Round: lambda node, a, digits=0: round(Decimal(a), int(digits)),
    exp.Length: lambda node, a: len(a.encode() if node.args.get("binary") else a),
    exp.Lower: lambda node, a: a.lower(),
    exp.Upper: lambda node, a: a.upper(),
    exp.Trim: lambda node, a, *cut: _TRIMS[node.text("position").upper()](a, *(cut or " ")),
    exp.Substring: lambda node, a, start, size: a[int(start) - 1 : int(start + size) - 1],
    **dict.fromkeys((exp.Like, exp.ILike, exp.Glob, exp.RegexpLike), _match_pattern),
    **dict.fromkeys((exp.RegexpILike, exp.RegexpFullMatch), _match_pattern),
    **dict.fromkeys((exp.Date, exp.TsOrDsToDate), _read_day),
    **dict.fromkeys((exp.Day, exp.Month, exp.Year, exp.Extract), _read_part),
    **dict.fromkeys((exp.DateTrunc, exp.TimestampTrunc), _truncate_time),
    exp.TsOrDsToTimestamp: lambda node, a: a,
    exp.TimeToStr: lambda node, a, form: datetime.fromisoformat(a).strftime(form),
    exp.Cast: _cast_value,
    exp.Anonymous: _call_by_name,
}


def iter_variants(cells: Iterable[Any], kind: str, checks: Sequence[str]) -> Iterator[Any]:
    """Cells among which some may keep checks that hardly any of `cells` keeps: texts of the lengths
    that the checks name and in other letters, numbers of all kinds, days of all months."""
    lengths = dict.fromkeys(int(number) for number in re.findall(r"\b\d\d?\b", " ".join(checks)))
    days = [f"2024-{month:02}-{day:02}" for day in (1, 15, 28) for month in range(1, 13)]
    days += [date(2023, 1, 1).replace(day=day).isoformat() for day in range(1, 32)]
    if kind == "text":
        texts = [text for text in cells if isinstance(text, str) and text]
        for size in lengths:
            for number in range(12):
                word = f"{_LETTERS[number:]}{_LETTERS * 3}"[: max(size - 2, 0)]
                yield from (f"{word}{number:02}"[:size], f"{number:0{max(size, 1)}}"[:size])
        for text in texts[:12]:
            yield from (text.upper(), text.lower(), text.title(), text.strip(), f"{text} x")
            yield from (text.translate(turned) for turned in _TURNS)
        yield from (*days, *(f"{day} {n % 24:02}:30:00" for n, day in enumerate(days)))
        yield from ("ann@example.org", "https://example.org/a")
    elif kind in ("integer", "decimal", "float"):
        yield from (*range(61), *range(-10, 0), *range(75, 1001, 25))
        yield from (number / 4 for number in range(1, 40) if kind != "integer")
    elif kind in ("date", "timestamp"):
        clocks = ("",) if kind == "date" else (" 00:00:00", " 12:30:00")
        yield from (f"{day}{clock}" for day in days for clock in clocks)


_LETTERS, _DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
_GROUPS = (_DIGITS, _LETTERS, _LETTERS.lower())
#: Digits and letters in place of others of their class.
_TURNS = [
    str.maketrans("".join(_GROUPS), "".join(g[step:] + g[:step] for g in _GROUPS))
    for step in range(1, 9)
]
