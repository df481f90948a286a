"""Published scores as ours, computed from a case report or taken as the claims that they are, with
the flags that a reader should know of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from evalcore.exchange.imported_run import ImportedBenchmark
from evalcore.exchange.scale.cases import CapabilityContents, ContentsBuilder
from evalcore.exchange.scale.forms import (
    APPLICATION,
    WEIGHTS,
    CapabilityScore,
    ScaleDataFolder,
    ScaleModel,
    indicator_of,
)
from evalcore.exchange.scale.month_scan import (
    IndicatorIndex,
    MonthScan,
    ReportIndex,
    RowIndex,
    find_outdated_cases,
    parse_claim,
    parse_indicator_scores,
)
from evalcore.records import BenchmarkSpec, Record
from evalcore.results import BenchmarkScore, MetricScore
from evalcore.scoring.claims import (
    ClaimSum,
    RecomputedScore,
    compute_claimed_score,
    recompute_claim,
    select_first_parts,
)
from evalcore.store.run_folder import Flag, PublishedScore

# What is peculiar about a published score: carried over, outdated, inconsistent, incomplete.

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


def _score_flags(
    entry: ClaimEntry, numbers: RecomputedScore, configured: Mapping[str, float]
) -> Iterator[Flag]:
    if numbers.reading != "exact":
        detail = f"published {numbers.claimed:g}, by the report {numbers.own:g}"
        if numbers.configured != numbers.own:
            detail += f", by the configured weights {numbers.configured:g}"
        yield Flag("score_differs", detail=detail)
    published = parse_indicator_scores(entry.claimed)
    by_metric = {part.metric: part for part in select_first_parts(entry.report.parts, configured)}
    for metric, published_score in sorted(published.items()):
        part = by_metric.get(metric)
        if part is None:
            yield Flag("no_cases", metric, f"published {published_score:g}")
        elif abs(published_score - part.score) > 1e-9:
            detail = f"published {published_score:g}, cases give {part.score:g}"
            yield Flag("indicator_score", metric, detail)


def _carry_over_flags(entry: ClaimEntry, scan: MonthScan) -> Iterator[Flag]:
    model_key = (entry.capability, entry.model.lower())
    since = scan.since.get((*model_key, entry.report.digest), entry.month)
    if since < entry.month:
        yield Flag("carried_over", detail=f"since {since}")
        return
    for indicator in entry.report.indicators:
        since = scan.since.get((*model_key, indicator.metric, indicator.digest), entry.month)
        if since < entry.month:
            yield Flag("part_carried_over", indicator.metric, f"since {since}")


def _structure_flags(entry: ClaimEntry, configured: Mapping[str, float]) -> Iterator[Flag]:
    for metric, count in Counter(part.metric for part in entry.report.parts).items():
        if count > 1:
            yield Flag("duplicate_indicator", metric, f"{count} times")
        if metric not in configured:
            yield Flag("foreign_indicator", metric)
    for part in entry.report.parts:
        weight = configured.get(part.metric, part.weight)
        if part.weight != weight:
            detail = f"stated {part.weight:g}, configured {weight:g}"
            yield Flag("weight_differs", part.metric, detail)


def _count_flags(indicator: IndicatorIndex) -> Iterator[Flag]:
    rows, stated = indicator.rows, indicator.stated
    passed = sum(row.passed for row in rows)
    if stated != (passed, len(rows) - passed):
        detail = f"stated {stated[0]} of {sum(stated)} passed, counted {passed} of {len(rows)}"
        yield Flag("counts_differ", indicator.metric, detail)


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
            yield Flag(kind, indicator.metric, _format_case_list(cases))


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
    if part.metric in configured and (extra := asked - declared_points.keys()):
        yield Flag("extra_case", part.metric, _format_case_list(extra))
    if 2 * len(missing) > len(declared_points):  # not dropped: asked when there were fewer
        yield Flag("fewer_cases", part.metric, f"{len(indicator.rows)} of {len(declared_points)}")
    elif missing:
        more = sum(declared_points[case] for case in missing)
        whole = ClaimSum(part.metric, part.weight, part.won, part.total + more)
        clean = select_first_parts(entry.report.parts, configured)
        counted = compute_claimed_score(
            [whole if each.metric == part.metric else each for each in clean]
        )
        detail = f"{_format_case_list(missing)}; {counted:g} if counted as failed"
        yield Flag("dropped_cases", part.metric, detail)


def _find_declared_points(entry: ClaimEntry, scan: MonthScan, metric: str) -> dict[str, int]:
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
            yield Flag("fewer_cases", metric, f"0 of {cases}")
        if metric in own and not common:
            yield Flag("uncommon_indicator", metric)


def _format_case_list(cases: Iterable[str]) -> str:
    named = sorted(cases, key=lambda case: (len(case), case))
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    return f"{len(named)}: {', '.join(named[:_SHOWN])}{more}"


# One published score as ours: computed from its case report, or taken as the claim that it is.

PUBLISHER = "SCALE"


class Month(Record, frozen=True):
    """A month of the tree; `weights` are those of its columns, by capability, without the metrics
    that half of its models or more were never asked: those are reported and not scored."""

    name: str
    tree: ScaleDataFolder
    scan: MonthScan
    weights: Mapping[str, Mapping[str, float]]


def build_capability(
    month: Month, model: ScaleModel, name: str, bindery: ContentsBuilder
) -> ImportedBenchmark:
    """The score of a model in a month; raises DatasetError for a log that is none."""
    claimed, report = model.scores[name], month.tree.find_report(month.name, name, model.id)
    if report is None:
        return _bare_claim(month, name, claimed)
    declared, weights = _collect_declared_cases(month, name, report), month.weights[name]
    contents = bindery.build_contents(
        name, report, _find_capability_logs(month, model, name), weights, declared
    )
    used = {key: weight for key, weight in weights.items() if declared.get(key)}
    spec = _build_scale_spec(month.name, name, used, contents)
    score = msgspec.structs.replace(
        contents.score,
        column=spec.column,
        label=_format_scale_label(spec),
        views={"claimed": claimed.ability_score},
    )
    prompted = model.type != APPLICATION
    entry = ClaimEntry(month.name, name, model.id, prompted, claimed, month.scan.reports[report])
    published = _build_published_score(entry, contents, month.scan)
    return ImportedBenchmark(spec, score, published, contents.journals)


def _collect_declared_cases(month: Month, name: str, report: Path) -> dict[str, dict[str, Path]]:
    """The cases of every metric that counts this month, and of others that the report has."""
    own = {part.metric for part in month.scan.reports[report].parts}
    return {
        metric: month.scan.declared_cases(month.name, name, metric)
        for metric in WEIGHTS[name]
        if metric in month.weights[name] or metric in own
    }


def _find_capability_logs(month: Month, model: ScaleModel, name: str) -> dict[str, Path]:
    paths = {
        metric: month.tree.find_log(month.name, model.id, name, indicator_of(metric))
        for metric in WEIGHTS[name]
    }
    return {metric: path for metric, path in paths.items() if path}


def _build_published_score(
    entry: ClaimEntry, contents: CapabilityContents, scan: MonthScan
) -> PublishedScore:
    configured = WEIGHTS[entry.capability]
    numbers = recompute_claim(parse_claim(entry.claimed), entry.report.parts, configured)
    return PublishedScore(
        level=1,
        claimed=numbers.claimed,
        recomputed=None if contents.score.answered is None else round(contents.score.answered, 1),
        own=numbers.own,
        reading=numbers.reading,
        judges=contents.judges,
        graded_at=contents.graded_at,
        flags=collect_score_flags(entry, scan, numbers, configured),
    )


def _build_scale_spec(
    month: str, name: str, weights: dict[str, float], contents: CapabilityContents | None
) -> BenchmarkSpec:
    dataset = f"scale-{month}"
    return BenchmarkSpec(
        key=name,
        suite="sql",
        dataset=dataset,
        dataset_hash=contents.dataset_hash if contents else "",
        options={},
        weights=weights,
        prompt_version="published",
        scorer_version="published",
        column=f"{dataset}.{name}",
        samples=contents.score.samples if contents else 0,
    )


def _bare_claim(month: Month, name: str, claimed: CapabilityScore) -> ImportedBenchmark:
    """A claim without a case report: nothing but its numbers."""
    weights = WEIGHTS[name] | dict(month.weights[name])
    indicator_scores = parse_indicator_scores(claimed)
    metric_weights = {metric: weights[metric] for metric in indicator_scores if metric in weights}
    spec = _build_scale_spec(month.name, name, metric_weights, None)
    metrics = {
        metric: MetricScore(
            metric=metric,
            weight=metric_weights.get(metric),
            samples=0,
            measured=0,
            passed=0,
            score=value,
        )
        for metric, value in indicator_scores.items()
    }
    score = BenchmarkScore(
        benchmark=name,
        column=spec.column,
        score=claimed.ability_score,
        interval=None,
        answered=None,
        coverage=0.0,
        samples=0,
        complete=False,
        full=True,
        metrics=metrics,
        outcomes={},
        views={"claimed": claimed.ability_score},
        label=_format_scale_label(spec),
        level=0,
    )
    return ImportedBenchmark(spec, score, PublishedScore(level=0, claimed=claimed.ability_score))


def _format_scale_label(spec: BenchmarkSpec) -> str:
    month = spec.dataset.removeprefix("scale-")
    return f"{PUBLISHER} {month} · published · {spec.samples} samples"
