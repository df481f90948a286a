"""Finding the SQL in what a model really wrote.

`strict` means the answer is SQL and nothing else, as it was asked for; `lenient` means it had to be
found: in the last code fence that begins like SQL, in a JSON object's field, or after prose, from
the first line that begins like SQL. EXPLAIN output, JSON plans and prose are no SQL.
"""

from __future__ import annotations

import json
import re
from typing import Any

from evalcore.benchmarks.answer_text import LIMIT, Kind, fenced, without_reasoning
from evalcore.records import Record

_FIRST_WORDS = (
    "SELECT WITH VALUES TABLE INSERT UPDATE DELETE MERGE REPLACE UPSERT CREATE ALTER DROP TRUNCATE "
    "RENAME COMMENT GRANT REVOKE BEGIN DECLARE DO CALL EXEC EXECUTE SET LOCK DELIMITER START IF "
    "USE PIVOT FROM"
)
_LEADING = r"(?:\s|;|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*"
_SQL = re.compile(rf"{_LEADING}(?:{'|'.join(_FIRST_WORDS.split())})\b", re.I | re.S)
#: Words that also begin English sentences count in prose only where SQL must follow them.
_SQL_LINE = re.compile(
    r"""^[ \t(]*(?:
        SELECT\b(?!\s+the\b) | WITH\s+(?:RECURSIVE\s+)?[\w"`\[\]]+\s*(?:\([^)]*\)\s*)?AS\b
      | VALUES\s*\( | (?:INSERT|REPLACE)\s+INTO\b | UPDATE\s+[\w"`.\[\]]+.*?\bSET\b
      | DELETE\s+FROM\b | MERGE\s+INTO\b | TRUNCATE\s+TABLE\b
      | CREATE\s+(?:OR\s+REPLACE\s+)?(?:UNIQUE\s+|TEMP\w*\s+|MATERIALIZED\s+|DEFINER\s*=\s*\S+\s+)*
        (?:TABLE|VIEW|INDEX|FUNCTION|PROCEDURE|TRIGGER|SEQUENCE|TYPE|PACKAGE|SCHEMA)\b
      | (?:ALTER|DROP)\s+(?:TABLE|VIEW|INDEX|SEQUENCE|FUNCTION|PROCEDURE|TRIGGER)\b
      | DECLARE\s*$ | DELIMITER\s+\S )""",
    re.I | re.M | re.X,
)
_FIELDS = ("sql", "answer", "query", "result", "statement", "optimized_sql", "rewritten_sql")
_MARK = re.compile(r"^[ \t]*```[^\n]*$", re.M)


class SqlAnswer(Record, frozen=True):
    """`sql` is the text found, "" if `kind` is none."""

    kind: Kind
    sql: str = ""


def read_sql(text: str) -> SqlAnswer:
    """The SQL of an answer; among several fences the last, since models correct themselves."""
    whole = text.strip()
    rest = without_reasoning(text)[-LIMIT:].strip()
    if rest == whole and _SQL.match(whole) and "```" not in whole:
        return SqlAnswer(kind="strict", sql=whole)
    found = _in_json(rest) or _in_fences(rest) or _after_prose(rest)
    return SqlAnswer(kind="lenient", sql=found) if found else SqlAnswer(kind="none")


def _in_fences(text: str) -> str:
    blocks = [block for block in fenced(text) if block]
    return next((b for b in reversed(blocks) if _SQL.match(b)), "") or next(
        (found for block in reversed(blocks) if (found := _in_json(block))), ""
    )


def _in_json(text: str) -> str:
    """The one field of an object that holds SQL."""
    if not text.startswith("{"):
        return ""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    fields = {str(name).lower(): item for name, item in value.items()}
    for name in (*_FIELDS, *fields):
        item = fields.get(name)
        if isinstance(item, str) and _SQL.match(item):
            return item.strip()
    return ""


def _after_prose(text: str) -> str:
    """From the first line that is SQL; an unclosed fence mark and what follows one is cut."""
    if _SQL.match(text) and "```" not in text:
        return text
    found = _SQL_LINE.search(text)
    if found is None:
        return ""
    return _MARK.split(text[found.start() :])[0].strip()
