"""The heatmap: a cell per row and run, its value told by a text in it and not by colour alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd

from evalcore.chart_cache import cache_chart
from evalcore.charts import MUTED, layer_charts

_LOW, _HIGH, _NONE = (0xDC, 0xEA, 0xED), (0x16, 0x60, 0x6E), "#73808322"
_DARK, _LIGHT = "#000406", "#ffffff"
_TURN = 77  # above this value light text is read better than dark
_HEATMAP_ROW, _HEATMAP_AXIS = 28, 44  # pixels
_NAME = 130  # pixels of a row's name: at a phone's width most of the room is left for the cells


@cache_chart
def build_heatmap(
    frame: pd.DataFrame, rows: Sequence[str], columns: Sequence[str], labels: Mapping[str, str]
) -> alt.LayerChart:
    """`frame`: row, column, value (0 to 100, None where there is none), said (the text of the
    cell), tip (the long name of the row); `labels`: row, column, value. Drawn in the given orders.
    """
    y = alt.Y(
        "row:N",
        sort=list(rows),
        title=None,
        axis=alt.Axis(
            labelLimit=_NAME, labelOverlap=False, labelFlush=False, ticks=False, domain=False
        ),
    )
    x = alt.X(
        "column:N",
        sort=list(columns),
        title=None,
        axis=alt.Axis(orient="top", labelAngle=0, ticks=False, domain=False),
    )
    values = [None if pd.isna(value) else float(value) for value in frame["value"]]
    cells = frame.assign(
        fill=[_compute_cell_colour(value) for value in values],
        ink=[_pick_text_colour(v) for v in values],
    )
    base = alt.Chart(cells.drop(columns="value")).encode(
        x=x,
        y=y,
        tooltip=[
            alt.Tooltip("tip:N", title=labels["row"]),
            alt.Tooltip("column:N", title=labels["column"]),
            alt.Tooltip("said:N", title=labels["value"]),
        ],
    )
    return layer_charts(
        base.mark_rect(cornerRadius=3).encode(color=alt.Color("fill:N", scale=None)),
        base.mark_text(fontSize=12).encode(text="said:N", color=alt.Color("ink:N", scale=None)),
        height=len(rows) * _HEATMAP_ROW + _HEATMAP_AXIS,
    )


def _compute_cell_colour(value: float | None) -> str:
    """The colour of a cell, from pale to deep."""
    if value is None:
        return _NONE
    share = min(max(value, 0.0), 100.0) / 100
    parts = (round(low + share * (high - low)) for low, high in zip(_LOW, _HIGH, strict=True))
    return "#" + "".join(f"{part:02x}" for part in parts)


def _pick_text_colour(value: float | None) -> str:
    """The colour of the text on a cell."""
    if value is None:
        return MUTED
    return _LIGHT if value > _TURN else _DARK
