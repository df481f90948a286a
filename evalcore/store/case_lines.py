"""What an index of cases reads of the lines of journals: names and outcomes, and where they lie."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalcore.errors import RunFolderError
from evalcore.records import Record
from evalcore.store.journal import PACKED, locate_journal

if TYPE_CHECKING:
    import numpy as np

NOWHERE = -1
OFFSET_BITS = 48
_TAIL = 4096  # bytes before the end of what was read, by which a journal is recognized
#: The journal of the worker of a run, in each folder of journals.
OWN_JOURNAL = "main.jsonl"


class SampleNames(Record, frozen=True):
    metric: str
    id: str


class SampleLine(Record, frozen=True):
    benchmark: str
    sample: SampleNames


class FailureKind(Record, frozen=True):
    kind: str = ""


class EpisodeKey(Record, frozen=True):
    key: str
    epoch: int
    failure: FailureKind | None = None


class EpisodeLine(Record, frozen=True):
    benchmark: str
    episode: EpisodeKey


class Generation(Record, frozen=True):
    generation: Any = None


class VerdictKey(Record, frozen=True):
    metric: str
    id: str
    outcome: str
    epoch: int = 0
    details: Generation = Generation()


class VerdictLine(Record, frozen=True):
    benchmark: str
    verdict: VerdictKey


class JournalSource(Record, frozen=True):
    """How far a journal was read, and by what it is recognized."""

    name: str
    inode: int
    end: int
    check: int


class IndexHeader(Record, frozen=True):
    version: int
    scoring: str
    epochs: int
    cases: int
    ranges: tuple[tuple[str, int, int], ...]
    samples: JournalSource
    episodes: tuple[JournalSource, ...] = ()
    verdicts: tuple[JournalSource, ...] = ()
    same_keys: tuple[int, ...] = ()
    mark: str = ""


class Location(NamedTuple):
    """A line: the number of its journal in the folder, where it begins, and what is remembered of
    it: of an episode, that it ended in a failure; of a verdict, that it decided."""

    file: int
    offset: int
    flag: bool

    def pack(self) -> int:
        return (self.file << OFFSET_BITS | self.offset) << 1 | self.flag

    @classmethod
    def unpack(cls, packed: int) -> Location:
        position = packed >> 1
        return cls(position >> OFFSET_BITS, position & (1 << OFFSET_BITS) - 1, bool(packed & 1))


def hash_case_key(benchmark: str, key: str) -> int:
    """A number of 63 bits that stands for `Sample.key` of a benchmark."""
    text = f"{benchmark}\x1f{key}".encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1


def is_decided(outcome: str) -> bool:
    """Whether a verdict stands, so that nothing is scored again."""
    return outcome in ("passed", "failed")


class LineEntry(NamedTuple):
    """A line to be entered: the hash of its key, its epoch, its packed location; of a verdict also
    its metric, for those of one key, and the hash of the episode that it names, if it does."""

    key: int
    epoch: int
    location: int
    metric: str = ""
    generation: int = 0


def measure_journal(path: Path) -> int:
    """The bytes of a journal, packed or not; 0 without a file."""
    try:
        return locate_journal(path).stat().st_size
    except OSError:
        return 0


def describe_source(path: Path, end: int) -> JournalSource:
    """A journal of which all before byte `end` was read; raises RunFolderError."""
    actual = locate_journal(path)
    try:
        inode = actual.stat().st_ino
        return JournalSource(path.name, inode, end, _check_end(actual, end))
    except FileNotFoundError:
        return JournalSource(path.name, 0, 0, 0)
    except OSError as error:
        raise RunFolderError.locate(actual, error) from None


def _check_end(path: Path, end: int) -> int:
    """What tells the bytes before `end` from others; 0 for a packed journal."""
    if path.suffix == PACKED:
        return 0
    with path.open("rb", buffering=0) as file:
        start = max(0, end - _TAIL)
        return zlib.crc32(os.pread(file.fileno(), end - start, start))


def fits_source(source: JournalSource, path: Path) -> bool:
    """Whether a journal is the one that was read, with perhaps more at its end."""
    try:
        status = path.stat()
        return (
            (path.name, status.st_ino) == (source.name, source.inode)
            and status.st_size >= source.end
            and _check_end(path, source.end) == source.check
        )
    except OSError:
        return False


def find_repeated(blocks: Sequence[np.ndarray]) -> frozenset[int]:
    """The numbers that occur more than once in all blocks together."""
    import numpy as np

    numbers = np.sort(np.concatenate(blocks))
    return frozenset(numbers[1:][numbers[1:] == numbers[:-1]].tolist())
