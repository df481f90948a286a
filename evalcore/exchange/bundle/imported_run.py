"""One run made of a bundle: its answers scored again here, its records and journals, and the claim
beside what is counted here.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

import msgspec

from evalcore.benchmarks.base import Benchmark
from evalcore.errors import IndexFileError, UsageError
from evalcore.exchange.bundle.checks import MatchedCases, generation_key, is_bare
from evalcore.exchange.bundle.contents import BundleContents
from evalcore.exchange.staging import BlobStore
from evalcore.records import (
    MEASURED,
    BenchmarkScore,
    BenchmarkSpec,
    Episode,
    Record,
    RunSpec,
    RunState,
    RunSummary,
    Sample,
    TargetSpec,
    Verdict,
    content_hash,
    to_json,
)
from evalcore.runner.execute import compute_verdict
from evalcore.runner.plan import with_column_key
from evalcore.runner.summary import compute_totals, describe_column
from evalcore.store.headers import build_run_header
from evalcore.store.run_folder import Flag, Published, PublishedScore, StoredSample, StoredVerdict

# The answers of a bundle, scored here: do its verdicts follow from its generations?
# The verdict that is kept is ours wherever the answer could be scored. Where it could not,
# because an engine, a repository or the panel is missing here, the claimed one is kept and
# counted as such. A verdict that differs is a manipulation where both sides score by the same
# programs; with other versions it is a difference that readers are told of.

#: Benchmarks whose cases are data alone. A case of another says which programs are run on an
#: answer, and is scored here only where it is one of ours.
DATA_ALONE = frozenset(
    {"sql_understanding", "dialect_conversion", "sql_optimization", "bfcl", "gaia", "tau_bench"}
)
#: What decides a verdict beside the scorer, as runs record it.
_DECIDING = ("evalboard", "sqlglot", "duckdb")
_AT_ONCE = 16
_VERDICT_TOLERANCE = 1e-9
_ADDED_UP = ("judge_requests", "judge_cost")
_NO_PANEL = "no_panel"
_LEFT_OUT = "its text was left out"
_FOREIGN = "its case is in no data set here"


class RescoredBundle(Record, frozen=True):
    """The `verdicts` to keep, in the order of the bundle. `equal` are those that came out as
    claimed, `differing` those that did not; `reasons` count those that could not be scored again.
    `same_programs` tells that both sides score by the same versions."""

    verdicts: tuple[Verdict, ...]
    equal: int
    differing: tuple[str, ...] = ()
    reasons: dict[str, int] = {}
    same_programs: bool = True


def rescore_bundle(
    contents: BundleContents,
    spec: BenchmarkSpec,
    benchmark: Benchmark,
    cases: MatchedCases,
    on_verdict: Callable[[], None],
) -> RescoredBundle:
    """Score every answer of a benchmark again; `on_verdict` is called after each. Raises UsageError
    naming a verdict that does not follow from its answer."""
    samples = {sample.key: sample for sample in cases.samples}
    episodes = {
        (line.episode.key, line.episode.epoch): line.episode
        for line in contents.episodes
        if line.benchmark == spec.key
    }
    claims = [line.verdict for line in contents.verdicts if line.benchmark == spec.key]
    results = asyncio.run(_score_claims(benchmark, cases, samples, episodes, claims, on_verdict))
    same = _has_same_programs(contents, spec, benchmark)
    verdicts: list[Verdict] = []
    differing: list[str] = []
    reasons: Counter[str] = Counter()
    for claim, result in zip(claims, results, strict=True):
        why = result if isinstance(result, str) else _explain_unscored(claim, result, spec)
        if why or isinstance(result, str):
            reasons[why] += 1
            verdicts.append(_bare_claim(claim))
            continue
        verdicts.append(result)
        if _is_equal_verdict(claim, result):
            continue
        if same:
            raise UsageError(
                f"{contents.source}: refused: {_describe_difference(spec, claim, result)}"
            )
        differing.append(f"{claim.metric}/{claim.id}")
    equal = len(claims) - len(differing) - reasons.total()
    return RescoredBundle(tuple(verdicts), equal, tuple(differing), dict(reasons), same)


async def _score_claims(
    benchmark: Benchmark,
    cases: MatchedCases,
    samples: Mapping[str, Sample],
    episodes: Mapping[tuple[str, int], Episode],
    claims: Sequence[Verdict],
    on_verdict: Callable[[], None],
) -> list[Verdict | str]:
    """Our verdict for each claim, or why there is none; side by side, as some wait for programs."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def score_claim(claim: Verdict) -> Verdict | str:
        sample = samples[f"{claim.metric}/{claim.id}"]
        if is_bare(sample):
            return _LEFT_OUT
        if sample.key not in cases.matching_keys and benchmark.key not in DATA_ALONE:
            return _FOREIGN
        key = generation_key(benchmark, sample)
        async with gate:
            verdict = await compute_verdict(benchmark, sample, episodes[key, claim.epoch])
        if key == sample.key:
            return verdict
        details = {**verdict.details, "generation": key}  # where readers find the episode
        return msgspec.structs.replace(verdict, details=details)

    async def score_and_report(claim: Verdict) -> Verdict | str:
        result = await score_claim(claim)
        on_verdict()
        return result

    return await asyncio.gather(*map(score_and_report, claims))


