"""Tests whose expected values stay outside: what is taken out, what is written, how it is read."""

from __future__ import annotations

import json
import re
import runpy
from collections import OrderedDict, UserDict, namedtuple
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evalcore.benchmarks.swe_bench import blind_recorder
from evalcore.benchmarks.swe_bench.blind_answers import (
    CheckAnswer,
    count_held,
    find_unproved,
    read_records,
)
from evalcore.benchmarks.swe_bench.blind_tests import RECORDER_PATH, blind_tests

Point = namedtuple("Point", "x y")


class Text(str):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class Odd:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__


def run_blind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: str, call: str, **names: Any
) -> list[CheckAnswer]:
    """Run one function of a blind test file with some globals, and answer its questions."""
    records = tmp_path / "records"
    records.touch()
    recorder = dict(vars(blind_recorder))
    monkeypatch.setattr(blind_recorder, "RECORDS_PATH", str(records))
    real = runpy.run_path
    monkeypatch.setattr(
        runpy, "run_path", lambda path: recorder if path == RECORDER_PATH else real(path)
    )
    blinded = blind_tests({"test_a.py": source})
    space: dict[str, Any] = {"pytest": pytest, **names}
    exec(blinded.sources["test_a.py"], space)  # our own source
    exec(call, space)
    return read_records(blinded, records.read_bytes())


@pytest.mark.parametrize(
    ("written", "value", "holds"),
    [
        ("f() == 'a b'", "a b", True),
        ("f() == 'a b'", Text("other"), False),
        ("f() == 'a b'", Odd(), None),
        ("f() == {'a': [1, (2, None)]}", OrderedDict(a=[1, (2, None)]), True),
        ("f() == {'a': 1}", UserDict(a=1), True),
        ("f() == (1, 2)", Point(1, 2), True),
        ("f() == (1, 2)", [1, 2], False),
        ("f() == 10 ** 3", Decimal(1000), True),
        ("f() == Fraction(1, 3)", Fraction(2, 6), True),
        ("f() == pytest.approx(0.3)", 0.1 + 0.2, True),
        ("f() == pytest.approx(0.3, abs=0.01)", 0.32, False),
        ("'b' in f()", "abc", True),
        ("f() is None", None, True),
        ("f() is True", 1, False),
        ("not f()", [], True),
        ("f() and 3 < 4", 0, False),
        ("f() >= 7", 7, True),
        ("f() != 3", 3, False),
        ("f() == b'\\xff'", b"\xff", True),
        ("f() == {1, 2}", frozenset({2, 1}), True),
        ("f() == -1.5e300", -1.5e300, True),
        ("f() == '\\udc80'", "\udc80", True),
    ],
)
def test_a_question_is_answered_outside(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, written: str, value: Any, holds: bool | None
) -> None:
    source = f"def test_it():\n    assert {written}, 'words'\n"
    answers = run_blind(monkeypatch, tmp_path, source, "test_it()", f=lambda: value)
    assert answers[0].holds is holds
    assert answers[0].proof


SOURCE = """from __future__ import annotations
import pytest
import unittest

@pytest.mark.parametrize(("given", "expected"), [("a", "SECRET1"), pytest.param("b", "SECRET2")])
def test_rows(given, expected):
    assert f(given) == expected

@pytest.mark.parametrize("given, shown", [("a", "SEEN")])
def test_other_use(given, shown):
    assert f(given) == shown
    print(shown)

def test_loop():
    for given, expected in [("a", "SECRET3"), ("b", ["SECRET4"])]:
        assert f(given) == expected

def test_local():
    expected = {"k": "SECRET5"}
    assert f("a") == expected

@pytest.mark.parametrize("line", [77001])
def test_inside(line):
    assert f("a") == ("t", line)

@pytest.mark.parametrize("words", ["SECRET6"])
def test_raises(words):
    with pytest.raises(ValueError, match=words) as info:
        f("a")
    assert info.value.args == ("SECRET7",)

class TestCase(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(f("a"), "SECRET8")
        self.assertIn("SECRET9", f("a"))
        self.assertFalse(f("a"))
"""


def test_expected_values_are_not_in_the_file() -> None:
    text = blind_tests({"test_a.py": SOURCE}).sources["test_a.py"]
    assert "SECRET" not in text
    assert "77001" not in text
    assert "ValueError" not in text
    assert "SEEN" in text, "a value that is used for more than a comparison stays"
    assert text.startswith("from __future__")


def test_a_file_that_is_no_python_is_left_alone() -> None:
    assert blind_tests({"a.py": "def ("}).sources == {}


