"""The task `draft_cases`: pasted SQL, which may be hostile, becomes cases whose expected results an
engine gives, under the limits of every engine here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from evalcore.errors import EvalboardError
from evalcore.i18n import Note
from evalcore.runner.drafts import (
    MAX_PASTED_BYTES,
    MAX_SETUP_STATEMENTS,
    MAX_STATEMENTS,
    Draft,
    DraftCase,
    DraftInput,
    DraftProblem,
    asks_conversion,
    list_draft_parts,
)
from evalcore.runner.jobs import TaskContext
from evalcore.sqlkit import query_plans, syntax
from evalcore.sqlkit.dialect_guess import ScriptStatement, guess_dialects, split_script
from evalcore.sqlkit.dialects import TITLES, dialect_name
from evalcore.sqlkit.engines import Engine, Execution, registry

_SHOWN = 200  # characters of an expected result
_MAX_PROBLEMS = 20
_FILLING = ("INSERT", "UPDATE", "DELETE", "MERGE")  # what fills tables

Row = dict[str, object]


class _Refused(Exception):
    """What is wrong with a field, or with a statement of it."""

    def __init__(self, field: str, problem: str, statement: int = 0, line: int = 0) -> None:
        self.problem = DraftProblem(field, statement, line, problem)
        super().__init__(problem)


def draft_cases(context: TaskContext, asked: DraftInput) -> Draft:
    """The dialects that pasted SQL may be in and, once one is confirmed, the cases."""
    schema = split_script(asked.schema, asked.dialect)
    statements = split_script(asked.statements, asked.dialect)
    try:
        _check_sizes(asked, schema, statements)
        guesses = tuple(guess_dialects([each.text for each in (*schema, *statements)]))
        if not asked.dialect:
            return Draft(guesses)
        with _open_engine(asked) as engine:
            cases, problems = _execute_statements(asked, engine, schema, statements)
            about = f"{TITLES.get(engine.name, engine.name)} {engine.version}"
        return Draft(guesses, tuple(cases), tuple(problems), about)
    except _Refused as refused:
        return Draft(problems=(refused.problem,))
    except EvalboardError as error:
        return Draft(problems=(DraftProblem("statements", 0, 0, str(error)),))


def _check_sizes(
    asked: DraftInput, schema: Sequence[ScriptStatement], statements: Sequence[ScriptStatement]
) -> None:
    if asked.part not in list_draft_parts().get(asked.benchmark, ()):
        raise _Refused("statements", Note("draft_part", part=asked.part[:60]))
    size = len(asked.schema.encode()) + len(asked.statements.encode())
    if size > MAX_PASTED_BYTES:
        raise _Refused("statements", Note("draft_large", size=MAX_PASTED_BYTES >> 10))
    if "\0" in asked.schema or "\0" in asked.statements:
        raise _Refused("statements", Note("upload_nul"))
    for field, parts, most in (
        ("schema", schema, MAX_SETUP_STATEMENTS),
        ("statements", statements, MAX_STATEMENTS),
    ):
        if len(parts) > most:
            raise _Refused(field, Note("draft_many", count=len(parts), most=most))
    if not statements:
        raise _Refused("statements", Note("draft_empty"))


@contextmanager
def _open_engine(asked: DraftInput) -> Iterator[Engine]:
    """The engine that executes: that of the dialect, of a conversion that of the target."""
    executed = asked.target if asks_conversion(asked.benchmark) else asked.dialect
    name = dialect_name(executed)
    if name not in registry.list_engine_names():
        raise _Refused("statements", Note("draft_no_engine", dialect=TITLES.get(name, name)))
    engine = registry.open_engine(name)
    try:
        yield engine
    finally:
        engine.close()


def _execute_statements(
    asked: DraftInput,
    engine: Engine,
    schema: Sequence[ScriptStatement],
    statements: Sequence[ScriptStatement],
) -> tuple[list[DraftCase], list[DraftProblem]]:
    source = dialect_name(asked.dialect)
    tables = [each for each in schema if not _is_insert(each.text, source)]
    inserts = [each for each in schema if _is_insert(each.text, source)]
    setup = [*tables, *inserts]
    needs_setup = asked.part not in ("sql_identification", "syntax_error_detection")
    translated = [syntax.transpile_sql(each.text, source, engine.name) for each in setup]
    if needs_setup:
        _check_setup(engine, schema, setup, translated)
    count = len(tables)
    build = _Builder(asked, engine, source, setup, translated, count)
    cases: list[DraftCase] = []
    problems: list[DraftProblem] = []
    for number, statement in enumerate(statements, 1):
        try:
            row, expected = build.build_row(number, statement)
        except _Refused as refused:
            problem = refused.problem
            problems.append(DraftProblem(problem.field, number, statement.line, problem.problem))
            if len(problems) == _MAX_PROBLEMS:
                break
            continue
        cases.append(DraftCase(number, statement.line, statement.text, expected[:_SHOWN], row))
    return cases, problems


def _is_insert(text: str, dialect: str) -> bool:
    statement_class = syntax.classify_statement(text, dialect)
    return statement_class is not None and statement_class[1] in _FILLING


def _check_setup(
    engine: Engine,
    schema: Sequence[ScriptStatement],
    setup: Sequence[ScriptStatement],
    scripts: Sequence[str],
) -> None:
    """Raises _Refused naming the first statement of the schema that the engine does not take."""
    done = engine.execute(scripts, "SELECT 1")
    if done.status == "ok":
        return
    low, high = 0, len(scripts)  # the first `low` are taken, the first `high` are not
    while high - low > 1:
        middle = (low + high) // 2
        tried = engine.execute(scripts[:middle], "SELECT 1")
        low, high, done = (middle, high, done) if tried.status == "ok" else (low, middle, tried)
    failed = setup[high - 1]
    number = schema.index(failed) + 1
    raise _Refused("schema", _describe_failure(engine, done), number, failed.line)


def _describe_failure(engine: Engine, done: Execution) -> str:
    title = TITLES.get(engine.name, engine.name)
    return Note("draft_ended", engine=title, status=done.status, message=done.message[:300])


class _Builder:
    """Makes the row of a case of one part, with what the engine gives for it."""

    def __init__(
        self,
        asked: DraftInput,
        engine: Engine,
        source: str,
        setup: Sequence[ScriptStatement],
        scripts: Sequence[str],
        tables: int,
    ) -> None:
        self._asked, self._engine, self._source = asked, engine, source
        self._original = [each.text for each in setup]
        self._scripts, self._tables = list(scripts), tables

    def build_row(self, number: int, statement: ScriptStatement) -> tuple[Row, str]:
        """The row, and the expected result for a person to read. Raises _Refused."""
        makers: dict[str, Callable[[int, str], tuple[Row, str]]] = {
            "execution_accuracy": self._expect_table,
            "sql_identification": self._expect_class,
            "explain_detection": self._expect_plan,
            "syntax_error_detection": self._expect_syntax,
            "rewrite": self._expect_rewrite,
        }
        make = makers.get(self._asked.part, self._expect_conversion)
        head: Row = {
            "case_id": f"{self._asked.name}-{number:03}",
            "difficulty_level": str(self._asked.difficulty),
        }
        row, expected = make(number, statement.text)
        return head | row, expected

    def _execute(self, sql: str, field: str) -> Execution:
        changed = syntax.find_changed_table(sql, self._engine.name)
        done = self._engine.execute(self._scripts, sql, state_of=changed)
        if done.status != "ok":
            raise _Refused(field, _describe_failure(self._engine, done))
        if done.table is None:
            raise _Refused(field, Note("draft_no_rows"))
        if done.table.truncated:
            raise _Refused(field, Note("draft_too_long"))
        return done

    def _understanding_row(self, sql: str, expected: Row) -> Row:
        version = self._engine.version.partition("-")[0]
        return {
            "dialect": self._source,
            "create_table_statements": self._original[: self._tables],
            "insert_statements": self._original[self._tables :],
            "sql": sql,
            "expected": expected,
            "provenance": {"engine": f"{self._engine.name} {version}"},
        }

    def _expect_table(self, number: int, sql: str) -> tuple[Row, str]:
        table = self._execute(sql, "statements").table
        changed = syntax.find_changed_table(sql, self._engine.name)
        assert table is not None  # noqa: S101 - `_execute` refuses
        rows = [list(row) for row in table.rows]
        kind: Row = {"result_type": "select"}
        if changed:
            kind = {"result_type": "table_state", "table_name": changed}
        expected: Row = {**kind, "columns": list(table.columns), "rows": rows}
        shown = f"{' | '.join(table.columns)} · {json.dumps(rows, ensure_ascii=False)}"
        return self._understanding_row(sql, expected), shown

    def _expect_class(self, number: int, sql: str) -> tuple[Row, str]:
        classes = syntax.classify_statement(sql, self._source)
        if classes is None:
            raise _Refused("statements", Note("gold_no_class"))
        expected: Row = {"sql_type": classes[0], "statement_type": classes[1]}
        return self._understanding_row(sql, expected), " · ".join(classes)

    def _expect_plan(self, number: int, sql: str) -> tuple[Row, str]:
        read = query_plans.PLAN_READERS.get(self._engine.name)
        if read is None:
            dialect = TITLES.get(self._engine.name, self._engine.name)
            raise _Refused("statements", Note("gold_no_explain", dialect=dialect))
        done = self._engine.explain(self._scripts, sql)
        if done.status != "ok" or done.table is None:
            raise _Refused("statements", _describe_failure(self._engine, done))
        expected = read(done.table.rows)
        return self._understanding_row(sql, expected), json.dumps(expected, ensure_ascii=False)

    def _expect_syntax(self, number: int, sql: str) -> tuple[Row, str]:
        done = self._engine.check_syntax(sql)
        if done.status not in ("ok", "syntax_error"):
            raise _Refused("statements", _describe_failure(self._engine, done))
        answer = "yes" if done.status == "syntax_error" else "no"
        row = self._understanding_row(sql, {"has_syntax_error": answer})
        return row, f"{answer} · {done.message}" if done.message else answer

    def _expect_conversion(self, number: int, sql: str) -> tuple[Row, str]:
        """A reference by sqlglot, or the person's own, that runs on the target."""
        target = self._engine.name
        own = self._asked.references.get(number, "").strip().rstrip(";")
        reference = own or syntax.transpile_sql(sql, self._source, target)
        if not own and reference == sql and self._source != target:
            parses, message = syntax.check_well_formed(sql, self._source)
            if not parses:
                raise _Refused("statements", message)
        self._execute(reference, "reference" if own else "statements")
        row: Row = {
            "source_dialect": TITLES[self._source],
            "target_dialect": TITLES[target],
            "source_schema": self._original[: self._tables],
            "schema": self._scripts[: self._tables],
            "sql": sql,
            "reference": reference,
            "data": [self._scripts[self._tables :]] if self._scripts[self._tables :] else [],
        }
        return row, reference

    def _expect_rewrite(self, number: int, sql: str) -> tuple[Row, str]:
        """The plan that a faster statement has to beat; the rows come from the original."""
        self._execute(sql, "statements")
        work = self._engine.measure(self._scripts, sql)
        plan = "\n".join(work.plan)
        inserts = self._scripts[self._tables :]
        row: Row = {
            "db_type": TITLES[self._engine.name],
            "create_table_statements": self._scripts[: self._tables],
            "sql": sql,
            "explain": plan,
            "data": [inserts] if inserts else [],
            "expected": {"optimization_rules": []},
        }
        own = self._asked.references.get(number, "").strip().rstrip(";")
        if own:
            self._execute(own, "reference")
            row["reference"] = own
        return row, own or f"{work.amount:,} {work.unit} · {plan}".replace("\n", " / ")
