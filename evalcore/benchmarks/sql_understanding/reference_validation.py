"""Confirming the expected answers of a dataset on real engines and parsers.

Tables and plans come from the engine of the case's dialect; a syntax label needs two parsers to
agree, sqlglot and the engine's own; a class comes from the parse tree. No two cases of a metric may
be the same statement with other names and literals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from evalcore.benchmarks.base import DatasetIssue
from evalcore.benchmarks.sql_understanding import answers
from evalcore.errors import EnvironmentFailure, MissingDependency
from evalcore.i18n import Note
from evalcore.records import Sample
from evalcore.sqlkit import query_plans, syntax
from evalcore.sqlkit.dialects import TITLES
from evalcore.sqlkit.engines import Engine, Execution, registry
from evalcore.sqlkit.product_features import missing_feature

IssueKind = Literal["contradicted", "unconfirmed"]
#: What is wrong ("" for nothing), and what kind of finding that is.
Check = tuple[str, IssueKind]


def validate_expected_answers(
    samples: Sequence[Sample],
) -> tuple[list[DatasetIssue], dict[str, str]]:
    """Findings, and the engines used with their versions; what a missing engine would confirm stays
    unconfirmed."""
    engines: dict[str, Engine] = {}
    versions: dict[str, str] = {}
    missing: dict[str, str] = {}
    try:
        for name in sorted(
            {s.input["dialect"] for s in samples} & set(registry.list_engine_names())
        ):
            try:
                engines[name] = registry.open_engine(name)
                versions[name] = engines[name].version
            except (MissingDependency, EnvironmentFailure) as error:
                missing[name] = str(error)
                if name in engines:
                    engines.pop(name).close()
        issues = [
            issue for sample in samples for issue in _validate_sample(sample, engines, missing)
        ]
    finally:
        for engine in engines.values():
            engine.close()
    return issues + _find_duplicates(samples), versions


def _validate_sample(
    sample: Sample, engines: dict[str, Engine], missing: dict[str, str]
) -> Iterator[DatasetIssue]:
    try:
        problem, kind = _CHECKS[sample.metric](sample, engines)
    except EnvironmentFailure as error:
        problem, kind = str(error), "unconfirmed"
    if problem:
        absent = missing.get(sample.input["dialect"], "")
        if absent and kind == "unconfirmed":
            problem = Note("located", location=problem, problem=absent)
        yield DatasetIssue(sample=sample.key, problem=problem, field="expected", kind=kind)


def _check_table(sample: Sample, engines: dict[str, Engine]) -> Check:
    expected = sample.reference["expected"]
    engine = engines.get(sample.input["dialect"])
    if engine is None:
        return Note("gold_no_dialect", dialect=sample.input["dialect"]), "unconfirmed"
    state_of = expected.get("table_name") if expected["result_type"] == "table_state" else None
    setup = [*sample.input["schema"], *sample.input["data"]]
    execution = engine.execute(setup, sample.input["sql"], state_of=state_of)
    if execution.table is None:
        return _report_engine_failure(sample, execution)
    answer = {
        "columns": list(execution.table.columns),
        "rows": [list(row) for row in execution.table.rows],
    }
    return _compare_with_expected(sample, answer)


def _check_plan(sample: Sample, engines: dict[str, Engine]) -> Check:
    """A plan depends on the version: another than the case names can contradict nothing."""
    engine = engines.get(sample.input["dialect"])
    if engine is None or engine.name not in query_plans.PLAN_READERS:
        return Note("gold_no_explain", dialect=sample.input["dialect"]), "unconfirmed"
    execution = engine.explain(
        [*sample.input["schema"], *sample.input["data"]], sample.input["sql"]
    )
    if execution.table is None:
        return _report_engine_failure(sample, execution)
    steps = query_plans.PLAN_READERS[engine.name](execution.table.rows)
    problem, kind = _compare_with_expected(sample, steps)
    version = engine.version.partition("-")[0]  # MariaDB names its build behind it
    same = version in sample.input.get("engine", version).split()
    return problem, kind if same else "unconfirmed"


def _check_class(sample: Sample, engines: dict[str, Engine]) -> Check:
    statement_class = syntax.classify_statement(sample.input["sql"], sample.input["dialect"])
    if statement_class is None:
        return Note("gold_no_class"), "unconfirmed"
    answer = {"sql_type": statement_class[0], "statement_type": statement_class[1]}
    return _compare_with_expected(sample, answer, "gold_class")


def _check_syntax(sample: Sample, engines: dict[str, Engine]) -> Check:
    dialect, sql = sample.input["dialect"], sample.input["sql"]
    wrong = str(sample.reference["expected"]["has_syntax_error"]) == "yes"
    engine = engines.get(dialect)
    execution = engine.check_syntax(sql) if engine else None
    if engine and execution and (execution.status == "ok") == wrong:
        problem = Note(
            "gold_label", name=engine.name, message=execution.message or Note("gold_parses")
        )
        return problem, _classify_refusal(sample, execution)
    parses, message = syntax.check_well_formed(sql, dialect)
    if parses == wrong:
        problem = Note("gold_label", name="sqlglot", message=message or Note("gold_parses"))
        return problem, "unconfirmed"
    return "" if engine else Note("gold_no_parser", dialect=dialect), "unconfirmed"


def _compare_with_expected(
    sample: Sample, answer: dict[str, Any], code: str = "gold_gives"
) -> Check:
    comparison = answers.read_answer(sample, answer)
    problem = Note(code, answer=answer, problem=comparison.note)
    return "" if comparison.right else problem, "contradicted"


def _report_engine_failure(sample: Sample, execution: Execution) -> Check:
    problem = Note("gold_ended", status=execution.status, message=execution.message)
    return problem, _classify_refusal(sample, execution)


def _classify_refusal(sample: Sample, execution: Execution) -> IssueKind:
    """A refusal contradicts, unless only the stand-in of the product lacks a feature."""
    title = TITLES.get(sample.input["dialect"], "")
    lacking = missing_feature(sample.input["sql"], title, execution.message)
    return "unconfirmed" if lacking or execution.status == "crashed" else "contradicted"


_CHECKS: dict[str, Callable[[Sample, dict[str, Engine]], Check]] = {
    "execution_accuracy": _check_table,
    "sql_identification": _check_class,
    "explain_detection": _check_plan,
    "syntax_error_detection": _check_syntax,
}


def _find_duplicates(samples: Sequence[Sample]) -> list[DatasetIssue]:
    """Cases of one metric whose statements are equal once names and literals are folded."""
    seen: dict[tuple[str, str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        dialect = sample.input["dialect"]
        folded = syntax.fold_statement(sample.input["sql"], dialect)
        seen[sample.metric, dialect, folded].append(sample)
    return [
        DatasetIssue(
            sample=again.key,
            problem=f"is {group[0].key} with other names and literals",
            field="sql",
            kind="duplicate",
        )
        for group in seen.values()
        for again in group[1:]
    ]
