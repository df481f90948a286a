"""Pure functions from a frame to an Altair chart, each built once for equal arguments; every text
on a chart is passed in, translated."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy, deepcopy
from functools import wraps
from hashlib import blake2b
from typing import Any, Literal, ParamSpec

import altair as alt
import pandas as pd

from evalcore.charts.pictures import QUIET_WORDS, Theme, build_word_styles
from evalcore.single_flight import SingleFlightCache

# Building a chart and checking it against its schema costs more than all else on a page, and most
# reruns of a page draw the same ones. A chart is shared by all sessions: nobody may change one.

P = ParamSpec("P")
_MOST = 64
_chart_cache: SingleFlightCache[alt.LayerChart] = SingleFlightCache(_MOST)
#: What `mark_immutable` frames hold, by their place in memory.
_frame_keys: dict[int, tuple[weakref.ref[pd.DataFrame], Hashable]] = {}


class CachedChart(alt.LayerChart):
    """A chart whose specification is made once for each way of passing data beside it. A
    transformer with an option `datasets` takes the frames out of the specification, as Streamlit
    does; what it took is handed out again each time."""

    def to_dict(self, *args: Any, **options: Any) -> dict[str, Any]:
        datasets = alt.data_transformers.options.get("datasets")
        context = options.get("context")
        if datasets is None or args or (context and not context.get("top_level", True)):
            return super().to_dict(*args, **options)
        specs = self.__dict__.setdefault("_made", {})
        transformer = alt.data_transformers.active
        if transformer not in specs:
            taken: dict[str, Any] = {}
            with alt.data_transformers.enable(transformer, datasets=taken):
                specs[transformer] = (super().to_dict(**options), taken)
        spec, taken = specs[transformer]
        datasets.update(taken)
        return deepcopy(spec)


def paint_chart(chart: alt.TopLevelMixin, theme: Theme) -> alt.TopLevelMixin:
    """The chart with its quiet words in the ink of a theme; made once for each, as the chart is."""
    painted: dict[Theme, alt.TopLevelMixin] = chart.__dict__.setdefault("_painted", {})
    if theme not in painted:
        twin = copy(chart)
        fields = {**chart.__dict__["_kwds"], "config": build_word_styles(theme)}
        twin.__dict__.update({"_kwds": fields, "_made": {}})
        painted[theme] = twin
    return painted[theme]


def cache_chart(make: Callable[P, alt.LayerChart]) -> Callable[P, alt.LayerChart]:
    """A function of frames and labels to a layered chart, so that it works once for what is equal.
    A frame whose cells cannot be hashed is drawn anew each time."""

    @wraps(make)
    def get_chart(*args: P.args, **kwargs: P.kwargs) -> alt.LayerChart:
        try:
            key = (
                make.__module__,
                make.__qualname__,
                _build_cache_key(args),
                _build_cache_key(kwargs),
            )
        except TypeError:
            return make(*args, **kwargs)
        return _chart_cache.get(key, lambda: CachedChart(**make(*args, **kwargs)._kwds))

    return get_chart


def mark_immutable(frame: pd.DataFrame) -> pd.DataFrame:
    """The same frame, of which is said that nobody ever changes it: its cells are looked at once,
    not each time it is drawn."""
    frame_id = id(frame)
    _frame_keys[frame_id] = (
        weakref.ref(frame, lambda _: _frame_keys.pop(frame_id, None)),
        _build_cache_key(frame),
    )
    return frame


def _build_cache_key(value: Any) -> Hashable:
    """What tells a value from all others; raises TypeError for what is no plain data."""
    if isinstance(value, pd.DataFrame):
        frame_ref, content = _frame_keys.get(id(value), (None, None))
        if frame_ref is not None and frame_ref() is value:
            return content
        return (_build_cache_key([str(name) for name in value.columns]), _hash_frame_cells(value))
    if isinstance(value, Mapping):
        return tuple((key, _build_cache_key(item)) for key, item in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_build_cache_key(item) for item in value)
    if value is None or isinstance(value, str | int | float | bool):
        return (type(value).__name__, value)
    raise TypeError(f"{type(value).__name__} is no plain data")


def _hash_frame_cells(frame: pd.DataFrame) -> bytes:
    kinds = ",".join(str(kind) for kind in frame.dtypes)
    rows = pd.util.hash_pandas_object(frame, index=True)
    return blake2b(rows.to_numpy().tobytes() + kinds.encode(), digest_size=16).digest()


# Colours keep a contrast of 3:1 against Streamlit's light and dark background, and no message rests
# on colour alone: floors are dashed and labelled, intervals are whiskers, groups have shapes.
# Bars stand on an axis of 0 to 100 that always shows the whole range, so that gaps look as large as
# they are. Rows whose value is missing are left out of a chart; they are never drawn at zero.

SCORE, FLOOR, BEST, MUTED = "#2b8a9b", "#b86f14", "#8a6fc0", "#738083"
_ROW, _METRIC = 26, 44  # pixels a row
_MANY = 8  # metrics; more of them stand closer
#: From right to wrong, for the parts of one bar; told apart by the legend's words as well.
PARTS = ("#2b8a9b", "#7fb3bd", "#c98a2e", "#b4483f")
_AXIS, _LABEL = 36, 16  # pixels that the axis below and a floor's label above take
_DOMAIN = [0, 100]
#: A chart of counts by name, with its labels.
CountChartBuilder = Callable[[pd.DataFrame, Mapping[str, str]], alt.LayerChart]
_CROWD = 200  # points; the whiskers of more are a blot
_ACROSS = 2  # series side by side in a legend: what a phone has room for
_NAME_ROOM = 0.07  # of the height of a scatter plot, for the name of a point


def _score_axis() -> alt.X:
    return alt.X(
        "score:Q",
        scale=alt.Scale(domain=_DOMAIN),
        axis=alt.Axis(values=[0, 25, 50, 75, 100], grid=True, title=None),
    )


def _drop_missing_rows(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The rows that have all `columns`, with only what a browser needs."""
    return frame.dropna(subset=list(columns)).reset_index(drop=True)


