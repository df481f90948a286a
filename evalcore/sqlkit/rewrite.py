"""Turning statements into another dialect, and asking what they change (by sqlglot)."""

from __future__ import annotations

from functools import cache

import sqlglot
from sqlglot import exp

_CHANGES = (exp.Insert, exp.Update, exp.Delete, exp.Merge)


def transpile(sql: str, source: str, target: str) -> str:
    """The statement in another dialect; one that sqlglot cannot read is passed on as it is."""
    if source == target:
        return sql
    try:
        return sqlglot.transpile(sql, read=source, write=target)[0]
    except sqlglot.errors.SqlglotError:
        return sql


def changed_table(sql: str, dialect: str) -> str | None:
    """The name of the table whose rows a statement changes; None for a query or RETURNING."""
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except sqlglot.errors.SqlglotError:
        return None
    if not isinstance(tree, _CHANGES) or tree.args.get("returning"):
        return None
    table = tree.this if isinstance(tree.this, exp.Table) else tree.this.find(exp.Table)
    return str(table.name) if table is not None else None


@cache
def orders_rows(sql: str, dialect: str) -> bool:
    """Whether the outermost query has an ORDER BY; a text that does not parse has none."""
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return False
    return isinstance(tree, exp.Query) and tree.args.get("order") is not None
