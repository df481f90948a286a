"""What a model's folder is, where this engine cannot run it: trained in parts, packed for another
engine, an adapter, or no decoder; and what to do instead. Nothing heavy is imported.
"""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.targets.huggingface.messages import LoadError, LoadErrorKind

_LARGEST_JSON = 64 * 1024 * 1024
_LARGEST_TEMPLATE = 1024 * 1024
_TRAINER_STATE = "trainer_state.json"
_SERVE = "or serve it (for example with vLLM) and evaluate openai:MODEL with the option base_url"
_SERVE_GGUF = (
    "GGUF is for llama.cpp; start llama-server -m FILE and evaluate openai:MODEL with the option "
    "base_url, or give the folder of the original weights in safetensors"
)
#: Of each method the modules without which transformers cannot read its weights, and how they are
#: installed. Source: `validate_environment` of the quantizers of transformers 5.23.
_QUANTISERS: dict[str, tuple[tuple[str, ...], str]] = {
    "gptq": (("gptqmodel", "optimum"), "gptqmodel optimum"),
    "awq": (("gptqmodel",), "gptqmodel"),
    "compressed-tensors": (("compressed_tensors",), "compressed-tensors"),
    "torchao": (("torchao",), "torchao"),
    "hqq": (("hqq",), "hqq"),
    "aqlm": (("aqlm",), "'aqlm[gpu,cpu]'"),
    "quanto": (("optimum.quanto",), "optimum-quanto"),
    "auto-round": (("auto_round",), "auto-round"),
    "quark": (("quark",), "amd-quark"),
    "vptq": (("vptq",), "vptq"),
    "spqr": (("spqr_quant",), "'spqr_quant[gpu]'"),
    "eetq": (("kernels",), "kernels"),
    "higgs": (("flute",), "flute-kernel"),
    "fbgemm_fp8": (("fbgemm_gpu",), "fbgemm-gpu"),
}
#: Methods whose kernels exist for GPUs alone.
_GPU_METHODS = frozenset({"hqq", "vptq", "spqr", "eetq", "higgs", "fbgemm_fp8"})
#: Ends of architectures that continue no text, with what they do.
_OTHER_TASKS = {
    "ForMaskedLM": Note("task_fills"),
    "ForPreTraining": Note("task_fills"),
    "ForSequenceClassification": Note("task_classifies"),
    "ForTokenClassification": Note("task_labels"),
    "ForQuestionAnswering": Note("task_marks"),
    "ForMultipleChoice": Note("task_chooses"),
    "ForSpeechSeq2Seq": Note("task_speech"),
    "ForImageClassification": Note("task_images"),
    "ForCTC": Note("task_speech"),
}
_ENCODER_TYPES = re.compile(
    "albert|bert|big_bird|camembert|clip|deberta|deberta-v2|distilbert|electra|ernie|esm|funnel|"
    "longformer|modernbert|mpnet|nomic_bert|roberta|siglip|squeezebert|vit|xlm-roberta"
)
_ENCODER_DECODER_TYPES = re.compile(
    "bart|bigbird_pegasus|blenderbot|encoder-decoder|fsmt|led|longt5|m2m_100|marian|mbart|mt5|"
    "pegasus|prophetnet|switch_transformers|t5|t5gemma|umt5|whisper"
)


def read_json_object(file: Path) -> dict[str, Any]:
    """An object in a file of at most 64 MiB; raises OSError or ValueError."""
    if file.stat().st_size > _LARGEST_JSON:
        raise ValueError(Note("json_large"))
    try:
        content = json.loads(file.read_bytes())
    except RecursionError:
        raise ValueError(Note("json_deep")) from None
    if not isinstance(content, dict):
        raise ValueError(Note("must_be_object"))
    return content


def read_template_file(name: str) -> str:
    """The chat template in the file that an option names; raises UsageError."""
    file = Path(name).expanduser()
    try:
        if file.stat().st_size > _LARGEST_TEMPLATE:
            raise ValueError(Note("template_large"))
        template = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(Note("template_wrong", file=file, problem=error)) from None
    if not template.strip():
        raise UsageError(Note("template_empty", file=file))
    return template


