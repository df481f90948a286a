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
from evalcore.records import Record
from evalcore.settings import Settings
from evalcore.views import boards, stored_boards
from evalcore.views.board_titles import benchmark_title, format_standing, suite_title
from evalcore.views.boards import Board
from evalcore.views.payloads import ranking_data
from evalcore.web.answers import LONGEST, Parameter, ParamValues, Resource, bad_parameter
from evalcore.web.data_routes import (
    BOARD,
    SUITE,
    compute_boards_signature,
    load_ranking_frame,
    resolve_order,
    resolve_suites,
)

_COLOURS = {"ranked": "#1c6270", "control": "#6b5b95"}
_LABEL_COLOUR, _GREY = "#3c4a4e", "#5f686b"
_SHOWN = 60  # characters of one part
_WIDE = 0x2E80  # from here on characters are twice as wide


class Badge(Record, frozen=True):
    """What stands on a badge: label to the left, value to the right, the colour behind it."""

    label: str
    value: str
    colour: str = _GREY


def build_badge(settings: Settings, params: ParamValues) -> Badge:
    """The badge of a target: score, 95 % interval and rank by the benchmark or the whole suite.

    Raises Refusal (400) for a benchmark that is none, that is not of the suite, or that the board
    does not hold.
    """
    language, by = params["lang"], params["benchmark"]
    headers = stored_boards.load_run_headers(settings)
    suites = boards.map_benchmark_suites(headers)
    if params["suite"]:
        resolve_suites(headers, params["suite"])
    if by and by not in suites:
        raise bad_parameter("benchmark", f"must be one of {', '.join(suites)}")
    if by and params["suite"] not in ("", suites[by]):
        raise bad_parameter("benchmark", f"belongs to the suite {suites[by]}")
    label = benchmark_title(by, language) if by else t("badge.label", language)
    match = _find_badge_row(settings, params, suites[by] if by else params["suite"])
    if match is None:
        return Badge(label, t("badge.unknown", language))
    row, rows, board, order = match
    if not by and order in board.columns:
        label = benchmark_title(order, language)
    elif not by:
        label = suite_title(board.suite, language)
    return Badge(
        label, _format_badge_value(row, rows, language), _COLOURS.get(row["status"], _GREY)
    )


_BadgeRow = tuple[dict[str, Any], list[dict[str, Any]], Board, str]


def _find_badge_row(settings: Settings, params: ParamValues, suite: str) -> _BadgeRow | None:
    """The target's row on the first board that has it, all rows, the board and its order."""
    headers = stored_boards.load_run_headers(settings)
    for name in [suite] if suite else boards.list_suites(headers):
        suite_boards = boards.list_boards(headers, name)
        board = next(
            (
                candidate
                for candidate in suite_boards
                if candidate.key == (params["board"] or boards.DEFAULT)
            ),
            None,
        )
        if board is None or (params["benchmark"] and params["benchmark"] not in board.columns):
            continue
        order = resolve_order(board, params["benchmark"])
        rows = ranking_data(load_ranking_frame(settings, board, order), board)
        row = next(
            (candidate for candidate in rows if candidate["identity"] == params["target"]), None
        )
        if row is not None:
            return row, rows, board, order
    return None


def _format_badge_value(row: dict[str, Any], rows: list[dict[str, Any]], language: str) -> str:
    """Score and interval, then the rank, or why there is none."""
    ranked = sum(other["status"] == "ranked" for other in rows)
    return format_standing(row, ranked, language)


def render_badge_svg(badge: Badge) -> str:
    """The badge as a whole SVG document, its texts escaped."""
    label, value = to_single_line(badge.label, _SHOWN), to_single_line(badge.value, _SHOWN)
    left, right = _estimate_text_width(label), _estimate_text_width(value)
    alt_text, width = html.escape(f"{label}: {value}", quote=True), left + right
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" '
        f'aria-label="{alt_text}"><title>{alt_text}</title>'
        f'<rect width="{width}" height="20" rx="4" fill="{badge.colour}"/>'
        f'<path d="M4 0h{left - 4}v20H4a4 4 0 0 1-4-4V4a4 4 0 0 1 4-4z" fill="{_LABEL_COLOUR}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,Noto Sans SC,sans-serif" font-size="11" '
        f'text-anchor="middle">{_render_badge_text(label, left / 2, left)}'
        f"{_render_badge_text(value, left + right / 2, right)}</g></svg>\n"
    )


def _render_badge_text(text: str, middle: float, width: int) -> str:
    """One part; its length is fixed, for the reader's font may be another."""
    return (
        f'<text x="{middle:g}" y="14" textLength="{width - 14}" lengthAdjust="spacingAndGlyphs">'
        f"{html.escape(text, quote=True)}</text>"
    )


def _estimate_text_width(text: str) -> int:
    return 14 + round(sum(6.6 if ord(sign) < _WIDE else 11.5 for sign in text))


def _render_badge(settings: Settings, params: ParamValues) -> bytes:
    return render_badge_svg(build_badge(settings, params)).encode()


BADGE = Resource(
    path="/api/v1/badge.svg",
    about="A badge with score, 95 % interval and rank of a target; grey where it is not known.",
    content=_render_badge,
    signature=compute_boards_signature,
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
