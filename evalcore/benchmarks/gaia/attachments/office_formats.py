"""Readers for office formats: workbooks (xlsx), documents (docx) and presentations (pptx). They run
in the locked-down process only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from colorsys import hls_to_rgb, rgb_to_hls
from datetime import date, datetime
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from evalcore.benchmarks.gaia.attachments.binary_formats import check_office_file, open_archive
from evalcore.benchmarks.gaia.attachments.read_request import (
    ReadRequest,
    Unreadable,
    cut_by_lines,
    cut_by_pages,
)

if TYPE_CHECKING:
    from docx.document import Document
    from docx.table import Table
    from docx.text.paragraph import Paragraph

# The theme's order and the tint's formula are those of ECMA-376 part 1, 18.8.3 and 18.8.19.

_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
#: The theme lists dark before light, its numbers count light before dark.
_SWAPPED = {0: 1, 1: 0, 2: 3, 3: 2}
_SYSTEM_COLOURS = 64  # indexes from here on are the window's own colours


def read_theme_colours(book: Any) -> tuple[str, ...]:
    """The colours of a workbook's theme in the order of the file, () where it has none."""
    from openpyxl.xml.functions import fromstring

    if not book.loaded_theme:
        return ()
    scheme = fromstring(book.loaded_theme).find(f".//{_DRAWING}clrScheme")
    if scheme is None:
        return ()
    return tuple(
        str(colour.get("lastClr") or colour.get("val") or "")[-6:].upper()
        for slot in scheme
        for colour in list(slot)[:1]
    )


def format_cell_fill(cell: Any, theme: Sequence[str]) -> str:
    """What a cell is filled with, as #RRGGBB (two of them for a gradient), "" for nothing."""
    fill = cell.fill
    stops = getattr(fill, "stop", None)
    if stops:
        return " to ".join(filter(None, (_format_colour(stop.color, theme) for stop in stops)))
    if getattr(fill, "fill_type", None) is None:
        return ""
    colour = _format_colour(fill.fgColor, theme)
    return colour if fill.fill_type == "solid" else f"{fill.fill_type} {colour}".strip()


def format_font_colour(cell: Any, theme: Sequence[str]) -> str:
    """The colour of a cell's text as #RRGGBB, "" where it is black or none is set."""
    colour = _format_colour(cell.font.color, theme) if cell.font and cell.font.color else ""
    return "" if colour == "#000000" else colour


def _format_colour(colour: Any, theme: Sequence[str]) -> str:
    from openpyxl.styles.colors import COLOR_INDEX

    if colour.type == "rgb" and isinstance(colour.rgb, str):
        return f"#{colour.rgb[-6:].upper()}"
    if colour.type == "indexed" and 0 <= colour.indexed < min(_SYSTEM_COLOURS, len(COLOR_INDEX)):
        return f"#{COLOR_INDEX[colour.indexed][-6:].upper()}"
    if colour.type == "theme":
        number = _SWAPPED.get(colour.theme, colour.theme)
        if 0 <= number < len(theme) and len(theme[number]) == 6:
            return f"#{_apply_tint(theme[number], float(colour.tint or 0.0))}"
    return ""


def _apply_tint(digits: str, tint: float) -> str:
    """A colour made darker (tint below 0) or lighter by its lightness."""
    red, green, blue = (int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))
    hue, light, saturation = rgb_to_hls(red, green, blue)
    light = light * (1 + tint) if tint < 0 else light * (1 - tint) + tint
    parts = hls_to_rgb(hue, min(max(light, 0.0), 1.0), saturation)
    return "".join(f"{round(part * 255):02X}" for part in parts)


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
    """Number and text of each row that holds something, after a heading of number 0. Only cells
    that the file has are looked at: a sheet of a million empty rows costs nothing."""
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


_PLAIN_STYLES = ("Normal", "Default Paragraph Font", "")
#: Parts that the library does not read, with the name of what they hold.
_NOTES = {
    "word/footnotes.xml": "Footnote",
    "word/endnotes.xml": "Endnote",
    "word/comments.xml": "Comment",
}


def read_docx(content: bytes, request: ReadRequest) -> str:
    """A line a paragraph or row of a table, in the document's order."""
    from docx import Document

    document = Document(check_office_file(content))
    lines = [*_iter_header_lines(document), *_iter_body_lines(document), *_iter_note_lines(content)]
    pictures = len(document.inline_shapes)
    head = f"docx; {len(document.paragraphs)} paragraphs, {len(document.tables)} tables"
    return cut_by_lines(head + (f", {pictures} pictures" if pictures else ""), lines, request)


