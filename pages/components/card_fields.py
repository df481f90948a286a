"""The fields of a target card as widgets: filled from a card, read back as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import streamlit as st

from evalcore.target_cards import LONGEST, TargetCard, TargetType
from pages.components import uploader
from pages.components.language import Translate

_LOGO_MEGABYTES = 2
_PICTURES = ["png", "jpg", "jpeg", "webp", "gif"]
_WEIGHTS = {"": None, "open": True, "closed": False}
_TEXTS = ("name", "organization", "licence", "released", "site")


def fill_card_fields(card: TargetCard) -> None:
    """Set every field to what the card says."""
    for field in _TEXTS:
        st.session_state[_build_card_field_key(field)] = getattr(card, field)
    st.session_state[_build_card_field_key("type")] = card.type
    st.session_state[_build_card_field_key("parameters")] = card.parameters
    weights = next(code for code, value in _WEIGHTS.items() if value is card.open_weights)
    st.session_state[_build_card_field_key("open_weights")] = weights
    st.session_state[_build_card_field_key("logo.kept")] = card.logo
    st.session_state[_build_card_field_key("logo.drop")] = False
    # an uploader is emptied by a new key
    st.session_state[_build_card_field_key("logo.turn")] = _count_logo_resets() + 1


def draw_card_fields(draw_error: Callable[[str], None], tr: Translate) -> None:
    """The fields in pairs; `draw_error` draws below each what is the matter with it."""
    for names in (("name", "organization"), ("type", "parameters")):
        _draw_field_pair(names, draw_error, tr)
    for names in (("open_weights", "licence"), ("released", "site")):
        _draw_field_pair(names, draw_error, tr)
    current_logo = str(st.session_state.get(_build_card_field_key("logo.kept"), ""))
    with st.container(horizontal=True, vertical_alignment="center"):
        if current_logo:
            st.image(current_logo, width=48, alt=tr("card.logo"))
        uploader.draw_uploader(
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
    texts = {
        field: str(st.session_state.get(_build_card_field_key(field)) or "").strip()
        for field in _TEXTS
    }
    return TargetCard(
        type=st.session_state.get(_build_card_field_key("type")) or "",
        parameters=st.session_state.get(_build_card_field_key("parameters")),
        open_weights=_WEIGHTS[st.session_state.get(_build_card_field_key("open_weights")) or ""],
        logo=logo,
        **texts,
    )


def resolve_card_logo(load_logo: Callable[[bytes], str]) -> str:
    """The picture that was chosen, as `load_logo` makes it, else the one that was there before."""
    chosen = st.session_state.get(_build_card_field_key(f"logo.{_count_logo_resets()}"))
    if chosen is not None:
        return load_logo(chosen.getvalue())
    dropped = st.session_state.get(_build_card_field_key("logo.drop"))
    return "" if dropped else str(st.session_state.get(_build_card_field_key("logo.kept"), ""))


def _draw_field_pair(
    names: tuple[str, str], draw_error: Callable[[str], None], tr: Translate
) -> None:
    for column, name in zip(st.columns(2), names, strict=True):
        with column:
            _draw_card_field(name, tr)
            draw_error(name)


def _draw_card_field(name: str, tr: Translate) -> None:
    label, key = tr(f"card.{name}"), _build_card_field_key(name)
    if name == "type":
        titles = {
            code: tr(f"card.type.{code}") if code else tr("card.unsaid")
            for code in _list_target_types()
        }
        st.selectbox(
            label, _list_target_types(), key=key, format_func=lambda code: titles.get(code, code)
        )
    elif name == "open_weights":
        weight_titles = {
            code: tr(f"card.weights.{code}") if code else tr("card.unsaid") for code in _WEIGHTS
        }
        st.selectbox(
            label, list(_WEIGHTS), key=key, format_func=lambda code: weight_titles.get(code, code)
        )
    elif name == "parameters":
        st.number_input(
            label,
            value=None,
            min_value=0.0,
            step=0.1,
            format="%.3g",
            key=key,
            placeholder=tr("card.unsaid"),
        )
    else:
        hint = {"released": "2026-11-20", "site": "https://"}.get(name, "")
        st.text_input(label, key=key, max_chars=LONGEST.get(name, 10), placeholder=hint)


def _list_target_types() -> list[str]:
    return list(get_args(TargetType))


def _count_logo_resets() -> int:
    return int(st.session_state.get(_build_card_field_key("logo.turn"), 0))


def _build_card_field_key(field: str) -> str:
    return f"card.field.{field}"
