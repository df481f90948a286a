"""What is asked in each style and mode, and how files are told of."""

from __future__ import annotations

import pytest

from evalcore.benchmarks.gaia.benchmark import (
    OFFICIAL,
    PromptFile,
    build_gaia_messages,
)
from evalcore.benchmarks.gaia.card import MODES, STYLES

QUESTION = "How many rows has it?"
SHEET = PromptFile("a.csv", "csv", "x,y\n1,2")
SOUND = PromptFile("b.mp3", "audio")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("style", STYLES)
def test_a_system_message_and_the_question(mode, style):
    system, user = build_gaia_messages(QUESTION, mode, style, ())
    assert (system.role, user.role, user.content) == ("system", "user", QUESTION)
    assert system.content.startswith(OFFICIAL) == (style == "official")
    assert ("FINAL ANSWER" in system.content) == (style == "official")
    assert ("final_answer" in system.content) == (mode in ("local", "web"))


def test_every_mode_and_style_asks_in_words_of_its_own():
    asked = {
        build_gaia_messages(QUESTION, mode, style, ())[0].content
        for mode in MODES
        for style in STYLES
    }
    assert len(asked) == len(MODES) * len(STYLES)
    assert build_gaia_messages(QUESTION, "none", "official", ())[0].content == OFFICIAL


def test_the_official_words_are_the_official_ones():
    assert OFFICIAL.startswith("You are a general AI assistant. I will ask you a question.")
    assert "finish your answer with the following template: FINAL ANSWER: [YOUR FINAL" in OFFICIAL
    assert OFFICIAL.endswith("is a number or a string.")
    assert "  " not in OFFICIAL


def test_described_tools_are_said_not_to_run():
    content = build_gaia_messages(QUESTION, "describe", "official", ())[0].content
    assert "none of them can be called" in content
    for name in ("web_search", "read_file", "calculator", "python"):
        assert f"- {name}: " in content


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("none", "a.csv (csv)"),
        ("describe", "a.csv (csv). You cannot open it."),
        ("local", "a.csv (csv). Read it with the tools."),
        ("web", "a.csv (csv). Read it with the tools."),
    ],
)
def test_files_are_named_and_only_without_tools_shown(mode, text):
    user = build_gaia_messages(QUESTION, mode, "official", [SHEET])[1].content
    assert user.startswith(f"{QUESTION}\n\nFile of this question: {text}")
    assert ("x,y\n1,2\n--- end of a.csv ---" in user) == (mode == "none")


def test_a_file_without_text_is_said_not_to_be_shown():
    user = build_gaia_messages(QUESTION, "none", "bare", [SHEET, SOUND])[1].content
    assert "b.mp3 (audio). It cannot be shown as text." in user
    assert "begin of b.mp3" not in user
    nameless = build_gaia_messages(QUESTION, "none", "bare", [PromptFile("c", "", "")])[1].content
    assert "File of this question: c.\n--- begin of c ---\n\n--- end of c ---" in nameless
