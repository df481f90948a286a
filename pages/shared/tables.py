"""Tables: columns and grids of any page, wrapped texts, and those of a case: its evidence, and its
calls beside the accepted ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from evalcore.plain_text import DASH
from evalcore.records import Section, to_json
from evalcore.views import cases
from evalcore.views.cases import ArgumentComparison, CallPair
from pages.shared.wording import escape_markdown, look_up, to_plain_line, tr

# Columns, grids and what was clicked in them. A `title` and an `about` are keys of texts.

EVERY_ROW = 10_000  # rows before a table scrolls that is to be seen whole
_ROW, _HEAD, _TALLEST = 35, 38, 400  # pixels
_ROWS_MEASURED, _CELL = 50, 1_000  # rows whose texts are measured; characters of a cell
#: Columns that a phone has no room for, and characters of the texts of a row; rows on paper.
_WIDE, _WIDE_TEXT, _PAPER_ROWS = 4, 45, 300


def text_column(title: str, width: int | str | None = None, **look: Any) -> Any:
    return st.column_config.TextColumn(tr(title), width=width, **look)


def number_column(
    title: str, template: str | None = None, width: int | str | None = "small", **look: Any
) -> Any:
    return st.column_config.NumberColumn(tr(title), format=template, width=width, **look)


def share_column(title: str, template: str = "%.0f%%", **look: Any) -> Any:
    """A bar of 0 to 100."""
    return st.column_config.ProgressColumn(
        tr(title), min_value=0, max_value=100, format=template, **look
    )


def link_column(title: str, key: str, about: str = "", **look: Any) -> Any:
    """A column of names that lead somewhere; `read_clicked_row` says which was clicked."""
    look = {"type": "tertiary", "alignment": "left", "help": tr(about) if about else None, **look}
    return st.column_config.ButtonColumn(tr(title), key=key, **look)


def read_clicked_row(key: str, count: int) -> int | None:
    """The row of a link column that was clicked, if it is of `count` rows; known for one run."""
    click = st.session_state.get(key)
    return click["row"] if click is not None and click["row"] < count else None


def draw_grid(
    columns: Any,
    config: Mapping[str, Any],
    alt: str = "",
    tallest: int | None = None,
    pinned: int = 1,
    **look: Any,
) -> None:
    """A grid of columns, of a frame or of a coloured one; with `tallest` as many rows high at most.
    Of a wide one the first `pinned` columns stay where the others scroll, which a phone is told of;
    `alt` is by default what its columns are called."""
    frame = pd.DataFrame(getattr(columns, "data", columns))
    shown = columns if hasattr(columns, "data") else frame
    if not len(frame):  # a grid would say so in English
        names = escape_markdown(", ".join(map(str, frame.columns)), 300) or DASH
        st.caption(tr("common.no_rows", names=names))
        return
    config = dict(config)
    texts = frame.head(_ROWS_MEASURED).select_dtypes(exclude="number").map(str).items()
    length = sum(max(map(len, column), default=0) for _, column in texts)
    is_wide = len(frame.columns) >= _WIDE or length > _WIDE_TEXT
    for name in frame.columns[: pinned if is_wide else 0]:
        column = config.setdefault(name, {})
        getattr(column, "config", column)["pinned"] = True  # of links, the part that is drawn
    if tallest is not None:
        look["height"] = _HEAD + _ROW * min(len(frame), tallest)
    alt = alt or ", ".join(map(str, frame.columns))
    look = {"placeholder": DASH, "hide_index": True, "alt": alt, **look}
    st.dataframe(shown, column_config=config, **look)
    if is_wide:
        hint = f'<p class="eb-swipe">{tr("common.swipe")}</p>'
        st.html(hint + _build_paper_table(frame, config))


def _build_paper_table(frame: pd.DataFrame, config: Mapping[str, Any]) -> str:
    """The table in HTML, for paper: a grid ends there where it does on the screen."""
    columns = [getattr(own := config.get(name, {}), "config", own) for name in frame.columns]
    labels = [own.get("label") for own in columns]
    heads = [name if own is None else own for own, name in zip(labels, frame.columns, strict=True)]
    forms = [str((own.get("type_config") or {}).get("format") or "") for own in columns]
    rows = [
        [_format_paper_cell(value, form) for value, form in zip(row, forms, strict=True)]
        for row in frame.head(_PAPER_ROWS).itertuples(index=False)
    ]
    return "<table class='eb-paper'>{}</table>".format(
        "".join(
            "<tr>{}</tr>".format("".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells))
            for tag, cells in (("th", heads), *(("td", row) for row in rows))
        )
    )


def _format_paper_cell(value: Any, form: str) -> str:
    """A cell by the format of its column, as the grid shows it."""
    if not pd.api.types.is_scalar(value):
        return ", ".join(map(str, value))
    if pd.isna(value):
        return DASH
    if isinstance(value, bool | str) or not pd.api.types.is_number(value):
        return str(value)[: 16 if hasattr(value, "minute") else _CELL]
    return form % value if "%" in form else f"{value:.0%}" if form == "percent" else f"{value:g}"


def to_number(value: Any) -> float | None:
    """A cell of a frame, None for a missing one."""
    return None if value is None or pd.isna(value) else float(value)


def format_number_range(low: float, high: float, template: str) -> str:
    """An interval as "85.2 – 95.3", one number where both ends read the same, else empty."""
    if pd.isna(low) or pd.isna(high):
        return ""
    first, last = template.format(low), template.format(high)
    return first if first == last else f"{first} – {last}"


def format_ranges(frame: pd.DataFrame, low: str, high: str, template: str) -> list[str | None]:
    """`format_number_range` of two columns, row by row."""
    return [
        format_number_range(a, b, template) or None
        for a, b in zip(frame[low], frame[high], strict=True)
    ]


def cost_format(costs: pd.Series[float]) -> str:
    """A number format with two digits of the smallest cost above zero, the same for a column."""
    above = costs.astype(float)[costs.astype(float) > 0]
    digits = 2 if above.empty else min(6, max(2, 1 - math.floor(math.log10(above.min()))))
    return f"$%.{digits}f"


# Tables of a case: any cell as text, NULL told apart from the text NULL, odd rows coloured.

NULL = "∅"
#: Translucent, so that the same colours read on the light and on the dark theme.
MISSING = "background-color: rgba(191, 75, 68, 0.22)"
EXTRA = "background-color: rgba(207, 133, 39, 0.24)"


def format_cell(value: Any) -> str:
    """A cell as text: None as ∅, text as it is, anything else as JSON."""
    if value is None:
        return NULL
    return value if isinstance(value, str) else to_json(value, ordered=False).decode()


def build_text_frame(columns: Sequence[Any], rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """Rows of cells as a frame of text; ragged rows are filled, unnamed columns numbered."""
    width = max([len(columns), *(len(row) for row in rows)], default=0)
    names = [str(name) for name in columns] + [str(i + 1) for i in range(len(columns), width)]
    cells = [[format_cell(value) for value in row] + [""] * (width - len(row)) for row in rows]
    return pd.DataFrame(cells, columns=make_names_unique(names))


def make_names_unique(names: Sequence[str]) -> list[str]:
    """Column names told apart: a result may have two columns of one name, a frame may not."""
    unique_names: list[str] = []
    for name in names:
        free, number = name, 1
        while free in unique_names:
            number += 1
            free = f"{name} ({number})"
        unique_names.append(free)
    return unique_names


def mark_odd_rows(rows: Sequence[Sequence[Any]], odd: Sequence[Sequence[Any]]) -> list[bool]:
    """Which of `rows` are among `odd`, each odd row used up once; equal copies go from the end."""
    remaining = Counter(tuple(map(format_cell, row)) for row in odd)
    flags: list[bool] = []
    for row in reversed(rows):
        key = tuple(map(format_cell, row))
        flags.append(remaining[key] > 0)
        remaining[key] -= flags[-1]
    return flags[::-1]


def add_mark_column(
    columns: Sequence[Any], rows: Sequence[Sequence[Any]], odd: Sequence[bool], *, word: str
) -> pd.DataFrame:
    """The rows with a first column that says `word` where the row is odd."""
    table = build_text_frame(columns, rows)
    table.insert(0, "​", [word if is_odd else "" for is_odd in odd])
    return table


def colour_odd_rows(table: pd.DataFrame, odd: Sequence[bool], colour: str) -> Any:
    """The table with its odd rows in `colour`, as a pandas Styler."""

    def paint_row(row: pd.Series[Any]) -> list[str]:
        return [colour if odd[int(str(row.name))] else ""] * len(row)

    return table.style.apply(paint_row, axis=1)


# A small table of texts in which every row is read in full: its cells wrap, as no grid's do.


def draw_word_table(titles: Sequence[str], rows: Iterable[Sequence[str]], alt: str) -> None:
    """The rows under their titles; cells are Markdown there, hence escaped."""
    cells = [[escape_markdown(text, 300) for text in row] for row in rows]
    frame = pd.DataFrame({name: [row[n] for row in cells] for n, name in enumerate(titles)})
    st.table(frame, border="horizontal", hide_index=True, alt=alt)


# Tables of evidence whose columns, and some of whose cells, are words of ours: told in the
# session's language, and drawn as what they hold asks for.

_SEPARATOR = ", "  # between the words of a cell that holds several
_PASSING = frozenset({"PASSED", "XFAIL"})  # a test that is expected to fail may


def translate_table_body(section: Section) -> Any:
    """The body, its columns and cells in the session's language where they are words of ours."""
    if section.title not in cases.WORDED_COLUMNS:
        return section.body
    names = section.body["columns"]
    ours = {
        index for index, name in enumerate(names) if name in cases.WORDED_COLUMNS[section.title]
    }
    rows = [
        [
            _translate_cell(section.title, cell) if index in ours else cell
            for index, cell in enumerate(row)
        ]
        for row in section.body["rows"]
    ]
    columns = [_lookup_section_word(f"column.{name}", name) for name in names]
    return {"columns": columns, "rows": rows}


