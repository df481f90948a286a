"""Loading: every way a checkpoint can be broken is its own error, and what loads is reported."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from evalcore.errors import UsageError
from evalcore.targets.huggingface import machine
from evalcore.targets.huggingface.load import check_thinking, load_checkpoint
from evalcore.targets.huggingface.messages import HuggingFaceOptions, LoadError, classify_load_error
from evalcore.targets.huggingface.model_files import locate_model, read_metadata
from tests.support import hf_models as models

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    models.local_libraries()
    return models.make_model(tmp_path_factory.mktemp("hf") / "base")


@pytest.fixture(scope="module")
def lora(base, tmp_path_factory) -> Path:
    return models.make_adapter(base, tmp_path_factory.mktemp("hf") / "lora")


@pytest.fixture
def broken(base, tmp_path) -> Path:
    """A copy of the checkpoint, to be broken."""
    return Path(shutil.copytree(base, tmp_path / "broken"))


def loaded(folder, **options):
    options = {"device": "cpu", "threads": 1} | options
    return load_checkpoint(
        locate_model(str(folder)), HuggingFaceOptions(**options), lambda line: None
    )


def refusal(folder, **options) -> LoadError:
    with pytest.raises(LoadError) as error:
        loaded(folder, **options)
    return error.value


def logits(result, dtype=None):
    import torch

    with torch.no_grad():
        return result.model(torch.tensor([[72, 101, 108, 108, 111]])).logits[0, -1].float()


@pytest.mark.parametrize(
    ("dtype", "used", "share"),
    [
        ("auto", "float32", 1.0),
        ("bfloat16", "bfloat16", 0.51),
        ("float16", "float16", 0.51),
        ("int8", "int8", 0.37),
        ("int4", "int4", 0.30),
    ],
)
def test_each_dtype_loads_answers_and_is_reported(base, dtype, used, share):
    import torch

    result = loaded(base, dtype=dtype)
    report = result.report
    assert (report.dtype, report.device, report.threads) == (used, "cpu", 1)
    # in int4 too, where two share a byte
    assert report.parameters == read_metadata(base).parameters
    assert report.memory_bytes <= share * read_metadata(base).size
    assert report.architecture == "Qwen3ForCausalLM"
    assert (report.context, report.template, report.tools) == (models.CONTEXT, True, True)
    assert report.load_seconds > 0
    assert torch.get_num_threads() == 1
    assert result.end_ids == {result.tokenizer.convert_tokens_to_ids("<|im_end|>")}
    exact = logits(loaded(base))
    likeness = torch.corrcoef(torch.stack([logits(result), exact]))[0, 1]
    assert likeness > 0.97


def test_int8_is_quiet(base, capfd):
    logits(loaded(base, dtype="int8"))
    assert "MatMul8bitLt" not in "".join(capfd.readouterr())


def test_a_quantised_checkpoint_loads_as_it_is(base, tmp_path):
    import torch

    made = loaded(base, dtype="int4")
    made.model.save_pretrained(tmp_path / "m")  # before any forward: packing corrupts it after
    made.tokenizer.save_pretrained(tmp_path / "m")
    again = loaded(tmp_path / "m")
    assert again.report.dtype == "int4"
    assert read_metadata(tmp_path / "m").parameters == made.report.parameters
    assert torch.equal(logits(again), logits(made))
    assert refusal(tmp_path / "m", dtype="int8").kind == "dtype_unsupported"


# The six silent failures: transformers itself would go on.


def test_layers_without_weights_are_refused(broken):
    models.change_config(broken, num_hidden_layers=3, layer_types=None)
    result = refusal(broken)
    assert result.kind == "missing_weights"
    assert "layers.2" in str(result)


def test_an_absent_tokenizer_is_refused(broken):
    models.drop_tokenizer(broken)
    assert refusal(broken).kind == "no_tokenizer"


def test_an_empty_tokenizer_is_refused(broken):
    models.change_config(broken, vocab_size=4096)
    assert refusal(broken).kind == "empty_tokenizer"


def test_pickled_weights_are_refused_unless_asked_for(broken):
    models.as_pickle(broken)
    assert refusal(broken).kind == "pickle_only"
    assert loaded(broken, allow_pickle=True).report.parameters == 84800


def test_code_beside_the_weights_never_runs_and_nobody_is_asked(broken, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stdin", None)
    mark = tmp_path / "ran"
    (broken / "own.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    models.change_config(
        broken,
        model_type="homemade",
        auto_map={"AutoConfig": "own.C", "AutoModelForCausalLM": "own.M"},
    )
    result = refusal(broken)
    assert result.kind == "remote_code"
    assert "trust_remote_code" in str(result)
    assert not mark.exists()


OWN_CODE = """
from transformers import Qwen3Config, Qwen3ForCausalLM

