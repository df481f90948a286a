"""Confirming the expected answers of a dataset on real engines and parsers.

Tables and plans come from the engine of the case's dialect; a syntax label needs two parsers to
agree, sqlglot and the engine's own; a class comes from the parse tree. No two cases of a metric may
be the same statement with other names and literals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from evalcore.benchmarks.base import Finding
from evalcore.benchmarks.sql_understanding import verified
from evalcore.errors import EnvironmentFailure, MissingDependency
from evalcore.records import Sample
from evalcore.sqlkit import plans, syntax
from evalcore.sqlkit.dialects import TITLES
from evalcore.sqlkit.engines import registry
from evalcore.sqlkit.engines.base import Engine, Execution
from evalcore.sqlkit.products import missing_feature

Kind = Literal["contradicted", "unconfirmed"]
#: What is wrong ("" for nothing), and what kind of finding that is.
Check = tuple[str, Kind]


def confirm(samples: Sequence[Sample]) -> tuple[list[Finding], dict[str, str]]:
    """Findings, and the engines used with their versions; what a missing engine would confirm stays
    unconfirmed."""
    engines: dict[str, Engine] = {}
    versions: dict[str, str] = {}
    missing: dict[str, str] = {}
    try:
        for name in sorted({s.input["dialect"] for s in samples} & set(registry.NAMES)):
            try:
                engines[name] = registry.open_engine(name)
                versions[name] = engines[name].version
            except (MissingDependency, EnvironmentFailure) as error:
                missing[name] = str(error)
                if name in engines:
                    engines.pop(name).close()
        findings = [finding for sample in samples for finding in _check(sample, engines, missing)]
    finally:
        for engine in engines.values():
            engine.close()
    return findings + _duplicates(samples), versions


def _check(
    sample: Sample, engines: dict[str, Engine], missing: dict[str, str]
) -> Iterator[Finding]:
    try:
        problem, kind = _CHECKS[sample.metric](sample, engines)
    except EnvironmentFailure as error:
        problem, kind = str(error), "unconfirmed"
    if problem:
        absent = missing.get(sample.input["dialect"], "")
        problem = f"{problem}: {absent}" if absent and kind == "unconfirmed" else problem
        yield Finding(sample=sample.key, problem=problem, field="expected", kind=kind)


def _table(sample: Sample, engines: dict[str, Engine]) -> Check:
    expected = sample.reference["expected"]
    engine = engines.get(sample.input["dialect"])
    if engine is None:
        return f"no engine here runs {sample.input['dialect']}", "unconfirmed"
    state_of = expected.get("table_name") if expected["result_type"] == "table_state" else None
    setup = [*sample.input["schema"], *sample.input["data"]]
    done = engine.execute(setup, sample.input["sql"], state_of=state_of)
    if done.table is None:
        return _unexpected(sample, done)
    answer = {"columns": list(done.table.columns), "rows": [list(row) for row in done.table.rows]}
    return _compare(sample, answer)


def _plan(sample: Sample, engines: dict[str, Engine]) -> Check:
    """A plan depends on the version: another than the case names can contradict nothing."""
    engine = engines.get(sample.input["dialect"])
    if engine is None or engine.name != "sqlite":
        return f"no engine here explains {sample.input['dialect']}", "unconfirmed"
    done = engine.explain([*sample.input["schema"], *sample.input["data"]], sample.input["sql"])
    if done.table is None:
        return _unexpected(sample, done)
    problem, kind = _compare(sample, plans.sqlite_steps(done.table.rows))
    same = sample.input.get("engine", engine.version).endswith(engine.version)
    return problem, kind if same else "unconfirmed"


def _class(sample: Sample, engines: dict[str, Engine]) -> Check:
    found = syntax.classify_statement(sample.input["sql"], sample.input["dialect"])
    if found is None:
        return "the class of the statement cannot be told by the parser", "unconfirmed"
    answer = {"sql_type": found[0], "statement_type": found[1]}
    return _compare(sample, answer, "the parser")


def _syntax(sample: Sample, engines: dict[str, Engine]) -> Check:
    dialect, sql = sample.input["dialect"], sample.input["sql"]
    wrong = str(sample.reference["expected"]["has_syntax_error"]) == "yes"
    engine = engines.get(dialect)
    done = engine.check_syntax(sql) if engine else None
    if engine and done and (done.status == "ok") == wrong:
        problem = f"{engine.name} does not agree with the label: {done.message or 'it parses'}"
        return problem, _kind(sample, done)
    parses, message = syntax.check_well_formed(sql, dialect)
    if parses == wrong:
        problem = f"sqlglot does not agree with the label: {message or 'it parses'}"
        return problem, "unconfirmed"
    return ("", "unconfirmed") if engine else (f"no engine here parses {dialect}", "unconfirmed")


def _compare(sample: Sample, answer: dict[str, Any], who: str = "the engine") -> Check:
    reading = verified.read_answer(sample, answer)
    return ("" if reading.right else f"{who} gives {answer}: {reading.note}"), "contradicted"


def _unexpected(sample: Sample, done: Execution) -> Check:
    return f"the engine ended with {done.status}: {done.message}", _kind(sample, done)


def _kind(sample: Sample, done: Execution) -> Kind:
    """A refusal contradicts, unless only the stand-in of the product lacks a feature."""
    title = TITLES.get(sample.input["dialect"], "")
    lacking = missing_feature(sample.input["sql"], title, done.message)
    return "unconfirmed" if lacking or done.status == "crashed" else "contradicted"


_CHECKS: dict[str, Callable[[Sample, dict[str, Engine]], Check]] = {
    "execution_accuracy": _table,
    "sql_identification": _class,
    "explain_detection": _plan,
    "syntax_error_detection": _syntax,
}


def _duplicates(samples: Sequence[Sample]) -> list[Finding]:
    """Cases of one metric whose statements are equal once names and literals are folded."""
    seen: dict[tuple[str, str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        dialect = sample.input["dialect"]
        folded = syntax.fold_statement(sample.input["sql"], dialect)
        seen[sample.metric, dialect, folded].append(sample)
    return [
        Finding(
            sample=again.key,
            problem=f"is {group[0].key} with other names and literals",
            field="sql",
            kind="duplicate",
        )
        for group in seen.values()
        for again in group[1:]
    ]
