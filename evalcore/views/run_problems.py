"""What of a run was not measured, why and what helps; and the cases that it failed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from evalcore.errors import UsageError
from evalcore.i18n import DEFAULT, Note, lookup_text
from evalcore.records import Record
from evalcore.store import case_tables
from evalcore.store.run_folder import RunFolder, find_run
from evalcore.views.cases import bare_notes, gated_cases, read_case_note
from evalcore.views.payloads import to_json_value

_ALIKE = 3  # cases that are offered in place of an unknown one
#: Outcomes that say nothing about the target, by what a reader does about them.
UNMEASURED = ("target_error", "judge_error", "environment_error", "not_executed", "missing")
_REASONS = """
SELECT benchmark, outcome, coalesce(reason, '') AS reason, count(*) AS cases,
       first(id ORDER BY position, epoch) AS id, first(metric ORDER BY position, epoch) AS metric,
       first(note ORDER BY position, epoch) AS note,
       first(packed_note ORDER BY position, epoch) AS packed_note
FROM samples WHERE list_contains(?, outcome)
GROUP BY ALL ORDER BY benchmark, cases DESC, outcome, reason
"""
_FAILED = """
SELECT benchmark, metric, id, epoch, outcome, score, coalesce(cause, reason, '') AS cause, note,
       packed_note
FROM samples WHERE outcome = 'failed' ORDER BY position, epoch
"""
_CASES = "SELECT DISTINCT benchmark, metric, id FROM samples"
Case = tuple[str, str, str]  # benchmark, metric, id


class ErrorReason(Record, frozen=True):
    """Why `cases` of a benchmark (in all epochs) were not measured. `note` is what was said of the
    first of them, `remedy` what a reader does about it, "" where nothing helps."""

    benchmark: str
    outcome: str
    reason: str
    cases: int
    note: str
    remedy: str


class FailedCase(Record, frozen=True):
    """A case that was answered wrongly in one epoch; `score` is 0 to 1."""

    benchmark: str
    metric: str
    id: str
    epoch: int
    outcome: str
    score: float | None
    cause: str
    note: str


class RunProblems(Record, frozen=True):
    """`failed` is in the declared order."""

    errors: tuple[ErrorReason, ...]
    failed: tuple[FailedCase, ...]


def load_run_problems(folder: RunFolder, *, show_gated: bool = False) -> RunProblems:
    """Raises RunFolderError where a file of the run cannot be read. Notes on gated cases are left
    out unless `show_gated`."""
    path = case_tables.ensure_samples_table(folder)
    reasons = case_tables.query_samples([path], _REASONS, [list(UNMEASURED)])
    failed = case_tables.query_samples([path], _FAILED)
    gated = frozenset() if show_gated else gated_cases(folder)
    if gated:
        reasons, failed = bare_notes(reasons, gated), bare_notes(failed, gated)
    return RunProblems(
        errors=tuple(
            ErrorReason(
                benchmark=str(row["benchmark"]),
                outcome=str(row["outcome"]),
                reason=str(row["reason"]),
                cases=int(row["cases"]),
                note=read_case_note(row),
                remedy=find_remedy(str(row["outcome"]), str(row["reason"]), folder.run_id),
            )
            for row in _list_rows(reasons)
        ),
        failed=tuple(
            FailedCase(
                **{name: str(row[name]) for name in ("benchmark", "metric", "id", "outcome")},
                epoch=int(row["epoch"]),
                score=to_json_value(row["score"]),
                cause=str(row["cause"]),
                note=read_case_note(row),
            )
            for row in _list_rows(failed)
        ),
    )


def load_error_reasons(
    roots: Sequence[Path], run: str, *, show_gated: bool = False
) -> tuple[ErrorReason, ...]:
    """`RunProblems.errors` of a run by its id. Raises RunFolderError as `load_run_problems`."""
    return load_run_problems(find_run(run, roots), show_gated=show_gated).errors


def _list_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def find_remedy(outcome: str, reason: str, run: str, language: str = DEFAULT) -> str:
    """What a reader does about cases without a measurement; "" where no text says so."""
    for code in (reason, outcome):
        if text := code and lookup_text(f"cli.remedy.{code}", language):
            return text.replace("{run}", run)
    return ""


def find_case(roots: Sequence[Path], run: str, name: str) -> Case:
    """The case of a run that `name` is the id of, or METRIC/ID, or BENCHMARK/METRIC/ID. Raises
    UsageError, with what is alike, where it is none or several."""
    folder = find_run(run, roots)
    table = case_tables.query_samples([case_tables.ensure_samples_table(folder)], _CASES)
    cases = [(str(b), str(m), str(i)) for b, m, i in table.itertuples(index=False)]
    for first in (2, 1, 0):
        matching = sorted(case for case in cases if "/".join(case[first:]) == name)
        if len(matching) == 1:
            return matching[0]
        if matching:
            listed = ", ".join("/".join(case[max(0, first - 1) :]) for case in matching)
            raise UsageError(Note("run_several_cases", run=run, case=name, names=listed))
    names = sorted({"/".join(case[1:]) for case in cases} | {case[2] for case in cases})
    alike = difflib.get_close_matches(name, names, _ALIKE) or names[:_ALIKE]
    if not alike:
        raise UsageError(Note("run_no_cases", run=run, case=name))
    raise UsageError(Note("run_no_such_case", run=run, case=name, names=", ".join(alike)))
