"""Word documents (docx): paragraphs with styles, tables, headers, footers, notes, comments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.parsers import expat

from evalcore.benchmarks.gaia.attachments.paging import cut_by_lines
from evalcore.benchmarks.gaia.attachments.read_request import ReadRequest, Unreadable
from evalcore.benchmarks.gaia.attachments.readers.archives import check_office_file, open_archive

if TYPE_CHECKING:
    from docx.document import Document
    from docx.table import Table
    from docx.text.paragraph import Paragraph

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
