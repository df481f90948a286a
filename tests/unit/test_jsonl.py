"""Reading JSON lines: line numbers are people's, and only a line feed ends a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalcore import jsonl
from evalcore.errors import DatasetError


def write(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(content)
    return path


def test_empty_lines_count_but_are_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, b'{"a": 1}\r\n\n  \n{"a": 2}')
    assert list(jsonl.rows(path)) == [(1, {"a": 1}), (4, {"a": 2})]


def test_other_line_separators_belong_to_the_text(tmp_path: Path) -> None:
    path = write(tmp_path, '{"a": "x\u2028y\x85z"}\n'.encode())
    assert list(jsonl.rows(path)) == [(1, {"a": "x\u2028y\x85z"})]


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (b'{"a": 1}\n{"a"', 2, "is not JSON"),
        (b"[1]", 1, "is not a JSON object"),
        (b"[" * 100_000, 1, "is not JSON"),
        (b"\xff\xfe", None, "UTF-8"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, content: bytes, line: int, problem: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(DatasetError, match=problem) as caught:
        list(jsonl.rows(path))
    assert caught.value.line == line


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"none\.jsonl"):
        list(jsonl.rows(tmp_path / "none.jsonl"))


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    path = write(tmp_path, b'\xef\xbb\xbf{"a": 1}')
    assert list(jsonl.rows(path)) == [(1, {"a": 1})]


def test_half_a_surrogate_pair_is_replaced_and_a_whole_one_kept(tmp_path: Path) -> None:
    path = write(tmp_path, b'{"a": ["x\\ud83d", "\\uD83D\\uDE00"], "\\udc00": 1}')
    assert list(jsonl.rows(path)) == [(1, {"a": ["x\ufffd", "😀"], "\ufffd": 1})]
