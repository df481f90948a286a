"""The cosmetic controls: what they answer, and what they can be run on."""

from __future__ import annotations

import pytest

from evalcore.errors import UsageError
from evalcore.runner.plan import plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Settings
from evalcore.sqlkit.syntax import disguise_query


@pytest.mark.parametrize(
    ("kind", "dialect", "sql", "expected"),
    [
        ("cte", "postgres", "SELECT a FROM t", "WITH q AS (SELECT a FROM t) SELECT * FROM q"),
        ("limit", "mysql", "SELECT a FROM t", "SELECT a FROM t LIMIT 1000"),
        ("limit", "tsql", "SELECT a FROM t", "SELECT TOP 1000 a FROM t"),
        ("limit", "mysql", "SELECT a FROM t LIMIT 5", "SELECT a FROM t LIMIT 5"),
        ("tautology", "sqlite", "SELECT a FROM t", "SELECT a FROM t WHERE 1 = 1"),
        ("tautology", "mysql", "SELECT 1 UNION SELECT 2", "SELECT 1 WHERE 1 = 1 UNION SELECT 2"),
        ("cte", "mysql", "not sql (", "not sql ("),
    ],
)
def test_a_disguise_changes_the_form_alone(
    kind: str, dialect: str, sql: str, expected: str
) -> None:
    assert disguise_query(kind, sql, dialect) == expected


def test_a_cosmetic_control_answers_nothing_but_rewrites() -> None:
    with pytest.raises(UsageError, match=r"cannot answer sql_understanding.*sql_optimization"):
        plan_run(RunRequest(target="control:cte", benchmarks=("sql_understanding",)), Settings())
