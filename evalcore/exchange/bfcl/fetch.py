"""Fetching the official BFCL data: v4 out of the wheel of `bfcl-eval`, v3 from the Hub's files.

Nothing of the wheel is installed, imported or run here: pip only downloads it, its hash is
compared, and the known files are read out of it: the data, and the sources of the simulated APIs,
which a locked process loads when a multi-turn entry needs them. The Hub's files are fetched one by
one, as its own notes demand. A folder appears as a whole or not at all.
"""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

import msgspec

from evalcore.benchmarks.bfcl.multi_turn.apis import (
    OFFICIAL_SOURCES,
    VARIABLE,
    fetched_folder,
    find_installation,
)
from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.exchange.bfcl import files
from evalcore.exchange.bfcl.hub import hub_files
from evalcore.exchange.bfcl.wheel import OFFICIAL, Release, downloaded, wheel_files
from evalcore.exchange.fetched import NOTE as NOTE
from evalcore.exchange.fetched import beside, check_whole, noted, settle
from evalcore.exchange.hub import Say
from evalcore.records import Record
from evalcore.settings import Settings

WHEEL, HUB = "wheel", "hub"
LICENCE = "Apache-2.0"


class Fetched(Record, frozen=True):
    """A folder of official data. `files` holds the sha256 of each by its path within the folder;
    `already` tells that it was there before and nothing was fetched."""

    source: str
    version: str
    origin: str
    licence: str
    files: dict[str, str]
    folder: str = ""
    already: bool = False


def default_folder(settings: Settings, source: str = WHEEL) -> Path:
    """Where the data of a source goes unless told otherwise: below the data folder."""
    folder = fetched_folder(settings)
    return folder.with_name("bfcl-v3") if source == HUB else folder


def fetch_bfcl(
    folder: Path,
    source: str | Path = WHEEL,
    progress: Say = print,
    release: Release = OFFICIAL,
) -> Fetched:
    """Fetch v4 (`wheel`), v3 (`hub`), or v4 from a wheel that somebody downloaded (a path).

    A complete folder of the same kind is left in place. Raises UsageError for a folder that holds
    anything else, without network, and for a wheel that is not the one whose hash is known.
    """
    version = "v3" if source == HUB else "v4"
    before = _present(folder, version)
    if before is not None:
        progress(f"{folder} is complete: {before.origin}, {before.licence}")
        return before
    with beside(folder) as place:
        if source == HUB:
            found, origin = hub_files(files.names(version), progress)
        else:
            path = downloaded(place, release, progress) if source == WHEEL else Path(source)
            found, origin = wheel_files(path, files.wheel_members(), release)
        ready = place / "data"
        hashes = {name: _write(ready / name, content) for name, content in found}
        kind = HUB if source == HUB else WHEEL
        told = settle(ready, folder, Fetched(kind, version, origin, LICENCE, hashes))
    progress(f"{folder}: {len(hashes)} files of {origin}, licence {LICENCE}")
    return told


def _present(folder: Path, version: str) -> Fetched | None:
    """What was fetched before, None for a folder that is not there or empty."""
    told = noted(folder, Fetched)
    if told is None:
        return None
    if told.version != version:
        raise UsageError(f"{folder} holds BFCL {told.version}; give another folder for {version}")
    check_whole(folder, files.names(version) if version == "v3" else files.wheel_members())
    return msgspec.structs.replace(told, folder=str(folder), already=True)


def _write(path: Path, content: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def as_text(told: Fetched) -> str:
    """What a person is told at the end."""
    state = "was complete already" if told.already else f"{len(told.files)} files"
    return "\n".join(
        [
            f"{told.folder}: {state}",
            f"BFCL {told.version} from {told.origin}, licence {told.licence}",
            f"now: {_prefix(told)}evalcore run --target TARGET --benchmarks bfcl --dataset "
            + shlex.quote(told.folder),
        ]
    )


def _prefix(told: Fetched) -> str:
    """What has to stand before the command so that it finds the official APIs."""
    if (Path(told.folder) / OFFICIAL_SOURCES[0]).is_file():
        return "" if _finds_apis() else f"{VARIABLE}={shlex.quote(told.folder)} "
    return "" if _finds_apis() else "evalcore datasets fetch bfcl && "  # for its multi-turn entries


def _finds_apis() -> bool:
    try:
        return find_installation() is not None
    except EnvironmentFailure:
        return False
