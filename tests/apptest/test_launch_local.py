"""Local models on the Launch page: offered, described and refused before anything is loaded."""

from __future__ import annotations

import pytest

from evalcore.records import TargetSpec
from evalcore.runner import client
from evalcore.runner.run_request import ConnectionReport
from tests.apptest.conftest import words
from tests.support.model_folders import (
    adapter_folder,
    cached_model,
    model_folder,
    settled_machine,
)


@pytest.fixture(autouse=True)
def settled(monkeypatch, tmp_path):
    settled_machine(monkeypatch, tmp_path / "cache")


@pytest.fixture
def asked(monkeypatch):
    """What the page asked the runner, in place of doing it."""
    calls = []

    def launch(request, keys, settings, *, visitor):
        calls.append((request,))
        return "20260101-100000-aaaaaa"

    def launch_pair(request, second, keys, settings, *, visitor):
        calls.append((request, second))
        return "20260101-100000-aaaaaa", "20260101-100000-bbbbbb"

    def connect(target, options, keys, settings, *, visitor):
        calls.append((target, dict(options)))
        text = "the model needs about 0.5 GB of 8.0 GB free on cpu"
        return ConnectionReport(ok=True, message=text)

    monkeypatch.setattr(client, "launch_run", launch)
    monkeypatch.setattr(client, "launch_pair", launch_pair)
    monkeypatch.setattr(client, "test_connection", connect)
    return calls


def choose(app, model, slot="launch"):
    app.session_state[f"{slot}.target.hf"] = str(model)  # a test's widget cannot type a new choice
    if slot == "launch":
        app.button_group(key="launch.kind").set_value("hf").run()
    else:
        app.run()


def start(app):
    return app.button(key="launch.do.start")


def test_the_cache_and_only_what_this_machine_can_do_are_offered(open_page, asked, tmp_path):
    cached_model(tmp_path / "cache")
    app = open_page("launch")
    app.button_group(key="launch.kind").set_value("hf").run()
    model = app.selectbox(key="launch.target.hf")
    assert model.value is None
    assert [option.split(" · ")[0] for option in model.options] == ["lab/small"]
    assert app.selectbox(key="launch.local.device").options == ["automatic", "cpu"]
    dtypes = app.selectbox(key="launch.local.dtype").options
    assert dtypes == ["automatic", "float32", "bfloat16", "float16", "int8", "int4"]
    assert "Enter a model name" in words(app)
    assert start(app).disabled
    model.set_value("lab/small").run()
    assert not app.warning
    assert not start(app).disabled


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", ["10.6k parameters", "Needs about", "context of 2,048 tokens", "offered natively"]),
        ("zh", ["10.6k 参数", "约需", "上下文 2,048", "原生方式"]),
    ],
)
def test_what_the_folder_says_is_told(open_page, asked, tmp_path, language, text):
    app = open_page("launch", language)
    choose(app, model_folder(tmp_path / "m"))
    bar = app.get("progress")[0].proto.text
    for word in text:
        assert word in words(app) + bar
    assert not app.warning


def test_everything_reaches_the_request(open_page, asked, tmp_path):
    folder, adapter = model_folder(tmp_path / "m"), adapter_folder(tmp_path / "a")
    app = open_page("launch")
    choose(app, folder)
    app.text_input(key="launch.local.adapter").set_value(str(adapter))
    app.selectbox(key="launch.local.dtype").set_value("bfloat16")
    app.selectbox(key="launch.local.device").set_value("cpu")
    app.number_input(key="launch.local.batch_size").set_value(1)
    app.number_input(key="launch.option.hf.max_tokens").set_value(32).run()
    assert "made for some/base" in words(app)
    start(app).click().run()
    [(request,)] = asked
    assert request.target == f"hf:{folder}"
    assert request.target_options == {
        "adapter": str(adapter),
        "dtype": "bfloat16",
        "device": "cpu",
        "batch_size": 1,
        "max_tokens": 32,
    }


