"""Statements in another dialect, what they change and order, and orders made total."""

from __future__ import annotations

import re

import pytest

from evalcore.sqlkit.syntax import (
    build_tie_breakers,
    find_changed_table,
    has_order_by,
    transpile_sql,
    use_aria_engine,
)


def test_transpile_passes_on_what_it_cannot_read() -> None:
    assert transpile_sql("SELECT IFNULL(a, 0) FROM t", "mysql", "postgres") == (
        "SELECT COALESCE(a, 0) FROM t"
    )
    assert transpile_sql("SELECT FROM (", "mysql", "postgres") == "SELECT FROM ("
    assert transpile_sql("select  1", "mysql", "mysql") == "select  1"


@pytest.mark.parametrize(
    ("sql", "table"),
    [
        ("UPDATE sales.orders SET a = 1", "sales.orders"),
        ("INSERT INTO orders (a) SELECT 1", "orders"),
        ("DELETE FROM orders WHERE a = 1", "orders"),
        ("DELETE FROM orders RETURNING a", None),
        ("SELECT a FROM orders", None),
        ("DELETE FROM (", None),
    ],
)
def test_the_table_that_a_statement_changes(sql: str, table: str | None) -> None:
    assert find_changed_table(sql, "postgres") == table


@pytest.mark.parametrize(
    ("sql", "orders"),
    [
        ("SELECT a FROM t ORDER BY a", True),
        ("SELECT a FROM t UNION SELECT b FROM u ORDER BY 1", True),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a) AS s", False),
        ("SELECT RANK() OVER (ORDER BY a) FROM t", False),
        ("SELECT (", False),
    ],
)
def test_only_the_outermost_order_orders_rows(sql: str, orders: bool) -> None:
    assert has_order_by(sql, "postgres") is orders


BROKEN = [
    (
        "SELECT a, b FROM t ORDER BY a LIMIT 3",
        (
            "SELECT a, b FROM t ORDER BY a, 1, 2 LIMIT 3",
            "SELECT a, b FROM t ORDER BY a, 1 DESC, 2 DESC LIMIT 3",
        ),
    ),
    (
        "SELECT a, b FROM (SELECT a, b, ROW_NUMBER() OVER (ORDER BY a) AS n FROM t) AS s",
        (
            "SELECT a, b FROM (SELECT a, b, ROW_NUMBER() OVER (ORDER BY a, a, b) AS n FROM t) AS s",
            "SELECT a, b FROM (SELECT a, b, ROW_NUMBER() OVER (ORDER BY a, a DESC, b DESC) AS n "
            "FROM t) AS s",
        ),
    ),
    ("SELECT a, b FROM t", ()),
    ("SELECT a, RANK() OVER (ORDER BY a) FROM t", ()),
    ("SELECT a, b FROM t ORDER BY a FETCH FIRST 3 ROWS WITH TIES", ()),
    (
        "SELECT a, b FROM t ORDER BY a FETCH FIRST 3 ROWS ONLY",
        (
            "SELECT a, b FROM t ORDER BY a, 1, 2 FETCH FIRST 3 ROWS ONLY",
            "SELECT a, b FROM t ORDER BY a, 1 DESC, 2 DESC FETCH FIRST 3 ROWS ONLY",
        ),
    ),
    (
        "SELECT a, LAG(a) OVER (ORDER BY b) AS p FROM t ORDER BY a FETCH FIRST 3 ROWS WITH TIES",
        (
            "SELECT a, LAG(a) OVER (ORDER BY b, a) AS p FROM t ORDER BY a "
            "FETCH FIRST 3 ROWS WITH TIES",
            "SELECT a, LAG(a) OVER (ORDER BY b, a DESC) AS p FROM t ORDER BY a "
            "FETCH FIRST 3 ROWS WITH TIES",
        ),
    ),
    ("DELETE FROM t", ()),
    ("SELECT (", ()),
]


@pytest.mark.parametrize(("sql", "variants"), BROKEN)
def test_orders_are_made_total_in_two_ways(sql: str, variants: tuple[str, ...]) -> None:
    tie_breakers = build_tie_breakers(sql, "postgres", 2)
    assert tuple(re.sub(" ASC| NULLS (FIRST|LAST)", "", text) for text in tie_breakers) == variants


def test_tables_move_to_another_engine_of_mariadb() -> None:
    ddl = "CREATE TABLE t (a INT DEFAULT (1), b VARCHAR(9) DEFAULT ')') ENGINE=InnoDB COMMENT 'x'"
    assert use_aria_engine(ddl) == (
        "CREATE TABLE t (a INT DEFAULT (1), b VARCHAR(9) DEFAULT ')') ENGINE=Aria  COMMENT 'x'"
    )


@pytest.mark.parametrize(
    ("dialect", "orders"),
    [
        ("postgres", ("1 ASC", "1 DESC")),
        ("mysql", ("1 ASC", "1 DESC")),
        ("sqlite", ("1 ASC", "1 DESC")),
        ("duckdb", ("1 ASC", "1 DESC NULLS FIRST")),
    ],
)
def test_null_ends_one_total_order_and_begins_the_other(
    dialect: str, orders: tuple[str, str]
) -> None:
    """PostgreSQL has NULL after all values, MySQL and SQLite before them, DuckDB always last."""
    texts = build_tie_breakers("SELECT a FROM t ORDER BY a", dialect, 1)
    assert tuple(text.split(", ")[-1] for text in texts) == orders
