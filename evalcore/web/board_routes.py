"""The API's boards and rankings: what the Ranking page shows, as JSON."""

from __future__ import annotations

from typing import Any

import pandas as pd

from evalcore.catalog import suite_cards
from evalcore.queries import api_payloads, boards, stored_boards
from evalcore.queries.boards import Board
from evalcore.queries.ranking import list_board_orders
from evalcore.queries.ranking_views import filter_ranking
from evalcore.settings import Settings
from evalcore.web.answers import Resource
from evalcore.web.paging import CURSOR, LIMIT, of_state
from evalcore.web.parameters import Given, Parameter, Refusal, bad

SUITE = Parameter("suite", "a suite of benchmarks; default: the first with scores")
BOARD = Parameter("board", "the `key` of a board; default: the default board of the suite")
BY = Parameter("by", "what to rank by, one of the board's `orders`; default: the first")


def signature(settings: Settings, given: Given) -> str:
    """Changes whenever any board may have changed."""
    return f"{settings.data}&{settings.shipped}&{stored_boards.compute_boards_signature(settings)}"


def _boards(settings: Settings, given: Given) -> Any:
    headers = stored_boards.load_run_headers(settings)
    suites = suites_of(headers, given["suite"]) if given["suite"] else boards.list_suites(headers)
    found = [board for suite in suites for board in boards.list_boards(headers, suite)]
    data = [api_payloads.board_data(headers, board) for board in found]
    return of_state(BOARDS.path, given, data, signature(settings, given))


def _ranking(settings: Settings, given: Given) -> Any:
    headers = stored_boards.load_run_headers(settings)
    board = board_of(headers, given["suite"], given["board"])
    by = order_of(board, given["by"])
    found = filter_ranking(frame(settings, board, by), given["q"], given["kind"])
    told = of_state(
        RANKING.path, given, api_payloads.ranking_data(found, board), signature(settings, given)
    )
    return {"board": api_payloads.board_data(headers, board), "by": by, **told}


def suites_of(headers: stored_boards.Headers, suite: str) -> list[str]:
    """That suite alone; raises Refusal (400) for one that no card and no run knows."""
    known = list(dict.fromkeys([*suite_cards(), *boards.list_suites(headers)]))
    if suite not in known:
        raise bad("suite", f"must be one of {', '.join(known)}")
    return [suite]


def board_of(headers: stored_boards.Headers, suite: str, key: str) -> Board:
    """The board of these names; raises Refusal (404) where there is none."""
    suites = suites_of(headers, suite) if suite else boards.list_suites(headers)[:1]
    known = [board for name in suites for board in boards.list_boards(headers, name)]
    if not known:
        raise Refusal(404, "no_board", "there is no board yet: no run has a score", "suite")
    found = next((board for board in known if board.key == (key or known[0].key)), None)
    if found is None:
        raise Refusal(404, "no_board", "board: no such board; /api/v1/boards lists them", "board")
    return found


def order_of(board: Board, by: str) -> str:
    """What to rank by; raises Refusal (400) for what this board cannot be ranked by."""
    known = list_board_orders(board)
    if by and by not in known:
        raise bad("by", f"must be one of {', '.join(known)}")
    return by or known[0]


def frame(settings: Settings, board: Board, by: str) -> pd.DataFrame:
    """A ranking, kept while its runs are unchanged."""
    return stored_boards.load_cached_ranking(settings, board, by)


BOARDS = Resource(
    path="/api/v1/boards",
    about="The boards there are, the default one of each suite first.",
    content=_boards,
    signature=signature,
    parameters=(SUITE, LIMIT, CURSOR),
    item="Board",
)
RANKING = Resource(
    path="/api/v1/ranking",
    about="The rows of a board: the ranked targets, then those without a rank, with intervals.",
    content=_ranking,
    signature=signature,
    parameters=(
        SUITE,
        BOARD,
        BY,
        Parameter("q", "text that the name of a target holds"),
        Parameter("kind", "kinds of target, such as openai or baseline", kind="list"),
        LIMIT,
        CURSOR,
    ),
    item="Row",
)
