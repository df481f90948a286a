"""Charts that compare many targets: radar, heatmap and stacked bars."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import altair as alt
import pandas as pd

from evalcore.charts.pictures import QUIET_WORDS, Theme
from evalcore.charts.plots import BEST, FLOOR, MUTED, SCORE, cache_chart, layer_charts
from evalcore.target_cards import assign_colours

_DARK, _LIGHT, _NONE = "#000406", "#ffffff", "#73808322"
#: By theme the colours of 0, near that of the page, and of 100, the ink on both, and its turn.
_HEAT: Mapping[Theme, tuple[tuple[int, int, int], tuple[int, int, int], str, str, int]] = {
    "light": ((0xDC, 0xEA, 0xED), (0x16, 0x60, 0x6E), _DARK, _LIGHT, 77),
    "dark": ((0x20, 0x2E, 0x32), (0x6A, 0xC4, 0xD2), _LIGHT, _DARK, 50),
}
_HEATMAP_ROW, _HEATMAP_AXIS = 28, 44  # pixels
_NAME = 130  # pixels of a row's name: at a phone's width most of the room is left for the cells


@cache_chart
def build_heatmap(
    frame: pd.DataFrame,
    rows: Sequence[str],
    columns: Sequence[str],
    labels: Mapping[str, str],
    theme: Theme = "light",
) -> alt.LayerChart:
    """`frame`: row, column, value (0 to 100, None where there is none), text (that of the
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
        fill=[_compute_cell_colour(value, theme) for value in values],
        ink=[_pick_text_colour(value, theme) for value in values],
    )
    base = alt.Chart(cells.drop(columns="value")).encode(
        x=x,
        y=y,
        tooltip=[
            alt.Tooltip("tip:N", title=labels["row"]),
            alt.Tooltip("column:N", title=labels["column"]),
            alt.Tooltip("text:N", title=labels["value"]),
        ],
    )
    return layer_charts(
        base.mark_rect(cornerRadius=3).encode(color=alt.Color("fill:N", scale=None)),
        base.mark_text(fontSize=12).encode(text="text:N", color=alt.Color("ink:N", scale=None)),
        height=len(rows) * _HEATMAP_ROW + _HEATMAP_AXIS,
    )


def _compute_cell_colour(value: float | None, theme: Theme) -> str:
    """The colour of a cell, from that of 0 to that of 100."""
    if value is None:
        return _NONE
    share = min(max(value, 0.0), 100.0) / 100
    ends = zip(*_HEAT[theme][:2], strict=True)
    parts = (round(low + share * (high - low)) for low, high in ends)
    return "#" + "".join(f"{part:02x}" for part in parts)


def _pick_text_colour(value: float | None, theme: Theme) -> str:
    """The colour of the text on a cell."""
    if value is None:
        return MUTED
    _, _, low_ink, high_ink, turn = _HEAT[theme]
    return high_ink if value > turn else low_ink


# The radar chart: a target beside the best on its board and the floor, or a few runs together.
# Drawn with Altair from plain lines, in pixels from the centre, so that a score of 100 lies on the
# outer ring in every direction. Show it at its own width: stretched, it would no longer be round.

SERIES = ("target", "best", "floor")
#: Strokes that are told apart without colour, for as many series as a radar may hold.
DASHES = ((1, 0), (6, 3), (2, 3), (10, 3), (8, 3, 2, 3), (4, 2), (1, 4), (12, 2, 2, 2))
_WIDTH, _HEIGHT = 350, 290
_RINGS = (25, 50, 75, 100)
_NAME_WIDTH = 14  # characters a line
_LEGEND_COLUMNS = 2  # so that the names fit below a chart on a phone
_X = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-_WIDTH / 2, _WIDTH / 2]))
_Y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-_HEIGHT / 2, _HEIGHT / 2]))


class SeriesStyle(NamedTuple):
    """How the outline of a series is drawn."""

    colour: str
    dash: Sequence[int]


SERIES_STYLES = {
    key: SeriesStyle(colour, dash)
    for key, colour, dash in zip(SERIES, (SCORE, BEST, FLOOR), DASHES, strict=False)
}


