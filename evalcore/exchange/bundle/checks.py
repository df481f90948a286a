"""Whether the files of a bundle fit each other: every refusal that needs no scoring.

Nothing here says that an answer is right; `rescored` does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta

from evalcore.benchmarks.base import Benchmark
from evalcore.benchmarks.case_file import MAX_CASE_WEIGHT
from evalcore.errors import UsageError
from evalcore.exchange.bundle.contents import Contents
from evalcore.queries.gated import is_gated
from evalcore.records import MEASURED, BenchmarkSpec, RunSpec, Sample
from evalcore.runner.column import dataset_hash

_RUN_ID = re.compile(r"[a-z0-9][a-z0-9_.-]{0,79}")
_TARGET = re.compile(r"[a-z][a-z0-9_]{0,30}:\S.{0,199}")
_DATASET = re.compile(r"\w[\w.+ -]{0,99}")
_MOST_EPOCHS = 1000
_LONGEST_NAME = 200

Place = tuple[str, str, int]  # benchmark, key, epoch


def check(made: Contents, benchmarks: Mapping[str, Benchmark]) -> None:
    """Raises UsageError with the first reason why this cannot be the whole of one run."""
    try:
        for step in (_check_spec, _check_claim, _check_samples, _check_hashes):
            step(made)
        _check_episodes(made, benchmarks)
        _check_verdicts(made)
    except UsageError as error:
        raise UsageError(f"{made.source}: refused: {error}") from None


def is_bare(sample: Sample) -> bool:
    """Whether the texts of a gated case were left out."""
    return is_gated(sample) and not sample.input and not sample.reference


def _check_spec(made: Contents) -> None:
    spec = made.spec
    keys = [one.key for one in spec.benchmarks]
    problems = {
        "the run was an import itself": spec.origin != "executed",
        "the id of the run is no id": not _RUN_ID.fullmatch(spec.run_id),
        "manifest and spec name different runs": made.manifest.run_id != spec.run_id,
        "its target is none": not _is_text(spec.target.key, _TARGET),
        "the run holds no benchmark, or one twice": not keys or len(set(keys)) < len(keys),
        f"epochs is not 1 to {_MOST_EPOCHS}": not 1 <= spec.epochs <= _MOST_EPOCHS,
        "a data set is named by what is no name": not all(
            _is_text(one.dataset, _DATASET) for one in spec.benchmarks
        ),
    }
    _refuse(problems)
    _check_date(spec)


def _check_date(spec: RunSpec) -> None:
    try:
        created = datetime.fromisoformat(spec.created_at)
    except ValueError:
        raise UsageError("created_at of spec.json is no time in ISO 8601") from None
    if created.tzinfo is None or created > datetime.now(UTC) + timedelta(days=1):
        raise UsageError("created_at of spec.json lies in the future, or has no time zone")


def _check_claim(made: Contents) -> None:
    spec, summary = made.spec, made.summary
    _refuse(
        {
            "summary.json is of another run": summary.run_id != spec.run_id,
            "summary.json is of another target": summary.target != spec.target,
            "summary.json counts other epochs": summary.epochs != spec.epochs,
            "summary.json scores other benchmarks than the run declares": set(summary.benchmarks)
            != {one.key for one in spec.benchmarks},
        }
    )
    for name, score in summary.benchmarks.items():
        if score.score is not None and not 0 <= score.score <= 100:
            raise UsageError(f"summary.json claims {score.score} for {name}; scores are 0 to 100")


def _check_samples(made: Contents) -> None:
    counts = Counter(line.benchmark for line in made.samples)
    for one in made.spec.benchmarks:
        if counts.pop(one.key, 0) != one.samples or not one.samples:
            raise UsageError(f"samples.jsonl does not hold the {one.samples} samples of {one.key}")
    _refuse({"samples.jsonl holds samples of a benchmark that is not in the run": bool(counts)})
    _once("samples.jsonl", ((line.benchmark, line.sample.key, 0) for line in made.samples))
    named = (text for line in made.samples for text in (line.sample.metric, line.sample.id))
    if any(not text or len(text) > _LONGEST_NAME or not text.isprintable() for text in named):
        raise UsageError("samples.jsonl holds a sample whose metric or id is no name")
    wrong = [one.sample.key for one in made.samples if one.sample.difficulty not in (1, 2, 3)]
    if wrong:
        raise UsageError(f"samples.jsonl: difficulty of {wrong[0]} is not 1 to 3")
    weights = [(one.sample.key, one.sample.weight) for one in made.samples]
    weights += [
        (f"difficulty {level}", weight)
        for one in made.spec.benchmarks
        for level, weight in one.difficulty_weights.items()
    ]
    for name, weight in weights:
        if weight is not None and not 0 <= weight <= MAX_CASE_WEIGHT:
            raise UsageError(f"the weight of {name} is not 0 to {MAX_CASE_WEIGHT:g}")


def _check_hashes(made: Contents) -> None:
    """Bare samples have no content left that could be hashed."""
    for one in made.spec.benchmarks:
        samples = samples_of(made, one)
        bare = sum(map(is_bare, samples))
        if bare != made.manifest.redacted.get(one.key, 0):
            raise UsageError(
                f"the manifest and samples.jsonl leave different cases of {one.key} out"
            )
        if not bare and dataset_hash(samples) != one.dataset_hash:
            raise UsageError(
                f"the samples of {one.key} are not those of the data set that the run declares: "
                "their hash differs"
            )


def _check_episodes(made: Contents, benchmarks: Mapping[str, Benchmark]) -> None:
    keys = {
        (line.benchmark, generation_key(benchmarks[line.benchmark], line.sample))
        for line in made.samples
    }
    found = [(line.benchmark, line.episode.key, line.episode.epoch) for line in made.episodes]
    _complete("generations.jsonl", found, keys, made.spec.epochs)


def _check_verdicts(made: Contents) -> None:
    keys = {(line.benchmark, line.sample.key) for line in made.samples}
    told = [(line.benchmark, line.verdict) for line in made.verdicts]
    found = [(name, f"{one.metric}/{one.id}", one.epoch) for name, one in told]
    _complete("verdicts.jsonl", found, keys, made.spec.epochs)
    for name, one in told:
        measured = one.outcome in MEASURED
        scores = [one.score] if one.score is not None else []
        if measured != bool(scores) or any(not 0 <= x <= 1 for x in (*scores, *one.views.values())):
            raise UsageError(
                f"verdicts.jsonl: {name} {one.metric}/{one.id} has a score that is none"
            )


def _complete(file: str, found: list[Place], keys: set[tuple[str, str]], epochs: int) -> None:
    """Every key in every epoch, once, and nothing else."""
    _once(file, found)
    for benchmark, key, epoch in found:
        if (benchmark, key) not in keys or not 0 <= epoch < epochs:
            raise UsageError(f"{file}: {benchmark} {key}, epoch {epoch}, belongs to no sample")
    missing = len(keys) * epochs - len(found)
    if missing:
        raise UsageError(f"{file}: {missing} of {len(keys) * epochs} lines are missing")


def _once(file: str, places: Iterable[Place]) -> None:
    seen: set[Place] = set()
    for place in places:
        if place in seen:
            raise UsageError(f"{file}: {place[0]} {place[1]}, epoch {place[2]}, stands there twice")
        seen.add(place)


def samples_of(made: Contents, spec: BenchmarkSpec) -> list[Sample]:
    return [line.sample for line in made.samples if line.benchmark == spec.key]


def generation_key(benchmark: Benchmark, sample: Sample) -> str:
    """Raises UsageError for a sample that the benchmark could not have loaded."""
    ask: Callable[[Sample], str] = benchmark.generation_key
    try:
        return ask(sample)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise UsageError(f"sample {sample.key} is none of {benchmark.key}: {problem}") from None


def _is_text(text: str, form: re.Pattern[str]) -> bool:
    return bool(form.fullmatch(text)) and text.isprintable()


def _refuse(problems: Mapping[str, bool]) -> None:
    for problem, holds in problems.items():
        if holds:
            raise UsageError(problem)
