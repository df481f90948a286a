"""Names from outside do nothing where Streamlit reads Markdown."""

from __future__ import annotations

import re

import pytest

from pages.shared.wording import escape_markdown, to_plain_line

CANARIES = [
    "![x](http://evil.invalid/i.png)",
    "[go](javascript:alert(1))",
    ":red[**spoofed**] :material/verified: :smile:",
    "# heading",
    "- item",
    "1. item",
    "`code` ~~gone~~ $x^2$ <b>bold</b> | a | b |",
    "http://evil.invalid www.evil.invalid",
    "a\\b",
    "&amp; \"quoted\" 'single' a_b_c *x*",
]


def shown(text: str) -> str:
    """What CommonMark shows for escaped text: a backslash before punctuation is taken away."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)


@pytest.mark.parametrize("text", CANARIES)
def test_every_special_character_is_escaped_and_shows_as_written(text):
    safe = escape_markdown(text)
    bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", safe)
    assert not re.search(r"[\\`*_\[\]()<>#!|~$:]", bare)
    assert shown(safe).replace("\u2060", "") == text


@pytest.mark.parametrize(
    "text", [":smile:", ":material/verified:", "http://evil.invalid", "www.a.b"]
)
def test_what_is_replaced_after_markdown_is_broken_up(text):
    assert text not in shown(escape_markdown(text))
    assert shown(escape_markdown(text)).replace("\u2060", "") == text


def test_an_ordinary_name_has_nothing_invisible_in_it():
    assert (
        shown(escape_markdown("openai:qwen/qwen3-4b#1a2b3c4d")) == "openai:qwen/qwen3-4b#1a2b3c4d"
    )


def test_lines_and_invisible_characters_become_one_space():
    assert to_plain_line("a\n\nb\u200b\u202ec\x00d\t e") == "a b c d e"


def test_text_is_cut_to_its_limit():
    assert to_plain_line("x" * 100, 10) == "x" * 9 + "…"
    assert escape_markdown("_" * 100, 3) == r"\_\_…"
    assert to_plain_line("short", 5) == "short"


def test_anything_can_be_named():
    assert to_plain_line(None) == "None"
    assert escape_markdown(12.5) == r"12\.5"
