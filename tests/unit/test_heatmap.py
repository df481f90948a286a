"""The heatmap: every cell says its value in words that can be read on its colour."""

from __future__ import annotations

import pandas as pd
import pytest

from evalcore.charts.comparisons import build_heatmap
from evalcore.charts.pictures import Theme

LABELS = {"row": "Metric", "column": "Run", "value": "Score"}


def cells(*values: float | None, theme: Theme = "light") -> dict:
    frame = pd.DataFrame(
        {"row": "m", "column": chr(65 + n), "value": v, "text": f"{v}", "tip": "m"}
        for n, v in enumerate(values)
    )
    return build_heatmap(frame, ["m"], list(frame["column"]), LABELS, theme).to_dict()


def data(chart: dict) -> list[dict]:
    [rows] = chart["datasets"].values()
    return rows


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_is_read_on_its_cell(theme):
    for cell in data(cells(*map(float, range(0, 101, 5)), theme=theme)):
        high, low = sorted((luminance(cell["fill"]), luminance(cell["ink"])), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, cell


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_more_is_further_from_the_page_and_out_of_range_is_the_end(theme):
    drawn = data(cells(-5.0, 0.0, 50.0, 100.0, 120.0, theme=theme))
    fills = [luminance(cell["fill"]) for cell in drawn]
    assert fills == sorted(fills, reverse=theme == "light")
    assert (fills[0], fills[-1]) == (fills[1], fills[-2])


def test_a_missing_value_has_a_cell_of_its_own_and_no_colour_of_a_score():
    none, zero = data(cells(None, 0.0))
    assert none["fill"] != zero["fill"]
    assert none["text"] == "None"


def test_the_orders_are_kept_and_colours_are_no_scale_of_their_own():
    chart = cells(1.0, 2.0)
    for layer in chart["layer"]:
        assert layer["encoding"]["x"]["sort"] == ["A", "B"]
        assert layer["encoding"]["color"]["scale"] is None