def assign_series_styles(identities: Mapping[str, str]) -> dict[str, SeriesStyle]:
    """A look per series, from the identities of their targets: a colour per target, and a stroke
    of its own, since two series may be of one target."""
    colours = assign_colours(identities.values())
    return {
        series: SeriesStyle(colours[identity], dash)
        for (series, identity), dash in zip(identities.items(), DASHES, strict=False)
    }


@cache_chart
def build_radar_chart(
    frame: pd.DataFrame,
    axes: Sequence[str],
    labels: Mapping[str, str],
    styles: Mapping[str, SeriesStyle] = SERIES_STYLES,
) -> alt.LayerChart:
    """Scores 0 to 100 on one spoke per axis (at least three), one closed outline per series.
    `frame`: axis, series (of `styles`), score; `labels`: the text of each series, no two the same.
    Where a series has no score on an axis, its outline is open: a missing score is no zero."""
    points = _build_outline_points(frame, axes)
    points["label"] = points["series"].map(dict(labels))
    shown = {labels[key]: style for key, style in styles.items() if key in set(points["series"])}
    colour, dash = _build_stroke_encodings(shown)
    lines = (
        alt.Chart(points)
        .mark_line(strokeWidth=2)
        .encode(x=_X, y=_Y, order="order:Q", detail="part:N", color=colour, strokeDash=dash)
    )
    dots = (
        alt.Chart(points[~points["closing"]])
        .mark_point(filled=True, size=45, opacity=1)
        .encode(
            x=_X,
            y=_Y,
            color=colour,
            tooltip=["label:N", "axis:N", alt.Tooltip("score:Q", format=".1f")],
        )
    )
    chart = layer_charts(
        *_build_radar_grid(len(axes)),
        *_build_axis_labels(axes),
        lines,
        dots,
        width=_WIDTH,
        height=_HEIGHT,
    )
    chart.autosize = alt.AutoSizeParams(type="pad")  # the legend comes on top of the height
    return chart


def _build_stroke_encodings(shown: Mapping[str, SeriesStyle]) -> tuple[alt.Color, alt.StrokeDash]:
    """Colour and dashes of outlines by label, with one legend for both."""
    colours = [style.colour for style in shown.values()]
    dashes = [list(style.dash) for style in shown.values()]
    legend = alt.Legend(
        orient="bottom", symbolType="stroke", symbolStrokeWidth=2, columns=_LEGEND_COLUMNS
    )
    colour = alt.Color(
        "label:N", title=None, legend=legend, scale=alt.Scale(domain=[*shown], range=colours)
    )
    scale = alt.Scale(domain=[*shown], range=dashes)
    return colour, alt.StrokeDash("label:N", title=None, scale=scale)


def _compute_corner(step: int, count: int, radius: float) -> tuple[float, float]:
    """A point at `radius` on spoke `step` of `count`, from the top clockwise."""
    angle = 2 * math.pi * step / count
    return radius * math.sin(angle), radius * math.cos(angle)


def _build_outline_points(frame: pd.DataFrame, axes: Sequence[str]) -> pd.DataFrame:
    """Corner points per series in drawing order; after a gap a new `part` begins."""
    rows: list[dict[str, Any]] = []
    for series, group in frame.dropna(subset=["score"]).groupby("series"):
        scores = dict(zip(group["axis"], group["score"], strict=True))
        part = 0
        for step in range(len(axes) + 1):
            axis = axes[step % len(axes)]
            if axis not in scores:
                part += 1
                continue
            x, y = _compute_corner(step, len(axes), scores[axis])
            rows.append(
                {
                    "series": series,
                    "axis": axis,
                    "score": scores[axis],
                    "x": x,
                    "y": y,
                    "order": step,
                    "part": f"{series}{part}",
                    "closing": step == len(axes),
                }
            )
    columns = ["series", "axis", "score", "x", "y", "order", "part", "closing"]
    return pd.DataFrame(rows, columns=columns).astype({"closing": bool})


