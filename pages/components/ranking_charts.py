"""The charts of the Ranking page: scores with intervals and floors, score against what it takes,
and scores over time. A target has one colour in all of them, as it has on every page."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from evalcore import charts
from evalcore.target_colours import colour_of
from pages.components import chart_frame, ranking_data, url_state
from pages.components.language import Translate
from pages.components.ranking_data import View
from pages.components.ranking_view import PAGE
from pages.components.text import plain

_NAME_LENGTH = 40
_MOST_BARS, _MOST_LINES = 40, 8
#: What a score can be set against -> its unit before the number.
_AGAINST = {"cost": "$", "latency": "", "price": "$"}


def draw(ranked: pd.DataFrame, floors: dict[str, float], view: View, tr: Translate) -> None:
    """The charts of the ranked that are on the page."""
    if ranked.empty:
        return
    left, right = st.columns(2, gap="large")
    with left:
        _bars(ranked, floors, tr)
    with right:
        _against(ranked, tr)
    _over_time(view, ranked, tr)


def _bars(frame: pd.DataFrame, floors: dict[str, float], tr: Translate) -> None:
    """A bar per ranked target with the floors as dashed lines."""
    shown = frame.head(_MOST_BARS)
    st.subheader(tr("ranking.chart"), anchor=False)
    summary = ", ".join(
        f"{plain(name, _NAME_LENGTH)} {score:.1f}"
        for name, score in zip(shown["name"], shown["score"], strict=True)
    )
    chart_frame.draw(
        charts.score_bars(
            _painted(shown),
            labels={
                "name": tr("common.target"),
                "score": tr("common.score"),
                "interval": tr("ranking.interval"),
            },
            floors={
                tr(f"ranking.floor.{name}", score=f"{score:.1f}"): score
                for name, score in floors.items()
                if name in ("null", "noop")
            },
        ),
        tr,
        name="scores",
        title=tr("ranking.chart"),
        alt_text=tr("ranking.chart_alt", summary=summary),
        data=shown[["identity", "score", "low", "high"]],
    )
    rest = len(frame) - len(shown)
    more = tr("board.bars_more", shown=len(shown), count=rest) if rest else ""
    st.caption(f"{tr('ranking.chart_about')} {more}")


def _against(frame: pd.DataFrame, tr: Translate) -> None:
    """Score against cost, latency or price, by choice, with the number of targets left out."""
    st.subheader(tr("board.against"), anchor=False)
    known = [name for name in _AGAINST if (frame[name].astype(float) > 0).any()]
    if not known:
        st.caption(tr("ranking.cost_none"))
        return
    what = _what(known, tr)
    shown = frame[frame[what].astype(float) > 0]
    chart_frame.draw(
        charts.score_against_cost(
            _painted(shown).assign(cost=shown[what].astype(float)),
            labels={
                "name": tr("common.target"),
                "score": tr("common.score"),
                "cost": tr(f"board.axis.{what}"),
                "pareto": tr("board.pareto"),
            },
            unit=_AGAINST[what],
        ),
        tr,
        name=f"score-against-{what}",
        title=f"{tr('board.against')}: {tr(f'board.vs.{what}')}",
        alt_text=tr("board.against_alt", what=tr(f"board.vs.{what}"), count=len(shown)),
        data=shown[["identity", "score", "low", "high", what]],
    )
    left_out = len(frame) - len(shown)
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
    history = ranking_data.history(view, tuple(names))
    st.subheader(tr("board.trend"), anchor=False)
    if not history["identity"].duplicated().any():
        st.caption(tr("board.trend_none"))
        return
    chart_frame.draw(
        charts.trend(
            history.assign(series=history["identity"].map(names)),
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
        data=history[["date", "identity", "score", "low", "high", "run_id"]],
    )
    st.caption(tr("board.trend_about", count=len(names)))


def _painted(frame: pd.DataFrame) -> pd.DataFrame:
    """Only what the charts draw: every cell of a chart's frame is looked at to know it again."""
    return frame[["score", "low", "high", "colour"]].assign(name=frame["label"])