def layer_charts(*layers: alt.Chart, height: int, width: int | None = None) -> alt.LayerChart:
    """The layers as one chart; sizes in pixels, width None for as wide as there is room. Layers
    without rows are left out: they would be marks that nothing names."""
    drawn = [layer for layer in layers if not getattr(layer.data, "empty", False)]
    chart = alt.LayerChart(layer=drawn or list(layers), height=height)
    if width is not None:
        chart.width = width
    return chart


def _build_reference_lines(lines: Mapping[str, tuple[float, str]]) -> list[alt.Chart]:
    """A dashed line per label with its score and colour, and the label above the plot, each on a
    line of its own and to the side where there is room."""
    charts = []
    for number, (label, (score, colour)) in enumerate(sorted(lines.items(), key=lambda i: i[1])):
        right = score > _DOMAIN[1] / 2
        base = alt.Chart(pd.DataFrame({"label": [label], "score": [score]})).encode(
            x=alt.X("score:Q", scale=alt.Scale(domain=_DOMAIN))
        )
        rule = base.mark_rule(color=colour, strokeDash=[5, 3], strokeWidth=1.5)
        text = base.mark_text(
            style=QUIET_WORDS,
            align="right" if right else "left",
            baseline="bottom",
            dx=-5 if right else 5,
            dy=-4 - _LABEL * number,
            fontSize=12,
        )
        charts += [
            rule.encode(tooltip=["label:N", alt.Tooltip("score:Q", format=".1f")]),
            text.encode(y=alt.value(0), text="label:N"),
        ]
    return charts


@cache_chart
def build_score_bars(
    frame: pd.DataFrame,
    labels: Mapping[str, str],
    floors: Mapping[str, float] | None = None,
    ceiling: Mapping[str, float] | None = None,
) -> alt.LayerChart:
    """Bars with the 95 % interval as a whisker, floors and ceiling as dashed lines. `frame`: name,
    score, low, high (0 to 100), drawn in its order, and colour where bars are to differ in it;
    `labels`: name, score, interval; `floors`, `ceiling`: label -> score."""
    rows = _drop_missing_rows(frame, "score")
    drawn = {label: (score, FLOOR) for label, score in (floors or {}).items()}
    lines = _build_reference_lines(
        drawn | {label: (score, BEST) for label, score in (ceiling or {}).items()}
    )
    height = len(rows) * _ROW + _AXIS + len(lines) // 2 * _LABEL
    return layer_charts(*_build_interval_bars(rows, labels), *lines, height=height)


