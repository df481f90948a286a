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
from pages.components.text import escape_markdown

_OPEN, _ERRORS, _UNDO = "card.open", "card.wrong", "card.undo"


def draw_card_edit_button(settings: Settings, key: str, tr: Translate) -> None:
    """The way to the dialog, for those who may use it."""
    if not access.explain_denial(settings, visitor.current_visitor(), "edit"):
        st.button(
            tr("card.edit"),
            key="card.edit",
            icon=":material/edit:",
            on_click=_open_card_dialog,
            args=(settings, key),
        )


def draw_card_editor(settings: Settings, key: str, tr: Translate) -> None:
    """The dialog while it is open for this target, and the notice of what was saved last."""
    if st.session_state.get(_OPEN) == key:
        st.dialog(tr("card.title"), width="medium", dismissible=False)(_draw_card_dialog)(
            settings, key, tr
        )
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
            on_click=_store_card,
            args=(settings, key, undo[1]),
        )
        _draw_card_error("", tr)


def _draw_card_dialog(settings: Settings, key: str, tr: Translate) -> None:
    if st.session_state.get(_OPEN) != key:
        st.rerun()  # saved or cancelled: the page itself is drawn anew
    st.caption(tr("card.about", target=escape_markdown(key, 120)))
    with st.form("card.form", border=False):
        card_fields.draw_card_fields(lambda field: _draw_card_error(field, tr), tr)
        _draw_card_error("", tr)
        with st.container(horizontal=True):
            st.form_submit_button(
                tr("card.save"), type="primary", on_click=_save_card_form, args=(settings, key)
            )
            st.form_submit_button(
                tr("card.revert"), on_click=_open_card_dialog, args=(settings, key)
            )
            st.form_submit_button(tr("card.cancel"), on_click=_close_card_dialog)
            if _has_stored_card(settings, key):
                st.space("stretch")
                st.form_submit_button(
                    tr("card.remove"),
                    icon=":material/delete:",
                    on_click=_store_card,
                    args=(settings, key, NO_CARD),
                    help=tr("card.remove_help"),
                )


def _open_card_dialog(settings: Settings, key: str) -> None:
    """Show the card as it is stored, whatever was typed."""
    _close_card_dialog()
    st.session_state[_OPEN] = key
    try:
        card_fields.fill_card_fields(load_cards(settings).get(key, NO_CARD))
    except EvalboardError as error:
        card_fields.fill_card_fields(NO_CARD)
        st.session_state[_ERRORS] = {"": str(error)}


def _close_card_dialog() -> None:
    st.session_state.pop(_OPEN, None)
    st.session_state.pop(_ERRORS, None)


def _save_card_form(settings: Settings, key: str) -> None:
    """Keep what was typed, or say of every field what is wrong with it."""
    errors: dict[str, str] = {}
    try:
        logo = card_fields.resolve_card_logo(encode_logo)
    except EvalboardError as error:
        errors, logo = {"logo": str(error)}, ""
    card = card_fields.read_target_card_form(logo)
    errors |= find_card_problems(card)
    if errors:
        st.session_state[_ERRORS] = errors
        return
    _store_card(settings, key, card)


def _store_card(settings: Settings, key: str, card: TargetCard) -> None:
    """Store a card and remember the one before it, so that it can be had back."""
    st.session_state.pop(_ERRORS, None)
    try:
        if card != NO_CARD and card == load_cards(settings).get(key):
            _close_card_dialog()
            return
        previous = load_local_card(settings, key)
        save_card(settings, visitor.current_visitor(), key, card)
    except EvalboardError as error:
        st.session_state[_ERRORS] = {"": str(error)}
        return
    _close_card_dialog()
    st.session_state[_UNDO] = (key, previous)


def _has_stored_card(settings: Settings, key: str) -> bool:
    try:
        return load_local_card(settings, key) != NO_CARD
    except EvalboardError:
        return False


def _draw_card_error(field: str, tr: Translate) -> None:
    """What is wrong with a field, or with all of it."""
    errors: dict[str, Any] = st.session_state.get(_ERRORS, {})
    if field in errors:
        message = (
            tr(f"card.problem.{field}") if field else tr("card.not_saved", reason=errors[field])
        )
        st.error(escape_markdown(message, 400), icon=":material/error:")
