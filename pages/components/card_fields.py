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


def fill(card: TargetCard) -> None:
    """Set every field to what the card says."""
    for field in _TEXTS:
        st.session_state[_key(field)] = getattr(card, field)
    st.session_state[_key("type")] = card.type
    st.session_state[_key("parameters")] = card.parameters
    weights = next(code for code, value in _WEIGHTS.items() if value is card.open_weights)
    st.session_state[_key("open_weights")] = weights
    st.session_state[_key("logo.kept")] = card.logo
    st.session_state[_key("logo.drop")] = False
    st.session_state[_key("logo.turn")] = _turn() + 1  # an uploader is emptied by a new key


def draw(wrong: Callable[[str], None], tr: Translate) -> None:
    """The fields in pairs; `wrong` draws below each what is the matter with it."""
    for names in (("name", "organization"), ("type", "parameters")):
        _pair(names, wrong, tr)
    for names in (("open_weights", "licence"), ("released", "site")):
        _pair(names, wrong, tr)
    kept = str(st.session_state.get(_key("logo.kept"), ""))
    with st.container(horizontal=True, vertical_alignment="center"):
        if kept:
            st.image(kept, width=48, alt=tr("card.logo"))
        uploader.draw(
            tr("card.logo"),
            types=_PICTURES,
            megabytes=_LOGO_MEGABYTES,
            key=_key(f"logo.{_turn()}"),
            explanation=tr("card.logo_help"),
        )
    if kept:
        st.checkbox(tr("card.logo_drop"), key=_key("logo.drop"))
    wrong("logo")


def card(logo: str) -> TargetCard:
    """What the fields say now."""
    texts = {field: str(st.session_state.get(_key(field)) or "").strip() for field in _TEXTS}
    return TargetCard(
        type=st.session_state.get(_key("type")) or "",
        parameters=st.session_state.get(_key("parameters")),
        open_weights=_WEIGHTS[st.session_state.get(_key("open_weights")) or ""],
        logo=logo,
        **texts,
    )


def logo(read: Callable[[bytes], str]) -> str:
    """The picture that was chosen, as `read` makes it, else the one that was there before."""
    chosen = st.session_state.get(_key(f"logo.{_turn()}"))
    if chosen is not None:
        return read(chosen.getvalue())
    dropped = st.session_state.get(_key("logo.drop"))
    return "" if dropped else str(st.session_state.get(_key("logo.kept"), ""))


def _pair(names: tuple[str, str], wrong: Callable[[str], None], tr: Translate) -> None:
    for column, name in zip(st.columns(2), names, strict=True):
        with column:
            _field(name, tr)
            wrong(name)


def _field(name: str, tr: Translate) -> None:
    label, key = tr(f"card.{name}"), _key(name)
    if name == "type":
        titles = {code: tr(f"card.type.{code}") if code else tr("card.unsaid") for code in _types()}
        st.selectbox(label, _types(), key=key, format_func=lambda code: titles.get(code, code))
    elif name == "open_weights":
        words = {
            code: tr(f"card.weights.{code}") if code else tr("card.unsaid") for code in _WEIGHTS
        }
        st.selectbox(label, list(_WEIGHTS), key=key, format_func=lambda code: words.get(code, code))
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


def _types() -> list[str]:
    return list(get_args(TargetType))


def _turn() -> int:
    return int(st.session_state.get(_key("logo.turn"), 0))


def _key(field: str) -> str:
    return f"card.field.{field}"
