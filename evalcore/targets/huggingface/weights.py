"""The weights of a model in memory, all of them where they belong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalcore.targets.huggingface.load_error_causes import classify_load_error
from evalcore.targets.huggingface.load_errors import LoadError
from evalcore.targets.huggingface.model_metadata import QUANTISED, ModelMetadata
from evalcore.targets.huggingface.options import HuggingFaceOptions


def load_auto_config(folder: Path, options: HuggingFaceOptions, metadata: ModelMetadata) -> Any:
    """The configuration as transformers understands it; raises LoadError unknown_architecture,
    remote_code or no_config."""
    import transformers

    try:
        return transformers.AutoConfig.from_pretrained(
            str(folder), trust_remote_code=options.trust_remote_code, local_files_only=True
        )
    except Exception as error:  # of many kinds; the words tell
        load_error = classify_load_error(
            error, "no_config", f"config.json of {folder} cannot be used"
        )
        if load_error.kind == "unknown_architecture":
            raise LoadError(
                load_error.kind,
                f"transformers {transformers.__version__} does not know the architecture "
                f"{metadata.model_type or metadata.architecture or '(none named)'!r} of "
                f"{folder}; a "
                "newer release may",
            ) from None
        raise load_error from None


def load_model_weights(
    folder: Path, config: Any, options: HuggingFaceOptions, metadata: ModelMetadata, device: str
) -> tuple[Any, list[str]]:
    """The model with all weights in place, and notes on tensors that it does not use.

    Raises LoadError: missing_weights, shape_mismatch, truncated_weights, unknown_architecture,
    attention_missing, remote_code or no_memory.
    """
    arguments: dict[str, Any] = {
        "config": config,
        "dtype": _torch_dtype(options, metadata),
        "trust_remote_code": options.trust_remote_code,
        "use_safetensors": None if options.allow_pickle else True,
        "local_files_only": True,
        "output_loading_info": True,
    }
    if options.attn_implementation:
        arguments["attn_implementation"] = options.attn_implementation
    quantisation = _build_quantisation(options)
    if quantisation is not None:
        arguments["quantization_config"] = quantisation
    if device != "cpu" or quantisation is not None or metadata.quantised:
        arguments["device_map"] = {"": device}
    try:
        model, loading_info = _select_model_class(config, options).from_pretrained(
            str(folder), **arguments
        )
    except Exception as error:  # of many kinds; the words tell
        raise classify_load_error(
            error, "unknown_architecture", f"{folder} cannot be loaded"
        ) from None
    return model, _check_loaded(loading_info, folder)


def _select_model_class(config: Any, options: HuggingFaceOptions) -> Any:
    """The class that writes text with a model of a configuration."""
    import transformers

    for name in ("AutoModelForCausalLM", "AutoModelForImageTextToText"):
        model_class = getattr(transformers, name)
        remote = options.trust_remote_code and name in (getattr(config, "auto_map", None) or {})
        if remote or type(config) in model_class._model_mapping:
            return model_class
    if getattr(config, "auto_map", None):
        raise ValueError("custom code of the model is needed")
    raise LoadError(
        "unknown_architecture",
        f"a model of type {config.model_type!r} does not continue a text; choose a decoder-only "
        "language model",
    )


def _check_loaded(loading_info: dict[str, Any], folder: Path) -> list[str]:
    missing, wrong = sorted(loading_info["missing_keys"]), list(loading_info["mismatched_keys"])
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
    unused = sorted(loading_info["unexpected_keys"])
    return [f"{len(unused)} stored tensors are not used: {unused[0]}, ..."] if unused else []


def _torch_dtype(options: HuggingFaceOptions, metadata: ModelMetadata) -> Any:
    """The dtype of the weights that are not packed. int8 works on 16-bit input only, and on
    float32 would convert at each product."""
    import torch

    if options.dtype in QUANTISED or metadata.quantised in QUANTISED:
        return torch.bfloat16
    return "auto" if options.dtype == "auto" else getattr(torch, options.dtype)


def _build_quantisation(options: HuggingFaceOptions) -> Any:
    if options.dtype not in QUANTISED:
        return None
    import torch
    import transformers

    if options.dtype == "int8":
        return transformers.BitsAndBytesConfig(load_in_8bit=True)
    return transformers.BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16
    )


def dtype_used(model: Any, options: HuggingFaceOptions, metadata: ModelMetadata) -> str:
    """The dtype of the weights as they are in memory, in the words of the option."""
    if options.dtype in QUANTISED:
        return options.dtype
    return metadata.quantised or str(model.dtype).removeprefix("torch.")
