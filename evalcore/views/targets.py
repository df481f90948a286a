"""Targets as frames: scores by metric, leaders and extremes of a board, profile, history,
outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import get_args

import pandas as pd
from msgspec.structs import astuple

from evalcore.catalog import CONTROL_KIND, FLOOR_CONTROLS
from evalcore.records import Outcome, Record
from evalcore.store.headers import HeaderScore, RunHeader, memoize_on_snapshot
from evalcore.views.boards import Board, Row, is_control, list_board_rows

# The metrics of a board as frames: one target's metrics, or one metric across targets.

FLOORS = tuple(f"{CONTROL_KIND}:{kind}" for kind in FLOOR_CONTROLS)


class ScoreLine(Record, frozen=True):
    """A benchmark of a target (`metric` is "") or one of its metrics: score and interval, 0 to 100,
    the number of cases, the `best` of the ranked targets, and the `floor`, the best of the controls
    that score floors. What has no case or score is None, never 0."""

    benchmark: str
    metric: str
    weight: float | None
    score: float | None
    low: float | None
    high: float | None
    samples: int
    best: float | None
    floor: float | None


@dataclass(frozen=True)
class TargetView:
    """A target on a board, as page, API and static site show it."""

    headers: Sequence[RunHeader]
    board: Board
    identity: str

    @cached_property
    def row(self) -> Row | None:
        """The runs that stand for it, None where it has none on the board."""
        return find_target_row(self.headers, self.board, self.identity)

    def list_scores(self, benchmark: str) -> list[ScoreLine]:
        """The benchmark as a whole, then its metrics in the order of the catalogue."""
        own = self.row.score(benchmark) if self.row else None
        metrics = self.board.columns[benchmark].card.metrics
        total = (own.score, own.low, own.high, own.samples) if own else metric_line(None, "")
        wholes = find_score_extremes(self.headers, self.board, whole=True)
        parts = find_score_extremes(self.headers, self.board)
        return [
            ScoreLine(benchmark, "", None, *total, *(peaks.get(benchmark) for peaks in wholes)),
            *(
                ScoreLine(
                    benchmark,
                    metric.key,
                    metric.weight,
                    *metric_line(own, metric.key),
                    *(peaks.get(f"{benchmark}/{metric.key}") for peaks in parts),
                )
                for metric in metrics
            ),
        ]

    def list_all_scores(self) -> list[ScoreLine]:
        """The lines of every benchmark that the target was run in."""
        benchmarks = self.row.runs if self.row else ()
        return [line for benchmark in benchmarks for line in self.list_scores(benchmark)]

    def build_metric_frame(self, benchmark: str) -> pd.DataFrame:
        """The metrics as a frame with the fields of a `ScoreLine`."""
        lines = [astuple(line) for line in self.list_scores(benchmark)[1:]]
        frame = pd.DataFrame(lines, columns=ScoreLine.__struct_fields__)
        return frame.drop(columns="benchmark")

    @cached_property
    def history(self) -> pd.DataFrame:
        """All its runs, see `build_run_history`."""
        return build_run_history(list_target_runs(self.headers, self.identity), self.board)


def find_score_extremes(
    headers: Sequence[RunHeader], board: Board, *, whole: bool = False
) -> tuple[dict[str, float], ...]:
    """By "benchmark/metric" the best score of the ranked targets, and that of the idle controls;
    with `whole` by benchmark."""
    values = benchmark_values if whole else metric_values

    def compute_peaks() -> tuple[dict[str, float], ...]:
        everyone = list_board_rows(headers, board)
        groups = (select_ranked_rows(everyone), select_floor_rows(everyone))
        return tuple(find_peaks(group, values) for group in groups)

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


# One target as frames: its runs, its profile on a board, its history, outcomes and cost.

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
#: From this many spokes on a radar shows a shape; with fewer it shows the metrics instead.
_SPOKES = 3


def list_identities(headers: Iterable[RunHeader]) -> list[str]:
    """Every target identity with a run: models first, controls last, each by name."""
    return list(memoize_on_snapshot(headers, "identities", lambda: _sort_identities(headers)))


def _sort_identities(headers: Iterable[RunHeader]) -> list[str]:
    target_keys = {header.identity: header.target_key for header in headers}
    return sorted(target_keys, key=lambda identity: (is_control(target_keys[identity]), identity))


def list_target_runs(headers: Iterable[RunHeader], identity: str) -> list[RunHeader]:
    """The runs of one target, newest first; empty for an unknown target."""
    by_identity = memoize_on_snapshot(headers, "runs", lambda: _group_by_identity(headers))
    runs = by_identity.get(identity, [])
    return sorted(runs, key=lambda run: run.created_at, reverse=True)


def _group_by_identity(headers: Iterable[RunHeader]) -> dict[str, list[RunHeader]]:
    runs_by_identity: dict[str, list[RunHeader]] = {}
    for header in headers:
        runs_by_identity.setdefault(header.identity, []).append(header)
    return runs_by_identity


def find_target_row(headers: Iterable[RunHeader], board: Board, identity: str) -> Row | None:
    """The target's row on a board, None where it has no score there."""
    return next((row for row in list_board_rows(headers, board) if row.identity == identity), None)