def _explain_unscored(claim: Verdict, verdict: Verdict, spec: BenchmarkSpec) -> str:
    """Why an answer that was scored there could not be scored here, "" where it could."""
    if verdict.outcome in MEASURED or claim.outcome not in MEASURED:
        return ""
    if verdict.outcome == "target_error" or (verdict.reason == _NO_PANEL and not spec.judges):
        return ""
    return verdict.note or verdict.reason or verdict.outcome


def _is_equal_verdict(claim: Verdict, verdict: Verdict) -> bool:
    """Whether outcome, score and every reading that both have are the same."""
    both = set(claim.views) & set(verdict.views)
    return (
        claim.outcome == verdict.outcome
        and abs((claim.score or 0.0) - (verdict.score or 0.0)) <= _VERDICT_TOLERANCE
        and all(abs(claim.views[name] - verdict.views[name]) <= _VERDICT_TOLERANCE for name in both)
    )


def _describe_difference(spec: BenchmarkSpec, claim: Verdict, verdict: Verdict) -> str:
    case_label = f"{spec.key} {claim.metric}/{claim.id}, epoch {claim.epoch}"
    if (claim.outcome, claim.score) == (verdict.outcome, verdict.score):
        return f"the readings of {case_label} do not follow from the answer in generations.jsonl"
    return (
        f"the verdict on {case_label} does not follow from the answer in generations.jsonl: "
        f"{_format_verdict(claim)} is claimed, {_format_verdict(verdict)} is what it scores here"
    )


def _format_verdict(verdict: Verdict) -> str:
    return verdict.outcome + ("" if verdict.score is None else f" ({verdict.score:g})")


def _bare_claim(claim: Verdict) -> Verdict:
    """Without evidence, which is others' and in whatever form they gave it."""
    details = {name: value for name, value in claim.details.items() if _is_fact(name, value)}
    return msgspec.structs.replace(claim, details=details, evidence=())


def _is_fact(name: str, value: object) -> bool:
    """A plain value; what a panel took is added up, so that it has to be a number."""
    plain = int | float if name in _ADDED_UP else str | int | float
    return isinstance(value, plain)


def _has_same_programs(contents: BundleContents, spec: BenchmarkSpec, benchmark: Benchmark) -> bool:
    if spec.scorer_version != benchmark.card.scorer_version:
        return False
    return all(
        contents.spec.versions.get(name, "") == _find_installed_version(name) for name in _DECIDING
    )


def _find_installed_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


# One run made of a bundle: its records, its journals, and the claim beside what is counted here.
# It stands on boards of its own, with others that were handed in over the same columns, and under
# an identity of its own, so that no run made here is ever joined with it.

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