def _format_intervals(rows: pd.DataFrame) -> list[str]:
    """The intervals in words, "" where there is none."""
    return [
        "" if pd.isna(low) else f"{low:.1f} – {high:.1f}"
        for low, high in zip(rows["low"], rows["high"], strict=True)
    ]


def _build_interval_bars(rows: pd.DataFrame, labels: Mapping[str, str]) -> list[alt.Chart]:
    """Pale bar, whisker with its ends, and the score itself as a point."""
    rows = rows[["name", "score", "low", "high"]].assign(
        colour=rows.get("colour", SCORE), interval=_format_intervals(rows)
    )
    y = alt.Y(
        "name:N",
        sort=list(rows["name"]),
        title=None,
        axis=alt.Axis(labelLimit=220, labelOverlap=False),
    )
    base = alt.Chart(rows).encode(
        x=_score_axis(),
        y=y,
        tooltip=[
            alt.Tooltip("name:N", title=labels["name"]),
            alt.Tooltip("score:Q", title=labels["score"], format=".1f"),
            alt.Tooltip("interval:N", title=labels["interval"]),
        ],
    )
    paint = alt.Color("colour:N", scale=None, legend=None)
    base = base.encode(color=paint)
    spans = alt.Chart(rows.dropna(subset=["low", "high"])).encode(y=y, color=paint)
    ends = spans.mark_tick(thickness=2, size=9)
    return [
        base.mark_bar(opacity=0.3, height={"band": 0.62}, cornerRadiusEnd=3),
        spans.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q"),
        ends.encode(x="low:Q"),
        ends.encode(x="high:Q"),
        base.mark_point(filled=True, size=55, opacity=1),
    ]


@cache_chart
def build_metric_bars(frame: pd.DataFrame, labels: Mapping[str, str]) -> alt.LayerChart:
    """A bar per metric with its interval, and ticks for the board's best and the floor. `frame`:
    name, score, low, high, best, floor (0 to 100, None where there is none); `labels`: name, score,
    interval, best, floor."""
    rows = _drop_missing_rows(frame, "score")
    y = alt.Y("name:N", sort=list(rows["name"]))
    marks = []
    for column, colour in (("best", BEST), ("floor", FLOOR)):
        marked_rows = rows[["name", column]].rename(columns={column: "mark"}).dropna()
        tick = alt.Chart(marked_rows).mark_tick(color=colour, thickness=3, size=20, opacity=1)
        tip = ["name:N", alt.Tooltip("mark:Q", title=labels[column], format=".1f")]
        marks.append(tick.encode(x="mark:Q", y=y, tooltip=tip))
    step = _METRIC if len(rows) <= _MANY else _ROW + 4
    return layer_charts(
        *_build_interval_bars(rows, labels), *marks, height=len(rows) * step + _AXIS
    )


@cache_chart
def build_count_bars(frame: pd.DataFrame, labels: Mapping[str, str]) -> alt.LayerChart:
    """A bar per row with its count and share written at its end. `frame`: name, count, share (0 to
    1), drawn in its order; `labels`: name, count."""
    rows = frame[["name", "count", "share"]].assign(
        text=[f"{c} · {s:.0%}" for c, s in zip(frame["count"], frame["share"], strict=True)]
    )
    room = 1.3 * float(rows["count"].max()) if len(rows) else 1.0  # for the words at the end
    base = alt.Chart(rows).encode(
        x=alt.X("count:Q", axis=None, scale=alt.Scale(domain=[0, room])),
        y=alt.Y(
            "name:N",
            sort=list(rows["name"]),
            title=None,
            axis=alt.Axis(labelLimit=200, labelOverlap=False),
        ),
        tooltip=[
            alt.Tooltip("name:N", title=labels["name"]),
            alt.Tooltip("count:Q", title=labels["count"]),
            alt.Tooltip("share:Q", format=".0%"),
        ],
    )
    bars = base.mark_bar(color=SCORE, opacity=0.55, height={"band": 0.66}, cornerRadiusEnd=3)
    words = base.mark_text(style=QUIET_WORDS, align="left", dx=6, fontSize=12).encode(text="text:N")
    return layer_charts(bars, words, height=len(rows) * _ROW + _LABEL)


