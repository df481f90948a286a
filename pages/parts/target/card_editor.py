"""The dialog in which the card of a target is edited: its fields, and the way back after it was
saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import streamlit as st

from evalcore.access import policy
from evalcore.errors import EvalboardError
from evalcore.settings import Settings
from evalcore.target_cards import (
    LONGEST,
    NO_CARD,
    TargetCard,
    TargetType,
    encode_logo,
    find_card_problems,
    load_cards,
    load_local_card,
    save_card,
)
from pages.shared import visitor
from pages.shared.wording import escape_markdown, localize_note, tr

# The fields of a target card as widgets: filled from a card, read back as one.

_LOGO_MEGABYTES = 2
_PICTURES = ["png", "jpg", "jpeg", "webp", "gif"]
_WEIGHTS = {"": None, "open": True, "closed": False}
_TEXTS = ("name", "organization", "licence", "released", "site")


def fill_card_fields(card: TargetCard) -> None:
    """Set every field to what the card says."""
    values: dict[str, Any] = {field: getattr(card, field) for field in _TEXTS}
    values |= {"type": card.type, "parameters": card.parameters}
    values["open_weights"] = next(c for c, value in _WEIGHTS.items() if value is card.open_weights)
    values |= {"logo.kept": card.logo, "logo.drop": False}
    values["logo.turn"] = _count_logo_resets() + 1  # an uploader is emptied by a new key
    for field, value in values.items():
        st.session_state[_build_card_field_key(field)] = value


def draw_card_fields(draw_error: Callable[[str], None]) -> None:
    """The fields in pairs; `draw_error` draws below each what is the matter with it."""
    pairs = (("name", "organization"), ("type", "parameters"), ("open_weights", "licence"))
    for names in (*pairs, ("released", "site")):
        for column, name in zip(st.columns(2), names, strict=True):
            with column:
                _draw_card_field(name)
                draw_error(name)
    current_logo = str(_read_card_field("logo.kept") or "")
    with st.container(horizontal=True, vertical_alignment="center"):
        if current_logo:
            st.image(current_logo, width=48, alt=tr("card.logo"))
        visitor.draw_uploader(
            tr("card.logo"),
            types=_PICTURES,
            megabytes=_LOGO_MEGABYTES,
            key=_build_card_field_key(f"logo.{_count_logo_resets()}"),
            explanation=tr("card.logo_help"),
        )
    if current_logo:
        st.checkbox(tr("card.logo_drop"), key=_build_card_field_key("logo.drop"))
    draw_error("logo")


def read_target_card_form(logo: str) -> TargetCard:
    """What the fields say now."""
    return TargetCard(
        type=_read_card_field("type") or "",
        parameters=_read_card_field("parameters"),
        open_weights=_WEIGHTS[_read_card_field("open_weights") or ""],
        logo=logo,
        **{field: str(_read_card_field(field) or "").strip() for field in _TEXTS},
    )


def resolve_card_logo(load_logo: Callable[[bytes], str]) -> str:
    """The picture that was chosen, as `load_logo` makes it, else the one that was there before."""
    chosen = _read_card_field(f"logo.{_count_logo_resets()}")
    if chosen is not None:
        return load_logo(chosen.getvalue())
    return "" if _read_card_field("logo.drop") else str(_read_card_field("logo.kept") or "")


def _draw_card_field(name: str) -> None:
    label, key = tr(f"card.{name}"), _build_card_field_key(name)
    choices = {"type": ("type", get_args(TargetType)), "open_weights": ("weights", _WEIGHTS)}
    if name in choices:
        area, codes = choices[name]
        titles = {code: tr(f"card.{area}.{code}") if code else tr("card.unsaid") for code in codes}
        st.selectbox(label, list(codes), key=key, format_func=lambda code: titles.get(code, code))
    elif name == "parameters":
        look: dict[str, Any] = {"value": None, "min_value": 0.0, "step": 0.1, "format": "%.3g"}
        st.number_input(label, key=key, placeholder=tr("card.unsaid"), **look)
    else:
        hint = {"released": "2026-11-20", "site": "https://"}.get(name, "")
        st.text_input(label, key=key, max_chars=LONGEST.get(name, 10), placeholder=hint)


def _count_logo_resets() -> int:
    return int(_read_card_field("logo.turn") or 0)


def _read_card_field(field: str) -> Any:
    return st.session_state.get(_build_card_field_key(field))


def _build_card_field_key(field: str) -> str:
    return f"card.field.{field}"


# The dialog in which the card of a target is edited, and the way back after it was saved.
# What is typed stays in the session until it is saved or cancelled: neither an error nor another
# person's change takes it away.

_OPEN, _ERRORS, _UNDO = "card.open", "card.wrong", "card.undo"


def draw_card_edit_button(settings: Settings, key: str) -> None:
    """The way to the dialog, for those who may use it."""
    if not policy.explain_denial(settings, visitor.current_visitor(), "edit"):
        st.button(
            tr("card.edit"),
            key="card.edit",
            icon=":material/edit:",
            on_click=_open_card_dialog,
            args=(settings, key),
        )


def draw_card_editor(settings: Settings, key: str) -> None:
    """The dialog while it is open for this target, and the notice of what was saved last."""
    if st.session_state.get(_OPEN) == key:
        dialog = st.dialog(tr("card.title"), width="medium", dismissible=False)
        dialog(_draw_card_dialog)(settings, key)
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
        _draw_card_error("")


def _draw_card_dialog(settings: Settings, key: str) -> None:
    if st.session_state.get(_OPEN) != key:
        st.rerun()  # saved or cancelled: the page itself is drawn anew
    st.caption(tr("card.about", target=escape_markdown(key, 120)))
    with st.form("card.form", border=False):
        draw_card_fields(_draw_card_error)
        _draw_card_error("")
        own = (settings, key)
        with st.container(horizontal=True):
            save: dict[str, Any] = {"type": "primary", "on_click": _save_card_form, "args": own}
            st.form_submit_button(tr("card.save"), **save)
            st.form_submit_button(tr("card.revert"), on_click=_open_card_dialog, args=own)
            st.form_submit_button(tr("card.cancel"), on_click=_close_card_dialog)
            if _has_stored_card(settings, key):
                st.space("stretch")
                st.form_submit_button(
                    tr("card.remove"),
                    icon=":material/delete:",
                    on_click=_store_card,
                    args=(*own, NO_CARD),
                    help=tr("card.remove_help"),
                )


def _open_card_dialog(settings: Settings, key: str) -> None:
    """Show the card as it is stored, whatever was typed."""
    _close_card_dialog()
    st.session_state[_OPEN] = key
    try:
        fill_card_fields(load_cards(settings).get(key, NO_CARD))
    except EvalboardError as error:
        fill_card_fields(NO_CARD)
        st.session_state[_ERRORS] = {"": str(error)}


def _close_card_dialog() -> None:
    st.session_state.pop(_OPEN, None)
    st.session_state.pop(_ERRORS, None)


def _save_card_form(settings: Settings, key: str) -> None:
    """Keep what was typed, or say of every field what is wrong with it."""
    errors: dict[str, str] = {}
    try:
        logo = resolve_card_logo(encode_logo)
    except EvalboardError as error:
        errors, logo = {"logo": str(error)}, ""
    card = read_target_card_form(logo)
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


def _draw_card_error(field: str) -> None:
    """What is wrong with a field, or with all of it."""
    errors: dict[str, str] = st.session_state.get(_ERRORS, {})
    if field in errors:
        reason = tr("card.not_saved", reason=localize_note(errors[field]))
        message = tr(f"card.problem.{field}") if field else reason
        st.error(escape_markdown(message, 400), icon=":material/error:")
