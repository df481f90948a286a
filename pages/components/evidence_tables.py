"""Tables of evidence whose columns, and some of whose cells, are words of ours: told in the
session's language, and drawn as what they hold asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from evalcore.i18n import lookup_text
from evalcore.records import Section
from pages.components import tables, word_table
from pages.components.language import Translate, current_language
from pages.components.text import escape_markdown, to_plain_line

#: Tables whose columns are named by us and not by a statement, with those whose cells are words
#: of ours as well.
_OUR_COLUMNS: Mapping[str, frozenset[str]] = {
    "turns": frozenset({"by"}),
    "missing_results": frozenset({"by"}),
    "missing_outputs": frozenset(),
    "goals": frozenset({"goal", "progress"}),
    "results": frozenset({"reading", "resolved", "applied"}),
    "tests": frozenset({"group", "status"}),
    "patch_measures": frozenset({"measure", "value"}),
}
_SEPARATOR = ", "  # between the words of a cell that holds several
_PASSING = frozenset({"PASSED", "XFAIL"})  # a test that is expected to fail may
_ROW, _HEAD, _TALLEST = 35, 38, 400  # pixels


def translate_table_body(section: Section) -> Any:
    """The body, its columns and cells in the session's language where they are words of ours."""
    if section.title not in _OUR_COLUMNS:
        return section.body
    names = section.body["columns"]
    ours = {index for index, name in enumerate(names) if name in _OUR_COLUMNS[section.title]}
    rows = [
        [
            _translate_cell(section.title, cell) if index in ours else cell
            for index, cell in enumerate(row)
        ]
        for row in section.body["rows"]
    ]
    return {
        "columns": [_lookup_section_word(f"column.{name}", name) for name in names],
        "rows": rows,
    }


def find_table_drawer(title: str) -> Callable[[Section, Translate], None] | None:
    """What draws the table of this title, None where the kind of the section decides."""
    return _DRAWERS.get(title)


def _draw_small_table(section: Section, tr: Translate) -> None:
    """Every cell in full: few rows, and texts that a grid would cut."""
    body = translate_table_body(section)
    cells = [[tables.format_cell(value) for value in row] for row in body["rows"]]
    columns = {name: [row[index] for row in cells] for index, name in enumerate(body["columns"])}
    word_table.draw_word_table(columns, to_plain_line(section.title.replace("_", " ")))


def _draw_compared_answers(section: Section, tr: Translate) -> None:
    """Answer and expectation beside each other, and by which rule they were held together."""
    names = [str(name) for name in section.body["columns"]]
    for row in section.body["rows"]:
        cells = dict(zip(names, row, strict=True))
        for column, name in zip(st.columns(2), ("answer", "expected"), strict=True):
            with column:
                st.caption(_lookup_section_word(f"column.{name}", name))
                st.code(tables.format_cell(cells[name]), language=None, wrap_lines=True)
        kind, matched_by = (
            _translate_cell(section.title, cells[name]) for name in ("compared_as", "found_by")
        )
        st.caption(
            tr("case.compared", kind=escape_markdown(kind), place=escape_markdown(matched_by))
        )


def _draw_test_results(section: Section, tr: Translate) -> None:
    """Those that do not pass come first, with a sign and in colour; how many, above."""
    rows = section.body["rows"]
    failed = [row[-1] not in _PASSING for row in rows]
    if any(failed):
        st.caption(tr("case.tests_failed", failed=sum(failed), count=len(rows)))
    else:
        st.caption(tr("case.tests_passed", count=len(rows)))
    body = translate_table_body(section)
    columns = [body["columns"][-1], *body["columns"][:-1]]
    shown = [
        [f"{'✕' if odd else '✓'} {row[-1]}", *row[:-1]]
        for row, odd in zip(body["rows"], failed, strict=True)
    ]
    table = tables.build_text_frame(columns, shown)
    st.dataframe(
        tables.colour_odd_rows(table, failed, tables.MISSING) if any(failed) else table,
        hide_index=True,
        height=min(_HEAD + _ROW * max(1, len(rows)), _TALLEST),
        alt=tr("case.tests_alt"),
        column_config={columns[0]: st.column_config.TextColumn(width="small", pinned=True)},
    )


def _translate_cell(title: str, cell: Any) -> Any:
    """The words of a cell, each in the session's language where a catalogue knows it."""
    if not isinstance(cell, str):
        return cell
    parts: Sequence[str] = cell.split(_SEPARATOR)
    return _SEPARATOR.join(
        _lookup_section_word(f"word.{title}.{part}", _lookup_section_word(f"word.{part}", part))
        for part in parts
    )


def _lookup_section_word(key: str, otherwise: Any) -> Any:
    return lookup_text(f"section.{key}", current_language()) or otherwise


_DRAWERS: Mapping[str, Callable[[Section, Translate], None]] = {
    "answer_compared": _draw_compared_answers,
    "results": _draw_small_table,
    "patch_measures": _draw_small_table,
    "tests": _draw_test_results,
}