def test_trust_is_asked_for_by_name_and_warned_of(open_page, asked, tmp_path):
    folder = model_folder(tmp_path / "m", auto_map={"AutoModel": "code.Model"})
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    app = open_page("launch")
    choose(app, folder)
    assert "can run code: " in words(app)
    assert "runs only if you allow it" in words(app)
    assert start(app).disabled
    app.toggle(key="launch.local.allow_pickle").set_value(True)
    app.toggle(key="launch.local.trust_remote_code").set_value(True).run()
    assert "may run any program" in words(app)
    start(app).click().run()
    assert asked[0][0].target_options == {"allow_pickle": True, "trust_remote_code": True}


@pytest.mark.parametrize(
    ("language", "text"), [("en", "Not enough memory: "), ("zh", "内存不足：")]
)
def test_a_model_that_does_not_fit_is_not_started(
    open_page, asked, monkeypatch, tmp_path, language, text
):
    settled_machine(monkeypatch, tmp_path / "cache", free=1000)
    app = open_page("launch", language)
    choose(app, model_folder(tmp_path / "m"))
    assert text in words(app)
    assert start(app).disabled


@pytest.mark.parametrize(
    ("model", "text"),
    [("/no/such/folder", "Model not found"), ("lab/small/extra", "Model not found")],
)
def test_a_model_that_is_none_is_said(open_page, asked, model, text):
    app = open_page("launch")
    choose(app, model)
    assert text in words(app)
    assert start(app).disabled


def test_an_id_that_is_not_cached_is_said_to_be_downloaded(open_page, asked):
    app = open_page("launch")
    choose(app, "lab/unknown")
    assert "downloaded when the run starts" in app.info[0].value
    assert not start(app).disabled


def test_a_hostile_name_is_no_markup(open_page, asked):
    app = open_page("launch")
    choose(app, "![x](http://evil.invalid/i.png)")
    assert not any("![x]" in warning.value for warning in app.warning)
    assert start(app).disabled


def test_the_connection_test_says_whether_it_fits(open_page, asked, tmp_path):
    app = open_page("launch", "zh")
    choose(app, model_folder(tmp_path / "m"))
    app.button(key="launch.do.connection").click().run()
    assert "模型约需 0.5 GB" in words(app)


def test_base_and_fine_tune_start_as_one_comparison(open_page, asked, tmp_path):
    folder, adapter = model_folder(tmp_path / "m"), adapter_folder(tmp_path / "a")
    app = open_page("launch")
    choose(app, folder)
    app.toggle(key="launch.second").set_value(True).run()
    assert app.button_group(key="launch.second.kind").value == "hf"
    assert "Both targets are the same" in words(app)
    assert start(app).disabled
    app.text_input(key="launch.second.local.adapter").set_value(str(adapter)).run()
    assert not app.warning
    assert "one after the other" in words(app)
    app.number_input(key="launch.seed").set_value(7).run()
    start(app).click().run()
    [(request, second)] = asked
    assert (request.target, request.target_options, request.seed) == (f"hf:{folder}", {}, 7)
    assert second == TargetSpec(f"hf:{folder}", {"adapter": str(adapter)})
    assert app.query_params["run"] == "20260101-100000-aaaaaa"


def test_any_two_targets_can_be_compared_and_share_a_typed_key(open_page, asked):
    app = open_page("launch")
    app.button_group(key="launch.kind").set_value("openai").run()
    app.text_input(key="launch.model").set_value("small").run()
    app.text_input(key="typed_key.OPENAI_API_KEY").set_value("sk-abc-def-ghi-jkl").run()
    app.toggle(key="launch.second").set_value(True).run()
    assert "Enter a model name" in words(app)
    app.text_input(key="launch.second.model").set_value("large").run()
    assert not app.exception
    assert not app.warning
    assert "at the same time" in words(app)
    app.button(key="launch.do.connection").click().run()
    assert [call[0] for call in asked] == ["openai:openai/small", "openai:openai/large"]
    start(app).click().run()
    request, second = asked[-1]
    assert (request.target, second.key) == ("openai:openai/small", "openai:openai/large")
