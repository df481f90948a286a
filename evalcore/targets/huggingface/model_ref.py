"""Where a model lies: a folder, or the local cache of the Hugging Face Hub."""

from __future__ import annotations

import os
import re
from pathlib import Path

from evalcore.errors import UsageError
from evalcore.records import Record
from evalcore.targets.huggingface.load_errors import LoadError
from evalcore.targets.huggingface.model_metadata import weight_files

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_YES = frozenset({"1", "on", "yes", "true"})
_MAX_MODELS = 1000


class ModelRef(Record, frozen=True):
    """What a key means. `path` is the folder, None where the model has yet to be downloaded;
    `revision` is the commit of a model from the Hub, else what was asked for."""

    reference: str
    path: Path | None
    cached: bool
    revision: str = ""


class CachedModel(Record, frozen=True):
    """A model that the local cache holds whole; `size` is in bytes."""

    reference: str
    path: Path
    revision: str
    size: int


def locate_model(key: str, revision: str = "", config: str = "config.json") -> ModelRef:
    """The place of a target key, with or without its `hf:`; touches no network.

    A folder wins over an id of the same form; `config` is the file that makes a cached one whole
    (an adapter has another). Raises LoadError where it is neither, UsageError for a revision
    of a folder.
    """
    reference = key.removeprefix("hf:").strip()
    folder = Path(reference).expanduser()
    if reference and folder.is_dir():
        if revision:
            raise UsageError(f"{reference} is a folder; the option revision is for ids of the Hub")
        return ModelRef(reference, folder.resolve(), cached=True)
    if folder.is_file():
        raise LoadError("path_missing", f"{reference} is a file; give the folder that holds it")
    if not _HUB_ID.fullmatch(reference) or ".." in reference:
        raise LoadError(
            "path_missing",
            f"no folder {reference!r}; give the folder of a model, the one that holds config.json, "
            "or an id of the Hugging Face Hub like Qwen/Qwen3-0.6B",
        )
    snapshot = find_cached_snapshot(reference, revision, config)
    if snapshot is None:
        return ModelRef(reference, None, cached=False, revision=revision)
    return ModelRef(reference, snapshot, cached=True, revision=snapshot.name)


def find_cached_snapshot(
    reference: str, revision: str = "", config: str = "config.json"
) -> Path | None:
    """The folder of a Hub id in the local cache, None unless `config` and weights are there."""
    repo = cache_folder() / f"models--{reference.replace('/', '--')}"
    commit = revision
    if not _COMMIT.fullmatch(revision):
        name = revision or "main"
        pointer = repo / "refs" / name
        if ".." in Path(name).parts or not pointer.is_file():
            return None
        commit = pointer.read_text(encoding="ascii", errors="replace").strip()
    folder = repo / "snapshots" / commit
    complete = (
        _COMMIT.fullmatch(commit) and (folder / config).is_file() and _list_weight_files(folder)
    )
    return folder if complete else None


def list_cached_models() -> list[CachedModel]:
    """The models of the local cache that can be evaluated without a download, by name."""
    models = []
    for repo in sorted(cache_folder().glob("models--*"))[:_MAX_MODELS]:
        reference = repo.name.removeprefix("models--").replace("--", "/", 1)
        folder = find_cached_snapshot(reference)
        if folder is not None:
            size = sum(weight.stat().st_size for weight in _list_weight_files(folder))
            models.append(CachedModel(reference, folder, folder.name, size))
    return models


def cache_folder() -> Path:
    """The folder of the Hub's cache, by the variables that its client reads."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if os.environ.get(name):
            return Path(os.environ[name]).expanduser()
    home = os.environ.get("HF_HOME") or (
        Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    )
    return Path(home).expanduser() / "hub"


def is_hub_offline() -> bool:
    """Whether the person asked that nothing be downloaded."""
    names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    return any(os.environ.get(name, "").lower() in _YES for name in names)


def _list_weight_files(folder: Path) -> list[Path]:
    """The files of weights, none where a part is absent (a cache then has a broken link)."""
    try:
        names = weight_files(folder) or tuple(file.name for file in folder.glob("*.bin"))
    except LoadError:
        return []
    adapter = folder / "adapter_model.safetensors"
    files = [folder / name for name in names] or [adapter]
    return files if all(file.is_file() for file in files) else []
