"""The charts of the Target page: profile, metrics and scores over time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import pandas as pd
import streamlit as st

from evalcore import charts
from evalcore.chart_cache import mark_immutable
from evalcore.queries import metrics, targets
from evalcore.queries.boards import Board
from evalcore.queries.stored_boards import Headers, memoize_on_headers
from evalcore.radar import SERIES, build_radar_chart
from pages.components import chart_frame
from pages.components.board import benchmark_title, metric_title
from pages.components.language import Translate, current_language
from pages.components.text import escape_markdown, to_plain_line

_MIN_AXES, _MAX_AXES = 3, 10


class _MetricBars(NamedTuple):
    """The metrics of a benchmark with their names, and those of them that have a score."""

    frame: pd.DataFrame
    scored: pd.DataFrame


def load_target_profile(headers: Headers, board: Board, identity: str) -> pd.DataFrame:
    """`targets.profile`, shared by all who look at the target."""
    key = ("profile", board.identity, identity)
    return memoize_on_headers(
        headers, key, lambda: targets.build_target_radar(headers, board, identity)
    )


def has_profile(frame: pd.DataFrame, axes: Sequence[str]) -> bool:
    """Whether the parts of a profile give a shape, and are few enough to be read even where all of
    its `axes` have a score."""
    return frame["axis"].nunique() >= _MIN_AXES and len(axes) <= _MAX_AXES


def draw_target_profile(frame: pd.DataFrame, axes: Sequence[str], name: str, tr: Translate) -> None:
    """The radar of a target beside the best of the board and the floor: `frame` is its
    `targets.profile`, `axes` their order."""
    st.subheader(tr("target.profile"), anchor=False)
    present = set(frame["axis"])
    titles = {axis: _format_axis_title(axis) for axis in axes if axis in present}
    frame = frame.assign(axis=frame["axis"].map(titles))
    own = frame[frame["series"] == "target"]
    summary = ", ".join(f"{a} {s:.1f}" for a, s in zip(own["axis"], own["score"], strict=True))
    chart_frame.draw_chart_frame(
        build_radar_chart(
            frame, list(titles.values()), {key: tr(f"target.series.{key}") for key in SERIES}
        ),
        tr,
        name="profile",
        title=tr("target.profile"),
        source=to_plain_line(name),
        alt_text=tr("target.profile_alt", name=to_plain_line(name), summary=summary),
        data=lambda: frame,
        width="content",
    )


def _format_axis_title(axis: str) -> str:
    benchmark, _, metric = axis.partition("/")
    return metric_title(benchmark, metric) if metric else benchmark_title(benchmark)


def draw_metric_bars(headers: Headers, board: Board, identity: str, tr: Translate) -> None:
    """A bar chart per benchmark of the board that the target has a score in, each in a container of
    its own."""
    for benchmark in board.columns:
        key = ("metric bars", board.identity, benchmark, identity, current_language())
        bars = memoize_on_headers(
            headers, key, partial(_build_benchmark_bars, headers, board, benchmark, identity)
        )
        if len(bars.scored):
            several = len(board.columns) > 1
            with st.container():
                title = benchmark_title(benchmark) if several else tr("target.metrics")
                st.subheader(escape_markdown(title), anchor=False)
                _draw_benchmark_bars(bars, benchmark, identity, tr)


def _build_benchmark_bars(
    headers: Headers, board: Board, benchmark: str, identity: str
) -> _MetricBars:
    scores = metrics.metric_scores(headers, board, benchmark, identity)
    frame = scores.assign(name=[metric_title(benchmark, metric) for metric in scores["metric"]])
    return _MetricBars(mark_immutable(frame), frame.dropna(subset=["score"]))


def draw_metric_bars_about(tr: Translate) -> None:
    """What the marks of the bar charts mean."""
    st.caption(tr("target.metrics_about"))


def _draw_benchmark_bars(bars: _MetricBars, benchmark: str, identity: str, tr: Translate) -> None:
    scored = bars.scored
    summary = ", ".join(
        f"{n} {s:.1f}" for n, s in zip(scored["name"], scored["score"], strict=True)
    )
    labels = {
        "name": tr("common.metric"),
        "score": tr("common.score"),
        "interval": tr("ranking.interval"),
        "best": tr("target.series.best"),
        "floor": tr("target.series.floor"),
    }
    chart_frame.draw_chart_frame(
        charts.build_metric_bars(bars.frame, labels),
        tr,
        name=f"metrics-{benchmark}",
        title=benchmark_title(benchmark),
        source=to_plain_line(identity),
        alt_text=tr("target.metrics_alt", summary=summary),
        data=lambda: scored.drop(columns="name"),
    )


def draw_target_trend(history: pd.DataFrame, tr: Translate) -> None:
    """The scores of the target's complete runs on this board over time."""
    frame = history[history["on_board"] & history["complete"]]
    if frame["run_id"].nunique() < 2:
        st.caption(tr("target.no_trend"))
        return
    labels = {
        "date": tr("ranking.date"),
        "score": tr("common.score"),
        "series": tr("common.benchmark"),
        "run": tr("target.run"),
    }
    series = [benchmark_title(benchmark) for benchmark in frame["benchmark"]]
    st.subheader(tr("target.trend"), anchor=False)
    chart_frame.draw_chart_frame(
        charts.build_trend_chart(frame.assign(series=series), labels),
        tr,
        name="trend",
        title=tr("target.trend"),
        alt_text=tr("target.trend_alt", count=frame["run_id"].nunique()),
        data=lambda: frame[["date", "benchmark", "score", "low", "high", "run_id"]],
    )