class Settings(Qwen3Config):
    model_type = "homemade"

class Model(Qwen3ForCausalLM):
    config_class = Settings
"""


def test_code_beside_the_weights_runs_for_those_who_ask_by_name(broken, monkeypatch, tmp_path):
    from transformers import dynamic_module_utils

    monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    (broken / "own.py").write_text(OWN_CODE)
    auto_map = {"AutoConfig": "own.Settings", "AutoModelForCausalLM": "own.Model"}
    models.change_config(broken, model_type="homemade", auto_map=auto_map)
    assert refusal(broken).kind == "remote_code"
    assert loaded(broken, trust_remote_code=True).report.architecture == "Model"


def test_the_context_is_reported_for_the_check_of_each_prompt(base):
    assert loaded(base, context=100).report.context == 100
    with pytest.raises(UsageError, match=str(models.CONTEXT)):
        loaded(base, context=models.CONTEXT + 1)


# The loud ones, with words that help.


def test_a_missing_path(tmp_path):
    with pytest.raises(LoadError, match="no folder") as error:
        loaded(tmp_path / "none")
    assert error.value.kind == "path_missing"


def test_an_empty_folder_has_no_config(base, tmp_path):
    assert refusal(tmp_path).kind == "no_config"


def test_an_unknown_architecture(broken):
    models.change_config(broken, model_type="qwen99")
    result = refusal(broken)
    assert result.kind == "unknown_architecture"
    assert "qwen99" in str(result)


def test_a_model_that_writes_no_text(broken):
    models.change_config(broken, model_type="vit", architectures=["ViTModel"])
    result = refusal(broken)
    assert result.kind == "unknown_architecture"
    assert "language model" in str(result)


def test_cut_weights(broken):
    models.cut_weights(broken)
    assert refusal(broken).kind == "truncated_weights"


def test_weights_of_another_shape(broken):
    models.change_config(broken, intermediate_size=128)
    assert refusal(broken).kind == "shape_mismatch"


def test_tensors_that_are_not_used_are_told(broken):
    models.change_config(broken, num_hidden_layers=1, layer_types=None)
    lines = []
    checkpoint = load_checkpoint(
        locate_model(str(broken)), HuggingFaceOptions(device="cpu", threads=1), lines.append
    )
    assert any("not used" in note for note in checkpoint.report.notes)
    assert any("not used" in line for line in lines)


def test_too_little_memory_is_known_before_loading(base, monkeypatch):
    monkeypatch.setattr(machine, "memory_available", lambda device: 10_000_000)
    result = refusal(base)
    assert result.kind == "no_memory"
    assert "0.0 GB free" in str(result)


def test_a_device_that_is_not_there(base, monkeypatch):
    monkeypatch.setattr(machine, "list_gpus", lambda: ())
    assert refusal(base, device="cuda:0").kind == "no_device"


def test_quantising_without_its_library(base, monkeypatch):
    monkeypatch.setattr(machine, "find_spec", lambda name: None)
    result = refusal(base, dtype="int4")
    assert result.kind == "dtype_unsupported"
    assert "bitsandbytes" in str(result)


def test_an_attention_that_is_not_installed(base):
    assert refusal(base, attn_implementation="flash_attention_2").kind == "attention_missing"
    assert refusal(base, attn_implementation="magic").kind == "attention_missing"
    assert loaded(base, attn_implementation="eager").model.config._attn_implementation == "eager"


def test_a_broken_tokenizer_file(broken):
    (broken / "tokenizer.json").write_text("{")
    assert refusal(broken).kind == "no_tokenizer"


@pytest.mark.parametrize(
    ("template", "known"),
    [
        ("{% if enable_thinking %}<think>{% endif %}", True),
        ("{%- if thinking is defined and thinking %}<think>{% endif %}", True),
        ({"default": "a", "tool_use": "Reasoning: {{ reasoning_effort }}"}, True),
        ("{{ message.thinking }} no thinking here", False),
        (None, False),
    ],
)
def test_a_switch_that_the_template_lacks_is_refused(template, known):
    tokenizer = SimpleNamespace(chat_template=template)
    check_thinking(tokenizer, HuggingFaceOptions())
    options = HuggingFaceOptions(enable_thinking=False)
    if known:
        check_thinking(tokenizer, options)
    else:
        with pytest.raises(UsageError, match="no switch for reasoning"):
            check_thinking(tokenizer, options)


def test_a_missing_template_is_no_error(broken):
    (broken / "chat_template.jinja").unlink()
    report = loaded(broken).report
    assert (report.template, report.tools) == (False, False)
    assert any("User:" in note for note in report.notes)


# Adapters.


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "int4"])
def test_an_adapter_changes_the_answers(base, lora, dtype):
    plain, tuned = loaded(base, dtype=dtype), loaded(base, dtype=dtype, adapter=str(lora))
    assert tuned.report.adapter == str(lora)
    assert (tuned.report.dtype, tuned.report.notes) == (dtype, ())
    merged = not hasattr(tuned.model, "peft_config")
    assert merged == (dtype in ("float32", "bfloat16"))
    assert (logits(plain) - logits(tuned)).abs().max() > 0.01


def test_a_merged_adapter_is_what_it_was_apart(base, lora):
    import peft
    import torch

    apart = loaded(base)
    tuned = logits(loaded(base, adapter=str(lora)))
    apart.model.requires_grad_(False)
    wrapped = peft.PeftModel.from_pretrained(apart.model, str(lora))
    with torch.no_grad():
        logit = wrapped(torch.tensor([[72, 101, 108, 108, 111]])).logits[0, -1]
    assert torch.allclose(logit, tuned, atol=1e-4)


@pytest.mark.parametrize("layers", [1, 3])
def test_an_adapter_of_a_model_with_more_or_fewer_layers_is_refused(lora, tmp_path, layers):
    other = models.make_model(tmp_path / "other", layers=layers)
    result = refusal(other, adapter=str(lora))
    assert result.kind == "adapter_mismatch"
    assert "names the base" in str(result)


def test_an_adapter_for_modules_that_the_model_lacks_is_refused(base, lora, tmp_path):
    lora = Path(shutil.copytree(lora, tmp_path / "lora"))
    models.change_config(lora, "adapter_config.json", target_modules=["c_attn"])
    assert refusal(base, adapter=str(lora)).kind == "adapter_mismatch"


def test_an_adapter_that_names_another_base_is_told(lora, broken):
    notes = loaded(broken, adapter=str(lora)).report.notes
    assert any("made for" in note and "base" in note for note in notes)


def test_an_adapter_of_other_shapes_is_refused(base, lora, tmp_path):
    lora = Path(shutil.copytree(lora, tmp_path / "lora"))
    models.change_config(lora, "adapter_config.json", r=8)
    assert refusal(base, adapter=str(lora)).kind == "adapter_mismatch"


def test_a_folder_that_is_no_adapter(base, lora, tmp_path):
    assert refusal(base, adapter=str(base)).kind == "adapter_mismatch"
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(lora / "adapter_config.json", bare)
    assert refusal(base, adapter=str(bare)).kind == "missing_weights"
    (bare / "adapter_model.bin").write_bytes(b"x")
    assert refusal(base, adapter=str(bare)).kind == "pickle_only"
    models.change_config(bare, "adapter_config.json", peft_type="PROMPT_TUNING")
    assert refusal(base, adapter=str(bare)).kind == "adapter_mismatch"


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("CUDA out of memory. Tried to allocate 2 GiB", "no_memory"),
        ("DefaultCPUAllocator: can't allocate memory", "no_memory"),
        ("Torch not compiled with CUDA enabled", "no_device"),
        ("something nobody has seen", "no_config"),
    ],
)
def test_what_libraries_say_is_told_apart(words, kind):
    assert classify_load_error(RuntimeError(words), "no_config", "x").kind == kind