def _draw_small_table(section: Section) -> None:
    """Every cell in full: few rows, and texts that a grid would cut."""
    body = translate_table_body(section)
    rows = [[format_cell(value) for value in row] for row in body["rows"]]
    draw_word_table(body["columns"], rows, to_plain_line(section.title.replace("_", " ")))


def _draw_compared_answers(section: Section) -> None:
    """Answer and expectation beside each other, and by which rule they were held together."""
    names = [str(name) for name in section.body["columns"]]
    for row in section.body["rows"]:
        cells = dict(zip(names, row, strict=True))
        for column, name in zip(st.columns(2), ("answer", "expected"), strict=True):
            column.caption(_lookup_section_word(f"column.{name}", name))
            column.code(format_cell(cells[name]), language=None, wrap_lines=True)
        kind, matched_by = (
            escape_markdown(_translate_cell(section.title, cells[name]))
            for name in ("compared_as", "found_by")
        )
        st.caption(tr("case.compared", kind=kind, place=matched_by))


def _draw_test_results(section: Section) -> None:
    """Those that do not pass come first, with a sign and in colour; how many, above."""
    rows = section.body["rows"]
    failed = [row[-1] not in _PASSING for row in rows]
    key = "case.tests_failed" if any(failed) else "case.tests_passed"
    st.caption(tr(key, failed=sum(failed), count=len(rows)))
    body = translate_table_body(section)
    columns = [body["columns"][-1], *body["columns"][:-1]]
    shown = [
        [f"{'✕' if odd else '✓'} {row[-1]}", *row[:-1]]
        for row, odd in zip(body["rows"], failed, strict=True)
    ]
    table = build_text_frame(columns, shown)
    draw_grid(
        colour_odd_rows(table, failed, MISSING) if any(failed) else table,
        {columns[0]: st.column_config.TextColumn(width="small")},
        tr("case.tests_alt"),
        height=min(_HEAD + _ROW * max(1, len(rows)), _TALLEST),
    )


