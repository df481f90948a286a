"""Where the records of each case lie in the journals of a run: a few numbers a case, on the disk.

A run may declare a million cases, whose records fit into no memory. A worker, a page and a table of
cases ask the index where a line begins and read that line alone. It is a cache: what the journals
gained since is added by reading their ends, and an index that does not fit them is made anew. numpy
is imported only by what needs it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

import msgspec

from evalcore.errors import RunFolderError
from evalcore.records import Record, from_json, to_json
from evalcore.store.case_lines import (
    NOWHERE,
    OFFSET_BITS,
    OWN_JOURNAL,
    EpisodeLine,
    IndexHeader,
    JournalSource,
    LineEntry,
    Location,
    SampleLine,
    VerdictLine,
    describe_source,
    find_repeated,
    fits_source,
    hash_case_key,
    is_decided,
    measure_journal,
)
from evalcore.store.journal import (
    PACKED,
    SAMPLES,
    JournalReader,
    list_journals,
    locate_journal,
    scan_journal,
    write_whole,
)
from evalcore.store.run_folder import RunFolder, StoredSample

if TYPE_CHECKING:
    import numpy as np

R = TypeVar("R", bound=Record)
#: From so many declared cases on, the index of a run is kept in its folder.
LARGE = 4096
_VERSION = 1
_HEADER = 1 << 16  # bytes before the first case
_BLOCK = 4096  # cases that are read at a time
_BATCH = 1 << 14  # lines of a journal that are entered at a time


def locate_index(folder: RunFolder, scoring: str) -> Path:
    """Where the index of a large run lies."""
    return folder.path / f"cases.{scoring or 'none'}.index"


class CaseIndex(AbstractContextManager["CaseIndex"]):
    """A row per declared case: where its sample begins, the hash of its key, and for each epoch
    the packed locations of its last episode and of its last verdict under one scoring."""

    def __init__(self, folder: RunFolder, scoring: str, epochs: int) -> None:
        self.folder, self.scoring, self.epochs = folder, scoring, epochs
        self.cases = 0
        self.ranges: list[tuple[str, int, int]] = []
        self.width = 2 + 2 * epochs
        self._rows: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - see `close`
        self._base = 0
        self.same_keys: frozenset[int] = frozenset()  # hashes of keys that several cases have
        self._samples: JournalSource | None = None
        #: The journal of the worker that sets what it has added.
        self.own_journal = OWN_JOURNAL
        #: Of the result that was made of exactly these lines, if one was.
        self.mark = ""
        self._sources: dict[str, list[JournalSource]] = {"generations": [], "verdicts": []}
        self._readers: dict[tuple[str, int], JournalReader] = {}
        #: Episodes whose key is that of no case, and the cases whose verdict names another's.
        self._shared: dict[tuple[int, int], int] = {}
        self._named: dict[tuple[int, int], int] = {}
        self._shared_groups = False

    @classmethod
    def load(cls, folder: RunFolder, scoring: str, epochs: int) -> CaseIndex:
        """The index as of now, from the file of the folder where there is one that fits. Nobody
        else sees what is set in it. Raises RunFolderError for a broken journal."""
        with ExitStack() as on_error:
            index = on_error.enter_context(cls(folder, scoring, epochs))
            if not index._read_file():
                index.close()
                index = on_error.enter_context(cls(folder, scoring, epochs))
                index._add_samples()
            index._add_journals()
            on_error.pop_all()
        return index

    # Rows

    def read_rows(
        self, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[int, np.ndarray]]:
        """The rows of the cases from `start` to `stop`, some at a time, each with its first."""
        import numpy as np

        last = self.cases if stop is None else min(stop, self.cases)
        for first in range(start, last, _BLOCK):
            count = min(_BLOCK, last - first)
            content = self.read_bytes(first, first + count)
            yield first, np.frombuffer(content, dtype="<i8").reshape(count, self.width)

    def iterate_rows(self, start: int = 0, stop: int | None = None) -> Iterator[list[int]]:
        """Those rows one at a time, without numpy: a small run ends before that is imported."""
        last = self.cases if stop is None else min(stop, self.cases)
        for first in range(start, last, _BLOCK):
            content = self.read_bytes(first, min(first + _BLOCK, last))
            cells = memoryview(content).cast("q").tolist()
            for cell in range(0, len(cells), self.width):
                yield cells[cell : cell + self.width]

    def read_bytes(self, start: int, stop: int) -> bytes:
        """What decides the cases from `start` to `stop`, as bytes."""
        size, offset = (stop - start) * self.width * 8, self._base + start * self.width * 8
        return os.pread(self._rows.fileno(), size, offset)

    def read_row(self, position: int) -> tuple[int, ...]:
        """The row of one case."""
        content = self.read_bytes(position, position + 1)
        return tuple(memoryview(content).cast("q"))

    def find_case(self, benchmark: str, metric: str, id: str) -> int | None:
        """The position of a case, None where the run declares no such case."""
        key = hash_case_key(benchmark, f"{metric}/{id}")
        for first, rows in self.read_rows():
            for row in (rows[:, 1] == key).nonzero()[0].tolist():
                stored = self.read_sample(first + row)
                named = (stored.benchmark, stored.sample.metric, stored.sample.id)
                if named == (benchmark, metric, id):
                    return int(first + row)
        return None

    def set_episode(self, position: int, epoch: int, offset: int, *, failed: bool) -> None:
        """Remember a line that the worker has just added to its journal."""
        location = Location(self._own_file("generations"), offset, failed)
        self._write_cell(position, 2 + 2 * epoch, location.pack())

    def set_verdict(self, position: int, epoch: int, offset: int, *, decided: bool) -> None:
        location = Location(self._own_file("verdicts"), offset, decided)
        self._write_cell(position, 3 + 2 * epoch, location.pack())

    def _write_cell(self, position: int, column: int, value: int) -> None:
        self._write(position * self.width + column, value.to_bytes(8, "little", signed=True))

    def _write(self, cell: int, content: bytes) -> None:
        """Replace the cells from one on; raises OSError."""
        if not self._rows.writable():  # the file of the folder, which others read
            self._copy_rows()
        os.pwrite(self._rows.fileno(), content, self._base + cell * 8)

    # Lines

    def read_sample(self, position: int) -> StoredSample:
        return self.read_sample_at(self.read_row(position)[0], StoredSample)

    def read_sample_at(self, offset: int, kind: type[R]) -> R:
        return self._read_line(SAMPLES, 0, offset, kind)

    def read_episode(self, packed: int, kind: type[R]) -> R:
        """The record of a line of the generations, decoded as `kind`."""
        location = Location.unpack(packed)
        return self._read_line("generations", location.file, location.offset, kind)

    def read_verdict(self, packed: int, kind: type[R]) -> R:
        location = Location.unpack(packed)
        return self._read_line("verdicts", location.file, location.offset, kind)

    def _read_line(self, part: str, file: int, offset: int, kind: type[R]) -> R:
        reader = self._readers.get((part, file))
        if reader is None:
            path = self.folder.path / part
            if part != SAMPLES:
                path = self._part_folder(part) / self._sources[part][file].name
            reader = self._readers[part, file] = JournalReader(path)
        try:
            return from_json(kind, reader.read_line(offset))
        except (msgspec.MsgspecError, ValueError) as error:
            raise RunFolderError(f"{reader.path}, byte {offset}: {error}") from None

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()
        self._rows.close()

    def __exit__(self, *error: object) -> None:
        self.close()

    # From journals to rows

    @property
    def is_kept(self) -> bool:
        """Whether the index lies in the folder: that of a small run is read as quickly."""
        sources = [source.name for part in self._sources.values() for source in part]
        return (
            self.cases >= LARGE
            and not (self._shared or self._named or self._shared_groups)
            and not any(name.endswith(PACKED) for name in sources)
            and locate_journal(self.folder.path / SAMPLES).suffix != PACKED
            and len(to_json(self._describe())) < _HEADER
        )

    def _part_folder(self, part: str) -> Path:
        if part == "verdicts":
            return self.folder.verdicts_dir(self.scoring)
        return self.folder.path / part

    def _add_samples(self) -> None:
        """A row per line of samples.jsonl."""
        path, rows, end = self.folder.path / SAMPLES, bytearray(), 0
        tail = NOWHERE.to_bytes(8, "little", signed=True) * (2 * self.epochs)
        for start, line_end, line in scan_journal(path, SampleLine):
            end = line_end
            key = hash_case_key(line.benchmark, f"{line.sample.metric}/{line.sample.id}")
            rows += start.to_bytes(8, "little") + key.to_bytes(8, "little") + tail
            if not self.ranges or self.ranges[-1][0] != line.benchmark:
                self.ranges.append((line.benchmark, self.cases, self.cases))
            self.cases += 1
            self.ranges[-1] = (line.benchmark, self.ranges[-1][1], self.cases)
            if len(rows) > 1 << 20:
                write_whole(self._rows, bytes(rows))
                rows.clear()
        write_whole(self._rows, rows)
        self._samples = describe_source(path, end)
        self.same_keys = self._find_same_keys()

    def _find_same_keys(self) -> frozenset[int]:
        """The hashes of keys that several cases have."""
        if self.cases < LARGE:
            counted = Counter(row[1] for row in self.iterate_rows())
            return frozenset(key for key, count in counted.items() if count > 1)
        return find_repeated([rows[:, 1].copy() for _, rows in self.read_rows()])

    @property
    def may_share(self) -> bool:
        """Whether several cases may rest on one episode."""
        return bool(self._shared or self._named or self.same_keys or self._shared_groups)

    @property
    def has_episodes(self) -> bool:
        """Whether anything was journaled before."""
        return any(source.end for source in self._sources["generations"])

    def share_episodes(self, groups: Mapping[int, Sequence[int]]) -> None:
        """Give the cases of each group, by the hash of the key of their generation, its episodes:
        the benchmark alone knows which cases share one."""
        locations = self._locate_episodes(groups)
        for key, positions in groups.items():
            self._shared_groups = True
            for epoch in range(self.epochs):
                for position in positions:
                    self._write_cell(position, 2 + 2 * epoch, locations[key, epoch])

    def _add_journals(self) -> None:
        """What the journals gained since they were last read."""
        for part in ("generations", "verdicts") if self.scoring else ("generations",):
            sources = self._sources[part]
            for file, path in enumerate(list_journals(self._part_folder(part))):
                start = sources[file].end if file < len(sources) else 0
                if start and measure_journal(path) == start:
                    continue
                end, batch = start, []
                lines = self._scan_episodes if part == "generations" else self._scan_verdicts
                for line_end, entry in lines(path, file, start):
                    end = line_end
                    batch.append(entry)
                    if len(batch) == _BATCH:
                        self._enter(part, batch)
                        batch = []
                self._enter(part, batch)
                sources[file : file + 1] = [describe_source(path, end)]
        self._resolve_named()

    def _resolve_named(self) -> None:
        """Give the cases whose verdict names an episode that of this name."""
        locations = self._locate_episodes({*self._named.values()})
        for (position, epoch), key in self._named.items():
            self._write_cell(position, 2 + 2 * epoch, locations[key, epoch])

    def _locate_episodes(self, keys: Collection[int]) -> dict[tuple[int, int], int]:
        """The packed locations of the last episodes of these keys in all epochs."""
        own: dict[int, Sequence[int]] = {}
        for row in self.iterate_rows() if keys else ():
            if row[1] in keys:
                own[row[1]] = row
        nowhere = [NOWHERE] * self.width
        return {
            (key, epoch): self._shared.get((key, epoch), own.get(key, nowhere)[2 + 2 * epoch])
            for key in keys
            for epoch in range(self.epochs)
        }

    def _scan_episodes(self, path: Path, file: int, start: int) -> Iterator[tuple[int, LineEntry]]:
        for offset, end, line in scan_journal(path, EpisodeLine, start):
            episode = line.episode
            location = Location(file, offset, episode.failure is not None).pack()
            key = hash_case_key(line.benchmark, episode.key)
            yield end, LineEntry(key, episode.epoch, location)

    def _scan_verdicts(self, path: Path, file: int, start: int) -> Iterator[tuple[int, LineEntry]]:
        for offset, end, line in scan_journal(path, VerdictLine, start):
            verdict = line.verdict
            key = hash_case_key(line.benchmark, f"{verdict.metric}/{verdict.id}")
            location = Location(file, offset, is_decided(verdict.outcome)).pack()
            named = verdict.details.generation
            generation = 0 if named is None else hash_case_key(line.benchmark, str(named))
            yield end, LineEntry(key, verdict.epoch, location, verdict.metric, generation)

    def _enter(self, part: str, batch: Sequence[LineEntry]) -> None:
        """Enter lines at the rows of their cases; of several on one case the last counts."""
        import numpy as np

        if not batch:
            return
        last = {(entry.key, entry.epoch, entry.metric): entry for entry in batch}
        entries = [entry for entry in last.values() if 0 <= entry.epoch < self.epochs]
        keys = np.array([entry.key for entry in entries], dtype="<i8")
        order = np.argsort(keys, kind="stable")
        keys, seen = keys[order], np.zeros(len(keys), dtype=bool)
        for first, rows in self.read_rows():
            low = np.searchsorted(keys, rows[:, 1], "left")
            high = np.searchsorted(keys, rows[:, 1], "right")
            hits = np.flatnonzero(high > low)
            if not len(hits):
                continue
            changed = rows.copy()
            for row in hits.tolist():
                for number in range(low[row], high[row]):
                    entry = entries[order[number]]
                    seen[number] = True
                    if entry.metric and entry.key in self.same_keys:
                        sample = self.read_sample_at(int(rows[row, 0]), SampleLine).sample
                        if sample.metric != entry.metric:
                            continue
                    column = 2 * entry.epoch + (3 if part == "verdicts" else 2)
                    changed[row, column] = max(int(changed[row, column]), entry.location)
                    if entry.generation:
                        self._named[first + row, entry.epoch] = entry.generation
            self._write(first * self.width, changed.tobytes())
        for number in np.flatnonzero(~seen).tolist() if part == "generations" else ():
            entry = entries[order[number]]
            self._shared[entry.key, entry.epoch] = entry.location

    # The file

    def _own_file(self, part: str) -> int:
        """The number of the worker's own journal."""
        names = [source.name for source in self._sources[part]]
        if self.own_journal not in names:
            path = self._part_folder(part) / self.own_journal
            self._sources[part].append(describe_source(path, 0))
            return len(names)
        return names.index(self.own_journal)

    def _describe(self) -> IndexHeader:
        assert self._samples is not None  # noqa: S101 - set by whatever made the rows
        return IndexHeader(
            version=_VERSION,
            scoring=self.scoring,
            epochs=self.epochs,
            cases=self.cases,
            ranges=tuple(self.ranges),
            samples=self._samples,
            episodes=tuple(self._sources["generations"]),
            verdicts=tuple(self._sources["verdicts"]),
            same_keys=tuple(sorted(self.same_keys)),
            mark=self.mark,
        )

    def hash_cases(self, start: int, stop: int) -> tuple[str, np.ndarray]:
        """What decides the records of the cases from `start` to `stop`, hashed, and their rows."""
        import numpy as np

        content = self.read_bytes(start, stop)
        rows = np.frombuffer(content, dtype="<i8").reshape(-1, self.width)
        identity: list[object] = [self.scoring, self._samples and self._samples.inode]
        for number, sources in enumerate(self._sources.values()):
            cells = rows[:, 2 + number :: 2]
            for file in np.unique(cells[cells >= 0] >> OFFSET_BITS + 1).tolist():
                identity.append((number, file, sources[file].name, sources[file].inode))
        digest = hashlib.blake2b(to_json(identity), digest_size=12)
        digest.update(content)
        return digest.hexdigest(), rows

    def _read_file(self) -> bool:
        """Take over the rows of the file; False where there is none that fits the journals."""
        try:
            file = locate_index(self.folder, self.scoring).open("rb", buffering=0)
            self._rows.close()
            self._rows = file
            header = from_json(IndexHeader, file.read(_HEADER).rstrip(b"\0"))
            size = file.seek(0, os.SEEK_END)
        except (OSError, ValueError, msgspec.MsgspecError):
            return False
        whole = size == _HEADER + header.cases * self.width * 8
        made_of = (header.version, header.epochs, header.scoring)
        if not whole or made_of != (_VERSION, self.epochs, self.scoring):
            return False
        self.cases, self.ranges = header.cases, list(header.ranges)
        self._base, self.same_keys = _HEADER, frozenset(header.same_keys)
        self._samples = header.samples
        self._sources = {"generations": [*header.episodes], "verdicts": [*header.verdicts]}
        path, samples = self.folder.path / SAMPLES, header.samples
        if not fits_source(samples, path) or measure_journal(path) != samples.end:
            return False
        has_grown = False
        for part, sources in self._sources.items():
            is_written = part != "verdicts" or self.scoring
            paths = list_journals(self._part_folder(part)) if is_written else []
            if len(paths) < len(sources) or not all(map(fits_source, sources, paths)):
                return False
            ends = [source.end for source in sources]
            has_grown = has_grown or ends != [measure_journal(path) for path in paths]
        self.mark = "" if has_grown else header.mark
        if has_grown:
            self._copy_rows()
            self._forget_lost_lines()
        return True

    def _copy_rows(self) -> None:
        """Go on with rows that nobody else sees; raises OSError."""
        file, self._rows = self._rows, tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        with file:
            file.seek(0)
            shutil.copyfileobj(file, self._rows, 1 << 20)

    def _forget_lost_lines(self) -> None:
        """Forget what lay behind the present end of a journal: a machine that lost its power may
        have kept the rows and not the lines."""
        import numpy as np

        for number, part in enumerate(("generations", "verdicts")):
            sizes = [
                measure_journal(self._part_folder(part) / source.name)
                for source in self._sources[part]
            ]
            ends = np.array([(file << OFFSET_BITS) + size for file, size in enumerate(sizes)])
            for first, rows in self.read_rows():
                packed = rows[:, 2 + number :: 2]
                files = np.minimum(packed >> (OFFSET_BITS + 1), len(sizes) - 1)
                lost = (packed >= 0) & (packed >> 1 >= ends[files]) if sizes else packed >= 0
                if lost.any():
                    changed = rows.copy()
                    changed[:, 2 + number :: 2][lost] = NOWHERE
                    self._write(first * self.width, changed.tobytes())

    def keep(self) -> None:
        """Write the file, if the run is large, and from now on write into it: whoever opens it sees
        what is set. Raises OSError."""
        if not self.is_kept:
            return
        path = locate_index(self.folder, self.scoring)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        file = temporary.open("x+b", buffering=0)
        try:
            file.write(to_json(self._describe()).ljust(_HEADER, b"\0"))
            self._rows.seek(self._base)
            shutil.copyfileobj(self._rows, file, 1 << 20)
            temporary.replace(path)
        except BaseException:
            file.close()
            temporary.unlink(missing_ok=True)
            raise
        self._rows.close()
        self._rows, self._base = file, _HEADER

    def flush(self, mark: str = "") -> None:
        """Say in the file how far its rows follow the worker's own journals, and the `mark` of a
        result that rests on them; raises OSError."""
        self.mark = mark
        if self._base != _HEADER:
            return
        for part, sources in self._sources.items():
            for file, source in enumerate(sources):
                if source.name == self.own_journal:
                    path = self._part_folder(part) / source.name
                    sources[file] = describe_source(path, measure_journal(path))
        self._rows.seek(0)
        write_whole(self._rows, to_json(self._describe()).ljust(_HEADER, b"\0"))
