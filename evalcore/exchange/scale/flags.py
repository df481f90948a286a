"""What is peculiar about a published score: carried over, outdated, inconsistent, incomplete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from evalcore.exchange.scale.forms import CapabilityScore
from evalcore.exchange.scale.outline import IndicatorOutline, Outline, RowOutline
from evalcore.exchange.scale.recompute import (
    Part,
    Recomputed,
    first_of_each,
    score,
    told_parts,
)
from evalcore.exchange.scale.survey import Survey, outdated_cases
from evalcore.records import Record
from evalcore.store.published import Flag

Kind = Literal[
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


class Entry(Record, frozen=True):
    """A claimed score with its case report, in its month; `prompted` is False for a service."""

    month: str
    capability: str
    model: str
    prompted: bool
    claimed: CapabilityScore
    report: Outline


def of(
    entry: Entry, found: Survey, numbers: Recomputed, configured: Mapping[str, float]
) -> tuple[Flag, ...]:
    """All flags of one capability of one model; `configured` are SCALE's weights for it."""
    return (
        *_score_flags(entry, numbers, configured),
        *_carried_over(entry, found),
        *_structure(entry, configured),
        *_not_asked(entry, found, configured),
        *(
            flag
            for indicator in entry.report.indicators
            for flag in (
                *_counts(indicator),
                *_case_flags(entry, indicator, found),
                *_dropped(entry, indicator, found, configured),
            )
        ),
    )


def _flag(kind: Kind, metric: str = "", detail: str = "") -> Flag:
    return Flag(kind, metric, detail)


def _score_flags(
    entry: Entry, numbers: Recomputed, configured: Mapping[str, float]
) -> Iterator[Flag]:
    if numbers.reading != "exact":
        detail = f"published {numbers.claimed:g}, by the report {numbers.own:g}"
        if numbers.configured != numbers.own:
            detail += f", by the configured weights {numbers.configured:g}"
        yield _flag("score_differs", detail=detail)
    published = told_parts(entry.claimed)
    by_metric = {part.metric: part for part in first_of_each(entry.report.parts, configured)}
    for metric, told in sorted(published.items()):
        part = by_metric.get(metric)
        if part is None:
            yield _flag("no_cases", metric, f"published {told:g}")
        elif abs(told - part.score) > 1e-9:
            yield _flag("indicator_score", metric, f"published {told:g}, cases give {part.score:g}")


def _carried_over(entry: Entry, found: Survey) -> Iterator[Flag]:
    place = (entry.capability, entry.model.lower())
    since = found.since.get((*place, entry.report.digest), entry.month)
    if since < entry.month:
        yield _flag("carried_over", detail=f"since {since}")
        return
    for indicator in entry.report.indicators:
        since = found.since.get((*place, indicator.metric, indicator.digest), entry.month)
        if since < entry.month:
            yield _flag("part_carried_over", indicator.metric, f"since {since}")


def _structure(entry: Entry, configured: Mapping[str, float]) -> Iterator[Flag]:
    for metric, count in Counter(part.metric for part in entry.report.parts).items():
        if count > 1:
            yield _flag("duplicate_indicator", metric, f"{count} times")
        if metric not in configured:
            yield _flag("foreign_indicator", metric)
    for part in entry.report.parts:
        weight = configured.get(part.metric, part.weight)
        if part.weight != weight:
            detail = f"stated {part.weight:g}, configured {weight:g}"
            yield _flag("weight_differs", part.metric, detail)


def _counts(indicator: IndicatorOutline) -> Iterator[Flag]:
    rows, stated = indicator.rows, indicator.stated
    passed = sum(row.passed for row in rows)
    if stated != (passed, len(rows) - passed):
        detail = f"stated {stated[0]} of {sum(stated)} passed, counted {passed} of {len(rows)}"
        yield _flag("counts_differ", indicator.metric, detail)


def _case_flags(entry: Entry, indicator: IndicatorOutline, found: Survey) -> Iterator[Flag]:
    rows, counted = indicator.rows, Counter(row.id for row in indicator.rows)
    found_cases: tuple[tuple[Kind, set[str]], ...] = (
        ("duplicate_case", {case for case, count in counted.items() if count > 1}),
        ("outdated_case", outdated_cases(found, entry.capability, indicator)),
        ("outdated_prompt", _outdated_prompts(entry, indicator.metric, rows, found)),
        ("service_error", {row.case for row in rows if row.service_error}),
        ("error_passed", {row.case for row in rows if row.service_error and row.passed}),
        ("empty_answer", {row.case for row in rows if row.empty}),
        ("unknown_verdict", {row.case for row in rows if not row.decided}),
    )
    for kind, cases in found_cases:
        if cases:
            yield _flag(kind, indicator.metric, _list(cases))


def _outdated_prompts(
    entry: Entry, metric: str, rows: Iterable[RowOutline], found: Survey
) -> set[str]:
    def current(row: RowOutline) -> str:
        return found.current_prompt(entry.month, (entry.capability, metric, row.case))

    return {row.case for row in rows if entry.prompted and current(row) not in ("", row.prompt)}


def _dropped(
    entry: Entry, indicator: IndicatorOutline, found: Survey, configured: Mapping[str, float]
) -> Iterator[Flag]:
    """Cases that other reports of the month have: left out of both sides of the fraction there;
    and cases that others lack."""
    part = indicator.sums
    known = _known_points(entry, found, part.metric)
    asked = {row.id for row in indicator.rows}
    missing = known.keys() - asked
    if part.metric in configured and asked - known.keys():
        yield _flag("extra_case", part.metric, _list(asked - known.keys()))
    if 2 * len(missing) > len(known):  # not dropped: asked when there were fewer
        yield _flag("fewer_cases", part.metric, f"{len(indicator.rows)} of {len(known)}")
    elif missing:
        more = sum(known[case] for case in missing)
        whole = Part(part.metric, part.weight, part.won, part.total + more)
        clean = first_of_each(entry.report.parts, configured)
        counted = score([whole if each.metric == part.metric else each for each in clean])
        detail = f"{_list(missing)}; {counted:g} if counted as failed"
        yield _flag("dropped_cases", part.metric, detail)


def _known_points(entry: Entry, found: Survey, metric: str) -> dict[str, int]:
    """The points of each declared case of a metric."""
    points = found.points.get((entry.month, entry.capability, metric), {})
    return {c: points[c] for c in found.declared_cases(entry.month, entry.capability, metric)}


def _not_asked(entry: Entry, found: Survey, configured: Mapping[str, float]) -> Iterator[Flag]:
    """Metrics that most others of the month have and this report lacks, or the other way round."""
    own = {part.metric for part in entry.report.parts}
    for metric in configured:
        common = found.is_common(entry.month, entry.capability, metric)
        cases = len(_known_points(entry, found, metric))
        if common and metric not in own and cases:
            yield _flag("fewer_cases", metric, f"0 of {cases}")
        if metric in own and not common:
            yield _flag("uncommon_indicator", metric)


def _list(cases: Iterable[str]) -> str:
    named = sorted(cases, key=lambda case: (len(case), case))
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    return f"{len(named)}: {', '.join(named[:_SHOWN])}{more}"
