"""The official scorer: every quirk of it, its complaints, and answers that are hostile."""

from __future__ import annotations

import pytest

from evalcore.benchmarks.gaia.score import (
    ScoredAnswer,
    question_scorer,
    select_branch,
)
from evalcore.i18n import Note
from tests.support.hangs import stop_hang
from tests.support.rows import each_row

RIGHT = [
    # numbers, with no tolerance
    ("17", "17"),
    ("17.0", "17"),
    ("17.", "17"),
    (" 17\n", "17"),
    ("1,7", "17"),
    ("$17", "17"),
    ("17%", "17"),
    ("1,234", "1234"),
    ("1_000", "1000"),
    ("1e3", "1000"),
    ("+5", "5"),
    ("-0", "0"),
    ("１７", "17"),
    ("٣", "3"),
    ("\u00a017", "17"),
    ("Infinity", "inf"),
    ("who knows", "inf"),
    ("", "inf"),
    (None, "inf"),
    ("9" * 400, "1e999"),
    # lists, by the kind of the element of the truth
    ("1.0; 2", "1, 2"),
    ("a , b", "a,b"),
    ("sea gull, B", "seagull, b"),
    ("$1, 2%", "1, 2"),
    ("1,234", "1,234"),
    ("1;234", "1,234"),
    ("a,", "a, "),
    ("x, so much", "X, inf"),
    ("1, ?", "1, ?"),
    ("Ünal, é", "ünal, É"),
    # texts without ASCII punctuation
    ("50", "50%"),
    ("Sea Gull", "seagull"),
    ("**Paris**", "Paris"),
    ('"Paris."', "paris"),
    ("co-op", "coop"),
    ("!!!", "???"),
    ("", "..."),
    ("a\u00a0b", "a b"),
    ("a\tb\nc", "abc"),
    ("A; B", "A B"),
    ("ÜNAL", "ünal"),
    (None, "none"),
    ("None", "None"),
]
WRONG = [
    ("17 km", "17"),
    ("**17**", "17"),
    ("(17)", "17"),
    ("−17", "-17"),
    ("1\u2009234", "1234"),
    ("16", "17"),
    ("17.0000001", "17"),
    ("17, 18", "17"),
    ("seventeen", "17"),
    ("0x11", "17"),
    ("1__0", "10"),
    ("€17", "17"),
    ("", "17"),
    (None, "0"),
    ("nan", "nan"),
    ("inf", "nan"),
    ("-x", "-inf"),
    ("a, b", "a, b, c"),
    ("a, b", "a, b, "),
    ("a, b,", "a, b"),
    ("a, b.", "a, b"),
    ("b, a", "a, b"),
    ("1, two", "1, 2"),
    ("nan, 1", "nan, 1"),
    ("St. Paul, MN", "St Paul, MN"),
    ("1234", "1,234"),
    ("a、b", "a, b"),
    ("0.5", "50%"),
    ("the Paris", "Paris"),
    ("Zurich", "Zürich"),
    ("a\u200bb", "ab"),
    ("2019–20", "201920"),
    ("it’s", "its"),
    ("straße", "strasse"),
    ("İstanbul", "istanbul"),
    ("", "Paris"),
]


@each_row(("answer", "truth"), RIGHT)
def test_what_is_officially_right(answer, truth):
    scored = question_scorer(answer, truth)
    assert scored.right
    assert not scored.note
    assert not scored.warnings


@each_row(("answer", "truth"), WRONG)
def test_what_is_officially_wrong(answer, truth):
    scored = question_scorer(answer, truth)
    assert not scored.right
    assert scored.note


@pytest.mark.parametrize(
    ("truth", "branch"),
    [
        ("17", "number"),
        (" 1e3 ", "number"),
        ("nan", "number"),
        ("-Infinity", "number"),
        ("1,234", "list"),
        ("$1;", "list"),
        ("50%", "string"),
        ("$17", "string"),
        ("", "string"),
        ("a、b", "string"),
    ],
)
def test_the_truth_alone_chooses_the_comparison(truth, branch):
    assert select_branch(truth) == branch
    assert question_scorer("1, 2", truth).branch == branch


def test_complaints_are_the_official_ones():
    assert question_scorer("a", "a, b").warnings == (
        "Answer lists have different lengths, returning False.",
    )
    assert question_scorer("$1 km", "1").printed == (
        "String 1 km cannot be normalized to number str.",
    )
    both = question_scorer("x, a, y", "1, b, 2")
    assert both.printed == (
        "String x cannot be normalized to number str.",
        "String  y cannot be normalized to number str.",
    )
    assert question_scorer("x", "inf").printed  # right, and complained of
    assert question_scorer("a", "b") == ScoredAnswer(
        False, "string", Note("gaia_other_text", part="a")
    )


@pytest.mark.parametrize(
    ("answer", "truth", "note"),
    [
        ("17 km", "17", "The answer is not a number: 17 km."),
        ("18", "17", "The answer is another number: 18."),
        ("a", "a,b", "The list has another number of elements: 1."),
        ("1,x", "1,2", "Element 2 of the list is not a number: x."),
        ("1,c,d", "1,a,b", "Element 2 of the list differs: c."),
        ("", "a", "The answer is another text: nothing."),
        ("a\n" * 99, "a", f"The answer is another text: {'a ' * 30}…."),
    ],
)
def test_notes_are_sentences_that_tell_nothing_of_the_truth(answer, truth, note):
    assert question_scorer(answer, truth).note == note


@pytest.mark.parametrize(
    ("answer", "truth", "right"),
    [
        (17, "17", True),
        (17.0, "17", True),
        (True, "true", True),
        (["a"], "a", True),
        (["a", "b"], "a, b", False),
        ([1], "1", False),
        ({}, "x", False),
    ],
)
def test_what_is_no_text_is_read_as_python_writes_it(answer, truth, right):
    assert question_scorer(answer, truth).right == right


def test_halves_of_characters_reach_no_note_and_break_nothing():
    from evalcore.records import to_json

    for truth in ("17", "1, 2", "x"):
        scored = question_scorer("\ud800, \udfff", truth)
        assert not scored.right
        assert to_json(scored)
    assert question_scorer("a\ud800", "A\ud800").right


@pytest.mark.parametrize("truth", ["17", "1, 2", "Paris", "x" * 1_000_000])
@pytest.mark.parametrize("piece", ["1", "a", ",", " ", "$", "\x00", "-", "ﬁ", "1_"])
def test_time_is_linear(truth, piece):
    with stop_hang():
        question_scorer(piece * 1_000_000, truth)
