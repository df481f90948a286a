"""The official extraction of a patch: its order, its traps, its cost."""

from __future__ import annotations

import pytest

from evalcore.benchmarks.swe_bench.patches.official import extract_official_patch
from tests.support.hangs import stop_hang

CASES = [
    ("no mark at all", "no mark at all"),
    ("", ""),
    ("a patch</s>and what a base model goes on with", "a patch"),
    ("<patch>one</patch>", "one"),
    ("<diff>one</diff> <patch>two</patch>", "one"),
    ("```diff\none\n```", "one\n"),
    ("```patch\none\n``` and ```diff\ntwo\n```", "one\n"),
    # A label that fits comes before one that does not, wherever it stands.
    ("<note>prose</note>\n```diff\none\n```", "one\n"),
    ("```python\ncode\n```\n```diff\none\n```", "one\n"),
    # Tags come before fences.
    ("```diff\none\n```\n<patch>two</patch>", "two"),
    # The first wins: a draft in the reasoning, or any tag of prose.
    ("<think>\n```diff\ndraft\n```\n</think>\n```diff\nfinal\n```", "draft\n"),
    ("<think>\n<patch>draft</patch>\n</think>\n<patch>final</patch>", "final"),
    ("<patch>draft</patch>\n<patch>final</patch>", "draft"),
    ("A <b>bold</b> claim and a bare diff", "bold"),
    # Names of tags are words; the nearest end of the same name closes one.
    ("<a-b>x</a-b>", "x"),
    ("<a><b>x</a></b>", "<b>x"),
    ("<a>x</a></a>", "x"),
    ("<a>never closed, <b>closed</b>", "closed"),
    ('<a href="x">no name</a>', '<a href="x">no name</a>'),
    # Fences need a line end after the language and an end of their own.
    ("```diff one\n```\nrest", "```diff one\n```\nrest"),
    ("```diff\nopen", "```diff\nopen"),
    ("````diff\none\n````", "one\n"),
    ("~~~diff\none\n~~~", "~~~diff\none\n~~~"),
    ("```c++\none\n```\n", "```c++\none\n```\n"),
    ("```diff\r\none\r\n```", "```diff\r\none\r\n```"),
]


@pytest.mark.parametrize(("text", "patch"), CASES)
def test_what_is_taken_out(text: str, patch: str) -> None:
    assert extract_official_patch(text) == patch


@pytest.mark.parametrize(
    "piece", ["<a>", "</a>", "<", "`", "```", "```diff\n", "<a><b>", "<patch>", "a-"]
)
def test_hostile_texts_take_linear_time(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    with stop_hang():
        extract_official_patch(text)


def test_many_names_that_are_never_closed() -> None:
    text = "".join(f"<t{number}>" for number in range(100_000))
    with stop_hang():
        assert extract_official_patch(text) == text
