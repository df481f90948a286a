"""The built-in baselines answer each kind of question from the structured input alone."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.records import GenerationRequest, TargetSpec
from evalcore.targets.base import Control
from evalcore.targets.baseline import Baseline


@pytest.fixture
async def sqlglot() -> AsyncIterator[Baseline]:
    target = Baseline(TargetSpec(key="baseline:sqlglot"))
    yield target
    await target.close()


async def ask(target: Baseline, metric: str, sql: str, **args: Any) -> Any:
    values = {"dialect": "sqlite", "schema": [], "data": [], **args}
    request = GenerationRequest(
        messages=(),
        input={"benchmark": "sql_understanding", "metric": metric, "sql": sql, **values},
    )
    text = (await target.generate(request)).text
    return json.loads(text) if text else None


async def test_queries_are_run(sqlglot: Baseline) -> None:
    options = {"schema": ["CREATE TABLE t (a INT)"], "data": ["INSERT INTO t VALUES (1), (NULL)"]}
    reply = await ask(sqlglot, "execution_accuracy", "SELECT COUNT(a) AS n FROM t", **options)
    assert reply == {"result_type": "select", "columns": ["n"], "rows": [[1]]}
    reply = await ask(sqlglot, "execution_accuracy", "UPDATE t SET a = 7 WHERE a = 1", **options)
    assert (reply["result_type"], reply["table_name"]) == ("table_state", "t")
    assert sorted(reply["rows"], key=str) == [[7], [None]]


async def test_another_dialect_is_transpiled(sqlglot: Baseline) -> None:
    sql = "SELECT IFNULL(`a`, 0) AS n FROM t LIMIT 1"
    reply = await ask(
        sqlglot,
        "execution_accuracy",
        sql,
        dialect="mysql",
        schema=["CREATE TABLE t (a INT PRIMARY KEY AUTO_INCREMENT)"],
        data=["INSERT INTO t VALUES (5)"],
    )
    assert reply["rows"] == [[5]]


async def test_classes_plans_and_syntax(sqlglot: Baseline) -> None:
    assert await ask(sqlglot, "sql_identification", "DROP TABLE t") == {
        "sql_type": "DDL",
        "statement_type": "DROP",
    }
    plan = await ask(
        sqlglot,
        "explain_detection",
        "SELECT * FROM t WHERE a = 1",
        schema=["CREATE TABLE t (a INT)", "CREATE INDEX t_a ON t (a)"],
    )
    assert plan["steps"] == [{"table": "t", "access": "search", "index": "t_a"}]
    for sql, wrong in (("SELECT 1", "no"), ("SELEC 1 FROM", "yes")):
        assert await ask(sqlglot, "syntax_error_detection", sql) == {"has_syntax_error": wrong}


async def test_what_it_cannot_answer_stays_empty(sqlglot: Baseline) -> None:
    assert await ask(sqlglot, "execution_accuracy", "SELECT * FROM nowhere") is None
    assert await ask(sqlglot, "explain_detection", "SELECT 1", dialect="mysql") is None
    assert await ask(sqlglot, "poetry", "SELECT 1") is None


async def test_the_constant_needs_no_engine() -> None:
    target = Baseline(TargetSpec(key="baseline:constant"))
    assert await ask(target, "syntax_error_detection", "x") == {"has_syntax_error": "no"}
    assert target._engines == {}


def test_unknown_names_and_options_are_refused() -> None:
    with pytest.raises(UsageError, match="baseline:sqlglot"):
        Baseline(TargetSpec(key="baseline:magic"))
    with pytest.raises(UsageError, match="has no options"):
        Baseline(TargetSpec(key="baseline:sqlglot", options={"temperature": 1}))
    with pytest.raises(UsageError, match="control:null"):
        Control(TargetSpec(key="control:magic"))


async def test_a_control_never_answers_by_itself() -> None:
    with pytest.raises(EnvironmentFailure):
        await Control(TargetSpec(key="control:reference")).generate(GenerationRequest(messages=()))
