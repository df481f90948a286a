"""Append-only journals: one record a line, flushed per record, readable while being written.

A process that is killed can leave one torn line at the end; `repair_journal` cuts it off before a
writer goes on, and readers stop before it. Each line ends in a link of the journal's chain
(`store.chain`).

A journal that nobody writes any more may be packed: `NAME.gz` is read wherever `NAME` is absent.
"""

from __future__ import annotations

import fcntl
import gzip
import os
import re
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from io import BufferedIOBase
from pathlib import Path
from typing import IO, BinaryIO, TypeVar

import msgspec

from evalcore.errors import RunFolderError
from evalcore.i18n import Note
from evalcore.records import Record, from_json, to_json
from evalcore.store.chain import START, find_last_link, link_line

R = TypeVar("R", bound=Record)
#: The journal of the cases that a run declared: written once, and no line of it can be made again.
SAMPLES = "samples.jsonl"
LONGEST = 256 << 20  # bytes of a line
UNPACKED, UNPACKED_RATIO = 1 << 28, 300  # bytes of a packed journal: always, and per packed byte
_USUAL = 4096  # bytes of a line that are read at first
PACKED = ".gz"
_NUMBERED = re.compile(r"w(\d{4,})-\d{4,}\.jsonl")


class Journal(AbstractContextManager["Journal"]):
    """A writer of one file by one process; `append` returns once the line is with the system."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        repair_journal(path)
        self.path = path
        self._link = find_last_link(path) if path.exists() else START
        self._file: BinaryIO = path.open("ab", buffering=0)
        self._end = self._file.seek(0, os.SEEK_END)

    def append(self, record: Record) -> int:
        """Add one line as a whole and return where it begins; raises OSError (a full disk) with
        nothing of it left behind."""
        start = self._end
        line, link = link_line(to_json(record), self._link)
        try:
            write_whole(self._file, line)
        except OSError:
            self._file.truncate(start)
            raise
        self._link, self._end = link, start + len(line)
        return start

    def close(self) -> None:
        self._file.close()

    def __exit__(self, *error: object) -> None:
        self.close()


def write_whole(file: IO[bytes], content: bytes | bytearray) -> None:
    """Write all of it into an unbuffered file, which may take only a part at once. Raises OSError
    on a full disk, where a part of it may have been written."""
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]


def repair_journal(path: Path) -> int:
    """Cut a torn last line off; returns the number of bytes removed."""
    if not path.exists():
        return 0
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        keep = _end_of_last_line(file, size)
        if keep < size:  # else the file keeps its time
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
    for number, line in read_journal_lines(path, containing=containing):
        try:
            record = from_json(kind, line)
        except (msgspec.MsgspecError, ValueError) as error:
            raise _refuse_line(path, number, error) from None
        yield record


def scan_journal(path: Path, kind: type[R], start: int = 0) -> Iterator[tuple[int, int, R]]:
    """Where each line from byte `start` on begins and ends, and its record; else `read_journal`."""
    position = start
    for number, line in read_journal_lines(path, start):
        try:
            record = from_json(kind, line)
        except (msgspec.MsgspecError, ValueError) as error:
            number += sum(1 for _, before in _lines_until(path, start)) if start else 0
            raise _refuse_line(path, number, error) from None
        yield position, position + len(line), record
        position += len(line)


def _lines_until(path: Path, end: int) -> Iterator[tuple[int, bytes]]:
    position = 0
    for number, line in read_journal_lines(path):
        if position >= end:
            return
        yield number, line
        position += len(line)


def read_journal_lines(
    path: Path, start: int = 0, containing: bytes = b""
) -> Iterator[tuple[int, bytes]]:
    """The whole lines of a journal from byte `start` on that have the bytes `containing`, with
    their numbers, from 1; nothing without a file. Raises RunFolderError for a file that cannot be
    read, is none, or has a line without an end."""
    path = locate_journal(path)
    try:
        if not os.path.lexists(path):
            return
        if not stat.S_ISREG(path.stat().st_mode):
            raise RunFolderError(Note("no_plain_file", path=path))
        with gzip.open(path, "rb") if path.suffix == PACKED else path.open("rb") as file:
            file.seek(start)
            every_line = enumerate(iter(lambda: file.readline(LONGEST), b""), 1)
            for number, line in _find_lines(file, containing) if containing else every_line:
                if not line.endswith(b"\n"):
                    if len(line) >= LONGEST:
                        raise _refuse_line(path, number, Note("line_long", most=f"{LONGEST:,}"))
                    return
                yield number, line
    except (OSError, EOFError, zlib.error) as error:
        raise RunFolderError.locate(path, error) from None


def _find_lines(file: BufferedIOBase, containing: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines with these bytes, and one without an end; the rest passes a megabyte at a time."""
    number = 0
    while block := file.read(1 << 20):
        block += file.readline(LONGEST)
        if containing in block or not block.endswith(b"\n"):
            *whole, (last, torn) = enumerate(block.split(b"\n"), number + 1)
            yield from ((n, line + b"\n") for n, line in whole if containing in line)
            if torn:
                yield last, torn
        number += block.count(b"\n")


