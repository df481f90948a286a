"""Reading JSON: bounds, what is not JSON, and lines whose numbers are those of people."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalcore.errors import DatasetError, IntakeError
from evalcore.intake import json_text
from evalcore.intake.json_text import parse_json, read_rows
from evalcore.records import Episode, Verdict, content_hash, from_json, to_json


def write(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(content)
    return path


def test_empty_lines_count_but_are_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, b'{"a": 1}\r\n\n  \n{"a": 2}')
    assert list(read_rows(path)) == [(1, {"a": 1}), (4, {"a": 2})]


def test_other_line_separators_belong_to_the_text(tmp_path: Path) -> None:
    path = write(tmp_path, '{"a": "x\u2028y\x85z"}\n'.encode())
    assert list(read_rows(path)) == [(1, {"a": "x\u2028y\x85z"})]


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (b'{"a": 1}\n{"a"', 2, "is not JSON"),
        (b"[1]", 1, "is not a JSON object"),
        (b"[" * 100_000, 1, "nested too deep"),
        (b"{}\n\xff\xfe", 2, "UTF-8"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, content: bytes, line: int, problem: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(DatasetError, match=problem) as caught:
        list(read_rows(path))
    assert caught.value.line == line


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"none\.jsonl"):
        list(read_rows(tmp_path / "none.jsonl"))


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    path = write(tmp_path, b'\xef\xbb\xbf{"a": 1}')
    assert list(read_rows(path)) == [(1, {"a": 1})]


def test_half_a_surrogate_pair_is_replaced_and_a_whole_one_kept(tmp_path: Path) -> None:
    path = write(tmp_path, b'{"a": ["x\\ud83d", "\\uD83D\\uDE00"], "\\udc00": 1}')
    assert list(read_rows(path)) == [(1, {"a": ["x\ufffd", "😀"], "\ufffd": 1})]


REFUSED = {
    "NaN": b'{"a": NaN}',
    "Infinity": b'{"a": [-Infinity]}',
    "no finite number": b'{"a": 1e400}',
    "thousands of digits": b'{"a": ' + b"9" * 5000 + b"}",
    "deep lists": b'{"a": ' + b"[" * 101 + b"]" * 101 + b"}",
    "deep objects": b'{"a": ' * 101 + b"1" + b"}" * 101,
    "no UTF-8": b'{"a": "\xff"}',
    "a control character": b'{"a": "\x00"}',
    "two values": b"{} {}",
    "nothing": b"",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_json_of_a_bounded_depth_is_refused(name: str) -> None:
    for strict, drop in ((False, False), (True, False)):
        with pytest.raises(IntakeError):
            parse_json(REFUSED[name], strict=strict, drop=drop)


def test_what_readers_disagree_about_is_refused_where_strict() -> None:
    for text in ('{"a": 1, "a": 2}', '{"a": 9223372036854775808}'):
        parse_json(text)
        with pytest.raises(IntakeError):
            parse_json(text, strict=True)


def test_a_number_that_does_not_exist_can_be_dropped() -> None:
    text = b'{"a": NaN, "b": [1, Infinity, [1e400]], "c": {"d": -1e999}, "e": ' + b"9" * 5000 + b"}"
    assert parse_json(text, drop=True) == {"b": [1, None, [None]], "c": {}}


def test_text_with_half_a_surrogate_pair_is_replaced_however_it_is_written() -> None:
    assert parse_json('{"a": "\\ud800"}') == {"a": "\ufffd"}
    assert parse_json('{"a": "\ud800"}') == {"a": "\ufffd"}
    assert parse_json(r'{"a": "\\ud800"}') == {"a": "\\ud800"}


def test_a_line_without_end_and_a_file_without_end_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, b'{"a": "' + b"x" * 100 + b'"}\n' + b"{}\n" * 10)
    for limit, value, problem in (
        ("LINE_LIMIT", 50, "line 1: is longer"),
        ("FILE_LIMIT", 120, "has more than"),
        ("ROWS_LIMIT", 5, "line 6: has more than 5 lines"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(json_text, limit, value)
            with pytest.raises(DatasetError, match=problem):
                list(read_rows(path))


def test_journals_of_others_lose_the_number_and_not_the_line() -> None:
    line = b'{"key":"a","epoch":0,"cost":NaN,"latency":1e400,"answer":"\\ud800","attempts":%s}'
    episode = from_json(Episode, line % (b"9" * 500))
    assert (episode.cost, episode.latency, episode.answer, episode.attempts) == (
        None,
        0.0,
        "\ufffd",
        0,
    )


def test_what_a_model_wrote_with_half_a_pair_is_stored() -> None:
    verdict = Verdict("m", "1", "failed", details={"told": ["\ud83d", {"\udc00": 1}]})
    stored = from_json(Verdict, to_json(verdict))
    assert stored.details == {"told": ["\ufffd", {"\ufffd": 1}]}
    assert content_hash(verdict) == content_hash(stored)
