"""The score of a benchmark: the published formula, the denominator, epochs, views, order."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalcore.benchmarks.base import Benchmark
from evalcore.catalog import BenchmarkCard, MetricCard
from evalcore.errors import UsageError
from evalcore.records import Outcome, Sample, Verdict, from_json, to_json
from evalcore.results import BenchmarkScore
from evalcore.scoring.aggregation import score_benchmark
from evalcore.scoring.intervals import Stratum

CARD = BenchmarkCard(
    key="demo",
    suite="sql",
    implementation="",
    metrics=(MetricCard(key="A", weight=4), MetricCard(key="B", weight=2)),
)
UNMEASURED: tuple[Outcome, ...] = (
    "target_error",
    "judge_error",
    "environment_error",
    "not_executed",
)


def sample(metric: str, name: str, difficulty: int = 1) -> Sample:
    return Sample(metric=metric, id=name, input={}, difficulty=difficulty)


def verdict(of: Sample, score: float | None, epoch: int = 0, **more) -> Verdict:
    outcome = more.pop("outcome", "passed" if score else "failed")
    return Verdict(metric=of.metric, id=of.id, outcome=outcome, score=score, epoch=epoch, **more)


#: The worked example of the published rule: 6 points at weight 4, 5 points at weight 2.
EXAMPLE = [
    *(sample("A", str(d), d) for d in (1, 2, 3)),
    *(sample("B", str(d), d) for d in (2, 3)),
]


def test_the_worked_example_is_34_of_34():
    result = score_benchmark(CARD, EXAMPLE, [verdict(s, 1.0) for s in EXAMPLE], CARD.weights)
    assert (result.metrics["A"].points, result.metrics["B"].points) == (6, 5)
    assert 6 * 4 + 5 * 2 == 34
    assert result.score == 100.0
    assert result.answered == 100.0
    assert result.complete
    assert result.coverage == 1.0
    assert result.interval is not None
    assert result.interval.high == 100.0
    assert 30 < result.interval.low < 70, "five cases leave much doubt"


def test_the_worked_example_with_one_wrong_case():
    verdicts = [verdict(s, 0.0 if s.key == "A/3" else 1.0) for s in EXAMPLE]
    result = score_benchmark(CARD, EXAMPLE, verdicts, CARD.weights)
    assert result.score == pytest.approx(100 * (3 * 4 + 5 * 2) / 34)
    assert result.metrics["A"].score == pytest.approx(50.0)
    assert result.metrics["A"].passed == 2.0
    assert result.outcomes == {"passed": 4, "failed": 1}


def test_no_cases_is_zero_listed_and_never_complete():
    result = score_benchmark(CARD, [], [], CARD.weights)
    assert (result.score, result.answered, result.interval) == (0.0, None, None)
    assert (result.complete, result.coverage, result.samples) == (False, 0.0, 0)
    assert list(result.metrics) == ["A", "B"]
    assert result.metrics["A"].samples == 0
    assert result.metrics["A"].score is None


def test_a_metric_without_cases_takes_nothing_from_the_others():
    only_b = [s for s in EXAMPLE if s.metric == "B"]
    result = score_benchmark(CARD, only_b, [verdict(s, 1.0) for s in only_b], CARD.weights)
    assert result.score == 100.0
    assert result.metrics["A"].samples == 0


def test_a_metric_without_a_weight_is_reported_and_not_scored():
    verdicts = [verdict(s, 1.0 if s.metric == "A" else 0.0) for s in EXAMPLE]
    result = score_benchmark(CARD, EXAMPLE, verdicts, {"A": 4})
    assert result.score == 100.0
    assert result.metrics["B"].weight is None
    assert result.metrics["B"].score == 0.0
    assert result.metrics["B"].samples == 2


def test_a_metric_unknown_to_the_card_is_reported_after_the_known_ones():
    own = [*EXAMPLE, sample("own", "1")]
    result = score_benchmark(CARD, own, [verdict(s, 1.0) for s in own], {**CARD.weights, "own": 1})
    assert list(result.metrics) == ["A", "B", "own"]
    assert result.metrics["own"].weight == 1


@pytest.mark.parametrize("outcome", [None, *UNMEASURED])
def test_the_denominator_never_changes(outcome):
    """A lost answer is wrong in the strict score, absent from the answered one."""
    verdicts = [verdict(s, 1.0) for s in EXAMPLE[1:]]
    if outcome is not None:
        verdicts.append(verdict(EXAMPLE[0], None, outcome=outcome))
    result = score_benchmark(CARD, EXAMPLE, verdicts, CARD.weights)
    assert result.score == pytest.approx(100 * 30 / 34)
    assert result.answered == 100.0
    assert result.coverage == pytest.approx(4 / 5)
    assert not result.complete
    assert result.metrics["A"].maximum == 6
    assert (result.metrics["A"].samples, result.metrics["A"].measured) == (3, 2)
    assert result.outcomes == {"passed": 4, outcome or "missing": 1}


def test_nothing_answered_has_no_answered_score():
    result = score_benchmark(CARD, EXAMPLE, [], CARD.weights)
    assert (result.score, result.answered, result.coverage) == (None, None, 0.0)
    assert result.interval is None
    assert [value.score for value in result.metrics.values()] == [None, None]
    assert result.outcomes == {"missing": 5}
    only_b = [verdict(s, 1.0) for s in EXAMPLE if s.metric == "B"]
    part = score_benchmark(CARD, EXAMPLE, only_b, CARD.weights)
    assert part.score == pytest.approx(100 * 10 / 34)
    assert part.metrics["A"].score is None
    assert part.metrics["A"].interval is None


def test_a_file_written_before_holds_no_0_for_what_was_not_measured():
    old = score_benchmark(CARD, EXAMPLE, [], CARD.weights)
    text = json.loads(to_json(old))
    text["score"] = 0.0
    text["interval"] = {"low": 0.0, "high": 40.0}
    for metric in text["metrics"].values():
        metric["score"] = 0.0
    assert from_json(BenchmarkScore, json.dumps(text)) == old
    claim = from_json(BenchmarkScore, json.dumps(text | {"level": 0}))
    assert (claim.score, claim.metrics["A"].score) == (0.0, 0.0)


def test_epochs_are_reduced_to_the_mean_of_a_sample():
    item = [sample("A", "x", 2)]
    verdicts = [verdict(item[0], s, epoch) for epoch, s in enumerate([1.0, 0.0, 1.0])]
    full = score_benchmark(CARD, item, verdicts, CARD.weights, epochs=3)
    assert full.score == pytest.approx(200 / 3)
    assert full.complete
    part = score_benchmark(CARD, item, verdicts, CARD.weights, epochs=4)
    assert part.score == pytest.approx(50.0)
    assert part.answered == pytest.approx(200 / 3)
    assert part.coverage == 0.75
    assert part.metrics["A"].measured == 0, "not measured in every epoch"
    assert part.outcomes == {"failed": 1, "missing": 1, "passed": 2}


def test_views_are_second_readings_of_the_same_answers():
    verdicts = [verdict(s, 0.0) for s in EXAMPLE]
    verdicts[2] = verdict(EXAMPLE[2], 0.0, views={"lenient": 1.0})
    result = score_benchmark(CARD, EXAMPLE, verdicts, CARD.weights)
    assert result.score == 0.0
    assert result.views == {"lenient": pytest.approx(100 * 12 / 34)}


def test_a_repeated_verdict_replaces_the_earlier_one():
    item = [sample("A", "x")]
    error, right = verdict(item[0], None, outcome="target_error"), verdict(item[0], 1.0)
    assert score_benchmark(CARD, item, [error, right], CARD.weights).score == 100.0
    result = score_benchmark(CARD, item, [right, error], CARD.weights)
    assert (result.score, result.outcomes) == (None, {"target_error": 1})


def test_views_of_an_unmeasured_verdict_count_for_nothing():
    item = [sample("A", "x")]
    lost = verdict(item[0], None, outcome="judge_error", views={"lenient": 1.0})
    assert score_benchmark(CARD, item, [lost], CARD.weights).views == {}


def test_verdicts_on_undeclared_samples_and_epochs_are_left_out():
    stray = [verdict(sample("A", "other"), 1.0), verdict(EXAMPLE[0], 1.0, epoch=7)]
    result = score_benchmark(CARD, EXAMPLE, stray, CARD.weights)
    assert result.outcomes == {"missing": 5}


@pytest.mark.parametrize(
    ("samples", "verdicts", "weights", "epochs", "complaint"),
    [
        ([EXAMPLE[0], EXAMPLE[0]], [], {}, 1, "A/1 is declared 2 times"),
        (EXAMPLE, [verdict(EXAMPLE[0], 1.5)], {}, 1, "A/1.*1.5"),
        (EXAMPLE, [verdict(EXAMPLE[0], float("nan"))], {}, 1, "A/1.*nan"),
        (EXAMPLE, [verdict(EXAMPLE[0], None, outcome="passed")], {}, 1, "A/1.*None"),
        (EXAMPLE, [verdict(EXAMPLE[0], 1.0, views={"v": -1.0})], {}, 1, "A/1.*-1"),
        (EXAMPLE, [], {"A": -1.0}, 1, "weight of metric A"),
        (EXAMPLE, [], {"A": float("nan")}, 1, "weight of metric A"),
        (EXAMPLE, [], {}, 0, "epochs is 0"),
    ],
)
def test_what_cannot_be_scored_is_named(samples, verdicts, weights, epochs, complaint):
    with pytest.raises(UsageError, match=complaint):
        score_benchmark(CARD, samples, verdicts, weights, epochs=epochs)


def test_aggregate_hands_the_context_on():
    class Demo(Benchmark):
        card = CARD
        load_dataset = build_prompt = evaluate_sample = control = None

    Demo.__abstractmethods__ = frozenset()
    result = Demo({}).aggregate(
        EXAMPLE, [], CARD.weights, epochs=2, column="c", full=False, label="l"
    )
    assert (result.benchmark, result.column, result.full, result.label) == ("demo", "c", False, "l")
    assert result.outcomes == {"missing": 10}


# --- properties -------------------------------------------------------------------------------

scores = st.one_of(st.none(), st.sampled_from([0.0, 1.0]), st.floats(0, 1))
cases = st.lists(
    st.tuples(st.sampled_from("ABC"), st.integers(0, 3), scores), min_size=1, max_size=30
)
weightings = st.dictionaries(st.sampled_from("ABC"), st.integers(0, 5).map(float))


def build(rows):
    samples = [sample(m, str(i), d) for i, (m, d, _) in enumerate(rows)]
    verdicts = [
        verdict(s, score, outcome="target_error" if score is None else "passed")
        for s, (_, _, score) in zip(samples, rows, strict=True)
    ]
    return samples, verdicts


@settings(max_examples=60, deadline=None)
@given(cases, weightings)
def test_the_score_is_the_formula(rows, weights):
    samples, verdicts = build(rows)
    won = sum(weights.get(m, 0) * d * (s or 0) for m, d, s in rows)
    most = sum(weights.get(m, 0) * d for m, d, _ in rows)
    result = score_benchmark(CARD, samples, verdicts, weights)
    if not any(weights.get(m, 0) * d and s is not None for m, d, s in rows):
        assert (result.score, result.answered, result.interval) == (None, None, None)
        return
    assert result.score == pytest.approx(100 * won / most)
    assert 0 <= result.score <= 100 + 1e-9
    if result.answered is not None:
        assert result.answered >= result.score - 1e-9
    if result.interval is None:
        assert not most
    else:
        assert 0 <= result.interval.low <= result.score <= result.interval.high <= 100


@settings(max_examples=40, deadline=None)
@given(cases, weightings, st.randoms(use_true_random=False))
def test_the_order_of_samples_verdicts_and_weights_does_not_matter(rows, weights, rng):
    samples, verdicts = build(rows)
    first = score_benchmark(CARD, samples, verdicts, weights)
    rng.shuffle(samples)
    rng.shuffle(verdicts)
    flipped = dict(reversed(weights.items()))
    assert score_benchmark(CARD, samples, verdicts, flipped) == first


@settings(max_examples=30, deadline=None)
@given(cases, weightings, st.integers(0, 29))
def test_a_better_answer_never_lowers_the_score(rows, weights, position):
    position %= len(rows)
    better = [(m, d, 1.0 if i == position else s) for i, (m, d, s) in enumerate(rows)]
    before = score_benchmark(CARD, *build(rows), weights)
    after = score_benchmark(CARD, *build(better), weights)
    assert before.score is None or after.score >= before.score - 1e-9
    assert after.samples == before.samples


# --- cost ---------------------------------------------------------------------------------------


def test_equal_samples_are_counted_together():
    """Two thousand samples of three weights cost no more than six."""
    rng = random.Random(0)
    pairs = [(1.0 + i % 3, float(rng.random() < 0.6)) for i in range(2000)]
    assert len(Stratum.from_pairs("A", pairs).cells) == 6


def test_importing_the_scorer_does_not_load_numpy():
    code = "import sys, evalcore.scoring.aggregation; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
