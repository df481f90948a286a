"""The preview of a link: its picture, and the page with its title and words for programs that run
no script."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from string import Template
from urllib.parse import urlencode

from markupsafe import escape
from starlette.datastructures import URL
from starlette.responses import Response

from evalcore.access.redaction import mask_target
from evalcore.charts.pictures import SocialCard, build_social_card, render_card_png
from evalcore.i18n import DEFAULT, LANGUAGES, t
from evalcore.plain_text import to_single_line
from evalcore.settings import Settings
from evalcore.single_flight import SingleFlightCache
from evalcore.target_cards import cards_signature
from evalcore.views import board_titles, boards, stored_boards
from evalcore.views.board_table import RankingView
from evalcore.views.ranking import list_board_orders
from evalcore.views.targets import find_target_row
from evalcore.web import data_routes
from evalcore.web.answers import Parameter, ParamValues, Resource, matches_etag
from evalcore.web.data_routes import BOARD, SUITE, resolve_order, resolve_suites

# `/api/v1/preview.png`: the picture of a board or of a target for where a link is shared.
# A target that is not on the board gets the picture of the board: a broken picture helps nobody.

SITE = "Evalboard"
_CACHE_SIZE = 64  # pictures ready at once

BY = Parameter("by", "what to rank by (default: the board's first)")
TARGET = Parameter(
    "target", "the whole name of a target; default: the first of the board", kind="target"
)
_pictures: SingleFlightCache[bytes] = SingleFlightCache(_CACHE_SIZE)


def resolve_shared_ranking(settings: Settings, params: ParamValues) -> RankingView | None:
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
    holding = [board for board in candidates if find_target_row(headers, board, identity)]
    board = (requested or (holding if identity else []) or candidates)[0]
    by = resolve_order(board, params["by"] if params["by"] in list_board_orders(board) else "")
    return RankingView(settings, headers, board, by)


def build_link_card(ranking: RankingView | None, identity: str = "") -> SocialCard:
    """The picture's words and bars, in English."""
    if ranking is None:
        return SocialCard(SITE, t("ranking.title", "en"), t("ranking.empty_title", "en"))
    title = board_titles.suite_title(ranking.board.suite, "en")
    return build_social_card(SITE, title, ranking, identity)


def compute_preview_signature(settings: Settings, params: ParamValues) -> str:
    """Changes whenever a board or the name of a target may have changed."""
    return f"{data_routes.compute_boards_signature(settings, params)}&{cards_signature(settings)}"


def _render_preview(settings: Settings, params: ParamValues) -> bytes:
    if params["suite"]:
        resolve_suites(stored_boards.load_run_headers(settings), params["suite"])
    card = build_link_card(resolve_shared_ranking(settings, params), params["target"])
    return _pictures.get(card, lambda: render_card_png(card))


PREVIEW = Resource(
    path="/api/v1/preview.png",
    about="A 1200 x 630 pixel image of a board, or of a target among its neighbors on it.",
    content=_render_preview,
    signature=compute_preview_signature,
    parameters=(TARGET, SUITE, BOARD, BY),
    media="image/png",
    cache="max-age=300",
)


# `/share` and `/share/target`: a page that tells a link's title, words and picture to whoever
# shows a preview of it, and leads people on to the page of the app of the same query.
# All pages of the app are one and the same shell, so that such programs, which run no script,
# would find nothing there. Nothing here is a script either: a refresh leads on, and a link for
# where refreshing is off.

#: The page of the app, besides the ranking, that has a preview of its own.
TARGET_PAGE = "target"
_PASSED_ON = 2000  # characters of a query; what is longer is cut off at a parameter
_PAGE = Template((Path(__file__).parent / "share_page.html").read_text(encoding="utf-8"))


def answer_share_link(
    settings: Settings, page: str, query: Mapping[str, str], own: URL, root: str, if_none_match: str
) -> Response:
    """The page for a link; `own` is the address asked for, `root` the path of the app in it, and
    `if_none_match` the If-None-Match header. Blocking. Raises EvalboardError for an unreadable
    store."""
    language = query.get("lang", "") if query.get("lang", "") in LANGUAGES else DEFAULT
    about_target = TARGET_PAGE in (page, query.get("page", ""))
    link_params = {"target": mask_target(query.get("key", "")) if about_target else ""}
    link_params |= {name: query.get(name, "") for name in ("suite", "board", "by")}
    tag_parts = [version("evalboard"), str(own), compute_preview_signature(settings, link_params)]
    tag = f'"{hashlib.sha256("|".join(tag_parts).encode()).hexdigest()[:32]}"'
    headers = {"Cache-Control": "no-cache", "ETag": tag}
    if matches_etag(if_none_match, tag):
        return Response(status_code=304, headers=headers)
    ranking = resolve_shared_ranking(settings, link_params)
    title, about = _describe_link(ranking, link_params["target"], language)
    picture = urlencode({name: value for name, value in link_params.items() if value})
    base = str(own.replace(path=root, query="", fragment=""))
    values = {
        "language": language,
        "site": SITE,
        "title": title,
        "about": about,
        "own": str(own),
        "picture": f"{base}/api/v1/preview.png" + (f"?{picture}" if picture else ""),
        "onward": f"{base}/{page if page == TARGET_PAGE else ''}" + _truncate_query(query),
        "open": t("share.open", language),
    }
    body = _PAGE.substitute({name: escape(value) for name, value in values.items()})
    return Response(body, media_type="text/html", headers=headers)


def _truncate_query(query: Mapping[str, str]) -> str:
    """The query as it came, as far as an address may be long."""
    shortened: dict[str, str] = {}
    for name, value in query.items():
        if len(urlencode({**shortened, name: value})) > _PASSED_ON:
            break
        shortened[name] = value
    return f"?{urlencode(shortened)}" if shortened else ""


def _describe_link(ranking: RankingView | None, identity: str, language: str) -> tuple[str, str]:
    """Title and description: of the target where it is on the board, else of the board."""
    if ranking is None:
        return t("ranking.title", language), t("ranking.empty_title", language)
    board = board_titles.ranked_title(ranking.board, ranking.order, language)
    if row := ranking.find_row(identity):
        standing_text = board_titles.format_standing(row, len(ranking.ranked), language)
        return to_single_line(ranking.names[identity]), f"{standing_text} · {board}"
    suite = board_titles.suite_title(ranking.board.suite, language)
    title = f"{suite} · {t('ranking.title', language)}"
    if identity:
        absent = t("share.absent", language, name=to_single_line(identity, 80))
        return title, f"{absent} {board}"
    if not ranking.ranked:
        return title, board
    name, score = ranking.names[ranking.ranked[0]["identity"]], ranking.ranked[0]["score"]
    leader = t("site.leader_of", language, name=to_single_line(name), score=f"{score:.1f}")
    return title, f"{leader} · {board}"
