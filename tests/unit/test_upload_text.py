"""Reading uploads: every broken file is refused by line and field, every odd one is read."""

import json

import pytest

from evalcore.runner.uploads import (
    MAX_CASES,
    MAX_FILE_BYTES,
    MAX_LINE_LENGTH,
    find_upload_form,
    guess_part,
    read_upload,
)

COLUMNS = {"case_id": False, "sql": False, "expected": True, "metric": False}
ROW = {"case_id": "a", "sql": "SELECT 1"}
LINE = json.dumps(ROW)

GOOD_JSONL = {
    "plain": (LINE, [1]),
    "byte order mark": ("\ufeff" + LINE, [1]),
    "line ends of Windows": (f"{LINE}\r\n\r\n{LINE}\r\n", [1, 3]),
    "blank lines": (f"\n  \n{LINE}\n\n", [3]),
    "other line ends within a text": (
        json.dumps(ROW | {"note": "a\u2028b"}, ensure_ascii=False),
        [1],
    ),
}


@pytest.mark.parametrize("name", GOOD_JSONL)
def test_json_lines_are_read_with_their_lines(name):
    text, lines = GOOD_JSONL[name]
    rows, errors = read_upload(text.encode(), "x.jsonl", COLUMNS)
    assert errors == []
    assert [line for line, _ in rows] == lines
    assert all(row["case_id"] == "a" for _, row in rows)


BROKEN = {
    "empty": (b"", 0, "", "contains no cases"),
    "only spaces": (b" \n\t\n", 0, "", "contains no cases"),
    "utf-16": ("\ufeff{}".encode("utf-16-le"), 0, "", "UTF-16"),
    "latin-1": (LINE.encode() + b'\n{"sql": "caf\xe9"}', 2, "", "is not UTF-8"),
    "nul": (LINE.encode() + b"\n\x00", 2, "", "NUL"),
    "a list": (b'[{"case_id": "a"}]', 1, "", "one JSON object per line"),
    "half a line": (LINE.encode() + b'\n{"case_id": ', 2, "", "is not JSON"),
    "a number": (b"17", 1, "", "is not a JSON object"),
    "a field twice": (b'{"a": 1, "a": 2}', 1, "", "'a' twice"),
    "NaN": (b'{"a": NaN}', 1, "", "NaN"),
    "infinity by size": (b'{"a": 1e999}', 1, "", "too large"),
    "a huge number": (b'{"a": 123456789012345678901234567890}', 1, "", "64 bits"),
    "thousands of digits": (b'{"a": ' + b"9" * 6000 + b"}", 1, "", "64 bits"),
    "deep": (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 1, "", "nested too deep"),
    "a huge line": (b'{"a": "' + b"x" * MAX_LINE_LENGTH + b'"}', 1, "", "longer than"),
    "a huge file": (b"x" * (MAX_FILE_BYTES + 1), 0, "", "at most 10 MB"),
    "too many": (b'{"a": 1}\n' * (MAX_CASES + 1), 0, "", f"at most {MAX_CASES}"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_by_line(name):
    content, line, field, problem = BROKEN[name]
    _, [error] = read_upload(content, "x.jsonl", COLUMNS)
    assert (error.line, error.field) == (line, field)
    assert problem in error.problem


def test_every_broken_line_is_told_and_the_others_are_read():
    rows, errors = read_upload(f"{{a\n{LINE}\n[1]\n{LINE}".encode(), "x.jsonl", COLUMNS)
    assert [line for line, _ in rows] == [2, 4]
    assert [error.line for error in errors] == [1, 3]


def test_half_of_a_surrogate_pair_cannot_break_the_store():
    [(_, row)], _ = read_upload(b'{"sql": "\\ud800"}', "x.jsonl", COLUMNS)
    assert row["sql"].encode() == "\ufffd".encode()


CSV = {
    "quotes and line breaks": (
        'case_id,sql\r\na,"SELECT ""x"",\r\n1"\r\nb,SELECT 2\r\n',
        [
            (2, {"case_id": "a", "sql": 'SELECT "x",\r\n1'}),
            (4, {"case_id": "b", "sql": "SELECT 2"}),
        ],
    ),
    "semicolons": ("case_id;sql\na;SELECT 1, 2", [(2, {"case_id": "a", "sql": "SELECT 1, 2"})]),
    "tabs": ("case_id\tsql\na\tSELECT 1", [(2, ROW)]),
    "json cells": (
        'case_id,expected\na,"{""rows"": [[1]]}"',
        [(2, {"case_id": "a", "expected": {"rows": [[1]]}})],
    ),
    "an empty cell is no field": ("case_id,sql,expected\na,SELECT 1,", [(2, ROW)]),
    "a mark of its encoding": ("\ufeffcase_id,sql\na,SELECT 1", [(2, ROW)]),
    "a formula stays text": ("case_id,sql\na,=1+1", [(2, {"case_id": "a", "sql": "=1+1"})]),
}


@pytest.mark.parametrize("name", CSV)
def test_csv_is_read(name):
    text, expected = CSV[name]
    assert read_upload(text.encode(), "x.CSV", COLUMNS) == (expected, [])


BROKEN_CSV = {
    "only a header": ("case_id,sql\n", 0, "", "contains no cases"),
    "unknown column": ("case_id,sqll\na,b", 1, "", "'sqll', which is not one of: case_id"),
    "column twice": ("sql,sql\na,b", 1, "", "two columns named 'sql'"),
    "too few cells": ("case_id,sql\na", 2, "", "has 1 cells, the header has 2"),
    "too many cells": ("case_id,sql\na,b,c", 2, "", "has 3 cells, the header has 2"),
    "an open quote": ('case_id,sql\na,b\nc,"d\ne', 3, "", "not valid CSV"),
    "text after a quote": ('case_id,sql\n"a"b,c', 2, "", "not valid CSV"),
    "bad json": ("case_id,expected\na,{oops", 2, "expected", "the cell is not JSON"),
}


@pytest.mark.parametrize("name", BROKEN_CSV)
def test_broken_csv_is_refused_by_line_and_field(name):
    text, line, field, problem = BROKEN_CSV[name]
    _, [error] = read_upload(text.encode(), "x.csv", COLUMNS)
    assert (error.line, error.field) == (line, field)
    assert problem in error.problem


def test_every_bad_cell_of_a_line_is_told():
    columns = {"a": True, "b": True}
    rows, errors = read_upload(b"a,b\n{,[", "x.csv", columns)
    assert rows == []
    assert [(error.line, error.field) for error in errors] == [(2, "a"), (2, "b")]


def test_a_file_is_for_the_part_that_it_is_named_after():
    assert guess_part("sql_understanding", "explain_detection.jsonl") == "explain_detection"
    assert guess_part("sql_understanding", "mine.v2.csv") == "execution_accuracy"
    assert find_upload_form("gaia").part_of({"metric": "anything"}, "") == "validation"
    assert find_upload_form("bfcl").part_of({"category": "multiple"}, "parallel") == "multiple"
