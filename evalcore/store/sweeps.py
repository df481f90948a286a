"""Sweeps: runs of variants of a model on the same cases, and the file that says which belong
together (`<data>/sweeps/<id>.json`)."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Record, TargetSpec, from_json, to_json
from evalcore.settings import Settings
from evalcore.store.run_folder import write_atomic

_FOLDER = "sweeps"
_ID = re.compile(r"[a-z0-9][a-z0-9_.-]{0,79}")


class Variant(Record, frozen=True):
    """One model of a sweep. `label` says what differs, `step` is the number of a checkpoint, None
    for other models, `run_id` is empty before it is planned."""

    label: str
    target: TargetSpec
    step: int | None = None
    run_id: str = ""


class Sweep(Record, frozen=True):
    """Variants in the order in which they were named: the first is what others are compared with,
    unless it is a checkpoint."""

    id: str
    created_at: str
    variants: tuple[Variant, ...]


def save_sweep(sweep: Sweep, settings: Settings) -> None:
    write_atomic(_find_path(sweep.id, settings), to_json(sweep))


def load_sweep(name: str, settings: Settings) -> Sweep:
    """Raises UsageError for a sweep that is none or cannot be read."""
    try:
        if not _ID.fullmatch(name):
            raise ValueError(name)
        return from_json(Sweep, _find_path(name, settings).read_bytes())
    except (OSError, ValueError, msgspec.MsgspecError):
        raise UsageError(Note("sweep_none", name=f"{name[:80]!r}")) from None


def find_run_sweep(run_id: str, settings: Settings) -> Sweep | None:
    """The newest sweep that a run belongs to."""
    for path in sorted((settings.data_dir / _FOLDER).glob("*.json"), reverse=True):
        try:
            sweep = load_sweep(path.stem, settings)
        except UsageError:
            continue
        if any(variant.run_id == run_id for variant in sweep.variants):
            return sweep
    return None


def _find_path(name: str, settings: Settings) -> Path:
    return settings.data_dir / _FOLDER / f"{name}.json"
