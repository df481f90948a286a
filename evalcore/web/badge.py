"""A badge: the score of a target on a board as a small SVG for READMEs and model cards.

Every text in it comes through `to_single_line`; there is no script, link, style sheet or foreign
address in it. A target that is not on the board gets a grey badge that says so, since a broken
image in a README helps nobody.
"""

from __future__ import annotations

import html
from typing import Any

from evalcore.i18n import LANGUAGES, t
from evalcore.plain_text import to_single_line
from evalcore.queries import boards, stored_boards
from evalcore.queries.api_payloads import ranking_data
from evalcore.queries.board_words import benchmark_title, format_standing, suite_title
from evalcore.queries.boards import Board
from evalcore.records import Record
from evalcore.settings import Settings
from evalcore.web.answers import Resource
from evalcore.web.board_routes import BOARD, SUITE, frame, order_of, signature, suites_of
from evalcore.web.parameters import LONGEST, Given, Parameter, bad

_COLOURS = {"ranked": "#1c6270", "control": "#6b5b95"}
_LABEL_COLOUR, _GREY = "#3c4a4e", "#5f686b"
_SHOWN = 60  # characters of one part
_WIDE = 0x2E80  # from here on characters are twice as wide


class Badge(Record, frozen=True):
    """What stands on a badge: label to the left, value to the right, the colour behind it."""

    label: str
    value: str
    colour: str = _GREY


def badge_of(settings: Settings, given: Given) -> Badge:
    """The badge of a target: score, 95 % interval and rank by the benchmark or the whole suite.

    Raises Refusal (400) for a benchmark that is none, that is not of the suite, or that the board
    does not hold.
    """
    language, by = given["lang"], given["benchmark"]
    headers = stored_boards.load_run_headers(settings)
    suites = boards.map_benchmark_suites(headers)
    if given["suite"]:
        suites_of(headers, given["suite"])
    if by and by not in suites:
        raise bad("benchmark", f"must be one of {', '.join(suites)}")
    if by and given["suite"] not in ("", suites[by]):
        raise bad("benchmark", f"belongs to the suite {suites[by]}")
    label = benchmark_title(by, language) if by else t("badge.label", language)
    found = _row(settings, given, suites[by] if by else given["suite"])
    if found is None:
        return Badge(label, t("badge.unknown", language))
    row, rows, board, order = found
    if not by and order in board.columns:
        label = benchmark_title(order, language)
    elif not by:
        label = suite_title(board.suite, language)
    return Badge(label, _value(row, rows, language), _COLOURS.get(row["status"], _GREY))


_Found = tuple[dict[str, Any], list[dict[str, Any]], Board, str]


def _row(settings: Settings, given: Given, suite: str) -> _Found | None:
    """The target's row on the first board that has it, all rows, the board and its order."""
    headers = stored_boards.load_run_headers(settings)
    for name in [suite] if suite else boards.list_suites(headers):
        known = boards.list_boards(headers, name)
        board = next((one for one in known if one.key == (given["board"] or boards.DEFAULT)), None)
        if board is None or (given["benchmark"] and given["benchmark"] not in board.columns):
            continue
        order = order_of(board, given["benchmark"])
        rows = ranking_data(frame(settings, board, order), board)
        row = next((one for one in rows if one["identity"] == given["target"]), None)
        if row is not None:
            return row, rows, board, order
    return None


def _value(row: dict[str, Any], rows: list[dict[str, Any]], language: str) -> str:
    """Score and interval, then the rank, or why there is none."""
    ranked = sum(one["status"] == "ranked" for one in rows)
    return format_standing(row, ranked, language)


def svg(badge: Badge) -> str:
    """The badge as a whole SVG document, its texts escaped."""
    label, value = to_single_line(badge.label, _SHOWN), to_single_line(badge.value, _SHOWN)
    left, right = _width(label), _width(value)
    said, width = html.escape(f"{label}: {value}", quote=True), left + right
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" '
        f'aria-label="{said}"><title>{said}</title>'
        f'<rect width="{width}" height="20" rx="4" fill="{badge.colour}"/>'
        f'<path d="M4 0h{left - 4}v20H4a4 4 0 0 1-4-4V4a4 4 0 0 1 4-4z" fill="{_LABEL_COLOUR}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,Noto Sans SC,sans-serif" font-size="11" '
        f'text-anchor="middle">{_text(label, left / 2, left)}'
        f"{_text(value, left + right / 2, right)}</g></svg>\n"
    )


def _text(text: str, middle: float, width: int) -> str:
    """One part; its length is fixed, for the reader's font may be another."""
    return (
        f'<text x="{middle:g}" y="14" textLength="{width - 14}" lengthAdjust="spacingAndGlyphs">'
        f"{html.escape(text, quote=True)}</text>"
    )


def _width(text: str) -> int:
    return 14 + round(sum(6.6 if ord(sign) < _WIDE else 11.5 for sign in text))


def _content(settings: Settings, given: Given) -> bytes:
    return svg(badge_of(settings, given)).encode()


BADGE = Resource(
    path="/api/v1/badge.svg",
    about="A badge with score, 95 % interval and rank of a target; grey where it is not known.",
    content=_content,
    signature=signature,
    parameters=(
        Parameter(
            "target",
            f"the whole name of a target, up to {LONGEST} characters",
            kind="target",
            required=True,
        ),
        SUITE,
        BOARD,
        Parameter("benchmark", "the key of a benchmark; default: the order of the board"),
        Parameter("lang", "the language of its words", default="en", choices=tuple(LANGUAGES)),
    ),
    media="image/svg+xml",
    cache="max-age=300",
)
