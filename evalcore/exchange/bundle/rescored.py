"""The answers of a bundle, scored here: do its verdicts follow from its generations?

The verdict that is kept is ours wherever the answer could be scored. Where it could not, because an
engine, a repository or the panel is missing here, the claimed one is kept and counted as such. A
verdict that differs is a manipulation where both sides score by the same programs; with other
versions it is a difference that readers are told of.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

import msgspec

from evalcore.benchmarks.base import Benchmark
from evalcore.errors import UsageError
from evalcore.exchange.bundle.checks import generation_key, is_bare
from evalcore.exchange.bundle.contents import BundleContents
from evalcore.exchange.bundle.local_match import MatchedCases
from evalcore.records import MEASURED, BenchmarkSpec, Episode, Record, Sample, Verdict
from evalcore.runner.execute import compute_verdict

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
