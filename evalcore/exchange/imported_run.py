"""One imported run: its id, its spec and summary, its journals, and what was published beside them.

An importer says where samples, episodes and verdicts come from, and who decides a score. Equal
sources give equal runs, byte for byte: the id is the identity of what is in stores already.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from evalcore.benchmarks.base import Benchmark
from evalcore.exchange.staging import BlobStore
from evalcore.records import (
    BenchmarkSpec,
    Episode,
    Record,
    RunSpec,
    Sample,
    Verdict,
    content_hash,
    to_json,
)
from evalcore.results import BenchmarkScore, RunState, RunSummary, Totals
from evalcore.runner.verdicts import compute_verdict
from evalcore.store.headers import build_run_header
from evalcore.store.run_folder import (
    Published,
    PublishedScore,
    StoredEpisode,
    StoredSample,
    StoredVerdict,
)

_NOT_IN_A_NAME = re.compile(r"[^a-z0-9_.-]+")
_SCORED_AT_ONCE = 16


class Journals(Record, frozen=True):
    """The journals of one benchmark, as digests of files on the shelf."""

    samples: str
    episodes: str
    verdicts: str


class ImportedBenchmark(Record, frozen=True):
    """One benchmark of an imported run, `spec` and `score` as boards are to show them; a bare claim
    has no journals."""

    spec: BenchmarkSpec
    score: BenchmarkScore
    published: PublishedScore | None
    journals: Journals | None = None


def put_journals(
    blobs: BlobStore,
    benchmark: str,
    samples: Iterable[Sample],
    episodes: Iterable[Episode],
    verdicts: Iterable[Verdict],
) -> Journals:
    def put(kind: Callable[[str, Any], Record], items: Iterable[Record]) -> str:
        return blobs.put(b"".join(to_json(kind(benchmark, item)) + b"\n" for item in items))

    return Journals(
        put(StoredSample, samples), put(StoredEpisode, episodes), put(StoredVerdict, verdicts)
    )


def make_run_id(prefix: str, date: str, name: str, length: int, digest: str = "") -> str:
    """Make an id that people can read; without a `digest` of its own it differs for names that
    differ in nothing but letter case or signs."""
    plain = _NOT_IN_A_NAME.sub("-", name.lower())[:length]
    mark = digest or ("" if plain == name else content_hash(name, 8))
    return f"{prefix}-{date}-{plain}" + (f"-{mark}" if mark else "")


def build_imported_run(
    run: RunSpec,
    parts: Sequence[ImportedBenchmark],
    blobs: BlobStore,
    *,
    publisher: str,
    facts: dict[str, Any],
    scoring: str = "published",
    state: RunState = "done",
    totals: Totals | None = None,
    errors: Mapping[str, int] = {},
) -> Published:
    """Put the files of a run on the shelf; its spec gets the benchmarks of `parts`. Raises
    UsageError and IndexFileError for a run that the index would not take."""
    run = msgspec.structs.replace(
        run, benchmarks=tuple(part.spec for part in parts), origin="imported", command=""
    )
    summary = RunSummary(
        run_id=run.run_id,
        target=run.target,
        state=state,
        scoring=scoring,
        benchmarks={part.spec.key: part.score for part in parts},
        errors=dict(errors),
        created_at=run.created_at,
        finished_at=run.created_at,
        origin="imported",
        epochs=run.epochs,
    )
    if totals is not None:
        summary = msgspec.structs.replace(summary, totals=totals)
    build_run_header(run, summary)
    journals = {part.spec.key: part.journals for part in parts if part.journals}
    files = {
        "samples.jsonl": b"".join(blobs.get(each.samples) for each in journals.values()),
        "spec.json": to_json(run),
        "summary.json": to_json(summary),
    }
    digests = {name: blobs.put(content) for name, content in files.items()}
    for key, each in journals.items():
        digests[f"generations/{key}.jsonl"] = each.episodes
        digests[f"verdicts/{scoring}/{key}.jsonl"] = each.verdicts
    return Published(
        publisher=publisher,
        month=run.created_at[:7],
        files=digests,
        scores={part.spec.key: part.published for part in parts if part.published},
        facts=facts,
    )


def score_answers(
    benchmark: Benchmark,
    pairs: Iterable[tuple[Sample, Episode]],
    on_verdict: Callable[[], None] = lambda: None,
) -> list[Verdict]:
    """Score answers side by side, as some wait for programs; verdicts are in the order of
    `pairs`."""

    async def score_all() -> list[Verdict]:
        gate = asyncio.Semaphore(_SCORED_AT_ONCE)

        async def score(sample: Sample, episode: Episode) -> Verdict:
            async with gate:
                verdict = await compute_verdict(benchmark, sample, episode)
            on_verdict()
            return verdict

        return await asyncio.gather(*(score(*pair) for pair in pairs))

    return asyncio.run(score_all())
