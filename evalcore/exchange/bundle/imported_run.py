"""One run made of a bundle: its records, its journals, and the claim beside what is counted here.

It stands on boards of its own, with others that were handed in over the same columns, and under an
identity of its own, so that no run made here is ever joined with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from evalcore.benchmarks.base import Benchmark
from evalcore.errors import IndexFileError, UsageError
from evalcore.exchange.bundle.checks import is_bare
from evalcore.exchange.bundle.contents import BundleContents
from evalcore.exchange.bundle.local_match import MatchedCases
from evalcore.exchange.bundle.rescored import RescoredBundle
from evalcore.exchange.scale.blob_store import BlobStore
from evalcore.records import (
    BenchmarkScore,
    BenchmarkSpec,
    Record,
    RunSpec,
    RunState,
    RunSummary,
    TargetSpec,
    Verdict,
    content_hash,
    to_json,
)
from evalcore.runner.plan import with_column_key
from evalcore.runner.summary import compute_totals, describe_column
from evalcore.store.headers import build_run_header
from evalcore.store.published import Flag, Published, PublishedScore
from evalcore.store.run_folder import StoredSample, StoredVerdict

PUBLISHER = "bundle"
SCORING = "bundle"
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9_.-]+")
_SCORE_TOLERANCE = 1e-6
_CASES_NAMED = 3


class ScoredBenchmark(Record, frozen=True):
    """One benchmark of a bundle, scored here."""

    spec: BenchmarkSpec
    cases: MatchedCases
    rescored: RescoredBundle
    claimed: BenchmarkScore

    def compute_level(self, score: float | None) -> int:
        """0 where texts are missing, so that nobody could check; 2 where the score and every
        verdict came out equal here, on cases that are at hand; else 1."""
        if any(map(is_bare, self.cases.samples)):
            return 0
        equal = self.rescored.equal == len(self.rescored.verdicts) and not self.differs_from_claim(
            score
        )
        return 2 if equal and len(self.cases.matching_keys) == len(self.cases.samples) else 1

    def differs_from_claim(self, score: float | None) -> bool:
        if score is None or self.claimed.score is None:
            return score != self.claimed.score
        return abs(self.claimed.score - score) > _SCORE_TOLERANCE


def run_id_of(contents: BundleContents) -> str:
    """Readable, and another for every bundle that holds anything else."""
    plain = _NOT_IN_A_NAME.sub("-", contents.spec.target.key.lower())[:40]
    digest = content_hash(contents.manifest.files, 12)
    return f"bundle-{contents.spec.created_at[:10]}-{plain}-{digest}"


def build_bundle_run(
    contents: BundleContents,
    parts: Sequence[ScoredBenchmark],
    benchmarks: Mapping[str, Benchmark],
    blobs: BlobStore,
) -> tuple[str, Published]:
    """The run's id and the whole run, its files on the shelf. Raises UsageError for one that is too
    large for the index."""
    run = _build_imported_spec(contents, parts)
    try:
        summary, scores = _build_bundle_summary(contents, run, parts, benchmarks)
        build_run_header(run, summary)
    except (IndexFileError, UsageError) as error:
        raise UsageError(f"{contents.source}: refused: {error}") from None
    files = {
        name: blobs.put(_encode_records(lines))
        for name, lines in _build_journal_files(contents, parts).items()
    }
    files |= {
        "spec.json": blobs.put(to_json(run)),
        "summary.json": blobs.put(to_json(summary)),
    }
    facts = {"run": contents.spec.run_id, "versions": contents.spec.versions, "card": contents.card}
    return run.run_id, Published(
        publisher=PUBLISHER,
        month=run.created_at[:7],
        files=files,
        scores=scores,
        facts=facts | {"git_commit": contents.spec.git_commit},
    )


def _build_imported_spec(contents: BundleContents, parts: Sequence[ScoredBenchmark]) -> RunSpec:
    """The spec as imported; the command is left out, for it is somebody else's to be pasted."""
    specs = [_build_column_spec(part) for part in parts]
    board = f"bundle-{content_hash(sorted(spec.column for spec in specs), 8)}"
    target = contents.spec.target
    return msgspec.structs.replace(
        contents.spec,
        run_id=run_id_of(contents),
        target=TargetSpec(target.key, target.options | {"imported": True}),
        benchmarks=tuple(msgspec.structs.replace(spec, dataset=board) for spec in specs),
        origin="imported",
        command="",
        note=f"Handed in as a bundle of run {contents.spec.run_id}",
    )


def _build_column_spec(part: ScoredBenchmark) -> BenchmarkSpec:
    """Of a column that is none of ours; whether it is the full set is looked up where it can be."""
    spec, rescored = part.spec, part.rescored
    return with_column_key(
        msgspec.structs.replace(
            spec,
            prompt_version=f"bundle {spec.prompt_version}",
            scorer_version=spec.scorer_version + (" mixed" if rescored.differing else ""),
            full=spec.full and (not part.cases.matching_keys or part.cases.covers_dataset),
        )
    )


