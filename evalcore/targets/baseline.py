"""`baseline:sqlglot` and its kin: programs that compete without a language model.

They answer from the structured input of a request, never from a reference: statements are run on an
embedded engine (transpiled to it where their dialect is another), classes, syntax, conversions and
rewrites come from sqlglot, calls of functions from common words. They can be wrong: a dialect's own
rules may be lost in transpiling, and sqlglot accepts more than the engines do.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

from evalcore.errors import TargetFailure, UsageError
from evalcore.records import Completion, Failure, GenerationRequest, Record, TargetSpec
from evalcore.sqlkit import plans, rewrite, syntax
from evalcore.sqlkit.dialects import parse_server
from evalcore.sqlkit.engines import registry
from evalcore.sqlkit.engines.base import Engine, Execution
from evalcore.targets import baseline_calls
from evalcore.targets import baseline_tuning as tuning
from evalcore.targets.base import TargetInfo

_UNDERSTANDING = "sql_understanding"
_SQL_BENCHMARKS = (_UNDERSTANDING, "dialect_conversion", "sql_optimization")


class _Variant(Record, frozen=True):
    """`engine` empty: the engine of the statement's dialect; `constant`: one answer for all."""

    title: str
    engine: str = ""
    constant: bool = False
    answers: tuple[str, ...] = _SQL_BENCHMARKS


VARIANTS: dict[str, _Variant] = {
    "sqlglot": _Variant(title="sqlglot and the dialect's engine"),
    "sqlite": _Variant(title="SQLite for every dialect", engine="sqlite"),
    "duckdb": _Variant(title="DuckDB for every dialect", engine="duckdb"),
    "constant": _Variant(title="One constant answer per question", constant=True),
    "keywords": _Variant(title="The function with most words in common", answers=("bfcl",)),
}
BaselineAnswer = dict[str, Any] | str | None
_EMBEDDED = ("sqlite", "duckdb")
_CONSTANT_SQL = "SELECT 1"
_CONSTANT: dict[str, dict[str, Any]] = {
    "execution_accuracy": {"columns": ["count"], "rows": [[0]]},
    "sql_identification": {"sql_type": "DML", "statement_type": "SELECT"},
    "explain_detection": {"steps": [], "temp_sort": False},
    "syntax_error_detection": {"has_syntax_error": "no"},
}


