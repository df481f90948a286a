"""The answers of official result files, scored here: samples, episodes, verdicts and counts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from evalcore.benchmarks.base import Benchmark
from evalcore.benchmarks.bfcl.aggregate import Tally
from evalcore.benchmarks.bfcl.categories import V3_ALIASES, find_category_language
from evalcore.benchmarks.bfcl.decode import prompt_mode
from evalcore.errors import UsageError
from evalcore.exchange.bfcl.results import Prediction
from evalcore.records import Episode, Failure, Record, Sample, Usage, Verdict
from evalcore.runner.execute import compute_verdict

_V3_NAMES = {today: earlier for earlier, today in V3_ALIASES.items()}
_OFFICIAL = "official"


class ModelResults(Record, frozen=True):
    """What a model's folder holds. `date` is YYYY-MM-DD, `version` v3 or v4; `claims` are the
    counts of the score files beside it, empty where there are none."""

    model: str
    date: str
    version: str
    predictions: tuple[Prediction, ...]
    claims: dict[str, Tally] = {}


class CategoryCount(Record, frozen=True):
    """What upstream's rule counts of a category here: `failed` requests are never right."""

    right: int
    total: int
    failed: int = 0

    @property
    def accuracy(self) -> float:
        return 100 * self.right / self.total

    def classify_claim(self, claim: Tally) -> str:
        return "exact" if (self.right, self.total) == (claim.right, claim.total) else "unexplained"


class RescoredResults(Record, frozen=True):
    """`samples` are all entries of the categories that were answered. By category: `counts` where
    every answer could be scored, how many ids were `renamed` from v3 to v4, how many were `unknown`
    to the data set, and how many were `unscored` for want of what `missing` says."""

    samples: tuple[Sample, ...]
    episodes: tuple[Episode, ...]
    verdicts: tuple[Verdict, ...]
    counts: dict[str, CategoryCount]
    renamed: dict[str, int]
    unknown: dict[str, int]
    unscored: dict[str, int] = {}
    missing: str = ""

    @property
    def left_out(self) -> list[str]:
        """What a person should know of, in lines."""
        lines = [f"{n} answers to unknown entries of {name}" for name, n in self.unknown.items()]
        if self.unscored:
            names = ", ".join(f"{n} of {name}" for name, n in self.unscored.items())
            lines.append(f"answers that could not be scored, {names}: {self.missing}")
        return lines


def rescore_predictions(
    benchmark: Benchmark, samples: Sequence[Sample], results: ModelResults
) -> RescoredResults:
    """Score every answer to an entry that the samples hold; raises UsageError for no such answer.

    A v3 answer is taken as one to the v4 entry of the same category and number.
    """
    samples_by_key = {sample.key: sample for sample in samples}
    renamed: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    pairs: list[tuple[Sample, Prediction]] = []
    for prediction in results.predictions:
        sample = samples_by_key.get(f"{prediction.category}/{prediction.id}")
        if sample is None:
            sample = samples_by_key.get(f"{prediction.category}/{_current_sample_id(prediction)}")
            (renamed if sample else unknown)[prediction.category] += 1
        if sample is not None:
            pairs.append((sample, prediction))
    if not pairs:
        raise UsageError(
            f"the results of {results.model} answer no entry of the data set; is it the official "
            "one, with these categories?"
        )
    answered = {sample.metric for sample, _ in pairs}
    episode_pairs = [
        (sample, build_rescored_episode(benchmark, sample, prediction, results.date))
        for sample, prediction in pairs
    ]
    verdicts = asyncio.run(_score_episode_pairs(benchmark, episode_pairs))
    broken = [verdict for verdict in verdicts if verdict.outcome == "environment_error"]
    unscored = Counter(verdict.metric for verdict in broken)
    return RescoredResults(
        samples=tuple(sample for sample in samples if sample.metric in answered),
        episodes=tuple(episode for _, episode in episode_pairs),
        verdicts=tuple(verdicts),
        counts=_count_categories(
            [verdict for verdict in verdicts if verdict.metric not in unscored]
        ),
        renamed=dict(renamed),
        unknown=dict(unknown),
        unscored=dict(unscored),
        missing=broken[0].note if broken else "",
    )


def build_rescored_episode(
    benchmark: Benchmark, sample: Sample, prediction: Prediction, at: str
) -> Episode:
    """An answer as an episode of ours; a failed request upstream kept as an answer is a failure."""
    failure = Failure(kind="retryable", message=prediction.error) if prediction.error else None
    mode = (
        prediction.mode
        if prediction.mode == "fc"
        else prompt_mode(find_category_language(prediction.category))
    )
    return msgspec.structs.replace(
        benchmark.episode_from_answer(sample, prediction.answer, {"mode": mode}),
        usage=Usage(input_tokens=prediction.input_tokens, output_tokens=prediction.output_tokens),
        latency=prediction.latency,
        completions=0 if failure else 1,
        attempts=1,
        failure=failure,
        termination=failure.kind if failure else "",
        at=at,
    )


def _current_sample_id(prediction: Prediction) -> str:
    earlier = _V3_NAMES.get(prediction.category)
    if earlier and prediction.id.startswith(f"{earlier}_"):
        return f"{prediction.category}{prediction.id.removeprefix(earlier)}"
    return prediction.id


async def _score_episode_pairs(
    benchmark: Benchmark, episode_pairs: Sequence[tuple[Sample, Episode]]
) -> list[Verdict]:
    return [await compute_verdict(benchmark, sample, episode) for sample, episode in episode_pairs]


def _count_categories(verdicts: Sequence[Verdict]) -> dict[str, CategoryCount]:
    total = Counter(verdict.metric for verdict in verdicts)
    right = Counter(verdict.metric for verdict in verdicts if _is_official_pass(verdict))
    failed = Counter(verdict.metric for verdict in verdicts if verdict.outcome == "target_error")
    return {name: CategoryCount(right[name], n, failed[name]) for name, n in total.items()}


def _is_official_pass(verdict: Verdict) -> bool:
    """Whether upstream's rule accepts the answer."""
    views: Mapping[str, float] = verdict.views
    if _OFFICIAL in views:
        return views[_OFFICIAL] == 1
    return verdict.outcome == "passed"
