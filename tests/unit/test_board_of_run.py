"""The board that a run is to be seen on once it has ended."""

import msgspec
import pytest

from evalcore.views import boards
from evalcore.views.ranking import SUITE, list_board_orders
from evalcore.views.stored_boards import find_run_board, score_run_suite
from tests.support.headers import header, score

KEYS = ["sql_understanding", "dialect_conversion", "sql_optimization"]


def whole(target, at, **more):
    return header(target, at, **{key: score(f"c.{key}", dataset=key, **more) for key in KEYS})


def of_run(headers, run):
    board, by = find_run_board(headers, run.run_id)
    [row] = [row for row in boards.list_board_rows(headers, board) if row.identity == run.identity]
    assert by in list_board_orders(board)
    return board, by, row


def test_a_run_of_the_whole_suite_opens_the_default_ranking():
    run = whole("openai:a", 2)
    board, by, row = of_run([run, whole("openai:b", 1)], run)
    assert (board.key, by) == (boards.DEFAULT, SUITE)
    assert row.runs["sql_understanding"].run_id == run.run_id


@pytest.mark.parametrize("key", KEYS)
def test_a_run_of_one_benchmark_is_ranked_by_it(key):
    run = header("openai:a", 2, **{key: score(f"c.{key}", dataset=key)})
    board, by, _ = of_run([run, whole("openai:b", 1)], run)
    assert (board.key, by) == (boards.DEFAULT, key)


def test_one_benchmark_that_completes_a_row_opens_the_suite():
    first = header("openai:a", 1, **{key: score(f"c.{key}", dataset=key) for key in KEYS[:2]})
    run = header("openai:a", 2, **{KEYS[2]: score(f"c.{KEYS[2]}", dataset=KEYS[2])})
    board, by, _ = of_run([run, first, whole("openai:b", 1)], run)
    assert (board.key, by) == (boards.DEFAULT, SUITE)


@pytest.mark.parametrize("more", [{"full": False, "samples": 3}, {"dataset": "mine"}])
def test_a_subset_or_an_own_data_set_has_a_board_of_its_own(more):
    run = header("openai:a", 2, **{KEYS[1]: score("other", **more)})
    board, by, row = of_run([run, whole("openai:b", 1)], run)
    assert (board.key, by) == ("other", KEYS[1])
    assert row.score(KEYS[1]).column == "other"


def test_a_run_without_a_score_has_none():
    assert find_run_board([], "run") is None
    empty = msgspec.structs.replace(header("openai:a", 1), benchmarks={})
    assert find_run_board([empty, whole("openai:b", 1)], empty.run_id) is None


def test_a_control_and_an_import_open_their_boards():
    control = whole("control:null", 2)
    assert find_run_board([control, whole("openai:b", 1)], control.run_id)[0].key == boards.DEFAULT
    month = {key: score(f"scale-2026-05.{key}", dataset="scale-2026-05") for key in KEYS}
    run = msgspec.structs.replace(header("scale:a", 1, **month), origin="imported")
    assert find_run_board([run, whole("openai:b", 1)], run.run_id)[0].key == "scale-2026-05"


def test_a_run_of_the_whole_suite_has_its_score_and_another_says_what_is_missing():
    other, run = whole("openai:b", 1), whole("openai:a", 2)
    assert score_run_suite([run, other], other.run_id) == score_run_suite([other], other.run_id)
    own = score_run_suite([run, other], run.run_id)
    frame_row = boards.list_board_rows([run, other], find_run_board([run], run.run_id)[0])[0]
    assert own.missing == {}
    assert own.score == pytest.approx(frame_row.score(KEYS[0]).score)
    assert own.low < own.score < own.high

    part = header("openai:c", 3, **{key: score(f"c.{key}", dataset=key) for key in KEYS[:2]})
    assert score_run_suite([part, run], part.run_id) == (None, None, None, {KEYS[2]: {}})
    torn = whole("openai:d", 4, complete=False, outcomes={"passed": 8, "not_executed": 2})
    undecided = {key: {"not_executed": 2} for key in KEYS}
    assert score_run_suite([torn, run], torn.run_id).missing == undecided
    single = header("openai:e", 5, **{KEYS[0]: score("c", dataset=KEYS[0])})
    assert score_run_suite([single, run], single.run_id) is None
    assert score_run_suite([], "run") is None
