"""What went wrong inside a library while it loaded a model, as one of our kinds.

The libraries tell causes apart by the words of their messages alone, so the table matches those;
what no row knows becomes a LoadError of the stage's own kind, with the original words.
"""

from __future__ import annotations

import re

from evalcore.targets.huggingface.load_errors import LoadError, LoadErrorKind

_CAUSES: tuple[tuple[str, LoadErrorKind, str], ...] = (
    (
        r"trust_remote_code|custom code",
        "remote_code",
        "the model needs code that lies beside its weights; read that code, and if you trust it "
        "set the option trust_remote_code to true",
    ),
    (
        r"out of memory|can't allocate memory|MemoryError|not enough memory",
        "no_memory",
        "the memory does not suffice; choose a smaller dtype (int8, int4), another device or a "
        "smaller model",
    ),
    (
        r"flash.?attn|flash.?attention|attn_implementation|attention implementation",
        "attention_missing",
        "this attention is not installed or does not fit the model; leave the option "
        "attn_implementation out, or set it to sdpa or eager",
    ),
    (
        r"not compiled with CUDA|no CUDA GPUs|invalid device ordinal|no NVIDIA driver",
        "no_device",
        "PyTorch finds no such device here; set the option device to cpu or auto",
    ),
    (
        r"incomplete metadata|file not fully covered|header.{0,20}(too large|invalid|deserializ)",
        "truncated_weights",
        "a file of weights is cut off; copy or download it again",
    ),
    (
        r"ignore_mismatched_sizes|size mismatch|shapes? mismatch|mismatched",
        "shape_mismatch",
        "the weights have other shapes than config.json says; they belong to another model",
    ),
    (
        r"Unrecognized (model|configuration)|does not recognize this architecture|model type",
        "unknown_architecture",
        "the installed transformers does not know this architecture; a newer release may",
    ),
    (
        r"no file named .*(safetensors|bin)",
        "missing_weights",
        "the folder holds no weights that may be read; convert them to safetensors",
    ),
)


def classify_load_error(error: BaseException, stage: LoadErrorKind, what: str) -> LoadError:
    """The LoadError that an exception of a library means; `stage` is its kind where no words tell,
    `what` begins the text."""
    if isinstance(error, LoadError):
        return error
    message = f"{type(error).__name__}: {error}"
    for words, kind, remedy in _CAUSES:
        if re.search(words, message, re.IGNORECASE | re.DOTALL):
            return LoadError(kind, f"{what}: {remedy} ({_shorten_message(message)})")
    return LoadError(stage, f"{what}: {_shorten_message(message)}")


def _shorten_message(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= 300 else f"{line[:299]}…"
