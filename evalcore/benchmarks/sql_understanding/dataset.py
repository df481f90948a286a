"""Reading the cases of `sql_understanding`: SCALE's files unchanged, and our own superset.

SCALE fields (actiontech/sql-llm-benchmark, datasets of 2026): case_id, difficulty_level "1".."3",
create_table_statements, insert_statements, sql, expected, and dialect in the plan cases only; its
cases are MySQL. Ours add dialect, order_matters, provenance and counterexamples to every case.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalcore.benchmarks import case_file
from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.case_file import CaseLine
from evalcore.records import Sample
from evalcore.sqlkit.dialects import TITLES
from evalcore.sqlkit.rewrite import has_order_by

METRICS = (
    "execution_accuracy",
    "sql_identification",
    "explain_detection",
    "syntax_error_detection",
)
#: Fields that each metric's `expected` must hold; plans come as ours or as SCALE's MySQL row.
EXPECTED: dict[str, tuple[tuple[str, ...], ...]] = {
    "execution_accuracy": (("result_type", "columns", "rows"),),
    "sql_identification": (("sql_type", "statement_type"),),
    "explain_detection": (("steps", "temp_sort"), ("type", "key")),
    "syntax_error_detection": (("has_syntax_error",),),
}
SCALE_DIALECT = "mysql"


def load_understanding_samples(source: DatasetSource, mode: str) -> list[Sample]:
    """The samples of a folder of `<metric>.jsonl` files, or of one such file.

    Raises DatasetError naming file, line and field.
    """

    def parse_line(line: CaseLine, metric: str) -> Iterator[Sample]:
        yield _build_understanding_sample(line, metric, mode)

    return case_file.load_case_samples(
        source, {metric: (metric,) for metric in METRICS}, parse_line
    )


def _build_understanding_sample(line: CaseLine, metric: str, mode: str) -> Sample:
    expected = _parse_expected(line, metric, mode)
    dialect = line.parse_dialect("dialect", SCALE_DIALECT)
    content: dict[str, Any] = {
        "dialect": dialect,
        "schema": line.parse_text_list("create_table_statements"),
        "data": line.parse_text_list("insert_statements"),
        "sql": line.parse_text("sql"),
    }
    provenance = line.row.get("provenance", {})
    if metric == "explain_detection" and isinstance(provenance, dict) and "engine" in provenance:
        content["engine"] = _engine_title(str(provenance["engine"]))  # a plan depends on it
    reference: dict[str, Any] = {"expected": expected}
    if metric == "execution_accuracy":
        reference["ordered"] = _is_ordered(line, dialect, expected)
    return Sample(
        metric=metric,
        id=line.parse_case_id(),
        input=content,
        reference=reference,
        difficulty=line.parse_difficulty(),
        meta={
            "provenance": provenance,
            "counterexamples": line.parse_list("counterexamples"),
            "source": line.source,
        },
    )


def _engine_title(engine: str) -> str:
    """ "sqlite 3.40.1" as people write it: "SQLite 3.40.1"."""
    name, _, version = engine.partition(" ")
    return f"{TITLES.get(name, name)} {version}".strip()


def _parse_expected(line: CaseLine, metric: str, mode: str) -> dict[str, Any]:
    expected = line.parse_object("expected")
    if mode == "scale":  # the published rule compares whatever fields there are
        return expected
    for fields in EXPECTED[metric]:
        if all(field in expected for field in fields):
            break
    else:
        shapes = " or ".join("{" + ", ".join(fields) + "}" for fields in EXPECTED[metric])
        line.raise_field_error("expected", f"needs the fields {shapes}")
    if metric == "explain_detection" and "steps" not in expected:
        line.raise_field_error(
            "expected",
            "a MySQL EXPLAIN row cannot be confirmed by an engine here; "
            "use --option sql_understanding.mode=scale",
        )
    if metric == "execution_accuracy":
        _check_table(line, expected)
    if metric == "explain_detection" and not isinstance(expected["steps"], list):
        line.raise_field_error("expected.steps", "must be a list")
    return expected


def _check_table(line: CaseLine, expected: dict[str, Any]) -> None:
    columns, rows = expected["columns"], expected["rows"]
    if not isinstance(columns, list) or not isinstance(rows, list):
        line.raise_field_error("expected", "columns and rows must be lists")
    for row in rows:
        if not isinstance(row, list) or len(row) != len(columns):
            problem = f"row {row!r} has not one value for each of {len(columns)} columns"
            line.raise_field_error("expected.rows", problem)


def _is_ordered(line: CaseLine, dialect: str, expected: dict[str, Any]) -> bool:
    order_matters = line.parse_bool("order_matters")
    if order_matters is not None:
        return order_matters
    return expected.get("result_type") == "select" and has_order_by(line.row["sql"], dialect)
