"""Journals survive a kill at any byte and a full disk: nothing before the tear is lost."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from evalcore.errors import RunFolderError
from evalcore.records import Record, from_json, to_json
from evalcore.store import journal
from evalcore.store.journal import (
    PACKED,
    Journal,
    JournalReader,
    list_journals,
    pack_journal,
    read_journal,
    read_journals,
    repair_journal,
    write_whole,
)


class Line(Record, frozen=True):
    number: int
    text: str = ""


LINES = (Line(1, "plain"), Line(2, "two\nlines, a \x00 and 中文"), Line(3))


def written(path: Path) -> bytes:
    with Journal(path) as journal:
        for line in LINES:
            journal.append(line)
    return path.read_bytes()


def test_what_is_appended_is_read_back_in_order(tmp_path):
    content = written(tmp_path / "deep" / "w.jsonl")
    assert content.count(b"\n") == len(LINES)
    assert tuple(read_journal(tmp_path / "deep" / "w.jsonl", Line)) == LINES


def test_a_line_is_readable_as_soon_as_append_returns(tmp_path):
    path = tmp_path / "w.jsonl"
    with Journal(path) as journal:
        for count, line in enumerate(LINES, 1):
            journal.append(line)
            assert len(list(read_journal(path, Line))) == count


def test_a_missing_journal_holds_nothing(tmp_path):
    assert list(read_journal(tmp_path / "none.jsonl", Line)) == []
    assert list(read_journals(tmp_path / "none", Line)) == []
    assert repair_journal(tmp_path / "none.jsonl") == 0


def test_every_truncation_point_keeps_the_whole_lines_and_takes_new_ones(tmp_path):
    path = tmp_path / "w.jsonl"
    content = written(path)
    for cut in range(len(content) + 1):
        path.write_bytes(content[:cut])
        whole = content[:cut].count(b"\n")
        assert tuple(read_journal(path, Line)) == LINES[:whole], cut
        torn = cut - (content[:cut].rfind(b"\n") + 1)
        assert repair_journal(path) == torn
        with Journal(path) as journal:
            journal.append(Line(9))
        assert tuple(read_journal(path, Line)) == (*LINES[:whole], Line(9)), cut


def test_repair_finds_the_last_line_behind_a_long_tear(tmp_path):
    path = tmp_path / "w.jsonl"
    path.write_bytes(to_json(Line(1)) + b"\n" + b"x" * 200_000)
    assert repair_journal(path) == 200_000
    assert list(read_journal(path, Line)) == [Line(1)]


def test_a_journal_that_is_one_torn_line_becomes_empty(tmp_path):
    path = tmp_path / "w.jsonl"
    path.write_bytes(b'{"number": 1')
    assert repair_journal(path) == 12
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    "bad",
    [
        b"{broken}\n",
        b'{"number":"x"}\n',
        b'{"number":1,"text":"\xff"}\n',
        b"\n",
        b'{"number":1,"new":' + b"[" * 100_000 + b"\n",
    ],
)
def test_a_bad_line_in_the_middle_is_named(tmp_path, bad):
    path = tmp_path / "w.jsonl"
    path.write_bytes(to_json(Line(1)) + b"\n" + bad + to_json(Line(3)) + b"\n")
    with pytest.raises(RunFolderError, match=r"w\.jsonl, line 2"):
        list(read_journal(path, Line))


def test_lines_without_the_wanted_bytes_are_not_decoded(tmp_path):
    path = tmp_path / "w.jsonl"
    path.write_bytes(b"{broken}\n" + to_json(Line(2, "wanted")) + b"\n")
    assert list(read_journal(path, Line, b"wanted")) == [Line(2, "wanted")]


def test_wanted_lines_are_numbered_behind_megabytes_of_others(tmp_path):
    path, others = tmp_path / "w.jsonl", (b"x" * 99 + b"\n") * 12_000
    path.write_bytes(others + to_json(Line(2, "wanted")) + b"\n" + others + b"torn, wanted")
    assert list(read_journal(path, Line, b"wanted")) == [Line(2, "wanted")]
    path.write_bytes(others * 2 + b"wanted\n" + others)
    with pytest.raises(RunFolderError, match=r"w\.jsonl, line 24001"):
        list(read_journal(path, Line, b"wanted"))


def test_a_folder_is_read_file_by_file_by_name(tmp_path):
    for name, number in (("b", 2), ("a", 1), ("c", 3)):
        with Journal(tmp_path / f"{name}.jsonl") as journal:
            journal.append(Line(number))
    (tmp_path / "note.txt").write_text("no journal")
    assert [line.number for line in read_journals(tmp_path, Line)] == [1, 2, 3]


FULL_DISK = """
import resource, sys
from pathlib import Path
from evalcore.records import Failure
from evalcore.store.journal import Journal
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
journal = Journal(Path(sys.argv[1]))
written = 0
try:
    while True:
        journal.append(Failure(kind="permanent", message="m" * 20))
        written += 1
