"""Workbooks (xlsx): values, formulas with what they last gave, colours, hidden and merged cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from typing import Any

from evalcore.benchmarks.gaia.attachments.read_request import ReadRequest, Unreadable
from evalcore.benchmarks.gaia.attachments.readers.archives import check_office_file
from evalcore.benchmarks.gaia.attachments.readers.colours import (
    format_cell_fill,
    format_font_colour,
    read_theme_colours,
)

_RANGE = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})(?::\$?([A-Za-z]{1,3})\$?([0-9]{1,7}))?")
_NOTE_CHARS = 300
_MAX_LISTED = 40  # sheets, merged ranges, hidden rows and columns that are named
_CellRange = tuple[int, int, int, int]  # first column, first row, last column, last row


def read_xlsx(content: bytes, request: ReadRequest) -> str:
    """The cells of a sheet or of all, a line a row, within `request.range` where it is given."""
    box = _parse_cell_range(request.range)
    book = _load_book(content, values=False)
    names = [sheet.title for sheet in book.worksheets]
    if request.sheet and request.sheet not in names:
        available = ", ".join(f'"{name}"' for name in names[:_MAX_LISTED])
        raise Unreadable(f'no sheet "{request.sheet[:80]}" here; there are: {available}')
    chosen = [sheet for sheet in book.worksheets if request.sheet in ("", sheet.title)]
    # A workbook is loaded for its formulas or for what they last gave, not for both.
    formulas = any(cell.data_type == "f" for sheet in chosen for cell in sheet._cells.values())
    values = _load_book(content, values=True) if formulas else None
    theme = read_theme_colours(book)
    head = (
        f"[xlsx; {len(names)} sheets: "
        f"{', '.join(map(_describe_sheet, book.worksheets[:_MAX_LISTED]))}]"
    )
    lines = (
        (sheet.title, row, line)
        for sheet in chosen
        for row, line in _iter_row_lines(sheet, values[sheet.title] if values else None, theme, box)
    )
    return _fit_sheet_lines(head, lines, request.limit)


def _fit_sheet_lines(head: str, lines: Iterable[tuple[str, int, str]], limit: int) -> str:
    """As many of the lines (sheet, row, text) as there is room for, and where to read on."""
    parts = [head]
    room = max(limit - len(head) - _NOTE_CHARS, _NOTE_CHARS)
    for sheet, row, line in lines:
        if len(line) > room:
            first = max(row, 1)
            parts += [
                line[:room],
                f'[cut in row {first} of sheet "{sheet}"; read on with "sheet" and with a "range" '
                f"of cells from there, like A{first}:D{first + 20}]",
            ]
            break
        parts.append(line)
        room -= len(line) + 1
    return "\n".join(parts)


def _load_book(content: bytes, *, values: bool) -> Any:
    from openpyxl import load_workbook

    return load_workbook(check_office_file(content), data_only=values, keep_links=False)


def _parse_cell_range(text: str) -> _CellRange | None:
    from openpyxl.utils import column_index_from_string

    if not text.strip():
        return None
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        raise Unreadable(f'the argument "range" must look like A1:D20 here, not "{text[:40]}"')
    left, top = column_index_from_string(match[1].upper()), int(match[2])
    right = column_index_from_string((match[3] or match[1]).upper())
    bottom = int(match[4] or match[2])
    return min(left, right), min(top, bottom), max(left, right), max(top, bottom)


def _describe_sheet(sheet: Any) -> str:
    hidden = "" if sheet.sheet_state == "visible" else f" ({sheet.sheet_state})"
    size = sheet.calculate_dimension() if sheet._cells else "empty"
    return f'"{sheet.title}" {size}{hidden}'


def _format_sheet_heading(sheet: Any) -> str:
    facts = {
        "merged": [str(area) for area in sheet.merged_cells.ranges],
        "hidden rows": [str(n) for n, row in sorted(sheet.row_dimensions.items()) if row.hidden],
        "hidden columns": [
            name for name, column in sorted(sheet.column_dimensions.items()) if column.hidden
        ],
        "charts": [str(len(sheet._charts))] if sheet._charts else [],
        "pictures": [str(len(sheet._images))] if sheet._images else [],
    }
    fact_texts = [
        f"{name}: {', '.join(items[:_MAX_LISTED])}" for name, items in facts.items() if items
    ]
    return "; ".join((f"Sheet {_describe_sheet(sheet)}", *fact_texts))


def _iter_row_lines(
    sheet: Any, values: Any, theme: Sequence[str], box: _CellRange | None
) -> Iterator[tuple[int, str]]:
    """Number and text of each row that holds something, after a heading of number 0.

    Only cells that the file has are looked at: a sheet of a million empty rows costs nothing.
    """
    yield 0, _format_sheet_heading(sheet)
    row = 0
    texts: list[str] = []
    for number, column in sorted(sheet._cells):
        if box and not (box[0] <= column <= box[2] and box[1] <= number <= box[3]):
            continue
        text = _format_cell(sheet._cells[number, column], values, theme)
        if number != row and texts:
            yield row, " | ".join(texts)
            texts = []
        row = number
        if text:
            texts.append(text)
    if texts:
        yield row, " | ".join(texts)


def _format_cell(cell: Any, values: Any, theme: Sequence[str]) -> str:
    """`B2: 12.5 [=SUM(B3:B9)] [fill #FF0000]`, "" for a cell without content and fill."""
    parts = []
    formula = cell.value if cell.data_type == "f" else None
    if formula is not None:
        last = values._cells.get((cell.row, cell.column))
        shown = None if last is None else last.value
        parts.append("(never calculated)" if shown is None else _format_cell_value(shown))
        parts.append(f"[{_format_formula(formula)}]")
    elif cell.value is not None:
        parts.append(_format_cell_value(cell.value))
    if fill := format_cell_fill(cell, theme) if cell.has_style else "":
        parts.append(f"[fill {fill}]")
    if parts and (font := format_font_colour(cell, theme) if cell.has_style else ""):
        parts.append(f"[font {font}]" if cell.value is not None else "")
    if getattr(cell, "comment", None):
        parts.append(f"[comment: {_format_cell_value(cell.comment.text)}]")
    if getattr(cell, "hyperlink", None) and cell.hyperlink.target:
        parts.append(f"[link: {cell.hyperlink.target}]")
    return f"{cell.coordinate}: {' '.join(filter(None, parts))}" if parts else ""


def _format_formula(value: Any) -> str:
    """The text of a plain formula, of an array formula, or the range of a data table."""
    return str(getattr(value, "text", None) or getattr(value, "ref", None) or value)


def _format_cell_value(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime):
        midnight = value.time() == datetime.min.time()
        return value.date().isoformat() if midnight else value.isoformat(" ", "seconds")
    if isinstance(value, date):
        return value.isoformat()
    return str(value).replace("\r", "").replace("\n", "\\n")
