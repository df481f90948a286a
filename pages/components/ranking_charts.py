"""The charts of the Ranking page: scores with intervals and floors, and score against cost."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from evalcore import charts
from pages.components.language import Translate
from pages.components.text import plain

_NAME_LENGTH = 40
_MOST_BARS = 40


def bars(frame: pd.DataFrame, floors: dict[str, float], tr: Translate) -> None:
    """A bar per ranked target with the floors as dashed lines."""
    shown = frame[frame["status"] == "ranked"].head(_MOST_BARS)
    st.subheader(tr("ranking.chart"), anchor=False)
    summary = ", ".join(
        f"{plain(name, _NAME_LENGTH)} {score:.1f}"
        for name, score in zip(shown["identity"], shown["score"], strict=True)
    )
    st.altair_chart(
        charts.score_bars(
            _named(shown),
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
        width="stretch",
        alt=tr("ranking.chart_alt", summary=summary),
    )
    st.caption(tr("ranking.chart_about"))


def priced(frame: pd.DataFrame) -> pd.DataFrame:
    """The ranked targets that have a place on a logarithmic axis of costs."""
    return frame[(frame["status"] == "ranked") & (frame["cost"].astype(float) > 0)]


def cost(frame: pd.DataFrame, tr: Translate) -> None:
    """Score against cost, with the number of targets that have no place there."""
    shown = priced(frame)
    st.subheader(tr("ranking.cost_chart"), anchor=False)
    st.altair_chart(
        charts.score_against_cost(
            _named(shown),
            labels={
                "name": tr("common.target"),
                "score": tr("common.score"),
                "cost": tr("ranking.cost_axis"),
                "pareto": tr("ranking.pareto"),
            },
        ),
        width="stretch",
        alt=tr("ranking.cost_alt", count=len(shown)),
    )
    left_out = int((frame["status"] == "ranked").sum()) - len(shown)
    note = tr("ranking.cost_left_out", count=left_out) if left_out else ""
    st.caption(f"{tr('ranking.cost_about')} {note}")


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(name=[plain(name, _NAME_LENGTH) for name in frame["identity"]])
