"""Reading the cases of `dialect_conversion`: SCALE's files unchanged, and our own superset.

SCALE fields: case_id, difficulty_level, source_dialect, target_dialect (with its version),
key_info, sql; its `China-made_database` is our `domestic_database`. Ours add target_version, schema
and source_schema (DDL), reference, variants, counterexamples, and what steers the comparison:
data, calls, state_of, ordered.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalcore.benchmarks import case_file
from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.case_file import Line
from evalcore.errors import UsageError
from evalcore.records import Sample
from evalcore.sqlkit.dialects import Server, parse_server
from evalcore.sqlkit.rewrite import find_changed_table

METRICS = (
    "logical_equivalence",
    "syntax_error_detection",
    "domestic_database",
    "big_sql_conversion",
)
_RENAMED = {"China-made_database": "domestic_database"}
_FILES = {metric: (metric,) for metric in METRICS} | {old: (new,) for old, new in _RENAMED.items()}


def load(source: DatasetSource) -> list[Sample]:
    """The samples of a folder of `<metric>.jsonl` files, or of one such file.

    Raises DatasetError naming file, line and field.
    """

    def read(line: Line, stem: str) -> Iterator[Sample]:
        yield _sample(line, _RENAMED.get(stem, stem))

    return case_file.load(source, _FILES, read)


def _sample(line: Line, metric: str) -> Sample:
    source, target = _server(line, "source_dialect"), _server(line, "target_dialect")
    return Sample(
        metric=metric,
        id=line.identity(),
        input={
            "source_dialect": source.name,
            "target_dialect": target.name,
            "source_schema": line.texts("source_schema"),
            "schema": line.texts("schema"),
            "sql": line.text("sql"),
        },
        reference=_reference(line, source, target),
        difficulty=line.difficulty(),
        meta={
            "variants": line.texts("variants"),
            "counterexamples": line.texts("counterexamples"),
            "traits": line.items("traits"),
            "note": line.optional_text("note"),
            "source": line.source,
        },
    )


def _server(line: Line, field: str) -> Server:
    version = line.optional_text("target_version") if field == "target_dialect" else ""
    try:
        return parse_server(line.text(field), version)
    except UsageError as error:
        line.wrong(field, str(error))


def _reference(line: Line, source: Server, target: Server) -> dict[str, Any]:
    """What the scorer knows: who runs it, and against what. SCALE's cases have no reference."""
    told: dict[str, Any] = {
        "engine": target.engine,
        "dialect": target.dialect,
        "title": target.title,
        "version": target.version,
        "source": source.dialect,
        "reference": line.optional_text("reference"),
    }
    if told["reference"]:
        calls = line.texts("calls")
        changed = find_changed_table(told["reference"], target.dialect)
        told |= {
            "data": _data(line),
            "calls": calls,
            "state_of": line.texts("state_of") or ([changed] if changed and not calls else []),
            "ordered": line.truth("ordered"),
        }
    return told


def _data(line: Line) -> list[list[str]]:
    data = line.items("data")
    for script in data:
        if not isinstance(script, list) or not all(isinstance(text, str) for text in script):
            line.wrong("data", "must be a list of databases, each a list of INSERT statements")
    return data
