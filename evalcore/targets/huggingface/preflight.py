"""What can be told of a model before torch is imported: formats, device, dtype, memory."""

from __future__ import annotations

from pathlib import Path

from evalcore.targets.huggingface import machine
from evalcore.targets.huggingface.options import Options
from evalcore.targets.huggingface.outline import QUANTISED, Outline, memory_needed
from evalcore.targets.huggingface.problems import LoadError


def check(folder: Path, about: Outline, options: Options) -> None:
    """Raise LoadError: pickle_only, no_device, dtype_unsupported or no_memory."""
    if "safetensors" not in about.formats and not options.allow_pickle:
        raise LoadError(
            "pickle_only",
            f"{folder} holds its weights as pickle only, which can run code when read; convert "
            "them to safetensors, or set the option allow_pickle to true if you trust them",
        )
    device = machine.resolve(options.device)
    if device not in machine.devices():
        raise LoadError(
            "no_device",
            f"there is no device {options.device} here; this machine has: "
            f"{', '.join(machine.devices())}",
        )
    _check_dtype(about, options)
    needed, free = memory_needed(about, options.dtype), machine.memory_available(device)
    if free is not None and needed > free:
        raise LoadError(
            "no_memory",
            f"the model needs about {needed / 1e9:.1f} GB, {device} has {free / 1e9:.1f} GB free; "
            "choose a smaller dtype (int8, int4), another device or a smaller model",
        )


def _check_dtype(about: Outline, options: Options) -> None:
    if about.quantised and options.dtype not in ("auto", about.quantised):
        raise LoadError(
            "dtype_unsupported",
            f"the weights are stored as {about.quantised} already; set the option dtype to auto",
        )
    wanted = about.quantised if about.quantised in QUANTISED else options.dtype
    if wanted != "auto" and wanted not in machine.dtypes(options.device):
        raise LoadError(
            "dtype_unsupported",
            f"{wanted} needs the library bitsandbytes; install it with: pip install "
            "'evalboard[local]', or choose float32, bfloat16 or float16",
        )
