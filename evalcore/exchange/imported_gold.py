"""Expected answers of what comes from elsewhere, asked of engines before anything of it stays.

Cases that are those of a bundled or fetched data set need nobody's word; all others are run in a
process of its own (`runner.gold`), once for equal cases. Contradicted ones are refused. Where an
engine or time is lacking they are unconfirmed, which is said and refuses nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from evalcore.benchmarks.base import Benchmark
from evalcore.errors import UsageError
from evalcore.exchange.bundle import local_match
from evalcore.exchange.bundle.checks import is_bare
from evalcore.exchange.bundle.imported_run import PUBLISHER
from evalcore.exchange.bundle.local_match import MatchedCases
from evalcore.records import Sample
from evalcore.runner.gold import (
    IMPORT_TIMEOUT,
    GoldProblem,
    GoldReport,
    compute_gold_key,
    confirm_gold,
    load_gold_report,
)
from evalcore.runner.plan import create_benchmark, find_gold_location, is_confirmable
from evalcore.runner.upload_records import DatasetLocation
from evalcore.settings import Settings
from evalcore.store import published
from evalcore.store.run_folder import RunFolder, StoredSample

_SAMPLES = "samples.jsonl"


class GoldCheck:
    """The checks of one import, which share their time: `seconds` for all of them."""

    def __init__(
        self, settings: Settings, progress: Callable[[str], None], seconds: float = IMPORT_TIMEOUT
    ) -> None:
        self._settings, self._progress = settings, progress
        self._seconds = seconds
        self._reports: dict[str, GoldReport] = {}

    def require_cases(
        self, benchmark: Benchmark, cases: MatchedCases, lines: Iterable[StoredSample]
    ) -> GoldReport:
        """What engines say of the cases of a benchmark; `lines` are those of the run's samples.

        Raises UsageError naming line, field and case of the first contradicted answer.
        """
        samples = _select_unconfirmed(benchmark, cases, self._settings)
        if not samples:
            return GoldReport()
        report = self._load_or_confirm(
            DatasetLocation(benchmark.key, "", benchmark.options), samples
        )
        if report.contradicted:
            numbers = {
                (line.benchmark, line.sample.key): number for number, line in enumerate(lines, 1)
            }
            first = report.contradicted[0]
            raise UsageError(
                _format_contradiction(
                    f"{_SAMPLES}:{numbers[benchmark.key, first.sample]}", report.contradicted
                )
            )
        return report

    def require_run(self, folder: RunFolder) -> str:
        """Check a run that was run elsewhere, or came in as a bundle there; returns what stays
        unconfirmed, "" for nothing.

        Figures of a publisher are claims over cases of its own, which nobody here can confirm; nor
        those of a benchmark that is not installed. Raises UsageError as `require_cases` does.
        """
        source = published.read_published(folder)
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
                samples = [line.sample for line in lines if line.benchmark == spec.key]
                cases = local_match.match_local_cases(benchmark, spec, samples, self._settings)
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
        if report.contradicted:
            raise UsageError(
                _format_contradiction(report.contradicted[0].source, report.contradicted)
            )
        if report.unconfirmed:
            return f"{report.unconfirmed} expected answers are not confirmed: {report.reason}"
        return ""

    def _load_or_confirm(self, location: DatasetLocation, samples: list[Sample]) -> GoldReport:
        """Equal cases under equal options are asked about once."""
        key = compute_gold_key(location, samples)
        if key not in self._reports:
            self._reports[key] = load_gold_report(self._settings, key) or self._confirm_samples(
                location, samples
            )
        return self._reports[key]

    def _confirm_samples(self, location: DatasetLocation, samples: Iterable[Sample]) -> GoldReport:
        asked = tuple(samples)
        count = f"{len(asked)} cases" if asked else "a data set"
        self._progress(f"confirming the expected answers of {count} of {location.benchmark}")
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
    confirmed = (
        bool(cases.dataset_path)
        and find_gold_location(benchmark, Path(cases.dataset_path), settings) is None
    )
    exempt = cases.matching_keys if confirmed else frozenset[str]()
    return [sample for sample in cases.samples if sample.key not in exempt and not is_bare(sample)]


def _format_contradiction(source: str, problems: tuple[GoldProblem, ...]) -> str:
    file, _, line = source.rpartition(":")
    location = f"{file}, line {line}, " if file else ""
    first, more = problems[0], f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{location}field {first.field or 'reference'}: {first.sample}: {first.problem}{more}"
