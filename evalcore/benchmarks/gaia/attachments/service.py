"""The service of the locked process: one file's bytes in, its text out.

After the process is locked nothing can be imported any more, so `open_readers` makes a file of
every kind and reads it once: whatever the libraries load late is then there.
"""

from __future__ import annotations

import base64
import codecs
import csv
import encodings
import logging
import pkgutil
import sqlite3
import warnings
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import PurePosixPath
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import msgspec

from evalcore.benchmarks.gaia.attachments.binary_formats import (
    list_zip_members,
    read_pdf,
    read_picture,
    read_sqlite,
    read_wav,
    read_zip,
    read_zip_member,
)
from evalcore.benchmarks.gaia.attachments.office_formats import read_docx, read_pptx, read_xlsx
from evalcore.benchmarks.gaia.attachments.read_request import (
    ReadRequest,
    Unreadable,
    detect_file_kind,
    sanitize_text,
)
from evalcore.benchmarks.gaia.attachments.text_formats import (
    read_csv,
    read_html,
    read_json,
    read_json_lines,
    read_text,
    read_xml,
)

# A small file of every kind that a library reads, made in memory. Reading them once loads what the
# libraries load late, so that nothing is missing behind the lock.


_PICTURE_FORMS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")


def build_sample_files() -> dict[str, bytes]:
    """Contents by name."""
    text = b"a,b\n1,2\n"
    page = b"<html><body><h1>a</h1><table><tr><td>b</td></tr></table></body></html>"
    return {
        "a.xlsx": _build_xlsx(),
        "a.docx": _build_docx(),
        "a.pptx": _build_pptx(),
        "a.pdf": _build_pdf(),
        **{f"a.{form.lower()}": _build_picture(form) for form in _PICTURE_FORMS},
        "a.sqlite": _build_sqlite(),
        "a.zip": _build_zip(text),
        "a.csv": text,
        "a.json": b'{"a": [1, 2.5, null]}',
        "a.xml": b'<?xml version="1.0" encoding="windows-1252"?><a b="c">d</a>',
        "a.html": page,
        "a.txt": "plain \u00e9".encode(),
        "a.bin": b"\x00\x01",
    }


def _save_to_bytes(save: Callable[[BytesIO], object]) -> bytes:
    buffer = BytesIO()
    save(buffer)
    return buffer.getvalue()


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
    return _save_to_bytes(book.save)


def _build_docx() -> bytes:
    from docx import Document

    document = Document()
    document.add_heading("a", 1)
    document.add_table(1, 2).cell(0, 0).text = "b"
    document.sections[0].header.paragraphs[0].text = "c"
    document.add_picture(BytesIO(_build_picture("PNG")))
    return _save_to_bytes(document.save)


def _build_pptx() -> bytes:
    from pptx import Presentation

    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "a"
    slide.shapes.add_table(1, 1, 0, 0, 9, 9).table.cell(0, 0).text = "b"
    slide.shapes.add_picture(BytesIO(_build_picture("PNG")), 0, 0)
    slide.notes_slide.notes_text_frame.text = "c"
    return _save_to_bytes(presentation.save)


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


Reader = Callable[[bytes, ReadRequest], str]


def _build_refusing_reader(reason: str) -> Reader:
    def refuse_file(content: bytes, request: ReadRequest) -> str:
        raise Unreadable(f"{reason}; {len(content)} bytes")

    return refuse_file


READERS: Mapping[str, Reader] = {
    "xlsx": read_xlsx,
    "csv": read_csv,
    "json": read_json,
    "lines of json": read_json_lines,
    "xml": read_xml,
    "html": read_html,
    "zip": read_zip,
    "docx": read_docx,
    "pptx": read_pptx,
    "pdf": read_pdf,
    "image": read_picture,
    "wav": read_wav,
    "sqlite": read_sqlite,
    "text": read_text,
    "": read_text,
    "audio": _build_refusing_reader("this sound cannot be read"),
    "video": _build_refusing_reader("a film cannot be read"),
    "old office": _build_refusing_reader("the old binary format of office files cannot be read"),
}
_LONGEST_ERROR = 300
_FIELD_LIMIT = 10_000_000


def open_readers(options: Mapping[str, Any]) -> Readers:
    """The service, with all that it will ever need loaded."""
    warnings.simplefilter("ignore")
    logging.disable()
    csv.field_size_limit(_FIELD_LIMIT)
    for _, name, _ in pkgutil.iter_modules(encodings.__path__):
        try:
            codecs.lookup(name)
        except (LookupError, ImportError):  # no encoding, or one of another platform
            continue
    service = Readers()
    for name, content in build_sample_files().items():
        READERS[detect_file_kind(name, content[:16])](content, ReadRequest(name=name))
    return service


class Readers:
    """Requests are {"op", "content"} with the fields of `ReadRequest` and, for a part of an
    archive, {"member"}; op is "read" or "members". Replies: {"text"}, {"members"}, or {"error"} for
    what a file holds or a model asked for."""

    def __init__(self) -> None:
        self.about: dict[str, Any] = {"kinds": sorted(filter(None, READERS))}

    def __call__(self, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            content = base64.b64decode(request.get("content", ""))
            if request.get("op") == "members":
                members = list_zip_members(content)
                return {"members": [[sanitize_text(name), size] for name, size in members]}
            read_request = msgspec.convert(dict(request), ReadRequest)
            name = read_request.name
            if request.get("member"):
                name, content = read_zip_member(content, request["member"])
            reader = READERS[detect_file_kind(PurePosixPath(name).name, content[:16])]
            return {"text": sanitize_text(reader(content, read_request))}
        except MemoryError:
            raise
        except Unreadable as error:
            return {"error": sanitize_text(str(error))}
        except Exception as error:  # what a library raises for a broken or hostile file
            description = f"{type(error).__name__}: {error}"[:_LONGEST_ERROR]
            problem = f"the file is broken or of another kind ({description})"
            return {"error": sanitize_text(problem)}
