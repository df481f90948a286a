"""What a decision on generated databases looks like as evidence, and in one sentence."""

from __future__ import annotations

from typing import Any

from evalcore.records import Section
from evalcore.sqlkit.equivalence.records import Counterexample, Equivalence
from evalcore.sqlkit.table import ResultTable

_ROWS = 60  # of a table shown; a counterexample is shrunk and rarely has more

_NOTES = {
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


def note(found: Equivalence) -> str:
    """The decision as a sentence."""
    example = found.counterexample
    if found.status == "different" and example is not None:
        return _DIFFERENT[example.reason].format(message=example.message)
    return _NOTES[found.status].format(
        databases=found.databases, nonempty=found.nonempty, message=found.message
    )


def details(found: Equivalence) -> dict[str, Any]:
    """The decision as facts for machines."""
    facts: dict[str, Any] = {
        "equivalence": found.status,
        "databases": found.databases,
        "databases_nonempty": found.nonempty,
    }
    if found.cause:
        facts["error_type"] = found.cause
    if found.counterexample is not None:
        facts["error_type"] = found.counterexample.reason
        facts["counterexample_profile"] = found.counterexample.profile
    return facts


def sections(found: Equivalence, reference: str) -> tuple[Section, ...]:
    """The reference, the counterexample with its database, and the difference side by side."""
    told = [_code("reference_sql", reference)] if reference else []
    example = found.counterexample
    if example is not None:
        told += [_database(example), *_difference(example)]
    return tuple(told)


def _code(title: str, sql: str) -> Section:
    return Section(kind="code", title=title, body={"language": "sql", "text": sql})


def _database(example: Counterexample) -> Section:
    tables = [
        {"name": name, "columns": list(table.columns), "rows": _rows(table)}
        for name, table in example.tables.items()
    ]
    return Section(
        kind="database", title="counterexample", body={"profile": example.profile, "tables": tables}
    )


def _difference(example: Counterexample) -> list[Section]:
    if example.reason == "failed":
        return [Section(kind="log", title="engine_message", body=example.message)]
    want, got, diff = example.expected, example.actual, example.diff
    body = {
        "columns": list(want.columns if want else ()),
        "answer_columns": list(got.columns if got else ()),
        "expected": _rows(want),
        "actual": _rows(got),
        "missing": [list(row) for row in diff.missing][:_ROWS] if diff else _rows(want),
        "extra": [list(row) for row in diff.extra][:_ROWS] if diff else _rows(got),
    }
    return [Section(kind="table_diff", title="difference", body=body)]


def _rows(table: ResultTable | None) -> list[list[Any]]:
    return [list(row) for row in table.rows[:_ROWS]] if table else []
