"""Fetching the official BFCL data: v4 out of the wheel of `bfcl-eval`, v3 from the Hub's files.

Nothing of the wheel is installed, imported or run: pip only downloads it, its hash is compared, and
the known data files are read out of it. The Hub's files are fetched one by one, as its own notes
demand. A folder appears as a whole or not at all.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from evalcore.errors import UsageError
from evalcore.exchange.bfcl import files
from evalcore.exchange.bfcl.hub import hub_files
from evalcore.exchange.bfcl.wheel import OFFICIAL, Release, downloaded, wheel_files
from evalcore.records import Record, from_json, to_json
from evalcore.settings import Settings

WHEEL, HUB = "wheel", "hub"
LICENCE = "Apache-2.0"
#: In a fetched folder: what is in it and where it is from. Its presence says that it is complete.
NOTE = "source.json"

Say = Callable[[str], None]


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
    return settings.data_dir / "datasets" / ("bfcl-v3" if source == HUB else "bfcl")


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
    with _beside(folder) as place:
        if source == HUB:
            found, origin = hub_files(files.names(version), progress)
        else:
            path = downloaded(place, release, progress) if source == WHEEL else Path(source)
            found, origin = wheel_files(path, files.names(version), release)
        ready = place / "data"
        hashes = {name: _write(ready / name, content) for name, content in found}
        kind = HUB if source == HUB else WHEEL
        told = Fetched(kind, version, origin, LICENCE, hashes)
        (ready / NOTE).write_bytes(to_json(told))
        _move(ready, folder)
    progress(f"{folder}: {len(hashes)} files of {origin}, licence {LICENCE}")
    return msgspec.structs.replace(told, folder=str(folder))


def _present(folder: Path, version: str) -> Fetched | None:
    """What was fetched before, None for a folder that is not there or empty."""
    if not folder.is_dir() or not any(folder.iterdir()):
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder} is no folder; give another one")
        return None
    try:
        told = from_json(Fetched, (folder / NOTE).read_bytes())
    except (OSError, msgspec.MsgspecError):
        raise UsageError(f"{folder} holds something else; give another folder") from None
    if told.version != version:
        raise UsageError(f"{folder} holds BFCL {told.version}; give another folder for {version}")
    missing = [name for name in files.names(version) if not (folder / name).is_file()]
    if missing:
        raise UsageError(f"{folder} lacks {missing[0]}; remove the folder and fetch it again")
    return msgspec.structs.replace(told, folder=str(folder), already=True)


@contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """A place next to the folder, so that what is ready can be moved; gone afterwards."""
    place = folder.absolute().parent / f".{folder.name}.{secrets.token_hex(6)}"
    try:
        place.mkdir(parents=True)
        yield place
    except OSError as error:
        raise UsageError(f"{error.filename or folder}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _write(path: Path, content: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def _move(ready: Path, folder: Path) -> None:
    try:
        os.rename(ready, folder)  # noqa: PTH104  (takes the place of an empty folder, too)
    except OSError:
        raise UsageError(f"{folder} was made meanwhile; nothing was written into it") from None


def as_text(told: Fetched) -> str:
    """What a person is told at the end."""
    state = "was complete already" if told.already else f"{len(told.files)} files"
    return "\n".join(
        [
            f"{told.folder}: {state}",
            f"BFCL {told.version} from {told.origin}, licence {told.licence}",
            "now: evalcore run --target TARGET --benchmarks bfcl --dataset "
            + shlex.quote(told.folder),
        ]
    )
