"""A test of many rows checks all of them and names those that fail."""

from __future__ import annotations

import pytest

from tests.support.rows import each_row

seen = []


@each_row(("a", "b"), [(1, 2), (3, 4)])
def test_rows_come_with_fixtures(tmp_path, a, b):
    assert tmp_path.is_dir()
    seen.append((a, b))
    assert seen[-1][1] == a + 1


def test_all_rows_came():
    assert seen == [(1, 2), (3, 4)]


def test_rows_that_fail_are_named():
    @each_row("letter", "xy")
    @each_row("number", range(4))
    def check(number, letter):
        assert number % 2, "even"
        if letter == "y":
            with pytest.raises(ValueError, match="not"):
                int("1")

    with pytest.raises(AssertionError, match=r"^2 of 2\n") as failed:
        check()
    assert "('x',): AssertionError 2 of 4\n(0,): AssertionError even" in str(failed.value)
    assert "(3,): Failed DID NOT RAISE" in str(failed.value)
