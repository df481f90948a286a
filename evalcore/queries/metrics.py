"""The metrics of a board as frames: one target's metrics, or one metric across targets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pandas as pd

from evalcore.catalog import FLOOR_CONTROLS
from evalcore.queries.boards import Board, Row, is_control, list_board_rows
from evalcore.store.headers import HeaderScore, RunHeader
from evalcore.store.snapshot import memoize_on_snapshot

FLOORS = tuple(f"control:{kind}" for kind in FLOOR_CONTROLS)


def metric_scores(
    headers: Sequence[RunHeader], board: Board, benchmark: str, identity: str
) -> pd.DataFrame:
    """One target's metrics in the order of the catalogue.

    Columns: metric, weight, score, low, high (0 to 100), samples, best (of the ranked targets),
    floor (the best of the controls that score floors). What has no case or score is None, never 0.
    """
    board_rows = list_board_rows(headers, board)
    best, floor = find_score_extremes(headers, board)
    own = next((row.score(benchmark) for row in board_rows if row.identity == identity), None)
    records = []
    for card in board.columns[benchmark].card.metrics:
        score, low, high, samples = metric_line(own, card.key)
        key = f"{benchmark}/{card.key}"
        records.append(
            {
                "metric": card.key,
                "weight": card.weight,
                "score": score,
                "low": low,
                "high": high,
                "samples": samples,
                "best": best.get(key),
                "floor": floor.get(key),
            }
        )
    return pd.DataFrame(records)


def find_score_extremes(
    headers: Sequence[RunHeader], board: Board, *, whole: bool = False
) -> tuple[dict[str, float], ...]:
    """By "benchmark/metric" the best score of the ranked targets, and that of the idle controls;
    with `whole` by benchmark."""
    values = benchmark_values if whole else metric_values

    def compute_peaks() -> tuple[dict[str, float], ...]:
        everyone = list_board_rows(headers, board)
        return tuple(
            find_peaks(group, values)
            for group in (select_ranked_rows(everyone), select_floor_rows(everyone))
        )

    return memoize_on_snapshot(headers, ("extremes", whole, board.identity), compute_peaks)


def metric_line(
    score: HeaderScore | None, metric: str
) -> tuple[float | None, float | None, float | None, int]:
    """Score, bounds and number of cases of a metric; without a measured case there is no score to
    show, unless it is a claim."""
    line = None if score is None else score.metrics.get(metric)
    shown = line is not None and score is not None and (line[3] or score.is_bare_claim)
    return line if shown and line is not None else (None, None, None, 0)


def metric_values(row: Row) -> dict[str, float]:
    """A row's scores by "benchmark/metric"; metrics without a case or a score left out."""
    return {
        f"{benchmark}/{metric}": score
        for benchmark, run in row.runs.items()
        for metric, (score, _, _, samples) in run.benchmarks[benchmark].metrics.items()
        if samples and score is not None
    }


def benchmark_values(row: Row) -> dict[str, float]:
    """A row's scores by benchmark, those without one left out."""
    scores = {benchmark: run.benchmarks[benchmark].score for benchmark, run in row.runs.items()}
    return {benchmark: score for benchmark, score in scores.items() if score is not None}


def find_peaks(group: Iterable[Row], values: Callable[[Row], dict[str, float]]) -> dict[str, float]:
    """The highest of `values` per key over some rows."""
    highest: dict[str, float] = {}
    for row in group:
        for key, score in values(row).items():
            highest[key] = max(score, highest.get(key, score))
    return highest


def select_ranked_rows(board_rows: Iterable[Row]) -> list[Row]:
    """What a target may be measured against: the complete runs of those who are no control."""
    return [row.complete_part for row in board_rows if not is_control(row.target_key)]


def select_floor_rows(board_rows: Iterable[Row]) -> list[Row]:
    """The complete runs of the controls that do nothing: what they score is the floor."""
    return [row.complete_part for row in board_rows if row.target_key in FLOORS]
