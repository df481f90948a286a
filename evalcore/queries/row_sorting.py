"""The order in which rows stand: by rank, or by anything else that is known of them."""

from __future__ import annotations

import pandas as pd

from evalcore.queries.boards import Board
from evalcore.queries.ranking_views import list_board_parts

RANK_ORDER = "rank"
#: Code of an order -> whether it begins with the smallest.
_ASCENDING = {"name": True, "cost": True, "latency": True, "price": True, "parameters": True}


def list_sort_keys(board: Board) -> list[str]:
    """The codes of the orders a board's rows can stand in: by rank first, then what costs, when it
    was run, and the score in each part."""
    return [
        RANK_ORDER,
        "name",
        "cost",
        "latency",
        "price",
        "parameters",
        "date",
        *list_board_parts(board),
    ]


def is_ascending(sort: str) -> bool:
    """Whether an order begins with the smallest: names, costs and sizes do, scores and dates do
    not."""
    return _ASCENDING.get(sort, False)


def sort_board_rows(frame: pd.DataFrame, sort: str) -> pd.DataFrame:
    """The rows in an order of `list_sort_keys`, what is unknown last and equals as they stood."""
    if sort == RANK_ORDER:
        return frame
    values = frame[sort]
    if sort == "name":
        values = values.str.casefold()
    elif sort != "date":
        values = values.astype(float)
    sorted_values = values.sort_values(
        ascending=is_ascending(sort), kind="stable", na_position="last"
    )
    return frame.loc[sorted_values.index]
