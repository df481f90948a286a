"""Text from outside on one line, and in a cell that no spreadsheet runs."""

from __future__ import annotations

import pytest

from evalcore.plain_text import safe_cell, to_single_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("  a\tb\r\nc ", "a b c"),
        ("pay\u202egpj.exe", "pay gpj.exe"),
        ("a\u2066\ufeff\x00\x9fb", "a b"),
        ("half \ud83d", "half"),
        ("全角 和 emoji 🙂", "全角 和 emoji 🙂"),
        (None, "None"),
    ],
)
def test_nothing_that_hides_or_reorders_is_left(text, shown):
    assert to_single_line(text) == shown


def test_a_limit_counts_the_mark_of_what_is_cut():
    assert to_single_line("x" * 41, 40) == "x" * 39 + "…"
    assert to_single_line("x" * 40, 40) == "x" * 40
    assert to_single_line("x" * 500) == "x" * 500


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_formula_becomes_text(text):
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["plain", "", 0, -1, 0.5, None, True])
def test_all_else_stays_as_it_is(value):
    assert safe_cell(value) is value
