"""Filters whose value lives in the URL by code, not by label, so that a link reads in any language.

The URL is the truth: a link that is opened sets the widget, a widget that is changed sets the URL,
and coming back to a page by a bare link starts from the defaults. (`bind="query-params"` of
Streamlit would write the translated label of an option.)

A widget that is not `drawn`, as in a menu that is closed, is asked for all the same: what a link or
a last click says is taken up and told, and the URL alone remembers it until the widget comes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from pages.components.language import translator
from pages.components.state import change, parts, remember
from pages.components.text import escape

_SEPARATOR = ","
_ON, _NONE = "1", "-"  # a switch that is on, and nothing chosen where that is not the default


def select(
    label: str,
    options: Sequence[str],
    *,
    page: str,
    name: str,
    title: Callable[[str], str],
    explicit: bool = False,
    drawn: bool = True,
    **look: Any,
) -> str:
    """A select box over codes; the first is the default, and in the URL only if `explicit`."""
    key = _one_of(options, page, name, label, title)
    if drawn:
        st.selectbox(label, options, key=key, format_func=_titles(options, title), **look)
    chosen = str(st.session_state[key])
    _publish(page, name, chosen if explicit or chosen != options[0] else "", drawn)
    return chosen


def only(label: str, value: str, *, page: str, name: str, title: Callable[[str], str]) -> None:
    """There is one code alone and nothing to choose: a link that asks for another is told so."""
    _one_of([value], page, name, label, title)
    st.session_state[f"{page}.{name}.url"] = st.query_params.get(name, "")


def segments(
    label: str, options: Sequence[str], *, page: str, name: str, title: Callable[[str], str]
) -> str:
    """A row of codes of which one is chosen, as tabs are; the first is the default."""
    key = _one_of(options, page, name, label, title)
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
    drawn: bool = True,
    **look: Any,
) -> list[str]:
    """A multiple choice over codes (without commas); none chosen means all."""
    key = _several_of(options, page, name, label, title)
    if drawn:
        st.multiselect(label, options, key=key, format_func=_titles(options, title), **look)
    return _published(page, name, drawn)


def pills(
    label: str,
    options: Sequence[str],
    *,
    page: str,
    name: str,
    title: Callable[[str], str],
    drawn: bool = True,
    **look: Any,
) -> list[str]:
    """A multiple choice over a few codes that are all seen; none chosen means all."""
    key = _several_of(options, page, name, label, title)
    if drawn:
        titles = _titles(options, title)
        st.pills(label, options, selection_mode="multi", key=key, format_func=titles, **look)
    return _published(page, name, drawn)


def codes(options: Sequence[str], *, page: str, name: str) -> list[str]:
    """What is chosen of the options of a `many` or `pills`, before it is drawn."""

    def known(text: str) -> list[str]:
        return [code for code in text.split(_SEPARATOR) if code in options]

    linked = _is_new(page, name)
    key = _adopt(page, name, known)
    if linked:  # is told where the widget is drawn, which has a label
        asked = parts(st.query_params.get(name, ""))
        st.session_state[f"{key}.strange"] = [code for code in asked if code not in options]
    st.session_state[key] = [code for code in st.session_state[key] if code in options]
    return list(st.session_state[key])


def picked(
    label: str,
    options: Sequence[str],
    usual: Sequence[str],
    *,
    page: str,
    name: str,
    title: Callable[[str], str],
    drawn: bool = True,
    **look: Any,
) -> list[str]:
    """A multiple choice that begins with the `usual` codes, which the URL then leaves out; none
    chosen means none."""

    def known(text: str) -> list[str]:
        asked = text.split(_SEPARATOR) if text else usual
        return [code for code in asked if code in options]

    key, begun = _adopt(page, name, known), f"{page}.{name}.usual"
    if st.session_state.get(begun) != list(usual) and not st.query_params.get(name):
        st.session_state[key] = known("")  # what is usual has changed, with the board
    st.session_state[begun] = list(usual)
    st.session_state[key] = [code for code in st.session_state[key] if code in options]
    if drawn:
        st.multiselect(label, options, key=key, format_func=_titles(options, title), **look)
    chosen = list(st.session_state[key])
    same = set(chosen) == set(known(""))
    _publish(page, name, "" if same else _SEPARATOR.join(chosen) or _NONE, drawn)
    return chosen


def toggle(label: str, *, page: str, name: str, drawn: bool = True, **look: Any) -> bool:
    """A switch that is off by default."""
    key = _adopt(page, name, lambda text: text == _ON)
    if drawn:
        st.toggle(label, key=key, **look)
    chosen = bool(st.session_state[key])
    _publish(page, name, _ON if chosen else "", drawn)
    return chosen


def is_on(*, page: str, name: str) -> bool:
    """Whether a `toggle` is on, before it is drawn."""
    return bool(st.session_state[_adopt(page, name, lambda text: text == _ON)])


def one(options: Sequence[str], *, page: str, name: str) -> str:
    """What is chosen in a `select`, before it is drawn."""
    key = f"{page}.{name}"
    held = st.query_params.get(name, "") if _is_new(page, name) else st.session_state[key]
    return held if held in options else options[0]


def clear(*names: str) -> None:
    """Take filters out of the URL; their widgets follow when they are drawn next."""
    change(dict.fromkeys(names))


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


def _one_of(
    options: Sequence[str], page: str, name: str, label: str, title: Callable[[str], str]
) -> str:
    """The widget's key, its state one of the options, which may have changed since it was set.

    A link that asks for something else is told so; it is none of a person's doing where one choice
    takes the options of another away.
    """
    linked = _is_new(page, name)
    key = _adopt(page, name, lambda text: text)
    asked = st.session_state[key]
    if asked not in options:
        st.session_state[key] = options[0]
        if linked and asked:
            tell_unknown(asked, label, title(options[0]))
    return key


def _several_of(
    options: Sequence[str], page: str, name: str, label: str, title: Callable[[str], str]
) -> str:
    """The key of a widget that may hold several codes, its state some of the options; a link that
    asks for others is told so."""
    codes(options, page=page, name=name)
    key = f"{page}.{name}"
    strange = st.session_state.pop(f"{key}.strange", [])
    if strange:
        shown = ", ".join(map(title, st.session_state[key])) or translator()("common.all")
        tell_unknown(", ".join(strange), label, shown)
    return key


def tell_unknown(asked: str, label: str, shown: str) -> None:
    """A link asked for what is not here, and something else is shown instead."""
    told = {"asked": escape(asked), "label": label, "shown": escape(shown)}
    said = translator()("common.unknown_choice", **told)
    st.toast(said, icon=":material/explore_off:", duration="long")


def _adopt(page: str, name: str, value_of: Callable[[str], object]) -> str:
    """The widget's key, its state set anew where the URL was changed by anything else."""
    key = f"{page}.{name}"
    if _is_new(page, name):
        st.session_state[key] = value_of(st.query_params.get(name, ""))
    return key


def _published(page: str, name: str, drawn: bool) -> list[str]:
    """The codes that a widget holds now, once they are in the URL."""
    chosen = list(st.session_state[f"{page}.{name}"])
    _publish(page, name, _SEPARATOR.join(chosen), drawn)
    return chosen


def _is_new(page: str, name: str) -> bool:
    """Whether the URL says something that the widget has not taken up yet."""
    key, asked = f"{page}.{name}", st.query_params.get(name, "")
    return key not in st.session_state or asked != st.session_state.get(f"{key}.url")


def _publish(page: str, name: str, text: str, drawn: bool = True) -> None:
    """Write what a widget holds into the URL; the state of one that is not there would grow old."""
    key = f"{page}.{name}"
    remember(name, text)
    st.session_state[f"{key}.url"] = text
    if not drawn:
        del st.session_state[key]
