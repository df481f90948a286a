"""A suite's mean is over declared members: what else is installed or run un-ranks nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalcore import settings
from evalcore.catalog import BenchmarkCard, MetricCard, SuiteCard, benchmark_cards, suite_cards
from evalcore.views import boards, payloads, ranking, stored_boards, targets
from evalcore.views.board_titles import board_title, suite_title
from tests.support.headers import header, score

MEMBERS = suite_cards()["sql"].memberships[0]
SQL = MEMBERS[0]


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> str:
    """A benchmark of a plug-in in the suite `sql`."""
    card = BenchmarkCard(
        key="sums", suite="sql", implementation="x:Y", metrics=(MetricCard(key="m", weight=1),)
    )
    monkeypatch.setattr(boards, "benchmark_cards", lambda: {**benchmark_cards(), "sums": card})
    return "sums"


def full(target: str, day: int, **more: object) -> object:
    return header(target, day, **{key: score(f"c-{key}") for key in MEMBERS}, **more)


def default(headers: list) -> boards.Board:
    return boards.list_boards(headers, "sql")[0]


def statuses(headers: list, board: boards.Board, by: str = ranking.SUITE) -> dict[str, str]:
    readable = {(key, run.run_id) for run in headers for key in run.benchmarks}
    rows = boards.list_board_rows(headers, board)
    return {row.identity: ranking.find_row_status(row, board, by, readable) for row in rows}


def test_a_plugin_in_the_suite_is_a_further_column_that_the_mean_leaves_out(added: str) -> None:
    before = [full("openai:a", 1), full("openai:b", 2)]
    plain = default(before)
    after = [*before, header("openai:a", 3, sums=score("s", 10.0))]
    board = default(after)
    assert board.members == MEMBERS
    assert ranking.list_board_orders(board) == ["suite", *MEMBERS, "sums"]
    assert statuses(after, board) == {"openai:a": "ranked", "openai:b": "ranked"}
    means = {
        row.identity: boards.suite_score(row, board) for row in boards.list_board_rows(after, board)
    }
    assert means == {
        row.identity: boards.suite_score(row, plain)
        for row in boards.list_board_rows(before, plain)
    }
    assert statuses(after, board, "sums") == {"openai:a": "ranked", "openai:b": "not_run"}


def test_the_sums_of_a_row_leave_the_further_column_out(added: str) -> None:
    before = [full("openai:a", 1)]
    cut = score("s", 10.0, complete=False, coverage=0.1)
    after = [*before, header("openai:a", 3, sums=cut)]
    records = []
    for headers in (before, after):
        board = default(headers)
        (row,) = boards.list_board_rows(headers, board)
        records.append(ranking._build_ranking_record(row, board, "suite", "ranked", None))
    assert records[0] == {name: records[1][name] for name in records[0]}
    (row,) = boards.list_board_rows(after, default(after))
    own = ranking._build_ranking_record(row, default(after), "sums", "incomplete", None)
    assert (own["coverage"], own["run_id"]) == (0.1, after[1].run_id)


def test_who_ran_the_further_column_alone_is_listed_and_not_ranked(added: str) -> None:
    headers = [full("openai:a", 1), header("openai:z", 2, sums=score("s"))]
    assert statuses(headers, default(headers))["openai:z"] == "not_run"
    (_, row) = sorted(
        boards.list_board_rows(headers, default(headers)), key=lambda item: item.identity
    )
    assert (
        ranking._build_ranking_record(row, default(headers), "suite", "not_run", None)["score"]
        is None
    )


def test_the_best_of_a_metric_does_not_wait_for_the_further_column(added: str) -> None:
    headers = [full("openai:a", 1)]
    best = targets.find_score_extremes(headers, default(headers))[0]
    headers.append(header("openai:a", 2, sums=score("s", complete=False)))
    assert targets.find_score_extremes(headers, default(headers))[0] == best


def test_a_run_of_the_further_column_is_no_point_of_the_suites_trend(added: str) -> None:
    headers = [full("openai:a", 1), header("openai:a", 2, sums=score("s"))]
    frame = stored_boards.build_score_trend(headers, default(headers), ranking.SUITE, {"openai:a"})
    assert list(frame["run_id"]) == [headers[0].run_id]


def test_a_newer_run_that_did_not_end_displaces_neither_row_nor_column() -> None:
    done = full("openai:a", 1)
    cut = {key: score(f"c-{key}", complete=False) for key in MEMBERS}
    (row,) = boards.list_board_rows([done, header("openai:a", 5, **cut)], default([done]))
    assert {run.run_id for run in row.runs.values()} == {done.run_id}
    other = {key: score(f"new-{key}", complete=False) for key in MEMBERS}
    headers = [done, header("openai:a", 6, **other)]
    assert default(headers).columns[SQL].key == f"c-{SQL}"


def test_the_same_cases_under_another_name_do_not_move_the_board() -> None:
    done = full("openai:a", 1)
    path = header("openai:b", 5, **{SQL: score(f"c-{SQL}", dataset="/somewhere", full=False)})
    rival = header("openai:c", 2, **{SQL: score("rival")})
    assert default([done, path, rival]).columns[SQL].key == f"c-{SQL}"


@pytest.fixture
def versions(added: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The suite in two versions, the second with the added benchmark."""
    second = (*MEMBERS, added)
    card = SuiteCard(key="sql", memberships=(MEMBERS, second))
    monkeypatch.setattr(boards, "suite_cards", lambda: {**suite_cards(), "sql": card})
    return second


