"""Scoring predictions that somebody already has: one JSON line in, one verdict line out.

Input lines: {"id", "prediction"[, "metric"][, "mode"][, "votes"]}: the prediction is text or an
already parsed answer, the mode how it was asked for, where a benchmark knows several. Output lines
keep the order of the input. No target is asked and no engine started unless the benchmark's scorer
itself needs one.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from evalcore import catalog
from evalcore.benchmarks.base import Benchmark, DatasetSource
from evalcore.catalog import BenchmarkCard
from evalcore.errors import DatasetError, FileError, UsageError
from evalcore.i18n import Note
from evalcore.intake.json_text import read_rows
from evalcore.judges import recorded
from evalcore.records import Episode, Record, Sample, Verdict, to_json
from evalcore.runner.gold import require_gold
from evalcore.runner.plan import create_benchmark, find_dataset, find_gold_location
from evalcore.runner.verdicts import compute_verdict
from evalcore.settings import Settings
from evalcore.store.run_folder import write_atomic


class ScoreRequest(Record, frozen=True):
    """What `evalcore score` was asked. `metric` is the default for lines without one."""

    benchmark: str
    predictions: str
    dataset: str = ""
    metric: str = ""
    options: dict[str, Any] = {}
    evidence: bool = False


class Prediction(Record, frozen=True):
    """One input line, checked."""

    line: int
    id: str
    metric: str
    answer: Any
    extras: dict[str, Any] = {}


def score_file(request: ScoreRequest, out: Path, settings: Settings) -> dict[str, int]:
    """Score a file of predictions into `out`; returns the counts by outcome.

    Raises DatasetError naming the line and field of a bad prediction or of a wrong expected answer,
    before `out` is touched.
    """
    card = catalog.benchmark_card(request.benchmark)
    benchmark = create_benchmark(card.key, request.options)
    path = find_dataset(request.dataset, card, settings)
    metrics = (card.find_metric(request.metric).key,) if request.metric else ()
    samples = list(benchmark.load_dataset(DatasetSource(path=str(path), metrics=metrics)))
    if gold_location := find_gold_location(benchmark, path, settings):
        for line in require_gold({card.key: gold_location}, {card.key: samples}, settings):
            print(f"evalcore: {line}", file=sys.stderr)
    source, by_id = Path(request.predictions), _group_by_id(samples)
    pairs = [
        (prediction, _find_sample(source, prediction, by_id))
        for prediction in _read_predictions(source, card, request.metric)
    ]
    try:
        episodes = [
            (s, _build_prediction_episode(source, benchmark, s, prediction))
            for prediction, s in pairs
        ]
        verdicts = asyncio.run(_score_episodes(benchmark, episodes))
    finally:
        benchmark.close()
    content = b"".join(
        to_json(_format_verdict_line(v, request.evidence), ordered=False) + b"\n" for v in verdicts
    )
    try:
        if out.exists() and not out.is_file():
            out.write_bytes(content)  # a pipe, or a device
        else:
            write_atomic(out, content)
    except OSError as error:
        raise FileError(f"--out {out}", error) from None
    return dict(Counter(verdict.outcome for verdict in verdicts))


def _build_prediction_episode(
    path: Path, benchmark: Benchmark, sample: Sample, prediction: Prediction
) -> Episode:
    try:
        return benchmark.episode_from_answer(sample, prediction.answer, prediction.extras)
    except UsageError as error:
        field = "mode" if "mode" in prediction.extras else "prediction"
        raise DatasetError(path, prediction.line, field, str(error)) from None


async def _score_episodes(
    benchmark: Benchmark, pairs: list[tuple[Sample, Episode]]
) -> list[Verdict]:
    return [await compute_verdict(benchmark, sample, episode) for sample, episode in pairs]


def _group_by_id(samples: list[Sample]) -> dict[str, list[Sample]]:
    samples_by_id: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        samples_by_id[sample.id].append(sample)
    return samples_by_id


def _read_predictions(path: Path, card: BenchmarkCard, metric: str) -> Iterator[Prediction]:
    for number, row in read_rows(path, drop=True):  # what a model wrote is data
        for field in ("id", "prediction"):
            if field not in row:
                raise DatasetError(path, number, field, Note("upload_is_missing"))
        if not isinstance(row["id"], str | int) or isinstance(row["id"], bool):
            raise DatasetError(path, number, "id", Note("upload_text_integer"))
        _check_votes(path, number, row.get("votes") or [])
        yield Prediction(
            line=number,
            id=str(row["id"]),
            metric=_parse_metric(path, number, card, row) or metric,
            answer=row["prediction"],
            extras={name: row[name] for name in ("mode", "votes") if row.get(name)},
        )


def _check_votes(path: Path, number: int, votes: Any) -> None:
    """Votes are yes or no, or name rules; the benchmark knows which it wants."""
    try:
        recorded.read_votes(votes, by_rules=True)
    except UsageError as error:
        raise DatasetError(path, number, "votes", str(error)) from None


def _parse_metric(path: Path, number: int, card: BenchmarkCard, row: dict[str, Any]) -> str:
    value = row.get("metric")
    if value in (None, ""):
        return ""
    try:
        return card.find_metric(value).key
    except UsageError as error:
        raise DatasetError(path, number, "metric", str(error)) from None


def _find_sample(path: Path, prediction: Prediction, samples: dict[str, list[Sample]]) -> Sample:
    matches = [
        sample
        for sample in samples.get(prediction.id, [])
        if prediction.metric in ("", sample.metric)
    ]
    if not matches:
        of = f" of metric {prediction.metric}" if prediction.metric else ""
        raise DatasetError(path, prediction.line, "id", Note("no_case", id=prediction.id, part=of))
    if len(matches) > 1:
        metrics = ", ".join(sample.metric for sample in matches)
        problem = f"is needed, case {prediction.id!r} belongs to several: {metrics}"
        raise DatasetError(path, prediction.line, "metric", problem)
    return matches[0]


def _format_verdict_line(verdict: Verdict, evidence: bool) -> dict[str, Any]:
    line = {
        "id": verdict.id,
        "metric": verdict.metric,
        "outcome": verdict.outcome,
        "passed": verdict.outcome == "passed",
        "score": verdict.score,
        "views": verdict.views,
        "note": verdict.note,
        "details": verdict.details,
    }
    return line | ({"evidence": msgspec.to_builtins(verdict.evidence)} if evidence else {})
