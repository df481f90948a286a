"""One published score as ours: computed from its case report, or taken as the claim that it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from evalcore.exchange.scale import flags
from evalcore.exchange.scale.capabilities import WEIGHTS, indicator_of
from evalcore.exchange.scale.contents import CapabilityContents, ContentsBuilder
from evalcore.exchange.scale.flags import ClaimEntry
from evalcore.exchange.scale.forms import APPLICATION, CapabilityScore, ScaleModel
from evalcore.exchange.scale.month_scan import MonthScan
from evalcore.exchange.scale.recompute import parse_indicator_scores, recompute_claim
from evalcore.exchange.scale.tree import ScaleDataFolder
from evalcore.records import BenchmarkScore, BenchmarkSpec, MetricScore, Record
from evalcore.store.published import PublishedScore

PUBLISHER = "SCALE"


class PublishedCapability(Record, frozen=True):
    """One capability of one model, ready to be written; without a case report no contents."""

    spec: BenchmarkSpec
    score: BenchmarkScore
    published: PublishedScore
    contents: CapabilityContents | None = None


class Month(Record, frozen=True):
    """A month of the tree; `weights` are those of its columns, by capability, without the metrics
    that half of its models or more were never asked: those are reported and not scored."""

    name: str
    tree: ScaleDataFolder
    scan: MonthScan
    weights: Mapping[str, Mapping[str, float]]


def build_capability(
    month: Month, model: ScaleModel, name: str, bindery: ContentsBuilder
) -> PublishedCapability:
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
    return PublishedCapability(
        spec, score, _build_published_score(entry, contents, month.scan), contents
    )


def _collect_declared_cases(month: Month, name: str, report: Path) -> dict[str, dict[str, Path]]:
    """The cases of every metric that counts this month, and of others that the report has."""
    own = {part.metric for part in month.scan.reports[report].parts}
    return {
        metric: month.scan.declared_cases(month.name, name, metric)
        for metric in WEIGHTS[name]
        if metric in month.weights[name] or metric in own
    }


def _find_capability_logs(month: Month, model: ScaleModel, name: str) -> dict[str, Path]:
    """The process logs of a capability by metric."""
    paths = {
        metric: month.tree.find_log(month.name, model.id, name, indicator_of(metric))
        for metric in WEIGHTS[name]
    }
    return {metric: path for metric, path in paths.items() if path}


def _build_published_score(
    entry: ClaimEntry, contents: CapabilityContents, scan: MonthScan
) -> PublishedScore:
    configured = WEIGHTS[entry.capability]
    numbers = recompute_claim(entry.claimed, entry.report.parts, configured)
    return PublishedScore(
        level=1,
        claimed=numbers.claimed,
        recomputed=None if contents.score.answered is None else round(contents.score.answered, 1),
        own=numbers.own,
        reading=numbers.reading,
        judges=contents.judges,
        graded_at=contents.graded_at,
        flags=flags.collect_score_flags(entry, scan, numbers, configured),
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


def _bare_claim(month: Month, name: str, claimed: CapabilityScore) -> PublishedCapability:
    """A claim without a case report: nothing but its numbers."""
    weights, indicator_scores = (
        WEIGHTS[name] | dict(month.weights[name]),
        parse_indicator_scores(claimed),
    )
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
    return PublishedCapability(spec, score, PublishedScore(level=0, claimed=claimed.ability_score))


def _format_scale_label(spec: BenchmarkSpec) -> str:
    month = spec.dataset.removeprefix("scale-")
    return f"{PUBLISHER} {month} · published · {spec.samples} samples"
