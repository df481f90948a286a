"""Boards of published results: worked out here, and apart from what was measured here."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from evalcore.errors import UsageError
from evalcore.settings import Settings
from evalcore.store import published as store_module
from evalcore.views import published_boards, stored_boards
from evalcore.views.published_boards import (
    HERE,
    PUBLISHED,
    choose_default_source,
    load_published_board,
    load_publishers,
)
from evalcore.views.published_ranking import (
    build_published_trend,
    list_month_leaders,
    load_published_ranking,
)
from evalcore.views.ranking import SUITE
from tests.support.boards import Plan, make_run, settings_in
from tests.support.publications import PUBLISHER, PublicationBuilder

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def store(tmp_path):
    return settings_in(tmp_path)


@pytest.fixture
def shipped(tmp_path):
    return Settings(data=str(tmp_path), shipped=str(ROOT / "data" / "shipped"))


def write(store, **entries):
    builder = PublicationBuilder()
    for name, (a, b) in entries.items():
        builder.entry(name, reading=builder.reading(a, b))
    builder.write(store)
    return builder


def rows_of(ranking):
    return {row["identity"]: row for row in ranking.rows}


def test_a_score_is_worked_out_from_verdicts_points_and_weights(store):
    builder = PublicationBuilder()
    a = builder.report("110", 3.0, points=[1.0, 2.0, 3.0])
    builder.entry("x", reading=builder.score(66.0, a=a, b=builder.report("01", 1.0)))
    builder.write(store)
    board = load_published_board(store, "acme")
    score = board.headers[0].benchmarks["reading"]
    # (3 x 3 + 1 x 1) / (3 x 6 + 1 x 2)
    assert score.score == pytest.approx(50.0)
    assert score.low < 50 < score.high
    assert score.views == {"claimed": 66.0}
    assert score.outcomes == {"passed": 3, "failed": 2}
    assert score.metrics["a"][0] == 50.0
    assert (score.samples, score.complete) == (5, True)


def test_who_lacks_a_case_has_a_lower_bound_and_no_rank(store):
    builder = write(store, x=("111", "11"), y=("101", "10"))
    ids = ["1", "2"]  # the third was dropped there
    dropped = builder.report("11", 3.0, ids=ids)
    builder.entry("z", reading=builder.score(100.0, a=dropped, b=builder.report("11")))
    builder.entry("u", reading=builder.reading("11-", "11"))
    builder.write(store)
    rows = rows_of(load_published_ranking(store, "acme"))
    for name in ("acme:z", "acme:u"):
        assert rows[name]["status"] == "incomplete"
        assert rows[name]["rank"] is None
        assert rows[name]["score"] == pytest.approx(100 * (6 + 2) / (9 + 2))
        assert rows[name]["coverage"] == pytest.approx(4 / 5)
    assert rows["acme:x"]["rank"] == 1


def test_what_few_reports_hold_is_not_part_of_the_board(store):
    builder = write(store, x=("11", "11"), y=("10", "10"))
    extra = builder.report("111", 3.0)
    builder.entry("z", reading=builder.score(90.0, a=extra, c=builder.report("0", 9.0)))
    builder.write(store)
    board = load_published_board(store, "acme")
    rule = board.rules["reading"]
    assert list(rule.points["a"]) == ["1", "2"]
    assert rule.weights == {"a": 3.0, "b": 1.0}
    z = rows_of(load_published_ranking(store, "acme"))["acme:z"]
    assert z["status"] == "incomplete", "it was never asked the second metric"


def test_one_set_of_weights_holds_for_all_rows_of_a_month(store):
    builder = PublicationBuilder()
    for name, a, b, claimed in (("x", "11", "00", 66.7), ("y", "10", "11", 66.7)):
        old = builder.score(claimed, a=builder.report(a, 2.0), b=builder.report(b, 1.0))
        builder.entry(name, reading=old)
    builder.write(store)
    rule = load_published_board(store, "acme").rules["reading"]
    assert rule.weights == {"a": 2.0, "b": 1.0}, "the weights by which most claims come out"


def test_equal_rows_share_a_rank_and_a_group(store):
    write(store, **dict.fromkeys("xyz", ("1100", "11")))
    ranking = load_published_ranking(store, "acme")
    assert list(ranking.frame["rank"]) == [1, 1, 1]
    assert list(ranking.frame["group"]) == [1, 1, 1]
    assert list(ranking.frame["rank_high"]) == [3, 3, 3]


def test_the_mean_of_the_suite_needs_every_benchmark(store):
    builder = PublicationBuilder()
    for name, c in (("x", "11"), ("y", "10")):
        writing = builder.score(50.0, c=builder.report(c))
        builder.entry(name, reading=builder.reading("111"), writing=writing)
    builder.entry("app", reading=builder.reading("111"))
    builder.write(store)
    ranking = load_published_ranking(store, "acme")
    assert ranking.order == SUITE
    rows = rows_of(ranking)
    assert rows["acme:y"]["score"] == pytest.approx(75.0)
    assert rows["acme:app"]["status"] == "not_run"
    by_reading = rows_of(load_published_ranking(store, "acme", order="reading"))
    assert by_reading["acme:app"]["rank"] == 1


@pytest.fixture
def claims(store):
    columns = {"reading": {"a": None, "b": None}}
    builder = PublicationBuilder(
        msgspec.structs.replace(PUBLISHER, columns=columns, members=(), cumulative=True)
    )
    for month, name, score, user in (
        ("2026-03", "old", 40.0, "u1"),
        ("2026-05", "best", 60.0, "u1"),
        ("2026-05", "equal", 40.0, "u1"),
        ("2026-05", "other", 99.0, "u2"),
    ):
        claimed = builder.score(score, {"a": score, "b": 10.0})
        builder.entry(name, month, reading=claimed, setup={"user": user}, date=f"{month}-09")
    builder.write(store)
    return store


def test_claims_alone_have_a_rank_and_nothing_that_says_how_sure(claims):
    ranking = load_published_ranking(claims, "acme")
    frame = ranking.frame
    assert list(frame["identity"]) == ["acme:best", "acme:equal", "acme:old"]
    assert list(frame["rank"]) == [1, 2, 2]
    for name in ("rank_low", "rank_high", "group", "low", "high", "leader"):
        assert frame[name].isna().all(), name
    assert list(ranking.table.frame["claimed"]) == [60.0, 40.0, 40.0]
    text = ranking.describe("en")
    assert "20.0 points above" in text
    assert "can't be tested" in text
    assert "significant" not in text


def test_what_was_measured_in_another_way_is_never_ranked_together(claims):
    other = load_published_ranking(claims, "acme", setup="u2")
    assert list(other.frame["identity"]) == ["acme:other"]
    assert published_boards.list_setups(other.source.publication) == ["u1", "u2"]
    assert other.board.key != load_published_ranking(claims, "acme").board.key


def test_a_month_shows_all_up_to_it_where_entries_stay(claims):
    march = load_published_ranking(claims, "acme", "2026-03")
    assert list(march.frame["identity"]) == ["acme:old"]
    trend = build_published_trend(load_published_ranking(claims, "acme"))
    assert list(trend["identity"]) == ["acme:old", "acme:best", "acme:equal"]
    assert list(trend["score"]) == [40.0, 60.0, 40.0]
    leaders = list_month_leaders(load_published_ranking(claims, "acme"))
    assert [(row["month"], row["identity"]) for row in leaders] == [
        ("2026-03", "acme:old"),
        ("2026-05", "acme:best"),
    ]
    assert {row["tied"] for row in leaders} == {None}


def test_a_model_may_miss_a_month_and_change_its_name(store):
    builder = PublicationBuilder()
    for month, name in (("2026-03", "x"), ("2026-05", "x")):
        builder.entry(name, month, reading=builder.reading("110"), name=f"X of {month}")
    for month in ("2026-03", "2026-04", "2026-05"):
        builder.entry("Y", month, reading=builder.reading("111"))
    builder.write(store)
    newest = load_published_ranking(store, "acme")
    trend = build_published_trend(newest, ["acme:x"])
    assert [str(date)[:7] for date in trend["date"]] == ["2026-03", "2026-05"]
    assert newest.names["acme:x"] == "X of 2026-05"
    assert list(newest.table.frame["new"]) == [False, False]
    assert "acme:x" not in load_published_ranking(store, "acme", "2026-04").names


def test_models_of_one_name_are_told_apart(store):
    builder = PublicationBuilder()
    for name, effort in (("x1", "high"), ("x2", "low"), ("x3", "low")):
        builder.entry(name, name="X", effort=effort, reading=builder.reading("110"))
    builder.write(store)
    names = load_published_ranking(store, "acme").names
    assert names == {
        "acme:x1": "X (high)",
        "acme:x2": "X (low) (x2)",
        "acme:x3": "X (low) (x3)",
    }


@pytest.mark.parametrize(
    "wrong", [("nobody",), ("acme", "2020-01"), ("acme", "x"), ("acme", "2026-05", "", "setup")]
)
def test_what_is_not_there_is_refused_by_name(store, wrong):
    write(store, x=("11", "11"))
    with pytest.raises(UsageError):
        load_published_ranking(store, *wrong)


def test_a_published_board_stands_on_no_list_of_boards_and_holds_no_run(store):
    make_run(store, Plan(target="openai:ours"))
    write(store, x=("11", "11"))
    headers = stored_boards.load_run_headers(store)
    assert {header.origin for header in headers} == {"executed"}
    board = load_published_board(store, "acme")
    assert {header.origin for header in board.headers} == {"published"}
    assert board.board.published
    assert board.board.is_publication
    assert board.board.taken_over


def test_published_results_come_first_until_a_model_was_measured(store):
    write(store, x=("11", "11"))
    assert choose(store) == PUBLISHED
    make_run(store, Plan(target="baseline:sqlite"))
    make_run(store, Plan(target="control:reference"))
    assert choose(store) == PUBLISHED
    make_run(store, Plan(target="openai:ours"))
    assert choose(store) == HERE
    assert choose(store, "agentic") == HERE, "nothing is published of it"


def choose(store, suite="sql"):
    return choose_default_source(store, stored_boards.load_run_headers(store), suite)


# The results that ship, against figures that were measured independently of this code.


def test_every_month_of_scale_has_its_rows_and_its_rules(shipped):
    counts = []
    for month in store_module.load_publications(shipped)["scale"].months:
        board = load_published_board(shipped, "scale", month)
        counts.append(len(board.entries))
        assert board.has_verdicts
        assert len(board.board.columns) == 3
    assert counts == [37, 35, 33, 29, 26, 23, 21, 23, 21, 19, 18, 13, 11]


def test_most_claims_of_scale_follow_from_the_verdicts(shipped):
    """Scores by the weights in force of each month, over the cases that were decided."""
    gaps = [
        abs(round(score.answered, 1) - score.views["claimed"])
        for month in store_module.load_publications(shipped)["scale"].months
        for header in load_published_board(shipped, "scale", month).headers
        for score in header.benchmarks.values()
    ]
    assert len(gaps) == 879
    assert sum(gap < 0.05 for gap in gaps) == 760


def test_no_neighbours_of_june_can_be_told_apart(shipped):
    """As measured with a bootstrap: none of the adjacent pairs differs significantly."""
    for order in load_published_board(shipped, "scale", "2026-06").board.columns:
        frame = load_published_ranking(shipped, "scale", "2026-06", order).frame
        ranked = frame[frame["status"] == "ranked"]
        first = ranked[ranked["group"] == 1]
        assert len(first) > 5
        assert (ranked["rank_low"] <= ranked["rank"]).all()
        assert (ranked["rank_high"] >= ranked["rank"]).all()


def test_tau2_is_ranked_by_claims_of_one_setup(shipped):
    ranking = load_published_ranking(shipped, "tau2")
    assert ranking.order == "banking_knowledge"
    assert len(ranking.ranked) == 27
    setups = {entry.setup_key for entry in ranking.source.entries.values()}
    assert setups == {"text-1.x-gpt-5.2"}
    assert [publisher.key for publisher in load_publishers(shipped, "agentic")] == ["tau2"]
