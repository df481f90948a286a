"""The Launch page: runnable at once, helpful when something is missing, careful with keys."""

from __future__ import annotations

import pytest

from evalcore.errors import UsageError
from evalcore.runner import client
from evalcore.runner.run_request import ConnectionReport, Estimate
from evalcore.targets.base import ServedModel
from tests.apptest.conftest import words

KEY = "sk-typed-for-this-session-only"


@pytest.fixture
def asked(monkeypatch):
    """What the page asked the runner, in place of doing it."""
    calls = []

    def launch(request, keys, settings, *, visitor):
        calls.append(("launch", request, dict(keys)))
        return "20260101-100000-aaaaaa"

    def estimate(request, settings, *, visitor):
        calls.append(("estimate", request))
        return Estimate(
            samples=5, requests=5, input_tokens=1234, output_tokens=None, seconds=90.0, cost=None
        )

    def connect(target, options, keys, settings, *, visitor):
        calls.append(("connect", target, dict(options), dict(keys)))
        return ConnectionReport(ok=True, message="", latency=0.25, model="m", reply="pong")

    monkeypatch.setattr(client, "launch_run", launch)
    monkeypatch.setattr(client, "estimate_run", estimate)
    monkeypatch.setattr(client, "test_connection", connect)
    return calls


def button(app, name):
    return app.button(key=f"launch.do.{name}")


def choose_endpoint(app, model="small"):
    app.button_group(key="launch.kind").set_value("openai").run()
    app.text_input(key="launch.model").set_value(model).run()


@pytest.mark.parametrize(
    ("language", "title", "start"),
    [("en", "Launch an evaluation", "Start"), ("zh", "发起评测", "开始运行")],
)
def test_the_first_choice_can_be_started_as_it_is(open_page, asked, language, title, start):
    app = open_page("launch", language)
    assert app.title[0].value == title
    assert not app.warning
    assert button(app, "start").label == start
    button(app, "start").click().run()
    assert not app.exception
    [(_, request, keys)] = asked
    assert (request.target, request.benchmarks) == ("baseline:sqlglot", ("sql_understanding",))
    assert (request.metrics, request.dataset, request.max_samples) == ((), "", None)
    assert (request.options, request.target_options, keys) == ({}, {}, {})


def test_starting_leads_to_the_run(open_page, asked):
    app = open_page("launch")
    button(app, "start").click().run()
    assert app.title[0].value == "Runs"
    assert app.query_params["run"] == "20260101-100000-aaaaaa"


def test_everything_on_the_form_reaches_the_request(open_page, asked):
    app = open_page("launch")
    app.button_group(key="launch.metrics.sql_understanding").set_value(["explain_detection"])
    app.number_input(key="launch.max_samples").set_value(7)
    app.number_input(key="launch.epochs").set_value(3)
    app.number_input(key="launch.seed").set_value(5)
    app.number_input(key="launch.concurrency").set_value(2)
    app.number_input(key="launch.budget").set_value(1.5)
    app.toggle(key="launch.use_cache").set_value(False)
    app.selectbox(key="launch.option.sql_understanding.mode").set_value("scale").run()
    button(app, "start").click().run()
    [(_, request, _)] = asked
    assert request.metrics == ("explain_detection",)
    assert (request.max_samples, request.epochs, request.seed) == (7, 3, 5)
    assert (request.concurrency, request.use_cache, request.budget) == (2, False, 1.5)
    assert request.options == {"sql_understanding": {"mode": "scale"}}


def test_an_endpoint_needs_a_model_and_a_key_before_it_can_start(open_page, asked):
    app = open_page("launch")
    app.button_group(key="launch.kind").set_value("openai").run()
    assert "Enter a model name" in words(app)
    assert button(app, "start").disabled
    app.text_input(key="launch.model").set_value("small").run()
    assert "needs OPENAI_API_KEY" in words(app)
    assert button(app, "start").disabled
    app.text_input(key="typed_key.OPENAI_API_KEY").set_value(KEY).run()
    assert not app.warning
    button(app, "start").click().run()
    [(_, request, keys)] = asked
    assert request.target == "openai:openai/small"
    assert keys == {"OPENAI_API_KEY": KEY}


def test_a_typed_key_is_shown_nowhere_and_enters_no_request(open_page, asked):
    app = open_page("launch")
    choose_endpoint(app)
    app.text_input(key="typed_key.OPENAI_API_KEY").set_value(KEY).run()
    button(app, "estimate").click().run()
    assert KEY not in words(app)
    assert KEY not in str(app.query_params)
    assert KEY not in repr(asked[0])


def test_a_server_of_ones_own_needs_an_address(open_page, asked):
    app = open_page("launch")
    app.button_group(key="launch.kind").set_value("openai").run()
    app.selectbox(key="launch.server").set_value("custom").run()
    app.text_input(key="launch.model").set_value("qwen/small").run()
    assert "must start with http" in words(app)
    app.text_input(key="launch.base_url.custom").set_value("http://127.0.0.1:9/v1").run()
    assert "must start with http" not in words(app)


def test_the_connection_and_the_estimate_are_told(open_page, asked):
    app = open_page("launch")
    button(app, "connection").click().run()
    assert "Answered in 250 ms" in app.success[0].value
    button(app, "estimate").click().run()
    shown = {metric.label: metric.value for metric in app.metric}
    assert shown["Cases"] == "5"
    assert shown["Time"] == "1 min 30 s"
    assert shown["Cost"] == shown["Output tokens"] == "unknown"


def test_an_estimate_goes_when_the_form_changes(open_page, asked):
    app = open_page("launch")
    button(app, "estimate").click().run()
    assert len(app.metric) == 6
    app.number_input(key="launch.max_samples").set_value(2).run()
    assert len(app.metric) == 0


