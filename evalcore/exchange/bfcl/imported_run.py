"""One imported BFCL run: its records and journals, and what was claimed beside what is counted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from evalcore.benchmarks.base import Benchmark
from evalcore.benchmarks.bfcl.aggregate import Tally, group_scores
from evalcore.exchange.bfcl.rescored import CategoryCount, ModelResults, RescoredResults
from evalcore.exchange.scale.blob_store import BlobStore
from evalcore.intake import add_counts
from evalcore.records import (
    BenchmarkScore,
    BenchmarkSpec,
    Record,
    RunSpec,
    RunSummary,
    TargetSpec,
    Totals,
    content_hash,
    to_json,
)
from evalcore.runner.column import dataset_hash
from evalcore.runner.plan import with_column_key
from evalcore.runner.summary import describe_column
from evalcore.store.published import Flag, Published, PublishedScore
from evalcore.store.run_folder import StoredEpisode, StoredSample, StoredVerdict

PUBLISHER = "BFCL"
PREFIX = "bfcl"  # of the keys of its targets and of run ids
SCORING = "published"
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9_.-]+")
_EXACT = 1e-9


def run_id_of(date: str, model: str) -> str:
    """Readable, and different for models that differ in nothing but case or signs."""
    plain = _NOT_IN_A_NAME.sub("-", model.lower())[:45]
    mark = "" if plain == model else f"-{content_hash(model, 8)}"
    return f"{PREFIX}-{date}-{plain}{mark}"


def build_bfcl_run(
    benchmark: Benchmark, results: ModelResults, scored: RescoredResults, blobs: BlobStore
) -> tuple[str, Published]:
    """The run's id and the whole run, its files on the shelf; equal results give equal runs."""
    spec = _build_bfcl_spec(benchmark, results, scored)
    claim = _build_published_score(results, scored)
    score = _build_bfcl_score(benchmark, spec, scored, claim)
    run_id, key = run_id_of(results.date, results.model), benchmark.key
    files: dict[str, Sequence[Record]] = {
        "samples.jsonl": [StoredSample(key, sample) for sample in scored.samples],
        f"generations/{key}.jsonl": [StoredEpisode(key, episode) for episode in scored.episodes],
        f"verdicts/{SCORING}/{key}.jsonl": [StoredVerdict(key, item) for item in scored.verdicts],
    }
    run, summary = _build_bfcl_records(run_id, results, spec, score, scored)
    digests = {name: blobs.put(_encode_records(records)) for name, records in files.items()}
    digests |= {
        "spec.json": blobs.put(to_json(run)),
        "summary.json": blobs.put(to_json(summary)),
    }
    return run_id, Published(
        publisher=PUBLISHER,
        month=results.date[:7],
        files=digests,
        scores={key: claim} if claim else {},
        facts={
            "model": results.model,
            "version": results.version,
            "mode": results.predictions[0].mode,
            "counts": {name: msgspec.to_builtins(item) for name, item in scored.counts.items()},
            "claims": {name: msgspec.to_builtins(item) for name, item in results.claims.items()},
        },
    )


def _build_bfcl_spec(
    benchmark: Benchmark, results: ModelResults, scored: RescoredResults
) -> BenchmarkSpec:
    """Of a column that is none of ours: what the model was asked, upstream's code decided."""
    metrics = tuple(dict.fromkeys(sample.metric for sample in scored.samples))
    return with_column_key(
        BenchmarkSpec(
            key=benchmark.key,
            suite=benchmark.card.suite,
            dataset=f"bfcl-{results.version}-results",
            dataset_hash=dataset_hash(scored.samples),
            options=benchmark.options,
            weights=benchmark.compute_point_weights(scored.samples, benchmark.card.weights),
            prompt_version="upstream",
            scorer_version=benchmark.card.scorer_version,
            column="",
            samples=len(scored.samples),
            full=set(metrics) >= set(benchmark.card.weights),
            metrics=metrics,
        )
    )


def _build_bfcl_score(
    benchmark: Benchmark, spec: BenchmarkSpec, scored: RescoredResults, claim: PublishedScore | None
) -> BenchmarkScore:
    score = benchmark.aggregate(
        scored.samples,
        scored.verdicts,
        spec.weights,
        column=spec.column,
        full=spec.full,
        label=describe_column(spec),
    )
    views = score.views | ({"claimed": claim.claimed} if claim else {})
    return msgspec.structs.replace(score, level=1, views=views)


