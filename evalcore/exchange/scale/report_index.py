"""A case report without its texts: what flags and scores need of it, small enough to keep all."""

from __future__ import annotations

from evalcore.exchange.scale.forms import Indicator, ScaleCaseRow, json_object
from evalcore.exchange.scale.recompute import IndicatorSum, sum_indicator
from evalcore.exchange.scale.tree import CaseReport
from evalcore.records import Record, content_hash


class RowIndex(Record, frozen=True):
    """A graded row; `prompt` and `content` are hashes of what was asked and of the case."""

    id: str
    case: str
    points: int
    passed: bool
    prompt: str
    content: str
    service_error: bool
    empty: bool
    decided: bool = True


class IndicatorIndex(Record, frozen=True):
    """An indicator; `stated` are its own counts of passed and failed cases.

    `digest` is of its rows alone: its stated weight was sometimes changed and nothing else.
    """

    sums: IndicatorSum
    stated: tuple[int, int]
    digest: str
    rows: tuple[RowIndex, ...]

    @property
    def metric(self) -> str:
        return self.sums.metric


class ReportIndex(Record, frozen=True):
    """A case report; `digest` is of its file."""

    digest: str
    indicators: tuple[IndicatorIndex, ...]

    @property
    def parts(self) -> tuple[IndicatorSum, ...]:
        return tuple(indicator.sums for indicator in self.indicators)


def index_report(report: CaseReport) -> ReportIndex:
    return ReportIndex(report.digest, tuple(map(_index_indicator, report.indicators)))


def _index_indicator(indicator: Indicator) -> IndicatorIndex:
    return IndicatorIndex(
        sums=sum_indicator(indicator),
        stated=(indicator.case_pass_count, indicator.case_wrong_count),
        digest=content_hash(indicator.case_datas),
        rows=tuple(map(_index_row, indicator.case_datas)),
    )


def _index_row(row: ScaleCaseRow) -> RowIndex:
    return RowIndex(
        id=row.id,
        case=row.case_id,
        points=row.case_weight,
        passed=row.passed,
        prompt=content_hash(row.mode_question),
        content=_hash_case_content(row),
        service_error=row.service_error,
        empty=row.is_empty,
        decided=row.has_verdict,
    )


def _hash_case_content(row: ScaleCaseRow) -> str:
    """Comparable with the hash of a line of the case files; a client's own notes are left out."""
    case = json_object(row.case_content) or {}
    return content_hash({name: value for name, value in case.items() if not name.startswith("_")})
