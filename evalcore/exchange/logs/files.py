"""Files of logs: bounded JSON, and which files of a folder there are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalcore.errors import DatasetError, FileError, IntakeError, UsageError
from evalcore.i18n import Note
from evalcore.intake.files import read_bytes
from evalcore.intake.json_text import parse_json

JSON_LIMIT = 512 << 20  # bytes of one file
FILES_LIMIT = 20_000
HEAD = 1 << 16  # bytes


def read_json_file(path: Path) -> Any:
    """What a file holds; a number that is not finite leaves its field out. Raises DatasetError."""
    try:
        return parse_json(read_bytes(path, JSON_LIMIT), drop=True)
    except IntakeError as error:
        raise DatasetError(path, None, "", str(error)) from None


def read_head(path: Path) -> bytes:
    """The first bytes of a file, by which formats are told apart."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except OSError as error:
        raise FileError(path, error) from None


def find_file(folder: Path, name: str) -> Path | None:
    """The file of a name that a log gives, in a folder; None where there is none, and for a name
    that is a path or too long."""
    if name in ("", ".", "..") or {"/", "\\", "\0"} & set(name):
        return None
    file = folder / name
    try:
        return file if file.is_file() else None
    except OSError:  # no file can have such a name
        return None


def iter_files(path: Path) -> Iterator[Path]:
    """The file itself, or the files below a folder, sorted; links are not followed. Raises
    UsageError where there is nothing, or too much."""
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        raise UsageError(Note("log_no_path", path=path))
    count = 0
    for file in sorted(path.rglob("*")):
        if file.is_symlink() or not file.is_file():
            continue
        count += 1
        if count > FILES_LIMIT:
            raise UsageError(Note("log_files", path=path, limit=FILES_LIMIT))
        yield file
