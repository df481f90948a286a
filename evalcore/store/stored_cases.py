"""The samples and verdicts of a run as sequences that lie on the disk: an item is read when it is
asked for, so that a million of them take no memory; and a small file of what each case scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar, overload

import msgspec

from evalcore.errors import EvalboardError, UsageError
from evalcore.i18n import Note
from evalcore.records import BenchmarkSpec, Record, RunSpec, Sample, Verdict
from evalcore.store.case_index import CaseIndex
from evalcore.store.case_lines import NOWHERE
from evalcore.store.case_parts import is_large
from evalcore.store.case_tables import samples_signature
from evalcore.store.run_folder import (
    RunFolder,
    StoredEpisode,
    StoredSample,
    StoredVerdict,
    is_file,
    write_atomic,
)

R = TypeVar("R", bound=Record)
T = TypeVar("T")


class _Weighed(Record, frozen=True):
    """A sample without its texts."""

    metric: str
    id: str
    difficulty: int = 1
    weight: float | None = None


class _WeighedLine(Record, frozen=True):
    benchmark: str
    sample: _Weighed


class _Scored(Record, frozen=True):
    """A verdict without its evidence."""

    outcome: str
    score: float | None = None
    views: dict[str, float] = {}


class _ScoredLine(Record, frozen=True):
    verdict: _Scored


class CaseScores(NamedTuple):
    """A declared sample and what its verdicts say in each epoch, None where there is none."""

    metric: str
    id: str
    weight: float
    verdicts: list[_Scored | None]


class _OnDisk(Sequence[T]):
    """Items that are read one at a time; slices are lists."""

    @abstractmethod
    def _read_item(self, number: int) -> T: ...

    @overload
    def __getitem__(self, number: int) -> T: ...

    @overload
    def __getitem__(self, number: slice) -> list[T]: ...

    def __getitem__(self, number: int | slice) -> T | list[T]:
        if isinstance(number, slice):
            return [self._read_item(each) for each in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(number)
        return self._read_item(number % len(self))


class StoredSamples(_OnDisk[Sample]):
    """The declared samples of one benchmark of a run, with the weights that they have in it."""

    def __init__(self, index: CaseIndex, spec: BenchmarkSpec) -> None:
        self.cases, self.spec = index, spec
        self.ranges = [(first, last) for key, first, last in index.ranges if key == spec.key]

    def __len__(self) -> int:
        return sum(last - first for first, last in self.ranges)

    def __iter__(self) -> Iterator[Sample]:
        for row in self.read_rows():
            yield self._read_sample(row[0])

    def read_rows(self) -> Iterator[list[int]]:
        """The rows of the index, in the declared order."""
        for first, last in self.ranges:
            yield from self.cases.iterate_rows(first, last)

    def _read_item(self, number: int) -> Sample:
        for first, last in self.ranges:
            if number < last - first:
                return self._read_sample(self.cases.read_row(first + number)[0])
            number -= last - first
        raise IndexError(number)

    def _read_sample(self, offset: int) -> Sample:
        sample = self.cases.read_sample_at(offset, StoredSample).sample
        if not self.spec.difficulty_weights:
            return sample
        return msgspec.structs.replace(sample, weight=self.spec.case_weight(sample))


class StoredVerdicts(_OnDisk[Verdict]):
    """The last verdict on each sample and epoch of one benchmark of a run."""

    def __init__(self, samples: StoredSamples) -> None:
        self.samples, self.cases = samples, samples.cases

    def __len__(self) -> int:
        return sum(1 for _ in self._list_verdicts())

    def __iter__(self) -> Iterator[Verdict]:
        for location in self._list_verdicts():
            yield self.cases.read_verdict(location, StoredVerdict).verdict

    def _list_verdicts(self) -> Iterator[int]:
        for row in self.samples.read_rows():
            yield from (location for location in row[3::2] if location != NOWHERE)

    def _read_item(self, number: int) -> Verdict:
        for count, verdict in enumerate(self):
            if count == number:
                return verdict
        raise IndexError(number)

    def iterate_cases(self) -> Iterator[CaseScores]:
        """Each declared sample with its verdicts. Raises UsageError for one declared twice."""
        read_sample, read_verdict = self.cases.read_sample_at, self.cases.read_verdict
        weigh = self.samples.spec.case_weight
        seen: set[tuple[str, str]] = set()
        for row in self.samples.read_rows():
            sample = read_sample(row[0], _WeighedLine).sample
            if row[1] in self.cases.same_keys:
                if (sample.metric, sample.id) in seen:
                    raise UsageError(Note("sample_twice", metric=sample.metric, id=sample.id))
                seen.add((sample.metric, sample.id))
            verdicts = [
                None if location == NOWHERE else read_verdict(location, _ScoredLine).verdict
                for location in row[3::2]
            ]
            yield CaseScores(sample.metric, sample.id, weigh(sample), verdicts)


def iterate_episodes(index: CaseIndex, kind: type[R]) -> Iterator[R]:
    """The last line of each generation, decoded as `kind`; those that cases share come once."""
    shared: set[int] = set()
    for row in index.iterate_rows():
        for location in row[2::2]:
            if location == NOWHERE or location in shared:
                continue
            if index.may_share:
                shared.add(location)
            yield index.read_episode(location, kind)


def iterate_repeats(index: CaseIndex, benchmark: str) -> Iterator[list[StoredEpisode]]:
    """The episodes of each generation of a benchmark in all epochs."""
    shared: set[int] = set()
    for key, first, last in index.ranges:
        for row in index.iterate_rows(first, last) if key == benchmark else ():
            locations = [location for location in row[2::2] if location != NOWHERE]
            if not locations or locations[0] in shared:
                continue
            if index.may_share:
                shared.update(locations)
            yield [index.read_episode(location, StoredEpisode) for location in locations]


# A cache that spares a ranking the journals of a run: one small file, which its worker writes in
# the end. A large run has a table of its cases, which is read as quickly.

_POINTS = "points.cache"
#: Metric, id, weight (case x metric weight) and score (0 to 1, the mean over the epochs) of a case.
PointRow = tuple[str, str, float, float]
#: The signature of the journals that the rows were read from, and the rows by benchmark.
_CasePoints = tuple[str, dict[str, list[PointRow]]]


def write_case_points(index: CaseIndex, spec: RunSpec) -> None:
    """Keep the points of a run that is not large. Raises OSError."""
    with suppress(EvalboardError):
        if not is_large(index):
            rows = {each.key: _list_points(index, each) for each in spec.benchmarks}
            content = msgspec.json.encode((samples_signature(index.folder), rows))
            write_atomic(index.folder.path / _POINTS, content, make_folder=False)


def _list_points(index: CaseIndex, spec: BenchmarkSpec) -> list[PointRow]:
    return [
        (
            case.metric,
            case.id,
            case.weight * spec.weights[case.metric],
            sum((verdict and verdict.score) or 0.0 for verdict in case.verdicts) / index.epochs,
        )
        for case in StoredVerdicts(StoredSamples(index, spec)).iterate_cases()
        if case.metric in spec.weights
    ]


def read_case_points(folder: RunFolder) -> dict[str, list[PointRow]] | None:
    """The scored cases of a run by benchmark, None where they are not kept as they are now."""
    path = folder.path / _POINTS
    with suppress(OSError, ValueError, EvalboardError, msgspec.MsgspecError):
        if is_file(path):
            signature, rows = msgspec.json.decode(path.read_bytes(), type=_CasePoints)
            return rows if signature == samples_signature(folder) else None
    return None
