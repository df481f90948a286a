"""Import bundles: check them, confirm their expected answers with engines, score them again, and
put the runs into the store."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from evalcore.benchmarks.base import Benchmark
from evalcore.errors import UsageError
from evalcore.exchange.bundle import checks
from evalcore.exchange.bundle.checks import MatchedCases, is_bare
from evalcore.exchange.bundle.contents import BundleContents, read_bundle, refuse_errors
from evalcore.exchange.bundle.imported_run import (
    PUBLISHER,
    ScoredBenchmark,
    build_bundle_run,
    rescore_bundle,
)
from evalcore.exchange.staging import ImportOutcome, open_import_stage
from evalcore.i18n import Note
from evalcore.records import ProgressCallback, Record, Sample
from evalcore.runner.gold import (
    IMPORT_TIMEOUT,
    GoldProblem,
    GoldReport,
    compute_gold_key,
    confirm_gold,
    load_gold_report,
)
from evalcore.runner.plan import create_benchmark, find_gold_location, is_confirmable
from evalcore.runner.uploads import DatasetLocation
from evalcore.settings import Settings
from evalcore.store import run_folder
from evalcore.store.index import open_index
from evalcore.store.run_folder import Published, PublishedScore, RunFolder, StoredSample

# Expected answers of what comes from elsewhere, asked of engines before anything of it stays.
# Cases that are those of a bundled or fetched data set need nobody's word; all others are run in
# a process of its own (`runner.gold`), once for equal cases. Contradicted ones are refused. Where
# an engine or time is lacking they are unconfirmed, which is said and refuses nothing.

_SAMPLES = "samples.jsonl"


class GoldCheck:
    """The checks of one import, which share their time: `seconds` for all of them."""

    def __init__(
        self, settings: Settings, progress: ProgressCallback, seconds: float = IMPORT_TIMEOUT
    ) -> None:
        self._settings, self._progress = settings, progress
        self._seconds = seconds
        self._reports: dict[str, GoldReport] = {}

    def require_cases(
        self, benchmark: Benchmark, cases: MatchedCases, lines: Iterable[StoredSample]
    ) -> GoldReport:
        """What engines say of the cases of a benchmark; `lines` are those of the run's samples.
        Raises UsageError naming line, field and case of the first contradicted answer."""
        samples = _select_unconfirmed(benchmark, cases, self._settings)
        if not samples:
            return GoldReport()
        location = DatasetLocation(benchmark.key, "", benchmark.options)
        report = self._load_or_confirm(location, samples)
        if report.contradicted:
            case = (benchmark.key, report.contradicted[0].sample)
            keys = ((line.benchmark, line.sample.key) for line in lines)
            number = next(number for number, key in enumerate(keys, 1) if key == case)
            raise UsageError(_format_contradiction(f"{_SAMPLES}:{number}", report.contradicted))
        return report

    def require_run(self, folder: RunFolder) -> str:
        """Check a run that was run elsewhere, or came in as a bundle there; returns what stays
        unconfirmed, "" for nothing.

        Figures of a publisher are claims over cases of its own, which nobody here can confirm; nor
        those of a benchmark that is not installed. Raises UsageError as `require_cases` does.
        """
        source = run_folder.read_published(folder)
        if source is not None and source.publisher != PUBLISHER:
            return ""
        lines = list(folder.read_samples())
        notes = []
        for spec in folder.read_spec().benchmarks:
            try:
                benchmark = create_benchmark(spec.key, spec.options)
            except UsageError as error:
                notes.append(f"{spec.key}: no expected answer is confirmed: {error}")
                continue
            try:
                checks.check_code_options(benchmark)
                samples = [line.sample for line in lines if line.benchmark == spec.key]
                cases = checks.match_local_cases(benchmark, spec, samples, self._settings)
                report = self.require_cases(benchmark, cases, lines)
            finally:
                benchmark.close()
            if report.unconfirmed:
                notes.append(
                    f"{spec.key}: {report.unconfirmed} of {len(samples)} expected answers are not "
                    f"confirmed: {report.reason}"
                )
        return "; ".join(notes)

    def require_dataset(self, benchmark_key: str, folder: Path) -> str:
        """Check a data set in a folder; returns what stays unconfirmed, "" for nothing. Raises
        UsageError naming file, line, field and case of the first contradicted answer."""
        try:
            benchmark = create_benchmark(benchmark_key, {})
            benchmark.close()
            location = find_gold_location(benchmark, folder, self._settings)
        except UsageError as error:
            return f"no expected answer is confirmed: {error}"
        if location is None:
            return ""
        report = self._confirm_samples(location, ())
        if problems := report.contradicted:
            raise UsageError(_format_contradiction(problems[0].source, problems))
        if report.unconfirmed:
            return f"{report.unconfirmed} expected answers are not confirmed: {report.reason}"
        return ""

    def _load_or_confirm(self, location: DatasetLocation, samples: list[Sample]) -> GoldReport:
        """Equal cases under equal options are asked about once."""
        key = compute_gold_key(location, samples)
        if key not in self._reports:
            stored = load_gold_report(self._settings, key)
            self._reports[key] = stored or self._confirm_samples(location, samples)
        return self._reports[key]

    def _confirm_samples(self, location: DatasetLocation, samples: Iterable[Sample]) -> GoldReport:
        asked = tuple(samples)
        self._progress(Note("confirming_answers", benchmark=location.benchmark))
        began = time.monotonic()
        report = confirm_gold(location, self._settings, (), max(self._seconds, 0.0), asked)
        self._seconds -= time.monotonic() - began
        return report


def _select_unconfirmed(
    benchmark: Benchmark, cases: MatchedCases, settings: Settings
) -> list[Sample]:
    """The cases whose expected answers engines can confirm and nobody has; bare ones have none."""
    if not is_confirmable(benchmark):
        return []
    path = cases.dataset_path
    confirmed = path and find_gold_location(benchmark, Path(path), settings) is None
    exempt = cases.matching_keys if confirmed else frozenset[str]()
    return [sample for sample in cases.samples if sample.key not in exempt and not is_bare(sample)]


def _format_contradiction(source: str, problems: tuple[GoldProblem, ...]) -> str:
    file, _, line = source.rpartition(":")
    location = f"{file}, line {line}, " if file else ""
    first, more = problems[0], f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{location}field {first.field or 'reference'}: {first.sample}: {first.problem}{more}"


# Taking a bundle in: open, check, score again, and only then one run comes into the store.
# A bundle is refused as a whole, with the reason, and nothing is changed then. The run id follows
# from the contents, so that a second import of the same bundle changes nothing.


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
    """What became of a bundle; `source_run` is what the run was called where it was made, `signer`
    the fingerprint of the key that sealed it, "" without a seal."""

    run: str
    became: ImportOutcome
    source_run: str
    target: str
    scores: tuple[ScoredClaim, ...]
    signer: str = ""
    sealed_at: str = ""


def import_bundle(
    bundle: Path,
    settings: Settings,
    dataset: str = "",
    progress: ProgressCallback = print,
    scored: Callable[[int, int], None] = lambda done, total: None,
    gold: GoldCheck | None = None,
) -> ImportedBundle:
    """Import one bundle; `dataset`, a path or name, says where its cases are to be found here.
    `scored` hears how many verdicts of how many are done; imports that share a `gold` share its
    time.

    Raises UsageError with the reason why it is refused.
    """
    with tempfile.TemporaryDirectory(prefix="evalcore-bundle-") as scratch:
        contents = read_bundle(bundle, Path(scratch) / "unpacked")
    if dataset and len(contents.spec.benchmarks) != 1:
        raise UsageError(Note("cli_bundle_one_benchmark"))
    specs = contents.spec.benchmarks
    with refuse_errors(contents.source):
        benchmarks = {spec.key: create_benchmark(spec.key, spec.options) for spec in specs}
    try:
        checks.check_bundle(contents, benchmarks)
        with open_import_stage(settings) as staged:
            cases = {}
            for spec in specs:
                samples = checks.select_benchmark_samples(contents, spec)
                cases[spec.key] = checks.match_local_cases(
                    benchmarks[spec.key], spec, samples, settings, dataset
                )
            check = gold or GoldCheck(settings, progress)
            with refuse_errors(contents.source):
                reports = {
                    key: check.require_cases(benchmarks[key], cases[key], contents.samples)
                    for key in benchmarks
                }
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
    return ImportedBundle(
        run_id,
        became,
        contents.spec.run_id,
        contents.spec.target.key,
        scores,
        signer=contents.seal.signer if contents.seal else "",
        sealed_at=contents.seal.sealed_at if contents.seal else "",
    )


def _is_already_stored(settings: Settings, run_id: str, published: Published) -> bool:
    """Whether the run is in the store with the same scores and levels; logs of programs that were
    run again may differ. A first seal is new, another key's is not."""
    folder = RunFolder(settings.runs_dir / run_id)
    held = run_folder.read_published(folder)
    if held is None or ("seal" in published.facts and "seal" not in held.facts):
        return False
    indexed = {header.run_id for header in open_index(settings).headers()}
    return held.scores == published.scores and run_id in indexed


def _score_benchmarks(
    contents: BundleContents,
    benchmarks: Mapping[str, Benchmark],
    cases: Mapping[str, MatchedCases],
    progress: ProgressCallback,
    scored: Callable[[int, int], None],
) -> list[ScoredBenchmark]:
    parts, total = [], len(contents.verdicts)
    count = itertools.count(1)
    for spec in contents.spec.benchmarks:
        progress(Note("scoring_again", count=spec.samples, benchmark=spec.key))
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
