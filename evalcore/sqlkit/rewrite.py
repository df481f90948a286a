"""Turning statements into another dialect, and asking what they change (by sqlglot)."""

from __future__ import annotations

import re
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
def orders_rows(sql: str, dialect: str) -> bool:
    """Whether the outermost query has an ORDER BY; a text that does not parse has none."""
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return False
    return isinstance(tree, exp.Query) and tree.args.get("order") is not None


@cache
def tie_breakers(sql: str, dialect: str, width: int) -> tuple[str, ...]:
    """The query with its ORDER BY made total in two opposite ways, by its own output columns.

    Where both give what the query gives, its order is total but for rows that are the same. Empty
    for a query without ORDER BY, and for one that does not parse.
    """
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return ()
    if not isinstance(tree, exp.Query) or tree.args.get("order") is None:
        return ()
    return tuple(
        tree.copy()
        .order_by(
            *(
                exp.Ordered(this=exp.Literal.number(n), desc=descending)
                for n in range(1, width + 1)
            ),
            copy=False,
        )
        .sql(dialect=dialect)
        for descending in (False, True)
    )


_CREATE_TABLE = re.compile(r"\bCREATE\s+TABLE\b", re.I)
_ENGINE = re.compile(r"\bENGINE\s*=\s*\w+", re.I)
_QUOTED_OR_BRACKET = re.compile(r"'(?:[^'\\]|\\.|'')*'|`[^`]*`|\"[^\"]*\"|[()]", re.S)


def on_another_engine(ddl: str) -> str:
    """MariaDB's CREATE TABLEs on Aria, which keeps rows as they came, where InnoDB sorts by key."""
    text = _ENGINE.sub("", ddl)
    for create in reversed(list(_CREATE_TABLE.finditer(text))):
        end = _closing(text, create.end())
        text = f"{text[:end]} ENGINE=Aria{text[end:]}"
    return text


def _closing(text: str, start: int) -> int:
    """The place after the bracket that closes the first one from `start` on."""
    depth = 0
    for found in _QUOTED_OR_BRACKET.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if found[0] == ")" and depth == 0:
            return found.end()
    return len(text)
