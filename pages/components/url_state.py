"""Filters whose value lives in the URL by code, not by label, so that a link reads in any language.

The URL is the truth: a link that is opened sets the widget, a widget that is changed sets the URL,
and coming back to a page by a bare link starts from the defaults. (`bind="query-params"` of
Streamlit would write the translated label of an option.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from pages.components.state import remember

_SEPARATOR = ","


def select(
    label: str,
    options: Sequence[str],
    *,
    page: str,
    name: str,
    title: Callable[[str], str],
    explicit: bool = False,
    **look: Any,
) -> str:
    """A select box over codes; the first is the default, and in the URL only if `explicit`."""
    key = _one_of(options, page, name)
    st.selectbox(label, options, key=key, format_func=_titles(options, title), **look)
    chosen = str(st.session_state[key])
    _publish(page, name, chosen if explicit or chosen != options[0] else "")
    return chosen


def segments(
    label: str, options: Sequence[str], *, page: str, name: str, title: Callable[[str], str]
) -> str:
    """A row of codes of which one is chosen, as tabs are; the first is the default."""
    key = _one_of(options, page, name)
    st.segmented_control(
        label,
        options,
        key=key,
        format_func=_titles(options, title),
        required=True,
        label_visibility="collapsed",
    )
    chosen = str(st.session_state[key])
    _publish(page, name, "" if chosen == options[0] else chosen)
    return chosen


def many(
    label: str,
    options: Sequence[str],
    *,
    page: str,
    name: str,
    title: Callable[[str], str],
    **look: Any,
) -> list[str]:
    """A multiple choice over codes (without commas); none chosen means all."""

    def known(text: str) -> list[str]:
        return [code for code in text.split(_SEPARATOR) if code in options]

    key = _adopt(page, name, known)
    st.session_state[key] = [code for code in st.session_state[key] if code in options]
    st.multiselect(label, options, key=key, format_func=_titles(options, title), **look)
    chosen = list(st.session_state[key])
    _publish(page, name, _SEPARATOR.join(chosen))
    return chosen


def search(label: str, *, page: str, name: str, **look: Any) -> str:
    """A search field that filters while one types."""
    key = _adopt(page, name, lambda text: text)
    st.text_input(label, key=key, type="search", live=True, max_chars=100, **look)
    text = str(st.session_state[key] or "").strip()
    _publish(page, name, text)
    return text


def page_number(*, page: str, name: str, of: str) -> int:
    """The page of a long list, from 1; a list that `of` tells from the last one starts anew."""
    key, seen = f"{page}.{name}", f"{page}.{name}.of"
    asked = st.query_params.get(name, "")
    if key not in st.session_state or asked != st.session_state.get(f"{key}.url"):
        number = int(asked) if re.fullmatch("[1-9][0-9]{0,5}", asked) else 1
    else:
        same = st.session_state.get(seen, of) == of
        number = int(st.session_state[key]) if same else 1
    st.session_state[seen] = of
    _publish(page, name, "" if number == 1 else str(number))
    return number


def pages(number: int, count: int, *, page: str, name: str) -> None:
    """The widget of `page_number`, where there is more than one page; `number` is the one shown."""
    key = f"{page}.{name}"
    if st.session_state.get(key, 1) != number:
        st.session_state[key] = number
    _publish(page, name, "" if number == 1 else str(number))
    if count > 1:
        st.pagination(count, key=key)


def _titles(options: Sequence[str], title: Callable[[str], str]) -> Callable[[str], str]:
    """The titles as they are now: Streamlit may ask again outside the session, where there is no
    language."""
    known = {code: title(code) for code in options}
    return lambda code: known.get(code, code)


def _one_of(options: Sequence[str], page: str, name: str) -> str:
    """The widget's key, its state one of the options, which may have changed since it was set."""
    key = _adopt(page, name, lambda text: text)
    if st.session_state[key] not in options:
        st.session_state[key] = options[0]
    return key


def _adopt(page: str, name: str, value_of: Callable[[str], object]) -> str:
    """The widget's key, its state set anew where the URL was changed by anything else."""
    key, asked = f"{page}.{name}", st.query_params.get(name, "")
    if key not in st.session_state or asked != st.session_state.get(f"{key}.url"):
        st.session_state[key] = value_of(asked)
    return key


def _publish(page: str, name: str, text: str) -> None:
    remember(name, text)
    st.session_state[f"{page}.{name}.url"] = text
