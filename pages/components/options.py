"""A widget for each option a card declares, and the values that differ from the defaults."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import streamlit as st

from evalcore.catalog import OptionCard, localize_text
from pages.components.language import Translate, current_language


def draw_option_widgets(
    options: Iterable[OptionCard], prefix: str, tr: Translate
) -> dict[str, Any]:
    """Draw the options in two columns; returns name to value, without those left at the default."""
    values: dict[str, Any] = {}
    columns = st.columns(2)
    for number, option in enumerate(options):
        with columns[number % 2]:
            value = _draw_option_widget(option, f"{prefix}.{option.name}", tr)
        if value not in (None, "", [], option.default) and value != _list_default_parts(
            option.default
        ):
            values[option.name] = value
    return values


def _list_default_parts(default: Any) -> list[str] | None:
    """The default of a list as it is typed."""
    return [str(part) for part in default] if isinstance(default, list) else None


def _draw_option_widget(option: OptionCard, key: str, tr: Translate) -> Any:
    """The widget that fits the type; an empty one means "leave it to the default"."""
    about = localize_text(option.about, current_language()) or None
    shared: dict[str, Any] = {"help": about, "key": key, "persist_state": "session"}
    unset = tr("common.default")
    if option.choices:
        choices = [choice for choice in option.choices if choice]  # empty: the default
        index = choices.index(option.default) if option.default in choices else None
        return st.selectbox(option.name, choices, index=index, placeholder=unset, **shared)
    if option.type == "bool":
        return st.toggle(option.name, value=bool(option.default), **shared)
    if option.type == "int":
        return st.number_input(
            option.name, value=option.default, step=1, placeholder=unset, **shared
        )
    if option.type == "float":
        return st.number_input(
            option.name, value=option.default, step=0.1, placeholder=unset, **shared
        )
    default = ", ".join(_list_default_parts(option.default) or ()) or option.default or ""
    text = st.text_input(option.name, value=default, placeholder=unset, **shared)
    if option.type == "list":
        return [part.strip() for part in text.split(",") if part.strip()]
    return text.strip()
