"""How the baselines understand a statement: engines run and explain it, sqlglot reads it.

A statement of another dialect is transpiled to the engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evalcore.records import GenerationRequest
from evalcore.sqlkit import query_plans, syntax
from evalcore.sqlkit.engines import Execution
from evalcore.targets.baseline import Baseline

Question = Mapping[str, Any]
_PLAN_ENGINE = "sqlite"  # the engine whose plans are read
_CONSTANT: dict[str, dict[str, Any]] = {
    "execution_accuracy": {"columns": ["count"], "rows": [[0]]},
    "sql_identification": {"sql_type": "DML", "statement_type": "SELECT"},
    "explain_detection": {"steps": [], "temp_sort": False},
    "syntax_error_detection": {"has_syntax_error": "no"},
}


def answer_sample(request: GenerationRequest, baseline: Baseline) -> dict[str, Any] | None:
    """The answer of a baseline, None where it has none; see `BenchmarkCard.baselines`."""
    metric = request.input.get("metric", "")
    if baseline.is_constant:
        return _CONSTANT.get(metric)
    predict = _SOLVERS.get(metric)
    return predict(request.input, baseline) if predict else None


def _predict_table(question: Question, baseline: Baseline) -> dict[str, Any] | None:
    execution = _execute_question(question, baseline)
    if execution.table is None:
        return None
    changed = syntax.find_changed_table(question["sql"], question["dialect"])
    kind: dict[str, Any] = {"result_type": "select"}
    if changed:
        kind = {"result_type": "table_state", "table_name": changed}
    return {
        **kind,
        "columns": list(execution.table.columns),
        "rows": [*map(list, execution.table.rows)],
    }


def _execute_question(question: Question, baseline: Baseline) -> Execution:
    dialect = question["dialect"]
    engine = baseline.engine_for_dialect(dialect)
    setup = [
        syntax.transpile_sql(statement, dialect, engine.name)
        for statement in (*question["schema"], *question["data"])
    ]
    sql = syntax.transpile_sql(question["sql"], dialect, engine.name)
    return engine.execute(setup, sql, state_of=syntax.find_changed_table(question["sql"], dialect))


def _predict_statement_class(question: Question, baseline: Baseline) -> dict[str, Any] | None:
    statement_class = syntax.classify_statement(question["sql"], question["dialect"])
    if statement_class is None:
        return None
    return {"sql_type": statement_class[0], "statement_type": statement_class[1]}


def _predict_plan(question: Question, baseline: Baseline) -> dict[str, Any] | None:
    if question["dialect"] != _PLAN_ENGINE or baseline.engine not in ("", _PLAN_ENGINE):
        return None
    execution = baseline.engine_for_dialect(_PLAN_ENGINE).explain(
        [*question["schema"], *question["data"]], question["sql"]
    )
    return query_plans.sqlite_steps(execution.table.rows) if execution.table else None


def _predict_syntax_error(question: Question, baseline: Baseline) -> dict[str, Any]:
    valid, _ = syntax.check_well_formed(question["sql"], question["dialect"])
    return {"has_syntax_error": "no" if valid else "yes"}


_SOLVERS: dict[str, Callable[[Question, Baseline], dict[str, Any] | None]] = {
    "execution_accuracy": _predict_table,
    "sql_identification": _predict_statement_class,
    "explain_detection": _predict_plan,
    "syntax_error_detection": _predict_syntax_error,
}