class Baseline:
    """One of `VARIANTS`; engines are started on first use and kept for the run."""

    def __init__(self, spec: TargetSpec) -> None:
        name = spec.key.partition(":")[2]
        if name not in VARIANTS:
            available = ", ".join(f"baseline:{available}" for available in VARIANTS)
            raise UsageError(f"unknown target {spec.key!r}; known: {available}")
        if spec.options:
            raise UsageError(f"{spec.key} takes no options, got: {', '.join(spec.options)}")
        self.key = spec.key
        self._variant = VARIANTS[name]
        self._engines: dict[str, Engine] = {}
        self._opening = threading.Lock()
        self.info = TargetInfo(
            kind="baseline", title=self._variant.title, max_in_flight=4, start_in_flight=4
        )

    async def open(self, progress: Callable[[str], None]) -> None:
        """Engines start when they are first needed."""

    async def generate(self, request: GenerationRequest) -> Completion:
        """The answer as SQL, JSON or a call; empty where this baseline has none.

        Raises TargetFailure for a benchmark that it knows nothing of.
        """
        benchmark = request.input.get("benchmark", "")
        if benchmark not in self._variant.answers:
            benchmarks = ", ".join(self._variant.answers)
            message = f"{self.key} answers {benchmarks}, not {benchmark}"
            raise TargetFailure(Failure(kind="permanent", message=message))
        if benchmark == "bfcl":
            return Completion(
                text=baseline_calls.build_keyword_call(request.input, request.messages)
            )
        answer = await asyncio.to_thread(self._answer_sample, request.input)
        if isinstance(answer, str):
            return Completion(text=answer)
        return Completion(text=json.dumps(answer, ensure_ascii=False) if answer else "")

    async def close(self) -> None:
        for engine in self._engines.values():
            engine.close()
        self._engines.clear()

    def _answer_sample(self, sample_input: Mapping[str, Any]) -> BaselineAnswer:
        benchmark, metric = sample_input.get("benchmark", ""), sample_input.get("metric", "")
        if self._variant.constant:
            return _CONSTANT.get(metric) if benchmark == _UNDERSTANDING else _CONSTANT_SQL
        if benchmark == "dialect_conversion":
            return self._convert_dialect(sample_input)
        if benchmark == "sql_optimization":
            return self._tune_statement(sample_input)
        solver = _SOLVERS.get(metric) if benchmark == _UNDERSTANDING else None
        return solver(self, sample_input) if solver else None

    def _convert_dialect(self, sample_input: Mapping[str, Any]) -> str:
        source, target = (
            parse_server(sample_input["source_dialect"]),
            parse_server(sample_input["target_dialect"]),
        )
        return rewrite.transpile_sql(sample_input["sql"], source.dialect, target.dialect)

    def _tune_statement(self, sample_input: Mapping[str, Any]) -> str:
        tune = (
            tuning.advise_indexes
            if sample_input["metric"] == "index_advice"
            else tuning.optimize_statement
        )
        return tune(
            sample_input["sql"],
            parse_server(sample_input["dialect"]).dialect,
            sample_input["schema"],
        )

    def _engine_for_dialect(self, dialect: str) -> Engine:
        name = self._variant.engine or (dialect if dialect in _EMBEDDED else "sqlite")
        with self._opening:  # answers are made in several threads
            if name not in self._engines:
                self._engines[name] = registry.open_engine(name)
            return self._engines[name]

    def _execute_sample(self, sample_input: Mapping[str, Any]) -> Execution:
        dialect = sample_input["dialect"]
        engine = self._engine_for_dialect(dialect)
        setup = [
            rewrite.transpile_sql(statement, dialect, engine.name)
            for statement in (*sample_input["schema"], *sample_input["data"])
        ]
        sql = rewrite.transpile_sql(sample_input["sql"], dialect, engine.name)
        return engine.execute(
            setup, sql, state_of=rewrite.find_changed_table(sample_input["sql"], dialect)
        )

    def _predict_table(self, sample_input: Mapping[str, Any]) -> dict[str, Any] | None:
        execution = self._execute_sample(sample_input)
        if execution.table is None:
            return None
        changed = rewrite.find_changed_table(sample_input["sql"], sample_input["dialect"])
        kind: dict[str, Any] = {"result_type": "select"}
        if changed:
            kind = {"result_type": "table_state", "table_name": changed}
        return {
            **kind,
            "columns": list(execution.table.columns),
            "rows": [*map(list, execution.table.rows)],
        }

    def _predict_statement_class(self, sample_input: Mapping[str, Any]) -> dict[str, Any] | None:
        statement_class = syntax.classify_statement(sample_input["sql"], sample_input["dialect"])
        return (
            {"sql_type": statement_class[0], "statement_type": statement_class[1]}
            if statement_class
            else None
        )

    def _predict_plan(self, sample_input: Mapping[str, Any]) -> dict[str, Any] | None:
        if sample_input["dialect"] != "sqlite" or self._variant.engine == "duckdb":
            return None
        execution = self._engine_for_dialect("sqlite").explain(
            [*sample_input["schema"], *sample_input["data"]], sample_input["sql"]
        )
        return plans.sqlite_steps(execution.table.rows) if execution.table else None

    def _predict_syntax_error(self, sample_input: Mapping[str, Any]) -> dict[str, Any]:
        valid, _ = syntax.check_well_formed(sample_input["sql"], sample_input["dialect"])
        return {"has_syntax_error": "no" if valid else "yes"}


_SOLVERS: dict[str, Callable[[Baseline, Mapping[str, Any]], dict[str, Any] | None]] = {
    "execution_accuracy": Baseline._predict_table,
    "sql_identification": Baseline._predict_statement_class,
    "explain_detection": Baseline._predict_plan,
    "syntax_error_detection": Baseline._predict_syntax_error,
}
