"""Confirming the expected answers of a dataset on real engines and parsers.

Tables and plans come from the engine of the case's dialect; a syntax label needs two parsers to
agree, sqlglot and the engine's own; a class comes from the parse tree. No two cases of a metric may
be the same statement with other names and literals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from evalcore.benchmarks.base import Finding
from evalcore.benchmarks.sql_understanding import verified
from evalcore.records import Sample
from evalcore.sqlkit import plans, syntax
from evalcore.sqlkit.engines import registry
from evalcore.sqlkit.engines.base import Engine, Execution


def confirm(samples: Sequence[Sample]) -> tuple[list[Finding], dict[str, str]]:
    """Findings, and the engines used with their versions."""
    engines: dict[str, Engine] = {}
    versions: dict[str, str] = {}
    try:
        for name in sorted({s.input["dialect"] for s in samples} & set(registry.NAMES)):
            engines[name] = registry.open_engine(name)
            versions[name] = engines[name].version
        findings = [
            Finding(sample=sample.key, problem=problem)
            for sample in samples
            if (problem := _CHECKS[sample.metric](sample, engines))
        ]
    finally:
        for engine in engines.values():
            engine.close()
    return findings + _duplicates(samples), versions


def _table(sample: Sample, engines: dict[str, Engine]) -> str:
    expected = sample.reference["expected"]
    engine = engines.get(sample.input["dialect"])
    if engine is None:
        return f"no engine here runs {sample.input['dialect']}"
    state_of = expected.get("table_name") if expected["result_type"] == "table_state" else None
    setup = [*sample.input["schema"], *sample.input["data"]]
    done = engine.execute(setup, sample.input["sql"], state_of=state_of)
    if done.table is None:
        return _unexpected(done)
    answer = {"columns": list(done.table.columns), "rows": [list(row) for row in done.table.rows]}
    return _compare(sample, answer)


def _plan(sample: Sample, engines: dict[str, Engine]) -> str:
    engine = engines.get(sample.input["dialect"])
    if engine is None or engine.name != "sqlite":
        return f"no engine here explains {sample.input['dialect']}"
    done = engine.explain([*sample.input["schema"], *sample.input["data"]], sample.input["sql"])
    return (
        _unexpected(done)
        if done.table is None
        else _compare(sample, plans.sqlite_steps(done.table.rows))
    )


def _class(sample: Sample, engines: dict[str, Engine]) -> str:
    found = syntax.statement_class(sample.input["sql"], sample.input["dialect"])
    if found is None:
        return "the class of the statement cannot be told by the parser"
    return _compare(sample, {"sql_type": found[0], "statement_type": found[1]})


def _syntax(sample: Sample, engines: dict[str, Engine]) -> str:
    dialect, sql = sample.input["dialect"], sample.input["sql"]
    wrong = str(sample.reference["expected"]["has_syntax_error"]) == "yes"
    parses, message = syntax.parses(sql, dialect)
    if parses == wrong:
        return f"sqlglot does not agree with the label: {message or 'it parses'}"
    engine = engines.get(dialect)
    if engine is None:
        return f"no engine here parses {dialect}"
    done = engine.check_syntax(sql)
    if (done.status == "ok") == wrong:
        return f"{engine.name} does not agree with the label: {done.message or 'it parses'}"
    return ""


def _compare(sample: Sample, answer: dict[str, Any]) -> str:
    reading = verified.read_answer(sample, answer)
    return "" if reading.right else f"the engine gives {answer}: {reading.note}"


def _unexpected(done: Execution) -> str:
    return f"the engine ended with {done.status}: {done.message}"


_CHECKS: dict[str, Callable[[Sample, dict[str, Engine]], str]] = {
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
        folded = syntax.fold(sample.input["sql"], dialect)
        seen[sample.metric, dialect, folded].append(sample)
    return [
        Finding(sample=again.key, problem=f"is {group[0].key} with other names and literals")
        for group in seen.values()
        for again in group[1:]
    ]
