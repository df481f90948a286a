"""Filters and orders of the rows of a board: what fits, what is in the way, what comes first."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd
import pytest

from evalcore.views import board_table, boards
from evalcore.views.board_table import BoardFilter, filter_board_rows, find_blocking_fields
from evalcore.views.ranking import is_ascending, list_sort_keys, sort_board_rows
from tests.support.headers import SQL, header

PART = f"{SQL}/execution_accuracy"


@pytest.fixture
def board():
    return boards.list_boards([header("openai:a", 1)], "sql")[0]


def line(identity, rank=None, **more):
    expected = {
        "identity": identity,
        "name": identity,
        "organization": "",
        "kind": identity.partition(":")[0],
        "status": "ranked" if rank else "incomplete",
        "rank": rank,
        "weights": "",
        "parameters": float("nan"),
        "price": float("nan"),
        "cost": None,
        "latency": None,
        "date": pd.Timestamp("2026-11-01"),
    }
    return expected | more


@pytest.fixture
def frame(board):
    lines = [
        line("openai:big", 1, name="Grand", organization="Maker", parameters=400.0, price=12.0,
             weights="closed", cost=3.0, latency=2.0),
        line("hf:small", 2, name="petit", parameters=3.0, price=0.0, weights="open", cost=0.0,
             date=pd.Timestamp("2026-11-05")),
        line("openai:a+b", 3, price=0.5, cost=1.0, latency=0.5),
        line("openai:cut"),
    ]  # fmt: skip
    made = pd.DataFrame(lines)
    for name in board_table.every_part(board):
        made[name] = [10.0, 30.0, 20.0, None] if name in (SQL, PART) else None
    return made


@pytest.mark.parametrize(
    ("wish", "names"),
    [
        (BoardFilter(), ["Grand", "petit", "openai:a+b", "openai:cut"]),
        (BoardFilter(text="GRAND"), ["Grand"]),
        (BoardFilter(text="maker"), ["Grand"]),
        (BoardFilter(text="openai:b"), ["Grand"]),
        (BoardFilter(text="a+b"), ["openai:a+b"]),
        (BoardFilter(text="("), []),
        (BoardFilter(kind=("hf",)), ["petit"]),
        (BoardFilter(organization=("Maker",)), ["Grand"]),
        (BoardFilter(weights=("open",)), ["petit"]),
        (BoardFilter(weights=("open", "closed")), ["Grand", "petit"]),
        (BoardFilter(size=("s",)), ["petit"]),
        (BoardFilter(size=("xs",)), []),
        (BoardFilter(size=("s", "xl")), ["Grand", "petit"]),
        (BoardFilter(price=("free",)), ["petit"]),
        (BoardFilter(price=("mid",)), ["openai:a+b"]),
        (BoardFilter(price=("low", "top")), ["Grand"]),
        (BoardFilter(complete=True), ["Grand", "petit", "openai:a+b"]),
        (BoardFilter(evidence=("executed",)), ["Grand", "petit", "openai:a+b"]),
        (BoardFilter(kind=("hf",), price=("top",)), []),
    ],
)
def test_a_wish_leaves_the_rows_that_fit_all_of_it(frame, board, wish, names):
    assert list(filter_board_rows(frame, board, wish)["name"]) == names


def test_ranks_stay_and_nothing_is_changed(frame, board):
    before = frame.copy()
    assert list(filter_board_rows(frame, board, BoardFilter(text="a+b"))["rank"]) == [3]
    pd.testing.assert_frame_equal(frame, before)


def test_what_is_in_the_way_is_what_alone_would_open_the_way(frame, board):
    assert find_blocking_fields(frame, board, BoardFilter(text="zzz", kind=("hf",))) == ["text"]
    assert find_blocking_fields(frame, board, BoardFilter(kind=("hf",), price=("top",))) == [
        "kind",
        "price",
    ]
    hopeless = BoardFilter(text="zzz", organization=("Nobody",))
    assert find_blocking_fields(frame, board, hopeless) == ["text", "organization"]


def test_evidence_shows_the_metrics_that_rest_on_it(board):
    assert PART in board_table.shown_parts(board, ())
    ran = [PART, f"{SQL}/explain_detection"]
    assert board_table.shown_parts(board, ("executed",)) == ran
    assert board_table.shown_parts(board, ("judged",)) == []
    assert "executed" in board_table.evidence_kinds(board)


def test_every_price_and_size_is_in_one_band_alone():
    for bands in (board_table.SIZES, board_table.PRICES):
        edges = list(bands.values())
        assert all(below == low for (_, below), (low, _) in pairwise(edges))


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        ("rank", ["Grand", "petit", "openai:a+b", "openai:cut"]),
        ("name", ["Grand", "openai:a+b", "openai:cut", "petit"]),
        ("cost", ["petit", "openai:a+b", "Grand", "openai:cut"]),
        ("latency", ["openai:a+b", "Grand", "petit", "openai:cut"]),
        ("price", ["petit", "openai:a+b", "Grand", "openai:cut"]),
        ("parameters", ["petit", "Grand", "openai:a+b", "openai:cut"]),
        ("date", ["petit", "Grand", "openai:a+b", "openai:cut"]),
        (PART, ["petit", "openai:a+b", "Grand", "openai:cut"]),
    ],
)
def test_an_order_puts_what_is_unknown_last_and_keeps_equals(frame, sort, names):
    assert list(sort_board_rows(frame, sort)["name"]) == names


def test_every_order_of_a_board_can_be_made(frame, board):
    for sort in list_sort_keys(board):
        assert len(sort_board_rows(frame, sort)) == len(frame)
    assert is_ascending("cost")
    assert not is_ascending(PART)
