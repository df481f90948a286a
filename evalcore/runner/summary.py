"""From journals to `summary.json`: the scores of a run, and what it took."""

from __future__ import annotations

import functools
import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from evalcore import catalog
from evalcore.benchmarks import registry
from evalcore.errors import UsageError
from evalcore.intake import add_counts, add_numbers, read_cost, read_count
from evalcore.judges.identity import is_same_model
from evalcore.records import (
    BenchmarkScore,
    BenchmarkSpec,
    Episode,
    RunSpec,
    RunState,
    RunSummary,
    Sample,
    Totals,
    Usage,
    Verdict,
    add_usage,
    content_hash,
    utc_now,
)
from evalcore.runner.column import panel_parts
from evalcore.runner.panel import list_judge_specs
from evalcore.runner.plan import create_benchmark, with_column_key
from evalcore.store.run_folder import RunFolder, StoredVerdict

_log = logging.getLogger(__name__)

EpisodeKey = tuple[str, str, int]
VerdictKey = tuple[str, str, str, int]


def scoring_id(spec: RunSpec) -> str:
    """Names a folder of verdicts: equal scorers, equal name."""
    versions = [[b.key, to_current_spec(b).scorer_version] for b in spec.benchmarks]
    return content_hash([versions, panel_parts(list_judge_specs(spec))], 10)


def to_current_spec(spec: BenchmarkSpec) -> BenchmarkSpec:
    """The spec as this version of the code scores it: scorer version and column key follow."""
    card = create_benchmark(spec.key, spec.options).card
    if card.scorer_version == spec.scorer_version:
        return spec
    return msgspec.structs.replace(spec, scorer_version=card.scorer_version)


def latest_episodes(folder: RunFolder) -> dict[EpisodeKey, Episode]:
    """The last journaled episode of each generation: a repeated one replaces the failed one."""
    return {
        (stored.benchmark, stored.episode.key, stored.episode.epoch): stored.episode
        for stored in folder.read_episodes()
    }


def latest_verdicts(stored: Iterable[StoredVerdict]) -> dict[VerdictKey, Verdict]:
    return {
        (line.benchmark, line.verdict.metric, line.verdict.id, line.verdict.epoch): line.verdict
        for line in stored
    }


def summarise_run(
    folder: RunFolder, spec: RunSpec, scoring: str, cancelled: bool, wall: float
) -> RunSummary:
    """Score everything that is journaled; the state follows from what is missing."""
    samples: dict[str, list[Sample]] = defaultdict(list)
    for line in folder.read_samples():
        samples[line.benchmark].append(line.sample)
    verdicts: dict[str, list[Verdict]] = defaultdict(list)
    for (benchmark, *_), verdict in latest_verdicts(folder.read_verdicts(scoring)).items():
        verdicts[benchmark].append(verdict)
    scores: dict[str, BenchmarkScore] = {}
    for declared in spec.benchmarks:
        key = declared.key
        try:
            with registry.plugin_faults(key):
                scores[key] = _score_benchmark(declared, spec, samples[key], verdicts[key])
        except UsageError as error:
            if catalog.is_builtin(key):
                raise
            _log.warning("run %s: %s", spec.run_id, error)  # its neighbours keep their scores
    episodes = list(latest_episodes(folder).values())
    complete = len(scores) == len(spec.benchmarks) and all(s.complete for s in scores.values())
    state: RunState = "done" if complete else "cancelled" if cancelled else "incomplete"
    return RunSummary(
        run_id=spec.run_id,
        target=spec.target,
        state=state,
        scoring=scoring,
        benchmarks=scores,
        totals=compute_totals(episodes, [v for group in verdicts.values() for v in group], wall),
        errors=dict(Counter(e.failure.kind for e in episodes if e.failure)),
        created_at=spec.created_at,
        finished_at=utc_now(),
        origin=spec.origin,
        epochs=spec.epochs,
    )


def _score_benchmark(
    spec: BenchmarkSpec, run: RunSpec, samples: Sequence[Sample], verdicts: Sequence[Verdict]
) -> BenchmarkScore:
    benchmark = create_benchmark(spec.key, spec.options)
    now_scored = with_column_key(to_current_spec(spec))
    scored = benchmark.aggregate(
        spec.apply_weights(samples),
        verdicts,
        spec.weights,
        epochs=run.epochs,
        column=now_scored.column,
        full=spec.full,
        label=describe_column(spec),
    )
    in_range = scored.score is None or 0 <= scored.score <= 100
    if not (scored.benchmark == spec.key and in_range):
        raise ValueError(f"aggregate gave {scored.benchmark} the score {scored.score}")
    by_itself = any(is_same_model(judge, run.target) for judge in spec.judges)
    return msgspec.structs.replace(scored, self_judged=by_itself)


def describe_column(spec: BenchmarkSpec) -> str:
    """The column in words: data set, mode, options that are not as usual, and size."""
    usual = {option.name: option.default for option in catalog.benchmark_card(spec.key).options}
    options = ", ".join(
        f"{name}={value}"
        for name, value in spec.options.items()
        if name not in ("mode", "prompt") and value != usual.get(name)
    )
    parts = [spec.dataset, str(spec.options.get("mode", "")), options, f"{spec.samples} samples"]
    if spec.difficulty_weights:
        levels = (f"{level}: {weight:g}" for level, weight in spec.difficulty_weights.items())
        parts.insert(-1, f"weight of difficulty {', '.join(levels)}")
    parts += ["own prompt"] if "prompt" in spec.options else []
    return " · ".join(part for part in parts if part)


def compute_totals(episodes: Sequence[Episode], verdicts: Sequence[Verdict], wall: float) -> Totals:
    """What the episodes and the panel took; `wall` is the time of the worker in seconds."""
    usage = functools.reduce(add_usage, (episode.usage for episode in episodes), Usage())
    judged = [v.details for v in verdicts if read_count(v.details.get("judge_requests"))]
    latencies = sorted(e.latency for e in episodes if e.latency and not e.cached)
    return Totals(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=add_numbers(*(episode.cost for episode in episodes)) if episodes else None,
        latency_p50=_compute_quantile(latencies, 0.5),
        latency_p95=_compute_quantile(latencies, 0.95),
        requests=add_counts(*(e.attempts for e in episodes)) or 0,
        cached=sum(e.cached for e in episodes),
        wall=round(wall, 3),
        judge_requests=add_counts(*(read_count(d["judge_requests"]) for d in judged)) or 0,
        cost_sources=tuple(sorted({source for e in episodes for source in e.cost_sources})),
        judge_cost=add_numbers(*(read_cost(details.get("judge_cost")) for details in judged)),
    )


def _compute_quantile(ordered: Sequence[float], share: float) -> float | None:
    """Nearest rank."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None