def _translate_cell(title: str, cell: Any) -> Any:
    """The words of a cell, each in the session's language where a catalogue knows it."""
    if isinstance(cell, bool):
        return tr("common.yes" if cell else "common.no")
    if not isinstance(cell, str):
        return cell
    parts: Sequence[str] = cell.split(_SEPARATOR)
    return _SEPARATOR.join(
        _lookup_section_word(f"word.{title}.{part}", _lookup_section_word(f"word.{part}", part))
        for part in parts
    )


def _lookup_section_word(key: str, otherwise: Any) -> Any:
    return look_up(f"section.{key}") or otherwise


#: What draws a table of a title; of others the kind of the section decides.
TABLE_DRAWERS: Mapping[str, Callable[[Section], None]] = {
    "answer_compared": _draw_compared_answers,
    "results": _draw_small_table,
    "patch_measures": _draw_small_table,
    "works": _draw_small_table,
    "assertions": _draw_small_table,
    "actions_made": _draw_small_table,
    "user_calls": _draw_small_table,
    "tests": _draw_test_results,
}


# The drawer of decoded calls: each beside the accepted one, argument by argument. Names and values
# come from models and data sets: they stand in cells and in code, never in Markdown.

_ARGUMENTS = 100  # of one call; a data frame of a hostile answer would have no end
_MARK_SIGNS = {
    "accepted": "✓",
    "mismatch": "✕",
    "missing": "−",
    "extra": "+",
    "omitted": "○",
    "differs": "≠",
}
_COLOURS = {"mismatch": MISSING, "missing": MISSING, "extra": EXTRA}


