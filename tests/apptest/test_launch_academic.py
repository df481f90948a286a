"""Launch with a benchmark that needs an extra and whose options choose its metrics."""

from __future__ import annotations

from typing import Any

import pytest

from evalcore import catalog
from evalcore.runner import client
from tests.apptest.conftest import words

KEY = "academic"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The requests that the page started, in place of doing so."""
    calls: list[Any] = []

    def launch(request, keys, settings, *, visitor):
        calls.append(request)
        return "20260101-100000-aaaaaa"

    monkeypatch.setattr(client, "launch_run", launch)
    return calls


@pytest.mark.parametrize(
    ("language", "sentence"),
    [("en", "needs a library that is not installed"), ("zh", "所需的库在本服务器上尚未安装")],
)
def test_a_missing_extra_is_named(
    open_page, monkeypatch: pytest.MonkeyPatch, language: str, sentence: str
) -> None:
    monkeypatch.setattr(catalog, "find_spec", lambda name: None)
    monkeypatch.delenv("EVALBOARD_LM_EVAL_PYTHON", raising=False)
    app = open_page("launch", language, benchmark=KEY)
    (warning,) = [each.value for each in app.warning if sentence in each.value]
    assert {"en": "the extra academic", "zh": "附加组件 academic"}[language] in warning


def test_a_profile_is_chosen_and_no_metric(
    open_page, monkeypatch: pytest.MonkeyPatch, asked: list[Any]
) -> None:
    monkeypatch.setenv("EVALBOARD_LM_EVAL_PYTHON", "python")
    app = open_page("launch", benchmark=KEY)
    assert not app.warning
    assert f"launch.metrics.{KEY}" not in {group.key for group in app.button_group}
    app.selectbox(key=f"launch.option.{KEY}.profile").set_value("math").run()
    app.text_input(key=f"launch.option.{KEY}.tasks").set_value("gsm8k, arc_easy").run()
    app.button(key="launch.do.start").click().run()
    assert not app.exception, words(app)
    (request,) = asked
    assert (request.benchmarks, request.metrics) == ((KEY,), ())
    assert request.options == {KEY: {"profile": "math", "tasks": ["gsm8k", "arc_easy"]}}


def test_the_metrics_of_another_benchmark_leave_its_tasks_alone(
    open_page, monkeypatch: pytest.MonkeyPatch, asked: list[Any]
) -> None:
    monkeypatch.setenv("EVALBOARD_LM_EVAL_PYTHON", "python")
    app = open_page("launch")
    app.multiselect(key="launch.benchmarks").set_value(["sql_understanding", KEY]).run()
    app.button_group(key="launch.metrics.sql_understanding").set_value(["explain_detection"]).run()
    app.button(key="launch.do.start").click().run()
    (request,) = asked
    assert request.metrics == ("explain_detection",)
