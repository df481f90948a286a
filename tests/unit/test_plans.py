"""Reading SQLite's query plans, from recorded details and from the engine itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from evalcore.sqlkit.engines import Engine
from evalcore.sqlkit.engines.registry import open_engine
from evalcore.sqlkit.query_plans import sqlite_steps

Step = tuple[str, str, str | None]


def read(*details: str) -> tuple[list[Step], bool]:
    plan = sqlite_steps([(place, 0, detail) for place, detail in enumerate(details)])
    return [(s["table"], s["access"], s["index"]) for s in plan["steps"]], plan["temp_sort"]


DETAILS: list[tuple[str, Step | None]] = [
    ("SCAN t", ("t", "scan", None)),
    ("SCAN TABLE t", ("t", "scan", None)),
    ("SCAN TABLE t AS x", ("x", "scan", None)),
    ("SCAN odd name", ("odd name", "scan", None)),
    ("SCAN (subquery-2)", ("(subquery-2)", "scan", None)),
    ("SCAN t USING INDEX ia", ("t", "scan", "ia")),
    ("SCAN t USING COVERING INDEX ia", ("t", "scan", "ia")),
    ("SCAN u LEFT-JOIN", ("u", "scan", None)),
    ("SCAN f VIRTUAL TABLE INDEX 0:M1", ("f", "scan", None)),
    ("SEARCH t USING INDEX ia (a=?)", ("t", "search", "ia")),
    ("SEARCH t USING INDEX ia (a>? AND a<?)", ("t", "search", "ia")),
    ("SEARCH t USING INDEX ia (ANY(a) AND b=?)", ("t", "search", "ia")),
    ("SEARCH t USING COVERING INDEX ia", ("t", "search", "ia")),
    ("SEARCH t USING INTEGER PRIMARY KEY (rowid=?)", ("t", "search", "PRIMARY KEY")),
    ("SEARCH w USING PRIMARY KEY (k=?)", ("w", "search", "PRIMARY KEY")),
    ("SEARCH u USING INDEX sqlite_autoindex_u_1 (k=?)", ("u", "search", "PRIMARY KEY")),
    ("SEARCH u USING COVERING INDEX sqlite_autoindex_u_1 (k=?)", ("u", "search", "PRIMARY KEY")),
    ("SEARCH u USING AUTOMATIC COVERING INDEX (x=?) LEFT-JOIN", ("u", "search", "AUTOMATIC")),
    ("SEARCH u USING AUTOMATIC PARTIAL COVERING INDEX (x=?)", ("u", "search", "AUTOMATIC")),
    ("SCAN CONSTANT ROW", None),
    ("SCAN 2 CONSTANT ROWS", None),
    ("CO-ROUTINE s", None),
    ("MULTI-INDEX OR", None),
    ("USING INDEX tab FOR IN-OPERATOR", None),
]


@pytest.mark.parametrize(("detail", "step"), DETAILS)
def test_detail(detail: str, step: Step | None) -> None:
    assert read(detail) == ([step] if step else [], False)


def test_order_of_steps_and_temporary_sort() -> None:
    steps, temp_sort = read(
        "SCAN a", "SEARCH b USING INDEX ib (x=?)", "USE TEMP B-TREE FOR ORDER BY"
    )
    assert [step[0] for step in steps] == ["a", "b"]
    assert temp_sort
    assert read("SCAN a", "USE TEMP B-TREE FOR RIGHT PART OF ORDER BY")[1]


SETUP = [
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT, b TEXT); CREATE INDEX ia ON t (a);"
    "CREATE TABLE u (k TEXT PRIMARY KEY, x INT)"
]
QUERIES: list[tuple[str, list[Step], bool]] = [
    ("SELECT * FROM t WHERE a = 1", [("t", "search", "ia")], False),
    ("SELECT * FROM t AS z ORDER BY b", [("z", "scan", None)], True),
    (
        "SELECT * FROM u JOIN t ON t.id = u.x WHERE u.k = 'a'",
        [("u", "search", "PRIMARY KEY"), ("t", "search", "PRIMARY KEY")],
        False,
    ),
    (
        "SELECT * FROM t LEFT JOIN u ON u.x = t.a",
        [("t", "scan", None), ("u", "search", "AUTOMATIC")],
        False,
    ),
    ("UPDATE t SET b = '' WHERE a = 1", [("t", "search", "ia")], False),
    ("SELECT 1", [], False),
]


@pytest.fixture(scope="module")
def sqlite() -> Iterator[Engine]:
    with open_engine("sqlite") as engine:
        yield engine


@pytest.mark.parametrize(("sql", "steps", "temp_sort"), QUERIES)
def test_plan_of_the_engine(sqlite: Engine, sql: str, steps: list[Step], temp_sort: bool) -> None:
    table = sqlite.explain(SETUP, sql).table
    assert table is not None
    assert table.columns == ("id", "parent", "detail")
    found: dict[str, Any] = sqlite_steps(table.rows)
    assert [(s["table"], s["access"], s["index"]) for s in found["steps"]] == steps
    assert found["temp_sort"] is temp_sort