def explain_unusable_folder(folder: Path, kind: LoadErrorKind, problem: str) -> LoadError:
    """The error of a folder without a configuration or weights, with what can be done where its
    files show what it is; `problem` is said where they do not."""
    names = sorted(file.name for file in folder.iterdir())
    if "adapter_config.json" in names:
        base = _read_adapter_base(folder)
        example = f" hf:{base}" if base else ""
        return LoadError(kind, Note("model_is_adapter", folder=folder, example=example))
    ggufs = [name for name in names if name.lower().endswith(".gguf")]
    if ggufs:
        return LoadError(
            kind, Note("model_holds_gguf", folder=folder, first=ggufs[0], remedy=_SERVE_GGUF)
        )
    checkpoints = _list_checkpoints(names)
    if checkpoints:
        return LoadError(
            kind,
            Note(
                "model_checkpoints",
                folder=folder,
                count=len(checkpoints),
                last=folder / checkpoints[-1],
            ),
        )
    if any(name.startswith("global_step") for name in names):
        return LoadError(kind, Note("model_deepspeed", folder=folder))
    if any(name.startswith("pytorch_model_fsdp") for name in names):
        return LoadError(kind, Note("model_fsdp", folder=folder))
    if _TRAINER_STATE in names:
        problem += "; a trainer's state lies here, but save_only_model or save_model wrote no model"
    return LoadError(kind, problem)


def explain_model_file(file: Path) -> LoadError:
    """The error of a file that was given where a folder is wanted."""
    if file.suffix.lower() == ".gguf":
        return LoadError("path_missing", Note("model_gguf", file=file, remedy=_SERVE_GGUF))
    return LoadError("path_missing", Note("model_is_file", file=file))


def check_decoder(folder: Path, config: dict[str, Any]) -> None:
    """Raise LoadError unknown_architecture for a model that its configuration calls an encoder or
    an encoder with a decoder; transformers would give some of them a random or blind head."""
    architectures = config.get("architectures")
    first = architectures[0] if isinstance(architectures, list) and architectures else ""
    architecture = first if isinstance(first, str) else ""
    if architecture.endswith("ForCausalLM") or "AutoModelForCausalLM" in _list_own_classes(config):
        return
    model_type = str(config.get("model_type") or "")
    task = next((does for end, does in _OTHER_TASKS.items() if architecture.endswith(end)), "")
    if config.get("is_encoder_decoder") is True or _ENCODER_DECODER_TYPES.fullmatch(model_type):
        task = task or Note("task_turns")
    elif _ENCODER_TYPES.fullmatch(model_type) and config.get("is_decoder") is not True:
        task = task or Note("task_encodes")
    if task:
        raise LoadError(
            "unknown_architecture",
            Note(
                "model_no_decoder", model=folder, type=repr(architecture or model_type), task=task
            ),
        )


def read_quantisation(folder: Path, config: dict[str, Any]) -> str:
    """int8 or int4 (by bitsandbytes) or the name of another method in which the weights are stored,
    empty for none. Older tools wrote it in `compression_config` or in a file beside."""
    text = config.get("text_config")
    nested = text.get("quantization_config") if isinstance(text, dict) else None
    stored = config.get("quantization_config") or nested
    if not isinstance(stored, dict):
        if isinstance(config.get("compression_config"), dict):
            return "compressed-tensors"
        packed = (folder / "quantize_config.json").is_file()  # as AutoGPTQ wrote it
        return "gptq" if packed else ""
    for name, field in (("int4", "load_in_4bit"), ("int8", "load_in_8bit")):
        if stored.get(field):
            return name
    return str(stored.get("quant_method") or "unknown")


def check_quantiser(method: str, device: str) -> None:
    """Raise LoadError dtype_unsupported where the weights' method lacks its library or a GPU."""
    if method == "gguf":
        raise LoadError("dtype_unsupported", Note("model_packed_gguf", remedy=_SERVE_GGUF))
    modules, package = _QUANTISERS.get(method, ((), ""))
    if any(not _is_installed(module) for module in modules):
        raise LoadError(
            "dtype_unsupported",
            Note("model_packed_library", method=method, package=package, remedy=_SERVE),
        )
    if method in _GPU_METHODS and device == "cpu":
        raise LoadError("dtype_unsupported", Note("model_packed_gpu", method=method, remedy=_SERVE))


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # the parent of `optimum.quanto` is absent
        return False


def _list_checkpoints(names: list[str]) -> list[str]:
    """The folders `checkpoint-N` that the Trainer writes, by N."""
    numbered = [
        (int(number), name)
        for name in names
        if (number := name.removeprefix("checkpoint-")) != name and number.isdecimal()
    ]
    return [name for _, name in sorted(numbered)]


def _list_own_classes(config: dict[str, Any]) -> tuple[str, ...]:
    classes = config.get("auto_map")
    return tuple(map(str, classes)) if isinstance(classes, dict) else ()


def _read_adapter_base(folder: Path) -> str:
    try:
        config = read_json_object(folder / "adapter_config.json")
    except (OSError, ValueError):
        return ""
    return str(config.get("base_model_name_or_path") or "")
