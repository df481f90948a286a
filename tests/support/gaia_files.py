"""Attachments of every kind, made when a test needs them; and their broken and hostile kin."""

from __future__ import annotations

import io
import json
import sqlite3
import struct
import wave
import zipfile
import zlib
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any


def xlsx() -> bytes:
    """Two sheets, one hidden: colours of every sort, formulas, merged and hidden cells, a date."""
    from datetime import datetime

    from openpyxl import Workbook
    from openpyxl.styles import Font, PatternFill
    from openpyxl.styles.colors import Color

    book = Workbook()
    sheet = book.active
    sheet.title = "Prices"
    sheet.append(["Item", "Price", "Since"])
    sheet.append(["Lamp", 12.5, datetime(2024, 2, 29)])
    sheet.append(["Desk", 100, datetime(2024, 3, 1, 8, 30)])
    sheet.append(["Total", "=SUM(B2:B3)", True])
    sheet["A2"].fill = PatternFill("solid", fgColor="FF00FF00")
    sheet["A3"].fill = PatternFill("solid", fgColor=Color(theme=4))
    sheet["B3"].fill = PatternFill("solid", fgColor=Color(theme=4, tint=-0.5))
    sheet["C3"].fill = PatternFill("solid", fgColor=Color(indexed=10))
    sheet["D9"].fill = PatternFill("solid", fgColor="FF0000FF")
    sheet["A4"].font = Font(color="FFFF0000")
    sheet.merge_cells("A6:C6")
    sheet.row_dimensions[3].hidden = True
    sheet.column_dimensions["C"].hidden = True
    other = book.create_sheet("Notes")
    other["A1"] = "two\nlines"
    other.sheet_state = "hidden"
    return _saved(book.save)


def xlsx_with_cached(value: str) -> bytes:
    """A workbook whose only formula has a stored result, as office programs write it."""
    source = zipfile.ZipFile(io.BytesIO(xlsx()))
    parts = {name: source.read(name) for name in source.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"]
    parts["xl/worksheets/sheet1.xml"] = sheet.replace(
        b"<f>SUM(B2:B3)</f><v></v>", f"<f>SUM(B2:B3)</f><v>{value}</v>".encode()
    ).replace(b"<f>SUM(B2:B3)</f><v />", f"<f>SUM(B2:B3)</f><v>{value}</v>".encode())
    return zipped(parts)


def docx() -> bytes:
    """Headings, a list, a table with a merged cell, header and footer."""
    from docx import Document

    document = Document()
    document.add_heading("Report", 1)
    document.add_paragraph("A plain sentence.")
    document.add_paragraph("First point", style="List Bullet")
    table = document.add_table(2, 3)
    for number, cell in enumerate(table.rows[0].cells):
        cell.text = f"h{number}"
    table.cell(1, 0).merge(table.cell(1, 1)).text = "wide"
    table.cell(1, 2).text = "x\ny"
    document.sections[0].header.paragraphs[0].text = "Confidential"
    document.sections[0].footer.paragraphs[0].text = "Page 1"
    return _saved(document.save)


def pptx(slides: int = 2) -> bytes:
    """Slides with a title, a group, a table, a chart and notes on the first."""
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    show = Presentation()
    for number in range(1, slides + 1):
        slide = show.slides.add_slide(show.slide_layouts[5])
        slide.shapes.title.text = f"Slide {number}"
    first = show.slides[0]
    group = first.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, 99, 99).text_frame.text = "inside a group"
    table = first.shapes.add_table(1, 2, 0, 0, 99, 99).table
    table.cell(0, 0).text, table.cell(0, 1).text = "left", "right"
    data = CategoryChartData()
    data.categories = ["2023", "2024"]
    data.add_series("Sales", (3, 4))
    size = [Inches(1)] * 4
    first.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *size, data)
    first.notes_slide.notes_text_frame.text = "say hello"
    return _saved(show.save)


def pdf(pages: tuple[str, ...] = ("First page", "", "Third page"), title: str = "A title") -> bytes:
    """Pages with one line of text each, or none; written by hand, with a table of positions."""
    kids = " ".join(f"{5 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) >>",
    ]
    for number, text in enumerate(pages):
        shown = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET" if text else ""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents {6 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream")
    out = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    end += f"trailer << /Root 1 0 R /Info 4 0 R /Size {len(objects) + 1} >>\n"
    return out + f"{end}startxref\n{len(out)}\n%%EOF\n".encode()


def png(size: tuple[int, int] = (3, 2), text: str = "a comment") -> bytes:
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    info = PngInfo()
    info.add_text("Comment", text)
    picture = Image.new("RGB", size, "red")
    return _saved(lambda file: picture.save(file, "PNG", pnginfo=info))


def picture(form: str) -> bytes:
    from PIL import Image

    made = Image.new("RGB", (4, 3), "blue")
    return _saved(lambda file: made.save(file, form))


def wav(seconds: float = 0.5, rate: int = 8000) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(2)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes(b"\0\0\0\0" * int(seconds * rate))
    return file.getvalue()


def sqlite(rows: int = 3) -> bytes:
    """Two tables, in the format of a write-ahead log as programs leave it behind."""
    database = sqlite3.connect(":memory:")
    database.executescript(
        'CREATE TABLE people (name TEXT, age INT); CREATE TABLE "odd "" name" (x)'
    )
    database.executemany("INSERT INTO people VALUES (?, ?)", [(f"p{n}", n) for n in range(rows)])
    database.execute('INSERT INTO "odd "" name" VALUES (x\'0102\')')
    database.commit()
    content = database.serialize()
    return content[:18] + b"\x02\x02" + content[20:]


