"""The cases of a published score as journals, with their score: made once per distinct report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from evalcore.exchange.scale import logs
from evalcore.exchange.scale.capabilities import card_of
from evalcore.exchange.scale.cases import Graded, graded
from evalcore.exchange.scale.recompute import first_of_each
from evalcore.exchange.scale.shelf import Shelf
from evalcore.exchange.scale.survey import Survey
from evalcore.exchange.scale.tree import digest_of, read_report
from evalcore.records import BenchmarkScore, Record, content_hash, to_json
from evalcore.runner.column import dataset_hash
from evalcore.scoring.benchmark import score_benchmark
from evalcore.store.run_folder import StoredEpisode, StoredSample, StoredVerdict

Weights = Mapping[str, float]


class Contents(Record, frozen=True):
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


class Bindery:
    """Makes contents, and remembers them by the hashes of all that they are made from."""

    def __init__(self, found: Survey, shelf: Shelf) -> None:
        self._found, self._shelf = found, shelf
        self._made: dict[str, Contents] = {}

    def contents(
        self, capability: str, report: Path, log_paths: Mapping[str, Path], weights: Weights
    ) -> Contents:
        """The contents of a report that the survey has seen; `log_paths` by metric, `weights` of
        the metrics to count. Raises DatasetError for a log that is none."""
        digests = {metric: digest_of(path) for metric, path in log_paths.items()}
        parts = [capability, self._found.reports[report].digest, digests, dict(weights)]
        key = content_hash(parts)
        if key not in self._made:
            self._made[key] = self._make(capability, report, log_paths, weights)
        return self._made[key]

    def _make(
        self, capability: str, report: Path, log_paths: Mapping[str, Path], weights: Weights
    ) -> Contents:
        read = {metric: logs.read(path) for metric, path in log_paths.items()}
        votes = {metric: dict(logs.by_case(log.votes)) for metric, log in read.items()}
        metrics = [p.metric for p in first_of_each(self._found.reports[report].parts, weights)]
        rows = list(graded(capability, read_report(report).indicators, metrics, votes))
        put = self._shelf.put
        return Contents(
            samples=put(_lines([StoredSample(capability, row.sample) for row in rows])),
            episodes=put(_lines([StoredEpisode(capability, row.episode) for row in rows])),
            verdicts=put(_lines([StoredVerdict(capability, row.verdict) for row in rows])),
            dataset_hash=dataset_hash(row.sample for row in rows),
            score=_score(capability, rows, {metric: weights[metric] for metric in metrics}),
            judges=tuple(sorted({judge for log in read.values() for judge in log.judges})),
            graded_at=max((log.timestamp for log in read.values()), default=""),
        )


def _score(capability: str, rows: list[Graded], weights: Weights) -> BenchmarkScore:
    samples, verdicts = [row.sample for row in rows], [row.verdict for row in rows]
    score = score_benchmark(card_of(capability), samples, verdicts, weights)
    return msgspec.structs.replace(score, level=1)


def _lines(records: list[Record]) -> bytes:
    return b"".join(to_json(record) + b"\n" for record in records)
