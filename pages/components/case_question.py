"""A question that is a conversation, with the functions that it offers.

All of it is data from outside: it is drawn with `st.text`, `st.code`, `st.json` or in cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
import pandas as pd
import streamlit as st

from pages.components import evidence, tables
from pages.components.language import Translate
from pages.components.text import plain

_ROW, _LINE = 66, 28  # pixels of a row whose texts wrap (above 64), characters of one line
_SHORT, _NAME, _TALLEST = 35, 12, 640  # a row of one line, a name of one line, a whole table
_MOST_ROWS, _DEEPEST = 200, 4  # parameters of a function, and objects inside each other
_FOLDED = 3  # functions; of more of them one at a time is shown, and they are folded
_LONGEST, _LONGEST_TEXT = 400, 2_000  # characters of a description in a cell, and above a table


def is_turns(value: Any) -> bool:
    """Whether a field is a conversation: a list of turns, each a list of messages."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(turn, list) and all(map(_is_message, turn)) for turn in value)
    )


def parsed(text: Any) -> Any:
    """What a field of JSON text holds, the text itself where it is no JSON."""
    try:
        return msgspec.json.decode(text) if isinstance(text, str) else text
    except (msgspec.DecodeError, RecursionError):
        return text


def turns(value: Sequence[Sequence[Mapping[str, Any]]], tr: Translate) -> None:
    """The messages, turn by turn where there are several."""
    for number, turn in enumerate(value, 1):
        if len(value) > 1:
            st.caption(tr("case.turn", number=number, total=len(value)))
        if not turn:
            st.caption(tr("case.turn_silent"))
        evidence.transcript(turn, tr)


def functions(text: Any, tr: Translate) -> None:
    """Name, description and parameters of every function on offer."""
    offered = parsed(text)
    if not isinstance(offered, list) or not all(isinstance(one, dict) for one in offered):
        evidence.raw(offered)
        return
    if not offered:
        st.caption(tr("case.no_functions"))
        return
    title = tr("case.functions", count=len(offered))
    if len(offered) <= _FOLDED:
        st.caption(title)
        for one in offered:
            _function(one, tr)
        return
    with st.expander(title, icon=":material/function:"):
        names = [plain(one.get("name", "")) for one in offered]
        chosen = st.selectbox(
            tr("case.function"), range(len(names)), format_func=dict(enumerate(names)).get
        )
        _function(offered[chosen or 0], tr)


def _function(one: Mapping[str, Any], tr: Translate) -> None:
    with st.container(border=True, gap="small"):
        st.code(str(one.get("name", "")), language=None, wrap_lines=True)
        if about := str(one.get("description") or ""):
            st.text(about[:_LONGEST_TEXT])
        _parameters(one, tr)


def _parameters(function: Mapping[str, Any], tr: Translate) -> None:
    """A row per parameter; a schema of another form is shown as it is."""
    schema = function.get("parameters")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(properties, dict | None):
        evidence.raw(schema)
        return
    if not properties:
        st.caption(tr("case.no_parameters"))
        return
    rows = list(islice(_rows(schema, "", tr), _MOST_ROWS))
    long = any(len(row["description"]) > _LINE or len(row["name"]) > _NAME for row in rows)
    step = _ROW if long else _SHORT
    kinds = st.column_config
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        row_height=step,
        height=min(_SHORT + 3 + step * len(rows), _TALLEST),
        alt=tr("case.parameters_alt"),
        column_config={
            "name": kinds.TextColumn(tr("case.parameter"), width=100),
            "type": kinds.TextColumn(tr("case.type"), width=76),
            "required": kinds.TextColumn(tr("case.required"), width=70),
            "description": kinds.TextColumn(tr("case.description"), width=178),
        },
    )


def _rows(schema: Mapping[str, Any], inside: str, tr: Translate) -> Iterator[dict[str, str]]:
    """A row per parameter, those of an object under its name: `address.city`."""
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict) or inside.count(".") >= _DEEPEST:
        return
    needed = required if isinstance(required, list) else []
    for name, one in properties.items():
        yield {
            "name": plain(f"{inside}{name}"),
            "type": _type(one),
            "required": tr("common.yes" if name in needed else "common.no"),
            "description": _about(one),
        }
        if isinstance(one, dict):
            yield from _rows(one, f"{inside}{name}.", tr)


def _type(schema: Any) -> str:
    """The type of a parameter, with that of its elements."""
    if not isinstance(schema, dict):
        return ""
    items = schema.get("items")
    inner = f"[{_type(items)}]" if isinstance(items, dict) and "type" in items else ""
    return plain(f"{schema.get('type', '')}{inner}", 60)


def _about(schema: Any) -> str:
    """What is said of a parameter: its description, its choices, its default."""
    if not isinstance(schema, dict):
        return ""
    told = [str(schema.get("description") or "")]
    told += [f"enum: {tables.cell(schema['enum'])}"] if "enum" in schema else []
    told += [f"default: {tables.cell(schema['default'])}"] if "default" in schema else []
    return plain(" · ".join(filter(None, told)), _LONGEST)


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and {"role", "content"} <= set(value)