def find_best_other(
    headers: Iterable[RunHeader], board: Board, row: Row, benchmark: str
) -> Row | None:
    """The other target with the best complete score in a benchmark of a board, controls left out;
    None where nobody else ran it to its end."""
    candidates = [
        (score.score, other)
        for other in list_board_rows(headers, board)
        if other.identity != row.identity
        and not is_control(other.target_key)
        and (score := other.score(benchmark)) is not None
        and score.complete
        and score.score is not None
    ]
    return max(candidates, key=lambda candidate: candidate[0])[1] if candidates else None


def benchmark_frame(row: Row, board: Board) -> pd.DataFrame:
    """Per benchmark of the board: benchmark, score, low, high, answered, coverage (0 to 1),
    samples, complete, run_id; a benchmark that was not run has None."""
    parts = ["score", "low", "high", "answered", "coverage", "samples"]
    records = []
    for benchmark in board.columns:
        score, run = row.score(benchmark), row.runs.get(benchmark)
        values = [None if score is None else getattr(score, name) for name in parts]
        complete = score is not None and score.complete
        records.append((benchmark, *values, complete, run and run.run_id))
    return pd.DataFrame(records, columns=["benchmark", *parts, "complete", "run_id"])


def build_target_radar(headers: Sequence[RunHeader], board: Board, identity: str) -> pd.DataFrame:
    """Frame for the radar: axis, series (target, best, floor) and score, 0 to 100.

    The spokes are those of `list_radar_axes` that anybody has a score on. `best` is the best ranked
    target per axis, `floor` the best of the controls that score floors.
    """
    own = [row for row in list_board_rows(headers, board) if row.identity == identity]
    radar_axes = list_radar_axes(board, own[0] if own else None)
    whole = not any("/" in axis for axis in radar_axes)
    best, floor = find_score_extremes(headers, board, whole=whole)
    series_scores = {
        "target": find_peaks(own, benchmark_values if whole else metric_values),
        "best": best,
        "floor": floor,
    }
    records = [
        {"axis": axis, "series": series, "score": score}
        for series, scores in series_scores.items()
        for axis, score in scores.items()
        if axis in radar_axes
    ]
    return pd.DataFrame(records, columns=["axis", "series", "score"])


def list_radar_axes(board: Board, row: Row | None = None) -> list[str]:
    """The spokes of `build_target_radar` in the order of the catalogue: the board's benchmarks, or
    "benchmark/metric" of those that the row (None: the board) has where they are too few for a
    shape."""
    present = [key for key in board.columns if row is None or key in row.runs]
    if len(present) >= _SPOKES:
        return list(board.columns)
    return [part for part in board.metrics if part.partition("/")[0] in present]


