"""Colours that stay with a target, bars of parts, and lines for floors and ceiling."""

import json

import pandas as pd
import pytest

from evalcore.charts import plots
from evalcore.charts.comparisons import build_stacked_bars
from evalcore.target_cards import COLOURS, assign_colours, colour_of

LABELS = {name: name for name in ("name", "part", "count", "share", "score", "interval")}
BACKGROUNDS = ("#fdfdfb", "#12191b")  # of .streamlit/config.toml


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("background", BACKGROUNDS)
def test_the_colours_of_targets_stand_out_on_both_themes(colour, background):
    dark, light = sorted((luminance(colour), luminance(background)))
    assert (light + 0.05) / (dark + 0.05) >= 3


def test_a_target_keeps_its_colour_and_many_targets_use_all():
    assert colour_of("openai:gpt") == colour_of("openai:gpt")
    assert {colour_of(f"target {number}") for number in range(300)} == set(COLOURS)
    assert colour_of("模型 \U0001f600 \x00") in COLOURS
    assert plots.FLOOR not in COLOURS


def test_bars_may_differ_in_colour_and_lines_tell_floor_from_ceiling():
    frame = pd.DataFrame(
        {"name": ["a", "b"], "score": [90.0, 10.0], "low": [80, 5], "high": [95, 20]}
    )
    chart = plots.build_score_bars(
        frame.assign(colour=["#111111", "#222222"]), LABELS, {"floor": 5.0}, {"ceiling": 99.0}
    ).to_dict()
    message = json.dumps(chart)
    assert "#111111" in message
    assert plots.SCORE not in message
    rules = [layer["mark"] for layer in chart["layer"] if "strokeDash" in layer["mark"]]
    assert [rule["color"] for rule in rules] == [plots.FLOOR, plots.BEST]
    texts = [layer["mark"] for layer in chart["layer"] if layer["mark"]["type"] == "text"]
    assert [text["align"] for text in texts] == ["left", "right"]
    plain = json.dumps(plots.build_score_bars(frame, LABELS).to_dict())
    assert plots.SCORE in plain


def test_parts_keep_their_order_on_a_whole_axis():
    frame = pd.DataFrame(
        {
            "name": ["t1", "t1", "t2"],
            "part": ["rows", "other", "rows"],
            "count": [3, 1, 2],
            "share": [0.3, 0.1, 0.2],
        }
    )
    spec = build_stacked_bars(frame, ["rows", "other"], LABELS).to_dict()
    encoding = spec["layer"][0]["encoding"]
    assert encoding["x"]["scale"]["domain"] == [0, 100]
    assert encoding["color"]["scale"]["domain"] == ["rows", "other"]
    assert encoding["y"]["sort"] == ["t1", "t2"]
    rows = next(iter(spec["datasets"].values()))
    assert [round(row["percent"]) for row in rows] == [30, 10, 20]
    assert [row["position"] for row in rows] == [0, 1, 0]


def test_targets_of_one_chart_share_no_colour_while_there_are_enough():
    names = [f"target {number}" for number in range(len(COLOURS))]
    colours = assign_colours(names)
    assert set(colours.values()) == set(COLOURS)
    assert colours[names[0]] == colour_of(names[0])
    assert len(assign_colours([*names, "one more"])) == len(names) + 1
