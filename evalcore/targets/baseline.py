"""`baseline:sqlglot` and its kin: programs that compete without a language model.

They answer from the structured input of a request, never from a reference: statements are run on an
embedded engine (transpiled to it where their dialect is another), classes, syntax, conversions and
rewrites come from sqlglot, calls of functions from common words. They can be wrong: a dialect's own
rules may be lost in transpiling, and sqlglot accepts more than the engines do.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
import sqlglot
from sqlglot import exp
from sqlglot.optimizer import optimize
from sqlglot.optimizer.qualify import qualify

from evalcore.errors import TargetFailure, UsageError
from evalcore.records import Completion, Failure, GenerationRequest, Message, Record, TargetSpec
from evalcore.sqlkit import query_plans, syntax
from evalcore.sqlkit.dialects import parse_server
from evalcore.sqlkit.engines import Engine, Execution, registry
from evalcore.sqlkit.schema import read_schema
from evalcore.targets.base import TargetInfo

# What `baseline:keywords` calls: the function that shares most words with the question.
# No model: values are copied from the question by their kind, in the order in which they stand
# there. It shows what function calling is worth without understanding.

_WORD = re.compile(r"[a-z]{3,}")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\d)")
_QUOTED = re.compile(r"[\"'`“‘]([^\"'`”’]{1,80})[\"'`”’]")
_NAME = re.compile(r"(?<![.?!] )(?<!^)\b[A-Z][\w-]*(?: [A-Z][\w-]*)*")
_STOP_WORDS = frozenset(
    re.split(
        r"\s+",
        "the and for are was with from that this what which who how many much can could would "
        "please you your have has its into about any all get find give tell need want will should",
    )
)
#: Fewer common words than this, and no function is called.
_MIN_SHARED_WORDS = 1


def build_keyword_call(sample_input: Mapping[str, Any], messages: Sequence[Message]) -> str:
    """The call in upstream's notation, `[name(argument=value)]`; empty where no function fits.

    `sample_input` is the input of a BFCL sample; the question is the last message, and a message of
    tool results is answered by nothing.
    """
    question = messages[-1].content if messages else ""
    if question.startswith("[{'role': 'tool'"):
        return ""
    functions = msgspec.json.decode(sample_input["functions"], type=list[dict[str, Any]])
    function = max(
        functions, key=lambda candidate: _count_shared_words(candidate, question), default=None
    )
    if function is None or _count_shared_words(function, question) < _MIN_SHARED_WORDS:
        return ""
    pairs = (
        f"{name}={value}"
        for name, value in _match_arguments(function, question, sample_input["metric"])
    )
    return f"[{function['name']}({', '.join(pairs)})]"


def _count_shared_words(function: Mapping[str, Any], question: str) -> int:
    description = f"{function.get('name', '')} {function.get('description', '')}".replace("_", " ")
    return len(_extract_words(description) & _extract_words(question))


def _extract_words(text: str) -> set[str]:
    """The words of a text, without common ones and without the s of the plural."""
    return {word.rstrip("s") for word in _WORD.findall(text.lower())} - _STOP_WORDS


def _match_arguments(
    function: Mapping[str, Any], question: str, category: str
) -> Iterator[tuple[str, str]]:
    """Every required argument with a value that stands in the question, as source text."""
    parameters = function.get("parameters") or {}
    required = parameters.get("required") or ()
    numbers, texts = iter(_NUMBER.findall(question)), iter(_extract_texts(question))
    for name, schema in (parameters.get("properties") or {}).items():
        choice = next((c for c in schema.get("enum") or () if _is_mentioned_in(c, question)), None)
        if choice is not None:
            yield name, _quote_argument(str(choice))
        elif name in required:
            kind = str(schema.get("type")).lower()
            value = _VALUES.get(kind, _take_text)(numbers, texts)
            yield (
                name,
                value.capitalize() if kind == "boolean" and "java" not in category else value,
            )


def _is_mentioned_in(choice: Any, question: str) -> bool:
    return isinstance(choice, str) and choice.lower() in question.lower()


def _extract_texts(question: str) -> list[str]:
    """What is in quotes, then names: words that begin with a capital within a sentence."""
    return [*_QUOTED.findall(question), *_NAME.findall(question)]


def _quote_argument(text: str) -> str:
    return '"' + text.replace("\\", " ").replace('"', " ") + '"'


def _take_text(numbers: Iterator[str], texts: Iterator[str]) -> str:
    return _quote_argument(next(texts, ""))


def _take_number(numbers: Iterator[str], texts: Iterator[str]) -> str:
    return next(numbers, "0")


def _take_list(numbers: Iterator[str], texts: Iterator[str]) -> str:
    items = list(islice(numbers, 20)) or [_quote_argument(text) for text in islice(texts, 20)]
    return f"[{', '.join(items)}]"


_VALUES: dict[str, Callable[[Iterator[str], Iterator[str]], str]] = {
    "integer": _take_number,
    "float": _take_number,
    "number": _take_number,
    "long": lambda numbers, texts: f"{_take_number(numbers, texts)}L",
    "bigint": lambda numbers, texts: f"{_take_number(numbers, texts)}n",
    "boolean": lambda numbers, texts: "true",
    "array": _take_list,
    "tuple": _take_list,
    "dict": lambda numbers, texts: "{}",
}


# How `baseline:sqlglot` tunes a statement: its optimizer rewrites, a textbook rule advises.
# Both see the statement and the DDL alone, no data and no plan.

_EQUAL = (exp.EQ, exp.In)
_RANGE = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)


def optimize_statement(sql: str, dialect: str, schema: Sequence[str]) -> str:
    """The statement as sqlglot's optimizer leaves it; empty where that gives up."""
    try:
        tree = optimize(
            _parse_tuned_statement(sql, dialect),
            schema=_read_column_kinds(schema, dialect),
            dialect=dialect,
        )
    except sqlglot.errors.SqlglotError:
        return ""
    return tree.sql(dialect=dialect)