def build_run_history(runs: Iterable[RunHeader], board: Board | None = None) -> pd.DataFrame:
    """One row per run and benchmark, oldest first: date (UTC), benchmark, label, dataset, samples,
    full, score, low, high, coverage, complete, on_board, run_id, state, note, cost."""
    records = []
    for run in runs:
        for benchmark, score in run.benchmarks.items():
            column = None if board is None else board.columns.get(benchmark)
            on_board = column is not None and column.key == score.column
            parts = (getattr(score, name) for name in _SCORE_FIELDS)
            here = (on_board, run.run_id, run.state, run.note, run.totals.cost)
            records.append((run.created_at, benchmark, *parts, *here))
    names = ["date", "benchmark", *_SCORE_FIELDS, "on_board", "run_id", "state", "note", "cost"]
    frame = pd.DataFrame(records, columns=names)
    frame["date"] = pd.to_datetime(frame["date"], utc=True, format="ISO8601")
    return frame.sort_values("date", ignore_index=True)


_SCORE_FIELDS = [
    *("label", "dataset", "samples", "full", "score", "low", "high", "coverage", "complete")
]


def count_target_outcomes(row: Row) -> pd.DataFrame:
    """Cases per benchmark and outcome: benchmark, outcome, count; outcomes that occur."""
    records = [
        (benchmark, outcome, count)
        for benchmark, run in row.runs.items()
        for outcome in OUTCOMES
        if (count := run.benchmarks[benchmark].outcomes.get(outcome, 0))
    ]
    return pd.DataFrame(records, columns=["benchmark", "outcome", "count"])


# Who leads in each part of a board, and how many others chance alone may keep behind.

_PartScore = tuple[float, float | None, float | None]


class Leader(Record, frozen=True):
    """The best ranked target in a part ("benchmark" or "benchmark/metric"), 0 to 100.

    `equal` counts the others of the same score, `near` those whose 95 % interval reaches into the
    leader's, the equal ones among them.
    """

    part: str
    identity: str
    name: str
    score: float
    equal: int
    near: int


def find_leaders(
    rows: Sequence[Row], frame: pd.DataFrame, parts: Sequence[str]
) -> tuple[Leader, ...]:
    """The leader of every part that anyone has a score in; equals go to the better ranked. `frame`
    names the targets (identity, name) in the order of their ranks."""
    rows_by_identity = {row.identity: row for row in rows}
    names = dict(zip(frame["identity"], frame["name"], strict=True))
    ordered = [identity for identity in names if identity in rows_by_identity]
    part_leaders = []
    for part in parts:
        lines = {name: _find_part_score(rows_by_identity[name], part) for name in ordered}
        scored_lines = {name: line for name, line in lines.items() if line is not None}
        if scored_lines:
            part_leaders.append(_build_leader(part, scored_lines, names))
    return tuple(part_leaders)


def _build_leader(part: str, lines: dict[str, _PartScore], names: dict[str, str]) -> Leader:
    best = max(lines, key=lambda identity: lines[identity][0])
    score, low, _ = lines[best]
    reach = score if low is None else low
    others = [line for identity, line in lines.items() if identity != best]
    near = sum(1 for value, _, high in others if (value if high is None else high) >= reach)
    equal = sum(1 for value, _, _ in others if value == score)
    return Leader(part, best, names[best], score, equal, max(near, equal))


def _find_part_score(row: Row, part: str) -> _PartScore | None:
    """Score and bounds of a row in a part, None without a score."""
    benchmark, _, metric = part.partition("/")
    score = row.score(benchmark)
    if score is None:
        return None
    if not metric:
        return None if score.score is None else (score.score, score.low, score.high)
    value, low, high, _ = metric_line(score, metric)
    return None if value is None else (value, low, high)