@pytest.mark.parametrize("what", ["start", "estimate", "connection"])
def test_an_error_of_the_request_is_shown_beside_the_form(open_page, monkeypatch, what):
    def fails(*args, visitor):
        raise UsageError("cases.jsonl, line 3, field sql: ![x](http://evil.invalid)")

    for name in ("launch_run", "estimate_run", "test_connection"):
        monkeypatch.setattr(client, name, fails)
    app = open_page("launch")
    button(app, what).click().run()
    assert not app.exception
    assert "line 3" in app.error[0].value
    assert "![x]" not in app.error[0].value


def test_own_cases_must_exist(open_page, asked, tmp_path):
    app = open_page("launch")
    app.button_group(key="launch.dataset").set_value("path").run()
    assert "Enter the path" in words(app)
    app.text_input(key="launch.dataset_path").set_value("/no/such/place").run()
    assert "There is no file or folder" in words(app)
    app.text_input(key="launch.dataset_path").set_value(str(tmp_path)).run()
    assert not app.warning


def test_no_benchmark_and_no_metric_are_said(open_page, asked):
    app = open_page("launch", "zh")
    app.button_group(key="launch.metrics.sql_understanding").set_value([]).run()
    assert "请至少选择 sql_understanding 的一个指标" in words(app)
    app.multiselect(key="launch.benchmarks").set_value([]).run()
    assert "请至少选择一个评测项" in words(app)
    assert button(app, "start").disabled


def test_a_panel_is_offered_where_it_may_be_needed(open_page, asked):
    app = open_page("launch")
    assert "launch.judges" not in {menu.key for menu in app.multiselect}
    app.multiselect(key="launch.benchmarks").set_value(["dialect_conversion"]).run()
    assert "stays undecided" in words(app)
    judge = "openai:gpt-5.5"
    app.multiselect(key="launch.judges").set_value([judge, "openai:ollama/qwen3:4b"]).run()
    assert "a tie does not pass" in words(app)
    assert button(app, "start").disabled
    app.text_input(key="typed_key.OPENAI_API_KEY").set_value(KEY).run()
    button(app, "start").click().run()
    [(_, request, keys)] = asked
    assert request.judges == (judge, "openai:ollama/qwen3:4b")
    assert keys == {"OPENAI_API_KEY": KEY}


def test_a_judge_that_is_none_is_said_before_the_start(open_page, asked):
    app = open_page("launch")
    app.session_state["launch.benchmarks"] = ["dialect_conversion"]
    app.session_state["launch.judges"] = ["control:reference"]
    app.run()
    assert button(app, "start").disabled
    assert "cannot judge" in words(app)


def test_a_judge_with_the_targets_server_shares_its_key(open_page, asked):
    app = open_page("launch")
    app.session_state["launch.benchmarks"] = ["dialect_conversion"]
    app.session_state["launch.judges"] = ["openai:gpt-5.5"]
    choose_endpoint(app)
    app.text_input(key="typed_key.OPENAI_API_KEY").set_value(KEY).run()
    assert not app.exception
    assert not app.warning
    assert not button(app, "start").disabled


def test_the_models_of_a_server_fill_the_field(open_page, monkeypatch):
    def list_models(endpoint, options, keys, settings, *, visitor):
        if endpoint != "ollama":
            raise UsageError("no key was sent")
        return [ServedModel("qwen3:4b", context=32_768), ServedModel("llama:8b")]

    monkeypatch.setattr(client, "list_models", list_models)
    app = open_page("launch", "en")
    app.button_group(key="launch.kind").set_value("openai").run()
    app.button(key="launch.list_models").click().run()
    assert [error.value for error in app.error] == ["no key was sent"]
    app.selectbox(key="launch.server").set_value("ollama").run()
    assert not app.error
    app.button(key="launch.list_models").click().run()
    app.selectbox(key="launch.served_model").set_value("llama:8b").run()
    assert app.text_input(key="launch.model").value == "llama:8b"
    assert not app.exception
    app.selectbox(key="launch.server").set_value("vllm").run()
    assert not [box for box in app.selectbox if box.key == "launch.served_model"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_the_choice_leaves_out_of_a_suite_is_said_and_one_click_adds_it(open_page, language):
    app = open_page("launch", language)
    chosen = app.multiselect(key="launch.benchmarks").value
    said = {"en": "Left out of the SQL suite", "zh": "未包含"}[language]
    assert said in words(app)
    app.button(key="launch.whole.sql").click().run()
    assert set(app.multiselect(key="launch.benchmarks").value) > set(chosen)
    assert said not in words(app)


def test_a_connection_that_failed_is_not_ready_to_run(open_page, monkeypatch):
    failed = ConnectionReport(ok=False, message="connection refused")
    monkeypatch.setattr(client, "test_connection", lambda *args, **named: failed)
    app = open_page("launch")
    assert "Ready to run" in words(app)
    app.button(key="launch.do.connection").click().run()
    assert "Ready to run" not in words(app)
    app.number_input(key="launch.seed").set_value(1).run()
    assert "Ready to run" not in words(app), "the target is the same"


def test_a_cluster_is_offered_where_the_settings_name_one(open_page, asked, monkeypatch):
    app = open_page("launch")
    assert "launch.on_cluster" not in [toggle.key for toggle in app.toggle]
    monkeypatch.setenv("EVALBOARD_RAY_ADDRESS", "127.0.0.1:6379")
    app = open_page("launch")
    button(app, "start").click().run()
    assert asked[-1][1].executor == ""
    app = open_page("launch")
    app.toggle(key="launch.on_cluster").set_value(True).run()
    button(app, "start").click().run()
    assert asked[-1][1].executor == "ray"
