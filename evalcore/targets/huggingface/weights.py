"""The weights of a model in memory, all of them where they belong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalcore.targets.huggingface.causes import cause
from evalcore.targets.huggingface.options import Options
from evalcore.targets.huggingface.outline import QUANTISED, Outline
from evalcore.targets.huggingface.problems import LoadError


def read_config(folder: Path, options: Options, about: Outline) -> Any:
    """The configuration as transformers understands it; raises LoadError unknown_architecture,
    remote_code or no_config."""
    import transformers

    try:
        return transformers.AutoConfig.from_pretrained(
            str(folder), trust_remote_code=options.trust_remote_code, local_files_only=True
        )
    except Exception as error:  # of many kinds; the words tell
        found = cause(error, "no_config", f"config.json of {folder} cannot be used")
        if found.kind == "unknown_architecture":
            raise LoadError(
                found.kind,
                f"transformers {transformers.__version__} does not know the architecture "
                f"{about.model_type or about.architecture or '(none named)'!r} of {folder}; a "
                "newer release may",
            ) from None
        raise found from None


def load_model(
    folder: Path, config: Any, options: Options, about: Outline, device: str
) -> tuple[Any, list[str]]:
    """The model with all weights in place, and notes on tensors that it does not use.

    Raises LoadError: missing_weights, shape_mismatch, truncated_weights, unknown_architecture,
    attention_missing, remote_code or no_memory.
    """
    arguments: dict[str, Any] = {
        "config": config,
        "dtype": _torch_dtype(options, about),
        "trust_remote_code": options.trust_remote_code,
        "use_safetensors": None if options.allow_pickle else True,
        "local_files_only": True,
        "output_loading_info": True,
    }
    if options.attn_implementation:
        arguments["attn_implementation"] = options.attn_implementation
    quantisation = _quantisation(options)
    if quantisation is not None:
        arguments["quantization_config"] = quantisation
    if device != "cpu" or quantisation is not None or about.quantised:
        arguments["device_map"] = {"": device}
    try:
        model, told = _class_for(config, options).from_pretrained(str(folder), **arguments)
    except Exception as error:  # of many kinds; the words tell
        raise cause(error, "unknown_architecture", f"{folder} cannot be loaded") from None
    return model, _check_loaded(told, folder)


def _class_for(config: Any, options: Options) -> Any:
    """The class that writes text with a model of a configuration."""
    import transformers

    for name in ("AutoModelForCausalLM", "AutoModelForImageTextToText"):
        made = getattr(transformers, name)
        remote = options.trust_remote_code and name in (getattr(config, "auto_map", None) or {})
        if remote or type(config) in made._model_mapping:
            return made
    if getattr(config, "auto_map", None):
        raise ValueError("custom code of the model is needed")
    raise LoadError(
        "unknown_architecture",
        f"a model of type {config.model_type!r} does not continue a text; choose a decoder-only "
        "language model",
    )


def _check_loaded(told: dict[str, Any], folder: Path) -> list[str]:
    missing, wrong = sorted(told["missing_keys"]), list(told["mismatched_keys"])
    if wrong:
        raise LoadError(
            "shape_mismatch",
            f"{len(wrong)} tensors of {folder} have other shapes than config.json says, the first "
            f"is {wrong[0]}; the files belong to different models",
        )
    if missing:
        raise LoadError(
            "missing_weights",
            f"{folder} lacks {len(missing)} tensors, the first is {missing[0]}: those layers would "
            "be random; check that config.json and the weights belong together",
        )
    unused = sorted(told["unexpected_keys"])
    return [f"{len(unused)} stored tensors are not used: {unused[0]}, ..."] if unused else []


def _torch_dtype(options: Options, about: Outline) -> Any:
    """The dtype of the weights that are not packed. int8 works on 16-bit input only, and on
    float32 would convert at each product."""
    import torch

    if options.dtype in QUANTISED or about.quantised in QUANTISED:
        return torch.bfloat16
    return "auto" if options.dtype == "auto" else getattr(torch, options.dtype)


def _quantisation(options: Options) -> Any:
    if options.dtype not in QUANTISED:
        return None
    import torch
    import transformers

    if options.dtype == "int8":
        return transformers.BitsAndBytesConfig(load_in_8bit=True)
    return transformers.BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16
    )


def dtype_used(model: Any, options: Options, about: Outline) -> str:
    """The dtype of the weights as they are in memory, in the words of the option."""
    if options.dtype in QUANTISED:
        return options.dtype
    return about.quantised or str(model.dtype).removeprefix("torch.")
