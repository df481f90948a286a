"""Append-only journals: one record a line, flushed per record, readable while being written.

A process that is killed can leave one torn line at the end; `repair_journal` cuts it off before a
writer goes on, and readers stop before it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from evalcore.errors import RunFolderError
from evalcore.records import Record, from_json, to_json

R = TypeVar("R", bound=Record)
#: The journal of the cases that a run declared: written once, and no line of it can be made again.
SAMPLES = "samples.jsonl"
LONGEST = 256 << 20  # bytes of a line


class Journal(AbstractContextManager["Journal"]):
    """A writer of one file by one process; `append` returns once the line is with the system."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        repair_journal(path)
        self.path = path
        self._file: BinaryIO = path.open("ab", buffering=0)

    def append(self, record: Record) -> None:
        """Add one line as a whole; raises OSError (a full disk) with nothing of it left behind."""
        start = self._file.seek(0, os.SEEK_END)
        rest = memoryview(to_json(record) + b"\n")
        try:
            while rest:  # an unbuffered write may take only a part
                rest = rest[self._file.write(rest) :]
        except OSError:
            self._file.truncate(start)
            raise

    def close(self) -> None:
        self._file.close()

    def __exit__(self, *error: object) -> None:
        self.close()


def repair_journal(path: Path) -> int:
    """Cut a torn last line off; returns the number of bytes removed."""
    if not path.exists():
        return 0
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        keep = _end_of_last_line(file, size)
        file.truncate(keep)
    return size - keep


def _end_of_last_line(file: BinaryIO, size: int) -> int:
    position = size
    while position > 0:
        start = max(0, position - 65536)
        file.seek(start)
        newline = file.read(position - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        position = start
    return 0


def read_journal(path: Path, kind: type[R], containing: bytes = b"") -> Iterator[R]:
    """The records of one journal; a torn last line is left out.

    Raises RunFolderError for any other bad line and for a file that cannot be read.

    Lines without the bytes `containing` are passed over undecoded.
    """
    for number, line in read_journal_lines(path):
        if containing not in line:
            continue
        try:
            record = from_json(kind, line)
        except (msgspec.MsgspecError, ValueError) as error:
            raise RunFolderError(
                f"{path}, line {number}: {error}; {_describe_remedy(path)}"
            ) from None
        yield record


def read_journal_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The whole lines of a journal with their numbers, from 1; nothing without a file. Raises
    RunFolderError for a file that cannot be read, is none, or has a line without an end."""
    try:
        if not os.path.lexists(path):
            return
        if not stat.S_ISREG(path.stat().st_mode):
            raise RunFolderError(f"{path}: is not a plain file")
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LONGEST):
                number += 1
                if not line.endswith(b"\n"):
                    if len(line) == LONGEST:
                        raise RunFolderError(
                            f"{path}, line {number}: longer than {LONGEST:,} bytes; "
                            f"{_describe_remedy(path)}"
                        )
                    return
                yield number, line
    except OSError as error:
        raise RunFolderError(f"{path}: {error.strerror or error}") from None


def _describe_remedy(path: Path) -> str:
    if path.name == SAMPLES:
        return "it holds the cases of the run: restore the file, or delete the run"
    return "`evalcore index rebuild --repair` sets the line aside, and the run can be resumed"


def read_journals(folder: Path, kind: type[R], containing: bytes = b"") -> Iterator[R]:
    """The records of every journal in a folder, file by file in the order of their names."""
    for path in sorted(folder.glob("*.jsonl")):
        yield from read_journal(path, kind, containing)
