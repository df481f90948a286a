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
from evalcore.web.paging import CURSOR, LIMIT, build_state_page
from evalcore.web.parameters import ApiError, Parameter, ParamValues, bad_parameter

SUITE = Parameter("suite", "a suite of benchmarks; default: the first with scores")
BOARD = Parameter("board", "the `key` of a board; default: the default board of the suite")
BY = Parameter("by", "what to rank by, one of the board's `orders`; default: the first")


def compute_boards_signature(settings: Settings, params: ParamValues) -> str:
    """Changes whenever any board may have changed."""
    return f"{settings.data}&{settings.shipped}&{stored_boards.compute_boards_signature(settings)}"


def _build_boards_page(settings: Settings, params: ParamValues) -> Any:
    headers = stored_boards.load_run_headers(settings)
    suites = (
        resolve_suites(headers, params["suite"]) if params["suite"] else boards.list_suites(headers)
    )
    all_boards = [board for suite in suites for board in boards.list_boards(headers, suite)]
    data = [api_payloads.board_data(headers, board) for board in all_boards]
    return build_state_page(BOARDS.path, params, data, compute_boards_signature(settings, params))


def _build_ranking_page(settings: Settings, params: ParamValues) -> Any:
    headers = stored_boards.load_run_headers(settings)
    board = resolve_board(headers, params["suite"], params["board"])
    by = resolve_order(board, params["by"])
    filtered = filter_ranking(load_ranking_frame(settings, board, by), params["q"], params["kind"])
    page = build_state_page(
        RANKING.path,
        params,
        api_payloads.ranking_data(filtered, board),
        compute_boards_signature(settings, params),
    )
    return {"board": api_payloads.board_data(headers, board), "by": by, **page}


def resolve_suites(headers: stored_boards.Headers, suite: str) -> list[str]:
    """That suite alone; raises Refusal (400) for one that no card and no run knows."""
    valid_suites = list(dict.fromkeys([*suite_cards(), *boards.list_suites(headers)]))
    if suite not in valid_suites:
        raise bad_parameter("suite", f"must be one of {', '.join(valid_suites)}")
    return [suite]


def resolve_board(headers: stored_boards.Headers, suite: str, key: str) -> Board:
    """The board of these names; raises Refusal (404) where there is none."""
    suites = resolve_suites(headers, suite) if suite else boards.list_suites(headers)[:1]
    candidates = [board for name in suites for board in boards.list_boards(headers, name)]
    if not candidates:
        raise ApiError(404, "no_board", "there is no board yet: no run has a score", "suite")
    selected = next(
        (board for board in candidates if board.key == (key or candidates[0].key)), None
    )
    if selected is None:
        raise ApiError(404, "no_board", "board: no such board; /api/v1/boards lists them", "board")
    return selected


def resolve_order(board: Board, by: str) -> str:
    """What to rank by; raises Refusal (400) for what this board cannot be ranked by."""
    valid_orders = list_board_orders(board)
    if by and by not in valid_orders:
        raise bad_parameter("by", f"must be one of {', '.join(valid_orders)}")
    return by or valid_orders[0]


def load_ranking_frame(settings: Settings, board: Board, by: str) -> pd.DataFrame:
    """A ranking, kept while its runs are unchanged."""
    return stored_boards.load_cached_ranking(settings, board, by)


BOARDS = Resource(
    path="/api/v1/boards",
    about="The boards there are, the default one of each suite first.",
    content=_build_boards_page,
    signature=compute_boards_signature,
    parameters=(SUITE, LIMIT, CURSOR),
    item="Board",
)
RANKING = Resource(
    path="/api/v1/ranking",
    about="The rows of a board: the ranked targets, then those without a rank, with intervals.",
    content=_build_ranking_page,
    signature=compute_boards_signature,
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
