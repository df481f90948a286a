"""A LoRA (PEFT) adapter put onto a loaded model, or a clear refusal."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from evalcore.targets.huggingface.load_error_causes import classify_load_error
from evalcore.targets.huggingface.load_errors import LoadError
from evalcore.targets.huggingface.model_metadata import read_header, read_json_object
from evalcore.targets.huggingface.options import HuggingFaceOptions

CONFIG = "adapter_config.json"
_WEIGHTS_FILE = "adapter_model.safetensors"
#: Kinds that add prompts in place of changing weights, which batching cannot treat alike.
_PROMPT_ADAPTERS = frozenset(
    {"PROMPT_TUNING", "PREFIX_TUNING", "P_TUNING", "ADAPTION_PROMPT", "CPT"}
)


def check_adapter(folder: Path, options: HuggingFaceOptions) -> None:
    """Raise LoadError for what can be told before loading: adapter_mismatch, pickle_only,
    missing_weights, truncated_weights."""
    try:
        config = read_json_object(folder / CONFIG)
    except (OSError, ValueError):
        raise LoadError(
            "adapter_mismatch",
            f"{folder} has no readable {CONFIG}; give the folder that PEFT's save_pretrained wrote",
        ) from None
    if str(config.get("peft_type")) in _PROMPT_ADAPTERS:
        raise LoadError(
            "adapter_mismatch", f"adapters of kind {config['peft_type']} are not supported"
        )
    if (folder / _WEIGHTS_FILE).is_file():
        read_header(folder / _WEIGHTS_FILE)
    elif not (folder / "adapter_model.bin").is_file():
        raise LoadError("missing_weights", f"{folder} holds no {_WEIGHTS_FILE}")
    elif not options.allow_pickle:
        raise LoadError(
            "pickle_only",
            f"{folder} holds its weights as pickle only, which can run code when read; convert "
            "them, or set the option allow_pickle to true if you trust them",
        )


def read_base_model(folder: Path) -> str:
    """The name of the model for which a checked adapter was made, empty where it does not say."""
    return str(read_json_object(folder / CONFIG).get("base_model_name_or_path") or "")


def apply_adapter(model: Any, folder: Path, merge: bool) -> Any:
    """The model with the adapter of a folder, merged into its weights where `merge`: faster, and
    in 16 bit rounded once more.

    Raises LoadError adapter_mismatch where any tensor of the adapter finds no place or any place
    no tensor: PEFT would leave it out with a warning at most.
    """
    import peft

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they would say is checked below
            wrapped = peft.PeftModel.from_pretrained(model, str(folder), low_cpu_mem_usage=False)
            load_result = wrapped.load_adapter(str(folder), "default")
    except Exception as error:  # a library's many ways to say that they do not fit
        load_error = classify_load_error(error, "adapter_mismatch", "the adapter cannot be loaded")
        if load_error.kind in ("shape_mismatch", "unknown_architecture"):
            raise _build_mismatch_error(folder, str(error)) from None
        raise load_error from None
    unmatched = [*load_result.missing_keys, *load_result.unexpected_keys]
    if unmatched:
        raise _build_mismatch_error(
            folder, f"{len(unmatched)} tensors do not fit, the first is {unmatched[0]}"
        )
    return wrapped.merge_and_unload() if merge else wrapped


def _build_mismatch_error(folder: Path, reason: str) -> LoadError:
    short = " ".join(reason.split())[:300]
    return LoadError(
        "adapter_mismatch",
        f"the adapter {folder} was made for another model; its {CONFIG} names the base ({short})",
    )
