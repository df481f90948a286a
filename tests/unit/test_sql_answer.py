"""Finding SQL in free answers: strict, lenient, none; hostile texts in linear time."""

from __future__ import annotations

import pytest

from evalcore.benchmarks.sql_answer import extract_sql
from tests.support.hangs import stop_hang

STRICT = [
    "SELECT 1",
    "  \nselect a from t;\n",
    "-- first the dates\n/* and more */ (SELECT 1) UNION (SELECT 2)",
    "WITH a AS (SELECT 1) SELECT * FROM a",
    "CREATE OR REPLACE PROCEDURE p() LANGUAGE sql AS $$ SELECT 1 $$",
    "DELIMITER $$\nCREATE PROCEDURE p() BEGIN SELECT 1; END$$",
]


@pytest.mark.parametrize("text", STRICT)
def test_an_answer_that_is_sql_is_strict(text: str) -> None:
    sql = extract_sql(text)
    assert (sql.kind, sql.sql) == ("strict", text.strip())


LENIENT = [
    ("```sql\nSELECT 1;\n```", "SELECT 1;"),
    ("First:\n```sql\nSELECT 1\n```\nBetter:\n```\nSELECT 2\n```", "SELECT 2"),
    ("```sql\nSELECT 1", "SELECT 1"),
    ("Here you are:\n\nSELECT a\nFROM t;", "SELECT a\nFROM t;"),
    ("It is\nWITH a AS (\n SELECT 1)\nSELECT * FROM a", "WITH a AS (\n SELECT 1)\nSELECT * FROM a"),
    ("<think>SELECT no</think>SELECT yes", "SELECT yes"),
    ("SELECT maybe</think>\nSELECT yes", "SELECT yes"),
    ('{"sql": "SELECT 1"}', "SELECT 1"),
    ('{"note": "better", "rewritten_sql": "SELECT 2"}', "SELECT 2"),
    ('```json\n{"sql": "SELECT 3"}\n```', "SELECT 3"),
]


@pytest.mark.parametrize(("text", "sql"), LENIENT)
def test_sql_is_found_in_fences_json_and_prose(text: str, sql: str) -> None:
    actual_sql = extract_sql(text)
    assert (actual_sql.kind, actual_sql.sql) == ("lenient", sql)


NONE = [
    "",
    "I cannot help with that.",
    '{"query_block": {"select_id": 1, "cost_info": {"query_cost": "4.35"}}}',
    "| id | select_type | table |\n|---|---|---|\n| 1 | SIMPLE | t |",
    "```\nnothing here\n```",
    '{"sql": 5}',
    "{" * 50_000,
]


@pytest.mark.parametrize("text", NONE)
def test_plans_prose_and_noise_are_no_sql(text: str) -> None:
    assert extract_sql(text).kind == "none"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "text",
    [
        "/*" * 200_000,
        "WITH a " * 50_000,
        "UPDATE x " * 50_000,
        "```" * 100_000,
        "CREATE OR REPLACE " * 50_000,
        "(" * 300_000,
        "<think>" * 100_000,
        "-- c\n" * 100_000,
        "-" * 200_000,
        ";" * 200_000,
        '\\"' * 100_000,
    ],
)
def test_hostile_answers_take_no_long_time(text: str) -> None:
    with stop_hang():
        extract_sql(text)
        extract_sql("x" + text)
        extract_sql(text + "\nSELECT a FROM t")
