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
from evalcore.exchange.bfcl.hub import download_bfcl_files
from evalcore.exchange.bfcl.wheel import (
    OFFICIAL_RELEASE,
    BfclRelease,
    download_wheel,
    read_wheel_files,
)
from evalcore.exchange.fetched import (
    check_files_present,
    install_folder,
    open_scratch_folder,
    read_fetch_note,
)
from evalcore.exchange.hub import ProgressCallback
from evalcore.records import Record
from evalcore.settings import Settings

WHEEL, HUB = "wheel", "hub"
LICENCE = "Apache-2.0"


class FetchedBfcl(Record, frozen=True):
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
    progress: ProgressCallback = print,
    release: BfclRelease = OFFICIAL_RELEASE,
) -> FetchedBfcl:
    """Fetch v4 (`wheel`), v3 (`hub`), or v4 from a wheel that somebody downloaded (a path).

    A complete folder of the same kind is left in place. Raises UsageError for a folder that holds
    anything else, without network, and for a wheel that is not the one whose hash is known.
    """
    version = "v3" if source == HUB else "v4"
    existing = _find_fetched_bfcl(folder, version)
    if existing is not None:
        progress(f"{folder} is complete: {existing.origin}, {existing.licence}")
        return existing
    with open_scratch_folder(folder) as scratch:
        if source == HUB:
            contents, origin = download_bfcl_files(files.list_official_files(version), progress)
        else:
            path = download_wheel(scratch, release, progress) if source == WHEEL else Path(source)
            contents, origin = read_wheel_files(path, files.wheel_members(), release)
        ready = scratch / "data"
        hashes = {name: _write_data_file(ready / name, content) for name, content in contents}
        kind = HUB if source == HUB else WHEEL
        fetched = install_folder(ready, folder, FetchedBfcl(kind, version, origin, LICENCE, hashes))
    progress(f"{folder}: {len(hashes)} files of {origin}, licence {LICENCE}")
    return fetched


def _find_fetched_bfcl(folder: Path, version: str) -> FetchedBfcl | None:
    """What was fetched before, None for a folder that is not there or empty."""
    fetched = read_fetch_note(folder, FetchedBfcl)
    if fetched is None:
        return None
    if fetched.version != version:
        raise UsageError(
            f"{folder} holds BFCL {fetched.version}; give another folder for {version}"
        )
    check_files_present(
        folder, files.list_official_files(version) if version == "v3" else files.wheel_members()
    )
    return msgspec.structs.replace(fetched, folder=str(folder), already=True)


def _write_data_file(path: Path, content: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def format_bfcl_fetch(fetched: FetchedBfcl) -> str:
    """What a person is told at the end."""
    state = "was complete already" if fetched.already else f"{len(fetched.files)} files"
    return "\n".join(
        [
            f"{fetched.folder}: {state}",
            f"BFCL {fetched.version} from {fetched.origin}, licence {fetched.licence}",
            f"now: {_build_command_prefix(fetched)}evalcore run --target TARGET --benchmarks "
            "bfcl --dataset " + shlex.quote(fetched.folder),
        ]
    )


def _build_command_prefix(fetched: FetchedBfcl) -> str:
    """What has to stand before the command so that it finds the official APIs."""
    if (Path(fetched.folder) / OFFICIAL_SOURCES[0]).is_file():
        return "" if _finds_apis() else f"{VARIABLE}={shlex.quote(fetched.folder)} "
    return "" if _finds_apis() else "evalcore datasets fetch bfcl && "  # for its multi-turn entries


def _finds_apis() -> bool:
    try:
        return find_installation() is not None
    except EnvironmentFailure:
        return False
