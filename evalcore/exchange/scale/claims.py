"""One published score as ours: computed from its case report, or taken as the claim that it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from evalcore.exchange.scale import flags
from evalcore.exchange.scale.capabilities import WEIGHTS, indicator_of
from evalcore.exchange.scale.contents import Bindery, Contents
from evalcore.exchange.scale.flags import Entry
from evalcore.exchange.scale.forms import APPLICATION, CapabilityScore, Model
from evalcore.exchange.scale.recompute import recompute, told_parts
from evalcore.exchange.scale.survey import Survey
from evalcore.exchange.scale.tree import Tree
from evalcore.records import BenchmarkScore, BenchmarkSpec, MetricScore, Record
from evalcore.store.published import PublishedScore

PUBLISHER = "SCALE"


class Capability(Record, frozen=True):
    """One capability of one model, ready to be written; without a case report no contents."""

    spec: BenchmarkSpec
    score: BenchmarkScore
    told: PublishedScore
    contents: Contents | None = None


class Month(Record, frozen=True):
    """A month of the tree; `weights` are those of its columns, by capability, without the metrics
    that half of its models or more were never asked: those are reported and not scored."""

    name: str
    tree: Tree
    found: Survey
    weights: Mapping[str, Mapping[str, float]]


def capability(month: Month, model: Model, name: str, bindery: Bindery) -> Capability:
    """The score of a model in a month; raises DatasetError for a log that is none."""
    claimed, report = model.scores[name], month.tree.report(month.name, name, model.id)
    if report is None:
        return _bare_claim(month, name, claimed)
    declared, weights = _declared(month, name, report), month.weights[name]
    contents = bindery.contents(name, report, _logs(month, model, name), weights, declared)
    used = {key: weight for key, weight in weights.items() if declared.get(key)}
    spec = _spec(month.name, name, used, contents)
    score = msgspec.structs.replace(
        contents.score,
        column=spec.column,
        label=_label(spec),
        views={"claimed": claimed.ability_score},
    )
    prompted = model.type != APPLICATION
    entry = Entry(month.name, name, model.id, prompted, claimed, month.found.reports[report])
    return Capability(spec, score, _told(entry, contents, month.found), contents)


def _declared(month: Month, name: str, report: Path) -> dict[str, dict[str, Path]]:
    """The cases of every metric that counts this month, and of others that the report has."""
    own = {part.metric for part in month.found.reports[report].parts}
    return {
        metric: month.found.declared_cases(month.name, name, metric)
        for metric in WEIGHTS[name]
        if metric in month.weights[name] or metric in own
    }


def _logs(month: Month, model: Model, name: str) -> dict[str, Path]:
    """The process logs of a capability by metric."""
    paths = {
        metric: month.tree.log(month.name, model.id, name, indicator_of(metric))
        for metric in WEIGHTS[name]
    }
    return {metric: path for metric, path in paths.items() if path}


def _told(entry: Entry, contents: Contents, found: Survey) -> PublishedScore:
    configured = WEIGHTS[entry.capability]
    numbers = recompute(entry.claimed, entry.report.parts, configured)
    return PublishedScore(
        level=1,
        claimed=numbers.claimed,
        recomputed=None if contents.score.answered is None else round(contents.score.answered, 1),
        own=numbers.own,
        reading=numbers.reading,
        judges=contents.judges,
        graded_at=contents.graded_at,
        flags=flags.of(entry, found, numbers, configured),
    )


def _spec(
    month: str, name: str, weights: dict[str, float], contents: Contents | None
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


def _bare_claim(month: Month, name: str, claimed: CapabilityScore) -> Capability:
    """A claim without a case report: nothing but its numbers."""
    weights, told = WEIGHTS[name] | dict(month.weights[name]), told_parts(claimed)
    known = {metric: weights[metric] for metric in told if metric in weights}
    spec = _spec(month.name, name, known, None)
    metrics = {
        metric: MetricScore(
            metric=metric,
            weight=known.get(metric),
            samples=0,
            measured=0,
            passed=0,
            score=value,
        )
        for metric, value in told.items()
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
        label=_label(spec),
        level=0,
    )
    return Capability(spec, score, PublishedScore(level=0, claimed=claimed.ability_score))


def _label(spec: BenchmarkSpec) -> str:
    month = spec.dataset.removeprefix("scale-")
    return f"{PUBLISHER} {month} · published · {spec.samples} samples"
