"""The entry of the app: navigation when run as a script, the ASGI app when imported.

`streamlit run app.py` finds `app` below and serves it; each visitor's session then runs this file
as a script. The first gives routes, headers and start-up work, the second draws the pages.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import unquote, urlsplit

import streamlit as st

if TYPE_CHECKING:
    from evalcore.settings import Settings

HERE = Path(__file__).parent
ICON, WORDMARK = (HERE / "pages" / "static" / f"{name}.svg" for name in ("logo", "wordmark"))


#: Pixels; the titles of the pages need no more, the tables do.
SIDEBAR_WIDTH = 232


class PageCard(NamedTuple):
    """A page: file name and text key, its path in the URL, its icon in the navigation."""

    name: str
    path: str
    icon: str
    visibility: Literal["visible", "hidden"] = "visible"


#: The ranking has its addresses beside its rows, and a form is nothing to share.
_PAGES_NOT_SHARED = ("", "launch")

#: The query parameter that names a page where no path can.
PAGE_PARAMETER = "page"

PAGES: tuple[PageCard, ...] = (
    PageCard("ranking", "", ":material/leaderboard:"),
    PageCard("decide", "decide", ":material/tune:"),
    PageCard("metrics", "metrics", ":material/bar_chart:"),
    PageCard("target", "target", ":material/person_search:"),
    PageCard("case", "case", ":material/find_in_page:", visibility="hidden"),
    PageCard("compare", "compare", ":material/compare_arrows:"),
    PageCard("methodology", "methodology", ":material/function:"),
    PageCard("launch", "launch", ":material/rocket_launch:"),
    PageCard("runs", "runs", ":material/monitoring:"),
    PageCard("datasets", "datasets", ":material/dataset:"),
    PageCard("equivalent", "equivalent", ":material/rule:"),
)


def main() -> None:
    """Draw the frame that all pages share, then the page that the URL names."""
    from evalcore.access import policy
    from evalcore.errors import UsageError
    from pages.shared import exports, page_links, url_state, visitor, wording
    from pages.shared.wording import escape_markdown, tr

    st.set_page_config(
        page_title="Evalboard", page_icon=ICON, layout="wide", initial_sidebar_state=SIDEBAR_WIDTH
    )
    st.logo(str(WORDMARK), size="large", icon_image=str(ICON))
    draw_style_sheets()
    wording.draw_language_switch()
    policy.set_listen_address(st.get_option("server.address"))
    try:
        visitor.draw_sign_in()
    except UsageError as error:  # a setting that cannot be understood opens nothing
        st.error(escape_markdown(error, 400), icon=":material/settings_alert:")
        return
    strange_path = unknown_path(st.context.url)
    chosen = build_navigation(strange_path)
    page_path = "" if strange_path else chosen.url_path
    st.set_page_config(page_title=f"{chosen.title} · Evalboard", page_icon=ICON)
    visitor.enter_upload_page(page_path)
    page_parameter = None if page_path else st.query_params.get(PAGE_PARAMETER) or None
    follow_page_parameter(page_parameter)
    path = strange_path or unknown_page(page_parameter)
    if path is not None:
        st.warning(
            tr("common.unknown_path", path=escape_markdown(path)), icon=":material/explore_off:"
        )
    page_links.mask_target_link()
    with url_state.watch_moves(page_path):
        chosen.run()
    wording.write_language_to_url()
    if page_path not in _PAGES_NOT_SHARED:
        exports.draw_share_menu(page_path)


def draw_style_sheets() -> None:
    """Add what the theme cannot say to the page; takes no room on it."""
    from pages.shared.wording import current_language

    own = (current_language(), "print_dark" if st.context.theme.type == "dark" else "")
    names = ["style", "board", *(name for name in own if name in ("zh", "print_dark"))]
    sheets = ((HERE / "pages" / "static" / f"{name}.css").read_text() for name in names)
    st.html(f"<style>{''.join(sheets)}</style>")


def build_navigation(strange_path: str | None = None) -> st.Page:
    """Declare the pages with their titles in one language; returns the one to be shown.

    A board that nobody can write to does not offer the launcher; its address says why. A path that
    names no page is one more address of the ranking, since Streamlit would open its own dialog
    over our message.
    """
    from pages.shared import visitor
    from pages.shared.wording import tr

    pages = []
    for card in PAGES:
        page = st.Page(
            HERE / "pages" / f"{card.name}.py",
            title=tr(f"common.nav.{card.name}"),
            icon=card.icon,
            url_path=card.path or None,
            default=not card.path,
            visibility=card.visibility
            if card.name != "launch" or visitor.is_launcher_listed()
            else "hidden",
        )
        pages.append(page)
    if strange_path:
        ranking = HERE / "pages" / "ranking.py"
        look = {"icon": PAGES[0].icon, "url_path": strange_path, "visibility": "hidden"}
        pages.append(st.Page(ranking, title=tr("common.nav.ranking"), **look))
    return st.navigation(pages)


def follow_page_parameter(name: str | None) -> None:
    """Go to the page that `?page=` names, with the other parameters: some hosts pass no path.

    Once per link and session: else a step back in the browser would lead forward again.
    """
    if name is None or unknown_page(name) is not None:
        return
    query = {key: st.query_params.get_all(key) for key in st.query_params if key != PAGE_PARAMETER}
    link, followed = (name, query), st.session_state.setdefault("app.followed", [])
    del st.query_params[PAGE_PARAMETER]
    if link in followed:
        return
    followed.append(link)
    st.switch_page(f"pages/{name}.py", query_params=query)


def unknown_page(name: str | None) -> str | None:
    """What `?page=` says if it names no page, else None."""
    return None if name in {None, *(card.name for card in PAGES)} else name


def unknown_path(url: str | None) -> str | None:
    """The last part of a URL's path if it names no page, else None.

    Streamlit serves the default page for any path, so a mistyped link would look like the board.
    """
    name = unquote(urlsplit(url or "").path.rstrip("/").rpartition("/")[2]).replace("/", " ")
    base = (st.get_option("server.baseUrlPath") or "").strip("/").rpartition("/")[2]
    page_paths = {card.path for card in PAGES} | {base}
    return None if name in page_paths else name


def warm_up_first_page(settings: Settings) -> None:
    """Have ready what the first visitor would wait for."""
    from pages.shared import ranking_rows

    ranking_rows.warm_up_pages(settings)


if __name__ == "__main__":
    main()
else:
    import os

    from starlette.middleware import Middleware
    from streamlit.config import is_manually_set
    from streamlit.runtime import get_instance
    from streamlit.runtime.pages_manager import PagesManager

    from evalcore.access import login, policy
    from evalcore.web.application import ROUTES, build_lifespan, release_memory
    from evalcore.web.middleware import (
        CompressedAssets,
        LoginReturn,
        RequestLimits,
        SecurityHeaders,
    )

    def configured_hosts() -> list[str]:
        """The hosts whose pages may connect by Streamlit's own settings."""
        hosts = [
            urlsplit(origin).hostname or "" for origin in st.get_option("server.corsAllowedOrigins")
        ]
        if is_manually_set("browser.serverAddress"):
            hosts.append(st.get_option("browser.serverAddress"))
        return [host for host in hosts if host]

    class RuntimeSessions:
        """The sessions of Streamlit's runtime, for the limits of uploads."""

        def is_active(self, session: str) -> bool:
            return get_instance().is_active_session(session)

        def remove_file(self, session: str, file: str) -> None:
            get_instance().uploaded_file_mgr.remove_file(session, file)

        def close(self, session: str) -> None:
            get_instance().close_session(session)
            get_instance().uploaded_file_mgr.remove_session_files(session)
            release_memory()

    # Until a session has declared its navigation, Streamlit takes a folder `pages/` for its older
    # kind of app: the first visitor with a deep link would get a bare page without our frame.
    PagesManager.uses_pages_directory = False
    policy.set_listen_address(st.get_option("server.address"))
    app = st.App(
        Path(__file__),
        routes=ROUTES,
        middleware=[
            Middleware(SecurityHeaders),
            Middleware(RequestLimits, sessions=RuntimeSessions(), allowed_hosts=configured_hosts()),
            Middleware(LoginReturn),
            Middleware(CompressedAssets),
        ],
        lifespan=build_lifespan(warm_up_first_page),
        secrets=login.build_auth_secrets(os.environ),
    )
