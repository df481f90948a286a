"""Decide a published answer by an engine: by execution, by the server's parser, or by the work that
an advised index saves. What no engine here can say stays undecided.

A refusal decides only where the server itself refuses: what a stand-in lacks and its product has is
undecided, and so are time limits and cases whose own statement does not run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any

import msgspec
import sqlglot
from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from evalcore.benchmarks.answer_scoring import strip_reasoning
from evalcore.benchmarks.sql_answer import extract_sql
from evalcore.benchmarks.sql_understanding.answers import read_answer
from evalcore.benchmarks.sql_understanding.extraction import extract_json_answer
from evalcore.errors import EnvironmentFailure, MissingDependency
from evalcore.exchange.scale.published_answers import BlindQuestion, Kind
from evalcore.exchange.scale.twins import read_expected_indexes
from evalcore.records import Record, Sample
from evalcore.sqlkit import index_advice as indexing
from evalcore.sqlkit.engines import Execution, Work
from evalcore.sqlkit.engines.registry import EnginePool, list_engine_names
from evalcore.sqlkit.equivalence import Equivalence
from evalcore.sqlkit.equivalence.decider import Decider
from evalcore.sqlkit.equivalence.evidence import describe_decision
from evalcore.sqlkit.product_features import find_unsupported_feature, missing_feature
from evalcore.sqlkit.products import Untranslatable, find_profile, translate_statement
from evalcore.sqlkit.products.decision import decide_on_stand_in
from evalcore.sqlkit.query_plans import WorkMeter
from evalcore.sqlkit.schema import read_schema
from evalcore.sqlkit.syntax import find_changed_table, has_order_by

#: Raise it with any change that can decide otherwise: decisions by older rules are made again.
RULES_VERSION = "7"
_REFUSALS = ("syntax_error", "error")
_CLOCK = re.compile(r"\b(?:CUR(?:RENT_)?(?:DATE|TIME(?:STAMP)?)|NOW|SYSDATE|RAND|UUID)\b", re.I)
_ROUTINE = re.compile(r"\s*(?:CREATE\b.{0,40}\b(?:FUNCTION|PROCEDURE|TRIGGER)\b|DO\b)", re.I | re.S)
_BEFORE_A_NAME = frozenset(("FUNCTION", "PROCEDURE", "INTO", "TABLE", "ON", "EXISTS", "WITH"))
_DOLLAR_QUOTE = re.compile(r"\$\w*\$")


class Redecision(Record, frozen=True):
    """`passed` is the verdict by our evidence, None where there is none. `decision` is a word for
    machines, `why` a sentence; `lasts` is False for what another machine could decide."""

    passed: bool | None
    decision: str
    why: str
    counterexample: dict[str, Any] | None = None
    lasts: bool = True


class Redecider:
    """Holds engines and prepared databases for as long as it lives; no decision depends on them."""

    def __init__(self) -> None:
        self._engines = EnginePool()
        self._decider = Decider(self._engines.get, self._engines.get_patient)
        self._meter = WorkMeter()
        self._routines: dict[str, frozenset[str]] = {}

    def close(self) -> None:
        self._engines.close()
        self._meter.close()

    def decide(self, question: BlindQuestion) -> Redecision:
        """The decision on one answer; undecided where the engine is missing."""
        deciders: dict[Kind, Callable[[BlindQuestion], Redecision]] = {
            "equivalence": self._decide_equivalence,
            "rewrite": self._decide_rewrite,
            "conversion": self._decide_conversion,
            "table": self._decide_table,
            "label": self._decide_label,
            "index": self._decide_index,
        }
        try:
            decision = deciders[question.kind](question)
        except (MissingDependency, EnvironmentFailure) as error:
            return Redecision(None, "no_engine", str(error), lasts=False)
        except Exception as error:  # a fault of ours in one answer must not end the others
            return Redecision(None, "fault", f"{type(error).__name__}: {error}", lasts=False)
        # a note becomes plain text, as the journal holds it
        return msgspec.structs.replace(decision, why=str.__str__(decision.why))

    def _decide_equivalence(self, question: BlindQuestion) -> Redecision:
        twin = question.twin
        sql = extract_sql(question.answer, twin.answer_dialect or question.engine).sql
        if not sql:
            return _decide_without_sql()
        decision = Equivalence(status="undecided", cause="few_databases")
        for asked in twin.questions:
            decision = decide_on_stand_in(
                self._decider, asked, sql, question.title, question.version
            )
            if decision.status != "error":
                break
        example = decision.counterexample
        if decision.status == "different" and not (example and example.tables):
            return _undecided("no_proof", "the statements differed on a database that is not shown")
        verdicts = {"equivalent": True, "different": False, "error": False}
        return Redecision(
            passed=verdicts.get(decision.status),
            decision=decision.status,
            why=describe_decision(decision),
            counterexample=msgspec.to_builtins(example),
        )

    def _decide_rewrite(self, question: BlindQuestion) -> Redecision:
        """Whether the server takes the rewrite, on the tables of the case."""
        asked, engine = question.twin.questions[0], self._engines.get(question.engine)
        sql = extract_sql(question.answer, question.engine, asked.reference).sql
        if not sql:
            return _decide_without_sql()
        original = engine.execute(asked.schema, asked.reference)
        if original.status != "ok":
            return _undecided("reference_fails", original.message)
        profile = find_profile(question.title, question.version, engine.version)
        try:
            own = translate_statement(sql, profile, (), engine.version)[0] if profile else sql
        except Untranslatable as feature:
            return _undecided("product_feature", str(feature))
        return _rule_execution(engine.execute(asked.schema, own), sql, question)

    def _decide_conversion(self, question: BlindQuestion) -> Redecision:
        """Whether the product would take a converted statement, of which no tables are known. What
        its server refuses is wrong in whatever was asked; that it is taken decides validity only.
        """
        sql = extract_sql(question.answer, question.engine).sql
        if not sql:
            return _decide_without_sql()
        feature = find_unsupported_feature(sql, question.engine, question.title, question.version)
        if feature:
            return Redecision(False, "version", str(feature))
        engine = self._engines.get(question.engine)
        is_routine = _ROUTINE.match(sql) is not None
        execution = engine.execute((), sql, script=True) if is_routine else engine.check_syntax(sql)
        if execution.status == "syntax_error" or execution.message.startswith("syntax error"):
            return _rule_execution(execution, sql, question)
        foreign = self._list_foreign_functions(sql, question.engine)
        if absent := sorted(foreign & set(question.case["functions"])):
            return Redecision(False, "error", f"{question.title} has no function {absent[0]}")
        if execution.status != "ok" or foreign or not question.case["validity"]:
            reason = (
                execution.message or ", ".join(sorted(foreign)) or "only the grammar is checked"
            )
            return _undecided("not_executable", reason)
        return Redecision(True, "valid", "the server's parser takes it")

    def _list_foreign_functions(self, sql: str, dialect: str) -> frozenset[str]:
        """The functions called, in lower case, that the server does not come with, but for what
        stands where a statement names an object with its columns or parameters."""
        if dialect not in self._routines:
            query = "SELECT lower(proname) FROM pg_proc UNION SELECT word FROM pg_get_keywords()"
            table = self._engines.get(dialect).execute((), query).table
            self._routines[dialect] = (
                frozenset(row[0] for row in table.rows) if table else frozenset()
            )
        try:
            tokens = sqlglot.tokenize(_DOLLAR_QUOTE.sub(" ", sql), read=dialect)
        except SqlglotError:
            return frozenset({"?"})
        called = {
            token.text.lower()
            for before, (token, follower) in zip([None, *tokens], pairwise(tokens), strict=False)
            if token.token_type == TokenType.VAR
            and follower.token_type == TokenType.L_PAREN
            and (before is None or before.text.upper() not in _BEFORE_A_NAME)
        }
        return frozenset(called) - self._routines[dialect]

    def _decide_table(self, question: BlindQuestion) -> Redecision:
        """The answer against the rows that the engine gives, whatever was published as expected."""
        case = question.case
        sql = str(case["sql"]).strip().rstrip(";")
        if _CLOCK.search(sql):
            return _undecided("clock", "the result depends on the day")
        changed = find_changed_table(sql, question.engine)
        engine = self._engines.get(question.engine)
        execution = engine.execute(case["setup"], sql, state_of=changed)
        if execution.table is None:
            return _undecided("reference_fails", execution.message)
        expected = {
            "result_type": "table_state" if changed else "select",
            "columns": list(execution.table.columns),
            "rows": [list(row) for row in execution.table.rows],
        }
        answer = extract_json_answer(question.answer, ("columns", "rows")).value
        if answer is None:
            return Redecision(False, "format", "the answer contains no JSON object")
        ordered = not changed and has_order_by(sql, question.engine)
        reference = {"expected": expected, "ordered": ordered}
        result = read_answer(Sample("execution_accuracy", "", {}, reference), answer)
        return Redecision(result.right, "as_executed" if result.right else "differs", result.note)

    def _decide_label(self, question: BlindQuestion) -> Redecision:
        """The answer's label against the server's parser; what it refuses in a case that names no
        database may be another's."""
        sql = str(question.case["sql"])
        execution = self._engines.get(question.engine).check_syntax(sql)
        if execution.status != "ok" and not question.case["named"]:
            for name in list_engine_names():
                with suppress(MissingDependency):
                    if self._engines.get(name).check_syntax(sql).status == "ok":
                        return _undecided("dialect", f"{name} takes what {question.engine} refuses")
        if missing_feature(sql, question.title, execution.message):
            return _undecided("product_feature", execution.message)
        label = "no" if execution.status == "ok" else "yes"
        answer = extract_json_answer(question.answer, ("has_syntax_error",)).value or {}
        stated = str(answer.get("has_syntax_error", "")).strip().lower()
        why = execution.message or "the server's parser takes it"
        return Redecision(stated == label, "as_parsed" if stated == label else "differs", why)

    def _decide_index(self, question: BlindQuestion) -> Redecision:
        """Advice against what the case names: a sentence by the case's own words, an index that it
        names by its columns. Any other is wrong where the server refuses it or it saves no work;
        that it saves as much here proves nothing for the data that the case speaks of."""
        asked = question.twin.questions[0]
        advice = indexing.read_advice(strip_reasoning(question.answer).strip(), question.engine)
        expected, is_whole = read_expected_indexes(question.case["expected"], question.engine)
        if not question.answer.strip():
            return Redecision(False, "format", "the answer is empty")
        if advice.says == "nothing" or advice.problem:
            return _undecided("unreadable", advice.problem or "the answer is read as no advice")
        if advice.says != "create":
            right = expected.none_ok if advice.says == "none" else expected.cannot_ok
            if right:
                return Redecision(True, "right_sentence", "the case expects this sentence")
            wrong = Redecision(False, "wrong_sentence", "the case expects another answer")
            return wrong if is_whole else _undecided("unread_case", "not all of the case is read")
        if len(advice.indexes) == 1 and _is_named(advice.indexes[0], expected):
            return Redecision(True, "named", "the case names this index")
        if not is_whole:
            return _undecided("unread_case", "not all of the case is read")

        def measure_work(indexes: tuple[str, ...]) -> Work:
            return self._meter.measure_cached(asked, asked.reference, indexes)

        schema = read_schema(asked.schema, question.engine)
        indexes = [indexing.qualify_index_table(index, schema) for index in advice.indexes]
        effect = indexing.check_advice(measure_work, indexes, expected, question.engine)
        saved = effect.before and effect.after and effect.after.amount < effect.before.amount
        if effect.finding == "invalid":
            return Redecision(False, "invalid", effect.message)
        if effect.finding in ("useless", "not_needed", "cannot_help") and not saved:
            return Redecision(False, "useless", "it saves no work")
        return _undecided(effect.finding, effect.message)


def _is_named(index: indexing.AdvisedIndex, expected: indexing.Expectation) -> bool:
    """Whether the case names the very index: its table and columns in their order."""
    return not index.where and any(
        (index.table.lower(), _list_columns(index)) == (each.table.lower(), _list_columns(each))
        for each in expected.alternatives
    )


def _list_columns(index: indexing.AdvisedIndex) -> list[str]:
    return [key.column.lower() if key.prefix is None else key.sql for key in index.keys]


def _rule_execution(execution: Execution, sql: str, question: BlindQuestion) -> Redecision:
    """Taken or refused; a limit, or a feature that only the product has, decides nothing."""
    if execution.status == "ok":
        return Redecision(True, "valid", "the server runs it")
    feature = missing_feature(sql, question.title, execution.message)
    if feature or execution.status not in _REFUSALS:
        return _undecided("product_feature" if feature else execution.status, execution.message)
    return Redecision(False, "error", execution.message)


def _decide_without_sql() -> Redecision:
    return Redecision(False, "format", "the answer contains no SQL")


def _undecided(cause: str, message: str) -> Redecision:
    return Redecision(None, cause, message)