@cache_chart
def build_split_bar(frame: pd.DataFrame, labels: Mapping[str, str]) -> alt.LayerChart:
    """One bar in the order of the frame, each part named with its count below. `frame`: name,
    count, position (in PARTS, whatever other parts there are); `labels`: name, count."""
    rows = frame[["name", "count", "position"]].assign(
        text=[f"{n} {c}" for n, c in zip(frame["name"], frame["count"], strict=True)]
    )
    colour = alt.Color(
        "text:N",
        title=None,
        sort=list(rows["text"]),
        scale=alt.Scale(domain=list(rows["text"]), range=[PARTS[n] for n in rows["position"]]),
        legend=alt.Legend(orient="bottom", columns=2, labelLimit=260),
    )
    bar = alt.Chart(rows).mark_bar(height=26, stroke="white", strokeWidth=1)
    return layer_charts(
        bar.encode(
            x=alt.X("count:Q", axis=None, stack=True),
            color=colour,
            order=alt.Order("position:Q"),
            tooltip=[
                alt.Tooltip("name:N", title=labels["name"]),
                alt.Tooltip("count:Q", title=labels["count"]),
            ],
        ),
        height=90,
    )


def select_pareto_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows that no other row beats in both: lower `cost` and higher `score`; cheapest first."""
    rows = frame.sort_values(["cost", "score"], ascending=[True, False])
    before = rows["score"].astype(float).cummax().shift(fill_value=-math.inf)
    return rows[rows["score"] > before]


@cache_chart
def build_score_cost_chart(
    frame: pd.DataFrame, labels: Mapping[str, str], unit: str = "$"
) -> alt.LayerChart:
    """Score over cost (logarithmic); the Pareto set is joined by a line and named.

    `frame`: name, score, low, high, cost (USD, or what else is to be small, with its `unit` before
    the number or none), and colour where points are to differ in it. Rows without a cost above zero
    have no place on a logarithmic axis and are left out; the caller says how many. The intervals of
    a crowd would cover each other, and are told at its points alone. `labels`: name, score,
    interval, cost, pareto.
    """
    rows = frame[["name", "score", "low", "high", "cost"]].assign(
        colour=frame.get("colour", SCORE), interval=_format_intervals(frame)
    )
    rows = _drop_missing_rows(rows, "score", "cost")
    rows = rows[rows["cost"] > 0].reset_index(drop=True)
    ticks, domain = _compute_cost_ticks(rows["cost"]), _compute_score_domain(rows)
    x = alt.X(
        "cost:Q",
        title=labels["cost"],
        scale=alt.Scale(type="log", domain=[ticks[0], ticks[-1]]),
        axis=alt.Axis(values=ticks, format=f"{unit}~g"),
    )
    y = alt.Y("score:Q", title=labels["score"], scale=alt.Scale(domain=domain))
    best = select_pareto_rows(rows)
    named = _select_spaced_rows(best, _NAME_ROOM * (domain[1] - domain[0]))
    dear = named["cost"] > math.sqrt(ticks[0] * ticks[-1])
    line = alt.Chart(best).mark_line(color=BEST, interpolate="step-after", strokeDash=[4, 3])
    paint = alt.Color("colour:N", scale=None, legend=None)
    spans = alt.Chart(rows.dropna(subset=["low", "high"])).mark_rule(opacity=0.45)
    many = len(rows) > _CROWD
    points = alt.Chart(rows).mark_point(filled=True, size=40 if many else 80, opacity=1)
    tip = [
        alt.Tooltip("name:N", title=labels["name"]),
        alt.Tooltip("score:Q", title=labels["score"], format=".1f"),
        alt.Tooltip("interval:N", title=labels["interval"]),
        alt.Tooltip("cost:Q", title=labels["cost"], format=f"{unit}.4~f"),
    ]
    return layer_charts(
        line.encode(x=x, y=y, tooltip=alt.value(labels["pareto"])),
        *([] if many else [spans.encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=paint)]),
        points.encode(x=x, y=y, tooltip=tip, color=paint),
        _build_point_labels(named[~dear], "left", 9).encode(x=x, y=y, text="name:N"),
        _build_point_labels(named[dear], "right", -9).encode(x=x, y=y, text="name:N"),
        height=320,
    )


def _build_point_labels(
    rows: pd.DataFrame, align: Literal["left", "right"], shift: int
) -> alt.Chart:
    """Names above their points, to the side where the plot has more room."""
    chart = alt.Chart(rows)
    return chart.mark_text(  # type: ignore[no-any-return]
        align=align, dx=shift, dy=-9, fontSize=12, style=QUIET_WORDS
    )


def _compute_cost_ticks(costs: pd.Series[float]) -> list[float]:
    """1 and 3 of every decade, from the last at or below the costs to the first at or above."""
    if costs.empty:
        return [1.0, 3.0]
    powers = range(math.floor(math.log10(costs.min())), math.ceil(math.log10(costs.max())) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in (1, 3)]
    first = max(tick for tick in ticks if tick <= costs.min())
    return [tick for tick in ticks if tick >= first and tick / 3.4 < costs.max()]


def _compute_score_domain(rows: pd.DataFrame) -> list[float]:
    """From the ten below the lowest bound to the ten above the highest: points, unlike bars, do
    not need the zero."""
    bounds = pd.concat([rows["score"], rows["low"], rows["high"]]).astype(float).dropna()
    if bounds.empty:
        return [0.0, 100.0]
    low = 10.0 * math.floor(bounds.min() / 10)
    return [low, max(10.0 * math.ceil(bounds.max() / 10), low + 10.0)]


def _select_spaced_rows(best: pd.DataFrame, room: float) -> pd.DataFrame:
    """The rows, highest first, that lie at least `room` below the one named before."""
    selected, last = [], math.inf
    for index, score in best["score"].sort_values(ascending=False).items():
        if last - score >= room:
            selected.append(index)
            last = score
    return best.loc[selected]


@cache_chart
def build_trend_chart(
    frame: pd.DataFrame, labels: Mapping[str, str], colours: Mapping[str, str] | None = None
) -> alt.LayerChart:
    """Scores over time with their intervals, a line per `series`. `frame`: date (datetime), score,
    low, high, series, run_id; `labels`: date, score, series, run; `colours`: series -> colour, in
    the order of the legend."""
    rows = _drop_missing_rows(frame, "score", "date")
    is_monthly = bool((rows["date"].dt.strftime("%d %H:%M") == "01 00:00").all())
    day, minute = ("%Y-%m",) * 2 if is_monthly else ("%Y-%m-%d", "%Y-%m-%d %H:%M")
    rows = rows.assign(when=rows["date"].dt.strftime(minute))
    x = alt.X("date:T", title=None).axis(format=day, tickCount=6).scale(type="utc")
    scale = alt.Scale(domain=_compute_score_domain(rows), zero=False)
    y = alt.Y("score:Q", title=labels["score"], scale=scale)
    several = rows["series"].nunique() > 1
    legend = alt.Legend(orient="bottom", columns=_ACROSS, labelLimit=150) if several else None
    colour = alt.Color("series:N", title=None, legend=legend)
    shape, height = alt.Shape("series:N", title=None, legend=legend), 240
    if colours is not None:  # of one domain, so that one legend shows both
        order = list(colours)
        colour = colour.scale(domain=order, range=list(colours.values()))
        shape = shape.scale(domain=order)
        height += _ROW * math.ceil(len(order) / _ACROSS)
    base = alt.Chart(rows).encode(x=x, color=colour)
    spans = alt.Chart(rows.dropna(subset=["low", "high"])).mark_rule(strokeWidth=2, opacity=0.5)
    points = base.mark_point(filled=True, size=60, opacity=1).encode(
        y=y,
        shape=shape,
        tooltip=[
            alt.Tooltip("series:N", title=labels["series"]),
            alt.Tooltip("score:Q", title=labels["score"], format=".1f"),
            alt.Tooltip("when:N", title=labels["date"]),
            alt.Tooltip("run_id:N", title=labels["run"]),
        ],
    )
    return layer_charts(
        spans.encode(x=x, color=colour, y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        base.mark_line(strokeWidth=1.5, interpolate="linear").encode(y=y),
        points,
        height=height,
    )
