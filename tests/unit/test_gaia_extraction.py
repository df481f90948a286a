"""Finding the short answer in replies of all kinds, and in time on hostile ones."""

from __future__ import annotations

import pytest

from evalcore.benchmarks.gaia.extraction import (
    ExtractedAnswer,
    extract_answer,
    to_answer_text,
    unwrap_answer,
)
from tests.support.hangs import stop_hang
from tests.support.rows import each_row

ASKED_FOR = [
    ("FINAL ANSWER: 17", "17"),
    ("I think.\nFINAL ANSWER: 17\n", "17"),
    ("final answer : 17", "17"),
    ("Final Answer：北京", "北京"),
    ("FINAL_ANSWER: 17", "17"),
    ("FINAL ANSWER: [17]", "17"),
    ("**FINAL ANSWER:** 17", "17"),
    ("**FINAL ANSWER: 17**", "17"),
    ("**FINAL ANSWER**: 17", "17"),
    ("__FINAL ANSWER:__ 17", "17"),
    ("*FINAL ANSWER: 17*", "17"),
    ("**FINAL ANSWER: 17**.", "17."),
    ("**FINAL ANSWER: [17]**", "17"),
    ("FINAL ANSWER: **17**", "17"),
    ("FINAL ANSWER:**17**", "17"),
    ("### FINAL ANSWER: 17", "17"),
    ("> - FINAL ANSWER: 17", "17"),
    ("so my FINAL ANSWER: 17", "17"),
    ("FINAL ANSWER:\n\n  17  \nthat is it", "17"),
    ("**FINAL ANSWER:**\n17", "17"),
    ("FINAL ANSWER:\n```text\n17\n```", "17"),
    ("FINAL ANSWER: `17`", "17"),
    ('FINAL ANSWER: "Paris"', "Paris"),
    ("FINAL ANSWER: “Paris”", "Paris"),
    ("FINAL ANSWER: 5\nno, wrong\nFINAL ANSWER: 6", "6"),
    ("FINAL ANSWER: 5 FINAL ANSWER: 6", "6"),
    ("FINAL ANSWER: 17\r\n", "17"),
    ("FINAL ANSWER: 1, 2; 3", "1, 2; 3"),
    ("FINAL ANSWER: a: b", "a: b"),
    ("FINAL ANSWER: 17 km.", "17 km."),
    ("FINAL ANSWER: 2*3", "2*3"),
    ('FINAL ANSWER: "a", "b"', '"a", "b"'),
    ("FINAL ANSWER: [1], [2]", "[1], [2]"),
    ("FINAL ANSWER: [[1]]", "[1]"),
    ("FINAL ANSWER: **a** and **b**", "**a** and **b**"),
    ("ANSWER: 4\nFINAL ANSWER: 5\nANSWER: 6", "5"),
    ("<think>FINAL ANSWER: 1</think>\nFINAL ANSWER: 2", "2"),
    ("FINAL ANSWER: 1 is a draft</think>FINAL ANSWER: 2", "2"),
    ("<think>I am sure. FINAL ANSWER: 1", "1"),
    ("FINAL ANSWER: 2<think>FINAL ANSWER: 3</think>", "2"),
]
RESULT = [
    ("ANSWER: 4", "4", "answer"),
    ("Draft. Answer: 3\n**Answer:** 4\nbye", "4", "answer"),
    ("the semifinal answer: 4", "4", "answer"),
    ("answer：四", "四", "answer"),
    ("so \\boxed{17} it is", "17", "boxed"),
    ("\\boxed{1} then $\\boxed{\\frac{1}{2}}$", "\\frac{1}{2}", "boxed"),
    ("\\boxed{1", "\\boxed{1", "fallback"),
    ("thinking\n\n Paris \n \n", "Paris", "fallback"),
    ("the final answer is 17", "the final answer is 17", "fallback"),
    ("reanswer: 4", "reanswer: 4", "fallback"),
    ("Answer: 4\nFINAL ANSWER:", "4", "answer"),
    ("FINAL ANSWER:", "", "none"),
    ("It is late.\n**FINAL ANSWER:**", "", "none"),
    ("<think>\n17", "17", "fallback"),
    ("<think>FINAL ANSWER: 1</think>", "", "none"),
    ("", "", "none"),
    (" \n\t\n", "", "none"),
]


@each_row(("text", "answer"), ASKED_FOR)
def test_the_form_that_was_asked_for(text, answer):
    actual_answer = extract_answer(text)
    assert (actual_answer.answer, actual_answer.how) == (answer, "final_answer")
    assert actual_answer.strict == answer


@pytest.mark.parametrize(("text", "answer", "how"), RESULT)
def test_other_forms_are_found_and_not_strict(text, answer, how):
    assert extract_answer(text) == ExtractedAnswer(answer, how)
    assert extract_answer(text).strict == ""


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("", ""),
        ("**", "**"),
        ("[", "["),
        ("[]", ""),
        ("''", ""),
        ("it's", "it's"),
        ("'tis", "'tis"),
        ("**'a'**", "a"),
        ("[a] b [c]", "[a] b [c]"),
        ("]a[", "]a["),
        ("[a]]", "[a]]"),
        ("(17)", "(17)"),
    ],
)
def test_one_layer_of_marks_and_nothing_else(text, bare):
    assert unwrap_answer(text) == bare


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a, b", "a, b"),
        (17, "17"),
        (0.5, "0.5"),
        (True, "True"),
        (None, "None"),
        ([1, "b", [2]], "1, b, 2"),
        ({"a": "ü"}, '{"a": "ü"}'),
    ],
)
def test_values_of_a_tools_argument(value, text):
    assert to_answer_text(value) == text


HOSTILE = {
    "labels": "FINAL ANSWER:" * 80_000,
    "half labels": "**final answer " * 70_000,
    "stars": "*" * 1_000_000,
    "underlines": "final_" + "_" * 1_000_000,
    "brackets": "FINAL ANSWER: " + "[" * 500_000 + "]" * 500_000,
    "open brackets": "FINAL ANSWER: [" + "[ ]" * 330_000,
    "boxes": "\\boxed{" * 150_000,
    "blanks": "FINAL ANSWER:\n" + " " * 1_000_000,
    "blank lines": "FINAL ANSWER:" + "\n \r" * 330_000,
    "fences": "FINAL ANSWER:\n" + "```\n" * 250_000,
    "tags": "<think>" * 150_000,
    "closing tags": "</think>" * 130_000,
    "answers": "answer" + " " * 1_000_000 + ":",
    "quotes": "FINAL ANSWER: " + '"' * 1_000_000,
    "surrogates": "FINAL ANSWER: " + "\ud800" * 500_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_time_is_linear(name):
    with stop_hang():
        extract_answer(HOSTILE[name])
