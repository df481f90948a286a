"""The answers that SCALE published: its case reports, one record per graded answer.

Layout and fields: public/data/evaluation_case_reports/eval_run_case_YYYY-MM/{capability}/{id}.json,
a list of indicators with case_datas (actiontech/sql-llm-benchmark, 2026).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalcore.errors import DatasetError, UsageError
from evalcore.records import Record

_REPORTS = "evaluation_case_reports"


class PublishedAnswer(Record, frozen=True):
    """One graded answer. `case` is the case as it was when it was asked; `passed` the verdict."""

    month: str
    target: str
    capability: str
    indicator: str
    case_id: str
    case: dict[str, Any]
    answer: Any
    passed: bool
    rule_id: str = ""


def read_published_answers(
    data_folder: Path, capability: str, indicator: str
) -> Iterator[PublishedAnswer]:
    """Every answer to one indicator, in the order of month, target and case.

    Raises UsageError for a folder without reports, DatasetError for a report of another form.
    """
    root = data_folder / _REPORTS
    if not root.is_dir():
        raise UsageError(f"{data_folder} holds no folder {_REPORTS}; give SCALE's public/data")
    for path in sorted(root.glob(f"eval_run_case_*/{capability}/*.json")):
        month = path.parent.parent.name.removeprefix("eval_run_case_")
        for part in _read_case_report(path):
            if str(part.get("indicator_name", "")).removesuffix(".jsonl") == indicator:
                for row in part.get("case_datas", []):
                    yield from _parse_answer_rows(path, month, capability, indicator, row)


def _read_case_report(path: Path) -> list[dict[str, Any]]:
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DatasetError(path, None, "", f"is no case report: {error}") from None
    if not isinstance(report, list) or not all(isinstance(part, dict) for part in report):
        raise DatasetError(path, None, "", "is no list of indicators")
    return report


def _parse_answer_rows(
    path: Path, month: str, capability: str, indicator: str, row: dict[str, Any]
) -> Iterator[PublishedAnswer]:
    try:
        case = json.loads(row["case_content"])
        values = [str(row["case_id"]), str(row["case_eval_result"]), row["model_answers"]]
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetError(path, None, "case_datas", f"cannot be read: {error!r}") from None
    case_id, verdict, model_answers = values
    for answered in model_answers:
        yield PublishedAnswer(
            month=month,
            target=path.stem,
            capability=capability,
            indicator=indicator,
            case_id=case_id,
            case=case,
            answer=answered.get("model_answer"),
            passed=verdict == "Pass",
            rule_id=str(row.get("rule_id", "")),
        )
