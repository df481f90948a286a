"""The card of a target at the head of its page: logo, name, who made it, what it is."""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st

from evalcore.target_cards import TargetCard
from pages.components import numbers
from pages.components.language import Translate
from pages.components.text import escape, plain

_LOGO = 56  # pixels


def title(name: str, card: TargetCard) -> None:
    """The name, beside the logo where there is one."""
    if not card.logo:
        st.title(escape(name, 90), anchor=False)
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.image(card.logo, width=_LOGO, alt=plain(name))
        st.title(escape(name, 90), anchor=False, width="content")


def facts(identity: str, name: str, card: TargetCard, tr: Translate) -> None:
    """One line of what is known, the identity where the name is another, and the site."""
    told = [
        card.organization,
        tr("card.parameters_of", count=_size(card.parameters)) if card.parameters else "",
        "" if card.open_weights is None else tr(f"card.weights.{_weights(card)}"),
        card.licence,
        tr("card.released_in", date=card.released) if card.released else "",
    ]
    known = " · ".join(escape(text) for text in told if text)
    if not (known or card.site or name != identity):
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if known:
            st.caption(known, width="content")
        if name != identity:
            st.caption(f":material/tag: {escape(identity, 120)}", width="content")
        if card.site:
            st.link_button(
                escape(urlsplit(card.site).hostname or card.site, 60),
                card.site,
                type="tertiary",
                icon=":material/open_in_new:",
            )


def _weights(card: TargetCard) -> str:
    return "open" if card.open_weights else "closed"


def _size(billions: float) -> str:
    return numbers.compact(billions * 1e9).replace(".0", "")
