"""`evalcore site`: a whole store as a folder of pages and data files.

Equal stores give equal bytes: nothing in a page tells when it was made.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import orjson

from evalcore import charts
from evalcore.errors import UsageError
from evalcore.exchange.board_chart import LABELS, add_display_names, build_score_chart
from evalcore.exchange.board_export import ranking_to_csv
from evalcore.exchange.site import facts as store
from evalcore.exchange.site import writer
from evalcore.exchange.site.board_views import (
    COST_CHART_FILE,
    build_board_view,
    build_boards_view,
    format_ranking_title,
)
from evalcore.exchange.site.facts import BoardRanking, Data, SiteFacts
from evalcore.exchange.site.method_views import build_method_view
from evalcore.exchange.site.paths import board_page, data_file, make_file_stem, target_page
from evalcore.exchange.site.rendering import PageLocation, render_page
from evalcore.exchange.site.target_views import build_target_view, find_standing_row
from evalcore.exchange.site.words import Words
from evalcore.i18n import LANGUAGES
from evalcore.plain_text import to_single_line
from evalcore.records import Record, to_json
from evalcore.settings import Settings
from evalcore.social_card import build_board_card, build_target_card, render_card_png

_ASSETS = ("site.css", "site.js", "logo.svg")
_COST_LABELS = {
    "cost": "Cost of the run in US dollars",
    "pareto": "No other is cheaper and better",
}
SiteFile = tuple[str, bytes]


class SiteOptions(Record, frozen=True):
    """How a site is made; `base_url`, the address it will have, makes links be shown with a
    picture where they are shared."""

    out: Path
    title: str = "Evalboard"
    base_url: str = ""


def publish_site(settings: Settings, options: SiteOptions) -> int:
    """Write the site; returns the number of its files.

    Raises UsageError for a folder that is not ours or an address that is none, and EvalboardError
    where the store cannot be read.
    """
    base = _parse_base_url(options.base_url)
    return writer.write_site(
        options.out, build_site_files(settings, to_single_line(options.title, 80), base)
    )


def _parse_base_url(address: str) -> str:
    """The address with a slash at its end."""
    parts = urlsplit(address)
    if address and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise UsageError(f"--base-url {address!r}: must begin with https:// or http://")
    if parts.query or parts.fragment:
        raise UsageError(f"--base-url {address!r}: must end with the folder, without ? and #")
    return f"{address.rstrip('/')}/" if address else ""


def build_site_files(settings: Settings, site: str, base: str) -> Iterator[SiteFile]:
    """Every file of the site by its path."""
    facts = store.collect_site_facts(settings)
    assets = files(__package__) / "assets"
    yield from ((f"assets/{name}", (assets / name).read_bytes()) for name in _ASSETS)
    yield "robots.txt", b"User-agent: *\nAllow: /\n"
    yield ".nojekyll", b""
    for ranking in facts.rankings:
        yield from _build_data_files(facts, ranking)
    if base:
        yield from _build_preview_files(facts, site)
    for language in LANGUAGES:
        w = Words(language, facts.cards)
        yield from _build_language_pages(settings, facts, w, site, base)


def _build_language_pages(
    settings: Settings, facts: SiteFacts, w: Words, site: str, base: str
) -> Iterator[SiteFile]:
    """The pages of one language."""

    def build_page_file(template: str, path: str, view: object, head_values: Data) -> SiteFile:
        head = {"site": site, "here": "", "picture": "", **head_values}
        location = PageLocation(path, w.language, base)
        return location.file_path, render_page(template, location, view, w, head)

    everything = {"title": w.t("site.all_boards"), "about": w.t("site.boards_about")}
    for ranking in facts.rankings:
        view = build_board_view(facts, ranking, w, "../", "../../" if w.language != "en" else "../")
        about = view["decision"] or view["columns"]
        head_values = {
            "title": view["title"],
            "about": about,
            "picture": _picture_path(ranking.stem),
        }
        yield build_page_file("board.html", board_page(ranking.stem), view, head_values)
    head_values = everything | {"here": "boards"}
    yield build_page_file(
        "boards.html", "boards/index.html", build_boards_view(facts, w, "../"), head_values
    )
    if facts.rankings:
        first = facts.rankings[0]
        view = build_board_view(facts, first, w, "", "../" if w.language != "en" else "")
        about = view["decision"] or view["columns"]
        head_values = {"title": view["title"], "about": about, "picture": _picture_path(first.stem)}
        yield build_page_file("board.html", "index.html", view, head_values)
    else:
        yield build_page_file("boards.html", "index.html", [], everything)
    own = [item for item in facts.baselines if item.ranking.board.key == "default"]
    examples = [part for item in own for part in store.build_worked_examples(settings, item)]
    head_values = {"title": w.t("site.methodology"), "about": w.t("methodology.about")}
    view = build_method_view(facts, examples, w)
    yield build_page_file(
        "methodology.html", "methodology.html", view, head_values | {"here": "methodology"}
    )
    for identity in facts.runs:
        view = build_target_view(facts, identity, w, "../")
        about = " · ".join(f"{item['title']}: {item['said']}" for item in view["standings"][:2])
        picture = _picture_path(f"target-{make_file_stem(identity)}") if view["standings"] else ""
        head_values = {"title": view["name"], "about": about or view["name"], "picture": picture}
        yield build_page_file("target.html", target_page(identity), view, head_values)


def _build_data_files(facts: SiteFacts, ranking: BoardRanking) -> Iterator[SiteFile]:
    """A ranking as CSV, as the JSON of the API, and its charts as Vega-Lite."""
    rows = {
        "board": ranking.data,
        "by": ranking.by,
        "items": ranking.rows,
        "total": len(ranking.rows),
    }
    yield data_file(ranking.stem, "csv"), ranking_to_csv(ranking.frame).encode()
    yield (
        data_file(ranking.stem, "json"),
        msgspec.json.format(to_json(rows, ordered=False), indent=2),
    )
    names = add_display_names(ranking.frame, facts.cards)
    chart = build_score_chart(names, ranking.data["floors"][ranking.by])
    yield data_file(ranking.stem, "vl.json"), _encode_chart(chart)
    priced = names[(names["status"] == "ranked") & (names["cost"].astype(float) > 0)]
    if len(priced):
        chart = charts.build_score_cost_chart(priced, LABELS | _COST_LABELS)
        yield data_file(ranking.stem, COST_CHART_FILE), _encode_chart(chart)


def _encode_chart(chart: Any) -> bytes:
    chart.width = 720
    return orjson.dumps(chart.to_dict(), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def _picture_path(stem: str) -> str:
    return f"previews/{stem}.png"


def _build_preview_files(facts: SiteFacts, site: str) -> Iterator[SiteFile]:
    """The previews of every ranking, and of every target on the first of its boards."""
    w = Words("en", facts.cards)
    for ranking in facts.rankings:
        about = w.ranking_title(ranking.board, ranking.by)
        card_args = (about, ranking.rows, _map_display_names(ranking, w), _find_null_floor(ranking))
        yield (
            _picture_path(ranking.stem),
            render_card_png(build_board_card(site, format_ranking_title(ranking, w), *card_args)),
        )
    for identity in facts.runs:
        baseline = next(
            (candidate for candidate in facts.baselines if identity in candidate.rows), None
        )
        if baseline is not None:
            ranking, (row, _) = baseline.ranking, find_standing_row(baseline, identity)
            about = w.ranking_title(ranking.board, ranking.by)
            card_args = (
                about,
                ranking.rows,
                _map_display_names(ranking, w),
                _find_null_floor(ranking),
            )
            yield (
                _picture_path(f"target-{make_file_stem(identity)}"),
                render_card_png(build_target_card(site, row, *card_args)),
            )


def _map_display_names(ranking: BoardRanking, w: Words) -> dict[str, str]:
    return {row["identity"]: w.target_name(row) for row in ranking.rows}


def _find_null_floor(ranking: BoardRanking) -> float | None:
    floor: float | None = ranking.data["floors"][ranking.by].get("null")
    return floor
