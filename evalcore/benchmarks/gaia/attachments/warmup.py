"""A small file of every kind that a library reads, made in memory.

Reading them once loads what the libraries load late, so that nothing is missing behind the lock.
"""

from __future__ import annotations

import sqlite3
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile


def build_sample_files() -> dict[str, bytes]:
    """Contents by name."""
    text = b"a,b\n1,2\n"
    page = b"<html><body><h1>a</h1><table><tr><td>b</td></tr></table></body></html>"
    return {
        "a.xlsx": _build_xlsx(),
        "a.docx": _build_docx(),
        "a.pptx": _build_pptx(),
        "a.pdf": _build_pdf(),
        **{
            f"a.{name.lower()}": _build_picture(name)
            for name in ("PNG", "JPEG", "GIF", "WEBP", "BMP")
        },
        "a.sqlite": _build_sqlite(),
        "a.zip": _build_zip(text),
        "a.csv": text,
        "a.json": b'{"a": [1, 2.5, null]}',
        "a.xml": b'<?xml version="1.0" encoding="windows-1252"?><a b="c">d</a>',
        "a.html": page,
        "a.txt": "plain \u00e9".encode(),
        "a.bin": b"\x00\x01",
    }


def _build_xlsx() -> bytes:
    from datetime import datetime

    from openpyxl import Workbook
    from openpyxl.comments import Comment
    from openpyxl.styles import Font, PatternFill

    book = Workbook()
    sheet = book.active
    sheet.append(["a", 1.5, True, datetime(2020, 1, 1), "=SUM(B1:B1)"])
    sheet["A1"].fill = PatternFill("solid", fgColor="FF0000")
    sheet["A1"].font = Font(color="00FF00")
    sheet["A1"].comment = Comment("a", "b")
    sheet["A1"].hyperlink = "https://example.org/"
    sheet.merge_cells("A2:B2")
    buffer = BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def _build_docx() -> bytes:
    from docx import Document

    document = Document()
    document.add_heading("a", 1)
    document.add_table(1, 2).cell(0, 0).text = "b"
    document.sections[0].header.paragraphs[0].text = "c"
    document.add_picture(BytesIO(_build_picture("PNG")))
    buffer = BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def _build_pptx() -> bytes:
    from pptx import Presentation

    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "a"
    slide.shapes.add_table(1, 1, 0, 0, 9, 9).table.cell(0, 0).text = "b"
    slide.shapes.add_picture(BytesIO(_build_picture("PNG")), 0, 0)
    slide.notes_slide.notes_text_frame.text = "c"
    buffer = BytesIO()
    presentation.save(buffer)
    return buffer.getvalue()


def _build_pdf() -> bytes:
    """One page with one word; its table of positions is left out, which readers mend."""
    stream = b"BT /F1 12 Tf 10 10 Td (a) Tj ET"
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % pair for pair in enumerate(objects, 1))
    return b"%PDF-1.4\n" + body + b"trailer << /Root 1 0 R /Size 6 >>\nstartxref\n0\n%%EOF\n"


def _build_picture(form: str) -> bytes:
    from PIL import Image

    Image.preinit()
    Image.init()
    buffer = BytesIO()
    picture = Image.new("P" if form == "GIF" else "RGB", (2, 2))
    exif = picture.getexif()
    exif[0x010E] = "a"
    picture.save(buffer, form, **({"exif": exif} if form in ("JPEG", "PNG", "WEBP") else {}))
    return buffer.getvalue()


def _build_sqlite() -> bytes:
    database = sqlite3.connect(":memory:")
    database.executescript("CREATE TABLE a (b TEXT); INSERT INTO a VALUES ('c')")
    content = database.serialize()
    database.close()
    return content


def _build_zip(content: bytes) -> bytes:
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        archive.writestr("b.csv", content)
    return buffer.getvalue()