def _build_bfcl_records(
    run_id: str,
    results: ModelResults,
    spec: BenchmarkSpec,
    score: BenchmarkScore,
    scored: RescoredResults,
) -> tuple[RunSpec, RunSummary]:
    created = f"{results.date}T00:00:00.000+00:00"
    target = TargetSpec(key=f"{PREFIX}:{results.model}")
    run = RunSpec(
        run_id=run_id,
        created_at=created,
        target=target,
        benchmarks=(spec,),
        origin="imported",
        note=f"Answers of official BFCL {results.version} result files, scored here",
    )
    summary = RunSummary(
        run_id=run_id,
        target=target,
        state="done",
        scoring=SCORING,
        benchmarks={spec.key: score},
        totals=_sum_bfcl_usage(scored),
        errors={"retryable": failed} if (failed := _count_failed_requests(scored)) else {},
        created_at=created,
        finished_at=created,
        origin="imported",
    )
    return run, summary


def _sum_bfcl_usage(scored: RescoredResults) -> Totals:
    """Tokens alone: prices and times of somebody else's requests are not known or not ours."""
    counted = [episode.usage for episode in scored.episodes if episode.failure is None]
    return Totals(
        input_tokens=add_counts(0, *(usage.input_tokens for usage in counted)),
        output_tokens=add_counts(0, *(usage.output_tokens for usage in counted)),
        requests=len(scored.episodes),
    )


def _count_failed_requests(scored: RescoredResults) -> int:
    return sum(count.failed for count in scored.counts.values())


def _build_published_score(results: ModelResults, scored: RescoredResults) -> PublishedScore | None:
    """The claim over the categories that were answered, and what upstream's rule counts here."""
    claimed_tallies = {
        name: tally for name, tally in results.claims.items() if name in scored.counts
    }
    if not claimed_tallies:
        return None
    claimed = _combine_tallies(claimed_tallies)
    here = _combine_tallies(
        {
            name: Tally(c.right, c.total)
            for name, c in _select_counts(scored.counts, claimed_tallies)
        }
    )
    exact = all(
        count.classify_claim(claimed_tallies[name]) == "exact"
        for name, count in _select_counts(scored.counts, claimed_tallies)
    )
    flags = list(_build_bfcl_flags(results, scored))
    if abs(claimed - here) > _EXACT:
        flags.insert(0, Flag("score_differs", detail=f"{claimed:.2f} published, {here:.2f} here"))
    return PublishedScore(
        level=1,
        claimed=claimed,
        recomputed=here,
        reading="exact" if exact else "unexplained",
        graded_at=results.date,
        flags=tuple(flags),
    )


def _select_counts(
    counts: Mapping[str, CategoryCount], names: Mapping[str, Tally]
) -> list[tuple[str, CategoryCount]]:
    return [(name, counts[name]) for name in names]


def _combine_tallies(tallies: Mapping[str, Tally]) -> float:
    """0 to 100: upstream's overall score where its categories are all there, else that of the
    single-turn ones, else the share of right answers."""
    groups = group_scores(tallies)
    for name in ("overall", "single_turn"):
        score = groups[name].score
        if score is not None:
            return score
    total = sum(tally.total for tally in tallies.values())
    return 100 * sum(tally.right for tally in tallies.values()) / total


def _build_bfcl_flags(results: ModelResults, scored: RescoredResults) -> Iterator[Flag]:
    """What a reader should know, category by category; the kinds are those of all imports."""
    for name, claim in results.claims.items():
        count = scored.counts.get(name)
        if count is None and name not in scored.unscored:
            yield Flag("no_cases", name, f"{claim.right:g} of {claim.total} published")
        elif count is not None and count.classify_claim(claim) != "exact":
            detail = f"{claim.right:g} of {claim.total} published, {count.right} of {count.total}"
            yield Flag("indicator_score", name, f"{detail} here")
    for name, count in scored.counts.items():
        if count.failed:
            yield Flag("service_error", name, f"{count.failed} failed requests")
    for name, number in scored.renamed.items():
        yield Flag("outdated_case", name, f"{number} matched by number, from ids of v3")
    for name, number in scored.unknown.items():
        yield Flag("dropped_cases", name, f"{number} that the data set does not hold")
    for name, number in scored.unscored.items():
        yield Flag("dropped_cases", name, f"{number} that could not be run here")


def _encode_records(records: Sequence[Record]) -> bytes:
    return b"".join(to_json(record) + b"\n" for record in records)
