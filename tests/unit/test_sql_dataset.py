"""Reading case files: SCALE's unchanged, our own, and every kind of bad one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.sql_understanding.benchmark import SqlUnderstanding
from evalcore.errors import DatasetError
from tests.support.shared_data import shared_data

CASE = {
    "case_id": "1",
    "difficulty_level": "2",
    "create_table_statements": ["CREATE TABLE t (a INT)"],
    "insert_statements": ["INSERT INTO t VALUES (1)"],
    "sql": "SELECT a FROM t ORDER BY a",
    "expected": {"result_type": "select", "columns": ["a"], "rows": [[1]]},
}


def write(folder: Path, rows: list[Any], name: str = "execution_accuracy") -> Path:
    path = folder / f"{name}.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def load(path: Path, mode: str = "verified", metrics: tuple[str, ...] = ()) -> list[Any]:
    return SqlUnderstanding({"mode": mode}).load_dataset(
        DatasetSource(path=str(path), metrics=metrics)
    )


def test_scales_files_are_read_unchanged() -> None:
    samples = load(shared_data("scale/dataset/sql_understanding"), "scale")
    counts = {m: sum(s.metric == m for s in samples) for m in {s.metric for s in samples}}
    assert counts == {
        "execution_accuracy": 30,
        "explain_detection": 20,
        "syntax_error_detection": 30,
    }
    assert {s.input["dialect"] for s in samples} == {"mysql"}


def test_scales_plan_rows_need_scale_mode() -> None:
    folder = shared_data("scale/dataset/sql_understanding")
    with pytest.raises(DatasetError, match="mode=scale"):
        load(folder)
    assert len(load(folder, metrics=("execution_accuracy",))) == 30


def test_our_format_is_a_superset(tmp_path: Path) -> None:
    case = {
        **CASE,
        "dialect": "DuckDB",
        "order_matters": False,
        "provenance": {"engine": "duckdb 2.0.0"},
        "counterexamples": [{"columns": ["a"], "rows": []}],
    }
    (sample,) = load(write(tmp_path, [case]))
    assert sample.input["dialect"] == "duckdb"
    assert sample.reference["ordered"] is False
    assert sample.difficulty == 2
    assert sample.meta["counterexamples"]


@pytest.mark.parametrize(
    ("sql", "ordered"),
    [
        ("SELECT a FROM t ORDER BY a", True),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a) AS s", False),
        ("SELECT a FROM t UNION SELECT 2 ORDER BY 1", True),
        ("SELECT a FROM t", False),
    ],
)
def test_order_is_taken_from_the_outermost_query(tmp_path: Path, sql: str, ordered: bool) -> None:
    (sample,) = load(write(tmp_path, [{**CASE, "sql": sql}]))
    assert sample.reference["ordered"] is ordered


def test_a_plan_case_names_the_engine_and_version(tmp_path: Path) -> None:
    case = {
        **CASE,
        "dialect": "sqlite",
        "expected": {"steps": [], "temp_sort": False},
        "provenance": {"engine": "sqlite 3.40.1"},
    }
    benchmark = SqlUnderstanding({"mode": "verified"})
    (sample,) = load(write(tmp_path, [case], "explain_detection"))
    assert "SQLite 3.40.1" in benchmark.build_prompt(sample)[0].content


def without(field: str) -> dict[str, Any]:
    return {name: value for name, value in CASE.items() if name != field}


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ("{", ""),
        ("[1]", ""),
        (without("case_id"), "case_id"),
        ({**CASE, "case_id": True}, "case_id"),
        (without("sql"), "sql"),
        ({**CASE, "sql": 3}, "sql"),
        ({**CASE, "difficulty_level": "4"}, "difficulty_level"),
        ({**CASE, "difficulty_level": "N/A"}, "difficulty_level"),
        ({**CASE, "dialect": "Klingon"}, "dialect"),
        ({**CASE, "create_table_statements": [1]}, "create_table_statements"),
        ({**CASE, "order_matters": "yes"}, "order_matters"),
        (without("expected"), "expected"),
        ({**CASE, "expected": {"rows": []}}, "expected"),
        (
            {**CASE, "expected": {"result_type": "select", "columns": ["a"], "rows": [[1, 2]]}},
            "expected.rows",
        ),
        ({**CASE, "metric": "poetry"}, "metric"),
        ({**CASE, "counterexamples": 1}, "counterexamples"),
        (
            {
                **CASE,
                "metric": "explain_detection",
                "expected": {"steps": None, "temp_sort": False},
            },
            "expected.steps",
        ),
    ],
)
def test_a_bad_case_names_file_line_and_field(tmp_path: Path, row: Any, field: str) -> None:
    path = write(tmp_path, [CASE, row])
    with pytest.raises(DatasetError) as caught:
        load(path)
    assert caught.value.line == 2
    assert caught.value.field == field
    assert str(path) in str(caught.value)


def test_the_same_id_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="twice"):
        load(write(tmp_path, [CASE, CASE]))


def test_a_missing_or_empty_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no such"):
        load(tmp_path / "nowhere")
    with pytest.raises(DatasetError, match="contains none of"):
        load(tmp_path)


def test_binary_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "execution_accuracy.jsonl"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DatasetError, match="UTF-8"):
        load(path)
