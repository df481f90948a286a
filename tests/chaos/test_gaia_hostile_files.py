"""Attachments made to harm their reader: each ends in a text for the model, and soon."""

from __future__ import annotations

import base64
import os
import random
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from evalcore.benchmarks.gaia.attachments import (
    ReadRequest,
    Unreadable,
    close_readers,
    list_archive_members,
    read_attachment_bytes,
    read_content,
    reader_client,
)
from evalcore.benchmarks.gaia.tools.toolset import ERROR, Toolset
from evalcore.errors import EnvironmentFailure
from tests.support import gaia_files as made

RANDOM = 20_261_122


def attempt(name: str, content: bytes, member: str = "", **asked: object) -> str:
    """The text, or the reason why there is none; anything else is a failure of ours."""
    try:
        text = read_content(content, ReadRequest(name=name, **asked), member)  # type: ignore[arg-type]
    except Unreadable as problem:
        text = f"{ERROR}{problem}"
    assert len(text) < 25_000
    assert "refused in this process" not in text  # something would be loaded too late
    return text


def still_well() -> None:
    assert "Lamp" in attempt("a.xlsx", made.xlsx())


@pytest.mark.parametrize("name", [name for name in made.KINDS if name != "a.bin"])
def test_broken_files_of_every_kind(name: str) -> None:
    whole = made.KINDS[name][0]()
    chance = random.Random(RANDOM)
    for share in (0, 0.1, 0.5, 0.9, 0.99):
        attempt(name, whole[: int(len(whole) * share)])
    for _ in range(20):
        changed = bytearray(whole)
        for _ in range(chance.randint(1, 8)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        attempt(name, bytes(changed))
    attempt(name, chance.randbytes(2000))
    attempt(name, b"")


@pytest.mark.parametrize("name", [name for name in made.KINDS if "." in name])
def test_files_of_one_kind_under_the_name_of_another(name: str) -> None:
    for content in (made.xlsx(), made.pdf(), made.png(), b"plain words", made.sqlite()):
        attempt(name, content)


HOSTILE: dict[str, Callable[[], tuple[str, bytes]]] = {
    "zip bomb in a workbook": lambda: ("a.xlsx", with_part(made.xlsx, 300_000_000)),
    "zip bomb in a document": lambda: ("a.docx", with_part(made.docx, 300_000_000)),
    "zip bomb in a presentation": lambda: ("a.pptx", with_part(made.pptx, 300_000_000)),
    "entities in a workbook": lambda: (
        "a.xlsx",
        made.office_part(made.xlsx, "xl/worksheets/sheet1.xml", made.laughs(b"worksheet")),
    ),
    "entities in a workbook's texts": lambda: (
        "a.xlsx",
        made.office_part(made.xlsx, "xl/sharedStrings.xml", made.laughs(b"sst")),
    ),
    "entities in a document": lambda: (
        "a.docx",
        made.office_part(made.docx, "word/document.xml", made.laughs(b"document")),
    ),
    "entities in footnotes": lambda: (
        "a.docx",
        made.office_part(made.docx, "word/footnotes.xml", made.laughs(b"footnotes")),
    ),
    "entities in a slide": lambda: (
        "a.pptx",
        made.office_part(made.pptx, "ppt/slides/slide1.xml", made.laughs(b"sld")),
    ),
    "pages of a pdf that hold themselves": lambda: (
        "a.pdf",
        b"%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj "
        b"2 0 obj <</Type/Pages/Kids[2 0 R 2 0 R]/Count 9>> endobj trailer <</Root 1 0 R>>",
    ),
    "huge stream of a pdf": lambda: ("a.pdf", made.pdf(("x" * 3_000_000,))),
}


def with_part(make: Callable[[], bytes], size: int) -> bytes:
    return made.office_part(make, "more.xml", bytes(size))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_documents_end(name: str) -> None:
    attempt(*HOSTILE[name]())
    still_well()


def test_a_bomb_is_refused_by_its_size() -> None:
    text = attempt("a.xlsx", with_part(made.xlsx, 300_000_000))
    assert "bytes when unpacked, too many to be read" in text
    bomb = made.zip_bomb(100_000_000)
    assert "25000000 are read at most" in attempt("a.zip", bomb, "bomb.txt")
    assert "bomb.txt  100000000 bytes" in attempt("a.zip", bomb)


def test_a_bomb_that_lies_about_its_size_yields_no_more_than_it_says() -> None:
    assert attempt("a.zip", made.lying_zip(30_000_000), "bomb.txt").startswith(ERROR)


def test_a_bomb_within_a_bomb_is_not_followed() -> None:
    inner = made.zip_bomb(1000)
    for _ in range(5):
        inner = made.zipped({"next.zip": inner})
    assert "no member" in attempt("a.zip", inner, "next.zip/next.zip/next.zip/next.zip")


def test_many_members_are_not_listed_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as out:
        for number in range(5000):
            out.writestr(f"{number}.txt", b"")
    assert len(list_archive_members(path.read_bytes())) == 5000
    assert len(attempt("many.zip", path.read_bytes())) < 21_000


def test_entities_are_shown_and_never_expanded() -> None:
    text = attempt("a.xml", made.laughs(b"r"))
    assert "it declares entities, which are not expanded" in text
    assert "hahahahaha" * 3 not in text
    outside = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'
    assert "root:" not in attempt("a.xml", outside)
    part = made.office_part(made.docx, "word/document.xml", outside)
    assert "root:" not in attempt("a.docx", part)


def test_a_sheet_with_one_cell_at_the_far_end_costs_nothing() -> None:
    from io import BytesIO

    from openpyxl import Workbook

    book = Workbook()
    book.active["XFD1048576"] = "far away"
    file = BytesIO()
    book.save(file)
    # going through the empty cells before it would outlast the time limit of a reader
    assert "XFD1048576: far away" in attempt("a.xlsx", file.getvalue())


def test_a_picture_that_says_it_is_huge() -> None:
    assert "3600000000 pixels" in attempt("a.png", made.huge_png())
    still_well()


def test_deep_nesting() -> None:
    attempt("a.json", made.deep_json(100_000))
    attempt("a.xml", b"<a>" * 50_000 + b"</a>" * 50_000)
    attempt("a.html", b"<div><ul><li>" * 50_000)
    still_well()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", b"<" * 300_000),
        ("a.html", b"<!" * 100_000),
        ("a.html", b"<a " * 25_000),
        ("a.html", b"&" * 1_000_000),
        ("a.csv", b'"' * 3_000_000),
        ("a.csv", b"," * 3_000_000),
        ("a.txt", b"\n" * 3_000_000),
        ("a.xml", b"<!--" + b"-" * 1_000_000),
        ("a.json", b"1" * 1_000_000),
    ],
)
def test_texts_that_make_parsers_slow(name: str, content: bytes) -> None:
    attempt(name, content)
    still_well()


