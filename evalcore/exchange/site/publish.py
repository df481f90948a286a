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
from evalcore.exchange.board_chart import LABELS, named, score_chart
from evalcore.exchange.board_export import as_csv
from evalcore.exchange.site import facts as store
from evalcore.exchange.site import writer
from evalcore.exchange.site.board_views import COST, board_view, boards_view, title
from evalcore.exchange.site.facts import Data, Facts, Listed
from evalcore.exchange.site.method_views import method_view
from evalcore.exchange.site.paths import board_page, data_file, stem_of, target_page
from evalcore.exchange.site.rendering import Place, page
from evalcore.exchange.site.target_views import standing_row, target_view
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
File = tuple[str, bytes]


class Options(Record, frozen=True):
    """How a site is made; `base_url`, the address it will have, makes links be shown with a
    picture where they are shared."""

    out: Path
    title: str = "Evalboard"
    base_url: str = ""


def publish(settings: Settings, options: Options) -> int:
    """Write the site; returns the number of its files.

    Raises UsageError for a folder that is not ours or an address that is none, and EvalboardError
    where the store cannot be read.
    """
    base = _base(options.base_url)
    return writer.write(options.out, pages(settings, to_single_line(options.title, 80), base))


def _base(address: str) -> str:
    """The address with a slash at its end."""
    parts = urlsplit(address)
    if address and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise UsageError(f"--base-url {address!r}: must begin with https:// or http://")
    if parts.query or parts.fragment:
        raise UsageError(f"--base-url {address!r}: must end with the folder, without ? and #")
    return f"{address.rstrip('/')}/" if address else ""


def pages(settings: Settings, site: str, base: str) -> Iterator[File]:
    """Every file of the site by its path."""
    facts = store.collect(settings)
    assets = files(__package__) / "assets"
    yield from ((f"assets/{name}", (assets / name).read_bytes()) for name in _ASSETS)
    yield "robots.txt", b"User-agent: *\nAllow: /\n"
    yield ".nojekyll", b""
    for listed in facts.listed:
        yield from _data(facts, listed)
    if base:
        yield from _pictures(facts, site)
    for language in LANGUAGES:
        w = Words(language, facts.cards)
        yield from _language(settings, facts, w, site, base)


def _language(settings: Settings, facts: Facts, w: Words, site: str, base: str) -> Iterator[File]:
    """The pages of one language."""

    def made(template: str, path: str, view: object, said: Data) -> File:
        head = {"site": site, "here": "", "picture": "", **said}
        place = Place(path, w.language, base)
        return place.file, page(template, place, view, w, head)

    everything = {"title": w.t("site.all_boards"), "about": w.t("site.boards_about")}
    for listed in facts.listed:
        view = board_view(facts, listed, w, "../", "../../" if w.language != "en" else "../")
        about = view["decision"] or view["columns"]
        said = {"title": view["title"], "about": about, "picture": _picture_path(listed.stem)}
        yield made("board.html", board_page(listed.stem), view, said)
    said = everything | {"here": "boards"}
    yield made("boards.html", "boards/index.html", boards_view(facts, w, "../"), said)
    if facts.listed:
        first = facts.listed[0]
        view = board_view(facts, first, w, "", "../" if w.language != "en" else "")
        about = view["decision"] or view["columns"]
        said = {"title": view["title"], "about": about, "picture": _picture_path(first.stem)}
        yield made("board.html", "index.html", view, said)
    else:
        yield made("boards.html", "index.html", [], everything)
    own = [one for one in facts.measures if one.listed.board.key == "default"]
    worked = [part for one in own for part in store.worked(settings, one)]
    said = {"title": w.t("site.methodology"), "about": w.t("methodology.about")}
    view = method_view(facts, worked, w)
    yield made("methodology.html", "methodology.html", view, said | {"here": "methodology"})
    for identity in facts.runs:
        view = target_view(facts, identity, w, "../")
        about = " · ".join(f"{one['title']}: {one['said']}" for one in view["standings"][:2])
        picture = _picture_path(f"target-{stem_of(identity)}") if view["standings"] else ""
        said = {"title": view["name"], "about": about or view["name"], "picture": picture}
        yield made("target.html", target_page(identity), view, said)


def _data(facts: Facts, listed: Listed) -> Iterator[File]:
    """A ranking as CSV, as the JSON of the API, and its charts as Vega-Lite."""
    rows = {"board": listed.data, "by": listed.by, "items": listed.rows, "total": len(listed.rows)}
    yield data_file(listed.stem, "csv"), as_csv(listed.frame).encode()
    yield (
        data_file(listed.stem, "json"),
        msgspec.json.format(to_json(rows, ordered=False), indent=2),
    )
    names = named(listed.frame, facts.cards)
    chart = score_chart(names, listed.data["floors"][listed.by])
    yield data_file(listed.stem, "vl.json"), _spec(chart)
    priced = names[(names["status"] == "ranked") & (names["cost"].astype(float) > 0)]
    if len(priced):
        chart = charts.build_score_cost_chart(priced, LABELS | _COST_LABELS)
        yield data_file(listed.stem, COST), _spec(chart)


def _spec(chart: Any) -> bytes:
    chart.width = 720
    return orjson.dumps(chart.to_dict(), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def _picture_path(stem: str) -> str:
    return f"previews/{stem}.png"


def _pictures(facts: Facts, site: str) -> Iterator[File]:
    """The previews of every ranking, and of every target on the first of its boards."""
    w = Words("en", facts.cards)
    for listed in facts.listed:
        about = w.ranked(listed.board, listed.by)
        told = (about, listed.rows, _names(listed, w), _floor(listed))
        yield (
            _picture_path(listed.stem),
            render_card_png(build_board_card(site, title(listed, w), *told)),
        )
    for identity in facts.runs:
        measure = next((one for one in facts.measures if identity in one.rows), None)
        if measure is not None:
            listed, (row, _) = measure.listed, standing_row(measure, identity)
            about = w.ranked(listed.board, listed.by)
            told = (about, listed.rows, _names(listed, w), _floor(listed))
            yield (
                _picture_path(f"target-{stem_of(identity)}"),
                render_card_png(build_target_card(site, row, *told)),
            )


def _names(listed: Listed, w: Words) -> dict[str, str]:
    return {row["identity"]: w.name(row) for row in listed.rows}


def _floor(listed: Listed) -> float | None:
    floor: float | None = listed.data["floors"][listed.by].get("null")
    return floor
