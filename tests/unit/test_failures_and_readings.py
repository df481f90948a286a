"""Why answers failed, what was done where no call was right, and a score read otherwise."""

from __future__ import annotations

import pandas as pd
import pytest

from evalcore.charts import plots
from evalcore.errors import UsageError
from evalcore.results import BenchmarkScore
from evalcore.views import target_scores
from evalcore.views.cases import CaseFilter, case_page
from evalcore.views.methodology import load_run_score
from tests.support import stored_runs
from tests.support.bfcl_runs import RUN, make_run
from tests.support.boards import settings_in

LABELS = {"name": "Reason", "count": "Cases"}


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    settings = settings_in(tmp_path_factory.mktemp("store"))
    make_run(settings)
    return settings.run_roots


def test_failed_cases_are_counted_by_cause_the_most_frequent_first(roots):
    frame = target_scores.count_failure_causes(roots, RUN, "bfcl")
    counts = dict(zip(frame["cause"], frame["count"], strict=True))
    assert counts == {
        "decode": 2,
        "value": 1,
        "missing": 1,
        "extra": 1,
        "name": 1,
        "count": 1,
        "relevance": 1,
        "multi_turn:instance_state_mismatch": 1,
    }
    assert frame["cause"][0] == "decode"
    assert frame["share"].sum() == pytest.approx(1)


def test_the_cases_of_a_cause_are_found(roots):
    cases, count = case_page(roots, RUN, CaseFilter(cause=("decode",)))
    assert (count, set(cases["id"])) == (2, {"prose", "fenced"})


def test_what_was_done_where_nothing_fits_goes_from_right_to_wrong(roots):
    frame = target_scores.count_answer_kinds(roots, RUN, "bfcl")
    assert list(frame["kind"]) == ["abstained", "call"]
    assert list(frame["share"]) == [0.5, 0.5]


def test_calls_are_counted_by_how_they_were_read(roots):
    readings = target_scores.count_call_readings(roots, RUN, "bfcl")
    assert readings == {"native": 8, "rescued": 1, "lost": 0}


def test_another_benchmark_falls_back_on_the_error_type_and_the_reason(tmp_path):
    folder = stored_runs.finish(tmp_path, "run-1")
    stored_runs.judge(
        folder, stored_runs.SAMPLES[0], passed=False, reason="r", details={"error_type": "rows"}
    )
    stored_runs.judge(folder, stored_runs.SAMPLES[1], passed=False, reason="empty")
    stored_runs.judge(
        folder, stored_runs.SAMPLES[2], passed=True, details={"error_type": "not a failure"}
    )
    frame = target_scores.count_failure_causes([tmp_path], "run-1", stored_runs.BENCHMARK)
    assert set(frame["cause"]) == {"rows", "empty"}
    assert target_scores.count_answer_kinds([tmp_path], "run-1", stored_runs.BENCHMARK).empty


def test_an_unknown_run_is_an_error(tmp_path):
    with pytest.raises(UsageError):
        target_scores.count_failure_causes([tmp_path], "nosuch", "bfcl")


def test_an_incomplete_group_has_no_score_and_says_what_is_missing(roots):
    table = target_scores.build_group_scores(load_run_score(roots, RUN, "bfcl")[1]).set_index(
        "group"
    )
    assert table.loc["agentic", "score"] is None
    assert table.loc["agentic", "missing"] == ("web_search", "memory")
    assert table.loc["hallucination", "missing"] == ("live_irrelevance",)
    gaps = ("simple_java", "simple_javascript", "multiple", "parallel_multiple")
    assert table.loc["non_live", "missing"] == gaps
    assert table.loc["overall", "weight"] is None
    assert table.loc["multi_turn", "weight"] == 30


def test_a_measured_group_has_its_score_and_nothing_missing():
    score = BenchmarkScore(
        "bfcl", "c", 1.0, None, None, 1.0, 1, True, True, {}, {}, groups={"live": 40.0}
    )
    [row] = target_scores.build_group_scores(score).to_dict("records")
    assert row == {"group": "live", "score": 40.0, "weight": 10, "missing": ()}


def test_pass_k_has_a_row_for_every_number_of_tries():
    fields = {
        "p0": 10.0,
        "pass^2": 20.0,
        "pass^2.low": 15.0,
        "pass^2.high": 30.0,
        "adjusted^2": 11.1,
    }
    fields |= {"pass^1": None, "adjusted": None, "pass^x": 1.0}
    score = BenchmarkScore("b", "c", 1.0, None, None, 1.0, 1, True, True, {}, {}, groups=fields)
    first, second = target_scores.build_pass_k(score).to_dict("records")
    assert (first["k"], first["value"], first["idle"], first["adjusted"]) == (1, None, 10.0, None)
    assert list(second.values()) == [2, 20.0, 15.0, 30.0, 10.0, 11.1]
    assert target_scores.build_group_scores(score).empty


def test_without_pass_k_there_is_no_table_of_it():
    score = BenchmarkScore(
        "bfcl", "c", 1.0, None, None, 1.0, 1, True, True, {}, {}, groups={"live": 40.0}
    )
    assert target_scores.build_pass_k(score).empty


def test_readings_stand_beside_the_score_of_the_board():
    table = target_scores.build_alternate_scores(
        {"fuzzy": 60.0, "official": 50.0, "tolerant": 58.0}, 50.0
    )
    assert list(table["view"]) == ["official", "tolerant", "fuzzy"]
    assert list(table["difference"]) == [0.0, 8.0, 10.0]
    assert target_scores.lost_to_format({"official": 50.0, "tolerant": 58.0}) == 8.0


def test_one_reading_is_none_and_without_a_second_one_the_loss_is_unknown():
    assert target_scores.build_alternate_scores({"strict": 1.0}, 1.0).empty
    assert target_scores.lost_to_format({"strict": 1.0, "lenient": 2.5}) == 1.5
    assert target_scores.lost_to_format({"strict": 1.0, "tolerant": 2.0}) is None


def test_bars_of_counts_say_number_and_share_in_words():
    frame = pd.DataFrame({"name": ["a", "b"], "count": [3, 1], "share": [0.75, 0.25]})
    spec = plots.build_count_bars(frame, LABELS).to_dict()
    words = spec["datasets"][spec["data"]["name"]]
    assert [row["text"] for row in words] == ["3 · 75%", "1 · 25%"]
    assert spec["layer"][0]["encoding"]["y"]["sort"] == ["a", "b"]


def test_a_split_bar_keeps_the_colour_of_a_part_whatever_others_there_are():
    frame = pd.DataFrame({"name": ["right", "wrong"], "count": [2, 1], "position": [0, 3]})
    colour = plots.build_split_bar(frame, LABELS).to_dict()["layer"][0]["encoding"]["color"]
    assert colour["scale"] == {
        "domain": ["right 2", "wrong 1"],
        "range": [plots.PARTS[0], plots.PARTS[3]],
    }


def test_charts_of_nothing_are_still_charts():
    empty = pd.DataFrame({"name": [], "count": [], "share": [], "position": []})
    for chart in (plots.build_count_bars(empty, LABELS), plots.build_split_bar(empty, LABELS)):
        assert chart.to_dict()["layer"]
