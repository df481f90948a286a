"""A case report without its texts: what flags and scores need of it, small enough to keep all."""

from __future__ import annotations

from evalcore.exchange.scale.forms import CaseRow, Indicator, json_object
from evalcore.exchange.scale.recompute import Part, part_of
from evalcore.exchange.scale.tree import CaseReport
from evalcore.records import Record, content_hash


class RowOutline(Record, frozen=True):
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


class IndicatorOutline(Record, frozen=True):
    """An indicator; `stated` are its own counts of passed and failed cases.

    `digest` is of its rows alone: its stated weight was sometimes changed and nothing else.
    """

    sums: Part
    stated: tuple[int, int]
    digest: str
    rows: tuple[RowOutline, ...]

    @property
    def metric(self) -> str:
        return self.sums.metric


class Outline(Record, frozen=True):
    """A case report; `digest` is of its file."""

    digest: str
    indicators: tuple[IndicatorOutline, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(indicator.sums for indicator in self.indicators)


def outline(report: CaseReport) -> Outline:
    return Outline(report.digest, tuple(map(_indicator, report.indicators)))


def _indicator(indicator: Indicator) -> IndicatorOutline:
    return IndicatorOutline(
        sums=part_of(indicator),
        stated=(indicator.case_pass_count, indicator.case_wrong_count),
        digest=content_hash(indicator.case_datas),
        rows=tuple(map(_row, indicator.case_datas)),
    )


def _row(row: CaseRow) -> RowOutline:
    return RowOutline(
        id=row.id,
        case=row.case_id,
        points=row.case_weight,
        passed=row.passed,
        prompt=content_hash(row.mode_question),
        content=_content(row),
        service_error=row.service_error,
        empty=row.empty,
        decided=row.decided,
    )


def _content(row: CaseRow) -> str:
    """Comparable with the hash of a line of the case files; a client's own notes are left out."""
    case = json_object(row.case_content) or {}
    return content_hash({name: value for name, value in case.items() if not name.startswith("_")})