except OSError:
    print(written)
"""


def test_a_line_that_does_not_fit_leaves_nothing_behind(tmp_path):
    path = tmp_path / "w.jsonl"
    result = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=True
    )
    content = path.read_bytes()
    assert content.endswith(b"\n")
    assert content.count(b"\n") == int(result.stdout) > 0


def test_unknown_fields_of_a_newer_writer_are_passed_over():
    assert from_json(Line, b'{"number":1,"added":[1]}') == Line(1)


def test_a_journal_that_is_no_file_is_named(tmp_path):
    (tmp_path / "w.jsonl").mkdir()
    with pytest.raises(RunFolderError, match=r"w\.jsonl: is not a plain file"):
        list(read_journals(tmp_path, Line))


def test_a_packed_journal_reads_as_before_and_packs_to_the_same_bytes(tmp_path):
    first, second = tmp_path / "a" / "w.jsonl", tmp_path / "b" / "w.jsonl"
    for path in (first, second):
        written(path)
        pack_journal(path)
        assert [each.name for each in path.parent.iterdir()] == ["w.jsonl" + PACKED]
        assert tuple(read_journal(path, Line)) == tuple(read_journals(path.parent, Line)) == LINES
    assert (
        list_journals(first.parent)[0].read_bytes() == list_journals(second.parent)[0].read_bytes()
    )


def test_a_journal_counts_once_where_its_packed_form_was_left_behind(tmp_path):
    path = tmp_path / "w.jsonl"
    content = written(path)
    pack_journal(path)
    path.write_bytes(content)
    assert list_journals(tmp_path) == [path]
    assert tuple(read_journals(tmp_path, Line)) == LINES


@pytest.mark.parametrize("damage", [b"", b"\x1f\x8b", b"no gzip at all\n", b"cut"])
def test_a_damaged_packed_journal_is_named(tmp_path, damage):
    path = tmp_path / "w.jsonl"
    written(path)
    pack_journal(path)
    packed = tmp_path / ("w.jsonl" + PACKED)
    whole = packed.read_bytes()
    packed.write_bytes(whole[: len(whole) // 2] if damage == b"cut" else damage)
    if damage == b"":  # what an empty file unpacks to
        assert list(read_journal(path, Line)) == []
        return
    with pytest.raises(RunFolderError, match=r"w\.jsonl\.gz"):
        list(read_journal(path, Line))


def test_a_packed_journal_that_unpacks_without_end_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "UNPACKED", 1 << 20)
    path = tmp_path / "w.jsonl"
    path.write_bytes((b" " * 999 + b"\n") * 3000)
    pack_journal(path)
    with pytest.raises(RunFolderError, match=r"w\.jsonl\.gz: unpacks without end"):
        JournalReader(path)
    monkeypatch.setattr(journal, "UNPACKED", 1 << 22)
    with JournalReader(path) as reader:
        assert reader.read_line(1000) == b" " * 999 + b"\n"


def test_what_is_written_in_parts_is_written_whole():
    class Reluctant(io.RawIOBase):
        """A file of a nearly full disk: a few bytes at a time."""

        taken = b""

        def write(self, content):
            self.taken += bytes(content[:3])
            return min(3, len(content))

    file = Reluctant()
    write_whole(file, bytearray(b"0123456789"))
    assert file.taken == b"0123456789"
