"""Charts say what the frame says: encodings, whole axes, floors, no NaN, readable colours."""

import json

import numpy as np
import pandas as pd
import pytest

from evalcore.charts import plots
from evalcore.charts.comparisons import SERIES, assign_series_styles, build_radar_chart
from evalcore.target_cards import colour_of

LABELS = {
    "name": "Target",
    "score": "Score",
    "interval": "95 %",
    "cost": "Cost",
    "pareto": "best",
    "best": "Best",
    "floor": "Floor",
    "series": "Benchmark",
    "run": "Run",
    "date": "Date",
}
BACKGROUNDS = ("#fdfdfb", "#12191b")  # of .streamlit/config.toml


def frame(**more):
    columns = {
        "name": ["a", "b", "c"],
        "score": [90.0, 60.0, np.nan],
        "low": [85.0, np.nan, np.nan],
        "high": [95.0, np.nan, np.nan],
        "cost": [1.2, 0.05, 0.3],
    }
    return pd.DataFrame({**columns, **more})


def layers(chart):
    spec = chart.to_dict()
    json.dumps(spec, allow_nan=False)  # raises for NaN and infinity
    return spec, spec["layer"]


def rows_of(spec, layer):
    return spec["datasets"][layer.get("data", spec.get("data"))["name"]]


def of_mark(spec, kind):
    return [layer for layer in spec["layer"] if layer["mark"]["type"] == kind]


def test_bars_keep_the_order_and_leave_out_what_has_no_score():
    spec, _ = layers(plots.build_score_bars(frame(), LABELS))
    (bar,) = of_mark(spec, "bar")
    assert [row["name"] for row in rows_of(spec, bar)] == ["a", "b"]
    assert bar["encoding"]["y"]["sort"] == ["a", "b"]
    assert bar["encoding"]["x"]["scale"]["domain"] == [0, 100]


def test_only_known_intervals_have_whiskers():
    spec, _ = layers(plots.build_score_bars(frame(), LABELS))
    (whisker,) = of_mark(spec, "rule")
    assert [row["name"] for row in rows_of(spec, whisker)] == ["a"]
    assert (whisker["encoding"]["x"]["field"], whisker["encoding"]["x2"]["field"]) == (
        "low",
        "high",
    )


def test_every_floor_is_a_dashed_line_with_its_label_on_a_line_of_its_own():
    floors = {"floor: input 7.0": 7.0, "floor: empty 3.0": 3.0}
    spec, _ = layers(plots.build_score_bars(frame(), LABELS, floors))
    rules = [layer for layer in of_mark(spec, "rule") if "strokeDash" in layer["mark"]]
    texts = of_mark(spec, "text")
    assert [rows_of(spec, rule)[0]["score"] for rule in rules] == [3.0, 7.0]
    assert [rows_of(spec, text)[0]["label"] for text in texts] == sorted(floors)
    assert len({text["mark"]["dy"] for text in texts}) == 2


def test_a_chart_grows_with_its_rows():
    many = pd.DataFrame(
        {"name": [str(n) for n in range(30)], "score": 1.0, "low": 0.0, "high": 2.0}
    )
    assert plots.build_score_bars(many, LABELS).to_dict()["height"] > 700
    assert plots.build_score_bars(frame(), LABELS).to_dict()["height"] < 200


def test_metric_bars_mark_best_and_floor_where_they_are_known():
    spec, _ = layers(
        plots.build_metric_bars(frame(best=[95.0, 80.0, 1.0], floor=[np.nan, 5.0, 1.0]), LABELS)
    )
    ticks = [layer for layer in of_mark(spec, "tick") if layer["encoding"]["x"]["field"] == "mark"]
    assert [[row["name"] for row in rows_of(spec, tick)] for tick in ticks] == [["a", "b"], ["b"]]
    assert [tick["mark"]["color"] for tick in ticks] == [plots.BEST, plots.FLOOR]


