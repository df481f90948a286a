"""Reading the cases of `sql_understanding`: SCALE's files unchanged, and our own superset.

SCALE fields (actiontech/sql-llm-benchmark, datasets of 2026): case_id, difficulty_level "1".."3",
create_table_statements, insert_statements, sql, expected, and dialect in the plan cases only; its
cases are MySQL. Ours add dialect, order_matters, provenance and counterexamples to every case.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from evalcore import jsonl
from evalcore.benchmarks.base import DatasetSource
from evalcore.errors import DatasetError, UsageError
from evalcore.records import Sample
from evalcore.sqlkit.dialects import TITLES, dialect_name

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


def load(source: DatasetSource, mode: str) -> list[Sample]:
    """The samples of a folder of `<metric>.jsonl` files, or of one such file.

    Raises DatasetError naming file, line and field.
    """
    samples: dict[str, Sample] = {}
    for path in _files(source):
        for number, row in jsonl.rows(path):
            sample = _sample(path, number, row, mode)
            if source.metrics and sample.metric not in source.metrics:
                continue
            if sample.key in samples:
                raise DatasetError(path, number, "case_id", f"{sample.id!r} stands here twice")
            samples[sample.key] = sample
    return list(samples.values())


def _files(source: DatasetSource) -> list[Path]:
    place = source.folder
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise DatasetError(place, None, "", "no such file or folder")
    wanted = source.metrics or METRICS
    files = [place / f"{metric}.jsonl" for metric in METRICS if metric in wanted]
    found = [path for path in files if path.is_file()]
    if not found:
        names = ", ".join(path.name for path in files)
        raise DatasetError(place, None, "", f"holds none of: {names}")
    return found


def _sample(path: Path, number: int, row: dict[str, Any], mode: str) -> Sample:
    metric = row.get("metric", path.stem)
    if metric not in METRICS:
        problem = f"{metric!r} is none of: {', '.join(METRICS)} (name the file after its metric)"
        raise DatasetError(path, number, "metric", problem)
    sql = _text(path, number, row, "sql")
    expected = _expected(path, number, row, metric, mode)
    dialect = _dialect(path, number, row)
    content: dict[str, Any] = {
        "dialect": dialect,
        "schema": _statements(path, number, row, "create_table_statements"),
        "data": _statements(path, number, row, "insert_statements"),
        "sql": sql,
    }
    provenance = row.get("provenance", {})
    if metric == "explain_detection" and isinstance(provenance, dict) and "engine" in provenance:
        content["engine"] = _engine_title(str(provenance["engine"]))  # a plan depends on it
    reference: dict[str, Any] = {"expected": expected}
    if metric == "execution_accuracy":
        reference["ordered"] = _ordered(path, number, row, dialect, expected)
    return Sample(
        metric=metric,
        id=_identity(path, number, row),
        input=content,
        reference=reference,
        difficulty=_difficulty(path, number, row),
        meta={
            "provenance": provenance,
            "counterexamples": _list(path, number, row, "counterexamples"),
            "source": f"{path.name}:{number}",
        },
    )


def _engine_title(engine: str) -> str:
    """ "sqlite 3.40.1" as people write it: "SQLite 3.40.1"."""
    name, _, version = engine.partition(" ")
    return f"{TITLES.get(name, name)} {version}".strip()


def _identity(path: Path, number: int, row: dict[str, Any]) -> str:
    value = row.get("case_id")
    if not isinstance(value, str | int) or isinstance(value, bool) or not str(value).strip():
        raise DatasetError(path, number, "case_id", "is missing or no text")
    return str(value)


def _text(path: Path, number: int, row: dict[str, Any], field: str) -> str:
    value = row.get(field)
    if not isinstance(value, str) or not value.strip():
        raise DatasetError(path, number, field, "is missing or no text")
    return value


def _statements(path: Path, number: int, row: dict[str, Any], field: str) -> list[str]:
    value = row.get(field, [])
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DatasetError(path, number, field, "must be a list of SQL texts")
    return value


def _list(path: Path, number: int, row: dict[str, Any], field: str) -> list[Any]:
    value = row.get(field, [])
    if not isinstance(value, list):
        raise DatasetError(path, number, field, "must be a list")
    return value


def _difficulty(path: Path, number: int, row: dict[str, Any]) -> int:
    value = str(row.get("difficulty_level", ""))
    if value not in ("1", "2", "3"):
        raise DatasetError(path, number, "difficulty_level", f'{value!r} must be "1", "2" or "3"')
    return int(value)


def _dialect(path: Path, number: int, row: dict[str, Any]) -> str:
    try:
        return dialect_name(str(row.get("dialect", SCALE_DIALECT)))
    except UsageError as error:
        raise DatasetError(path, number, "dialect", str(error)) from None


def _expected(
    path: Path, number: int, row: dict[str, Any], metric: str, mode: str
) -> dict[str, Any]:
    expected = row.get("expected")
    if not isinstance(expected, dict):
        raise DatasetError(path, number, "expected", "is missing or no JSON object")
    if mode == "scale":  # the published rule compares whatever fields there are
        return expected
    for fields in EXPECTED[metric]:
        if all(field in expected for field in fields):
            break
    else:
        shapes = " or ".join("{" + ", ".join(fields) + "}" for fields in EXPECTED[metric])
        raise DatasetError(path, number, "expected", f"needs the fields {shapes}")
    if metric == "explain_detection" and "steps" not in expected:
        raise DatasetError(
            path,
            number,
            "expected",
            "a MySQL EXPLAIN row cannot be confirmed by an engine here; "
            "use --option sql_understanding.mode=scale",
        )
    if metric == "execution_accuracy":
        _check_table(path, number, expected)
    if metric == "explain_detection" and not isinstance(expected["steps"], list):
        raise DatasetError(path, number, "expected.steps", "must be a list")
    return expected


def _check_table(path: Path, number: int, expected: dict[str, Any]) -> None:
    columns, rows = expected["columns"], expected["rows"]
    if not isinstance(columns, list) or not isinstance(rows, list):
        raise DatasetError(path, number, "expected", "columns and rows must be lists")
    for row in rows:
        if not isinstance(row, list) or len(row) != len(columns):
            problem = f"row {row!r} has not one value for each of {len(columns)} columns"
            raise DatasetError(path, number, "expected.rows", problem)


def _ordered(
    path: Path, number: int, row: dict[str, Any], dialect: str, expected: dict[str, Any]
) -> bool:
    if "order_matters" in row:
        if not isinstance(row["order_matters"], bool):
            raise DatasetError(path, number, "order_matters", "must be true or false")
        return bool(row["order_matters"])
    return expected.get("result_type") == "select" and _orders(row["sql"], dialect)


@cache
def _orders(sql: str, dialect: str) -> bool:
    """Whether the outermost query has an ORDER BY; a text that does not parse has none."""
    import sqlglot
    from sqlglot import exp

    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return False
    return isinstance(tree, exp.Query) and tree.args.get("order") is not None
