"""One run made of a bundle: its answers scored again here, its records and journals, and the claim
beside what is counted here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from evalcore.benchmarks.base import Benchmark
from evalcore.errors import UsageError
from evalcore.exchange.bundle.checks import MatchedCases, generation_key, is_bare
from evalcore.exchange.bundle.contents import BundleContents, BundleRefused, refuse_errors
from evalcore.exchange.imported_run import (
    ImportedBenchmark,
    build_imported_run,
    make_run_id,
    put_journals,
    score_answers,
)
from evalcore.exchange.staging import BlobStore
from evalcore.i18n import Note
from evalcore.records import (
    MEASURED,
    BenchmarkSpec,
    Episode,
    Record,
    Sample,
    TargetSpec,
    Verdict,
    content_hash,
)
from evalcore.results import BenchmarkScore
from evalcore.runner.plan import find_installed_version, with_column_key
from evalcore.runner.summary import compute_totals, describe_column
from evalcore.store.run_folder import Flag, Published, PublishedScore

# The verdict that is kept is ours wherever the answer could be scored. Where it could not,
# because an engine, a repository or the panel is missing here, the claimed one is kept and
# counted as such. A verdict that differs is a manipulation where both sides score by the same
# programs; with other versions it is a difference that readers are told of.

#: What decides a verdict beside the scorer, as runs record it.
_DECIDING = ("evalboard", "sqlglot", "duckdb")
_VERDICT_TOLERANCE = 1e-9
_ADDED_UP = ("judge_requests", "judge_cost")
_NO_PANEL = "no_panel"
_LEFT_OUT = "its text was left out"
_FOREIGN = "its case is not in any dataset here"


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
    claims = [line.verdict for line in contents.verdicts if line.benchmark == spec.key]
    results = _score_claims(contents, benchmark, cases, claims, on_verdict)
    same = _has_same_programs(contents, spec, benchmark)
    verdicts: list[Verdict] = []
    differing: list[str] = []
    reasons: Counter[str] = Counter()
    for claim, result in zip(claims, results, strict=True):
        why = result if isinstance(result, str) else _explain_unscored(claim, result, spec)
        if why or isinstance(result, str):
            reasons[why] += 1
            verdicts.append(_strip_claim(claim))
            continue
        verdicts.append(result)
        if _is_equal_verdict(claim, result):
            continue
        if same:
            problem = _describe_difference(spec, claim, result)
            raise BundleRefused(contents.source, problem)
        differing.append(f"{claim.metric}/{claim.id}")
    equal = len(claims) - len(differing) - reasons.total()
    return RescoredBundle(tuple(verdicts), equal, tuple(differing), dict(reasons), same)


def _score_claims(
    contents: BundleContents,
    benchmark: Benchmark,
    cases: MatchedCases,
    claims: Sequence[Verdict],
    on_verdict: Callable[[], None],
) -> list[Verdict | str]:
    """Our verdict for each claim, or why there is none."""
    samples = {sample.key: sample for sample in cases.samples}
    episodes = {
        (line.benchmark, line.episode.key, line.episode.epoch): line.episode
        for line in contents.episodes
    }
    results: list[Verdict | str] = []
    pairs: dict[int, tuple[Sample, Episode]] = {}
    for number, claim in enumerate(claims):
        sample = samples[f"{claim.metric}/{claim.id}"]
        foreign = sample.key not in cases.matching_keys and not benchmark.card.cases_are_data
        results.append(_LEFT_OUT if is_bare(sample) else _FOREIGN if foreign else "")
        if results[-1]:
            on_verdict()
            continue
        key = generation_key(benchmark, sample)
        pairs[number] = sample, episodes[benchmark.key, key, claim.epoch]
    verdicts = score_answers(benchmark, pairs.values(), on_verdict)
    for (number, (sample, episode)), verdict in zip(pairs.items(), verdicts, strict=True):
        if episode.key != sample.key:  # say where readers find the episode
            details = {**verdict.details, "generation": episode.key}
            verdict = msgspec.structs.replace(verdict, details=details)
        results[number] = verdict
    return results


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
        return Note("bundle_views", place=case_label)
    return Note(
        "bundle_verdict",
        place=case_label,
        claimed=_format_verdict(claim),
        found=_format_verdict(verdict),
    )


def _format_verdict(verdict: Verdict) -> str:
    return verdict.outcome + ("" if verdict.score is None else f" ({verdict.score:g})")


def _strip_claim(claim: Verdict) -> Verdict:
    """Without evidence, which is others' and in whatever form they gave it; of details, plain
    values stay. What a panel took is added up, so that it has to be a number."""
    details = {
        name: value
        for name, value in claim.details.items()
        if isinstance(value, int | float if name in _ADDED_UP else str | int | float)
    }
    return msgspec.structs.replace(claim, details=details, evidence=())


def _has_same_programs(contents: BundleContents, spec: BenchmarkSpec, benchmark: Benchmark) -> bool:
    if spec.scorer_version != benchmark.card.scorer_version:
        return False
    return all(
        contents.spec.versions.get(name, "") == find_installed_version(name) for name in _DECIDING
    )


# A run made of a bundle stands on boards of its own, with others that were handed in over the same
# columns, and under an identity of its own, so that no run made here is ever joined with it.

PUBLISHER = SCORING = PREFIX = "bundle"
_NAME_LENGTH = 40
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
        equal = self.rescored.equal == len(self.rescored.verdicts)
        local = len(self.cases.matching_keys) == len(self.cases.samples)
        return 2 if equal and local and not self.differs_from_claim(score) else 1

    def differs_from_claim(self, score: float | None) -> bool:
        if score is None or self.claimed.score is None:
            return score != self.claimed.score
        return abs(self.claimed.score - score) > _SCORE_TOLERANCE


def build_bundle_run(
    contents: BundleContents,
    parts: Sequence[ScoredBenchmark],
    benchmarks: Mapping[str, Benchmark],
    blobs: BlobStore,
) -> tuple[str, Published]:
    """The run's id and the whole run, its files on the shelf; the id is another for every bundle
    that holds anything else. Raises UsageError for one that is too large for the index."""
    spec, target = contents.spec, contents.spec.target
    digest = content_hash(contents.manifest.files, 12)
    run = msgspec.structs.replace(
        spec,
        run_id=make_run_id(PREFIX, spec.created_at[:10], target.key, _NAME_LENGTH, digest),
        target=TargetSpec(target.key, target.options | {"imported": True}),
        note=f"Submitted as a bundle of run {spec.run_id}",
    )
    specs = [_build_column_spec(part) for part in parts]
    board = f"bundle-{content_hash(sorted(spec.column for spec in specs), 8)}"
    episodes = [line.episode for line in contents.episodes]
    verdicts = [verdict for part in parts for verdict in part.rescored.verdicts]
    with refuse_errors(contents.source):
        imported = [
            _build_imported_benchmark(
                contents,
                part,
                msgspec.structs.replace(column_spec, dataset=board),
                benchmarks[column_spec.key],
                blobs,
            )
            for part, column_spec in zip(parts, specs, strict=True)
        ]
        published = build_imported_run(
            run,
            imported,
            blobs,
            publisher=PUBLISHER,
            facts={
                "run": spec.run_id,
                "versions": spec.versions,
                "card": contents.card,
                "git_commit": spec.git_commit,
                **_build_seal_facts(contents),
            },
            scoring=SCORING,
            state="done" if all(part.score.complete for part in imported) else "incomplete",
            totals=compute_totals(episodes, verdicts, 0.0),
            errors=Counter(e.failure.kind for e in episodes if e.failure),
        )
    return run.run_id, published


def _build_seal_facts(contents: BundleContents) -> dict[str, Any]:
    """Who sealed the bundle, and when; nothing without a seal."""
    report = contents.seal
    if report is None:
        return {}
    return {"seal": {"signer": report.signer, "sealed_at": report.sealed_at}}


def _build_imported_benchmark(
    contents: BundleContents,
    part: ScoredBenchmark,
    spec: BenchmarkSpec,
    benchmark: Benchmark,
    blobs: BlobStore,
) -> ImportedBenchmark:
    score = _aggregate_verdicts(part, spec, benchmark, contents.spec.epochs)
    return ImportedBenchmark(
        spec,
        score,
        _build_published_score(contents, part, score, spec),
        put_journals(
            blobs,
            spec.key,
            part.cases.samples,
            (line.episode for line in contents.episodes if line.benchmark == spec.key),
            part.rescored.verdicts,
        ),
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
        raise UsageError(Note("verdicts_sum", benchmark=spec.key, problem=problem)) from None
    claimed = part.claimed.score
    return msgspec.structs.replace(
        benchmark_score,
        level=part.compute_level(benchmark_score.score),
        views=benchmark_score.views | ({} if claimed is None else {"claimed": claimed}),
        self_judged=part.claimed.self_judged,
    )


def _build_published_score(
    contents: BundleContents,
    part: ScoredBenchmark,
    benchmark_score: BenchmarkScore,
    spec: BenchmarkSpec,
) -> PublishedScore:
    """Raises UsageError for a claim that the same programs do not make of the same verdicts."""
    claimed, counted = part.claimed.score, benchmark_score.score
    level = part.compute_level(counted)
    differs = part.differs_from_claim(counted)
    if differs and part.rescored.same_programs:
        raise UsageError(
            Note(
                "bundle_claim",
                claimed=_format_claim_score(claimed, 4),
                benchmark=spec.key,
                found=_format_claim_score(counted, 4),
            )
        )
    detail = f"{_format_claim_score(claimed, 2)} → {_format_claim_score(counted, 2)}"
    flags = [Flag("score_differs", detail=detail)] if differs else []
    return PublishedScore(
        level=level,
        claimed=claimed,
        recomputed=counted if level else None,
        reading="" if not level else "unexplained" if differs else "exact",
        judges=spec.judges,
        graded_at=contents.summary.finished_at[:10],
        flags=(*flags, *_build_bundle_flags(part, spec)),
    )


def _format_claim_score(score: float | None, decimals: int) -> str:
    return "no score" if score is None else f"{score:.{decimals}f}"


def _build_bundle_flags(part: ScoredBenchmark, spec: BenchmarkSpec) -> Iterable[Flag]:
    """List the warnings about a benchmark, as codes that pages have texts for."""
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