@pytest.mark.parametrize(
    ("costs", "scores", "expected"),
    [
        ([1, 2, 3], [10, 20, 30], [0, 1, 2]),
        ([1, 2, 3], [30, 20, 10], [0]),
        ([2, 2, 1], [10, 20, 5], [2, 1]),
        ([], [], []),
    ],
)
def test_the_pareto_set_holds_who_is_not_beaten_in_both(costs, scores, expected):
    pareto_rows = plots.select_pareto_rows(pd.DataFrame({"cost": costs, "score": scores}))
    assert list(pareto_rows.index) == expected


def test_the_scatter_is_logarithmic_and_draws_only_costs_above_zero():
    spec, _ = layers(plots.build_score_cost_chart(frame(cost=[1.2, 0.0, 0.3]), LABELS))
    (points,) = of_mark(spec, "point")
    assert [row["name"] for row in rows_of(spec, points)] == ["a"]
    assert points["encoding"]["x"]["scale"]["type"] == "log"
    low, high = points["encoding"]["x"]["scale"]["domain"]
    assert low <= 1.2 <= high


@pytest.mark.parametrize("cost", [1e-6, 0.01, 0.3, 1.0, 3.0, 9.99, 1234.0])
def test_the_cost_axis_reaches_around_any_cost(cost):
    spec, _ = layers(plots.build_score_cost_chart(frame(cost=[cost, cost, cost]), LABELS))
    low, high = of_mark(spec, "point")[0]["encoding"]["x"]["scale"]["domain"]
    assert low <= cost <= high
    assert low < high


def test_a_crowd_of_points_tells_its_intervals_at_the_points_alone():
    few = frame(cost=[1.0, 2.0, 3.0])
    many = pd.concat([few] * 120, ignore_index=True)
    for rows, whiskers in ((few, 1), (many, 0)):
        spec, _ = layers(plots.build_score_cost_chart(rows, LABELS))
        assert len(of_mark(spec, "rule")) == whiskers
        (points,) = of_mark(spec, "point")
        assert "interval" in [tip.get("field") for tip in points["encoding"]["tooltip"]]
        intervals = [row["interval"] for row in rows_of(spec, points)]
        assert len(intervals) == len(rows.dropna(subset=["score"]))
        assert any("–" in item for item in intervals)


def test_names_that_would_lie_on_each_other_are_left_to_the_tooltip():
    close = pd.DataFrame(
        {"name": list("abc"), "score": [90.0, 89.5, 40.0], "cost": [3.0, 2.0, 1.0]}
    ).assign(low=np.nan, high=np.nan)
    spec, _ = layers(plots.build_score_cost_chart(close, LABELS))
    named = {row["name"] for text in of_mark(spec, "text") for row in rows_of(spec, text)}
    assert named == {"a", "c"}


def test_the_trend_runs_over_time_with_intervals():
    dates = pd.to_datetime(["2026-11-01", "2026-11-02", "2026-11-03"], utc=True)
    spec, _ = layers(plots.build_trend_chart(frame(date=dates, series="SQL", run_id="r"), LABELS))
    (line,) = of_mark(spec, "line")
    assert line["encoding"]["x"]["type"] == "temporal"
    assert line["encoding"]["y"]["scale"]["domain"] == [60, 100]
    assert len(rows_of(spec, line)) == 2


def test_a_trend_of_months_names_months_wherever_its_reader_lives():
    dates = pd.to_datetime(["2026-10-01", "2026-11-01", "2026-12-01"], utc=True)
    spec, _ = layers(plots.build_trend_chart(frame(date=dates, series="SQL", run_id="r"), LABELS))
    (line,) = of_mark(spec, "line")
    assert line["encoding"]["x"]["axis"]["format"] == "%Y-%m"
    assert line["encoding"]["x"]["scale"]["type"] == "utc"
    assert {row["when"] for row in rows_of(spec, line)} <= {"2026-10", "2026-11", "2026-12"}


