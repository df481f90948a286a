"""Filters and orders of the rows of a board: what fits, what is in the way, what comes first."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd
import pytest

from evalcore.queries import boards, narrowing
from evalcore.queries.narrowing import Wish, narrowed, obstacles
from evalcore.queries.ordering import ascending, ordered, sorts
from tests.support.headers import SQL, header

PART = f"{SQL}/execution_accuracy"


@pytest.fixture
def board():
    return boards.boards([header("openai:a", 1)], "sql")[0]


def line(identity, rank=None, **more):
    known = {
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
    return known | more


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
    for name in narrowing.every_part(board):
        made[name] = [10.0, 30.0, 20.0, None] if name in (SQL, PART) else None
    return made


@pytest.mark.parametrize(
    ("wish", "names"),
    [
        (Wish(), ["Grand", "petit", "openai:a+b", "openai:cut"]),
        (Wish(text="GRAND"), ["Grand"]),
        (Wish(text="maker"), ["Grand"]),
        (Wish(text="openai:b"), ["Grand"]),
        (Wish(text="a+b"), ["openai:a+b"]),
        (Wish(text="("), []),
        (Wish(kind=("hf",)), ["petit"]),
        (Wish(organization=("Maker",)), ["Grand"]),
        (Wish(weights=("open",)), ["petit"]),
        (Wish(weights=("open", "closed")), ["Grand", "petit"]),
        (Wish(size=("s",)), ["petit"]),
        (Wish(size=("xs",)), []),
        (Wish(size=("s", "xl")), ["Grand", "petit"]),
        (Wish(price=("free",)), ["petit"]),
        (Wish(price=("mid",)), ["openai:a+b"]),
        (Wish(price=("low", "top")), ["Grand"]),
        (Wish(complete=True), ["Grand", "petit", "openai:a+b"]),
        (Wish(evidence=("executed",)), ["Grand", "petit", "openai:a+b"]),
        (Wish(kind=("hf",), price=("top",)), []),
    ],
)
def test_a_wish_leaves_the_rows_that_fit_all_of_it(frame, board, wish, names):
    assert list(narrowed(frame, board, wish)["name"]) == names


def test_ranks_stay_and_nothing_is_changed(frame, board):
    before = frame.copy()
    assert list(narrowed(frame, board, Wish(text="a+b"))["rank"]) == [3]
    pd.testing.assert_frame_equal(frame, before)


def test_what_is_in_the_way_is_what_alone_would_open_the_way(frame, board):
    assert obstacles(frame, board, Wish(text="zzz", kind=("hf",))) == ["text"]
    assert obstacles(frame, board, Wish(kind=("hf",), price=("top",))) == ["kind", "price"]
    hopeless = Wish(text="zzz", organization=("Nobody",))
    assert obstacles(frame, board, hopeless) == ["text", "organization"]


def test_evidence_shows_the_metrics_that_rest_on_it(board):
    assert PART in narrowing.shown_parts(board, ())
    ran = [PART, f"{SQL}/explain_detection"]
    assert narrowing.shown_parts(board, ("executed",)) == ran
    assert narrowing.shown_parts(board, ("judged",)) == []
    assert "executed" in narrowing.evidence_kinds(board)


def test_every_price_and_size_is_in_one_band_alone():
    for bands in (narrowing.SIZES, narrowing.PRICES):
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
    assert list(ordered(frame, sort)["name"]) == names


def test_every_order_of_a_board_can_be_made(frame, board):
    for sort in sorts(board):
        assert len(ordered(frame, sort)) == len(frame)
    assert ascending("cost")
    assert not ascending(PART)
