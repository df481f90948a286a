"""Certainty worked: each number follows from the board's own and says what the board says."""

from __future__ import annotations

from math import sqrt

import pandas as pd
import pytest

from evalcore.judges import PairAgreement
from evalcore.results import BenchmarkScore, MetricScore
from evalcore.views import boards, methodology, stored_boards
from evalcore.views.methodology import load_run_score
from evalcore.views.ranking import STATUSES
from tests.support.boards import BENCHMARK, Plan, make_run, settings_in


@pytest.fixture
def settings(tmp_path):
    return settings_in(tmp_path)


def board_of(settings):
    """Headers, the default board and its ranking."""
    headers = stored_boards.load_run_headers(settings)
    board = boards.list_boards(headers, "sql")[0]
    return headers, board, stored_boards.board_ranking(settings, board)


def worked_pair(settings):
    headers, board, frame = board_of(settings)
    rows = boards.list_board_rows(headers, board)
    return methodology.compare_rivals(settings.run_roots, rows, board, BENCHMARK, frame), frame


def score_with(*metrics):
    return BenchmarkScore(
        benchmark=BENCHMARK,
        column="c",
        score=0.0,
        interval=None,
        answered=0.0,
        coverage=1.0,
        samples=sum(metric.samples for metric in metrics),
        complete=True,
        full=True,
        metrics={metric.metric: metric for metric in metrics},
        outcomes={},
    )


def test_the_plain_rate_has_wilsons_interval_as_the_formula_gives_it():
    a = MetricScore("a", 4, 30, 30, 27, 90.0)
    b = MetricScore("b", 1, 10, 10, 6, 60.0)
    plain_rate = methodology.compute_plain_rate(
        score_with(a, b, MetricScore("extra", None, 9, 9, 9, 100))
    )
    p, n, z = 33 / 40, 40, 1.96
    half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    assert (plain_rate.passed, plain_rate.samples, plain_rate.rate) == (33, 40, p)
    assert plain_rate.interval.low == pytest.approx(100 * (centre - half), abs=0.01)
    assert plain_rate.interval.high == pytest.approx(100 * (centre + half), abs=0.01)


def test_without_a_case_there_is_no_rate():
    assert methodology.compute_plain_rate(score_with()) is None
    assert methodology.compute_plain_rate(score_with(MetricScore("x", None, 3, 3, 3, 100))) is None


def test_the_rate_of_a_run_counts_its_solved_cases(settings):
    folder = make_run(settings, Plan("openai:a", skill=0.7))
    _, score = load_run_score(settings.run_roots, folder.run_id, BENCHMARK)
    plain_rate = methodology.compute_plain_rate(score)
    assert plain_rate.samples == score.samples
    assert plain_rate.passed == score.outcomes["passed"]


def test_the_leader_is_held_against_the_first_it_can_be_told_from(settings):
    make_run(settings, Plan("openai:strong", skill=0.95))
    make_run(settings, Plan("openai:near", skill=0.94))
    make_run(settings, Plan("openai:weak", skill=0.2))
    make_run(settings, Plan("control:null", skill=0.0))
    pair, frame = worked_pair(settings)
    scores = frame.set_index("identity")["score"]
    assert pair.apart
    assert pair.other == "openai:weak"
    assert pair.result.difference == pytest.approx(scores[pair.leader] - scores["openai:weak"])
    assert pair.result.interval.low > 0
    result = pair.result
    assert result.wins + result.losses + result.ties == result.common == 80


def test_in_one_group_the_next_is_the_rival(settings):
    make_run(settings, Plan("openai:a", skill=1.0))
    make_run(settings, Plan("openai:b", skill=1.0))
    pair, _ = worked_pair(settings)
    assert not pair.apart
    assert pair.result.wins + pair.result.losses < methodology.FEWEST_DIFFERING


def test_alone_or_unreadable_there_is_no_pair(settings):
    make_run(settings, Plan("openai:a", skill=1.0))
    assert worked_pair(settings)[0] is None
    folder = make_run(settings, Plan("openai:b", skill=0.5))
    headers, board, frame = board_of(settings)
    rows = boards.list_board_rows(headers, board)
    for path in sorted(folder.path.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.path.rmdir()
    roots = settings.run_roots
    assert methodology.compare_rivals(roots, rows, board, BENCHMARK, frame) is None


def test_standings_are_counted_in_the_order_of_the_board(settings):
    make_run(settings, Plan("openai:a"))
    make_run(settings, Plan("openai:b", failing=2))
    make_run(settings, Plan("control:null"))
    counts = methodology.standing_counts(board_of(settings)[2])
    assert list(counts) == list(STATUSES)
    assert (counts["ranked"], counts["incomplete"], counts["control"]) == (1, 1, 1)
    assert counts["claimed"] == counts["not_run"] == 0
    empty = methodology.standing_counts(pd.DataFrame({"status": []}))
    assert set(empty.values()) == {0}


def test_a_board_of_one_benchmark_has_no_mean(settings):
    make_run(settings, Plan("openai:a"))
    headers, board, _ = board_of(settings)
    [row] = boards.list_board_rows(headers, board)
    assert methodology.list_suite_scores(row, board) is None


def test_kappa_is_what_the_shown_numbers_give():
    pairs = (
        PairAgreement("a", "b", 10, 0.8, 0.6),
        PairAgreement("a", "c", 40, 0.9, 0.5),
        PairAgreement("b", "c", 99, 1.0, None),
    )
    best_kappa = methodology.find_best_kappa(pairs)
    assert (best_kappa.first, best_kappa.second, best_kappa.n) == ("a", "c", 40)
    assert best_kappa.chance == pytest.approx(0.8)
    assert (best_kappa.agreed - best_kappa.chance) / (1 - best_kappa.chance) == pytest.approx(
        best_kappa.kappa
    )


def test_no_kappa_where_judges_agree_always_or_never_met():
    pairs = (PairAgreement("a", "b", 5, 1.0, 1.0), PairAgreement("a", "c", 0))
    assert methodology.find_best_kappa(pairs) is None