def test_the_radar_puts_100_on_the_ring_and_closes_the_outline():
    axes = ["a", "b", "c", "d"]
    scores = pd.DataFrame({"axis": axes, "series": "target", "score": 100.0})
    spec, _ = layers(build_radar_chart(scores, axes, {key: key for key in SERIES}))
    outline = [layer for layer in of_mark(spec, "line") if "strokeDash" in layer["encoding"]]
    points = rows_of(spec, outline[0])
    assert len(points) == 5
    assert {round((p["x"] ** 2 + p["y"] ** 2) ** 0.5, 6) for p in points} == {100.0}
    assert (points[0]["x"], points[0]["y"]) == pytest.approx((points[-1]["x"], points[-1]["y"]))


def test_a_missing_score_opens_the_outline_instead_of_falling_to_zero():
    axes = ["a", "b", "c", "d"]
    scores = pd.DataFrame(
        {"axis": ["a", "b", "d"], "series": "target", "score": [50.0, 60.0, 70.0]}
    )
    spec, _ = layers(build_radar_chart(scores, axes, {key: key for key in SERIES}))
    outline = next(layer for layer in of_mark(spec, "line") if "strokeDash" in layer["encoding"])
    points = rows_of(spec, outline)
    assert "c" not in {point["axis"] for point in points}
    assert len({point["part"] for point in points}) == 2


def test_a_radar_of_runs_has_the_colour_of_each_target_and_a_stroke_of_its_own():
    axes = ["a", "b", "c"]
    letters = dict(zip("ABCDEFGH", [f"openai:m{n % 3}" for n in range(8)], strict=True))
    frame = pd.DataFrame(
        [{"axis": a, "series": s, "score": 50.0} for s in letters for a in axes],
    )
    labels = {series: f"{series} · {name}" for series, name in letters.items()}
    spec, _ = layers(build_radar_chart(frame, axes, labels, assign_series_styles(letters)))
    outline = next(layer for layer in of_mark(spec, "line") if "strokeDash" in layer["encoding"])
    colours = outline["encoding"]["color"]["scale"]
    assert colours["domain"] == list(labels.values())
    assert colours["range"] == [colour_of(name) for name in letters.values()]
    dashes = outline["encoding"]["strokeDash"]["scale"]["range"]
    assert len({tuple(dash) for dash in dashes}) == 8


def test_the_radar_of_nobody_is_an_empty_grid():
    empty = pd.DataFrame(columns=["axis", "series", "score"])
    spec, _ = layers(build_radar_chart(empty, ["a", "b", "c"], {key: key for key in SERIES}))
    assert of_mark(spec, "line")


@pytest.mark.parametrize("colour", [plots.SCORE, plots.FLOOR, plots.BEST, plots.MUTED])
@pytest.mark.parametrize("background", BACKGROUNDS)
def test_colours_contrast_three_to_one_on_both_themes(colour, background):
    """WCAG 2.2, 1.4.11: graphics need 3:1."""
    dark, light = sorted((luminance(colour), luminance(background)))
    assert (light + 0.05) / (dark + 0.05) >= 3


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_chart_has_no_layer_without_marks():
    claims = pd.DataFrame({"name": ["a", "b"], "score": [60.0, 40.0], "low": None, "high": None})
    spec, _ = layers(plots.build_score_bars(claims, LABELS))
    assert not of_mark(spec, "rule")
    assert all(rows_of(spec, layer) for layer in spec["layer"])


def test_a_trend_has_one_legend_and_begins_near_its_scores():
    rows = frame(date=pd.to_datetime(["2026-10-01"] * 3, utc=True), series=["x", "y", "z"])
    colours = dict.fromkeys(["z", "y", "x"], "#111111")
    spec, _ = layers(plots.build_trend_chart(rows.assign(run_id="r"), LABELS, colours))
    (points,), (spans,) = of_mark(spec, "point"), of_mark(spec, "rule")
    assert points["encoding"]["shape"]["scale"]["domain"] == ["z", "y", "x"]
    assert points["encoding"]["color"]["scale"]["domain"] == ["z", "y", "x"]
    assert spans["encoding"]["y"]["scale"] == points["encoding"]["y"]["scale"]
