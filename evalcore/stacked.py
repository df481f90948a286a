"""A stacked bar per row: how a whole falls into parts, for many wholes side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd

from evalcore.chart_cache import cache_chart
from evalcore.charts import layer_charts

_STACKED_ROW, _STACKED_AXIS, _LEGEND, _LEGEND_ROW = 26, 36, 44, 17  # pixels


@cache_chart
def build_stacked_bars(
    frame: pd.DataFrame, parts: Sequence[str], labels: Mapping[str, str]
) -> alt.LayerChart:
    """Bars of parts from left to right in the order of `parts`, on an axis of 0 to 100.

    `frame`: name, part (one of `parts`), count, share (0 to 1), the names drawn in their order;
    `labels`: name, part, count, share. The colours are those of the theme; the
    legend is one column, so that a phone cuts none of it.
    """
    part_index = {part: number for number, part in enumerate(parts)}
    rows = frame[["name", "part", "count", "share"]].assign(
        percent=100 * frame["share"], place=[part_index[part] for part in frame["part"]]
    )
    whole = alt.X(
        "percent:Q",
        stack=True,
        title=None,
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(values=[0, 25, 50, 75, 100], grid=True),
    )
    names = alt.Y(
        "name:N",
        sort=list(dict.fromkeys(rows["name"])),
        title=None,
        axis=alt.Axis(labelLimit=220, labelOverlap=False),
    )
    colour = alt.Color(
        "part:N",
        title=None,
        sort=list(parts),
        scale=alt.Scale(domain=list(parts)),
        legend=alt.Legend(orient="bottom", columns=1, labelLimit=220),
    )
    tip = [alt.Tooltip(key, title=labels[key[:-2]]) for key in ("name:N", "part:N", "count:Q")]
    tip.append(alt.Tooltip("share:Q", title=labels["share"], format=".0%"))
    bars = alt.Chart(rows).mark_bar(height={"band": 0.66})
    bars = bars.encode(x=whole, y=names, color=colour, order=alt.Order("place:Q"), tooltip=tip)
    legend = _LEGEND + _LEGEND_ROW * len(parts)
    return layer_charts(bars, height=_STACKED_ROW * rows["name"].nunique() + _STACKED_AXIS + legend)
