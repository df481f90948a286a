"""The dialog in which the card of a target is edited, and the way back after it was saved.

What is typed stays in the session until it is saved or cancelled: neither an error nor another
person's change takes it away.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from evalcore import access
from evalcore.errors import EvalboardError
from evalcore.settings import Settings
from evalcore.target_cards import (
    NO_CARD,
    TargetCard,
    encode_logo,
    find_card_problems,
    load_cards,
    load_local_card,
    save_card,
)
from pages.components import card_fields, visitor
from pages.components.language import Translate
from pages.components.text import escape

_OPEN, _WRONG, _UNDO = "card.open", "card.wrong", "card.undo"


def button(settings: Settings, key: str, tr: Translate) -> None:
    """The way to the dialog, for those who may use it."""
    if not access.explain_denial(settings, visitor.current(), "edit"):
        st.button(
            tr("card.edit"),
            key="card.edit",
            icon=":material/edit:",
            on_click=_open,
            args=(settings, key),
        )


def draw(settings: Settings, key: str, tr: Translate) -> None:
    """The dialog while it is open for this target, and the notice of what was saved last."""
    if st.session_state.get(_OPEN) == key:
        st.dialog(tr("card.title"), width="medium", dismissible=False)(_dialog)(settings, key, tr)
    undo = st.session_state.get(_UNDO)
    if undo is None or undo[0] != key:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f":green[:material/check_circle:] {tr('card.saved')}", width="content")
        st.button(
            tr("card.undo"),
            key="card.undo_button",
            icon=":material/undo:",
            type="tertiary",
            on_click=_write,
            args=(settings, key, undo[1]),
        )
        _wrong("", tr)


def _dialog(settings: Settings, key: str, tr: Translate) -> None:
    if st.session_state.get(_OPEN) != key:
        st.rerun()  # saved or cancelled: the page itself is drawn anew
    st.caption(tr("card.about", target=escape(key, 120)))
    with st.form("card.form", border=False):
        card_fields.draw(lambda field: _wrong(field, tr), tr)
        _wrong("", tr)
        with st.container(horizontal=True):
            st.form_submit_button(
                tr("card.save"), type="primary", on_click=_save, args=(settings, key)
            )
            st.form_submit_button(tr("card.revert"), on_click=_open, args=(settings, key))
            st.form_submit_button(tr("card.cancel"), on_click=_close)
            if _stored(settings, key):
                st.space("stretch")
                st.form_submit_button(
                    tr("card.remove"),
                    icon=":material/delete:",
                    on_click=_write,
                    args=(settings, key, NO_CARD),
                    help=tr("card.remove_help"),
                )


def _open(settings: Settings, key: str) -> None:
    """Show the card as it is stored, whatever was typed."""
    _close()
    st.session_state[_OPEN] = key
    try:
        card_fields.fill(load_cards(settings).get(key, NO_CARD))
    except EvalboardError as error:
        card_fields.fill(NO_CARD)
        st.session_state[_WRONG] = {"": str(error)}


def _close() -> None:
    st.session_state.pop(_OPEN, None)
    st.session_state.pop(_WRONG, None)


def _save(settings: Settings, key: str) -> None:
    """Keep what was typed, or say of every field what is wrong with it."""
    found: dict[str, str] = {}
    try:
        logo = card_fields.logo(encode_logo)
    except EvalboardError as error:
        found, logo = {"logo": str(error)}, ""
    card = card_fields.card(logo)
    found |= find_card_problems(card)
    if found:
        st.session_state[_WRONG] = found
        return
    _write(settings, key, card)


def _write(settings: Settings, key: str, card: TargetCard) -> None:
    """Store a card and remember the one before it, so that it can be had back."""
    st.session_state.pop(_WRONG, None)
    try:
        if card != NO_CARD and card == load_cards(settings).get(key):
            _close()
            return
        before = load_local_card(settings, key)
        save_card(settings, visitor.current(), key, card)
    except EvalboardError as error:
        st.session_state[_WRONG] = {"": str(error)}
        return
    _close()
    st.session_state[_UNDO] = (key, before)


def _stored(settings: Settings, key: str) -> bool:
    try:
        return load_local_card(settings, key) != NO_CARD
    except EvalboardError:
        return False


def _wrong(field: str, tr: Translate) -> None:
    """What is wrong with a field, or with all of it."""
    found: dict[str, Any] = st.session_state.get(_WRONG, {})
    if field in found:
        told = tr(f"card.problem.{field}") if field else tr("card.not_saved", reason=found[field])
        st.error(escape(told, 400), icon=":material/error:")