def _build_bundle_summary(
    contents: BundleContents,
    run: RunSpec,
    parts: Sequence[ScoredBenchmark],
    benchmarks: Mapping[str, Benchmark],
) -> tuple[RunSummary, dict[str, PublishedScore]]:
    scores: dict[str, BenchmarkScore] = {}
    published_scores: dict[str, PublishedScore] = {}
    for part, spec in zip(parts, run.benchmarks, strict=True):
        benchmark_score = _aggregate_verdicts(part, spec, benchmarks[spec.key], run.epochs)
        published_scores[spec.key] = _build_published_score(contents, part, benchmark_score, spec)
        scores[spec.key] = benchmark_score
    complete = all(score.complete for score in scores.values())
    state: RunState = "done" if complete else "incomplete"
    episodes = [line.episode for line in contents.episodes]
    verdicts = [verdict for part in parts for verdict in part.rescored.verdicts]
    return RunSummary(
        run_id=run.run_id,
        target=run.target,
        state=state,
        scoring=SCORING,
        benchmarks=scores,
        totals=compute_totals(episodes, verdicts, 0.0),
        errors=dict(Counter(e.failure.kind for e in episodes if e.failure)),
        created_at=run.created_at,
        finished_at=run.created_at,
        origin="imported",
        epochs=run.epochs,
    ), published_scores


def _aggregate_verdicts(
    part: ScoredBenchmark, spec: BenchmarkSpec, benchmark: Benchmark, epochs: int
) -> BenchmarkScore:
    """Raises UsageError where a verdict that was kept lacks what the score is made of."""
    try:
        benchmark_score = benchmark.aggregate(
            spec.apply_weights(part.cases.samples),
            part.rescored.verdicts,
            spec.weights,
            epochs=epochs,
            column=spec.column,
            full=spec.full,
            label=describe_column(msgspec.structs.replace(spec, dataset=part.spec.dataset)),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise UsageError(f"the verdicts on {spec.key} cannot be added up: {problem}") from None
    return msgspec.structs.replace(
        benchmark_score,
        level=part.compute_level(benchmark_score.score),
        views=benchmark_score.views | _claimed_view(part.claimed),
        self_judged=part.claimed.self_judged,
    )


def _claimed_view(claimed: BenchmarkScore) -> dict[str, float]:
    return {} if claimed.score is None else {"claimed": claimed.score}


def _build_published_score(
    contents: BundleContents,
    part: ScoredBenchmark,
    benchmark_score: BenchmarkScore,
    spec: BenchmarkSpec,
) -> PublishedScore:
    """Raises UsageError for a claim that the same programs do not make of the same verdicts."""
    claimed, level = part.claimed.score, part.compute_level(benchmark_score.score)
    differs = part.differs_from_claim(benchmark_score.score)
    if differs and part.rescored.same_programs:
        raise UsageError(
            f"summary.json claims {_format_claim_score(claimed, 4)} for {spec.key}, its "
            "verdicts amount to "
            f"{_format_claim_score(benchmark_score.score, 4)}"
        )
    detail = f"{_format_claim_score(claimed, 2)} → {_format_claim_score(benchmark_score.score, 2)}"
    flags = [Flag("score_differs", detail=detail)] if differs else []
    return PublishedScore(
        level=level,
        claimed=claimed,
        recomputed=benchmark_score.score if level else None,
        reading="" if not level else "unexplained" if differs else "exact",
        judges=spec.judges,
        graded_at=contents.summary.finished_at[:10],
        flags=(*flags, *_build_bundle_flags(part, spec)),
    )


def _format_claim_score(score: float | None, decimals: int) -> str:
    return "no score" if score is None else f"{score:.{decimals}f}"


def _build_bundle_flags(part: ScoredBenchmark, spec: BenchmarkSpec) -> Iterable[Flag]:
    """What a reader should know of a benchmark, in the words that pages have texts for."""
    total = len(part.rescored.verdicts)
    if differing := part.rescored.differing:
        named = ", ".join(differing[:_CASES_NAMED])
        yield Flag("verdict_differs", detail=f"{len(differing)} / {total}: {named}")
    for reason, count in sorted(part.rescored.reasons.items()):
        yield Flag("not_rescored", detail=f"{count} / {total}: {reason[:200]}")
    if unknown := len(part.cases.samples) - len(part.cases.matching_keys):
        yield Flag("unknown_cases", detail=f"{unknown} / {len(part.cases.samples)}")
    if part.cases.differing:
        yield Flag("outdated_case", detail=str(len(part.cases.differing)))
    if part.spec.full and not spec.full:
        yield Flag("not_full", detail=str(len(part.cases.samples)))


def _build_journal_files(
    contents: BundleContents, parts: Sequence[ScoredBenchmark]
) -> dict[str, Sequence[Record]]:
    files: dict[str, Sequence[Record]] = {
        "samples.jsonl": [
            StoredSample(part.spec.key, sample) for part in parts for sample in part.cases.samples
        ]
    }
    for part in parts:
        key = part.spec.key
        verdicts: Sequence[Verdict] = part.rescored.verdicts
        files[f"generations/{key}.jsonl"] = [e for e in contents.episodes if e.benchmark == key]
        files[f"verdicts/{SCORING}/{key}.jsonl"] = [
            StoredVerdict(key, verdict) for verdict in verdicts
        ]
    return files


def _encode_records(records: Sequence[Record]) -> bytes:
    return b"".join(to_json(record) + b"\n" for record in records)
