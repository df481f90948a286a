"""The card of a target at the head of its page: logo, name, who made it, what it is."""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st

from evalcore.target_cards import TargetCard
from pages.components import numbers
from pages.components.language import Translate
from pages.components.text import escape_markdown, to_plain_line

_LOGO = 56  # pixels


def draw_card_title(name: str, card: TargetCard) -> None:
    """The name, beside the logo where there is one."""
    if not card.logo:
        st.title(escape_markdown(name, 90), anchor=False)
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.image(card.logo, width=_LOGO, alt=to_plain_line(name))
        st.title(escape_markdown(name, 90), anchor=False, width="content")


def draw_card_facts(identity: str, name: str, card: TargetCard, tr: Translate) -> None:
    """One line of what is known, the identity where the name is another, and the site."""
    parts = [
        card.organization,
        tr("card.parameters_of", count=_format_parameter_count(card.parameters))
        if card.parameters
        else "",
        "" if card.open_weights is None else tr(f"card.weights.{_classify_weights(card)}"),
        card.licence,
        tr("card.released_in", date=card.released) if card.released else "",
    ]
    summary = " · ".join(escape_markdown(text) for text in parts if text)
    if not (summary or card.site or name != identity):
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if summary:
            st.caption(summary, width="content")
        if name != identity:
            st.caption(f":material/tag: {escape_markdown(identity, 120)}", width="content")
        if card.site:
            st.link_button(
                escape_markdown(urlsplit(card.site).hostname or card.site, 60),
                card.site,
                type="tertiary",
                icon=":material/open_in_new:",
            )


def _classify_weights(card: TargetCard) -> str:
    return "open" if card.open_weights else "closed"


def _format_parameter_count(billions: float) -> str:
    return numbers.format_compact_count(billions * 1e9).replace(".0", "")
