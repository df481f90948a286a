"""A badge: the score of a target on a board as a small SVG for READMEs and model cards.

Every text in it comes through `to_single_line`; there is no script, link, style sheet or foreign
address in it. A target that is not on the board gets a grey badge that says so, since a broken
image in a README helps nobody.
"""

from __future__ import annotations

import html

from evalcore.i18n import LANGUAGES, t
from evalcore.plain_text import to_single_line
from evalcore.records import Record
from evalcore.settings import Settings
from evalcore.views import boards, stored_boards
from evalcore.views.board_table import RankingView
from evalcore.views.board_titles import benchmark_title, format_standing, suite_title
from evalcore.web.answers import LONGEST, Parameter, ParamValues, Resource, bad_parameter
from evalcore.web.data_routes import (
    BOARD,
    SUITE,
    compute_boards_signature,
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
    ranking = _find_badge_ranking(settings, params, suites[by] if by else params["suite"])
    row = ranking.find_row(params["target"]) if ranking else None
    if ranking is None or row is None:
        return Badge(label, t("badge.unknown", language))
    if not by and ranking.order in ranking.board.columns:
        label = benchmark_title(ranking.order, language)
    elif not by:
        label = suite_title(ranking.board.suite, language)
    standing = format_standing(row, len(ranking.ranked), language)
    return Badge(label, standing, _COLOURS.get(row["status"], _GREY))


def _find_badge_ranking(settings: Settings, params: ParamValues, suite: str) -> RankingView | None:
    """The first board that has the target."""
    headers = stored_boards.load_run_headers(settings)
    for name in [suite] if suite else boards.list_suites(headers):
        key = params["board"] or boards.DEFAULT
        for board in boards.list_boards(headers, name):
            if board.key != key or params["benchmark"] not in ("", *board.columns):
                continue
            order = resolve_order(board, params["benchmark"])
            ranking = RankingView(settings, headers, board, order)
            if params["target"] in ranking.targets:
                return ranking
    return None


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


BADGE = Resource(
    path="/api/v1/badge.svg",
    about="A badge with score, 95% interval and rank of a target; gray if unknown.",
    content=lambda settings, params: render_badge_svg(build_badge(settings, params)).encode(),
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
        Parameter("lang", "language of the badge", default="en", choices=tuple(LANGUAGES)),
    ),
    media="image/svg+xml",
    cache="max-age=300",
)
