"""Whether a run that is resumed still has the cases that it began with.

The cases of a run are frozen in its folder, and what belongs to them (databases, repositories,
files) is read from the dataset. If either changed meanwhile, the answers before and after would be
answers to different questions, and the score of neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from evalcore import catalog
from evalcore.benchmarks import registry
from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.spool import to_sequence
from evalcore.errors import DatasetError, RunFolderError, UsageError
from evalcore.i18n import Note
from evalcore.records import BenchmarkSpec, Sample
from evalcore.runner.plan import create_benchmark, dataset_hash, find_dataset
from evalcore.settings import Settings
from evalcore.store import journal
from evalcore.store.run_folder import RunFolder


def require_same_cases(folder: RunFolder, settings: Settings) -> None:
    """Check the cases of a run that goes on against what it declared, and against its dataset if
    that is still on this machine; a run without an answer has only begun.

    Raises RunFolderError where the folder's own cases differ, UsageError where those of the dataset
    do; both say what to do.
    """
    if next(iter(folder.read_episodes()), None) is None:
        return
    spec = folder.read_spec()
    for declared in spec.benchmarks:
        count = sum(1 for _ in _read_frozen(folder, declared))
        if count != declared.samples:
            continue  # lines are missing: whoever reads them for work names how many
        if dataset_hash(_read_frozen(folder, declared)) != declared.dataset_hash:
            file = folder.path / journal.SAMPLES
            raise RunFolderError(Note("cases_frozen", file=file, benchmark=declared.key))
        problem = find_dataset_change(declared, folder, settings)
        if problem:
            raise UsageError(
                Note(
                    "cases_changed",
                    dataset=declared.dataset,
                    benchmark=declared.key,
                    problem=problem,
                    run=spec.run_id,
                )
            )


def _read_frozen(folder: RunFolder, spec: BenchmarkSpec) -> Iterator[Sample]:
    """The cases of one benchmark that lie in the folder."""
    return (line.sample for line in folder.read_samples() if line.benchmark == spec.key)


def find_dataset_change(spec: BenchmarkSpec, folder: RunFolder, settings: Settings) -> str:
    """How the dataset of a benchmark differs from the cases of a run, "" where it does not or is
    not on this machine. Cases that were added count only if the run had all of them."""
    try:
        path = find_dataset(spec.dataset, catalog.benchmark_card(spec.key), settings)
    except UsageError:  # it was removed, or the run came from elsewhere
        return ""
    try:
        samples = _load_samples(spec, path)
    except DatasetError as error:
        return str(error)
    except UsageError:  # it cannot be loaded here, which says nothing about its cases
        return ""
    if spec.full and dataset_hash(samples) == spec.dataset_hash:  # a million take no memory
        return ""
    current = {sample.key: sample.case_hash for sample in samples}
    frozen = {sample.key: sample.case_hash for sample in _read_frozen(folder, spec)}
    changed = sorted(key for key in frozen if current.get(key, frozen[key]) != frozen[key])
    removed = sorted(frozen.keys() - current.keys())
    added = sorted(current.keys() - frozen.keys()) if spec.full else []
    if not (changed or removed or added):
        return ""
    return Note(
        "cases_differ",
        changed=len(changed),
        removed=len(removed),
        added=len(added),
        first=(changed or removed or added)[0],
    )


def _load_samples(spec: BenchmarkSpec, path: Path) -> Sequence[Sample]:
    benchmark = create_benchmark(spec.key, spec.options)
    try:
        with registry.plugin_faults(spec.key):
            source = DatasetSource(path=str(path), metrics=spec.metrics)
            return benchmark.select_runnable(to_sequence(benchmark.load_dataset(source)))
    finally:
        benchmark.close()
