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
from evalcore.web.answers import known_tag
from evalcore.web.preview import SITE, Shared, shared, signature

#: The page of the app, besides the ranking, that has a preview of its own.
TARGET = "target"
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


def answer(
    settings: Settings, page: str, query: Mapping[str, str], own: URL, root: str, wanted: str
) -> Response:
    """The page for a link; `own` is the address asked for, `root` the path of the app in it, and
    `wanted` the If-None-Match header. Blocking. Raises EvalboardError for an unreadable store."""
    language = query.get("lang", "") if query.get("lang", "") in LANGUAGES else DEFAULT
    about_target = TARGET in (page, query.get("page", ""))
    asked = {"target": mask_target(query.get("key", "")) if about_target else ""}
    asked |= {name: query.get(name, "") for name in ("suite", "board", "by")}
    told = [version("evalboard"), str(own), signature(settings, asked)]
    tag = f'"{hashlib.sha256("|".join(told).encode()).hexdigest()[:32]}"'
    headers = {"Cache-Control": "no-cache", "ETag": tag}
    if known_tag(wanted, tag):
        return Response(status_code=304, headers=headers)
    found = shared(settings, asked)
    title, about = _words(found, asked["target"], language)
    picture = urlencode({name: value for name, value in asked.items() if value})
    base = str(own.replace(path=root, query="", fragment=""))
    values = {
        "language": language,
        "site": SITE,
        "title": title,
        "about": about,
        "own": str(own),
        "picture": f"{base}/api/v1/preview.png" + (f"?{picture}" if picture else ""),
        "onward": f"{base}/{page if page == TARGET else ''}" + _passed_on(query),
        "open": t("share.open", language),
    }
    body = _PAGE.substitute({name: escape(value) for name, value in values.items()})
    return Response(body, media_type="text/html", headers=headers)


def _passed_on(query: Mapping[str, str]) -> str:
    """The query as it came, as far as an address may be long."""
    kept: dict[str, str] = {}
    for name, value in query.items():
        if len(urlencode({**kept, name: value})) > _PASSED_ON:
            break
        kept[name] = value
    return f"?{urlencode(kept)}" if kept else ""


def _words(found: Shared | None, identity: str, language: str) -> tuple[str, str]:
    """Title and description: of the target where it is on the board, else of the board."""
    if found is None:
        return t("ranking.title", language), t("ranking.empty_title", language)
    board = board_words.ranked_title(found.board, found.by, language)
    if found.row is not None:
        said = board_words.format_standing(found.row, found.ranked, language)
        return found.names[found.row["identity"]], f"{said} · {board}"
    suite = board_words.suite_title(found.board.suite, language)
    title = f"{suite} · {t('ranking.title', language)}"
    if identity:
        absent = t("share.absent", language, name=to_single_line(identity, 80))
        return title, f"{absent} {board}"
    first = next((row for row in found.rows if row["status"] == "ranked"), None)
    if first is None:
        return title, board
    leader = {"name": found.names[first["identity"]], "score": f"{first['score']:.1f}"}
    return title, f"{t('site.leader_of', language, **leader)} · {board}"
