"""A sweep is started on Launch and shown on Runs."""

from __future__ import annotations

import pytest

from evalcore.cli.main import main
from evalcore.runner import client
from evalcore.store.sweeps import Sweep
from tests.apptest.conftest import words
from tests.support.cases import syntax_cases
from tests.support.model_folders import model_folder, settled_machine
from tests.support.page_stores import evidence_run


def test_launch_starts_a_sweep_over_adapters_and_precisions(open_page, monkeypatch, tmp_path):
    settled_machine(monkeypatch, tmp_path / "cache")
    started = []

    def launch_sweep(request, variants, keys, settings, *, visitor):
        started.extend(variants)
        return Sweep("s", "", tuple(variants))

    monkeypatch.setattr(client, "launch_sweep", launch_sweep)
    model = model_folder(tmp_path / "base")
    for step in (100, 200):
        (tmp_path / "out" / f"checkpoint-{step}").mkdir(parents=True)
    app = open_page("launch")
    app.session_state["launch.target.hf"] = str(model)
    app.button_group(key="launch.kind").set_value("hf").run()
    app.toggle(key="launch.sweep").set_value(True).run()
    assert app.button(key="launch.do.start").disabled  # one variant is no sweep
    assert "2 to 64 variants" in words(app)
    app.text_area(key="launch.sweep_adapters").set_value(f"{tmp_path}/out/checkpoint-*").run()
    app.multiselect(key="launch.sweep_dtypes").set_value(["auto", "int8"]).run()
    assert "6 runs" in words(app)
    assert not app.exception
    app.button(key="launch.do.start").click().run()
    labels = [variant.label for variant in started]
    assert labels[:2] == ["base", "base · int8"]
    assert labels[-1] == "base + checkpoint-200 · int8"


def test_runs_shows_what_a_target_could_do_before_its_run(open_page, runs_root):
    folder = evidence_run(runs_root)
    app = open_page("runs")
    assert "Tool calls" not in words(app)
    line = {"name": "tools", "state": "no", "detail": "![x](http://evil.invalid)"}
    folder.write_card({"preflight": {"ok": True, "message": "", "capabilities": [line]}})
    app.run()
    assert not app.exception
    assert "Tool calls" in words(app)
    assert not [mark.value for mark in app.markdown if "![x]" in mark.value]
    folder.write_card({"preflight": {"ok": "?"}})
    assert not app.run().exception


@pytest.mark.parametrize("language", ["en", "zh"])
def test_runs_shows_the_sweep_of_a_run(open_page, runs_root, tmp_path, language):
    cases = str(syntax_cases(tmp_path / "cases", 8))
    command = ["sweep", "--target", "control:reference", "control:null"]
    command += ["--benchmarks", "sql_understanding", "--dataset", cases]
    assert main([*command, "--data", str(runs_root.parent)]) == 0
    app = open_page("runs", language)
    assert not app.exception
    shown = words(app)
    assert {"en": "Sweep", "zh": "批量对比"}[language] in shown
    assert {"en": "Best on", "zh": "最佳"}[language] in shown
