"""`/share` and `/share/target`: a page that tells a link's title, words and picture to whoever
shows a preview of it, and leads people on to the page of the app of the same query.

All pages of the app are one and the same shell, so that such programs, which run no script, would
find nothing there. Nothing here is a script either: a refresh leads on, and a link for where
refreshing is off.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.metadata import version
from string import Template
from urllib.parse import urlencode

from markupsafe import escape
from starlette.datastructures import URL
from starlette.responses import Response

from evalcore.i18n import DEFAULT, LANGUAGES, t
from evalcore.plain_text import to_single_line
from evalcore.privacy import mask_target
from evalcore.queries import board_words
from evalcore.settings import Settings
from evalcore.web.answers import matches_etag
from evalcore.web.preview import (
    SITE,
    SharedRanking,
    compute_preview_signature,
    resolve_shared_ranking,
)

#: The page of the app, besides the ranking, that has a preview of its own.
TARGET_PAGE = "target"
_PASSED_ON = 2000  # characters of a query; what is longer is cut off at a parameter
_PAGE = Template("""\
<!doctype html>
<html lang="$language" prefix="og: https://ogp.me/ns#">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title · $site</title>
<meta name="description" content="$about">
<meta property="og:type" content="website">
<meta property="og:site_name" content="$site">
<meta property="og:title" content="$title">
<meta property="og:description" content="$about">
<meta property="og:url" content="$own">
<meta property="og:image" content="$picture">
<meta property="og:image:width" content="1200">
<meta property="og:image:height" content="630">
<meta property="og:image:alt" content="$title: $about">
<meta name="twitter:card" content="summary_large_image">
<meta name="twitter:title" content="$title">
<meta name="twitter:description" content="$about">
<meta name="twitter:image" content="$picture">
<meta http-equiv="refresh" content="0; url=$onward">
<style>body{font:16px/1.5 system-ui,sans-serif;margin:3rem auto;max-width:40rem;padding:0 1rem;
color-scheme:light dark}</style>
</head>
<body>
<h1>$title</h1>
<p>$about</p>
<p><a href="$onward">$open</a></p>
</body>
</html>
""")


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


def _describe_link(ranking: SharedRanking | None, identity: str, language: str) -> tuple[str, str]:
    """Title and description: of the target where it is on the board, else of the board."""
    if ranking is None:
        return t("ranking.title", language), t("ranking.empty_title", language)
    board = board_words.ranked_title(ranking.board, ranking.by, language)
    if ranking.row is not None:
        standing_text = board_words.format_standing(ranking.row, ranking.ranked_count, language)
        return ranking.names[ranking.row["identity"]], f"{standing_text} · {board}"
    suite = board_words.suite_title(ranking.board.suite, language)
    title = f"{suite} · {t('ranking.title', language)}"
    if identity:
        absent = t("share.absent", language, name=to_single_line(identity, 80))
        return title, f"{absent} {board}"
    first = next((row for row in ranking.rows if row["status"] == "ranked"), None)
    if first is None:
        return title, board
    leader = {"name": ranking.names[first["identity"]], "score": f"{first['score']:.1f}"}
    return title, f"{t('site.leader_of', language, **leader)} · {board}"
