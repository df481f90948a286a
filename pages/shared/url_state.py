"""Filters and pages of tables whose value lives in the URL by code, so that a link reads in any
language.

The URL is the truth: a link that is opened sets the widget, a widget that is changed sets the URL,
and coming back to a page by a bare link starts from the defaults. (`bind="query-params"` of
Streamlit would write the translated label of an option.)
A widget goes by a key such as `ranking.sort`: the page, and last the name in the URL. One that is
not `drawn`, as in a menu that is closed, is asked for all the same: what a link or a last click
says is taken up and told, and the URL alone remembers it until the widget comes.
What is in the state is a widget's default too: a browser that draws it only after a second run, as
where the first was interrupted, begins with the default and sends that back.
Who changes a widget sends the URL as the browser has it, which may be older than what was written
last: what was written before is then no link.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from evalcore.records import content_hash
from pages.shared.page_links import set_query_param, set_query_params, split_url_values
from pages.shared.wording import escape_markdown, tr

_SEPARATOR = ","
_MOVED = "url.moved"
_PAST = 8  # texts that the browser may be late by
_ON, _NONE = "1", "-"  # a switch that is on, and nothing chosen where that is not the default

Title = Callable[[str], str]


@contextmanager
def watch_moves(page: str) -> Iterator[None]:
    """Note for a run of a page whether somebody has changed a widget of it, in this run or in one
    that this one has interrupted, and so asks for no link."""
    state = st.session_state
    keys = [str(key).removesuffix(".held") for key in state if str(key).endswith(".held")]
    is_moved = any(key in state and state[key] != state[f"{key}.held"] for key in keys)
    last_page, was_moved = state.get(_MOVED, ("", False))
    state[_MOVED] = page, page == last_page and (is_moved or was_moved)
    yield
    state[_MOVED] = page, False


def draw_menu(label: str, icon: str, key: str) -> Any:
    """A button that unfolds widgets, which are drawn while it is open."""
    is_open = st.session_state.get(key, False)
    if key in st.session_state:  # with another label it is another button to Streamlit
        st.session_state[key] = is_open
    st.session_state[f"{key}.held"] = is_open
    return st.popover(label, icon=f":material/{icon}:", key=key, on_change="rerun")


def draw_select(
    label: str,
    options: Sequence[str],
    key: str,
    title: Title,
    *,
    explicit: bool = False,
    drawn: bool = True,
    drawn_alone: bool = True,
    widget: Callable[..., Any] = st.selectbox,
    **widget_options: Any,
) -> str:
    """A select box over codes; the first is the default, and in the URL only if `explicit`.

    Not `drawn_alone`, a code without another to choose is not drawn and the URL is left as it is,
    yet a link that asks for another code is told so.
    """
    _sync_single_choice(options, key, label, title)
    if len(options) == 1 and not drawn_alone:
        _note_text(key, _read_url(key))
        return options[0]
    if drawn:
        widget_options |= {"key": key, "format_func": hold_titles(options, title)}
        widget(label, options, options.index(st.session_state[key]), **widget_options)
    chosen = str(st.session_state[key])
    _write_widget_value(key, chosen if explicit or chosen != options[0] else "", drawn)
    return chosen


def draw_segments(label: str, options: Sequence[str], key: str, title: Title, **look: Any) -> str:
    """`draw_select` as a row of codes of which one is chosen, as tabs are."""
    look |= {"required": True, "label_visibility": "collapsed"}
    return draw_select(label, options, key, title, widget=_draw_segmented_control, **look)


def _draw_segmented_control(label: str, options: Sequence[str], index: int, **look: Any) -> None:
    st.segmented_control(label, options, default=options[index], **look)


def draw_multiselect(
    label: str,
    options: Sequence[str],
    key: str,
    title: Title,
    *,
    drawn: bool = True,
    widget: Callable[..., Any] = st.multiselect,
    **widget_options: Any,
) -> list[str]:
    """A multiple choice over codes (without commas); none chosen means all."""
    read_selected_codes(options, key)
    if strange := st.session_state.pop(f"{key}.strange", []):
        shown = ", ".join(map(title, st.session_state[key])) or tr("common.all")
        warn_unknown_choice(", ".join(strange), label, shown)
    if drawn:
        widget(label, options, key=key, format_func=hold_titles(options, title), **widget_options)
    chosen = list(st.session_state[key])
    _write_widget_value(key, _SEPARATOR.join(chosen), drawn)
    return chosen


def draw_pills(
    label: str, options: Sequence[str], key: str, title: Title, **widget_options: Any
) -> list[str]:
    """`draw_multiselect` over a few codes that are all seen."""
    widget_options |= {"widget": st.pills, "selection_mode": "multi"}
    return draw_multiselect(label, options, key, title, **widget_options)


def read_selected_codes(options: Sequence[str], key: str) -> list[str]:
    """What is chosen of the options of a `draw_multiselect` or `draw_pills`, before it is drawn."""
    is_new_link = _has_url_changed(key)
    _sync_from_url(key, lambda text: text.split(_SEPARATOR))
    if is_new_link:  # is told where the widget is drawn, which has a label
        requested = split_url_values(_read_url(key))
        st.session_state[f"{key}.strange"] = [code for code in requested if code not in options]
    return _keep_known_codes(options, key)


def draw_default_multiselect(
    label: str,
    options: Sequence[str],
    defaults: Sequence[str],
    key: str,
    title: Title,
    *,
    drawn: bool = True,
    **widget_options: Any,
) -> list[str]:
    """A multiple choice that begins with the `defaults` codes, which the URL then leaves out; none
    chosen means none."""

    def parse_codes(text: str) -> list[str]:
        requested = text.split(_SEPARATOR) if text else defaults
        return [code for code in requested if code in options]

    _sync_from_url(key, parse_codes)
    defaults_key = f"{key}.usual"
    if st.session_state.get(defaults_key) != list(defaults) and not _read_url(key):
        _set_value(key, parse_codes(""))  # what is usual has changed, with the board
    st.session_state[defaults_key] = list(defaults)
    _keep_known_codes(options, key)
    if drawn:
        titles = hold_titles(options, title)
        st.multiselect(label, options, key=key, format_func=titles, **widget_options)
    chosen = list(st.session_state[key])
    same = set(chosen) == set(parse_codes(""))
    _write_widget_value(key, "" if same else _SEPARATOR.join(chosen) or _NONE, drawn)
    return chosen


def draw_toggle(label: str, key: str, *, drawn: bool = True, **widget_options: Any) -> bool:
    """A switch that is off by default."""
    chosen = is_toggle_on(key)
    if drawn:
        chosen = st.toggle(label, chosen, key=key, **widget_options)
    _write_widget_value(key, _ON if chosen else "", drawn)
    return chosen


def is_toggle_on(key: str) -> bool:
    """Whether a `draw_toggle` is on, before it is drawn."""
    _sync_from_url(key, lambda text: text == _ON)
    return bool(st.session_state[key])


def read_selected_code(options: Sequence[str], key: str) -> str:
    """What is chosen in a `draw_select`, before it is drawn."""
    selected = _read_url(key) if _has_url_changed(key) else st.session_state[key]
    return selected if selected in options else options[0]


def clear_filters(*names: str) -> None:
    """Take filters out of the URL; their widgets follow when they are drawn next."""
    set_query_params(dict.fromkeys(names))


def draw_search(label: str, key: str, **widget_options: Any) -> str:
    """A search field that filters while one types."""
    _sync_from_url(key, lambda text: text)
    widget_options |= {"key": key, "type": "search", "live": True, "max_chars": 100}
    text = str(st.text_input(label, st.session_state[key] or "", **widget_options)).strip()
    _write_widget_value(key, text)
    return text


def draw_number(label: str, key: str, *, drawn: bool = True, **widget_options: Any) -> float | None:
    """A number from 0 up that may be left out; a link that asks for anything else is told so."""
    number = read_number(key, label)
    if drawn:  # without a default, since a field that has one cannot be emptied
        widget_options |= {"min_value": 0.0, "value": None, "step": None, "key": key}
        number = st.number_input(label, **widget_options)
    _write_widget_value(key, "" if number is None else f"{number:.12g}", drawn)
    return number


def read_number(key: str, label: str = "") -> float | None:
    """What a `draw_number` holds, before it is drawn."""
    is_new_link = _has_url_changed(key)
    _sync_from_url(key, _parse_number)
    number: float | None = st.session_state[key]
    if is_new_link:
        st.session_state[f"{key}.late"] = True
    elif st.session_state.pop(f"{key}.late", False):
        st.session_state[key] = number  # told twice in place of a default
    if is_new_link and number is None and (requested := _read_url(key)) and label:
        warn_unknown_choice(requested, label, tr("common.all"))
    return number


def _parse_number(text: str) -> float | None:
    return (
        float(text)
        if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,12})?(e[+-]?[0-9]{1,2})?", text)
        else None
    )


def hold_titles(options: Sequence[str], title: Title) -> Title:
    """The titles as they are now: Streamlit may ask again outside the session, where there is no
    language."""
    titles = {code: title(code) for code in options}
    return lambda code: titles.get(code, code)


def warn_unknown_choice(requested: str, label: str, shown: str) -> None:
    """A link asked for what is not here, and something else is shown instead."""
    values = {"asked": escape_markdown(requested), "label": label, "shown": escape_markdown(shown)}
    message = tr("common.unknown_choice", **values)
    st.toast(message, icon=":material/explore_off:", duration="long")


def _sync_single_choice(options: Sequence[str], key: str, label: str, title: Title) -> None:
    """Make the widget's state one of the options, which may have changed since it was set.

    A link that asks for something else is told so; it is none of a person's doing where one choice
    takes the options of another away.
    """
    is_new_link = _has_url_changed(key)
    _sync_from_url(key, lambda text: text)
    requested = st.session_state[key]
    if requested not in options:
        _set_value(key, options[0])
        if is_new_link and requested:
            warn_unknown_choice(requested, label, title(options[0]))


def _sync_from_url(key: str, parse_value: Callable[[str], object]) -> None:
    """Set a widget's state anew where the URL was changed by anything else."""
    if _has_url_changed(key):
        _set_value(key, parse_value(_read_url(key)))