def advise_indexes(sql: str, dialect: str, schema: Sequence[str]) -> str:
    """An index per table that is compared with constants: equal columns first, then one range.

    A sentence where there is no such table, nothing where the statement does not parse.
    """
    try:
        tree = qualify(
            _parse_tuned_statement(sql, dialect),
            schema=_read_column_kinds(schema, dialect),
            dialect=dialect,
            identify=False,
        )
    except sqlglot.errors.SqlglotError:
        return ""
    tables = {table.alias_or_name: table.name for table in tree.find_all(exp.Table)}
    lines = [
        f"CREATE INDEX advised_{number} ON {tables[alias]} ({', '.join(columns)})"
        for number, (alias, columns) in enumerate(_find_compared_columns(tree).items(), 1)
        if alias in tables
    ]
    return ";\n".join(lines) or "No index can help."


def _find_compared_columns(tree: exp.Expr) -> dict[str, list[str]]:
    """By table, the columns that are compared with constants, in the order for an index."""
    columns_by_table: dict[str, list[str]] = {}
    ranges: dict[str, list[str]] = {}
    for kinds, into in ((_EQUAL, columns_by_table), (_RANGE, ranges)):
        for condition in tree.find_all(*kinds):
            column = condition.this
            others = [c for c in condition.find_all(exp.Column) if c is not column]
            if isinstance(column, exp.Column) and not others:
                columns = into.setdefault(column.table, [])
                columns += [column.name] if column.name not in columns else []
    for alias, columns in ranges.items():
        equal = columns_by_table.setdefault(alias, [])
        equal += [name for name in columns if name not in equal][:1]
    return columns_by_table


def _parse_tuned_statement(sql: str, dialect: str) -> exp.Expr:
    return sqlglot.parse_one(sql, read=dialect)


def _read_column_kinds(schema: Sequence[str], dialect: str) -> dict[str, object]:
    """Tables and columns as sqlglot wants them; types matter little and are left as kinds."""
    tables = read_schema(schema, dialect).tables
    return {table.name: {column.name: column.kind for column in table.columns} for table in tables}


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
            return Completion(text=build_keyword_call(request.input, request.messages))
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
        return syntax.transpile_sql(sample_input["sql"], source.dialect, target.dialect)

    def _tune_statement(self, sample_input: Mapping[str, Any]) -> str:
        tune = advise_indexes if sample_input["metric"] == "index_advice" else optimize_statement
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
            syntax.transpile_sql(statement, dialect, engine.name)
            for statement in (*sample_input["schema"], *sample_input["data"])
        ]
        sql = syntax.transpile_sql(sample_input["sql"], dialect, engine.name)
        return engine.execute(
            setup, sql, state_of=syntax.find_changed_table(sample_input["sql"], dialect)
        )

    def _predict_table(self, sample_input: Mapping[str, Any]) -> dict[str, Any] | None:
        execution = self._execute_sample(sample_input)
        if execution.table is None:
            return None
        changed = syntax.find_changed_table(sample_input["sql"], sample_input["dialect"])
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
        return query_plans.sqlite_steps(execution.table.rows) if execution.table else None

    def _predict_syntax_error(self, sample_input: Mapping[str, Any]) -> dict[str, Any]:
        valid, _ = syntax.check_well_formed(sample_input["sql"], sample_input["dialect"])
        return {"has_syntax_error": "no" if valid else "yes"}


_SOLVERS: dict[str, Callable[[Baseline, Mapping[str, Any]], dict[str, Any] | None]] = {
    "execution_accuracy": Baseline._predict_table,
    "sql_identification": Baseline._predict_statement_class,
    "explain_detection": Baseline._predict_plan,
    "syntax_error_detection": Baseline._predict_syntax_error,
}
