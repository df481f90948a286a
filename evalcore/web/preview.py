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
from evalcore.web.board_routes import BOARD, SUITE, frame, order_of, suites_of
from evalcore.web.parameters import Given, Parameter

SITE = "Evalboard"
_KEPT = 64  # pictures ready at once

BY = Parameter("by", "what to rank by; default, and where the board has none such: its first")
TARGET = Parameter(
    "target", "the whole name of a target; default: the first of the board", kind="target"
)
_pictures: dict[SocialCard, bytes] = {}
_one_at_a_time = threading.Lock()


class Shared(NamedTuple):
    """What is shared: a board by an order, its rows, names by identity, and the target's row."""

    board: Board
    by: str
    rows: list[dict[str, Any]]
    names: dict[str, str]
    row: dict[str, Any] | None
    floor: float | None

    @property
    def ranked(self) -> int:
        return sum(row["status"] == "ranked" for row in self.rows)


def shared(settings: Settings, given: Given) -> Shared | None:
    """What a link means, None where there is no board yet.

    An unknown board or order is the default one, as on the pages; a target without a board in the
    link is looked for on every board, the default ones first.
    """
    headers = stored_boards.load_run_headers(settings)
    suites = boards.list_suites(headers)
    named = [given["suite"]] if given["suite"] in suites else suites
    known = [board for suite in named for board in boards.list_boards(headers, suite)]
    if not known:
        return None
    identity = given["target"]
    wanted = [board for board in known if board.key == given["board"]]
    holding = [
        b for b in known if any(r.identity == identity for r in boards.list_board_rows(headers, b))
    ]
    board = (wanted or (holding if identity else []) or known)[0]
    by = order_of(board, given["by"] if given["by"] in list_board_orders(board) else "")
    rows = ranking_data(frame(settings, board, by), board)
    cards, keys = load_cards(settings), {row["identity"]: row["target_key"] for row in rows}
    return Shared(
        board=board,
        by=by,
        rows=rows,
        names={
            identity: to_single_line(name) for identity, name in display_names(keys, cards).items()
        },
        row=next((row for row in rows if row["identity"] == identity), None),
        floor=board_data(headers, board)["floors"][by].get("null"),
    )


def card_of(found: Shared | None) -> SocialCard:
    """The picture's words and bars, in English."""
    if found is None:
        return SocialCard(SITE, t("ranking.title", "en"), t("ranking.empty_title", "en"))
    about = board_words.ranked_title(found.board, found.by, "en")
    if found.row is not None:
        return build_target_card(SITE, found.row, about, found.rows, found.names, found.floor)
    title = board_words.suite_title(found.board.suite, "en")
    return build_board_card(SITE, title, about, found.rows, found.names, found.floor)


def signature(settings: Settings, given: Given) -> str:
    """Changes whenever a board or the name of a target may have changed."""
    return f"{board_routes.signature(settings, given)}&{cards_signature(settings)}"


def _content(settings: Settings, given: Given) -> bytes:
    if given["suite"]:
        suites_of(stored_boards.load_run_headers(settings), given["suite"])
    card = card_of(shared(settings, given))
    with _one_at_a_time:
        if card not in _pictures:
            while len(_pictures) >= _KEPT:
                _pictures.pop(next(iter(_pictures)))
            _pictures[card] = render_card_png(card)
        return _pictures[card]


PREVIEW = Resource(
    path="/api/v1/preview.png",
    about="A picture of 1200 x 630 pixels of a board, or of a target among its neighbours there.",
    content=_content,
    signature=signature,
    parameters=(TARGET, SUITE, BOARD, BY),
    media="image/png",
    cache="max-age=300",
)
