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
from evalcore.exchange.bundle import at_hand, checks, reader
from evalcore.exchange.bundle.at_hand import Cases
from evalcore.exchange.bundle.contents import Contents
from evalcore.exchange.bundle.imported_run import Part, published
from evalcore.exchange.bundle.rescored import rescore
from evalcore.exchange.imported_gold import GoldCheck
from evalcore.exchange.scale.staging import Became, stage
from evalcore.records import Record
from evalcore.runner.gold import GoldReport
from evalcore.runner.plan import create_benchmark
from evalcore.settings import Settings
from evalcore.store import published as published_file
from evalcore.store.index import open_index
from evalcore.store.published import Published, PublishedScore
from evalcore.store.run_folder import RunFolder


class Scored(Record, frozen=True):
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
    became: Became
    source_run: str
    target: str
    scores: tuple[Scored, ...]


def _unheard(done: int, total: int) -> None:
    pass


def import_bundle(
    bundle: Path,
    settings: Settings,
    dataset: str = "",
    progress: Callable[[str], None] = print,
    scored: Callable[[int, int], None] = _unheard,
    gold: GoldCheck | None = None,
) -> ImportedBundle:
    """Import one bundle; `dataset`, a path or name, says where its cases are to be found here.
    `scored` hears how many verdicts of how many are done; imports that share a `gold` share its
    time.

    Raises UsageError with the reason why it is refused.
    """
    with tempfile.TemporaryDirectory(prefix="evalcore-bundle-") as scratch:
        made = reader.read(bundle, Path(scratch) / "unpacked")
    if dataset and len(made.spec.benchmarks) != 1:
        raise UsageError("--dataset is for a bundle of one benchmark; drop it")
    benchmarks = _benchmarks(made)
    try:
        checks.check(made, benchmarks)
        with stage(settings) as staged:
            cases = {
                one.key: at_hand.find(
                    benchmarks[one.key], one, checks.samples_of(made, one), settings, dataset
                )
                for one in made.spec.benchmarks
            }
            check = gold or GoldCheck(settings, progress)
            reports = _require_gold(made, benchmarks, cases, check)
            parts = _parts(made, benchmarks, cases, progress, scored)
            run_id, told = published(made, parts, benchmarks, staged.shelf)
            became: Became = "unchanged"
            if not _stands(settings, run_id, told):
                became = staged.add(run_id, told)
                staged.commit()
    finally:
        for benchmark in benchmarks.values():
            benchmark.close()
    scores = tuple(
        _scored(part, told.scores[part.spec.key], reports[part.spec.key]) for part in parts
    )
    return ImportedBundle(run_id, became, made.spec.run_id, made.spec.target.key, scores)


def _stands(settings: Settings, run_id: str, told: Published) -> bool:
    """Whether the run is in the store with the same scores and levels; logs of programs that were
    run again may differ."""
    folder = RunFolder(settings.runs_dir / run_id)
    held = published_file.read_published(folder)
    indexed = {header.run_id for header in open_index(settings).headers()}
    return held is not None and held.scores == told.scores and run_id in indexed


def _benchmarks(made: Contents) -> dict[str, Benchmark]:
    """Raises UsageError for a benchmark or an option that is unknown here."""
    try:
        return {one.key: create_benchmark(one.key, one.options) for one in made.spec.benchmarks}
    except UsageError as error:
        raise UsageError(f"{made.source}: refused: {error}") from None


def _require_gold(
    made: Contents,
    benchmarks: Mapping[str, Benchmark],
    cases: Mapping[str, Cases],
    check: GoldCheck,
) -> dict[str, GoldReport]:
    """What engines say of the expected answers, by benchmark. Raises UsageError for contradicted
    ones."""
    try:
        return {
            one.key: check.require(benchmarks[one.key], cases[one.key], made.samples)
            for one in made.spec.benchmarks
        }
    except UsageError as error:
        raise UsageError(f"{made.source}: refused: {error}") from None


def _parts(
    made: Contents,
    benchmarks: Mapping[str, Benchmark],
    cases: Mapping[str, Cases],
    progress: Callable[[str], None],
    scored: Callable[[int, int], None],
) -> list[Part]:
    parts, total = [], len(made.verdicts)
    count = itertools.count(1)
    for spec in made.spec.benchmarks:
        progress(f"scoring {spec.samples} cases of {spec.key} again")
        same = cases[spec.key]
        rescored = rescore(
            made, spec, benchmarks[spec.key], same, lambda: scored(next(count), total)
        )
        parts.append(Part(spec, same, rescored, made.summary.benchmarks[spec.key]))
    return parts


def _scored(part: Part, told: PublishedScore, gold: GoldReport) -> Scored:
    return Scored(
        benchmark=part.spec.key,
        level=told.level,
        claimed=told.claimed,
        recomputed=told.recomputed,
        verdicts=len(part.rescored.verdicts),
        equal=part.rescored.equal,
        kept=part.rescored.reasons,
        known_cases=len(part.cases.known),
        unconfirmed=gold.unconfirmed,
        reason=gold.reason,
    )
