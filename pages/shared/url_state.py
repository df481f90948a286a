"""Filters and pages of tables whose value lives in the URL by code, so that a link reads in any
language.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from evalcore.records import content_hash
from pages.shared.page_links import set_query_param, set_query_params, split_url_values
from pages.shared.wording import Translate, build_translator, escape_markdown

# Filters whose value lives in the URL by code, not by label, so that a link reads in any
# language.
# The URL is the truth: a link that is opened sets the widget, a widget that is changed sets the
# URL, and coming back to a page by a bare link starts from the defaults. (`bind="query-params"`
# of Streamlit would write the translated label of an option.)
# A widget that is not `drawn`, as in a menu that is closed, is asked for all the same: what a
# link or a last click says is taken up and told, and the URL alone remembers it until the widget
# comes.

_SEPARATOR = ","
_ON, _NONE = "1", "-"  # a switch that is on, and nothing chosen where that is not the default


def draw_select(
    label: str,
    options: Sequence[str],
    *,
    page: str,
    name: str,
    title: Callable[[str], str],
    explicit: bool = False,
    drawn: bool = True,
    **widget_options: Any,
) -> str:
    """A select box over codes; the first is the default, and in the URL only if `explicit`."""
    key = _sync_single_choice(options, page, name, label, title)
    if drawn:
        st.selectbox(
            label,
            options,
            key=key,
            format_func=_build_title_lookup(options, title),
            **widget_options,
        )
    chosen = str(st.session_state[key])
    _write_widget_value(page, name, chosen if explicit or chosen != options[0] else "", drawn)
    return chosen


def pin_choice(
    label: str, value: str, *, page: str, name: str, title: Callable[[str], str]
) -> None:
    """There is one code alone and nothing to choose: a link that asks for another is told so."""
    _sync_single_choice([value], page, name, label, title)
    st.session_state[f"{page}.{name}.url"] = st.query_params.get(name, "")


def draw_segments(
    label: str, options: Sequence[str], *, page: str, name: str, title: Callable[[str], str]
) -> str:
    """A row of codes of which one is chosen, as tabs are; the first is the default."""
    key = _sync_single_choice(options, page, name, label, title)
    st.segmented_control(
        label,
        options,
        key=key,
        format_func=_build_title_lookup(options, title),
        required=True,
        label_visibility="collapsed",
    )
    chosen = str(st.session_state[key])
    _write_widget_value(page, name, "" if chosen == options[0] else chosen)
    return chosen


def draw_multiselect(
    label: str,
    options: Sequence[str],
    *,
    page: str,
    name: str,
    title: Callable[[str], str],
    drawn: bool = True,
    **widget_options: Any,
) -> list[str]:
    """A multiple choice over codes (without commas); none chosen means all."""
    key = _sync_multiple_choice(options, page, name, label, title)
    if drawn:
        st.multiselect(
            label,
            options,
            key=key,
            format_func=_build_title_lookup(options, title),
            **widget_options,
        )
    return _publish_selection(page, name, drawn)


def draw_pills(
    label: str,
    options: Sequence[str],
    *,
    page: str,
    name: str,
    title: Callable[[str], str],
    drawn: bool = True,
    **widget_options: Any,
) -> list[str]:
    """A multiple choice over a few codes that are all seen; none chosen means all."""
    key = _sync_multiple_choice(options, page, name, label, title)
    if drawn:
        titles = _build_title_lookup(options, title)
        st.pills(
            label, options, selection_mode="multi", key=key, format_func=titles, **widget_options
        )
    return _publish_selection(page, name, drawn)


def read_selected_codes(options: Sequence[str], *, page: str, name: str) -> list[str]:
    """What is chosen of the options of a `draw_multiselect` or `draw_pills`, before it is drawn."""

    def parse_codes(text: str) -> list[str]:
        return [code for code in text.split(_SEPARATOR) if code in options]

    is_new_link = _has_url_changed(page, name)
    key = _sync_from_url(page, name, parse_codes)
    if is_new_link:  # is told where the widget is drawn, which has a label
        requested = split_url_values(st.query_params.get(name, ""))
        st.session_state[f"{key}.strange"] = [code for code in requested if code not in options]
    st.session_state[key] = [code for code in st.session_state[key] if code in options]
    return list(st.session_state[key])


def draw_default_multiselect(
    label: str,
    options: Sequence[str],
    defaults: Sequence[str],
    *,
    page: str,
    name: str,
    title: Callable[[str], str],
    drawn: bool = True,
    **widget_options: Any,
) -> list[str]:
    """A multiple choice that begins with the `defaults` codes, which the URL then leaves out; none
    chosen means none."""

    def parse_codes(text: str) -> list[str]:
        requested = text.split(_SEPARATOR) if text else defaults
        return [code for code in requested if code in options]

    key, defaults_key = _sync_from_url(page, name, parse_codes), f"{page}.{name}.usual"
    if st.session_state.get(defaults_key) != list(defaults) and not st.query_params.get(name):
        st.session_state[key] = parse_codes("")  # what is usual has changed, with the board
    st.session_state[defaults_key] = list(defaults)
    st.session_state[key] = [code for code in st.session_state[key] if code in options]
    if drawn:
        st.multiselect(
            label,
            options,
            key=key,
            format_func=_build_title_lookup(options, title),
            **widget_options,
        )
    chosen = list(st.session_state[key])
    same = set(chosen) == set(parse_codes(""))
    _write_widget_value(page, name, "" if same else _SEPARATOR.join(chosen) or _NONE, drawn)
    return chosen


def draw_toggle(
    label: str, *, page: str, name: str, drawn: bool = True, **widget_options: Any
) -> bool:
    """A switch that is off by default."""
    key = _sync_from_url(page, name, lambda text: text == _ON)
    if drawn:
        st.toggle(label, key=key, **widget_options)
    chosen = bool(st.session_state[key])
    _write_widget_value(page, name, _ON if chosen else "", drawn)
    return chosen


def is_toggle_on(*, page: str, name: str) -> bool:
    """Whether a `draw_toggle` is on, before it is drawn."""
    return bool(st.session_state[_sync_from_url(page, name, lambda text: text == _ON)])


def read_selected_code(options: Sequence[str], *, page: str, name: str) -> str:
    """What is chosen in a `draw_select`, before it is drawn."""
    key = f"{page}.{name}"
    selected = (
        st.query_params.get(name, "") if _has_url_changed(page, name) else st.session_state[key]
    )
    return selected if selected in options else options[0]


def clear_filters(*names: str) -> None:
    """Take filters out of the URL; their widgets follow when they are drawn next."""
    set_query_params(dict.fromkeys(names))


def draw_search(label: str, *, page: str, name: str, **widget_options: Any) -> str:
    """A search field that filters while one types."""
    key = _sync_from_url(page, name, lambda text: text)
    st.text_input(label, key=key, type="search", live=True, max_chars=100, **widget_options)
    text = str(st.session_state[key] or "").strip()
    _write_widget_value(page, name, text)
    return text


def read_page_number(*, page: str, name: str, list_signature: str) -> int:
    """The page of a long list, from 1; a list that `list_signature` tells from the last one
    starts anew."""
    key, signature_key = f"{page}.{name}", f"{page}.{name}.of"
    requested = st.query_params.get(name, "")
    if key not in st.session_state or requested != st.session_state.get(f"{key}.url"):
        number = int(requested) if re.fullmatch("[1-9][0-9]{0,5}", requested) else 1
    else:
        same = st.session_state.get(signature_key, list_signature) == list_signature
        number = int(st.session_state[key]) if same else 1
    st.session_state[signature_key] = list_signature
    _write_widget_value(page, name, "" if number == 1 else str(number))
    return number


def draw_pagination(number: int, count: int, *, page: str, name: str) -> None:
    """The widget of `read_page_number`, where there is more than one page; `number` is the one
    shown."""
    key = f"{page}.{name}"
    if st.session_state.get(key, 1) != number:
        st.session_state[key] = number
    _write_widget_value(page, name, "" if number == 1 else str(number))
    if count > 1:
        st.pagination(count, key=key)


def _build_title_lookup(
    options: Sequence[str], title: Callable[[str], str]
) -> Callable[[str], str]:
    """The titles as they are now: Streamlit may ask again outside the session, where there is no
    language."""
    titles = {code: title(code) for code in options}
    return lambda code: titles.get(code, code)


def _sync_single_choice(
    options: Sequence[str], page: str, name: str, label: str, title: Callable[[str], str]
) -> str:
    """The widget's key, its state one of the options, which may have changed since it was set.

    A link that asks for something else is told so; it is none of a person's doing where one choice
    takes the options of another away.
    """
    is_new_link = _has_url_changed(page, name)
    key = _sync_from_url(page, name, lambda text: text)
    requested = st.session_state[key]
    if requested not in options:
        st.session_state[key] = options[0]
        if is_new_link and requested:
            warn_unknown_choice(requested, label, title(options[0]))
    return key


def _sync_multiple_choice(
    options: Sequence[str], page: str, name: str, label: str, title: Callable[[str], str]
) -> str:
    """The key of a widget that may hold several codes, its state some of the options; a link that
    asks for others is told so."""
    read_selected_codes(options, page=page, name=name)
    key = f"{page}.{name}"
    strange = st.session_state.pop(f"{key}.strange", [])
    if strange:
        shown = ", ".join(map(title, st.session_state[key])) or build_translator()("common.all")
        warn_unknown_choice(", ".join(strange), label, shown)
    return key


def warn_unknown_choice(requested: str, label: str, shown: str) -> None:
    """A link asked for what is not here, and something else is shown instead."""
    values = {"asked": escape_markdown(requested), "label": label, "shown": escape_markdown(shown)}
    message = build_translator()("common.unknown_choice", **values)
    st.toast(message, icon=":material/explore_off:", duration="long")


def _sync_from_url(page: str, name: str, parse_value: Callable[[str], object]) -> str:
    """The widget's key, its state set anew where the URL was changed by anything else."""
    key = f"{page}.{name}"
    if _has_url_changed(page, name):
        st.session_state[key] = parse_value(st.query_params.get(name, ""))
    return key


