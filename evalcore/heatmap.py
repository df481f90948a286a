"""The heatmap: a cell per row and run, its value told by a text in it and not by colour alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd

from evalcore.charts import MUTED, layered

_LOW, _HIGH, _NONE = "#e4eff1", "#16606e", "#73808322"
_DARK, _LIGHT = "#0e2429", "#ffffff"
_TURN = 55  # above this value a cell is so dark that its text is light
_ROW, _AXIS = 28, 30  # pixels
_NAME = 130  # pixels of a row's name: at a phone's width most of the room is left for the cells


def heatmap(
    frame: pd.DataFrame, rows: Sequence[str], columns: Sequence[str], labels: Mapping[str, str]
) -> alt.LayerChart:
    """`frame`: row, column, value (0 to 100, None where there is none), said (the text of the
    cell), tip (the long name of the row); `labels`: row, column, value. Drawn in the given orders.
    """
    y = alt.Y(
        "row:N",
        sort=list(rows),
        title=None,
        axis=alt.Axis(labelLimit=_NAME, labelOverlap=False, ticks=False, domain=False),
    )
    x = alt.X(
        "column:N",
        sort=list(columns),
        title=None,
        axis=alt.Axis(orient="top", labelAngle=0, ticks=False, domain=False),
    )
    base = alt.Chart(frame.assign(ink=frame["value"].map(_ink))).encode(
        x=x,
        y=y,
        tooltip=[
            alt.Tooltip("tip:N", title=labels["row"]),
            alt.Tooltip("column:N", title=labels["column"]),
            alt.Tooltip("said:N", title=labels["value"]),
        ],
    )
    known = alt.datum.value != None  # noqa: E711 - an expression for the browser
    fill = alt.condition(
        known,
        alt.Color(
            "value:Q",
            scale=alt.Scale(domain=[0, 100], range=[_LOW, _HIGH], interpolate="rgb"),
            legend=None,
        ),
        alt.value(_NONE),
    )
    return layered(
        base.mark_rect(cornerRadius=3, stroke="transparent", strokeWidth=2).encode(color=fill),
        base.mark_text(fontSize=12).encode(text="said:N", color=alt.Color("ink:N", scale=None)),
        height=len(rows) * _ROW + _AXIS,
    )


def _ink(value: float | None) -> str:
    """The colour of the text on a cell."""
    if value is None or pd.isna(value):
        return MUTED
    return _LIGHT if value > _TURN else _DARK
