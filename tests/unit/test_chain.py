"""The chain of a journal: what honest writers do keeps it whole, and any other change breaks it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from evalcore.records import Record, to_json
from evalcore.store.chain import START, find_chain_break, find_last_link, link_line, split_line
from evalcore.store.journal import (
    Journal,
    pack_journal,
    read_journal,
    read_journal_lines,
)
from evalcore.store.repair import _quarantine_lines


class Line(Record, frozen=True):
    number: int = 0
    text: str = ""


#: The second tries to look like the end of a line, the third is an object without fields.
RECORDS = (Line(1, "a"), Line(2, '","chain":"0123456789abcdef"}'), Line(), Line(4, "两\n"))


def write_lines(path: Path, records: tuple[Line, ...] = RECORDS) -> list[bytes]:
    with Journal(path) as journal:
        for record in records:
            journal.append(record)
    return path.read_bytes().splitlines(keepends=True)


def find_break(path: Path) -> int:
    """The number of the first line that breaks the chain, 0 where it is whole."""
    broken = find_chain_break(read_journal_lines(path))
    return broken.line if broken else 0


def test_each_line_ends_in_its_link_and_reads_as_before(tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "w.jsonl")
    assert [split_line(line)[0] for line in lines] == [to_json(record) for record in RECORDS]
    links = [split_line(line)[1] for line in lines]
    assert len(set(links)) == len(lines)
    assert find_last_link(tmp_path / "w.jsonl") == links[-1]
    assert tuple(read_journal(tmp_path / "w.jsonl", Line)) == RECORDS
    assert find_break(tmp_path / "w.jsonl") == 0


def test_a_payload_without_a_link_has_none() -> None:
    assert split_line(b'{"a":1}\n') == (b'{"a":1}', "")
    assert split_line(link_line(b"{}", START)[0])[0] == b"{}"


@pytest.mark.parametrize("cut", range(0, 200, 7))
def test_a_torn_line_that_is_cut_off_leaves_the_chain_whole(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "w.jsonl"
    content = b"".join(write_lines(path))
    path.write_bytes(content[:cut])
    write_lines(path)
    assert find_break(path) == 0
    assert list(read_journal(path, Line))[-len(RECORDS) :] == list(RECORDS)


def test_every_writer_goes_on_with_the_chain(tmp_path: Path) -> None:
    path = tmp_path / "w.jsonl"
    for record in RECORDS * 3:
        write_lines(path, (record,))
    assert find_break(path) == 0
    pack_journal(path)
    assert find_break(path) == 0


def test_a_journal_of_an_older_version_is_covered_from_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "w.jsonl"
    old = [to_json(record) + b"\n" for record in RECORDS]
    path.write_bytes(b"".join(old))
    assert find_break(path) == 0
    lines = write_lines(path)
    assert lines[: len(old)] == old
    assert find_break(path) == 0
    path.write_bytes(b"".join([old[1], old[0], *lines[2:]]))
    assert find_break(path) == len(old) + 1


def drop(lines: list[bytes], at: int) -> int:
    del lines[at]
    return at + 1


def change(lines: list[bytes], at: int) -> int:
    lines[at] = lines[at].replace(b"{", b'{"x":1,', 1)
    return at + 1


def add(lines: list[bytes], at: int) -> int:
    lines.insert(at, b'{"number":9}\n')
    return at + 1


def repeat(lines: list[bytes], at: int) -> int:
    lines.insert(at, lines[at])
    return at + 2


def swap(lines: list[bytes], at: int) -> int:
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return at + 1


def strip(lines: list[bytes], at: int) -> int:
    lines[at] = split_line(lines[at])[0] + b"\n"
    return at + 1


@pytest.mark.parametrize("tamper", [drop, change, add, repeat, swap, strip])
@pytest.mark.parametrize("at", [1, 5, 10])
def test_any_change_is_named_by_its_line(tmp_path: Path, tamper, at: int) -> None:
    path = tmp_path / "w.jsonl"
    lines = write_lines(path, RECORDS * 3)
    expected = tamper(lines, at)
    path.write_bytes(b"".join(lines))
    assert find_break(path) == expected


def test_a_changed_byte_anywhere_breaks_the_chain(tmp_path: Path) -> None:
    path, dice = tmp_path / "w.jsonl", random.Random(5)
    content = b"".join(write_lines(path))
    for at in range(len(content)):
        letter = dice.choice([x for x in b'a0}",\n' if x != content[at]])
        path.write_bytes(content[:at] + bytes([letter]) + content[at + 1 :])
        torn = at == len(content) - 1  # as after a kill: the line without its end is left out
        assert (find_break(path) == 0) == torn, at


def test_lines_that_were_set_aside_leave_a_whole_chain(tmp_path: Path) -> None:
    path = tmp_path / "w.jsonl"
    lines = write_lines(path)
    path.write_bytes(b"".join([*lines[:1], b"\xff\n", *lines[2:], b'{"torn'.removesuffix(b"\n")]))
    assert [number for number, _ in _quarantine_lines(path, Line)] == [2]
    assert find_break(path) == 0
    write_lines(path)
    assert find_break(path) == 0
