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
from pages.components.text import to_plain_line

_ROW, _LINE = 66, 28  # pixels of a row whose texts wrap (above 64), characters of one line
_SHORT, _NAME, _MAX_HEIGHT = 35, 12, 640  # a row of one line, a name of one line, a whole table
_MAX_ROWS, _MAX_DEPTH = 200, 4  # parameters of a function, and objects inside each other
_MAX_UNFOLDED = 3  # functions; of more of them one at a time is shown, and they are folded
# characters of a description in a cell, and above a table
_MAX_CELL_CHARS, _MAX_TEXT_CHARS = 400, 2_000


def is_turns(value: Any) -> bool:
    """Whether a field is a conversation: a list of turns, each a list of messages."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(turn, list) and all(map(_is_message, turn)) for turn in value)
    )


def parse_json_text(text: Any) -> Any:
    """What a field of JSON text holds, the text itself where it is no JSON."""
    try:
        return msgspec.json.decode(text) if isinstance(text, str) else text
    except (msgspec.DecodeError, RecursionError):
        return text


def draw_question_turns(value: Sequence[Sequence[Mapping[str, Any]]], tr: Translate) -> None:
    """The messages, turn by turn where there are several."""
    for number, turn in enumerate(value, 1):
        if len(value) > 1:
            st.caption(tr("case.turn", number=number, total=len(value)))
        if not turn:
            st.caption(tr("case.turn_silent"))
        evidence.draw_messages(turn, tr)


def draw_offered_functions(text: Any, tr: Translate) -> None:
    """Name, description and parameters of every function on offer."""
    offered = parse_json_text(text)
    if not isinstance(offered, list) or not all(isinstance(function, dict) for function in offered):
        evidence.draw_raw_value(offered)
        return
    if not offered:
        st.caption(tr("case.no_functions"))
        return
    title = tr("case.functions", count=len(offered))
    if len(offered) <= _MAX_UNFOLDED:
        st.caption(title)
        for function in offered:
            _draw_function(function, tr)
        return
    with st.expander(title, icon=":material/function:"):
        names = [to_plain_line(function.get("name", "")) for function in offered]
        chosen = st.selectbox(
            tr("case.function"), range(len(names)), format_func=dict(enumerate(names)).get
        )
        _draw_function(offered[chosen or 0], tr)


def _draw_function(function: Mapping[str, Any], tr: Translate) -> None:
    with st.container(border=True, gap="small"):
        st.code(str(function.get("name", "")), language=None, wrap_lines=True)
        if about := str(function.get("description") or ""):
            st.text(about[:_MAX_TEXT_CHARS])
        _draw_function_parameters(function, tr)


def _draw_function_parameters(function: Mapping[str, Any], tr: Translate) -> None:
    """A row per parameter; a schema of another form is shown as it is."""
    schema = function.get("parameters")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(properties, dict | None):
        evidence.draw_raw_value(schema)
        return
    if not properties:
        st.caption(tr("case.no_parameters"))
        return
    rows = list(islice(_iterate_parameter_rows(schema, "", tr), _MAX_ROWS))
    long = any(len(row["description"]) > _LINE or len(row["name"]) > _NAME for row in rows)
    step = _ROW if long else _SHORT
    column_config = st.column_config
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        row_height=step,
        height=min(_SHORT + 3 + step * len(rows), _MAX_HEIGHT),
        alt=tr("case.parameters_alt"),
        column_config={
            "name": column_config.TextColumn(tr("case.parameter"), width=100),
            "type": column_config.TextColumn(tr("case.type"), width=76),
            "required": column_config.TextColumn(tr("case.required"), width=70),
            "description": column_config.TextColumn(tr("case.description"), width=178),
        },
    )


def _iterate_parameter_rows(
    schema: Mapping[str, Any], prefix: str, tr: Translate
) -> Iterator[dict[str, str]]:
    """A row per parameter, those of an object under its name: `address.city`."""
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict) or prefix.count(".") >= _MAX_DEPTH:
        return
    needed = required if isinstance(required, list) else []
    for name, parameter in properties.items():
        yield {
            "name": to_plain_line(f"{prefix}{name}"),
            "type": _format_parameter_type(parameter),
            "required": tr("common.yes" if name in needed else "common.no"),
            "description": _describe_parameter(parameter),
        }
        if isinstance(parameter, dict):
            yield from _iterate_parameter_rows(parameter, f"{prefix}{name}.", tr)


def _format_parameter_type(schema: Any) -> str:
    """The type of a parameter, with that of its elements."""
    if not isinstance(schema, dict):
        return ""
    items = schema.get("items")
    inner = (
        f"[{_format_parameter_type(items)}]" if isinstance(items, dict) and "type" in items else ""
    )
    return to_plain_line(f"{schema.get('type', '')}{inner}", 60)


def _describe_parameter(schema: Any) -> str:
    """What is said of a parameter: its description, its choices, its default."""
    if not isinstance(schema, dict):
        return ""
    parts = [str(schema.get("description") or "")]
    parts += [f"enum: {tables.format_cell(schema['enum'])}"] if "enum" in schema else []
    parts += [f"default: {tables.format_cell(schema['default'])}"] if "default" in schema else []
    return to_plain_line(" · ".join(filter(None, parts)), _MAX_CELL_CHARS)


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and {"role", "content"} <= set(value)
