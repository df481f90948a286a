"""Check a bundle as far as needs no scoring: its files fit each other, and which of its cases are
those of a data set on this machine."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from evalcore.benchmarks.base import Benchmark, DatasetSource
from evalcore.benchmarks.case_file import MAX_CASE_WEIGHT
from evalcore.catalog import find_bundled_folder
from evalcore.errors import UsageError
from evalcore.exchange.bundle.contents import BundleContents, refuse_errors
from evalcore.i18n import Note
from evalcore.records import MEASURED, BenchmarkSpec, Record, Sample
from evalcore.runner.plan import dataset_hash
from evalcore.settings import Settings
from evalcore.views.cases import is_gated

_RUN_ID = re.compile(r"[a-z0-9][a-z0-9_.-]{0,79}")
_TARGET = re.compile(r"[a-z][a-z0-9_]{0,30}:\S.{0,199}")
_DATASET = re.compile(r"\w[\w.+ -]{0,99}")
_MOST_EPOCHS = 1000
_LONGEST_NAME = 200

EpochKey = tuple[str, str, int]  # benchmark, key, epoch


def check_bundle(contents: BundleContents, benchmarks: Mapping[str, Benchmark]) -> None:
    """Raises UsageError with the first reason why this cannot be the whole of one run."""
    with refuse_errors(contents.source):
        for benchmark in benchmarks.values():
            check_code_options(benchmark)
        for step in (_check_spec, _check_claim, _check_samples, _check_hashes):
            step(contents)
        _check_episodes(contents, benchmarks)
        _check_verdicts(contents)


def check_code_options(benchmark: Benchmark) -> None:
    """Raises UsageError for a run from elsewhere that names code to be run."""
    for option in benchmark.card.options:
        if option.names_code and benchmark.options[option.name]:
            raise UsageError(
                Note("bundle_code_option", benchmark=benchmark.key, option=option.name)
            )


def is_bare(sample: Sample) -> bool:
    """Whether the texts of a gated case were left out."""
    return is_gated(sample) and not sample.input and not sample.reference


def _check_spec(contents: BundleContents) -> None:
    spec = contents.spec
    keys = [benchmark_spec.key for benchmark_spec in spec.benchmarks]
    problems = {
        "the run was an import itself": spec.origin != "executed",
        "the run id is not valid": not _RUN_ID.fullmatch(spec.run_id),
        "manifest and spec name different runs": contents.manifest.run_id != spec.run_id,
        "its target is none": not _is_text(spec.target.key, _TARGET),
        "the run has no benchmark, or one of them twice": not keys or len(set(keys)) < len(keys),
        f"epochs is not 1 to {_MOST_EPOCHS}": not 1 <= spec.epochs <= _MOST_EPOCHS,
        "a dataset name is invalid": not all(
            _is_text(benchmark_spec.dataset, _DATASET) for benchmark_spec in spec.benchmarks
        ),
    }
    _raise_first_problem(problems)
    try:
        created = datetime.fromisoformat(spec.created_at)
    except ValueError:
        raise UsageError(Note("bundle_created")) from None
    if created.tzinfo is None or created > datetime.now(UTC) + timedelta(days=1):
        raise UsageError(Note("bundle_future"))


def _check_claim(contents: BundleContents) -> None:
    spec, summary = contents.spec, contents.summary
    _raise_first_problem(
        {
            "summary.json is of another run": summary.run_id != spec.run_id,
            "summary.json is of another target": summary.target != spec.target,
            "summary.json counts other epochs": summary.epochs != spec.epochs,
            "summary.json scores other benchmarks than the run declares": set(summary.benchmarks)
            != {benchmark_spec.key for benchmark_spec in spec.benchmarks},
        }
    )
    for name, score in summary.benchmarks.items():
        if score.score is not None and not 0 <= score.score <= 100:
            raise UsageError(Note("bundle_score", score=score.score, name=name))


def _check_samples(contents: BundleContents) -> None:
    counts = Counter(line.benchmark for line in contents.samples)
    for entry in contents.spec.benchmarks:
        if counts.pop(entry.key, 0) != entry.samples or not entry.samples:
            raise UsageError(Note("bundle_samples", count=entry.samples, benchmark=entry.key))
    if counts:
        raise UsageError(Note("bundle_other_benchmark"))
    _check_unique(
        "samples.jsonl", ((line.benchmark, line.sample.key, 0) for line in contents.samples)
    )
    for line in contents.samples:
        for text in (line.sample.metric, line.sample.id):
            if not text or len(text) > _LONGEST_NAME or not text.isprintable():
                raise UsageError(Note("bundle_sample_name"))
    for line in contents.samples:
        if line.sample.difficulty not in (1, 2, 3):
            raise UsageError(Note("bundle_difficulty", sample=line.sample.key))
    weights = [(entry.sample.key, entry.sample.weight) for entry in contents.samples]
    weights += [
        (f"difficulty {level}", weight)
        for entry in contents.spec.benchmarks
        for level, weight in entry.difficulty_weights.items()
    ]
    for name, weight in weights:
        if weight is not None and not 0 <= weight <= MAX_CASE_WEIGHT:
            raise UsageError(Note("bundle_weight", name=name, most=f"{MAX_CASE_WEIGHT:g}"))


def _check_hashes(contents: BundleContents) -> None:
    """Bare samples have no content left that could be hashed."""
    for benchmark_spec in contents.spec.benchmarks:
        samples = select_benchmark_samples(contents, benchmark_spec)
        bare = sum(map(is_bare, samples))
        if bare != contents.manifest.redacted.get(benchmark_spec.key, 0):
            raise UsageError(Note("bundle_other_gaps", benchmark=benchmark_spec.key))
        if not bare and dataset_hash(samples) != benchmark_spec.dataset_hash:
            raise UsageError(Note("bundle_other_samples", benchmark=benchmark_spec.key))


def _check_episodes(contents: BundleContents, benchmarks: Mapping[str, Benchmark]) -> None:
    keys = {
        (line.benchmark, generation_key(benchmarks[line.benchmark], line.sample))
        for line in contents.samples
    }
    episode_keys = [
        (line.benchmark, line.episode.key, line.episode.epoch) for line in contents.episodes
    ]
    _check_complete("generations.jsonl", episode_keys, keys, contents.spec.epochs)


def _check_verdicts(contents: BundleContents) -> None:
    keys = {(line.benchmark, line.sample.key) for line in contents.samples}
    claims = [(line.benchmark, line.verdict) for line in contents.verdicts]
    verdict_keys = [
        (name, f"{verdict.metric}/{verdict.id}", verdict.epoch) for name, verdict in claims
    ]
    _check_complete("verdicts.jsonl", verdict_keys, keys, contents.spec.epochs)
    for name, verdict in claims:
        measured = verdict.outcome in MEASURED
        scores = [verdict.score] if verdict.score is not None else []
        if measured != bool(scores) or any(
            not 0 <= x <= 1 for x in (*scores, *verdict.views.values())
        ):
            raise UsageError(
                Note("bundle_no_score", name=name, metric=verdict.metric, id=verdict.id)
            )


def _check_complete(
    file: str, epoch_keys: list[EpochKey], keys: set[tuple[str, str]], epochs: int
) -> None:
    """Check that every key occurs exactly once per epoch, and that there is nothing else."""
    _check_unique(file, epoch_keys)
    for benchmark, key, epoch in epoch_keys:
        if (benchmark, key) not in keys or not 0 <= epoch < epochs:
            raise UsageError(
                Note("bundle_no_sample", file=file, benchmark=benchmark, sample=key, epoch=epoch)
            )
    missing = len(keys) * epochs - len(epoch_keys)
    if missing:
        raise UsageError(
            Note("bundle_missing", file=file, missing=missing, total=len(keys) * epochs)
        )


def _check_unique(file: str, epoch_keys: Iterable[EpochKey]) -> None:
    for (benchmark, key, epoch), count in Counter(epoch_keys).items():
        if count > 1:
            raise UsageError(
                Note("bundle_twice", file=file, benchmark=benchmark, sample=key, epoch=epoch)
            )


def select_benchmark_samples(contents: BundleContents, spec: BenchmarkSpec) -> list[Sample]:
    return [line.sample for line in contents.samples if line.benchmark == spec.key]


def generation_key(benchmark: Benchmark, sample: Sample) -> str:
    """Raises UsageError for a sample that the benchmark could not have loaded."""
    ask: Callable[[Sample], str] = benchmark.generation_key
    try:
        return ask(sample)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise UsageError(
            Note("bundle_bad_sample", sample=sample.key, benchmark=benchmark.key, problem=problem)
        ) from None


def _is_text(text: str, form: re.Pattern[str]) -> bool:
    return bool(form.fullmatch(text)) and text.isprintable()


def _raise_first_problem(problems: Mapping[str, bool]) -> None:
    for problem, holds in problems.items():
        if holds:
            raise UsageError(problem)


# Which cases of a bundle are those of a data set on this machine.
# Somebody else's cases are data and nothing more: of what they say of themselves (`meta`) only
# plain marks are kept, so that no path in it is ever followed here. Cases that are at hand are
# taken from here with all that belongs to them.

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
    candidates = [
        MatchedCases(
            tuple(map(_strip_sample_meta, samples)), frozenset(), frozenset(), covers_dataset=False
        )
    ]
    for path, local_samples in _load_candidate_datasets(benchmark, spec, settings, dataset):
        runnable = _find_runnable_keys(benchmark, local_samples)
        candidates.append(_compare_samples(samples, local_samples, runnable, path))
    return max(candidates, key=lambda cases: (len(cases.matching_keys), len(cases.differing)))


def _load_candidate_datasets(
    benchmark: Benchmark, spec: BenchmarkSpec, settings: Settings, dataset: str
) -> Iterator[tuple[Path, dict[str, Sample]]]:
    if dataset:
        direct_path = Path(dataset)
        path = direct_path if direct_path.exists() else Path(settings.datasets) / dataset
        yield path, _load_samples_by_key(benchmark, path)
        return
    paths = [
        root / name
        for name in dict.fromkeys((spec.dataset, benchmark.card.dataset))
        for root in (Path(settings.datasets), settings.data_dir / "datasets")
    ]
    for path in dict.fromkeys((*paths, find_bundled_folder(benchmark.card, settings))):
        if not path.exists():
            continue
        try:
            yield path, _load_samples_by_key(benchmark, path)
        except UsageError:  # of that name, and of another kind
            continue


def _load_samples_by_key(benchmark: Benchmark, path: Path) -> dict[str, Sample]:
    return {sample.key: sample for sample in benchmark.load_dataset(DatasetSource(path=str(path)))}


def _find_runnable_keys(
    benchmark: Benchmark, local_samples: Mapping[str, Sample]
) -> frozenset[str]:
    """The keys of the cases that a run over the whole data set would ask."""
    try:
        runnable = benchmark.select_runnable(list(local_samples.values()))
        return frozenset(sample.key for sample in runnable)
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
