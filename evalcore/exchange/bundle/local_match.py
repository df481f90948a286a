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


class MatchedCases(Record, frozen=True):
    """The samples of a benchmark in the order of the bundle; `matching_keys` are the keys of those
    that are at hand, `differing` of those that are at hand with another content; `covers_dataset`
    tells that the bundle has every case of the data set it was found in, which lies at
    `dataset_path`."""

    samples: tuple[Sample, ...]
    matching_keys: frozenset[str]
    differing: frozenset[str]
    covers_dataset: bool
    dataset_path: str = ""


def match_local_cases(
    benchmark: Benchmark,
    spec: BenchmarkSpec,
    samples: Sequence[Sample],
    settings: Settings,
    dataset: str = "",
) -> MatchedCases:
    """Compare with the data set `dataset`, else with the one of the name that the bundle says, else
    with the bundled one. Raises UsageError where a `dataset` was given and cannot be read."""
    best_match = MatchedCases(
        tuple(map(_strip_sample_meta, samples)), frozenset(), frozenset(), covers_dataset=False
    )
    for path, local_samples in _load_candidate_datasets(benchmark, spec, settings, dataset):
        candidate = _compare_samples(
            samples, local_samples, _find_runnable_keys(benchmark, local_samples), path
        )
        best_match = max(
            best_match,
            candidate,
            key=lambda cases: (len(cases.matching_keys), len(cases.differing)),
        )
    return best_match


def _load_candidate_datasets(
    benchmark: Benchmark, spec: BenchmarkSpec, settings: Settings, dataset: str
) -> Iterator[tuple[Path, dict[str, Sample]]]:
    if dataset:
        direct_path = Path(dataset)
        path = direct_path if direct_path.exists() else Path(settings.datasets) / dataset
        yield path, _load_samples_by_key(benchmark, path)
        return
    for name in dict.fromkeys((spec.dataset, benchmark.card.dataset)):
        for root in (Path(settings.datasets), settings.data_dir / "datasets"):
            if not (root / name).exists():
                continue
            try:
                yield root / name, _load_samples_by_key(benchmark, root / name)
            except UsageError:  # of that name, and of another kind
                continue


def _load_samples_by_key(benchmark: Benchmark, path: Path) -> dict[str, Sample]:
    return {sample.key: sample for sample in benchmark.load_dataset(DatasetSource(path=str(path)))}


def _find_runnable_keys(
    benchmark: Benchmark, local_samples: Mapping[str, Sample]
) -> frozenset[str]:
    """The keys of the cases that a run over the whole data set would ask."""
    try:
        return frozenset(
            sample.key for sample in benchmark.select_runnable(list(local_samples.values()))
        )
    except UsageError:  # this machine could run none of them, which says nothing of the bundle
        return frozenset(local_samples)


def _compare_samples(
    samples: Sequence[Sample],
    local_samples: Mapping[str, Sample],
    runnable: frozenset[str],
    path: Path,
) -> MatchedCases:
    merged, matching, differing = [], set(), set()
    for sample in samples:
        local_sample = local_samples.get(sample.key)
        if local_sample is not None and local_sample.case_hash == sample.case_hash:
            matching.add(sample.key)
            merged.append(local_sample)
            continue
        if local_sample is not None and not is_bare(sample):
            differing.add(sample.key)
        merged.append(_strip_sample_meta(sample))
    covers_dataset = matching >= runnable
    return MatchedCases(
        tuple(merged), frozenset(matching), frozenset(differing), covers_dataset, str(path)
    )


def _strip_sample_meta(sample: Sample) -> Sample:
    marks = {
        name: sample.meta[name]
        for name, kind in _MARKS.items()
        if isinstance(sample.meta.get(name), kind)
    }
    return msgspec.structs.replace(sample, meta=marks)
