"""What a decision on generated databases looks like as evidence, and in one sentence."""

from __future__ import annotations

from typing import Any

from evalcore.records import Section
from evalcore.sqlkit.equivalence.records import Counterexample, Equivalence
from evalcore.sqlkit.table import ResultTable

_MAX_ROWS = 60  # of a table shown; a counterexample is shrunk and rarely has more

_DECISION_NOTES = {
    "equivalent": "No difference on {databases} databases; {nonempty} of them had rows to compare.",
    "different": "On a generated database the outcome differs.",
    "error": "The engine refuses the statement: {message}",
    "undecided": "Execution cannot decide: {message}",
}
_DIFFERENT = {
    "columns_count": "On a generated database the number of columns differs.",
    "row_count": "On a generated database the number of rows differs.",
    "rows": "On a generated database some rows differ.",
    "order": "On a generated database the rows come in another order.",
    "failed": "On a generated database the statement fails: {message}",
    "no_rows": "On a generated database one side gives rows and the other gives none.",
}


def describe_decision(decision: Equivalence) -> str:
    """The decision as a sentence."""
    example = decision.counterexample
    if decision.status == "different" and example is not None:
        return _DIFFERENT[example.reason].format(message=example.message)
    return _DECISION_NOTES[decision.status].format(
        databases=decision.databases, nonempty=decision.nonempty, message=decision.message
    )


def build_decision_details(decision: Equivalence) -> dict[str, Any]:
    """The decision as facts for machines."""
    facts: dict[str, Any] = {
        "equivalence": decision.status,
        "databases": decision.databases,
        "databases_nonempty": decision.nonempty,
    }
    if decision.cause:
        facts["error_type"] = decision.cause
    if decision.counterexample is not None:
        facts["error_type"] = decision.counterexample.reason
        facts["counterexample_profile"] = decision.counterexample.profile
    return facts


def build_decision_sections(decision: Equivalence, reference: str) -> tuple[Section, ...]:
    """The reference, the counterexample with its database, and the difference side by side."""
    evidence = [_build_code_section("reference_sql", reference)] if reference else []
    example = decision.counterexample
    if example is not None:
        evidence += [_build_database_section(example), *_build_difference_sections(example)]
    return tuple(evidence)


def _build_code_section(title: str, sql: str) -> Section:
    return Section(kind="code", title=title, body={"language": "sql", "text": sql})


def _build_database_section(example: Counterexample) -> Section:
    tables = [
        {"name": name, "columns": list(table.columns), "rows": _list_table_rows(table)}
        for name, table in example.tables.items()
    ]
    return Section(
        kind="database", title="counterexample", body={"profile": example.profile, "tables": tables}
    )


def _build_difference_sections(example: Counterexample) -> list[Section]:
    if example.reason == "failed":
        return [Section(kind="log", title="engine_message", body=example.message)]
    want, got, diff = example.expected, example.actual, example.diff
    body = {
        "columns": list(want.columns if want else ()),
        "answer_columns": list(got.columns if got else ()),
        "expected": _list_table_rows(want),
        "actual": _list_table_rows(got),
        "missing": [list(row) for row in diff.missing][:_MAX_ROWS]
        if diff
        else _list_table_rows(want),
        "extra": [list(row) for row in diff.extra][:_MAX_ROWS] if diff else _list_table_rows(got),
    }
    return [Section(kind="table_diff", title="difference", body=body)]


def _list_table_rows(table: ResultTable | None) -> list[list[Any]]:
    return [list(row) for row in table.rows[:_MAX_ROWS]] if table else []