def _has_url_changed(key: str) -> bool:
    """Whether the URL says something that the widget has not taken up yet."""
    if key not in st.session_state:
        return True
    value = st.session_state[key]
    if value != st.session_state.get(f"{key}.held", value):
        return False
    return (_read_url(key),) != _read_past(key)[-1:]


def _set_value(key: str, value: object) -> None:
    """Set a widget's state otherwise than by hand."""
    st.session_state[key] = st.session_state[f"{key}.held"] = value


def _keep_known_codes(options: Sequence[str], key: str) -> list[str]:
    codes = [code for code in st.session_state[key] if code in options]
    if codes != st.session_state[key]:
        _set_value(key, codes)
    st.session_state[key] = codes
    return list(codes)


def _read_url(key: str) -> str:
    """What the URL says, or what was written last where that is older."""
    text, past = st.query_params.get(key.rpartition(".")[2], ""), _read_past(key)
    _, is_moved = st.session_state.get(_MOVED, ("", False))
    return past[-1] if is_moved and text in past else text


def _read_past(key: str) -> tuple[str, ...]:
    """What a widget has written into the URL, the newest last."""
    return st.session_state.get(f"{key}.past", ())


def _note_text(key: str, text: str) -> None:
    if (text,) != (past := _read_past(key))[-1:]:
        st.session_state[f"{key}.past"] = (*past, text)[-_PAST:]


