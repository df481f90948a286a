"""Why a model cannot be loaded: one kind per cause, each with a remedy in its text."""

from __future__ import annotations

from typing import Literal

from evalcore.errors import UsageError

LoadErrorKind = Literal[
    "path_missing",  # no such folder, file or model on the Hub
    "no_config",
    "unknown_architecture",
    "no_tokenizer",
    "empty_tokenizer",  # far fewer tokens than the model embeds
    "pickle_only",  # weights that can run code when they are read
    "missing_weights",  # layers would stay random
    "truncated_weights",
    "shape_mismatch",
    "remote_code",
    "no_memory",
    "no_device",
    "dtype_unsupported",
    "adapter_mismatch",
    "offline_missing",
    "attention_missing",
]


class LoadError(UsageError):
    """A model that cannot be loaded. `kind` is stable, for machines; the text is for people."""

    def __init__(self, kind: LoadErrorKind, text: str) -> None:
        self.kind = kind
        super().__init__(text)
