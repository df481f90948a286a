"""What a database is made of: the scripts that create its tables and fill them, and those of its
twin, in which the same rows lie in another order."""

from __future__ import annotations

import re

from evalcore.sqlkit.engines import SessionScript
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.generate import (
    TIED,
    Database,
    fill_empty_texts,
    order_own_references,
    permute_rows,
    render_inserts,
)
from evalcore.sqlkit.schema import Schema
from evalcore.sqlkit.syntax import use_aria_engine


def build_setup(question: EquivalenceQuestion, schema: Schema, rows: Database) -> tuple[str, ...]:
    rows = fill_empty_texts(schema, rows) if question.empty_is_null else rows
    tables = question.build_tables()
    if rows.profile == TIED:
        tables = tuple(text for text in map(_drop_indexes, tables) if text)
    return (*tables, *render_inserts(schema, rows, question.engine))


def _drop_indexes(ddl: str) -> str:
    """DDL without the indexes that keep nothing unique."""
    if isinstance(ddl, SessionScript):
        return ddl
    return "" if _INDEX.fullmatch(ddl) else _INLINE_INDEX.sub("", ddl)


_INDEX = re.compile(r"\s*CREATE\s+INDEX\b[^;]*;?\s*", re.I)
_INLINE_INDEX = re.compile(r",\s*(?:KEY|INDEX)\s+[\w`]+\s*\([\w\s,`]*\)", re.I)


def build_twin_setup(
    question: EquivalenceQuestion, schema: Schema, rows: Database
) -> tuple[str, ...]:
    """The same rows, lying in another order even where the engine would keep them by their key."""
    permuted = permute_rows(rows)
    if question.engine == "duckdb":  # it looks for a row referred to before it has those after it
        permuted = order_own_references(schema, permuted)
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