def _iter_header_lines(document: Document) -> Iterator[str]:
    """Headers and footers, each once. One that is linked to the section before is left alone:
    asking for its content would create it."""
    seen = set()
    for section in document.sections:
        for name, part in (("Header", section.header), ("Footer", section.footer)):
            if part.is_linked_to_previous:
                continue
            text = " / ".join(p.text for p in part.paragraphs if p.text.strip())
            if text and (name, text) not in seen:
                seen.add((name, text))
                yield f"{name}: {text}"


def _iter_body_lines(document: Document) -> Iterator[str]:
    from docx.table import Table

    for block in document.iter_inner_content():
        if isinstance(block, Table):
            yield from _iter_docx_table(block)
        else:
            yield from _iter_paragraph_lines(block)


def _iter_paragraph_lines(paragraph: Paragraph) -> Iterator[str]:
    name = paragraph.style.name or "" if paragraph.style is not None else ""
    if paragraph.text.strip():
        yield ("" if name in _PLAIN_STYLES else f"[{name}] ") + paragraph.text


def _iter_docx_table(table: Table) -> Iterator[str]:
    """Rows between bars; a cell that spans columns is shown once."""
    for row in table.rows:
        cells: list[str] = []
        before = None
        for cell in row.cells:
            if cell._tc is not before:
                cells.append(cell.text.replace("\n", " / "))
            before = cell._tc
        yield f"| {' | '.join(cells)} |"


def _iter_note_lines(content: bytes) -> Iterator[str]:
    archive = open_archive(content)
    for path, name in _NOTES.items():
        if path in archive.namelist():
            for text in _parse_paragraph_texts(archive.read(path)):
                yield f"{name}: {text}"


def _parse_paragraph_texts(xml: bytes) -> list[str]:
    """The text of each paragraph in a part of the document."""
    texts: list[str] = []
    inside = False

    def handle_start(name: str, _: dict[str, str]) -> None:
        nonlocal inside
        inside = name == "w:t"
        if name == "w:p":
            texts.append("")

    def handle_end(_: str) -> None:
        nonlocal inside
        inside = False

    def handle_data(text: str) -> None:
        if inside and texts:
            texts[-1] += text

    def reject_entity(*_: object) -> None:
        raise Unreadable("the document declares entities, which are not expanded")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = handle_start, handle_end
    parser.CharacterDataHandler, parser.EntityDeclHandler = handle_data, reject_entity
    parser.Parse(xml, True)
    return [text.strip() for text in texts if text.strip()]


_DEEPEST = 10  # groups within groups


def read_pptx(content: bytes, request: ReadRequest) -> str:
    from pptx import Presentation

    slides = list(Presentation(check_office_file(content)).slides)

    def render_slide(number: int) -> str:
        return "\n".join(_iter_slide_lines(slides[number - 1])) or "(nothing to read on this slide)"

    return cut_by_pages(f"pptx; {len(slides)} slides", render_slide, len(slides), "slide", request)


def _iter_slide_lines(slide: Any) -> Iterator[str]:
    if slide.element.get("show") == "0":
        yield "(this slide is hidden)"
    title = slide.shapes.title
    yield from _iter_shape_lines(slide.shapes, None if title is None else title.shape_id)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.strip()
        if notes:
            yield f"Notes: {notes}"


def _iter_shape_lines(shapes: Iterable[Any], title: int | None, depth: int = 0) -> Iterator[str]:
    for shape in shapes:
        if hasattr(shape, "shapes"):
            if depth < _DEEPEST:
                yield from _iter_shape_lines(shape.shapes, title, depth + 1)
        elif getattr(shape, "has_table", False):
            for row in shape.table.rows:
                cells = (cell.text.replace("\n", " / ") for cell in row.cells)
                yield f"| {' | '.join(cells)} |"
        elif getattr(shape, "has_chart", False):
            yield from _iter_chart_lines(shape.chart)
        elif hasattr(shape, "image"):
            descriptions = shape.element.xpath(".//p:cNvPr/@descr")
            yield f'[picture "{shape.name}"{": " + descriptions[0] if descriptions else ""}]'
        elif shape.has_text_frame and shape.text_frame.text.strip():
            mark = "Title: " if shape.shape_id == title else ""
            yield mark + shape.text_frame.text.strip().replace("\v", "\n")


def _iter_chart_lines(chart: Any) -> Iterator[str]:
    for plot in chart.plots:
        for series in plot.series:
            pairs = zip(plot.categories, series.values, strict=False)
            values = "; ".join(f"{category}: {value}" for category, value in pairs)
            yield f'[chart, series "{series.name}": {values}]'
