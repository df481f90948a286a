"""The rules of a board worked with its own numbers: how a score adds up, what was asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from evalcore.catalog import BenchmarkCard, benchmark_cards
from evalcore.privacy import mask_benchmark
from evalcore.queries.gated import is_gated
from evalcore.records import BenchmarkScore, BenchmarkSpec, Message, Record
from evalcore.store.cases import load_run_case
from evalcore.store.run_folder import RunFolder, find_run

TERMS = ("metric", "weight", "samples", "points", "maximum", "weighted_points", "weighted_maximum")


class ScoreSums(Record, frozen=True):
    """The sums of a benchmark score: score = 100 x points / maximum."""

    points: float
    maximum: float
    score: float


class Prompt(Record, frozen=True):
    """What a target was really asked for one case, as it stands in the journal of a run; `mode` is
    how calls were asked for, where the benchmark asks for calls, and `hidden` says that the case is
    gated, so that its messages are left out."""

    run_id: str
    metric: str
    case: str
    messages: tuple[Message, ...]
    mode: str = ""
    hidden: bool = False


def build_score_terms(score: BenchmarkScore) -> pd.DataFrame:
    """One row per metric with cases, in the order of the catalogue: TERMS and score (0 to 100).

    `points` is the sum of difficulty x case score, `maximum` that of the difficulties; the weighted
    ones are these times the metric's weight, None for a metric that is reported and not scored.
    """
    card = benchmark_cards().get(score.benchmark)
    catalog_order = [metric.key for metric in card.metrics] if card else []

    def metric_position(metric: str) -> int:
        return catalog_order.index(metric) if metric in catalog_order else len(catalog_order)

    return pd.DataFrame(
        [
            {
                "metric": metric.metric,
                "weight": metric.weight,
                "samples": metric.samples,
                "points": metric.points,
                "maximum": metric.maximum,
                "weighted_points": None if metric.weight is None else metric.points * metric.weight,
                "weighted_maximum": (
                    None if metric.weight is None else metric.maximum * metric.weight
                ),
                "score": metric.score,
            }
            for metric in sorted(
                score.metrics.values(), key=lambda metric: metric_position(metric.metric)
            )
            if metric.samples
        ],
        columns=[*TERMS, "score"],
    )


def sum_score_terms(table: pd.DataFrame) -> ScoreSums:
    """The benchmark score from its `build_score_terms`; 0 where there is nothing to win."""
    points = float(table["weighted_points"].astype(float).sum())
    maximum = float(table["weighted_maximum"].astype(float).sum())
    return ScoreSums(points, maximum, 100 * points / maximum if maximum else 0.0)


def load_run_score(
    roots: Iterable[Path], run: str, benchmark: str
) -> tuple[BenchmarkSpec, BenchmarkScore] | None:
    """What a run declared for a benchmark and how it scored, None where it has no such score.

    Raises UsageError when there is no such run, RunFolderError when its files are broken.
    """
    folder = find_run(run, roots)
    summary = folder.read_summary()
    specs = {
        benchmark_spec.key: benchmark_spec
        for benchmark_spec in map(mask_benchmark, folder.read_spec().benchmarks)
    }
    score = None if summary is None else summary.benchmarks.get(benchmark)
    return None if score is None or benchmark not in specs else (specs[benchmark], score)


def list_first_prompts(
    roots: Sequence[Path], run: str, card: BenchmarkCard, *, show_gated: bool = False
) -> list[Prompt]:
    """The question put for the first answered case of each metric of a run.

    Raises UsageError when there is no such run, RunFolderError when a journal is broken.
    """
    folder = find_run(run, roots)
    candidates = (
        _find_first_prompt(folder, card.key, metric.key, show_gated) for metric in card.metrics
    )
    return [prompt for prompt in candidates if prompt is not None]


def _find_first_prompt(
    folder: RunFolder, benchmark: str, metric: str, show_gated: bool
) -> Prompt | None:
    for stored in folder.read_samples():
        if stored.benchmark != benchmark or stored.sample.metric != metric:
            continue
        _, episode, _ = load_run_case(folder, benchmark, metric, stored.sample.id)
        if episode is None or not episode.messages:
            continue
        if is_gated(stored.sample) and not show_gated:
            return Prompt(folder.run_id, metric, stored.sample.id, (), hidden=True)
        messages = tuple(message for message in episode.messages if message.role in _ASKING)
        mode = str(episode.state.get("mode", ""))
        return Prompt(folder.run_id, metric, stored.sample.id, messages, mode)
    return None


_ASKING = ("system", "user")
