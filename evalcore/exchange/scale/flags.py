"""What is peculiar about a published score: carried over, outdated, inconsistent, incomplete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from evalcore.exchange.scale.forms import CapabilityScore
from evalcore.exchange.scale.month_scan import MonthScan, find_outdated_cases
from evalcore.exchange.scale.recompute import (
    IndicatorSum,
    RecomputedScore,
    compute_capability_score,
    parse_indicator_scores,
    select_first_parts,
)
from evalcore.exchange.scale.report_index import IndicatorIndex, ReportIndex, RowIndex
from evalcore.records import Record
from evalcore.store.published import Flag

FlagKind = Literal[
    "score_differs",  # from what the report gives; the reading tells why
    "indicator_score",  # differs from its cases
    "no_cases",  # an indicator score without cases
    "carried_over",  # the whole report, from an earlier month
    "part_carried_over",  # one indicator
    "duplicate_indicator",
    "foreign_indicator",  # of another capability
    "weight_differs",  # from the configured one
    "counts_differ",  # stated and counted passes
    "duplicate_case",
    "outdated_case",  # another content today
    "outdated_prompt",  # others of the month were asked with a newer one
    "service_error",  # graded as an answer
    "error_passed",
    "empty_answer",
    "unknown_verdict",  # neither Pass nor Fail
    "fewer_cases",  # less than half of what others of the month were asked, or none
    "dropped_cases",
    "extra_case",  # that fewer than half of the month's reports hold
    "uncommon_indicator",  # that half of the month's reports or more lack
]
_SHOWN = 12  # cases named in a flag


class ClaimEntry(Record, frozen=True):
    """A claimed score with its case report, in its month; `prompted` is False for a service."""

    month: str
    capability: str
    model: str
    prompted: bool
    claimed: CapabilityScore
    report: ReportIndex


def collect_score_flags(
    entry: ClaimEntry, scan: MonthScan, numbers: RecomputedScore, configured: Mapping[str, float]
) -> tuple[Flag, ...]:
    """All flags of one capability of one model; `configured` are SCALE's weights for it."""
    return (
        *_score_flags(entry, numbers, configured),
        *_carry_over_flags(entry, scan),
        *_structure_flags(entry, configured),
        *_unasked_metric_flags(entry, scan, configured),
        *(
            flag
            for indicator in entry.report.indicators
            for flag in (
                *_count_flags(indicator),
                *_case_flags(entry, indicator, scan),
                *_dropped_case_flags(entry, indicator, scan, configured),
            )
        ),
    )


def _build_flag(kind: FlagKind, metric: str = "", detail: str = "") -> Flag:
    return Flag(kind, metric, detail)


def _score_flags(
    entry: ClaimEntry, numbers: RecomputedScore, configured: Mapping[str, float]
) -> Iterator[Flag]:
    if numbers.reading != "exact":
        detail = f"published {numbers.claimed:g}, by the report {numbers.own:g}"
        if numbers.configured != numbers.own:
            detail += f", by the configured weights {numbers.configured:g}"
        yield _build_flag("score_differs", detail=detail)
    published = parse_indicator_scores(entry.claimed)
    by_metric = {part.metric: part for part in select_first_parts(entry.report.parts, configured)}
    for metric, published_score in sorted(published.items()):
        part = by_metric.get(metric)
        if part is None:
            yield _build_flag("no_cases", metric, f"published {published_score:g}")
        elif abs(published_score - part.score) > 1e-9:
            yield _build_flag(
                "indicator_score",
                metric,
                f"published {published_score:g}, cases give {part.score:g}",
            )


def _carry_over_flags(entry: ClaimEntry, scan: MonthScan) -> Iterator[Flag]:
    model_key = (entry.capability, entry.model.lower())
    since = scan.since.get((*model_key, entry.report.digest), entry.month)
    if since < entry.month:
        yield _build_flag("carried_over", detail=f"since {since}")
        return
    for indicator in entry.report.indicators:
        since = scan.since.get((*model_key, indicator.metric, indicator.digest), entry.month)
        if since < entry.month:
            yield _build_flag("part_carried_over", indicator.metric, f"since {since}")


def _structure_flags(entry: ClaimEntry, configured: Mapping[str, float]) -> Iterator[Flag]:
    for metric, count in Counter(part.metric for part in entry.report.parts).items():
        if count > 1:
            yield _build_flag("duplicate_indicator", metric, f"{count} times")
        if metric not in configured:
            yield _build_flag("foreign_indicator", metric)
    for part in entry.report.parts:
        weight = configured.get(part.metric, part.weight)
        if part.weight != weight:
            detail = f"stated {part.weight:g}, configured {weight:g}"
            yield _build_flag("weight_differs", part.metric, detail)


