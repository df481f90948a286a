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
from evalcore.benchmarks.case_file import CaseLine
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


def load_conversion_samples(source: DatasetSource) -> list[Sample]:
    """The samples of a folder of `<metric>.jsonl` files, or of one such file.

    Raises DatasetError naming file, line and field.
    """

    def parse_line(line: CaseLine, stem: str) -> Iterator[Sample]:
        yield _build_conversion_sample(line, _RENAMED.get(stem, stem))

    return case_file.load_case_samples(source, _FILES, parse_line)


def _build_conversion_sample(line: CaseLine, metric: str) -> Sample:
    source, target = _parse_server(line, "source_dialect"), _parse_server(line, "target_dialect")
    return Sample(
        metric=metric,
        id=line.parse_case_id(),
        input={
            "source_dialect": source.name,
            "target_dialect": target.name,
            "source_schema": line.parse_text_list("source_schema"),
            "schema": line.parse_text_list("schema"),
            "sql": line.parse_text("sql"),
        },
        reference=_build_reference(line, source, target),
        difficulty=line.parse_difficulty(),
        meta={
            "variants": line.parse_text_list("variants"),
            "counterexamples": line.parse_text_list("counterexamples"),
            "traits": line.parse_list("traits"),
            "note": line.parse_optional_text("note"),
            "source": line.source,
        },
    )


def _parse_server(line: CaseLine, field: str) -> Server:
    version = line.parse_optional_text("target_version") if field == "target_dialect" else ""
    try:
        return parse_server(line.parse_text(field), version)
    except UsageError as error:
        line.raise_field_error(field, str(error))


def _build_reference(line: CaseLine, source: Server, target: Server) -> dict[str, Any]:
    """What the scorer knows: who runs it, and against what. SCALE's cases have no reference."""
    reference: dict[str, Any] = {
        "engine": target.engine,
        "dialect": target.dialect,
        "title": target.title,
        "version": target.version,
        "source": source.dialect,
        "reference": line.parse_optional_text("reference"),
    }
    if reference["reference"]:
        calls = line.parse_text_list("calls")
        changed = find_changed_table(reference["reference"], target.dialect)
        reference |= {
            "data": _parse_data_scripts(line),
            "calls": calls,
            "state_of": line.parse_text_list("state_of")
            or ([changed] if changed and not calls else []),
            "ordered": line.parse_bool("ordered"),
        }
    return reference


def _parse_data_scripts(line: CaseLine) -> list[list[str]]:
    data = line.parse_list("data")
    for script in data:
        if not isinstance(script, list) or not all(isinstance(text, str) for text in script):
            line.raise_field_error(
                "data", "must be a list of databases, each a list of INSERT statements"
            )
    return data
