"""The addresses of the page as it stands, to copy: direct, with a preview, and without a path."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit

import streamlit as st

from pages.components.language import Translate

#: The query parameter that names a page where no path can.
_PAGE = "page"
#: The pages that have a picture for those who only see the link.
_PICTURED = ("", "target")


def draw_share_menu(page: str, tr: Translate) -> None:
    """A small menu of addresses; `page` is the path of the page, "" the ranking."""
    menu = st.popover(tr("share.button"), icon=":material/share:", type="tertiary")
    with menu, st.container(width=420):  # filled at once: a menu that grows at the foot is cut off
        for name, address in build_share_addresses(
            st.context.url or "", page, _read_query_pairs()
        ).items():
            st.caption(tr(f"share.{name}"))
            st.code(address, language=None, wrap_lines=True)


def build_share_addresses(url: str, page: str, query: list[tuple[str, str]]) -> dict[str, str]:
    """direct, preview where there is one, and bare for a page with a path: the addresses of a page
    of the app that is open at `url`, with its query."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/").removesuffix(f"/{page}" if page else "")
    base = f"{parts.scheme}://{parts.netloc}{path}" if parts.netloc else ""
    addresses = {"direct": f"{base}/{page}" + _format_query_string(query)}
    if page in _PICTURED:
        addresses["preview"] = (
            f"{base}/share" + (f"/{page}" if page else "") + _format_query_string(query)
        )
    return addresses | (
        {"bare": f"{base}/" + _format_query_string([(_PAGE, page), *query])} if page else {}
    )


def _read_query_pairs() -> list[tuple[str, str]]:
    return [(name, value) for name in st.query_params for value in st.query_params.get_all(name)]


def _format_query_string(query: list[tuple[str, str]]) -> str:
    return f"?{urlencode(query)}" if query else ""
