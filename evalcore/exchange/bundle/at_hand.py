"""Which cases of a bundle are those of a data set on this machine.

Somebody else's cases are data and nothing more: of what they say of themselves (`meta`) only plain
marks are kept, so that no path in it is ever followed here. Cases that are at hand are taken from
here with all that belongs to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from evalcore.benchmarks.base import Benchmark, DatasetSource
from evalcore.errors import UsageError
from evalcore.exchange.bundle.checks import is_bare
from evalcore.records import BenchmarkSpec, Record, Sample
from evalcore.settings import Settings

#: Marks that verdicts and pages read, and their types; none of them leads anywhere.
_MARKS: Mapping[str, type] = {"gated": bool, "hidden": bool, "flagged": str, "needs_web": bool}


class Cases(Record, frozen=True):
    """The samples of a benchmark in the order of the bundle; `known` are the keys of those that are
    at hand, `differing` of those that are at hand with another content; `all_known` tells that the
    bundle has every case of the data set it was found in, which lies at `place`."""

    samples: tuple[Sample, ...]
    known: frozenset[str]
    differing: frozenset[str]
    all_known: bool
    place: str = ""


def find(
    benchmark: Benchmark,
    spec: BenchmarkSpec,
    samples: Sequence[Sample],
    settings: Settings,
    dataset: str = "",
) -> Cases:
    """Compare with the data set `dataset`, else with the one of the name that the bundle says, else
    with the bundled one. Raises UsageError where a `dataset` was given and cannot be read."""
    best = Cases(tuple(map(_as_told, samples)), frozenset(), frozenset(), all_known=False)
    for path, here in _loaded(benchmark, spec, settings, dataset):
        found = _compared(samples, here, _runnable(benchmark, here), path)
        best = max(best, found, key=lambda one: (len(one.known), len(one.differing)))
    return best


def _loaded(
    benchmark: Benchmark, spec: BenchmarkSpec, settings: Settings, dataset: str
) -> Iterator[tuple[Path, dict[str, Sample]]]:
    if dataset:
        place = Path(dataset)
        path = place if place.exists() else Path(settings.datasets) / dataset
        yield path, _by_key(benchmark, path)
        return
    for name in dict.fromkeys((spec.dataset, benchmark.card.dataset)):
        for root in (Path(settings.datasets), settings.data_dir / "datasets"):
            if not (root / name).exists():
                continue
            try:
                yield root / name, _by_key(benchmark, root / name)
            except UsageError:  # of that name, and of another kind
                continue


def _by_key(benchmark: Benchmark, path: Path) -> dict[str, Sample]:
    return {one.key: one for one in benchmark.load_dataset(DatasetSource(path=str(path)))}


def _runnable(benchmark: Benchmark, here: Mapping[str, Sample]) -> frozenset[str]:
    """The keys of the cases that a run over the whole data set would ask."""
    try:
        return frozenset(one.key for one in benchmark.select_runnable(list(here.values())))
    except UsageError:  # this machine could run none of them, which says nothing of the bundle
        return frozenset(here)


def _compared(
    samples: Sequence[Sample], here: Mapping[str, Sample], runnable: frozenset[str], path: Path
) -> Cases:
    kept, known, differing = [], set(), set()
    for sample in samples:
        ours = here.get(sample.key)
        if ours is not None and ours.case_hash == sample.case_hash:
            known.add(sample.key)
            kept.append(ours)
            continue
        if ours is not None and not is_bare(sample):
            differing.add(sample.key)
        kept.append(_as_told(sample))
    all_known = known >= runnable
    return Cases(tuple(kept), frozenset(known), frozenset(differing), all_known, str(path))


def _as_told(sample: Sample) -> Sample:
    marks = {
        name: sample.meta[name]
        for name, kind in _MARKS.items()
        if isinstance(sample.meta.get(name), kind)
    }
    return msgspec.structs.replace(sample, meta=marks)
