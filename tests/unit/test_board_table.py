"""What the Ranking page shows of a board: months, facts of targets, marks of the new, leaders."""

from __future__ import annotations

import msgspec
import pytest

from evalcore.access.policy import OPERATOR
from evalcore.settings import Price
from evalcore.target_cards import TargetCard, save_card
from evalcore.views import board_table, boards, comparison_runs, stored_boards, targets
from evalcore.views.ranking import SUITE
from evalcore.views.stored_boards import build_score_trend, load_run_headers
from tests.support.boards import BENCHMARK, Plan, make_run, settings_in
from tests.support.headers import SQL, header, score, two_benchmarks

__all__ = ["two_benchmarks"]  # a fixture


@pytest.fixture
def settings(tmp_path):
    return settings_in(tmp_path)


def day(text: str) -> str:
    return f"{text}T10:00:00.000+00:00"


def table(settings, since="", until=""):
    board = boards.list_boards(load_run_headers(settings), "sql")[0]
    return board_table.board_table(settings, board, BENCHMARK, since, until)


def test_a_month_brings_back_the_runs_of_that_time(settings):
    make_run(settings, Plan(target="openai:a", skill=0.2, created_at=day("2026-09-10")))
    make_run(settings, Plan(target="openai:a", skill=0.9, created_at=day("2026-11-10")))
    make_run(settings, Plan(target="openai:b", skill=0.5, created_at=day("2026-10-10")))
    assert table(settings).months == ("2026-11", "2026-10", "2026-09")
    assert list(table(settings).frame["identity"]) == ["openai:a", "openai:b"]
    before = table(settings, until="2026-10").frame
    assert list(before["identity"]) == ["openai:b", "openai:a"]
    assert list(table(settings, "2026-10", "2026-10").frame["identity"]) == ["openai:b"]
    assert list(table(settings, since="2026-11").frame["identity"]) == ["openai:a"]
    assert table(settings, "2026-12").frame.empty
    assert table(settings, "2026-12").leaders == ()


def test_a_newer_incomplete_run_does_not_hide_a_complete_one_of_the_range(settings):
    make_run(settings, Plan(target="openai:a", created_at=day("2026-09-10")))
    make_run(settings, Plan(target="openai:a", created_at=day("2026-10-10"), failing=3))
    assert list(table(settings, until="2026-10").frame["status"]) == ["ranked"]
    assert list(table(settings, since="2026-10").frame["status"]) == ["incomplete"]


def test_months_are_those_of_the_board_alone(settings):
    make_run(settings, Plan(target="openai:a", created_at=day("2026-09-10"), mode="scale"))
    make_run(settings, Plan(target="openai:a", created_at=day("2026-11-10")))
    assert table(settings).months == ("2026-11",)
    assert len(stored_boards.select_runs_between(load_run_headers(settings), "", "2026-09")) == 1


def test_cards_give_names_makers_and_sizes(settings):
    for name in ("strong", "weak"):
        make_run(settings, Plan(target=f"openai:{name}", skill=0.9 if name == "strong" else 0.2))
    card = TargetCard(name="Strong 1", organization="Maker", parameters=7.5, open_weights=False)
    save_card(settings, OPERATOR, "openai:strong", card)
    first, second = table(settings).frame.to_dict("records")
    assert (first["name"], first["organization"]) == ("Strong 1", "Maker")
    assert (first["parameters"], first["weights"]) == (7.5, board_table.CLOSED)
    assert (second["name"], second["weights"]) == ("openai:weak", "")
    assert second["parameters"] != second["parameters"]


def test_a_logo_that_is_no_picture_of_ours_is_left_out():
    row = boards.Row("openai:a", "openai:a", {SQL: header("openai:a", 1)})
    card = TargetCard(logo="https://evil.invalid/i.png")
    target_facts = board_table.build_target_facts([row], {"openai:a": card}, settings_in_nowhere())
    assert target_facts.loc["openai:a", "logo"] == ""


def settings_in_nowhere():
    from evalcore.settings import Settings

    return Settings(data="/nonexistent", shipped="/nonexistent")


@pytest.mark.parametrize(
    ("target", "options", "dollars"),
    [
        ("openai:mine", {}, 3.0),
        ("openai:ollama/any", {}, 0.0),
        ("openai:never-heard-of", {}, None),
        ("openai:", {}, None),
        ("baseline:sqlglot", {}, 0.0),
        ("hf:some/model", {}, 0.0),
        ("app:service", {}, None),
        ("openai:any", {"base_url": "no address"}, None),
    ],
)
def test_a_price_is_of_the_list_free_or_unknown(target, options, dollars):
    settings = msgspec.structs.replace(
        settings_in_nowhere(), prices={"mine": Price(input=2.0, output=6.0)}
    )
    run = msgspec.structs.replace(header(target, 1), target_options=options)
    assert board_table.find_token_price(run, settings) == dollars


def test_new_is_who_came_lately_to_an_older_board():
    old = msgspec.structs.replace(header("openai:old", 1), created_at=day("2026-08-01"))
    runs = [old, header("openai:old", 20), header("openai:late", 19), header("control:null", 19)]
    board = boards.list_boards(runs, "sql")[0]
    assert board_table.find_recent_targets(runs, board, {}) == {"openai:late"}
    assert board_table.find_recent_targets(runs[1:], board, {}) == frozenset()
    assert board_table.find_recent_targets([], board, {}) == frozenset()


