"""The result of a run as one JSON object for machines, and as a few lines for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalcore.exchange.report_data import is_unexecuted
from evalcore.plain_text import format_count
from evalcore.records import BenchmarkScore, RunSummary


def summary_to_dict(summary: RunSummary) -> dict[str, Any]:
    """The object that `run --json` and `show --json` print; scores are 0 to 100, null where nothing
    was measured."""
    return {
        "run_id": summary.run_id,
        "target": summary.target.identity,
        "complete": summary.is_complete,
        "benchmarks": {key: _score_to_dict(score) for key, score in summary.benchmarks.items()},
    }


def _score_to_dict(score: BenchmarkScore) -> dict[str, Any]:
    interval = score.interval
    return {
        "score": score.score,
        "interval": [interval.low, interval.high] if interval else None,
        "coverage": score.coverage,
        "metrics": {
            key: {"score": metric.score, "samples": metric.samples}
            for key, metric in score.metrics.items()
        },
        "outcomes": score.outcomes,
    }


def format_progress(outcomes: Mapping[str, int], total: int) -> str:
    """A line that a terminal draws over the last: cases done, and how many of each outcome."""
    counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in outcomes.items())
    return f"\r{sum(outcomes.values())}/{total} cases" + (f": {counts}" if counts else "")


def format_run_summary(summary: RunSummary) -> str:
    lines = [f"run {summary.run_id}  {summary.target.identity}  {summary.state}"]
    for key, score in summary.benchmarks.items():
        interval = score.interval
        between = f" [{interval.low:.1f}, {interval.high:.1f}]" if interval else ""
        partly = "" if score.complete else f"  (only {score.coverage:.0%} measured, not ranked)"
        shown = (
            f"{'n/e':>6}"
            if is_unexecuted(score)
            else f"{_format_score_column(score.score)}{between}"
        )
        lines.append(f"{key:<28}{shown}{partly}")
        for name, metric in score.metrics.items():
            lines.append(
                f"  {name:<26}{_format_score_column(metric.score)}  "
                f"{format_count(metric.samples, 'sample')}"
            )
        lines += [f"  view {name:<21}{value:6.1f}" for name, value in score.views.items()]
        counts = ", ".join(f"{name} {count}" for name, count in score.outcomes.items())
        lines.append(f"  {counts}")
    return "\n".join(lines)


def _format_score_column(score: float | None) -> str:
    return "   -- " if score is None else f"{score:6.1f}"
