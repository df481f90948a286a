"""What a local model told of itself while a run loaded and asked it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from evalcore.errors import EvalboardError
from evalcore.privacy import is_path, mask_path, redact_paths
from evalcore.records import Record
from evalcore.store.run_folder import find_run


class ModelCard(Record, frozen=True):
    """Fields of `card.json`, 0 and empty where unknown: sizes in bytes, times in seconds.

    `memory_bytes` are the weights', `process_bytes` all that the process holds as last seen;
    `halved` tells how often the batches were made smaller for want of memory.
    """

    architecture: str = ""
    parameters: int = 0
    dtype: str = ""
    device: str = ""
    memory_bytes: int = 0
    load_seconds: float = 0.0
    context: int = 0
    template: bool = False
    tools: bool = False
    threads: int = 0
    revision: str = ""
    adapter: str = ""
    notes: tuple[str, ...] = ()
    tokens_per_second: float = 0.0
    tokens: int = 0
    process_bytes: int = 0
    batch: int = 0
    waiting: int = 0
    budget_tokens: int = 0
    halved: int = 0

    @property
    def is_loaded(self) -> bool:
        return self.parameters > 0


def model_card(roots: Iterable[Path], run: str) -> ModelCard | None:
    """The card of a run's local model, None before it is loaded, for other kinds of target, and
    where the file cannot be read."""
    try:
        card = msgspec.convert(find_run(run, roots).read_card(), ModelCard)
    except (EvalboardError, OSError, msgspec.MsgspecError):
        return None
    adapter = mask_path(card.adapter) if is_path(card.adapter) else card.adapter
    notes = tuple(map(redact_paths, card.notes))
    return msgspec.structs.replace(card, adapter=adapter, notes=notes) if card.is_loaded else None
