"""Charts as files: in the colours of a theme, with title and source, and nothing loaded."""

from __future__ import annotations

import subprocess
from xml.etree import ElementTree

import pandas as pd
import pytest

from evalcore.charts import pictures, plots
from evalcore.cli.main import main
from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.exchange.board_export import add_display_names
from evalcore.target_cards import TargetCard
from pages.shared.exports import _build_csv_bytes
from tests.support.api import fill
from tests.support.pages import store as store

pytestmark = pytest.mark.slow

FRAME = pd.DataFrame(
    {"name": ["一 <b>&", "b"], "score": [70.0, 30.0], "low": [60.0, 20.0], "high": [80.0, 40.0]}
)
LABELS = {"name": "Target", "score": "Score", "interval": "95 %"}
needs_vega = pytest.mark.skipif(
    not pictures.has_chart_renderer(), reason=f"{pictures.PACKAGE} is absent; pip install it"
)


def spec():
    return plots.build_score_bars(FRAME, LABELS, {"floor 5.0": 5.0}).to_dict()


@needs_vega
@pytest.mark.parametrize(("theme", "ground"), [("light", "#fdfdfb"), ("dark", "#12191b")])
def test_an_svg_has_title_source_and_the_colours_of_its_theme(theme, ground):
    text = pictures.render_chart_file(
        spec(), "svg", title="T <x>", source="from & here", theme=theme
    )
    words = "".join(ElementTree.fromstring(text).itertext())
    for name in ("T <x>", "from & here", "一 <b>&", "floor 5.0"):
        assert name in words
    assert ground.encode() in text
    assert b"<script" not in text
    assert b"<image" not in text


@needs_vega
def test_a_png_is_a_picture():
    assert pictures.render_chart_file(spec(), "png", title="t", source="s").startswith(b"\x89PNG")


@needs_vega
def test_a_chart_that_loads_anything_is_not_drawn():
    foreign = {"data": {"url": "http://127.0.0.1:9/x.csv"}, "mark": "bar", "encoding": {}}
    with pytest.raises(EnvironmentFailure, match="could not be drawn"):
        pictures.render_chart_file(foreign, "svg", title="t", source="s")


def test_a_chart_of_its_own_width_keeps_it():
    assert pictures.apply_chart_theme({"width": 350}, title="", source="")["width"] == 350
    assert pictures.apply_chart_theme({}, title="", source="")["width"] == 720


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(pictures, "has_chart_renderer", lambda: False)
    with pytest.raises(UsageError, match=r"pip install 'evalboard\[charts\]'"):
        pictures.render_chart_file({}, "svg", title="", source="")


def test_a_process_that_hangs_is_given_up(monkeypatch):
    def hangs(*args, **more):
        raise subprocess.TimeoutExpired("x", 1)

    monkeypatch.setattr(pictures, "has_chart_renderer", lambda: True)
    monkeypatch.setattr(subprocess, "run", hangs)
    with pytest.raises(EnvironmentFailure, match="more than"):
        pictures.render_chart_file({}, "svg", title="", source="")


def test_the_csv_of_a_chart_holds_no_formula():
    text = _build_csv_bytes(pd.DataFrame({"name": ["=1+1", "a,b"], "score": [1.5, None]}))
    assert text.decode("utf-8-sig") == 'name,score\n\'=1+1,1.5\n"a,b",\n'


def test_targets_of_one_name_are_told_apart():
    frame = pd.DataFrame({"identity": ["a:x", "a:y"], "target_key": ["a:x", "a:y"]})
    cards = {"a:x": TargetCard(name="Same"), "a:y": TargetCard(name="Same")}
    assert list(add_display_names(frame, cards)["name"]) == ["a:x", "a:y"]
    assert list(add_display_names(frame, {"a:x": TargetCard(name="X")})["name"]) == ["X", "a:y"]


@needs_vega
def test_the_command_writes_the_chart_of_a_board(store, tmp_path):
    fill(store)
    path = tmp_path / "board.svg"
    assert main(["board", "--chart", str(path), "--theme", "dark"]) == 0
    words = "".join(ElementTree.fromstring(path.read_bytes()).itertext())
    assert "openai:strong" in words
    assert "SQL understanding · 32 cases" in words


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--chart", "x.jpg"), "must end with .svg or .png"),
        (("--chart", "x.svg", "--json"), "drop --format"),
        (("--chart", "x.svg", "--board", "none"), "no such board"),
    ],
)
def test_what_cannot_be_drawn_is_refused(store, capsys, words, reason):
    fill(store)
    assert main(["board", *words]) == 2
    assert reason in capsys.readouterr().err