def _count_flags(indicator: IndicatorIndex) -> Iterator[Flag]:
    rows, stated = indicator.rows, indicator.stated
    passed = sum(row.passed for row in rows)
    if stated != (passed, len(rows) - passed):
        detail = f"stated {stated[0]} of {sum(stated)} passed, counted {passed} of {len(rows)}"
        yield _build_flag("counts_differ", indicator.metric, detail)


def _case_flags(entry: ClaimEntry, indicator: IndicatorIndex, scan: MonthScan) -> Iterator[Flag]:
    rows, counted = indicator.rows, Counter(row.id for row in indicator.rows)
    cases_by_kind: tuple[tuple[FlagKind, set[str]], ...] = (
        ("duplicate_case", {case for case, count in counted.items() if count > 1}),
        ("outdated_case", find_outdated_cases(scan, entry.capability, indicator)),
        ("outdated_prompt", _find_outdated_prompts(entry, indicator.metric, rows, scan)),
        ("service_error", {row.case for row in rows if row.service_error}),
        ("error_passed", {row.case for row in rows if row.service_error and row.passed}),
        ("empty_answer", {row.case for row in rows if row.empty}),
        ("unknown_verdict", {row.case for row in rows if not row.decided}),
    )
    for kind, cases in cases_by_kind:
        if cases:
            yield _build_flag(kind, indicator.metric, _format_case_list(cases))


def _find_outdated_prompts(
    entry: ClaimEntry, metric: str, rows: Iterable[RowIndex], scan: MonthScan
) -> set[str]:
    def find_current_prompt(row: RowIndex) -> str:
        return scan.find_current_prompt(entry.month, (entry.capability, metric, row.case))

    return {
        row.case
        for row in rows
        if entry.prompted and find_current_prompt(row) not in ("", row.prompt)
    }


def _dropped_case_flags(
    entry: ClaimEntry, indicator: IndicatorIndex, scan: MonthScan, configured: Mapping[str, float]
) -> Iterator[Flag]:
    """Cases that other reports of the month have: left out of both sides of the fraction there;
    and cases that others lack."""
    part = indicator.sums
    declared_points = _find_declared_points(entry, scan, part.metric)
    asked = {row.id for row in indicator.rows}
    missing = declared_points.keys() - asked
    if part.metric in configured and asked - declared_points.keys():
        yield _build_flag(
            "extra_case", part.metric, _format_case_list(asked - declared_points.keys())
        )
    if 2 * len(missing) > len(declared_points):  # not dropped: asked when there were fewer
        yield _build_flag(
            "fewer_cases", part.metric, f"{len(indicator.rows)} of {len(declared_points)}"
        )
    elif missing:
        more = sum(declared_points[case] for case in missing)
        whole = IndicatorSum(part.metric, part.weight, part.won, part.total + more)
        clean = select_first_parts(entry.report.parts, configured)
        counted = compute_capability_score(
            [whole if each.metric == part.metric else each for each in clean]
        )
        detail = f"{_format_case_list(missing)}; {counted:g} if counted as failed"
        yield _build_flag("dropped_cases", part.metric, detail)


def _find_declared_points(entry: ClaimEntry, scan: MonthScan, metric: str) -> dict[str, int]:
    """The points of each declared case of a metric."""
    points = scan.points.get((entry.month, entry.capability, metric), {})
    return {c: points[c] for c in scan.declared_cases(entry.month, entry.capability, metric)}


def _unasked_metric_flags(
    entry: ClaimEntry, scan: MonthScan, configured: Mapping[str, float]
) -> Iterator[Flag]:
    """Metrics that most others of the month have and this report lacks, or the other way round."""
    own = {part.metric for part in entry.report.parts}
    for metric in configured:
        common = scan.is_common(entry.month, entry.capability, metric)
        cases = len(_find_declared_points(entry, scan, metric))
        if common and metric not in own and cases:
            yield _build_flag("fewer_cases", metric, f"0 of {cases}")
        if metric in own and not common:
            yield _build_flag("uncommon_indicator", metric)


def _format_case_list(cases: Iterable[str]) -> str:
    named = sorted(cases, key=lambda case: (len(case), case))
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    return f"{len(named)}: {', '.join(named[:_SHOWN])}{more}"
