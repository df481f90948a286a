"""What a decision on generated databases looks like: a sentence, facts for machines, evidence."""

from __future__ import annotations

from typing import Any

from evalcore.i18n import Note
from evalcore.records import Section
from evalcore.sqlkit.equivalence import Counterexample, Equivalence
from evalcore.sqlkit.result_tables import ResultTable

_MAX_ROWS = 60  # of a table shown; a counterexample is shrunk and rarely has more

#: Codes of notes.
DECISION_NOTES = {
    "equivalent": "exec_equivalent",
    "different": "exec_different",
    "error": "exec_error",
    "undecided": "exec_undecided",
}
DIFFERENCE_NOTES = {
    "columns_count": "exec_columns",
    "column_names": "exec_column_names",
    "row_count": "exec_row_count",
    "rows": "exec_rows",
    "order": "exec_order",
    "collation": "exec_collation",
    "failed": "exec_failed",
    "no_rows": "exec_no_rows",
    "object_kind": "exec_object_kind",
}


def describe_decision(decision: Equivalence) -> Note:
    """The decision as a sentence."""
    example = decision.counterexample
    if decision.status == "different" and example is not None:
        return Note(DIFFERENCE_NOTES[example.reason], message=example.message)
    if decision.proof_rows:
        return Note("exec_proved", databases=decision.databases, rows=decision.proof_rows)
    count, shown = decision.databases, decision.nonempty
    if decision.left_out and decision.status == "equivalent":
        return Note("exec_left_out", databases=count, nonempty=shown, left_out=decision.left_out)
    return Note(
        DECISION_NOTES[decision.status], databases=count, nonempty=shown, message=decision.message
    )


def build_decision_details(decision: Equivalence) -> dict[str, Any]:
    """The decision as facts for machines."""
    facts: dict[str, Any] = {
        "equivalence": decision.status,
        "databases": decision.databases,
        "databases_nonempty": decision.nonempty,
    }
    if decision.level:
        facts["equivalence_level"] = decision.level
    if decision.proof_rows:
        facts["proof_rows"] = decision.proof_rows
    if decision.left_out:
        facts["databases_left_out"] = decision.left_out
    if decision.product:
        facts["product"] = decision.product
    if decision.stand_in:
        facts["stand_in"] = decision.stand_in
    if decision.cause:
        facts["error_type"] = decision.cause
    if decision.counterexample is not None:
        facts["error_type"] = decision.counterexample.reason
        facts["counterexample_profile"] = decision.counterexample.profile
    return facts


def build_decision_sections(decision: Equivalence, reference: str) -> tuple[Section, ...]:
    """The reference, the counterexample with its database, and the difference side by side."""
    body = {"language": "sql", "text": reference}
    evidence = [Section(kind="code", title="reference_sql", body=body)] if reference else []
    return (*evidence, *build_counterexample_sections(decision.counterexample))


def build_counterexample_sections(example: Counterexample | None) -> tuple[Section, ...]:
    """The database on which two statements differ, and the difference side by side."""
    if example is None:
        return ()
    return (_build_database_section(example), *_build_difference_sections(example))


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
        "missing": [*map(list, diff.missing[:_MAX_ROWS])] if diff else _list_table_rows(want),
        "extra": [*map(list, diff.extra[:_MAX_ROWS])] if diff else _list_table_rows(got),
    }
    return [Section(kind="table_diff", title="difference", body=body)]


def _list_table_rows(table: ResultTable | None) -> list[list[Any]]:
    return [list(row) for row in table.rows[:_MAX_ROWS]] if table else []
