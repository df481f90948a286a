"""The drawer of decoded calls: each beside the accepted one, argument by argument.

Names and values come from models and data sets: they stand in cells and in code, never in Markdown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from evalcore.plain_text import DASH
from evalcore.queries import calls
from evalcore.queries.calls import ArgumentComparison, CallPair
from evalcore.records import to_json
from pages.components import tables
from pages.components.language import Translate
from pages.components.text import escape_markdown

_ARGUMENTS = 100  # of one call; a data frame of a hostile answer would have no end
_CELL = 1_000  # characters
_MARK_SIGNS = {
    "accepted": "✓",
    "mismatch": "✕",
    "missing": "−",
    "extra": "+",
    "omitted": "○",
    "differs": "≠",
}
_COLOURS = {"mismatch": tables.MISSING, "missing": tables.MISSING, "extra": tables.EXTRA}


def draw_decoded_calls(body: Any, tr: Translate) -> None:
    """What was called, what was accepted, and where they first differ, in colour and in words."""
    pairs = calls.pair_calls(body)
    if body["answer"] is None:
        st.warning(tr("case.calls.undecoded"), icon=":material/code_off:")
    elif not body["answer"]:
        st.caption(tr("case.calls.none"))
    if body["accepted"] is None:
        st.caption(tr("case.calls.any"))
    elif body["answer"] is not None and len(body["answer"]) != len(body["accepted"]):
        counts = {"answered": len(body["answer"]), "accepted": len(body["accepted"])}
        st.caption(tr("case.calls.count", **counts))
    for number, pair in enumerate(pairs, 1):
        _draw_call_pair(pair, number, len(pairs), body, tr)


def _draw_call_pair(
    pair: CallPair, number: int, total: int, body: Mapping[str, Any], tr: Translate
) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if total > 1:
            st.caption(tr("case.calls.call", number=number), width="content")
        st.code(pair.answered or pair.accepted, language=None, width="content")
        if pair.answered and not pair.accepted and body["accepted"] is not None:
            st.badge(f"+ {tr('case.calls.extra_call')}", color="orange")
        elif not pair.answered and body["answer"] is not None:
            st.badge(f"− {tr('case.calls.missing_call')}", color="red")
        elif pair.answered and pair.accepted and not pair.same_name:
            st.badge(f"✕ {tr('case.calls.other_function')}", color="red")
            st.code(pair.accepted, language=None, width="content")
    if not pair.lines:
        st.caption(tr("case.calls.no_arguments"))
        return
    lines = pair.lines[:_ARGUMENTS]
    _draw_argument_table(lines, pair, body, tr)
    if len(pair.lines) > len(lines):
        st.caption(tr("case.calls.more", count=len(pair.lines) - len(lines)))


def _draw_argument_table(
    lines: tuple[ArgumentComparison, ...], pair: CallPair, body: Mapping[str, Any], tr: Translate
) -> None:
    columns = {
        "mark": [_format_argument_mark(line, tr) for line in lines],
        "argument": [tables.format_cell(line.name) for line in lines],
        "answered": [
            _format_argument_value(line.value) if line.is_present else DASH for line in lines
        ],
        "accepted": [_format_accepted_values(line, tr) for line in lines],
    }
    if body["answer"] is None or not pair.answered:
        columns = {name: columns[name] for name in ("argument", "accepted")}
    elif not pair.accepted:
        columns = {name: columns[name] for name in ("argument", "answered")}
    colours = [_COLOURS.get(line.mark, "") for line in lines]
    frame = pd.DataFrame(columns)
    column_config = st.column_config
    st.dataframe(
        frame.style.apply(lambda row: [colours[int(str(row.name))]] * len(row), axis=1),
        hide_index=True,
        alt=tr("case.calls.alt", name=escape_markdown(pair.accepted or pair.answered)),
        column_config={
            "mark": column_config.TextColumn(tr("case.calls.mark"), width=132),
            "argument": column_config.TextColumn(tr("case.calls.argument"), width=110),
            "answered": column_config.TextColumn(tr("case.actual"), width="medium"),
            "accepted": column_config.TextColumn(tr("case.calls.accepted_values"), width="large"),
        },
    )


def _format_argument_mark(line: ArgumentComparison, tr: Translate) -> str:
    """The sign and the word of a mark; with the place, where the mismatch is inside the value."""
    if line.mark not in _MARK_SIGNS:
        return ""
    text = f"{_MARK_SIGNS[line.mark]} {tr(f'case.calls.mark.{line.mark}')}"
    return f"{text}: {'.'.join(line.mismatch_path)[:80]}" if line.mismatch_path else text


def _format_accepted_values(line: ArgumentComparison, tr: Translate) -> str:
    """The accepted values, the leave to omit the argument last and in words."""
    alternatives = [
        _format_argument_value(value) for value in line.accepted if value != calls.OMITTED
    ]
    if calls.OMITTED in line.accepted:
        alternatives.append(tr("case.calls.may_be_left_out"))
    return f"  {tr('case.calls.or')}  ".join(alternatives) or DASH


def _format_argument_value(value: Any) -> str:
    """A value as JSON: quotes tell the text "3" from the number 3."""
    text = to_json(value, ordered=False).decode()
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"