def zipped(parts: Mapping[str, bytes]) -> bytes:
    return _saved(lambda file: _zip(file, parts))


def archive() -> bytes:
    inner = zipped({"deep.txt": b"found deep"})
    return zipped({"inner/table.csv": b"a,b\n1,2\n", "inner/more.zip": inner, "x.xlsx": xlsx()})


#: A file of every kind with a text that its reading must show.
KINDS: Mapping[str, tuple[Callable[[], bytes], str]] = {
    "a.xlsx": (xlsx, "A2: Lamp [fill #00FF00]"),
    "a.xlsm": (xlsx, "A2: Lamp [fill #00FF00]"),
    "a.csv": (lambda: b"a,b\n1,2\n", "2 rows (with the header), 2 columns"),
    "a.tsv": (lambda: b"a\tb\n1\t2\n", "delimiter tab"),
    "a.json": (lambda: b'{"key": [1, 2]}', '{"key": [1, 2]}'),
    "a.jsonld": (lambda: b'{"@id": "x"}', "@id"),
    "a.jsonl": (lambda: b'{"a": 1}\n{"a": 2}\n', "2 lines"),
    "a.xml": (lambda: b"<a><b>text</b></a>", "<b>text</b>"),
    "a.html": (lambda: b"<h1>Head</h1><p>Body", "# Head"),
    "a.zip": (archive, "inner/table.csv  8 bytes"),
    "a.docx": (docx, "[Heading 1] Report"),
    "a.pptx": (pptx, "Title: Slide 1"),
    "a.pdf": (pdf, "Third page"),
    "a.png": (png, "3 x 2 pixels"),
    "a.jpg": (lambda: picture("JPEG"), "format JPEG, 4 x 3 pixels"),
    "a.gif": (lambda: picture("GIF"), "format GIF"),
    "a.webp": (lambda: picture("WEBP"), "format WEBP"),
    "a.bmp": (lambda: picture("BMP"), "format BMP"),
    "a.tiff": (lambda: picture("TIFF"), "format TIFF"),
    "a.wav": (wav, "0.500 seconds, 2 channels, 8000 Hz, 16 bits"),
    "a.sqlite": (sqlite, "Table people (name, age), 3 rows"),
    "a.txt": (lambda: "Grüße".encode(), "Grüße"),
    "a.md": (lambda: b"# title", "# title"),
    "a.py": (lambda: b"print(1)", "print(1)"),
    "a.pdb": (lambda: b"ATOM      1  N   MET A   1", "MET A"),
    "a.unknown": (lambda: b"only text", "only text"),
    "a.bin": (lambda: b"\x00\x01\xff", "00 01 ff"),
    "no_ending": (pdf, "Third page"),
}
#: Kinds that are honestly refused.
REFUSED: Mapping[str, bytes] = {
    "a.xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
    "a.mp3": b"ID3\x04" + bytes(300),
    "a.m4a": bytes(4) + b"ftypM4A " + bytes(300),
    "a.mov": bytes(500),
}


def zip_bomb(size: int, name: str = "bomb.txt") -> bytes:
    """One member of `size` zero bytes."""
    return zipped({name: bytes(size)})


def lying_zip(size: int) -> bytes:
    """A member that declares one byte and unpacks to `size`."""
    content = bytearray(zip_bomb(size))
    match = content.find(b"PK\x01\x02")
    content[match + 24 : match + 28] = struct.pack("<I", 1)
    content[22:26] = struct.pack("<I", 1)
    return bytes(content)


def linked_zip() -> bytes:
    """A member that is a symbolic link."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        link = zipfile.ZipInfo("link.txt")
        link.external_attr = 0o120777 << 16
        out.writestr(link, "/etc/passwd")
    return file.getvalue()


def office_part(make: Callable[[], bytes], name: str, content: bytes) -> bytes:
    """An office file with one part replaced."""
    source = zipfile.ZipFile(io.BytesIO(make()))
    parts = {part: source.read(part) for part in source.namelist()}
    parts[name] = content
    return zipped(parts)


def laughs(root: bytes) -> bytes:
    """An XML document whose entities expand to a thousand million letters."""
    names = [b"e%d" % n for n in range(10)]
    entities = b'<!ENTITY e0 "hahahahaha">' + b"".join(
        b'<!ENTITY %s "%s">' % (name, b"&%s;" % before * 10) for before, name in pairwise(names)
    )
    return b'<?xml version="1.0"?><!DOCTYPE r [%s]><%s>&e9;</%s>' % (entities, root, root)


def huge_png() -> bytes:
    """A picture that says it has 60000 x 60000 pixels, and holds almost nothing."""
    parts = [(b"IHDR", struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)), (b"IDAT", b"x\x9c")]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in (*parts, (b"IEND", b""))
    )
    return b"\x89PNG\r\n\x1a\n" + body


def deep_json(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def long_json(items: int) -> bytes:
    return json.dumps(list(range(items))).encode()


def _zip(file: Any, parts: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in parts.items():
            out.writestr(name, content)


def _saved(save: Callable[[Any], Any]) -> bytes:
    file = io.BytesIO()
    save(file)
    return file.getvalue()
