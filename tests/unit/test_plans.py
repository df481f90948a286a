"""Reading query plans of three engines, from recorded text and from SQLite itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from evalcore.sqlkit.engines import Engine
from evalcore.sqlkit.engines.registry import open_engine
from evalcore.sqlkit.query_plans import mysql_steps, postgres_steps, sqlite_steps

Step = tuple[str, str, str | None]


def read(*details: str) -> tuple[list[Step], bool]:
    plan = sqlite_steps([(folder, 0, detail) for folder, detail in enumerate(details)])
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
    steps_tree: dict[str, Any] = sqlite_steps(table.rows)
    assert [(s["table"], s["access"], s["index"]) for s in steps_tree["steps"]] == steps
    assert steps_tree["temp_sort"] is temp_sort


POSTGRES = """\
Sort  (cost=9.1..9.2 rows=3 width=62)
  Sort Key: c.w
  ->  Nested Loop  (cost=0.3..9.0 rows=3 width=62)
        ->  Index Scan using a_pkey on a  (cost=0.2..8.0 rows=1 width=62)
              Index Cond: (id = 5)
        ->  Bitmap Heap Scan on b x  (cost=0.0..1.0 rows=3 width=8)
              Recheck Cond: (a_id = 5)
              ->  Bitmap Index Scan on ix_b_a  (cost=0.0..1.0 rows=3 width=0)
                    Index Cond: (a_id = 5)
        ->  Index Only Scan Backward using ix_c on public.c  (cost=0.0..1.0 rows=3 width=8)
        ->  Seq Scan on "d e" f  (cost=0.0..1.0 rows=1 width=8)
              Filter: ((kind)::text = '->  Seq Scan on y  (cost'::text)
        ->  Function Scan on generate_series g  (cost=0.0..1.0 rows=1 width=8)"""


def test_postgres_steps_stand_from_top_to_bottom() -> None:
    plan = postgres_steps([(line,) for line in POSTGRES.splitlines()])
    assert [(s["table"], s["access"], s["index"]) for s in plan["steps"]] == [
        ("a", "search", "PRIMARY KEY"),
        ("x", "search", "ix_b_a"),
        ("public.c", "scan", "ix_c"),
        ("f", "scan", None),
    ]
    assert plan["temp_sort"] is True
    assert postgres_steps([("HashAggregate  (cost=1..2)",)])["temp_sort"] is True
    assert postgres_steps([("GroupAggregate  (cost=1..2)",)]) == {"steps": [], "temp_sort": False}


def test_mysql_steps_leave_out_what_is_no_table() -> None:
    def build_row(table: str | None, kind: str | None, key: str | None, extra: str) -> list[Any]:
        return [1, "SIMPLE", table, kind, None, key, None, None, "1", extra]

    plan = mysql_steps(
        [
            build_row("c", "const", "PRIMARY", ""),
            build_row("o", "index", "ix_o", "Using index"),
            build_row("<subquery2>", "eq_ref", "distinct_key", "Using filesort"),
            build_row("i", "ALL", None, "Using where; Using join buffer (flat, BNL join)"),
            build_row(None, None, None, "Impossible WHERE"),
        ]
    )
    assert [(s["table"], s["access"], s["index"]) for s in plan["steps"]] == [
        ("c", "search", "PRIMARY KEY"),
        ("o", "scan", "ix_o"),
        ("i", "scan", None),
    ]
    assert plan["temp_sort"] is False
    assert mysql_steps([build_row("c", "ALL", None, "Using temporary")])["temp_sort"] is True
