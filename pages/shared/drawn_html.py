"""What Streamlit's own elements cannot draw: HTML from templates that escape every value, and links
in it that keep the session of the visitor.

A link is an ordinary one, which opens in a new tab and works without any script. Where scripts run,
a plain click changes the page within the session instead of loading the app anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pages.shared import page_links
from pages.shared.wording import KEY as LANGUAGE
from pages.shared.wording import to_plain_line, tr

_TEMPLATES = Path(__file__).parents[1] / "static"
#: Has a plain click on one of our links change the page as a step in the browser's history does.
_SCRIPT = """<script>
if (!window.evalboardLinks) {
  window.evalboardLinks = true
  document.addEventListener('click', event => {
    const link = event.target.closest?.('a[data-page]')
    const special = event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey
    if (!link || special || event.defaultPrevented) return
    event.preventDefault()
    history.pushState({}, '', link.href)
    window.dispatchEvent(new PopStateEvent('popstate', {state: {}}))
    document.querySelector('[data-testid="stMain"]')?.scrollTo(0, 0)
  })
}
</script>"""


@cache
def _load_environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def draw_template(template: str, /, **values: Any) -> None:
    """Draw a template of the folder `static`; `tr` is there besides `values`."""
    source = _load_environment().get_template(f"{template}.html")
    st.html(source.render(tr=tr, **values))


def format_html(key: str, **values: object) -> Markup:
    """A text of the catalogue with `values` in it; what is no `Markup` is escaped."""
    return Markup(tr(key)).format(**values)  # noqa: S704 - the catalogue is ours


def mark_fact(fact: str, text: object, tag: str = "span") -> Markup:
    """A part of a sentence by the name of what it says; what is no `Markup` is escaped."""
    return Markup('<{0} data-fact="{1}">{2}</{0}>').format(tag, fact, text)


def build_address(page: str, query: Mapping[str, str]) -> str:
    """The relative address of a page, in the language of this one."""
    path = "" if page == page_links.RANKING else Path(page).stem
    language = st.query_params.get(LANGUAGE, "")
    chosen = {name: value for name, value in query.items() if value}
    text = urlencode(chosen | ({LANGUAGE: language} if language else {}))
    return f"{path or './'}{'?' if text else ''}{text}"


def link_target(name: str, identity: str, limit: int = 60) -> Markup:
    """A name that opens its target."""
    address = build_address(page_links.TARGET, {"key": identity})
    return Markup('<a href="{}" data-page>{}</a>').format(address, to_plain_line(name, limit))


def keep_session_on_links() -> None:
    """Have clicks on our links change the page within the session; takes no room on it."""
    with st.container(key="drawn-links"):
        st.html(_SCRIPT, unsafe_allow_javascript=True)
