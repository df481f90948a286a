"""The cases of a published score as journals, with their score: made once per distinct report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from evalcore.exchange.scale import logs
from evalcore.exchange.scale.blob_store import BlobStore
from evalcore.exchange.scale.capabilities import build_scale_card
from evalcore.exchange.scale.cases import (
    GradedCase,
    build_graded_cases,
    build_scale_sample,
    select_case_rows,
)
from evalcore.exchange.scale.month_scan import MonthScan
from evalcore.exchange.scale.tree import digest_of, read_report
from evalcore.records import BenchmarkScore, Record, Sample, content_hash, to_json
from evalcore.runner.column import dataset_hash
from evalcore.scoring.benchmark import score_benchmark
from evalcore.store.run_folder import StoredEpisode, StoredSample, StoredVerdict

Weights = Mapping[str, float]
#: By metric the cases that it consists of, each with a report that holds it.
Declared = Mapping[str, Mapping[str, Path]]


class CapabilityContents(Record, frozen=True):
    """Journals as digests on the shelf, and what is computed from them; `score` is of no column.

    `judges` and `graded_at` are what the process logs say, empty without logs.
    """

    samples: str
    episodes: str
    verdicts: str
    dataset_hash: str
    score: BenchmarkScore
    judges: tuple[str, ...]
    graded_at: str


class ContentsBuilder:
    """Makes contents, and remembers them by the hashes of all that they are made from."""

    def __init__(self, scan: MonthScan, blobs: BlobStore) -> None:
        self._scan, self._blobs = scan, blobs
        self._contents_by_key: dict[str, CapabilityContents] = {}

    def build_contents(
        self,
        capability: str,
        report: Path,
        log_paths: Mapping[str, Path],
        weights: Weights,
        declared: Declared,
    ) -> CapabilityContents:
        """The contents of a report that the survey has seen; `log_paths` by metric, `weights` of
        the metrics to count. A declared case that the report lacks is a sample without a verdict:
        it was dropped, and nobody knows what became of it. Raises DatasetError for a log that is
        none."""
        digests = {metric: digest_of(path) for metric, path in log_paths.items()}
        missing = self._find_missing_cases(report, declared)
        sources = {metric: self._collect_digests(cases) for metric, cases in missing.items()}
        cases = {metric: sorted(ids) for metric, ids in declared.items()}
        digest = self._scan.reports[report].digest
        key = content_hash([capability, digest, digests, dict(weights), cases, sources])
        if key in self._contents_by_key:
            return self._contents_by_key[key]
        logs_by_metric = {metric: logs.read_process_log(path) for metric, path in log_paths.items()}
        votes = {
            metric: dict(logs.group_votes(log.votes)) for metric, log in logs_by_metric.items()
        }
        rows = list(build_graded_cases(capability, read_report(report).indicators, declared, votes))
        samples = [*(row.sample for row in rows), *_samples_elsewhere(missing)]
        put = self._blobs.put
        self._contents_by_key[key] = contents = CapabilityContents(
            samples=put(_encode_records([StoredSample(capability, sample) for sample in samples])),
            episodes=put(_encode_records([StoredEpisode(capability, row.episode) for row in rows])),
            verdicts=put(_encode_records([StoredVerdict(capability, row.verdict) for row in rows])),
            dataset_hash=dataset_hash(samples),
            score=_score_contents(capability, samples, rows, weights),
            judges=tuple(
                sorted({judge for log in logs_by_metric.values() for judge in log.judges})
            ),
            graded_at=max((log.timestamp for log in logs_by_metric.values()), default=""),
        )
        return contents

    def _find_missing_cases(self, report: Path, declared: Declared) -> dict[str, dict[str, Path]]:
        """The declared cases that a report lacks, by metric."""
        held: dict[str, set[str]] = {}
        for each in self._scan.reports[report].indicators:
            held.setdefault(each.metric, {row.id for row in each.rows})
        return {
            metric: {case: cases[case] for case in sorted(cases.keys() - held.get(metric, set()))}
            for metric, cases in declared.items()
        }

    def _collect_digests(self, cases: Mapping[str, Path]) -> dict[str, str]:
        return {case: self._scan.reports[path].digest for case, path in cases.items()}


def _samples_elsewhere(missing: Declared) -> list[Sample]:
    """The missing cases as other reports of the month have them."""
    by_report: dict[Path, dict[str, list[str]]] = {}
    for metric, cases in missing.items():
        for case, path in cases.items():
            by_report.setdefault(path, {}).setdefault(metric, []).append(case)
    return [
        build_scale_sample(metric, row)
        for path, cases in by_report.items()
        for metric, row in select_case_rows(read_report(path).indicators, cases)
    ]


def _score_contents(
    capability: str, samples: list[Sample], rows: list[GradedCase], weights: Weights
) -> BenchmarkScore:
    verdicts = [row.verdict for row in rows]
    score = score_benchmark(build_scale_card(capability), samples, verdicts, weights)
    return msgspec.structs.replace(score, level=1)


def _encode_records(records: list[Record]) -> bytes:
    return b"".join(to_json(record) + b"\n" for record in records)
