"""`/api/v1/preview.png`: the picture of a board or of a target for where a link is shared.

A target that is not on the board gets the picture of the board: a broken picture helps nobody.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from evalcore.i18n import t
from evalcore.plain_text import to_single_line
from evalcore.queries import board_words, boards, stored_boards
from evalcore.queries.api_payloads import board_data, ranking_data
from evalcore.queries.boards import Board
from evalcore.queries.names import display_names
from evalcore.queries.ranking import list_board_orders
from evalcore.settings import Settings
from evalcore.social_card import SocialCard, build_board_card, build_target_card, render_card_png
from evalcore.target_cards import cards_signature, load_cards
from evalcore.web import board_routes
from evalcore.web.answers import Resource
from evalcore.web.board_routes import (
    BOARD,
    SUITE,
    load_ranking_frame,
    resolve_order,
    resolve_suites,
)
from evalcore.web.parameters import Parameter, ParamValues

SITE = "Evalboard"
_CACHE_SIZE = 64  # pictures ready at once

BY = Parameter("by", "what to rank by; default, and where the board has none such: its first")
TARGET = Parameter(
    "target", "the whole name of a target; default: the first of the board", kind="target"
)
_pictures: dict[SocialCard, bytes] = {}
_render_lock = threading.Lock()


class SharedRanking(NamedTuple):
    """What is shared: a board by an order, its rows, names by identity, and the target's row."""

    board: Board
    by: str
    rows: list[dict[str, Any]]
    names: dict[str, str]
    row: dict[str, Any] | None
    floor: float | None

    @property
    def ranked_count(self) -> int:
        return sum(row["status"] == "ranked" for row in self.rows)


def resolve_shared_ranking(settings: Settings, params: ParamValues) -> SharedRanking | None:
    """What a link means, None where there is no board yet.

    An unknown board or order is the default one, as on the pages; a target without a board in the
    link is looked for on every board, the default ones first.
    """
    headers = stored_boards.load_run_headers(settings)
    suites = boards.list_suites(headers)
    suite_names = [params["suite"]] if params["suite"] in suites else suites
    candidates = [board for suite in suite_names for board in boards.list_boards(headers, suite)]
    if not candidates:
        return None
    identity = params["target"]
    requested = [board for board in candidates if board.key == params["board"]]
    holding = [
        b
        for b in candidates
        if any(r.identity == identity for r in boards.list_board_rows(headers, b))
    ]
    board = (requested or (holding if identity else []) or candidates)[0]
    by = resolve_order(board, params["by"] if params["by"] in list_board_orders(board) else "")
    rows = ranking_data(load_ranking_frame(settings, board, by), board)
    cards, keys = load_cards(settings), {row["identity"]: row["target_key"] for row in rows}
    return SharedRanking(
        board=board,
        by=by,
        rows=rows,
        names={
            identity: to_single_line(name) for identity, name in display_names(keys, cards).items()
        },
        row=next((row for row in rows if row["identity"] == identity), None),
        floor=board_data(headers, board)["floors"][by].get("null"),
    )


def build_social_card(ranking: SharedRanking | None) -> SocialCard:
    """The picture's words and bars, in English."""
    if ranking is None:
        return SocialCard(SITE, t("ranking.title", "en"), t("ranking.empty_title", "en"))
    about = board_words.ranked_title(ranking.board, ranking.by, "en")
    if ranking.row is not None:
        return build_target_card(
            SITE, ranking.row, about, ranking.rows, ranking.names, ranking.floor
        )
    title = board_words.suite_title(ranking.board.suite, "en")
    return build_board_card(SITE, title, about, ranking.rows, ranking.names, ranking.floor)


def compute_preview_signature(settings: Settings, params: ParamValues) -> str:
    """Changes whenever a board or the name of a target may have changed."""
    return f"{board_routes.compute_boards_signature(settings, params)}&{cards_signature(settings)}"


def _render_preview(settings: Settings, params: ParamValues) -> bytes:
    if params["suite"]:
        resolve_suites(stored_boards.load_run_headers(settings), params["suite"])
    card = build_social_card(resolve_shared_ranking(settings, params))
    with _render_lock:
        if card not in _pictures:
            while len(_pictures) >= _CACHE_SIZE:
                _pictures.pop(next(iter(_pictures)))
            _pictures[card] = render_card_png(card)
        return _pictures[card]


PREVIEW = Resource(
    path="/api/v1/preview.png",
    about="A picture of 1200 x 630 pixels of a board, or of a target among its neighbours there.",
    content=_render_preview,
    signature=compute_preview_signature,
    parameters=(TARGET, SUITE, BOARD, BY),
    media="image/png",
    cache="max-age=300",
)