@pytest.mark.parametrize(
    ("released", "new"),
    [
        ("2026-11-01", True),
        ("2026-11", True),
        ("2026-10", True),
        ("2026-10-02", False),
        ("2026-12", False),
        ("2026", False),
        ("", False),
    ],
)
def test_a_release_within_thirty_days_is_new_too(released, new):
    runs = [header("openai:a", 20)]
    board = boards.list_boards(runs, "sql")[0]
    assert (
        board_table.find_recent_targets(runs, board, {"openai:a": released}) == {"openai:a"}
    ) is new


def rows_of(*runs):
    board = boards.list_boards(runs, "sql")[0]
    return board, boards.list_board_rows(runs, board)


def named(rows):
    import pandas as pd

    names = [row.identity for row in rows]
    return pd.DataFrame({"identity": names, "name": names})


def test_a_leader_counts_who_is_within_reach():
    _, rows = rows_of(
        header("openai:a", 1, **{SQL: score(value=80.0)}),
        header("openai:b", 1, **{SQL: score(value=72.0)}),
        header("openai:c", 1, **{SQL: score(value=50.0)}),
        header("openai:d", 1, **{SQL: score(value=80.0, low=None, high=None)}),
    )
    (result,) = targets.find_leaders(rows, named(rows), [SQL])
    assert (result.identity, result.score, result.equal, result.near) == ("openai:a", 80.0, 1, 2)


def test_equals_go_to_the_better_ranked_and_parts_without_scores_are_left_out():
    _, rows = rows_of(header("openai:b", 1), header("openai:a", 1))
    frame = named(sorted(rows, key=lambda row: row.identity))
    leaders = targets.find_leaders(rows, frame, [SQL, f"{SQL}/execution_accuracy"])
    assert [(item.part, item.identity, item.equal) for item in leaders] == [(SQL, "openai:a", 1)]


def test_a_leader_whose_interval_begins_at_zero_reaches_that_far_down():
    _, rows = rows_of(
        header("openai:a", 1, **{SQL: score(value=3.0, low=0.0, high=9.0)}),
        header("openai:b", 1, **{SQL: score(value=1.0, low=0.0, high=2.0)}),
    )
    (result,) = targets.find_leaders(rows, named(rows), [SQL])
    assert result.near == 1


def test_a_trend_has_every_complete_run_of_the_column():
    runs = [
        header("openai:a", 3, **{SQL: score(value=70.0)}),
        header("openai:a", 1, **{SQL: score(value=60.0)}),
        header("openai:a", 2, **{SQL: score(value=65.0, complete=False)}),
        header("openai:a", 4, **{SQL: score("other", 99.0)}),
        header("openai:b", 1),
    ]
    board = next(item for item in boards.list_boards(runs, "sql") if item.columns[SQL].key == "c1")
    trend = build_score_trend(runs, board, SQL, {"openai:a"})
    assert list(trend["score"]) == [60.0, 70.0]
    assert trend["date"].is_monotonic_increasing
    assert build_score_trend(runs, board, SQL, ()).empty


@pytest.mark.usefixtures("two_benchmarks")
def test_the_trend_of_a_suite_joins_the_newest_runs_at_each_time():
    runs = [
        header("openai:a", 1, **{SQL: score(value=60.0)}),
        header("openai:a", 2, other=score("o1", 40.0, dataset="other")),
        header("openai:a", 3, **{SQL: score(value=80.0)}),
    ]
    board = boards.list_boards(runs, "sql")[0]
    assert list(build_score_trend(runs, board, SUITE, {"openai:a"})["score"]) == [50.0, 60.0]


def test_boards_tell_what_sets_them_apart(settings):
    make_run(settings, Plan(target="openai:a"))
    make_run(settings, Plan(target="openai:b", mode="scale", cases=10))
    headers = load_run_headers(settings)
    first, second = boards.list_boards(headers, "sql")
    (result,) = comparison_runs.find_column_differences(settings, headers, first, second)
    rules = {
        difference.rule: (difference.base, difference.other) for difference in result.differences
    }
    assert result.benchmark == BENCHMARK
    assert rules["options.mode"] == ("verified", "scale")
    assert {"dataset_hash", "samples"} <= set(rules)
    assert comparison_runs.find_column_differences(settings, headers, first, first) == ()


def test_boards_whose_runs_are_gone_are_apart_without_details(settings):
    runs = [header("openai:a", 1), header("openai:b", 2, **{SQL: score("c2")})]
    first, second = boards.list_boards(runs, "sql")
    (result,) = comparison_runs.find_column_differences(settings, runs, first, second)
    assert result.differences == ()
    assert result.base is not None
    assert result.base.key != result.other.key


def test_boards_of_rescored_answers_are_known_by_their_data_set():
    for dataset, again in (("bfcl-v4-results", True), ("bundle-1a2b", True), ("scale-2026", False)):
        run = header("openai:a", 1, **{SQL: score(dataset=dataset)})
        imported = msgspec.structs.replace(run, origin="imported")
        assert boards.list_boards([imported], "sql")[0].rescored is again
    assert not boards.list_boards([header("openai:a", 1)], "sql")[0].rescored