def _write_widget_value(key: str, text: str, drawn: bool = True) -> None:
    """Write what a widget holds into the URL; the state of one that is not there would grow old."""
    # first what was seen: a run that is interrupted by the next one ends as it writes the URL
    _note_text(key, text)
    if drawn and key in st.session_state:
        st.session_state[f"{key}.held"] = st.session_state[key]
    elif not drawn:
        del st.session_state[key]
    set_query_param(key.rpartition(".")[2], text)


# Long tables a page at a time: what a visitor is sent does not grow with the board.
# A table's rows are ordered and narrowed on the server, over all of them; the number of the page
# is in the URL, and a file to save holds every row.

ROWS = 100  # of a page


class TablePage(NamedTuple):
    """A page of a table: its rows, its number from 1, how many there are, of how many rows, and the
    key of its widget."""

    rows: pd.DataFrame
    number: int
    pages: int
    total: int
    key: str


def read_page_number(key: str, list_signature: str) -> int:
    """The page of a long list, from 1; a list that `list_signature` tells from the last one
    starts anew."""
    signature_key, requested = f"{key}.of", _read_url(key)
    if _has_url_changed(key):
        number = int(requested) if re.fullmatch("[1-9][0-9]{0,5}", requested) else 1
    else:
        same = st.session_state.get(signature_key, list_signature) == list_signature
        number = int(st.session_state[key]) if same else 1
    st.session_state[signature_key] = list_signature
    _write_widget_value(key, "" if number == 1 else str(number))
    return number


def draw_pagination(number: int, count: int, key: str) -> None:
    """The widget of `read_page_number`, where there is more than one page; `number` is the one
    shown."""
    if st.session_state.get(key) != number:
        _set_value(key, number)
    _write_widget_value(key, "" if number == 1 else str(number))
    if count > 1:
        st.pagination(count, default=number, key=key)


def cut_table_page(frame: pd.DataFrame, key: str, *identity: Any, size: int = ROWS) -> TablePage:
    """The page that the URL asks for; another list, which `identity` tells, begins anew."""
    pages = max(1, -(-len(frame) // size))
    if pages == 1:
        return TablePage(frame, 1, 1, len(frame), key)
    number = min(pages, read_page_number(key, content_hash(identity)))
    rows = frame.iloc[size * (number - 1) : size * number]
    return TablePage(rows, number, pages, len(frame), key)


def draw_table_pager(table_page: TablePage) -> None:
    """Which rows are shown and the way to the others; nothing where all are."""
    if table_page.pages == 1:
        clear_filters(table_page.key.rpartition(".")[2])
        return
    first = ROWS * (table_page.number - 1) + 1
    last = first + len(table_page.rows) - 1
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(tr("common.rows_shown", first=first, last=last, total=table_page.total))
        st.space("stretch")
        draw_pagination(table_page.number, table_page.pages, table_page.key)