ROWS = """@pytest.mark.parametrize(("given", "expected"), [("a", "x"), ("b", "y")])
def test_rows(given, expected):
    assert f(given) == expected
def test_raised():
    with pytest.raises(ValueError, match="^bad"):
        f(1)
"""


def test_each_row_has_an_expected_value_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    call = "for row in test_rows.pytestmark[0].args[1]: test_rows(*row)"
    answers = run_blind(monkeypatch, tmp_path, ROWS, call, f={"a": "x", "b": "x"}.get)
    assert [answer.holds for answer in answers] == [True, False]
    assert len({answer.key for answer in answers}) == 2


@pytest.mark.parametrize(
    ("error", "holds"),
    [(ValueError("bad"), True), (ValueError("not bad"), False), (KeyError("bad"), False)],
)
def test_what_is_raised(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception, holds: bool
) -> None:
    def fail(given: Any) -> None:
        raise error

    answers = run_blind(monkeypatch, tmp_path, ROWS, "test_raised()", f=fail)
    assert [answer.holds for answer in answers] == [holds]


def test_a_value_is_asked_for_in_the_same_form_whether_it_is_to_raise_or_not() -> None:
    """A program that looks at its callers does not see that an exception is expected."""
    source = """def test_it():
    with pytest.raises(ValueError):
        f(1)
    assert f(1) == 3
    with self.assertRaises(ValueError):
        f(1)
    with self.assertRaisesRegex(ValueError, "bad"):
        f(1)
"""
    text = blind_tests({"a.py": source}).sources["a.py"]
    blocks = text.partition("def test_it():\n")[2].rstrip().split("\n    with ")
    assert len({re.sub(r"check \d", "", block.removeprefix("    with ")) for block in blocks}) == 1


@pytest.mark.parametrize("written", ["f()", "f() != 3", "f() > 3", "f() == ['ValueError', '3']"])
def test_an_exception_is_no_value(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, written: str
) -> None:
    def fail() -> None:
        raise ValueError("3")

    source = f"def test_it():\n    assert {written}\n    assert 1 == 1\n"
    answers = run_blind(monkeypatch, tmp_path, source, "test_it()", f=fail)
    assert [answer.holds for answer in answers] == [False, True]


@pytest.mark.parametrize("value", [None, {"raised": ["ValueError"], "message": "bad"}])
def test_a_value_is_no_exception(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: object
) -> None:
    answers = run_blind(monkeypatch, tmp_path, ROWS, "test_raised()", f=lambda given: value)
    assert [answer.holds for answer in answers] == [False]


def test_a_value_that_gives_its_own_token_back_is_wrong() -> None:
    blinded = blind_tests({"a.py": "def test_a():\n    assert f() == 'x'\n"})
    [token] = blinded.held
    line = json.dumps(["check 0", [token]])
    assert read_records(blinded, line.encode())[0].holds is False


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"nonsense",
        b'["check 9", [1]]',
        b'["check 0", [1]]',
        b'["check 0", [{"int": "zz"}]]',
        b'["check 0", [{"list": 3}]]',
        b'["check 0", [{"dict": [{"tuple": [{"list": []}, 1]}]}]]',
        b'["check 0", [{"ratio": ["0x1", "0x0"]}]]',
        b'["check 0", [{"nothing": 1}]]',
        b'["check 0", ' + b"[" * 100_000,
        b'["check 0", [' + b'{"list":[' * 50_000,
        b"\xff\xfe",
    ],
)
def test_forged_lines_are_no_answers(line: bytes) -> None:
    blinded = blind_tests({"a.py": "def test_a():\n    assert f() == 'x'\n"})
    assert not any(answer.holds for answer in read_records(blinded, line))


def answer(key: str, holds: bool | None, **fields: Any) -> CheckAnswer:
    return CheckAnswer(key=key, holds=holds, **fields)


def test_only_what_always_held_and_proves_something_is_required() -> None:
    answers = [answer("a", True), answer("a", True), answer("b", True), answer("b", False)]
    answers += [answer("c", None), answer("d", True, proof=False)]
    assert count_held(answers) == {"a": 2}


def test_what_is_absent_wrong_or_unreadable_is_unproved() -> None:
    required = {"a": 1, "b": 2, "c": 1, "d": 3, "e": 1}
    given = [answer("a", True), answer("b", True), answer("c", None), answer("d", True, once=False)]
    assert [one.key for one in find_unproved(required, given)] == ["b", "c", "e"]
