"""The charts of the Ranking page: scores with intervals and floors, score against what it takes,
and scores over time. A target has one colour in all of them, as it has on every page, unless two
lines of one chart would share it."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from evalcore import catalog
from evalcore.charts import plots
from evalcore.target_cards import assign_colours
from pages.shared import exports, url_state
from pages.shared.ranking_rows import RankingRows
from pages.shared.wording import format_fact, to_plain_line, tr

_NAME_LENGTH = 40
_SAVED = ["identity", "score", "low", "high"]
_MAX_LINES = 8
#: Makes a frame of `TREND_COLUMNS` and `series` of the names by identity.
LoadTrend = Callable[[dict[str, str]], pd.DataFrame]
#: The unit before the number of what a score can be set against.
_UNITS = {"cost": "$", "latency": "", "price": "$"}


def draw_ranking_charts(rows: RankingRows, floors: dict[str, float], load_trend: LoadTrend) -> None:
    """The charts of the ranked that are found; `load_trend` gives the scores of some targets from
    run to run."""
    if rows.ranked.empty:
        return
    halves = st.columns(2 if rows.chart_data.against else 1, gap="large")
    with halves[0]:
        _draw_score_bars(rows, floors)
    with halves[-1]:
        _draw_score_against(rows)
    _draw_score_trend(load_trend, rows.ranked)


def _draw_score_bars(rows: RankingRows, floors: dict[str, float]) -> None:
    """A bar for each of the first ranked targets, with the floors as dashed lines."""
    shown = rows.chart_data.bars
    has_intervals = bool(shown["low"].notna().any())
    title = tr("ranking.chart" if has_intervals else "ranking.chart_claims")
    st.subheader(title, anchor=False)
    lines = {
        tr(f"ranking.floor.{name}", score=f"{score:.1f}"): score
        for name, score in floors.items()
        if name in catalog.FLOOR_CONTROLS
    }
    exports.draw_chart_frame(
        plots.build_score_bars(shown, exports.label_scores("common.target"), lines),
        name="scores",
        title=title,
        alt_text=tr("ranking.chart_alt", summary=rows.chart_data.summary),
        data=lambda: rows.ranked[_SAVED].head(len(shown)),
    )
    rest = len(rows.ranked) - len(shown)
    about = [
        tr("ranking.chart_about") if has_intervals else "",
        tr("ranking.chart_floors") if lines else "",
        tr("board.bars_more", shown=len(shown), count=rest) if rest else "",
    ]
    st.caption(" ".join(filter(None, about)))


def _draw_score_against(rows: RankingRows) -> None:
    """Score against cost, latency or price, by choice, with the number of targets left out."""
    frames_by_axis = rows.chart_data.against
    if not frames_by_axis:
        return
    st.subheader(tr("board.against"), anchor=False)
    axis = url_state.draw_segments(
        tr("board.against"),
        list(frames_by_axis),
        "ranking.vs",
        lambda code: tr(f"board.vs.{code}"),
        drawn_alone=False,
    )
    shown = frames_by_axis[axis]
    labels = exports.label_scores("common.target")
    labels |= {"cost": tr(f"board.axis.{axis}"), "pareto": tr("board.pareto")}
    exports.draw_chart_frame(
        plots.build_score_cost_chart(shown, labels=labels, unit=_UNITS[axis]),
        name=f"score-against-{axis}",
        title=format_fact(tr("board.against"), tr(f"board.vs.{axis}")),
        alt_text=tr("board.against_alt", what=tr(f"board.vs.{axis}"), count=len(shown)),
        data=lambda: rows.ranked.loc[shown.index, [*_SAVED, axis]],
    )
    omitted = len(rows.ranked) - len(shown)
    note = tr("board.left_out", count=omitted) if omitted else ""
    st.caption(f"{tr('board.against_about')} {note}")


def _draw_score_trend(load_trend: LoadTrend, frame: pd.DataFrame) -> None:
    """The scores of the first few targets from run to run."""
    first = frame.head(_MAX_LINES)
    names = {
        identity: to_plain_line(name, _NAME_LENGTH)
        for identity, name in zip(first["identity"], first["name"], strict=True)
    }
    history = load_trend(names)
    if not history["identity"].duplicated().any():  # a line needs two runs of one target
        return
    st.subheader(tr("board.trend"), anchor=False)
    labels = {
        "date": tr("ranking.date"),
        "score": tr("common.score"),
        "series": tr("common.target"),
        "run": tr("board.run"),
    }
    colours = {names[identity]: colour for identity, colour in assign_colours(names).items()}
    exports.draw_chart_frame(
        plots.build_trend_chart(history, labels, colours),
        name="trend",
        title=tr("board.trend"),
        alt_text=tr("board.trend_alt", count=len(names)),
        data=lambda: history[["date", "identity", "score", "low", "high", "run_id"]],
    )
    st.caption(tr("board.trend_about", count=len(names)))
