"""Folders that look like models and are none that this engine runs: each is refused before anything
is loaded, with what to do instead."""

from __future__ import annotations

import json

import pytest

from evalcore.runner.local_models import inspect_local_model
from evalcore.targets.huggingface import folder_checks, machine
from evalcore.targets.huggingface.messages import HuggingFaceOptions
from evalcore.targets.huggingface.model_files import locate_model
from evalcore.targets.huggingface.target import compute_revision
from tests.support.model_folders import adapter_folder, model_folder, settled_machine


@pytest.fixture(autouse=True)
def _settled(tmp_path, monkeypatch):
    settled_machine(monkeypatch, tmp_path / "cache")


def refuse(folder, **options) -> tuple[str, str]:
    """The kind of the problem and its words."""
    inspection = inspect_local_model(f"hf:{folder}", options)
    return inspection.kind, inspection.problem


@pytest.mark.parametrize(
    ("config", "package"),
    [
        ({"quantization_config": {"quant_method": "gptq", "bits": 4}}, "gptqmodel optimum"),
        ({"quantization_config": {"quant_method": "awq"}}, "gptqmodel"),
        ({"quantization_config": {"quant_method": "compressed-tensors"}}, "compressed-tensors"),
        ({"compression_config": {"format": "pack-quantized"}}, "compressed-tensors"),
        ({"text_config": {"quantization_config": {"quant_method": "torchao"}}}, "torchao"),
        ({"quantization_config": {"quant_method": "quanto"}}, "optimum-quanto"),
    ],
)
def test_packed_weights_name_the_library_that_is_missing(tmp_path, monkeypatch, config, package):
    folder = model_folder(tmp_path / "m", **config)
    monkeypatch.setattr(folder_checks, "_is_installed", lambda module: False)
    kind, problem = refuse(folder)
    assert kind == "dtype_unsupported"
    assert f"pip install {package};" in problem
    assert "base_url" in problem
    monkeypatch.setattr(folder_checks, "_is_installed", lambda module: True)
    assert refuse(folder) == ("", "")


def test_a_file_of_an_older_tool_tells_gptq(tmp_path, monkeypatch):
    folder = model_folder(tmp_path / "m")
    (folder / "quantize_config.json").write_text('{"bits": 4}')
    monkeypatch.setattr(folder_checks, "_is_installed", lambda module: False)
    assert "gptqmodel" in refuse(folder)[1]


def test_methods_for_gpus_are_refused_on_the_cpu(tmp_path, monkeypatch):
    folder = model_folder(tmp_path / "m", quantization_config={"quant_method": "hqq"})
    monkeypatch.setattr(folder_checks, "_is_installed", lambda module: True)
    assert "GPU only" in refuse(folder)[1]
    monkeypatch.setattr(machine, "list_gpus", lambda: (machine.Gpu("One", 1 << 40),))
    assert refuse(folder) == ("", "")


@pytest.mark.parametrize("config", [True, False])
def test_gguf_is_sent_to_llama_cpp(tmp_path, config):
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "small-Q4_K_M.gguf").write_bytes(b"GGUF")
    if config:
        (folder / "config.json").write_text('{"model_type": "qwen3"}')
    kind, problem = refuse(folder)
    assert kind == ("missing_weights" if config else "no_config")
    assert "llama-server" in problem
    assert "small-Q4_K_M.gguf" in problem
    assert "llama-server" in refuse(folder / "small-Q4_K_M.gguf")[1]


def test_the_output_folder_of_a_training_names_its_last_checkpoint(tmp_path):
    for name in ("checkpoint-900", "checkpoint-1000", "checkpoint-x"):
        (tmp_path / "out" / name).mkdir(parents=True)
    kind, problem = refuse(tmp_path / "out")
    assert kind == "no_config"
    assert problem.endswith("checkpoint-1000")
    assert "2 checkpoints" in problem


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("global_step500", "zero_to_fp32"),
        ("pytorch_model_fsdp_0", "accelerate merge-weights"),
        ("trainer_state.json", "wrote no model"),
    ],
)
def test_a_checkpoint_in_parts_says_how_to_join_them(tmp_path, name, remedy):
    folder = model_folder(tmp_path / "checkpoint-5")
    (folder / "model.safetensors").unlink()
    (folder / name).mkdir()
    kind, problem = refuse(folder)
    assert kind == "missing_weights"
    assert remedy in problem


def test_a_trainer_checkpoint_with_its_model_is_a_model(tmp_path):
    folder = model_folder(tmp_path / "checkpoint-5")
    (folder / "trainer_state.json").write_text("{}")
    (folder / "optimizer.pt").write_bytes(b"x")
    assert refuse(folder) == ("", "")


@pytest.mark.parametrize("config", [True, False])
def test_an_adapter_names_its_base(tmp_path, config):
    folder = adapter_folder(tmp_path / "lora", "lab/base")
    if config:
        (folder / "config.json").write_text('{"model_type": "qwen3"}')
    problem = refuse(folder)[1]
    assert "hf:lab/base" in problem
    assert "option adapter" in problem


@pytest.mark.parametrize(
    ("config", "word"),
    [
        ({"architectures": ["T5ForConditionalGeneration"], "model_type": "t5"}, "encoder and"),
        ({"architectures": ["T5WithLMHeadModel"], "is_encoder_decoder": True}, "encoder and"),
        ({"architectures": ["BertForMaskedLM"], "model_type": "bert"}, "fills gaps"),
        ({"architectures": ["BertModel"], "model_type": "bert"}, "only encodes"),
        ({"architectures": None, "model_type": "modernbert"}, "only encodes"),
        ({"architectures": ["LlamaForSequenceClassification"], "model_type": "llama"}, "classif"),
    ],
)
def test_what_is_no_decoder_is_refused_by_what_it_does(tmp_path, config, word):
    kind, problem = refuse(model_folder(tmp_path / "m", **config))
    assert kind == "unknown_architecture"
    assert word in problem


@pytest.mark.parametrize(
    "config",
    [
        {"architectures": ["BertLMHeadModel"], "model_type": "bert", "is_decoder": True},
        {"architectures": ["BartForCausalLM"], "model_type": "bart"},
        {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2"},
        {"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3"},
        {"architectures": [7], "model_type": ["odd"]},
        {"model_type": "bert", "auto_map": {"AutoModelForCausalLM": "code.Model"}},
    ],
)
def test_decoders_of_any_name_pass(tmp_path, config):
    folder = model_folder(tmp_path / "m", **config)
    folder_checks.check_decoder(folder, json.loads((folder / "config.json").read_text()))


def test_a_chat_template_from_a_file_replaces_the_own(tmp_path):
    folder, file = model_folder(tmp_path / "m", template=""), tmp_path / "own.jinja"
    file.write_text("{{ messages }}{{ tools }}")
    inspection = inspect_local_model(f"hf:{folder}", {"chat_template": str(file)})
    assert (inspection.problem, inspection.template, inspection.tools) == ("", True, True)
    model_ref = locate_model(str(folder))
    options = HuggingFaceOptions(chat_template=str(file))
    first = compute_revision(model_ref, options)
    file.write_text("{{ messages }}")
    assert len({first, compute_revision(model_ref, options)}) == 2


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe", b"x" * (2**20 + 1)])
def test_a_chat_template_that_cannot_be_used_is_named(tmp_path, content):
    file = tmp_path / "own.jinja"
    if content is not None:
        file.write_bytes(content)
    kind, problem = refuse(model_folder(tmp_path / "m"), chat_template=str(file))
    assert kind == "option"
    assert "chat_template" in problem