def _publish_selection(page: str, name: str, drawn: bool) -> list[str]:
    """The codes that a widget holds now, once they are in the URL."""
    chosen = list(st.session_state[f"{page}.{name}"])
    _write_widget_value(page, name, _SEPARATOR.join(chosen), drawn)
    return chosen


def _has_url_changed(page: str, name: str) -> bool:
    """Whether the URL says something that the widget has not taken up yet."""
    key, requested = f"{page}.{name}", st.query_params.get(name, "")
    return key not in st.session_state or requested != st.session_state.get(f"{key}.url")


def _write_widget_value(page: str, name: str, text: str, drawn: bool = True) -> None:
    """Write what a widget holds into the URL; the state of one that is not there would grow old."""
    key = f"{page}.{name}"
    set_query_param(name, text)
    st.session_state[f"{key}.url"] = text
    if not drawn:
        del st.session_state[key]


# Long tables a page at a time: what a visitor is sent does not grow with the board.
# A table's rows are ordered and narrowed on the server, over all of them; the number of the page
# is in the URL, and a file to save holds every row.

ROWS = 100  # of a page


class TablePage(NamedTuple):
    """A page of a table: its rows, its number from 1, how many there are, and of how many rows."""

    rows: pd.DataFrame
    number: int
    pages: int
    total: int

    @property
    def row_range(self) -> tuple[int, int]:
        """The places of its first and last row, from 1."""
        first = ROWS * (self.number - 1) + 1
        return first, first + len(self.rows) - 1


def cut_table_page(frame: pd.DataFrame, page: str, name: str, *identity: Any) -> TablePage:
    """The page that the URL asks for by `name`; another list, which `identity` tells, begins
    anew."""
    pages = max(1, -(-len(frame) // ROWS))
    if pages == 1:
        return TablePage(frame, 1, 1, len(frame))
    number = min(
        pages,
        read_page_number(page=page, name=name, list_signature=content_hash(identity)),
    )
    return TablePage(frame.iloc[ROWS * (number - 1) : ROWS * number], number, pages, len(frame))


def draw_table_pager(table_page: TablePage, page: str, name: str, tr: Translate) -> None:
    """Which rows are shown and the way to the others; nothing where all are."""
    if table_page.pages == 1:
        clear_filters(name)
        return
    first, last = table_page.row_range
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(tr("common.rows_shown", first=first, last=last, total=table_page.total))
        st.space("stretch")
        draw_pagination(table_page.number, table_page.pages, page=page, name=name)
