"""The worked formula gives the score of the board, and prompts are those of the journal."""

import pytest

from evalcore.benchmarks.sql_understanding.card import CARD
from evalcore.errors import UsageError
from evalcore.results import BenchmarkScore, MetricScore
from evalcore.views import methodology
from tests.support.boards import BENCHMARK, Plan, make_run, settings_in


@pytest.fixture
def settings(tmp_path):
    return settings_in(tmp_path)


def test_the_published_example_comes_out_as_100():
    """Metric A, weight 4, cases of difficulty 1, 2, 3: 6; metric B, weight 2, of 2, 3: 5."""
    a = MetricScore("execution_accuracy", 4, 3, 3, 3, 100.0, points=6, maximum=6)
    b = MetricScore("explain_detection", 2, 2, 2, 2, 100.0, points=5, maximum=5)
    terms = methodology.build_score_terms(_score(a, b))
    total = methodology.sum_score_terms(terms)
    assert list(terms["weighted_points"]) == [24, 10]
    assert (total.points, total.maximum, total.score) == (34, 34, 100)


def test_a_metric_without_weight_is_shown_and_does_not_count():
    a = MetricScore("execution_accuracy", 4, 2, 2, 1, 50.0, points=1, maximum=2)
    b = MetricScore("extra", None, 2, 2, 2, 100.0, points=5, maximum=5)
    terms = methodology.build_score_terms(_score(b, a))
    assert list(terms["metric"]) == ["execution_accuracy", "extra"]
    assert methodology.sum_score_terms(terms).score == 50.0


def test_without_a_case_the_score_is_zero():
    terms = methodology.build_score_terms(
        _score(MetricScore("execution_accuracy", 4, 0, 0, 0, 0.0))
    )
    assert terms.empty
    assert methodology.sum_score_terms(terms) == methodology.ScoreSums(0.0, 0.0, 0.0)


def test_the_worked_numbers_of_a_run_give_its_score(settings):
    folder = make_run(settings, Plan(target="openai:a", skill=0.6))
    spec, score = methodology.load_run_score(settings.run_roots, folder.run_id, BENCHMARK)
    assert spec.options == {"mode": "verified"}
    assert methodology.sum_score_terms(methodology.build_score_terms(score)).score == pytest.approx(
        score.score
    )


def test_a_benchmark_the_run_does_not_have_is_none_and_an_unknown_run_an_error(settings):
    folder = make_run(settings, Plan(target="openai:a"))
    assert methodology.load_run_score(settings.run_roots, folder.run_id, "bfcl") is None
    with pytest.raises(UsageError, match="no run 'nobody'"):
        methodology.load_run_score(settings.run_roots, "nobody", BENCHMARK)


def test_prompts_are_the_journaled_questions_without_the_answers(settings):
    folder = make_run(settings, Plan(target="openai:a"))
    prompts = methodology.list_first_prompts(settings.run_roots, folder.run_id, CARD)
    assert [prompt.metric for prompt in prompts] == [metric.key for metric in CARD.metrics]
    for prompt in prompts:
        assert [message.role for message in prompt.messages] == ["user"]
        assert prompt.messages[0].content == "What does SELECT 0 return?"


def test_a_run_without_episodes_has_no_prompts(settings):
    folder = make_run(settings, Plan(target="openai:a"))
    (folder.path / "generations" / "w1.jsonl").unlink()
    assert methodology.list_first_prompts(settings.run_roots, folder.run_id, CARD) == []


def _score(*metrics):
    return BenchmarkScore(
        benchmark=BENCHMARK,
        column="c",
        score=0.0,
        interval=None,
        answered=None,
        coverage=1.0,
        samples=0,
        complete=True,
        full=True,
        metrics={metric.metric: metric for metric in metrics},
        outcomes={},
    )
