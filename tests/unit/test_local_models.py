"""What is told of a local model before it is loaded, and the test of its connection."""

from __future__ import annotations

import pytest

from evalcore.runner import local_models
from evalcore.runner.local_models import describe_machine, inspect_local_model, report_local_model
from tests.support.model_folders import (
    adapter_folder,
    cached_model,
    model_folder,
    settled_machine,
)


@pytest.fixture(autouse=True)
def settled(monkeypatch, tmp_path):
    settled_machine(monkeypatch, tmp_path / "cache")


def test_the_machine_offers_what_it_has(tmp_path):
    cached_model(tmp_path / "cache")
    machine = describe_machine()
    assert list(machine.models) == ["lab/small"]
    assert machine.models["lab/small"] > 40_000
    assert machine.devices == ("auto", "cpu")
    assert machine.dtypes == ("auto", "float32", "bfloat16", "float16", "int8", "int4")
    assert machine.missing == ()


def test_a_model_is_described_without_being_loaded(tmp_path):
    model = inspect_local_model(f"hf:{model_folder(tmp_path / 'm')}", {})
    assert (model.problem, model.where, model.device) == ("", "here", "cpu")
    assert model.about.parameters == 10_640
    assert (model.context, model.template, model.tools) == (2048, True, True)
    assert 0 < model.needed < model.available


@pytest.mark.parametrize(
    ("template", "expected"), [("", (False, False)), ("{{ messages }}", (True, False))]
)
def test_template_and_tools_are_told_apart(tmp_path, template, expected):
    model = inspect_local_model(f"hf:{model_folder(tmp_path / 'm', template=template)}", {})
    assert (model.template, model.tools) == expected


def test_a_template_in_the_tokenizers_settings_counts(tmp_path):
    folder = model_folder(tmp_path / "m", template="")
    (folder / "tokenizer_config.json").write_text('{"chat_template": "{{ tools }}"}')
    model = inspect_local_model(f"hf:{folder}", {})
    assert (model.template, model.tools) == (True, True)


def test_a_smaller_dtype_needs_less(tmp_path, monkeypatch):
    monkeypatch.setattr(local_models.machine, "memory_available", lambda device: 600 * 1024**2)
    target = f"hf:{model_folder(tmp_path / 'm')}"
    assert (
        inspect_local_model(target, {"dtype": "int4"}).needed
        < inspect_local_model(target, {}).needed
    )


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"device": "cuda:3"}, "no_device"),
        ({"device": "tpu"}, "option"),
        ({"context": 4096}, "option"),
        ({"revision": "main"}, "option"),
        ({"adapter": "/no/such/folder"}, "path_missing"),
    ],
)
def test_a_wrong_option_is_told_before_loading(tmp_path, options, kind):
    model = inspect_local_model(f"hf:{model_folder(tmp_path / 'm')}", options)
    assert model.kind == kind
    assert model.problem


def test_what_does_not_fit_is_told_with_both_sizes(tmp_path, monkeypatch):
    settled_machine(monkeypatch, tmp_path / "cache", free=1000)
    model = inspect_local_model(f"hf:{model_folder(tmp_path / 'm')}", {})
    assert model.kind == "no_memory"
    assert model.needed > model.available == 1000
    assert model.about is not None


def test_pickle_and_own_code_are_told(tmp_path):
    folder = model_folder(tmp_path / "m", auto_map={"AutoModel": "code.Model"})
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    model = inspect_local_model(f"hf:{folder}", {})
    assert (model.kind, model.pickle, model.own_code) == ("pickle_only", True, True)
    assert inspect_local_model(f"hf:{folder}", {"allow_pickle": True}).problem == ""


def test_an_adapter_names_its_base_and_a_wrong_kind_is_refused(tmp_path):
    target = f"hf:{model_folder(tmp_path / 'm')}"
    good = adapter_folder(tmp_path / "good")
    assert inspect_local_model(target, {"adapter": str(good)}).adapter_base == "some/base"
    bad = adapter_folder(tmp_path / "bad", kind="PROMPT_TUNING")
    assert inspect_local_model(target, {"adapter": str(bad)}).kind == "adapter_mismatch"


def test_no_such_folder_and_no_config(tmp_path):
    assert inspect_local_model("hf:/no/such/folder", {}).kind == "path_missing"
    assert inspect_local_model(f"hf:{tmp_path}", {}).kind == "no_config"


def test_an_uncached_id_is_downloaded_unless_that_is_off(monkeypatch):
    assert inspect_local_model("hf:lab/unknown", {}).where == "download"
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert inspect_local_model("hf:lab/unknown", {}).kind == "offline_missing"


def test_without_the_libraries_a_good_model_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(local_models, "find_spec", lambda name: None)
    model = inspect_local_model(f"hf:{model_folder(tmp_path / 'm')}", {})
    assert model.kind == "missing_extra"
    assert "evalboard[local]" in model.problem
    assert model.about is not None


def test_the_report_says_whether_it_fits(tmp_path, monkeypatch):
    target = f"hf:{model_folder(tmp_path / 'm')}"
    good = report_local_model(target, {})
    assert good.ok
    assert "GB free on cpu" in good.message
    settled_machine(monkeypatch, tmp_path / "cache", free=1000)
    assert not report_local_model(target, {}).ok
    assert "downloaded" in report_local_model("hf:lab/unknown", {}).message
