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
from pages.components.language import Translate, current
from pages.components.text import escape, plain

_FEWEST_AXES, _MOST_AXES = 3, 10


class _Bars(NamedTuple):
    """The metrics of a benchmark with their names, and those of them that have a score."""

    frame: pd.DataFrame
    known: pd.DataFrame


def profile_of(headers: Headers, board: Board, identity: str) -> pd.DataFrame:
    """`targets.profile`, shared by all who look at the target."""
    key = ("profile", board.identity, identity)
    return memoize_on_headers(
        headers, key, lambda: targets.build_target_radar(headers, board, identity)
    )


def has_profile(frame: pd.DataFrame, axes: Sequence[str]) -> bool:
    """Whether the parts of a profile give a shape, and are few enough to be read even where all of
    its `axes` have a score."""
    return frame["axis"].nunique() >= _FEWEST_AXES and len(axes) <= _MOST_AXES


def profile(frame: pd.DataFrame, axes: Sequence[str], name: str, tr: Translate) -> None:
    """The radar of a target beside the best of the board and the floor: `frame` is its
    `targets.profile`, `axes` their order."""
    st.subheader(tr("target.profile"), anchor=False)
    present = set(frame["axis"])
    titles = {axis: _title(axis) for axis in axes if axis in present}
    frame = frame.assign(axis=frame["axis"].map(titles))
    own = frame[frame["series"] == "target"]
    summary = ", ".join(f"{a} {s:.1f}" for a, s in zip(own["axis"], own["score"], strict=True))
    chart_frame.draw(
        build_radar_chart(
            frame, list(titles.values()), {key: tr(f"target.series.{key}") for key in SERIES}
        ),
        tr,
        name="profile",
        title=tr("target.profile"),
        source=plain(name),
        alt_text=tr("target.profile_alt", name=plain(name), summary=summary),
        data=lambda: frame,
        width="content",
    )


def _title(axis: str) -> str:
    benchmark, _, metric = axis.partition("/")
    return metric_title(benchmark, metric) if metric else benchmark_title(benchmark)


def metric_bars(headers: Headers, board: Board, identity: str, tr: Translate) -> None:
    """A bar chart per benchmark of the board that the target has a score in, each in a container of
    its own."""
    for benchmark in board.columns:
        key = ("metric bars", board.identity, benchmark, identity, current())
        bars = memoize_on_headers(
            headers, key, partial(_bars_of, headers, board, benchmark, identity)
        )
        if len(bars.known):
            several = len(board.columns) > 1
            with st.container():
                title = benchmark_title(benchmark) if several else tr("target.metrics")
                st.subheader(escape(title), anchor=False)
                _bars(bars, benchmark, identity, tr)


def _bars_of(headers: Headers, board: Board, benchmark: str, identity: str) -> _Bars:
    scores = metrics.metric_scores(headers, board, benchmark, identity)
    frame = scores.assign(name=[metric_title(benchmark, metric) for metric in scores["metric"]])
    return _Bars(mark_immutable(frame), frame.dropna(subset=["score"]))


def about(tr: Translate) -> None:
    """What the marks of the bar charts mean."""
    st.caption(tr("target.metrics_about"))


def _bars(bars: _Bars, benchmark: str, identity: str, tr: Translate) -> None:
    known = bars.known
    summary = ", ".join(f"{n} {s:.1f}" for n, s in zip(known["name"], known["score"], strict=True))
    labels = {
        "name": tr("common.metric"),
        "score": tr("common.score"),
        "interval": tr("ranking.interval"),
        "best": tr("target.series.best"),
        "floor": tr("target.series.floor"),
    }
    chart_frame.draw(
        charts.build_metric_bars(bars.frame, labels),
        tr,
        name=f"metrics-{benchmark}",
        title=benchmark_title(benchmark),
        source=plain(identity),
        alt_text=tr("target.metrics_alt", summary=summary),
        data=lambda: known.drop(columns="name"),
    )


def trend(history: pd.DataFrame, tr: Translate) -> None:
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
    chart_frame.draw(
        charts.build_trend_chart(frame.assign(series=series), labels),
        tr,
        name="trend",
        title=tr("target.trend"),
        alt_text=tr("target.trend_alt", count=frame["run_id"].nunique()),
        data=lambda: frame[["date", "benchmark", "score", "low", "high", "run_id"]],
    )
