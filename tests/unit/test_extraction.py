"""Finding the answer in what models really write."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.benchmarks.sql_understanding.extraction import extract_json_answer
from evalcore.records import from_json, to_json
from tests.support.hangs import stop_hang

FIELDS = ("columns", "rows")
ANSWER = {"columns": ["a"], "rows": [[1], [None]]}
TEXT = json.dumps(ANSWER)

LENIENT = {
    "fence with a language": f"```json\n{TEXT}\n```",
    "fence without": f"```\n{TEXT}\n```",
    "fence on one line": f"```json {TEXT} ```",
    "prose before and after": f"Sure! The result is {TEXT}. Anything else?",
    "reasoning block": f"<think>maybe {{'columns': []}} no</think>\n{TEXT}",
    "reasoning without its opening tag": f"let me see {{}} </think> {TEXT}",
    "single quotes": "{'columns': ['a'], 'rows': [[1], [None]]}",
    "null in single quotes": "{'columns': ['a'], 'rows': [[1], [null]]}",
    "trailing comma": '{"columns": ["a"], "rows": [[1], [null],]}',
    "other objects around": f'The schema is {{"t": 1}}. {TEXT} I used {{"x": 2}}.',
    "a draft, then the answer": f'{{"columns": ["b"], "rows": []}} Correction: {TEXT}',
    "apostrophes in prose": f"It's Bob's table: {TEXT}",
}


ODD = {
    "names without quotes": '{columns: ["a"], rows: [[1], [null]]}',
    "comments": '{"columns": ["a"], // one\n "rows": [[1], [NULL]] /* two */}',
    "None among double quotes": '{"columns": ["a"], "rows": [[1], [None],]}',
    "inside of another object": json.dumps({"answer": ANSWER}),
    "inside of a list": f"The answer: {json.dumps({'answers': [ANSWER]})}",
    "in a string": json.dumps(TEXT),
    "in a string of an object": json.dumps({"answer": TEXT}),
    "typographic quotes": TEXT.replace('"', "“", 1).replace('"', "”"),
    "wide marks": TEXT.replace(":", "：").replace(",", "，"),
    "entities": "<pre>" + TEXT.replace('"', "&quot;") + "</pre>",
    "other blanks": TEXT.replace(" ", "\u00a0") + "\u200b",
    "LaTeX": f"$\\boxed{{{TEXT}}}$",
    "capital names": json.dumps({"Columns": ["a"], "ROWS": [[1], [None]]}),
    "an example after it": f'{TEXT}\n\n(If NULL were out: {{"columns": ["a"], "rows": [[1]]}}.)',
    "an example before it": f'Example: {{"columns": ["x"], "rows": []}}\nThe answer: {TEXT}',
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_an_object_in_odd_spelling_is_lenient(text: str) -> None:
    json_answer = extract_json_answer(text, FIELDS)
    assert json_answer.value == ANSWER
    assert json_answer.kind == "lenient"


IDENTIFIED = {"sql_type": "DML", "statement_type": "MERGE"}


@pytest.mark.parametrize(
    "text",
    [
        "sql_type: DML\nstatement_type: MERGE",
        "- **sql_type**: DML\n- **statement_type**: `MERGE`",
        "SQL type: DML\nStatement type: MERGE\n\nA MERGE changes data.",
        '{"sql\\_type": "DML", "statement\\_type": "MERGE"}',
        "{'sql_type': \"DML\", 'statement_type': \"MERGE\"}",
        '<think>{"sql_type": "DDL", "statement_type": "DROP"}</think>{"SQL Type": "DML", '
        '"Statement Type": "MERGE"}',
    ],
)
def test_an_identification_is_read(text: str) -> None:
    answer = extract_json_answer(text, list(IDENTIFIED))
    assert (answer.kind, answer.value) == ("lenient", IDENTIFIED)


def test_an_identification_that_is_no_answer_is_none() -> None:
    for text in ("sql_type: DML", "sql_type: DML\nsql_type: DDL\nstatement_type: MERGE", "DML"):
        assert extract_json_answer(text, list(IDENTIFIED)).kind == "none"


THINKING = {
    "never closed": f"<think>\nmaybe {TEXT} or not",
    "another tag": f"<thought>{TEXT}</thought>",
    "brackets": f"[THINK]{TEXT}[/THINK] I do not know.",
    "a channel without a final one": f"<|channel|>analysis<|message|>{TEXT}",
}


@pytest.mark.parametrize("text", THINKING.values(), ids=THINKING.keys())
def test_what_is_only_thought_is_no_answer(text: str) -> None:
    assert extract_json_answer(text, FIELDS).kind == "none"


def test_the_bare_object_is_strict() -> None:
    json_answer = extract_json_answer(f"  {TEXT}\n", FIELDS)
    assert (json_answer.kind, json_answer.value) == ("strict", ANSWER)


@pytest.mark.parametrize("text", LENIENT.values(), ids=LENIENT.keys())
def test_an_object_that_had_to_be_found_is_lenient(text: str) -> None:
    json_answer = extract_json_answer(text, FIELDS)
    assert (json_answer.kind, json_answer.value) == ("lenient", ANSWER)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot run SQL.",
        '{"unrelated": 1}, that is all',
        TEXT[:-4],  # cut off
        "[[1], [2]]",
        "{" * 50_000,
        '{"columns": __import__("os").system("true"), "rows": 1}',
    ],
)
def test_what_holds_no_answer_is_none(text: str) -> None:
    assert extract_json_answer(text, FIELDS).kind == "none"


HUGE = 200_000
HOSTILE = {
    "braces": "{" * HUGE,
    "brackets": "[" * HUGE,
    "backticks": "`" * HUGE,
    "quotes": '"' * HUGE,
    "nested": '{"columns":' * 20_000 + "1" + "}" * 20_000,
    "nested lists": '{"columns": ' + "[" * 90_000 + "]" * 90_000 + "}",
    "open thoughts": "<think>" * (HUGE // 7),
    "a word after a fence": "```" + "a" * HUGE,
    "spaces after a fence": "```" + " " * HUGE,
    "tiny objects": "{a}" * (HUGE // 3),
    "tiny wrong answers": "{'rows':x}" * (HUGE // 10),
    "operators": "{'rows': " + "-" * 100_000 + "1}",
    "a number too long": '{"rows": ' + "9" * 5000 + "}",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_answers_take_no_time(text: str) -> None:
    with stop_hang():
        assert extract_json_answer(text, FIELDS).kind == "none"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('{"rows": [[NaN, -Infinity, 1e999]]}', [["NaN", "-Infinity", "Infinity"]]),
        ('{"rows": [["\\ud83d", "\ud83d", "\\ud83d\\ude00"]]}', [["\ufffd", "\ufffd", "😀"]]),
        ("{'rows': {1: 2, None: (3,)}}", {"1": 2, "None": [3]}),
        (f'{{"rows": {"9" * 4000}}}', int("9" * 4000)),
        ('{"rows": 1, "rows": 2}', 2),
    ],
)
def test_what_is_found_can_be_journaled(text: str, rows: object) -> None:
    json_answer = extract_json_answer(text, FIELDS)
    assert json_answer.value == {"rows": rows}
    assert from_json(type(json_answer), to_json(json_answer)) == json_answer


def test_an_answer_after_a_very_long_thought_is_found() -> None:
    text = f"<think>{'hm ' * HUGE}</think>{TEXT}"
    assert extract_json_answer(text, FIELDS).value == ANSWER


def test_an_answer_before_a_closed_thought_is_found() -> None:
    assert extract_json_answer(f"{TEXT} <think>was it right?</think> Yes.", FIELDS).value == ANSWER


def test_braces_inside_texts_do_not_end_an_object() -> None:
    answer = {"columns": ["a}"], "rows": [['{"x"']]}
    json_answer = extract_json_answer(f"Result: {json.dumps(answer)} done", FIELDS)
    assert json_answer.value == answer


@given(st.text(max_size=300))
def test_no_text_is_an_error(text: str) -> None:
    assert extract_json_answer(text, FIELDS).kind in ("strict", "lenient", "none")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=4),
        max_leaves=12,
    ),
    st.sampled_from(["{}", "Here: {} .", "```json\n{}\n```", "<think>x</think>{}"]),
)
def test_any_value_survives_any_wrapping(value: object, wrapping: str) -> None:
    answer = {"columns": ["a"], "rows": value}
    json_answer = extract_json_answer(wrapping.replace("{}", json.dumps(answer)), FIELDS)
    assert json_answer.value == answer
