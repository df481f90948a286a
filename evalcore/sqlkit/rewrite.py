"""Turning statements into another dialect, and asking what they change (by sqlglot)."""

from __future__ import annotations

import re
from functools import cache

import sqlglot
from sqlglot import exp

_CHANGES = (exp.Insert, exp.Update, exp.Delete, exp.Merge)


def transpile_sql(sql: str, source: str, target: str) -> str:
    """Statements in another dialect; what sqlglot cannot read is passed on as it is."""
    if source == target:
        return sql
    try:
        return ";\n".join(sqlglot.transpile(sql, read=source, write=target))
    except (sqlglot.errors.SqlglotError, RecursionError):
        return sql


def transpile_within(sql: str, dialect: str) -> str:
    """Statements as sqlglot writes them in their own dialect, such as COALESCE for NVL."""
    try:
        return ";\n".join(sqlglot.transpile(sql, read=dialect, write=dialect))
    except (sqlglot.errors.SqlglotError, RecursionError):
        return sql


def find_changed_table(sql: str, dialect: str) -> str | None:
    """The table whose rows a statement changes, as qualified; None for a query or RETURNING."""
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except sqlglot.errors.SqlglotError:
        return None
    if not isinstance(tree, _CHANGES) or tree.args.get("returning"):
        return None
    table = tree.this if isinstance(tree.this, exp.Table) else tree.this.find(exp.Table)
    return ".".join(part.name for part in table.parts) if table is not None else None


@cache
def has_order_by(sql: str, dialect: str) -> bool:
    """Whether the outermost query has an ORDER BY; a text that does not parse has none."""
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return False
    return isinstance(tree, exp.Query) and tree.args.get("order") is not None


@cache
def build_tie_breakers(sql: str, dialect: str, width: int) -> tuple[str, ...]:
    """The query with every order made total in two opposite ways: its own by the output columns,
    that of ROW_NUMBER and its kin by the columns of their SELECT.

    Where both give what the query gives, ties decide nothing in it. Empty for a query that orders
    nothing, and for one that does not parse. Where the query takes ties in (WITH TIES), its own
    order is left as it is: a total one would cut them off.
    """
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return ()
    if not isinstance(tree, exp.Query):
        return ()
    ordered = tree.args.get("order") is not None and not _takes_ties_in(tree)
    if not ordered and tree.find(*_RANKING) is None:
        return ()
    variants = []
    for descending in (False, True):
        variant = tree.copy()
        _break_ties_of_ranks(variant, descending)
        if ordered:
            positions = (exp.Literal.number(n) for n in range(1, width + 1))
            variant.order_by(
                *(exp.Ordered(this=position, desc=descending) for position in positions), copy=False
            )
        variants.append(variant.sql(dialect=dialect))
    return tuple(variants)


def _takes_ties_in(tree: exp.Query) -> bool:
    options = tree.args["limit"].args.get("limit_options") if tree.args.get("limit") else None
    return options is not None and bool(options.args.get("with_ties"))


_RANKING = (exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue)


def _break_ties_of_ranks(tree: exp.Query, descending: bool) -> None:
    for window in tree.find_all(exp.Window):
        order, select = window.args.get("order"), window.find_ancestor(exp.Select)
        if order is None or select is None or window.find(*_RANKING) is None:
            continue
        outputs = (part for part in select.selects if part.find(exp.Window) is None)
        for column in [c for part in outputs for c in part.find_all(exp.Column)]:
            if not isinstance(column.this, exp.Star) and column.find_ancestor(exp.Select) is select:
                order.append("expressions", exp.Ordered(this=column.copy(), desc=descending))


_CREATE_TABLE = re.compile(r"\bCREATE\s+TABLE\b", re.I)
_ENGINE = re.compile(r"\bENGINE\s*=\s*\w+", re.I)
_QUOTED_OR_BRACKET = re.compile(r"'(?:[^'\\]|\\.|'')*'|`[^`]*`|\"[^\"]*\"|[()]", re.S)


def use_aria_engine(ddl: str) -> str:
    """MariaDB's CREATE TABLEs on Aria, which keeps rows as they came, where InnoDB sorts by key."""
    text = _ENGINE.sub("", ddl)
    for create in reversed(list(_CREATE_TABLE.finditer(text))):
        end = _find_closing_bracket(text, create.end())
        text = f"{text[:end]} ENGINE=Aria{text[end:]}"
    return text


def _find_closing_bracket(text: str, start: int) -> int:
    """The place after the bracket that closes the first one from `start` on."""
    depth = 0
    for match in _QUOTED_OR_BRACKET.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if match[0] == ")" and depth == 0:
            return match.end()
    return len(text)
