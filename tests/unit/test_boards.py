"""Which boards a store has, which run stands for a target, and what is never compared."""

import pytest

from evalcore.store.headers import RunHeader
from evalcore.views import boards
from tests.support.headers import SQL, header, score, two_benchmarks

__all__ = ["two_benchmarks"]  # a fixture


def test_no_run_means_no_suite_and_no_board():
    assert boards.list_suites([]) == []
    assert boards.list_boards([], "sql") == []


def test_each_column_is_a_board_of_its_own_and_the_usual_one_comes_first():
    headers = [
        header("openai:a", 1),
        header("openai:a", 2, **{SQL: score("scale", label=f"{SQL} · scale · 10 samples")}),
        header("openai:b", 3, **{SQL: score("mine", dataset="mine", label="mine · verified · 9")}),
    ]
    result = boards.list_boards(headers, "sql")
    assert [board.key for board in result] == ["default", "scale", "mine"]
    assert [board.columns[SQL].key for board in result] == ["c1", "scale", "mine"]
    assert result[0].columns[SQL].targets == 1


@pytest.mark.parametrize(
    "better",
    [
        {},
        {"full": False, "label": f"{SQL} · verified · 3 samples"},
        {"dataset": "mine"},
        {"label": f"{SQL} · scale · 10 samples"},
    ],
)
def test_the_default_column_is_full_bundled_usual_and_has_most_targets(better):
    rival = score("rival", **better)
    crowd = [header(f"openai:{name}", 20, **{SQL: rival}) for name in "xyz"]
    recorded = [header("openai:a", 1)]
    expected = "c1" if better else "rival"
    assert boards.list_boards([*crowd, *recorded], "sql")[0].columns[SQL].key == expected


def test_an_imported_column_is_never_the_default():
    imported = RunHeader(
        run_id="i",
        target_key="openai:z",
        identity="openai:z",
        created_at="2026-11-30T00:00:00.000+00:00",
        state="done",
        origin="imported",
        benchmarks={SQL: score("imported")},
    )
    result = boards.list_boards([imported, header("openai:a", 1)], "sql")
    assert [board.columns[SQL].key for board in result] == ["c1", "imported"]
    assert not result[1].columns[SQL].executed


def test_controls_do_not_count_as_targets():
    result = boards.list_boards([header("control:null", 1), header("control:reference", 2)], "sql")
    assert result[0].columns[SQL].targets == 0


def test_a_row_shows_the_newest_complete_run_and_not_the_best():
    headers = [
        header("openai:a", 1, **{SQL: score(value=90.0)}),
        header("openai:a", 2, **{SQL: score(value=60.0)}),
        header("openai:a", 3, **{SQL: score(value=95.0, complete=False, coverage=0.5)}),
    ]
    board = boards.list_boards(headers, "sql")[0]
    (row,) = boards.list_board_rows(headers, board)
    assert row.score(SQL).score == 60.0
    assert row.is_complete


def test_an_incomplete_run_stands_only_where_there_is_no_complete_one():
    headers = [
        header("openai:a", 2, **{SQL: score(value=20.0, complete=False)}),
        header("openai:a", 1, **{SQL: score(value=10.0, complete=False)}),
    ]
    (row,) = boards.list_board_rows(headers, boards.list_boards(headers, "sql")[0])
    assert row.score(SQL).score == 20.0
    assert not row.is_complete


def test_other_options_make_another_row():
    headers = [header("openai:a", 1), header("openai:a#12345678", 2)]
    rows = boards.list_board_rows(headers, boards.list_boards(headers, "sql")[0])
    assert {row.identity for row in rows} == {"openai:a", "openai:a#12345678"}


def test_a_run_of_another_column_has_no_row():
    headers = [header("openai:a", 1), header("openai:b", 2, **{SQL: score("scale", dataset="x")})]
    rows = boards.list_board_rows(headers, boards.list_boards(headers, "sql")[0])
    assert [row.identity for row in rows] == ["openai:a"]


def test_an_old_link_ends_on_the_default_board():
    result = boards.list_boards([header("openai:a", 1)], "sql")
    assert boards.find_board(result, "gone").key == boards.DEFAULT


def test_floors_are_the_complete_controls_from_the_lowest():
    headers = [
        header("control:reference", 1, **{SQL: score(value=100.0)}),
        header("control:noop", 1, **{SQL: score(value=7.0)}),
        header("control:null", 1, **{SQL: score(value=3.0)}),
        header("openai:a", 1),
    ]
    board = boards.list_boards(headers, "sql")[0]
    assert list(boards.compute_floors(headers, board, SQL).items()) == [
        ("null", 3.0),
        ("noop", 7.0),
        ("reference", 100.0),
    ]
    broken = [header("control:null", 1, **{SQL: score(complete=False)})]
    assert boards.compute_floors(broken, board, SQL) == {}


@pytest.mark.usefixtures("two_benchmarks")
def test_the_suite_mean_exists_only_where_every_benchmark_ran():
    both = {SQL: score(value=80.0), "other": score("o1", 40.0, dataset="other")}
    headers = [header("openai:a", 1, **both), header("openai:b", 2)]
    board = boards.list_boards(headers, "sql")[0]
    means = {
        row.identity: boards.suite_score(row, board)
        for row in boards.list_board_rows(headers, board)
    }
    assert board.has_all_members
    assert means == {"openai:a": 60.0, "openai:b": None}


@pytest.mark.usefixtures("two_benchmarks")
def test_a_board_that_lacks_a_benchmark_has_no_suite_mean():
    headers = [header("openai:a", 1)]
    board = boards.list_boards(headers, "sql")[0]
    assert not board.has_all_members
    assert boards.suite_score(boards.list_board_rows(headers, board)[0], board) is None


@pytest.mark.usefixtures("two_benchmarks")
def test_a_row_joins_the_newest_runs_of_its_columns():
    headers = [
        header("openai:a", 1, run="r1"),
        header("openai:a", 2, run="r2", other=score("o1", 40.0, dataset="other")),
    ]
    (row,) = boards.list_board_rows(headers, boards.list_boards(headers, "sql")[0])
    assert {key: run.run_id for key, run in row.runs.items()} == {SQL: "r1", "other": "r2"}
