"""The charts of the Target page: profile, metrics and scores over time."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from evalcore import charts
from evalcore.queries import metrics
from evalcore.queries.boards import Board
from evalcore.queries.stored_boards import Headers
from evalcore.radar import SERIES, radar
from pages.components import chart_frame
from pages.components.board import benchmark_title, metric_title
from pages.components.language import Translate
from pages.components.text import plain

_FEWEST_AXES, _MOST_AXES = 3, 10


def has_profile(frame: pd.DataFrame, axes: Sequence[str]) -> bool:
    """Whether the parts of a profile give a shape, and are few enough to be read even where all of
    its `axes` have a score."""
    return _FEWEST_AXES <= frame["axis"].nunique() and len(axes) <= _MOST_AXES


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
        radar(frame, list(titles.values()), {key: tr(f"target.series.{key}") for key in SERIES}),
        tr,
        name="profile",
        title=tr("target.profile"),
        source=plain(name),
        alt_text=tr("target.profile_alt", name=plain(name), summary=summary),
        data=frame,
        width="content",
    )


def _title(axis: str) -> str:
    benchmark, _, metric = axis.partition("/")
    return metric_title(benchmark, metric) if metric else benchmark_title(benchmark)


def metric_bars(headers: Headers, board: Board, identity: str, tr: Translate) -> None:
    """A bar chart per benchmark of the board that the target has a score in."""
    st.subheader(tr("target.metrics"), anchor=False)
    for benchmark in board.columns:
        frame = metrics.metric_scores(headers, board, benchmark, identity)
        if frame["score"].isna().all():
            continue
        frame["name"] = [metric_title(benchmark, metric) for metric in frame["metric"]]
        known = frame.dropna(subset=["score"])
        summary = ", ".join(
            f"{n} {s:.1f}" for n, s in zip(known["name"], known["score"], strict=True)
        )
        if len(board.columns) > 1:
            st.caption(benchmark_title(benchmark))
        labels = {
            "name": tr("common.metric"),
            "score": tr("common.score"),
            "interval": tr("ranking.interval"),
            "best": tr("target.series.best"),
            "floor": tr("target.series.floor"),
        }
        chart_frame.draw(
            charts.metric_bars(frame, labels),
            tr,
            name=f"metrics-{benchmark}",
            title=benchmark_title(benchmark),
            source=plain(identity),
            alt_text=tr("target.metrics_alt", summary=summary),
            data=known.drop(columns="name"),
        )
    st.caption(tr("target.metrics_about"))


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
        charts.trend(frame.assign(series=series), labels),
        tr,
        name="trend",
        title=tr("target.trend"),
        alt_text=tr("target.trend_alt", count=frame["run_id"].nunique()),
        data=frame[["date", "benchmark", "score", "low", "high", "run_id"]],
    )
