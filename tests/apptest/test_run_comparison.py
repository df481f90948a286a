"""Local models and comparisons on the Runs page, and a model's facts on the Target page."""

from __future__ import annotations

import pytest
from filelock import FileLock

from evalcore import settings as configuration
from evalcore.records import TargetSpec
from evalcore.results import Progress
from evalcore.store.index import record_run
from tests.apptest.conftest import words
from tests.support.pair_runs import FIRST, SECOND, pair_of_runs

pytestmark = pytest.mark.slow

CARD = {
    "model": "lab/base",
    "architecture": "Qwen3ForCausalLM",
    "parameters": 494_000_000,
    "dtype": "bfloat16",
    "device": "cuda:0",
    "memory_bytes": 988_000_000,
    "load_seconds": 12.34,
    "context": 32_768,
    "notes": ["the adapter says that it was made for ![x](http://evil.invalid)"],
    "tokens_per_second": 1234.5,
    "process_bytes": 2_500_000_000,
    "batch": 24,
    "waiting": 7,
    "halved": 1,
    "budget_tokens": 8192,
}


def moving(folder, **more) -> None:
    folder.summary_path.unlink()
    folder.write_progress(Progress(run_id=folder.run_id, state="running", total=3, **more))


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (
            "en",
            ["Comparison", "2 won", "1 lost", "0 tied", "is not significant", "adapter = /models"],
        ),
        ("zh", ["比较", "胜 2", "负 1", "平 0", "差异不显著", "adapter = /models"]),
    ],
)
@pytest.mark.parametrize("run", [FIRST, SECOND])
def test_both_runs_show_their_comparison(open_page, runs_root, language, text, run):
    pair_of_runs(runs_root, first=(True, False, False), second=(False, True, True))
    app = open_page("runs", language, run=run)
    for word in text:
        assert word in words(app)
    table = app.dataframe[-1].value
    assert table["case"].tolist() == ["3", "2", "1"]
    assert table["first"].tolist() == ["✕ 0", "✕ 0", "✓ 1"]
    assert table["second"].tolist() == ["✓ 1", "✓ 1", "✕ 0"]


def test_a_click_on_a_score_opens_the_case_in_that_run(open_page, runs_root):
    pair_of_runs(runs_root, first=(True, False, False), second=(False, True, True))
    app = open_page("runs", run=FIRST)
    app.session_state["runs.comparison.open.second"] = {"row": 0}
    app.run()
    assert not app.exception
    assert app.query_params["run"] == SECOND
    assert app.query_params["id"] == "3"


def test_equal_runs_say_so_and_list_no_case(open_page, runs_root):
    pair_of_runs(runs_root, first=(True, False, True), second=(True, False, True))
    app = open_page("runs", run=FIRST)
    assert "scored the same on every case" in words(app)
    assert not any("second" in frame.value.columns for frame in app.dataframe)


def test_the_second_waits_for_the_first(open_page, runs_root):
    first, second = pair_of_runs(runs_root)
    moving(first)
    second.summary_path.unlink()
    with FileLock(first.lock_path):
        app = open_page("runs", run=SECOND)
    assert "Waiting for the other run" in words(app)
    assert "once both runs have ended" in app.info[-1].value


def test_any_run_may_be_set_against_another_by_hand(open_page, runs_root):
    folders = pair_of_runs(runs_root, first=(True, False, False), second=(False, True, True))
    for folder in folders:
        text = (folder.path / "spec.json").read_text()
        (folder.path / "spec.json").write_text(text.replace("of two", "of many"))
    app = open_page("runs", run=SECOND)
    assert "2 won" not in words(app)
    app.selectbox(key=f"runs.{SECOND}.with").set_value(FIRST).run()
    assert "2 won" in words(app)
    assert app.query_params["with"] == FIRST


@pytest.mark.parametrize(
    ("language", "speed"), [("en", "1,234 tokens/s"), ("zh", "1,234 token/秒")]
)
def test_a_local_model_at_work_shows_speed_and_memory(open_page, runs_root, language, speed):
    first, _ = pair_of_runs(runs_root)
    moving(first, phase="running", message="1,234 tokens/s, 2.5 GB")
    first.write_card(CARD)
    with FileLock(first.lock_path):
        app = open_page("runs", language, run=FIRST)
    text = words(app)
    for word in (speed, "2.5 GB", "24", "494.0M", "bfloat16", "8,192"):
        assert word in text


def test_loading_shows_what_the_worker_says(open_page, runs_root):
    first, _ = pair_of_runs(runs_root)
    moving(first, phase="loading the target", message="loading Qwen3ForCausalLM on cpu")
    with FileLock(first.lock_path):
        app = open_page("runs", run=FIRST)
    assert "loading Qwen3ForCausalLM on cpu" in words(app)


def test_a_model_that_could_not_be_loaded_says_why(open_page, runs_root):
    first, _ = pair_of_runs(runs_root)
    first.summary_path.unlink()
    why = "the model needs about 75.3 GB, cpu has 22.8 GB free"
    first.write_progress(Progress(run_id=FIRST, state="incomplete", message=why))
    app = open_page("runs", run=FIRST)
    assert why in app.error[0].value.replace("\\", "")


def test_the_target_page_tells_what_really_ran(open_page, runs_root):
    targets = (TargetSpec("hf:lab/base"), TargetSpec("hf:lab/other"))
    first, second = pair_of_runs(runs_root, targets=targets)
    first.write_card(CARD)
    for folder in (first, second):
        record_run(configuration.load_settings(), folder)
    app = open_page("target", key="hf:lab/base")
    shown = {metric.label: metric.value.replace("\\", "") for metric in app.metric}
    assert shown["Parameters"] == "494.0M"
    assert shown["Precision used"] == "bfloat16"
    assert shown["Memory of the weights"] == "988.0 MB"
    assert shown["Load time"] == "12.3 s"
    assert not any("![x]" in caption.value for caption in app.caption)
    app = open_page("target", key="hf:lab/other")
    assert "Precision used" not in {metric.label for metric in app.metric}