def draw_decoded_calls(body: Any) -> None:
    """What was called, what was accepted, and where they first differ, in colour and in words."""
    pairs, answer, accepted = cases.pair_calls(body), body["answer"], body["accepted"]
    if answer is None:
        st.warning(tr("case.calls.undecoded"), icon=":material/code_off:")
    elif not answer:
        st.caption(tr("case.calls.none"))
    if accepted is None:
        st.caption(tr("case.calls.any"))
    elif answer is not None and len(answer) != len(accepted):
        st.caption(tr("case.calls.count", answered=len(answer), accepted=len(accepted)))
    for number, pair in enumerate(pairs, 1):
        _draw_call_pair(pair, number, len(pairs), body)


def _draw_call_pair(pair: CallPair, number: int, total: int, body: Mapping[str, Any]) -> None:
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
    _draw_argument_table(lines, pair, body)
    if len(pair.lines) > len(lines):
        st.caption(tr("case.calls.more", count=len(pair.lines) - len(lines)))


def _draw_argument_table(
    lines: tuple[ArgumentComparison, ...], pair: CallPair, body: Mapping[str, Any]
) -> None:
    columns = {
        "argument": [format_cell(line.name) for line in lines],
        "mark": [_format_argument_mark(line) for line in lines],
        "answered": [
            _format_argument_value(line.value) if line.is_present else DASH for line in lines
        ],
        "accepted": [_format_accepted_values(line) for line in lines],
    }
    if body["answer"] is None or not pair.answered:
        columns = {name: columns[name] for name in ("argument", "accepted")}
    elif not pair.accepted:
        columns = {name: columns[name] for name in ("argument", "answered")}
    colours = [_COLOURS.get(line.mark, "") for line in lines]
    frame = pd.DataFrame(columns)
    config = {
        "argument": text_column("case.calls.argument", 110),
        "mark": text_column("case.calls.mark", 132),
        "answered": text_column("case.actual", "medium"),
        "accepted": text_column("case.calls.accepted_values", "large"),
    }
    draw_grid(
        frame.style.apply(lambda row: [colours[int(str(row.name))]] * len(row), axis=1),
        {name: config[name] for name in columns},
        tr("case.calls.alt", name=escape_markdown(pair.accepted or pair.answered)),
    )


def _format_argument_mark(line: ArgumentComparison) -> str:
    """The sign and the word of a mark; with the place, where the mismatch is inside the value."""
    if line.mark not in _MARK_SIGNS:
        return ""
    text = f"{_MARK_SIGNS[line.mark]} {tr(f'case.calls.mark.{line.mark}')}"
    return f"{text}: {'.'.join(line.mismatch_path)[:80]}" if line.mismatch_path else text


def _format_accepted_values(line: ArgumentComparison) -> str:
    """The accepted values, the leave to omit the argument last and in words."""
    alternatives = [_format_argument_value(v) for v in line.accepted if v != cases.OMITTED]
    if cases.OMITTED in line.accepted:
        alternatives.append(tr("case.calls.may_be_left_out"))
    return f"  {tr('case.calls.or')}  ".join(alternatives) or DASH


def _format_argument_value(value: Any) -> str:
    """A value as JSON: quotes tell the text "3" from the number 3."""
    text = to_json(value, ordered=False).decode()
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"
