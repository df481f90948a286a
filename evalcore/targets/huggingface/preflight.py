"""What can be told of a model before torch is imported: formats, device, dtype, memory."""

from __future__ import annotations

from pathlib import Path

from evalcore.targets.huggingface import machine
from evalcore.targets.huggingface.load_errors import LoadError
from evalcore.targets.huggingface.model_metadata import QUANTISED, ModelMetadata, memory_needed
from evalcore.targets.huggingface.options import HuggingFaceOptions


def check_loadable(folder: Path, metadata: ModelMetadata, options: HuggingFaceOptions) -> None:
    """Raise LoadError: pickle_only, no_device, dtype_unsupported or no_memory."""
    if "safetensors" not in metadata.formats and not options.allow_pickle:
        raise LoadError(
            "pickle_only",
            f"{folder} holds its weights as pickle only, which can run code when read; convert "
            "them to safetensors, or set the option allow_pickle to true if you trust them",
        )
    device = machine.resolve_device(options.device)
    if device not in machine.list_devices():
        raise LoadError(
            "no_device",
            f"there is no device {options.device} here; this machine has: "
            f"{', '.join(machine.list_devices())}",
        )
    _check_dtype(metadata, options)
    needed, free = memory_needed(metadata, options.dtype), machine.memory_available(device)
    if free is not None and needed > free:
        raise LoadError(
            "no_memory",
            f"the model needs about {needed / 1e9:.1f} GB, {device} has {free / 1e9:.1f} GB free; "
            "choose a smaller dtype (int8, int4), another device or a smaller model",
        )


def _check_dtype(metadata: ModelMetadata, options: HuggingFaceOptions) -> None:
    if metadata.quantised and options.dtype not in ("auto", metadata.quantised):
        raise LoadError(
            "dtype_unsupported",
            f"the weights are stored as {metadata.quantised} already; set the option dtype to auto",
        )
    dtype = metadata.quantised if metadata.quantised in QUANTISED else options.dtype
    if dtype != "auto" and dtype not in machine.list_dtypes(options.device):
        raise LoadError(
            "dtype_unsupported",
            f"{dtype} needs the library bitsandbytes; install it with: pip install "
            "'evalboard[local]', or choose float32, bfloat16 or float16",
        )
