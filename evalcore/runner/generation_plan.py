"""The generations of a run in their order, each built when it is due, so that none takes memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from evalcore.benchmarks.base import Benchmark
from evalcore.benchmarks.scope import find_scope_problem
from evalcore.errors import RunFolderError
from evalcore.i18n import Note
from evalcore.records import RunSpec, Sample
from evalcore.runner.plan import create_benchmark
from evalcore.store.case_index import CaseIndex
from evalcore.store.case_lines import NOWHERE, Location, hash_case_key


class Marks:
    """A set of numbers from 0 up, a bit each."""

    def __init__(self) -> None:
        self._bits = bytearray()
        self._count = 0

    def add(self, number: int) -> None:
        missing = number // 8 + 1 - len(self._bits)
        if missing > 0:
            self._bits += bytes(max(missing, len(self._bits) // 8))
        self._count += number not in self
        self._bits[number // 8] |= 1 << number % 8

    def __contains__(self, number: int) -> bool:
        byte = number // 8
        return byte < len(self._bits) and bool(self._bits[byte] >> number % 8 & 1)

    def __len__(self) -> int:
        return self._count


@dataclass(frozen=True)
class GenerationJob:
    """One generation to be had, and the samples that are scored on it, with their positions in the
    run; `number` is that of its unit in the plan."""

    benchmark: Benchmark
    key: str
    epoch: int
    samples: tuple[Sample, ...]
    positions: tuple[int, ...]
    number: int = -1


class PlannedUnit(NamedTuple):
    """A generation of the plan: its number, and the positions of the cases that share it."""

    number: int
    benchmark: str
    epoch: int
    positions: tuple[int, ...]


class UnitRecords(NamedTuple):
    """What is journaled of a unit: where its episode lies and the verdicts on its samples do."""

    episode: int
    verdicts: list[int]

    def has_answer(self, *, keep_failed: bool = False) -> bool:
        """Whether it was answered; an episode that ended in a failure is none, unless those are
        kept."""
        return self.episode != NOWHERE and (keep_failed or not Location.unpack(self.episode).flag)

    @property
    def is_decided(self) -> bool:
        return all(v != NOWHERE and Location.unpack(v).flag for v in self.verdicts)


class GenerationPlan:
    """Every generation of a run, in the order of its samples, epoch by epoch; each is built when it
    is due. Raises RunFolderError where the folder does not hold the samples that were declared."""

    def __init__(self, index: CaseIndex, spec: RunSpec) -> None:
        self.index, self.spec = index, spec
        self.benchmarks = {b.key: create_benchmark(b.key, b.options) for b in spec.benchmarks}
        self._groups: dict[str, list[tuple[int, ...]]] = {}
        for declared in spec.benchmarks:
            held = sum(last - first for first, last in self._list_ranges(declared.key))
            if held != declared.samples:  # a score over other samples would not be this run's
                raise RunFolderError(
                    Note(
                        "samples_fewer",
                        path=index.folder.path,
                        count=held,
                        benchmark=declared.key,
                        declared=declared.samples,
                    )
                )
            own_key = type(self.benchmarks[declared.key]).generation_key
            if own_key is not Benchmark.generation_key or index.same_keys:
                self._groups[declared.key] = self._group_cases(declared.key)

    @property
    def size(self) -> int:
        """The declared cases in all epochs: no fewer than there are generations."""
        return self.index.cases * self.spec.epochs

    def _list_ranges(self, benchmark: str) -> list[tuple[int, int]]:
        return [(first, last) for key, first, last in self.index.ranges if key == benchmark]

    def _group_cases(self, key: str) -> list[tuple[int, ...]]:
        """The cases that share a generation, as the benchmark has it; the index learns of them."""
        benchmark = self.benchmarks[key]
        groups: dict[int, list[int]] = defaultdict(list)
        for first, last in self._list_ranges(key):
            for position in range(first, last):
                generation = benchmark.generation_key(self.index.read_sample(position).sample)
                groups[hash_case_key(key, generation)].append(position)
        self.index.share_episodes(groups)
        return list(map(tuple, groups.values()))

    def list_units(self) -> Iterator[PlannedUnit]:
        numbers = count()
        for epoch in range(self.spec.epochs):
            for key in self.benchmarks:
                for positions in self._list_positions(key):
                    yield PlannedUnit(next(numbers), key, epoch, positions)

    def read_records(self, unit: PlannedUnit) -> UnitRecords:
        rows = [self.index.read_row(position) for position in unit.positions]
        column = 2 + 2 * unit.epoch
        return UnitRecords(rows[0][column], [row[column + 1] for row in rows])

    def has_work(self) -> bool:
        """Whether anything is left to ask or to score."""
        for unit in self.list_units():
            records = self.read_records(unit)
            if records.has_answer() and records.is_decided:
                continue
            if not self.spec.scope or self.build_job(unit):
                return True
        return False

    def _list_positions(self, key: str) -> Iterator[tuple[int, ...]]:
        if key in self._groups:
            yield from self._groups[key]
            return
        for first, last in self._list_ranges(key):
            for position in range(first, last):
                yield (position,)

    def build_job(self, unit: PlannedUnit) -> GenerationJob | None:
        """The samples of a unit that are within the scope of the target, None where none is."""
        samples = [(self.index.read_sample(each).sample, each) for each in unit.positions]
        benchmark = self.benchmarks[unit.benchmark]
        inside = [pair for pair in samples if not find_scope_problem(self.spec.scope, pair[0])]
        if not inside:
            return None
        key = benchmark.generation_key(inside[0][0])
        samples_inside, positions = zip(*inside, strict=True)
        return GenerationJob(
            benchmark, key, unit.epoch, samples_inside, positions, number=unit.number
        )

    def build_jobs(self, chosen: Marks) -> Iterator[GenerationJob]:
        """The jobs of the chosen units."""
        for unit in self.list_units():
            if unit.number in chosen and (job := self.build_job(unit)):
                yield job
