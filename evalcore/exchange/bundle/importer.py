"""Taking a bundle in: open, check, score again, and only then one run comes into the store.

A bundle is refused as a whole, with the reason, and nothing is changed then. The run id follows
from the contents, so that a second import of the same bundle changes nothing.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from evalcore.benchmarks.base import Benchmark
from evalcore.errors import UsageError
from evalcore.exchange.bundle import checks, local_match, reader
from evalcore.exchange.bundle.contents import BundleContents
from evalcore.exchange.bundle.imported_run import ScoredBenchmark, build_bundle_run
from evalcore.exchange.bundle.local_match import MatchedCases
from evalcore.exchange.bundle.rescored import rescore_bundle
from evalcore.exchange.imported_gold import GoldCheck
from evalcore.exchange.scale.staging import ImportOutcome, open_import_stage
from evalcore.records import Record
from evalcore.runner.gold import GoldReport
from evalcore.runner.plan import create_benchmark
from evalcore.settings import Settings
from evalcore.store import published as published_file
from evalcore.store.index import open_index
from evalcore.store.published import Published, PublishedScore
from evalcore.store.run_folder import RunFolder


class ScoredClaim(Record, frozen=True):
    """A claim beside what is counted here, None at level 0; both 0 to 100. Of `verdicts`, `equal`
    came out as claimed; `kept` counts by reason those that could not be scored again. Of the
    expected answers of its cases so many are `unconfirmed`, the first over `reason`."""

    benchmark: str
    level: int
    claimed: float | None
    recomputed: float | None
    verdicts: int
    equal: int
    kept: dict[str, int] = {}
    known_cases: int = 0
    unconfirmed: int = 0
    reason: str = ""


class ImportedBundle(Record, frozen=True):
    """What became of a bundle; `source_run` is what the run was called where it was made."""

    run: str
    became: ImportOutcome
    source_run: str
    target: str
    scores: tuple[ScoredClaim, ...]


def _ignore_progress(done: int, total: int) -> None:
    pass


def import_bundle(
    bundle: Path,
    settings: Settings,
    dataset: str = "",
    progress: Callable[[str], None] = print,
    scored: Callable[[int, int], None] = _ignore_progress,
    gold: GoldCheck | None = None,
) -> ImportedBundle:
    """Import one bundle; `dataset`, a path or name, says where its cases are to be found here.
    `scored` hears how many verdicts of how many are done; imports that share a `gold` share its
    time.

    Raises UsageError with the reason why it is refused.
    """
    with tempfile.TemporaryDirectory(prefix="evalcore-bundle-") as scratch:
        contents = reader.read_bundle(bundle, Path(scratch) / "unpacked")
    if dataset and len(contents.spec.benchmarks) != 1:
        raise UsageError("--dataset is for a bundle of one benchmark; drop it")
    benchmarks = _create_benchmarks(contents)
    try:
        checks.check_bundle(contents, benchmarks)
        with open_import_stage(settings) as staged:
            cases = {
                benchmark_spec.key: local_match.match_local_cases(
                    benchmarks[benchmark_spec.key],
                    benchmark_spec,
                    checks.select_benchmark_samples(contents, benchmark_spec),
                    settings,
                    dataset,
                )
                for benchmark_spec in contents.spec.benchmarks
            }
            check = gold or GoldCheck(settings, progress)
            reports = _require_gold(contents, benchmarks, cases, check)
            parts = _score_benchmarks(contents, benchmarks, cases, progress, scored)
            run_id, published = build_bundle_run(contents, parts, benchmarks, staged.blobs)
            became: ImportOutcome = "unchanged"
            if not _is_already_stored(settings, run_id, published):
                became = staged.prepare_run(run_id, published)
                staged.commit()
    finally:
        for benchmark in benchmarks.values():
            benchmark.close()
    scores = tuple(
        _build_scored_claim(part, published.scores[part.spec.key], reports[part.spec.key])
        for part in parts
    )
    return ImportedBundle(run_id, became, contents.spec.run_id, contents.spec.target.key, scores)


def _is_already_stored(settings: Settings, run_id: str, published: Published) -> bool:
    """Whether the run is in the store with the same scores and levels; logs of programs that were
    run again may differ."""
    folder = RunFolder(settings.runs_dir / run_id)
    held = published_file.read_published(folder)
    indexed = {header.run_id for header in open_index(settings).headers()}
    return held is not None and held.scores == published.scores and run_id in indexed


def _create_benchmarks(contents: BundleContents) -> dict[str, Benchmark]:
    """Raises UsageError for a benchmark or an option that is unknown here."""
    try:
        return {
            benchmark_spec.key: create_benchmark(benchmark_spec.key, benchmark_spec.options)
            for benchmark_spec in contents.spec.benchmarks
        }
    except UsageError as error:
        raise UsageError(f"{contents.source}: refused: {error}") from None


def _require_gold(
    contents: BundleContents,
    benchmarks: Mapping[str, Benchmark],
    cases: Mapping[str, MatchedCases],
    check: GoldCheck,
) -> dict[str, GoldReport]:
    """What engines say of the expected answers, by benchmark. Raises UsageError for contradicted
    ones."""
    try:
        return {
            benchmark_spec.key: check.require_cases(
                benchmarks[benchmark_spec.key], cases[benchmark_spec.key], contents.samples
            )
            for benchmark_spec in contents.spec.benchmarks
        }
    except UsageError as error:
        raise UsageError(f"{contents.source}: refused: {error}") from None


def _score_benchmarks(
    contents: BundleContents,
    benchmarks: Mapping[str, Benchmark],
    cases: Mapping[str, MatchedCases],
    progress: Callable[[str], None],
    scored: Callable[[int, int], None],
) -> list[ScoredBenchmark]:
    parts, total = [], len(contents.verdicts)
    count = itertools.count(1)
    for spec in contents.spec.benchmarks:
        progress(f"scoring {spec.samples} cases of {spec.key} again")
        same = cases[spec.key]
        rescored = rescore_bundle(
            contents, spec, benchmarks[spec.key], same, lambda: scored(next(count), total)
        )
        parts.append(ScoredBenchmark(spec, same, rescored, contents.summary.benchmarks[spec.key]))
    return parts


def _build_scored_claim(
    part: ScoredBenchmark, published_score: PublishedScore, gold: GoldReport
) -> ScoredClaim:
    return ScoredClaim(
        benchmark=part.spec.key,
        level=published_score.level,
        claimed=published_score.claimed,
        recomputed=published_score.recomputed,
        verdicts=len(part.rescored.verdicts),
        equal=part.rescored.equal,
        kept=part.rescored.reasons,
        known_cases=len(part.cases.matching_keys),
        unconfirmed=gold.unconfirmed,
        reason=gold.reason,
    )