class JournalReader(AbstractContextManager["JournalReader"]):
    """Single lines of one journal, by where they begin; a packed one is unpacked for as long into a
    file that has no name. Raises RunFolderError for a file that cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = locate_journal(path)
        try:
            self._file: IO[bytes] = self.path.open("rb", buffering=0)
            if self.path.suffix == PACKED:
                with self._file as packed, gzip.open(packed, "rb") as lines:
                    self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the reader
                    _unpack_bounded(self.path, lines, self._file)
        except (OSError, EOFError, zlib.error) as error:
            raise RunFolderError.locate(path, error) from None

    def read_line(self, start: int) -> bytes:
        """The line that begins at byte `start`; raises RunFolderError where none ends."""
        size = _USUAL
        while True:
            line = os.pread(self._file.fileno(), size, start)
            if end := line.find(b"\n") + 1:
                return line[:end]
            if len(line) < size or size >= LONGEST:
                break
            size = min(8 * size, LONGEST)
        raise RunFolderError(Note("journal_no_line", path=self.path, position=start))

    def close(self) -> None:
        self._file.close()

    def __exit__(self, *error: object) -> None:
        self.close()


def _unpack_bounded(path: Path, lines: gzip.GzipFile, file: IO[bytes]) -> None:
    """Unpack a journal. Raises RunFolderError for one that grows without end: no journal that was
    written here is packed as well as that."""
    left = max(UNPACKED, UNPACKED_RATIO * path.stat().st_size)
    while piece := lines.read(1 << 20):
        left -= len(piece)
        if left < 0:
            file.close()
            raise RunFolderError(Note("journal_endless", path=path, remedy=_describe_remedy(path)))
        file.write(piece)
    file.flush()


def _refuse_line(path: Path, line: int, problem: object) -> RunFolderError:
    remedy = _describe_remedy(path)
    return RunFolderError(
        Note("journal_line", path=path, line=line, problem=problem, remedy=remedy)
    )


def _describe_remedy(path: Path) -> str:
    if path.suffix == PACKED:
        return Note("journal_packed")
    if path.name == SAMPLES:
        return Note("journal_samples")
    return Note("journal_repair")


def read_journals(folder: Path, kind: type[R], containing: bytes = b"") -> Iterator[R]:
    """The records of every journal in a folder, file by file in the order of their names."""
    for path in list_journals(folder):
        yield from read_journal(path, kind, containing)


def list_journals(folder: Path) -> list[Path]:
    """The journals in a folder by name, packed ones too; none without a folder. Raises OSError.

    Faster than a glob, since a board asks a thousand runs.
    """
    try:
        with os.scandir(folder) as entries:
            names = {entry.name for entry in entries}
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [
        folder / name
        for name in sorted(names)
        if name.removesuffix(PACKED).endswith(".jsonl")
        and not (name.endswith(PACKED) and name.removesuffix(PACKED) in names)
    ]


def name_next_journal(run: Path, *, numbered: bool = False) -> str:
    """The name under which the next attempt at a run writes its journals.

    Readers take journals by name, and the last line about a sample counts: what is written later
    has a name that sorts later. `main.jsonl` is written by attempts on one machine, until one on
    several has written `w0001-0002.jsonl` (attempt 1, worker 2); 0 is the worker that leads.
    """
    attempts = [
        int(match[1])
        for pattern in ("calls/w*", "generations/w*", "verdicts/*/w*")
        for path in run.glob(pattern)
        if (match := _NUMBERED.match(path.name))
    ]
    if not attempts and not numbered:
        return "main.jsonl"
    return f"w{max(attempts, default=0) + 1:04d}-0000.jsonl"


def name_worker_journal(leading: str, worker: int) -> str:
    """The name for a worker of the attempt whose leader writes the journal `leading`."""
    return f"{leading.partition('-')[0]}-{worker:04d}.jsonl"


def locate_journal(path: Path) -> Path:
    """The journal itself, or its packed form where that alone is there."""
    packed = path.with_name(path.name + PACKED)
    return packed if not os.path.lexists(path) and os.path.lexists(packed) else path


def pack_journal(path: Path) -> None:
    """Replace a journal by its packed form, the same bytes at every time; raises OSError."""
    packed = path.with_name(path.name + PACKED)
    with path.open("rb") as plain, packed.open("xb") as file:
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as writer:
            shutil.copyfileobj(plain, writer)
        os.fsync(file.fileno())
    path.unlink()


def is_locked(lock: Path) -> bool:
    """Whether a process holds the lock: the kernel frees it however the process ends. Asked with a
    shared lock, so that two who ask at once do not take each other for the holder."""
    try:
        handle = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # nobody ever, or a folder that only its owner may write
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
