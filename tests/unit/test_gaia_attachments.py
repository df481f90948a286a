"""What the readers show of every kind of attachment, from behind the lock."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from evalcore.benchmarks.gaia.attachments import (
    ReadRequest,
    Unreadable,
    list_archive_members,
    read_attachment_bytes,
    read_attachment_text,
    read_content,
    to_data_url,
)
from evalcore.benchmarks.gaia.attachments.read_request import detect_file_kind, parse_number_span
from evalcore.errors import EnvironmentFailure
from tests.support import gaia_files as made


def shown(name: str, content: bytes, **asked: object) -> str:
    return read_content(content, ReadRequest(name=name, **asked))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", made.KINDS)
def test_every_kind_is_read_behind_the_lock(name: str) -> None:
    make, expected = made.KINDS[name]
    text = shown(name, make())
    assert expected in text
    assert "refused in this process" not in text


@pytest.mark.parametrize("name", made.REFUSED)
def test_what_cannot_be_read_is_said(name: str) -> None:
    with pytest.raises(Unreadable, match=r"cannot be read; \d+ bytes"):
        shown(name, made.REFUSED[name])


def test_a_workbook_shows_what_a_person_sees() -> None:
    text = shown("a.xlsx", made.xlsx())
    for expected in (
        '[xlsx; 2 sheets: "Prices" A1:D9, "Notes" A1:A1 (hidden)]',
        "merged: A6:C6; hidden rows: 3; hidden columns: C",
        "B2: 12.5 | C2: 2024-02-29",
        "A3: Desk [fill #4F81BD] | B3: 100 [fill #254061]",
        "C3: 2024-03-01 08:30:00 [fill #FF0000]",
        "A4: Total [font #FF0000] | B4: (never calculated) [=SUM(B2:B3)] | C4: TRUE",
        "D9: [fill #0000FF]",
        "A1: two\\nlines",
    ):
        assert expected in text


def test_a_formula_is_shown_with_its_last_result() -> None:
    assert "B4: 112.5 [=SUM(B2:B3)]" in shown("a.xlsx", made.xlsx_with_cached("112.5"))


def test_a_sheet_and_a_range_of_cells() -> None:
    content = made.xlsx()
    text = shown("a.xlsx", content, sheet="Prices", range="A2:B3")
    assert "A2: Lamp" in text
    assert "C2" not in text
    assert "A1: Item" not in text
    assert shown("a.xlsx", content, range="$b$3:a2") == shown("a.xlsx", content, range="A2:B3")
    with pytest.raises(Unreadable, match='no sheet "None" here; there are: "Prices", "Notes"'):
        shown("a.xlsx", content, sheet="None")
    with pytest.raises(Unreadable, match="must look like A1:D20"):
        shown("a.xlsx", content, range="first row")


def test_a_long_workbook_is_cut_at_a_row() -> None:
    text = shown("a.xlsx", made.xlsx(), limit=450)
    assert 'read on with "sheet"' in text
    assert len(text) < 1000


def test_a_document_is_shown_in_its_order() -> None:
    lines = shown("a.docx", made.docx()).splitlines()
    assert lines == [
        "[docx; 3 paragraphs, 1 tables]",
        "Header: Confidential",
        "Footer: Page 1",
        "[Heading 1] Report",
        "A plain sentence.",
        "[List Bullet] First point",
        "| h0 | h1 | h2 |",
        "| wide | x / y |",
    ]


def test_notes_of_a_document() -> None:
    notes = (
        b'<w:footnotes xmlns:w="w"><w:footnote><w:p><w:r><w:t>See </w:t></w:r><w:r><w:t>below'
        b"</w:t></w:r></w:p></w:footnote></w:footnotes>"
    )
    content = made.office_part(made.docx, "word/footnotes.xml", notes)
    assert "Footnote: See below" in shown("a.docx", content)


def test_slides_with_group_table_chart_and_notes() -> None:
    text = shown("a.pptx", made.pptx())
    for expected in (
        "--- slide 1 ---\nTitle: Slide 1",
        "inside a group",
        "| left | right |",
        '[chart, series "Sales": 2023: 3.0; 2024: 4.0]',
        "Notes: say hello",
        "--- slide 2 ---",
    ):
        assert expected in text
    only = shown("a.pptx", made.pptx(), pages="2")
    assert "Slide 2" in only
    assert "Slide 1" not in only


def test_pages_of_a_pdf() -> None:
    text = shown("a.pdf", made.pdf())
    assert text.startswith("[pdf; 3 pages; Title: A title]")
    assert "--- page 2 ---\n(this page has no text" in text
    assert "First page" not in shown("a.pdf", made.pdf(), pages="2-3")
    with pytest.raises(Unreadable, match="no page 4 here; there are 3"):
        shown("a.pdf", made.pdf(), pages="4")


def test_many_pages_are_cut_with_a_note() -> None:
    pages = tuple("word " * 60 for _ in range(40))
    text = shown("a.pdf", made.pdf(pages), limit=2000)
    assert len(text) <= 2000
    assert 'is shown; read on with "pages"' in text


def test_a_picture_shows_its_metadata() -> None:
    text = shown("a.png", made.png(text="hidden words"))
    assert "format PNG, 3 x 2 pixels, mode RGB" in text
    assert "Comment: hidden words" in text


def test_tables_of_a_database() -> None:
    content = made.sqlite(100)
    text = shown("a.db", content)
    assert "Table people (name, age), 100 rows\np0 | 0" in text
    assert "[rows 1-20 of 100" in text
    assert "<2 bytes>" in text
    part = shown("a.db", content, sheet="people", range="99-100")
    assert "p98 | 98\np99 | 99" in part
    with pytest.raises(Unreadable, match='no table "x" here'):
        shown("a.db", content, sheet="x")


def test_lines_and_where_to_read_on() -> None:
    content = "".join(f"line {n}\n" for n in range(1, 1001)).encode()
    cut = shown("a.txt", content, limit=1000)
    assert len(cut) <= 1000
    assert 'are shown; read on with "range"' in cut
    part = shown("a.txt", content, range="10-12")
    assert "line 10\nline 11\nline 12\n[lines 10-12 of 1000]" in part
    assert shown("a.txt", content, range="998-").endswith("[lines 998-1000 of 1000]")
    with pytest.raises(Unreadable, match="no line 2000 here; there are 1000"):
        shown("a.txt", content, range="2000")


def test_one_line_longer_than_all_that_may_be_shown() -> None:
    text = shown("a.txt", b"x" * 100_000, limit=5000)
    assert "line 1 is cut after" in text
    assert len(text) < 5000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (1, 9)),
        ("3", (3, 3)),
        ("1-3", (1, 3)),
        ("5-", (5, 9)),
        ("2–99", (2, 9)),
        (" 2 : 4 ", (2, 4)),
    ],
)
def test_spans(text: str, expected: tuple[int, int]) -> None:
    number_span = parse_number_span(text, 9, "range", "line")
    assert (number_span.start, number_span.stop - 1) == expected


@pytest.mark.parametrize("text", ["a", "1,2", "-3", "0", "3-1", "10", "9" * 30, "1-2-3"])
def test_spans_that_are_none(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_number_span(text, 9, "range", "line")


def test_json_and_xml_in_one_long_line_are_indented() -> None:
    text = shown("a.json", made.long_json(2000), range="2-3")
    assert "indented by the reader" in text
    assert " 0,\n 1," in text
    xml = b'<r a="1">' + b"<i>x</i>" * 500 + b"</r>"
    assert '<r a="1">\n <i>\n  x\n </i>' in shown("a.xml", xml)


def test_structures_that_are_not_well_formed_are_still_shown() -> None:
    assert "not well-formed" in shown("a.json", b'{"a": ')
    assert "shown as it stands (mismatched tag" in shown("a.xml", b"<a><b></a>")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_texts_in_other_encodings(encoding: str) -> None:
    assert "Grüße" in shown("a.txt", "Grüße\n".encode(encoding))


def test_a_declared_encoding_is_believed() -> None:
    xml = '<?xml version="1.0" encoding="shift_jis"?><a>日本</a>'.encode("shift_jis")
    assert "日本" in shown("a.xml", xml)
    page = '<meta charset="koi8-r"><p>Привет'.encode("koi8-r")
    assert "Привет" in shown("a.html", page)


def test_a_web_page_keeps_tables_lists_and_links() -> None:
    page = b"""<html><head><title>T</title><style>p {}</style></head><body>
    <h2>Head  line</h2><script>alert(1)</script>
    <ul><li><p>one</p></li><li>two</ul>
    <table><tr><th>a<th>b</tr>
    <tr><td><p>1</p><p>2</p></td><td><a href="/x">link</a></td></tr></table>
    <img src="i" alt="a cat"><pre>  kept
      blanks</pre></body></html>"""
    lines = shown("a.html", page, base="https://example.org/dir/").splitlines()
    assert lines[1:] == [
        "T",
        "## Head line",
        "- one",
        "- two",
        "| a | b",
        "| 1 2 | link (https://example.org/x) |",
        "[image: a cat]",
        "  kept",
        "      blanks",
    ]


def test_members_of_archives() -> None:
    content = made.archive()
    assert [name for name, _ in list_archive_members(content)] == [
        "inner/table.csv",
        "inner/more.zip",
        "x.xlsx",
    ]
    assert "1,2" in read_content(content, ReadRequest(), "inner/table.csv")
    assert "Lamp" in read_content(content, ReadRequest(range="A2:A2"), "x.xlsx")
    assert "found deep" in read_content(content, ReadRequest(), "inner/more.zip/deep.txt")
    with pytest.raises(Unreadable, match=r'no member "none"; it has: inner/table\.csv'):
        read_content(content, ReadRequest(), "none")


def test_control_characters_do_not_come_through() -> None:
    text = shown("a.csv", b"a\x1b[31mb,c\n\xef\xbf\xbe,2\n")
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("name", "head", "kind"),
    [
        ("a.XLSX", b"", "xlsx"),
        ("a", b"PK\x03\x04", "zip"),
        ("a.dat", b"RIFF1234WAVEfmt ", "wav"),
        ("a.dat", b"RIFF1234WEBP", "image"),
        ("a.dat", b"nothing", ""),
    ],
)
def test_kinds(name: str, head: bytes, kind: str) -> None:
    assert detect_file_kind(name, head) == kind


def test_text_for_a_prompt(tmp_path: Path) -> None:
    def file(name: str, content: bytes) -> Path:
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    assert (
        read_attachment_text(file("a.txt", b"words"), 1000).text == "[text; 1 lines; utf-8]\nwords"
    )
    whole = read_attachment_text(file("a.zip", made.archive()), 5000)
    assert whole.kind == "zip"
    assert whole.text is not None
    assert "=== inner/table.csv ===\n[csv;" in whole.text
    picture = read_attachment_text(file("a.png", made.png()), 1000)
    assert (picture.kind, picture.text) == ("image", None)
    assert "no text stands for" in picture.reason
    broken = read_attachment_text(file("a.xlsx", b"nothing"), 1000)
    assert broken.text is None
    assert "not a ZIP archive" in broken.reason


@pytest.mark.parametrize(
    ("form", "kind"), [("PNG", "png"), ("JPEG", "jpeg"), ("GIF", "gif"), ("WEBP", "webp")]
)
def test_pictures_for_models_that_see(tmp_path: Path, form: str, kind: str) -> None:
    path = tmp_path / "misnamed.txt"
    path.write_bytes(made.picture(form))
    url = to_data_url(path)
    assert url is not None
    head, _, body = url.partition(",")
    assert head == f"data:image/{kind};base64"
    assert base64.b64decode(body) == path.read_bytes()


def test_what_is_no_picture_is_not_given_as_one(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"<svg/>")
    assert to_data_url(path) is None
    path.write_bytes(made.png()[:8] + bytes(10_000_001))
    assert to_data_url(path) is None
    path.write_bytes(made.picture("BMP"))
    assert to_data_url(path) is None


def test_a_missing_attachment_is_our_failure(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="fetch the data again"):
        read_attachment_bytes(tmp_path / "gone.txt")