def test_an_endless_query_of_a_database_is_not_run() -> None:
    import sqlite3

    database = sqlite3.connect(":memory:")
    database.executescript(
        "CREATE TABLE t (a); INSERT INTO t VALUES (1);"
        "CREATE VIEW endless AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
        "SELECT count(*) FROM n;"
    )
    assert "Table t (a), 1 rows" in attempt("a.db", database.serialize())


def test_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link.txt").symlink_to("/etc/passwd")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe.txt")
    assert "the member is a link" in attempt("a.zip", made.linked_zip(), "link.txt")
    for name in ("link.txt", "folder", "pipe.txt"):
        with pytest.raises(Unreadable, match="a link or no plain file"):
            read_attachment_bytes(tmp_path / name)


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "big.txt").open("wb") as file:
        file.truncate(reader_client.MAX_ATTACHMENT_BYTES + 1)
    with pytest.raises(Unreadable, match="25000000 are read at most"):
        read_attachment_bytes(tmp_path / "big.txt")


PATHS = [
    "../secret.txt",
    "/etc/passwd",
    "a.zip/../../secret.txt",
    "a.zip/../a.txt",
    "a.zip//etc/passwd",
    "..\\secret.txt",
    "%2e%2e/secret.txt",
    "a.txt\x00.png",
    "./../secret.txt",
    "a.zip/./x",
    "~/secret.txt",
    "file:///etc/passwd",
    "\uff0e\uff0e/secret.txt",
    "",
    ".",
    "a.txt/",
    "x" * 100_000,
    "\ud800",
]


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_out_of_the_attachments(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.txt").write_text("the secret")
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.txt").write_text("open words")
    (folder / "a.zip").write_bytes(made.zipped({"../secret.txt": b"slipped", "ok.txt": b"fine"}))
    with Toolset([folder / "a.txt", folder / "a.zip"]) as desk:
        result = desk.call("read_file", {"path": path})
    assert result.startswith(ERROR)
    assert "the secret" not in result
    assert "root:" not in result
    assert len(result) < 2000


def test_many_threads_share_one_process() -> None:
    texts: list[str] = []

    def ask(number: int) -> None:
        texts.append(attempt("a.txt", f"thread {number}".encode()))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(texts) == sorted(f"[text; 1 lines; utf-8]\nthread {n}" for n in range(24))


def test_the_process_comes_back_after_it_was_closed() -> None:
    still_well()
    close_readers()
    close_readers()
    still_well()


def test_too_much_time_is_said_and_costs_only_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    impatient = reader_client.WorkerProcess(
        "evalcore.benchmarks.gaia.attachments.service:open_readers",
        {},
        seconds=0.2,
        memory_bytes=1 << 30,
        max_reply=1_000_000,
    )
    monkeypatch.setattr(reader_client, "_worker", impatient)
    try:
        slow = base64.b64encode(random.Random(1).randbytes(9_000_000))
        lines = b"\n".join(slow[at : at + 8] for at in range(0, len(slow), 8))
        assert "took more than" in attempt("a.csv", lines)
        assert "[text; 1 lines" in attempt("a.txt", b"quick")
    finally:
        impatient.close()


def test_a_process_that_does_not_start_is_our_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = reader_client.WorkerProcess(
        "evalcore:no_such_module.open", {}, seconds=1, memory_bytes=1 << 28, max_reply=1000
    )
    monkeypatch.setattr(reader_client, "_worker", missing)
    with pytest.raises(EnvironmentFailure, match="does not start"):
        read_content(b"x", ReadRequest(name="a.txt"))
