"""A folder of fetched data: it appears as a whole or not at all, and says what is in it."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from evalcore.errors import UsageError
from evalcore.records import R, Record, from_json, to_json

#: What is in the folder and where it is from. Its presence says that the folder is complete.
NOTE_FILE = "source.json"


class FetchedDataset(Record, frozen=True):
    """What was fetched: a part (a split) of a data set at a commit, and the sha256 of each file by
    its path within the folder. `already` tells that it was there before."""

    dataset: str
    part: str
    commit: str
    licence: str
    files: dict[str, str]
    folder: str = ""
    already: bool = False

    @property
    def origin(self) -> str:
        return f"the Hub data set {self.dataset} at {self.commit[:12]}"


def find_fetched_dataset(folder: Path, dataset: str, part: str) -> FetchedDataset | None:
    """What was fetched before, None for a folder that is not there or empty.

    Raises UsageError for a folder that holds anything else or lacks a file.
    """
    fetched = read_fetch_note(folder, FetchedDataset)
    if fetched is None:
        return None
    if (fetched.dataset, fetched.part) != (dataset, part):
        held = f"{fetched.part} of {fetched.dataset}"
        raise UsageError(f"{folder} holds {held}; give another folder for {part} of {dataset}")
    check_files_present(folder, fetched.files)
    return msgspec.structs.replace(fetched, folder=str(folder), already=True)


def read_fetch_note(folder: Path, kind: type[R]) -> R | None:
    """The note of a folder, None for one that is not there or empty.

    Raises UsageError for a folder that holds something else.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is no folder; give another one")
    if not folder.is_dir() or not any(folder.iterdir()):
        return None
    try:
        return from_json(kind, (folder / NOTE_FILE).read_bytes())
    except (OSError, msgspec.MsgspecError):
        raise UsageError(f"{folder} holds something else; give another folder") from None


def check_files_present(folder: Path, names: Iterable[str]) -> None:
    """Raises UsageError for a folder that lacks a file."""
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise UsageError(f"{folder} lacks {missing[0]}; remove the folder and fetch it again")


@contextmanager
def open_scratch_folder(folder: Path) -> Iterator[Path]:
    """A place next to the folder, so that what is ready can be moved; gone afterwards.

    Raises UsageError for what the disk refuses.
    """
    scratch = folder.absolute().parent / f".{folder.name}.{secrets.token_hex(6)}"
    try:
        scratch.mkdir(parents=True)
        yield scratch
    except OSError as error:
        raise UsageError(f"{error.filename or folder}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def install_folder(ready: Path, folder: Path, note: R) -> R:
    """Put what is ready in its place, with its note; returns the note with the `folder`."""
    (ready / NOTE_FILE).write_bytes(to_json(note))
    try:
        os.rename(ready, folder)  # noqa: PTH104  (takes the place of an empty folder, too)
    except OSError:
        raise UsageError(f"{folder} was made meanwhile; nothing was written into it") from None
    return msgspec.structs.replace(note, folder=str(folder))
