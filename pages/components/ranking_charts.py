"""The charts of the Ranking page: scores with intervals and floors, score against what it takes,
and scores over time. A target has one colour in all of them, as it has on every page."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from evalcore import catalog, charts
from evalcore.target_colours import colour_of
from pages.components import chart_frame, ranking_data, url_state
from pages.components.language import Translate
from pages.components.ranking_data import Rows, View
from pages.components.ranking_view import PAGE
from pages.components.text import plain

_NAME_LENGTH = 40
_SAVED = ["identity", "score", "low", "high"]
_MOST_LINES = 8
#: The unit before the number of what a score can be set against.
_UNITS = {"cost": "$", "latency": "", "price": "$"}


def draw(rows: Rows, floors: dict[str, float], view: View, tr: Translate) -> None:
    """The charts of the ranked that are found."""
    if rows.ranked.empty:
        return
    left, right = st.columns(2, gap="large")
    with left:
        _bars(rows, floors, tr)
    with right:
        _against(rows, tr)
    _over_time(view, rows.ranked, tr)


def _bars(rows: Rows, floors: dict[str, float], tr: Translate) -> None:
    """A bar for each of the first ranked targets, with the floors as dashed lines."""
    st.subheader(tr("ranking.chart"), anchor=False)
    shown = rows.drawn.bars
    chart_frame.draw(
        charts.build_score_bars(
            shown,
            labels={
                "name": tr("common.target"),
                "score": tr("common.score"),
                "interval": tr("ranking.interval"),
            },
            floors={
                tr(f"ranking.floor.{name}", score=f"{score:.1f}"): score
                for name, score in floors.items()
                if name in catalog.FLOOR_CONTROLS
            },
        ),
        tr,
        name="scores",
        title=tr("ranking.chart"),
        alt_text=tr("ranking.chart_alt", summary=rows.drawn.said),
        data=lambda: rows.ranked[_SAVED].head(len(shown)),
    )
    rest = len(rows.ranked) - len(shown)
    more = tr("board.bars_more", shown=len(shown), count=rest) if rest else ""
    st.caption(f"{tr('ranking.chart_about')} {more}")


def _against(rows: Rows, tr: Translate) -> None:
    """Score against cost, latency or price, by choice, with the number of targets left out."""
    st.subheader(tr("board.against"), anchor=False)
    paid = rows.drawn.against
    if not paid:
        st.caption(tr("ranking.cost_none"))
        return
    what = _what(list(paid), tr)
    shown = paid[what]
    chart_frame.draw(
        charts.build_score_cost_chart(
            shown,
            labels={
                "name": tr("common.target"),
                "score": tr("common.score"),
                "interval": tr("ranking.interval"),
                "cost": tr(f"board.axis.{what}"),
                "pareto": tr("board.pareto"),
            },
            unit=_UNITS[what],
        ),
        tr,
        name=f"score-against-{what}",
        title=f"{tr('board.against')}: {tr(f'board.vs.{what}')}",
        alt_text=tr("board.against_alt", what=tr(f"board.vs.{what}"), count=len(shown)),
        data=lambda: rows.ranked.loc[shown.index, [*_SAVED, what]],
    )
    left_out = len(rows.ranked) - len(shown)
    note = tr("board.left_out", count=left_out) if left_out else ""
    st.caption(f"{tr('board.against_about')} {note}")


def _what(known: list[str], tr: Translate) -> str:
    """What a score is set against; asked only where there is a choice."""
    label, first = tr("board.against"), known[0]
    if len(known) == 1:
        url_state.only(
            label, first, page=PAGE, name="vs", title=lambda code: tr(f"board.vs.{code}")
        )
        return first
    return url_state.segments(
        label, known, page=PAGE, name="vs", title=lambda code: tr(f"board.vs.{code}")
    )


def _over_time(view: View, frame: pd.DataFrame, tr: Translate) -> None:
    """The scores of the first few targets from run to run."""
    first = frame.head(_MOST_LINES)
    names = {
        identity: plain(name, _NAME_LENGTH)
        for identity, name in zip(first["identity"], first["name"], strict=True)
    }
    history = ranking_data.history(view, names)
    st.subheader(tr("board.trend"), anchor=False)
    if not history["identity"].duplicated().any():
        st.caption(tr("board.trend_none"))
        return
    chart_frame.draw(
        charts.build_trend_chart(
            history,
            labels={
                "date": tr("ranking.date"),
                "score": tr("common.score"),
                "series": tr("common.target"),
                "run": tr("board.run"),
            },
            colours={name: colour_of(identity) for identity, name in names.items()},
        ),
        tr,
        name="trend",
        title=tr("board.trend"),
        alt_text=tr("board.trend_alt", count=len(names)),
        data=lambda: history[["date", "identity", "score", "low", "high", "run_id"]],
    )
    st.caption(tr("board.trend_about", count=len(names)))
