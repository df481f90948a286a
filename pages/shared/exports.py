"""What a reader takes away: a chart as PNG, SVG or CSV, a table as CSV, the address of the page."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlencode, urlsplit

import altair as alt
import pandas as pd
import streamlit as st

from evalcore import settings
from evalcore.charts import pictures
from evalcore.charts.pictures import Theme
from evalcore.charts.plots import paint_chart
from evalcore.plain_text import safe_cell
from pages.shared import widgets
from pages.shared.wording import tr


def to_csv_bytes(frame: pd.DataFrame) -> bytes:
    """The frame as CSV in UTF-8, its texts never read as formulas by a spreadsheet."""
    texts = frame.select_dtypes(exclude=["number", "bool", "datetimetz"]).map(safe_cell)
    safe = frame.assign(**{str(name): texts[name] for name in texts})
    return safe.to_csv(index=False, lineterminator="\n").encode()


# A chart with the words that stand for it, and a menu that gives it as PNG, SVG or CSV.
# The files are made when somebody asks for one, in the colours of the theme that is on.

_BUTTON, _GAP = 56, 16  # pixels: a button with the gap to the next one
_MEDIA = {**pictures.FORMATS, "csv": "text/csv"}


def current_theme() -> Theme:
    """The theme that the session's page is drawn in."""
    return "dark" if st.context.theme.type == "dark" else "light"


def draw_chart_frame(
    chart: alt.TopLevelMixin,
    *,
    name: str,
    title: str,
    alt_text: str,
    data: Callable[[], pd.DataFrame] | None = None,
    source: str = "",
    **chart_options: Any,
) -> Any:
    """The chart, and below it the menu; returns what `st.altair_chart` returns.

    `name` tells the charts of a page apart and names the files, `title` and `source` (what board,
    what metric) are drawn into the pictures, `data` makes what the CSV holds; `chart_options` goes
    to `st.altair_chart` (width "stretch" by default).
    """
    painted = paint_chart(chart, current_theme())
    event = st.altair_chart(painted, alt=alt_text, **{"width": "stretch", **chart_options})
    source_line = " · ".join(filter(None, ("Evalboard", source)))

    def render_picture(form: str) -> bytes:
        look: dict[str, Any] = {"title": title, "source": source_line, "theme": current_theme()}
        return pictures.render_chart_file(chart.to_dict(), form, **look)

    makers: dict[str, Callable[[], bytes]] = {}
    if pictures.has_chart_renderer():
        makers |= {form: partial(render_picture, form) for form in ("png", "svg")}
    if data is not None:
        makers["csv"] = lambda: _build_csv_bytes(data())
    _draw_save_menu(makers, name)
    return event


def label_scores(name: str) -> dict[str, str]:
    """The labels of a chart of scores with intervals; `name` is the key of what has them."""
    return {"name": tr(name), "score": tr("common.score"), "interval": tr("ranking.interval")}


def _draw_save_menu(makers: dict[str, Callable[[], bytes]], name: str) -> None:
    hint = "" if pictures.has_chart_renderer() else tr("chart.install")
    if not makers and not hint:
        return
    with st.container(horizontal=True, horizontal_alignment="right"):
        menu = st.popover(
            tr("chart.save"),
            icon=":material/download:",
            type="tertiary",
            key=f"chart.{name}.menu",
            on_change="rerun",
        )
    if not menu.open:  # a page has many charts, and a visitor saves one of them at most
        entries = len(makers) + bool(hint)
        menu.space(_BUTTON * entries - _GAP)  # it opens to where there is room for all of them
        return
    with menu:
        for form, make in makers.items():
            widgets.draw_download(
                tr(f"chart.{form}"),
                make,
                f"evalboard-{name}.{form}",
                _MEDIA[form],
                key=f"chart.{name}.{form}",
                type="tertiary",
                icon=None,
            )
        if hint:
            st.caption(hint)


def _build_csv_bytes(data: pd.DataFrame) -> bytes:
    """With the mark by which spreadsheets know UTF-8, and without formulas of strangers."""
    return BOM_UTF8 + to_csv_bytes(data)


# The addresses of the page as it stands, to copy: direct, with a preview, and without a path.

#: The query parameter that names a page where no path can.
_PAGE = "page"
#: Page of the app -> the page of a static site that shows the same.
_ON_THE_SITE = {"": "open", "target": "target", "case": "case", "compare": "compare"}
#: The pages that have a picture for those who only see the link.
_PICTURED = ("", "target")


def draw_share_menu(page: str) -> None:
    """A small menu of addresses; `page` is the path of the page, "" the ranking."""
    menu = st.popover(tr("share.button"), icon=":material/share:", type="tertiary")
    with menu, st.container(width=420):  # filled at once: a menu that grows at the foot is cut off
        for name, address in _build_addresses(page).items():
            st.caption(tr(f"share.{name}"))
            st.code(address, language=None, wrap_lines=True)


def build_page_address(page: str) -> str:
    """The direct address of the page as it stands."""
    return _build_addresses(page)["direct"]


def _build_addresses(page: str) -> dict[str, str]:
    pairs = [(name, value) for name in st.query_params for value in st.query_params.get_all(name)]
    site = settings.load_settings().site_url
    return build_share_addresses(st.context.url or "", page, pairs, site)


def build_share_addresses(
    url: str, page: str, query: list[tuple[str, str]], site: str = ""
) -> dict[str, str]:
    """direct, preview where there is one, bare for a page with a path, and static where there is a
    site that has the page: the addresses of a page of the app that is open at `url`, with its
    query."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/").removesuffix(f"/{page}" if page else "")
    base = f"{parts.scheme}://{parts.netloc}{path}" if parts.netloc else ""
    text = f"?{urlencode(query)}" if query else ""
    addresses = {"direct": f"{base}/{page}{text}"}
    if page in _PICTURED:
        addresses["preview"] = f"{base}/share" + (f"/{page}" if page else "") + text
    bare = urlencode([(_PAGE, page), *query])
    addresses |= {"bare": f"{base}/?{bare}"} if page else {}
    return addresses | _build_site_address(site, page, query)


def _build_site_address(site: str, page: str, query: list[tuple[str, str]]) -> dict[str, str]:
    """The page of the static site that shows the same; its pages take the app's parameters."""
    name = _ON_THE_SITE.get(page, "")
    if not name or not site.startswith(("https://", "http://")):
        return {}
    own = [(key, value) for key, value in query if key != "lang"]
    folder = "zh/" if ("lang", "zh") in query else ""
    text = f"?{urlencode(own)}" if own else ""
    return {"static": f"{site.rstrip('/')}/{folder}{name}.html{text}"}