def test_a_new_version_waits_until_nobody_loses_a_rank(versions: tuple[str, ...]) -> None:
    headers = [full("openai:a", 1), full("openai:b", 2)]
    assert [board.key for board in boards.list_boards(headers, "sql")] == ["default"]
    headers.append(header("openai:a", 3, sums=score("s")))
    first, second = boards.list_boards(headers, "sql")
    assert (first.key, first.members, second.key, second.members) == (
        "default", MEMBERS, "v2", versions,
    )  # fmt: skip
    assert set(statuses(headers, first).values()) == {"ranked"}
    headers.append(header("openai:b", 4, sums=score("s", complete=False)))
    assert default(headers).members == MEMBERS
    headers.append(header("openai:b", 5, sums=score("s")))
    first, second = boards.list_boards(headers, "sql")
    assert (first.members, second.key, second.members) == (versions, "v1", MEMBERS)
    assert first.identity != second.identity
    assert set(statuses(headers, first).values()) == {"ranked"}
    assert "Suite version 1" in board_title(second, "en")
    assert payloads.board_data(headers, second)["members"] == list(MEMBERS)


def test_the_operators_members_make_a_board_of_its_own(
    added: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "evalboard.toml"
    file.write_text(f'[suites]\nsql = ["{SQL}", "sums"]\n', encoding="utf-8")
    monkeypatch.setenv("EVALBOARD_CONFIG", str(file))
    assert settings.load_settings().suites == {"sql": (SQL, "sums")}
    headers = [full("openai:a", 1), full("openai:b", 2), header("openai:a", 3, sums=score("s", 10))]
    first, own = boards.list_boards(headers, "sql")
    assert (first.members, own.members) == (MEMBERS, (SQL, "sums"))
    assert own.key.startswith("own-")
    assert statuses(headers, own) == {"openai:a": "ranked", "openai:b": "not_run"}
    assert board_title(own, "en").startswith("Mean of ")
    assert boards.find_board([first, own], own.key) is own


def test_runs_of_an_absent_plugin_stay_on_a_board_of_their_suite() -> None:
    lines = {"sum": (50.0, 40.0, 60.0, 6)}
    gone = score("g", suite="law", label="cases · 6 samples", metrics=lines)
    headers = [full("openai:a", 1), header("openai:a", 2, statutes=gone)]
    assert boards.list_suites(headers) == ["sql", "law"]
    (board,) = boards.list_boards(headers, "law")
    assert (list(board.columns), board.members, ranking.list_board_orders(board)) == (
        ["statutes"], (), ["statutes"],
    )  # fmt: skip
    assert statuses(headers, board, "statutes") == {"openai:a": "ranked"}
    assert board.columns["statutes"].card.metrics[0].key == "sum"
    assert suite_title("law", "zh") == "law"
    extra = [full("openai:a", 1), header("openai:a", 2, statutes=score("g", suite="sql"))]
    assert list(default(extra).columns) == [*MEMBERS, "statutes"]


@pytest.mark.parametrize(("key", "suite"), [("score", "sql"), ("a/b", "sql"), ("x", "../law")])
def test_a_key_that_no_plugin_can_have_enters_no_board(key: str, suite: str) -> None:
    headers = [header("openai:a", 2, **{key: score("g", suite=suite)})]
    assert boards.list_suites(headers) == []


def test_a_suite_that_nobody_declares_begins_with_what_most_have_run() -> None:
    def law(target: str, day: int, key: str) -> object:
        return header(target, day, **{key: score(f"c-{key}", suite="law")})

    headers = [law("openai:a", 1, "zoning"), law("openai:b", 2, "zoning")]
    headers.append(law("openai:a", 3, "arson"))
    (board,) = boards.list_boards(headers, "law")
    assert ranking.list_board_orders(board) == ["zoning", "arson"]