def _build_radar_grid(count: int) -> list[alt.Chart]:
    """Rings, spokes and the numbers of two rings."""
    rings = [
        {"x": x, "y": y, "line": f"ring {level}", "order": step}
        for level in _RINGS
        for step in range(count + 1)
        for x, y in [_compute_corner(step, count, level)]
    ]
    spokes = [
        {"x": x, "y": y, "line": f"spoke {step}", "order": radius}
        for step in range(count)
        for radius in (0, _RINGS[-1])
        for x, y in [_compute_corner(step, count, radius)]
    ]
    numbers = pd.DataFrame({"x": [4, 4], "y": [50, 100], "text": ["50", "100"]})
    return [
        alt.Chart(pd.DataFrame(rings + spokes))
        .mark_line(color=MUTED, opacity=0.3, strokeWidth=1)
        .encode(x=_X, y=_Y, detail="line:N", order="order:Q"),
        alt.Chart(numbers)
        .mark_text(style=QUIET_WORDS, fontSize=10, align="left", dy=8)
        .encode(x=_X, y=_Y, text="text:N"),
    ]


def _build_axis_labels(axes: Sequence[str]) -> list[alt.Chart]:
    """The names of the axes outside the outer ring, aligned away from it."""
    labels_by_align: dict[Literal["left", "center", "right"], list[dict[str, Any]]] = {}
    for step, axis in enumerate(axes):
        x, y = _compute_corner(step, len(axes), 114)
        align: Literal["left", "center", "right"] = (
            "center" if abs(x) < 1 else "left" if x > 0 else "right"
        )
        text = (
            axis
            if align == "center"
            else "\n".join(textwrap.wrap(axis, _NAME_WIDTH, break_long_words=False))
        )
        labels_by_align.setdefault(align, []).append({"x": x, "y": y, "text": text})
    return [
        alt.Chart(pd.DataFrame(names))
        .mark_text(style=QUIET_WORDS, fontSize=12, align=align, baseline="middle", lineBreak="\n")
        .encode(x=_X, y=_Y, text="text:N")
        for align, names in labels_by_align.items()
    ]


_STACKED_ROW, _STACKED_AXIS, _LEGEND, _LEGEND_ROW = 26, 36, 44, 17  # pixels


@cache_chart
def build_learning_curve(frame: pd.DataFrame, labels: Mapping[str, str]) -> alt.LayerChart:
    """Scores of checkpoints by their number, with their intervals as bands; what is no checkpoint
    is a dashed line. `frame`: name, series, step (None for no checkpoint), score, low, high;
    `labels`: step, score."""
    rows = frame.dropna(subset=["step", "score"])
    x = alt.X("step:Q", title=labels["step"], axis=alt.Axis(tickMinStep=1, format="~s"))
    colour = alt.Color("series:N", title=None)
    base = alt.Chart(rows).encode(x=x, color=colour)
    y = alt.Y("score:Q", title=labels["score"], scale=alt.Scale(zero=False))
    tips = [alt.Tooltip("name:N"), alt.Tooltip("score:Q", title=labels["score"], format=".1f")]
    band = alt.Chart(rows.dropna(subset=["low", "high"])).mark_area(opacity=0.18)
    layers = [
        band.encode(x=x, color=colour, y="low:Q", y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=y),
        base.mark_point(filled=True, size=60, opacity=1).encode(y=y, tooltip=tips),
    ]
    plain = frame[frame["step"].isna()].dropna(subset=["score"])
    if len(plain):
        rules = alt.Chart(plain).encode(y=y, color=colour, tooltip=tips)
        text = rules.mark_text(style=QUIET_WORDS, align="left", dx=4, dy=-6).encode(
            x=alt.value(0), text="name:N"
        )
        layers += [rules.mark_rule(strokeDash=[5, 4]), text]
    return layer_charts(*layers, height=280)


def build_stacked_bars(
    frame: pd.DataFrame, parts: Sequence[str], labels: Mapping[str, str]
) -> alt.LayerChart:
    """Bars of parts from left to right in the order of `parts`, on an axis of 0 to 100. `frame`:
    name, part (one of `parts`), count, share (0 to 1), the names drawn in their order; `labels`:
    name, part, count, share. The colours are those of the theme; the legend is one column, so that
    a phone cuts none of it."""
    part_index = {part: number for number, part in enumerate(parts)}
    rows = frame[["name", "part", "count", "share"]].assign(
        percent=100 * frame["share"], position=[part_index[part] for part in frame["part"]]
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
    bars = bars.encode(x=whole, y=names, color=colour, order=alt.Order("position:Q"), tooltip=tip)
    legend = _LEGEND + _LEGEND_ROW * len(parts)
    return layer_charts(bars, height=_STACKED_ROW * rows["name"].nunique() + _STACKED_AXIS + legend)
