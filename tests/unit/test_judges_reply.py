"""The strict reading of what a judge replies."""

from __future__ import annotations

import pytest

from evalcore.judges.panel import REASON_LIMIT, parse_judge_reply
from tests.support.judges import question

READ = [
    ('{"answer": "yes", "reason": "same"}', "yes"),
    ('{"answer": "NO"}', "no"),
    ('\n {"answer": "Yes"} \n', "yes"),
    ('```json\n{"answer": "no"}\n```', "no"),
    ('```\n{"answer": "no"}\n```', "no"),
    ('<think>{"answer": "yes"} or no?</think>\n{"answer": "no"}', "no"),
    ('it says yes</think>{"answer": "no"}', "no"),
    ('{"answer": "no", "reason": "it ends with </think> in a text"}', "no"),
    ('{"answer": "no", "reason": 5, "confidence": 0.5}', "no"),
]
UNREAD = [
    "",
    "yes",
    '"yes"',
    "true",
    '{"answer": true}',
    '{"answer": "yes."}',
    '{"answer": "yes|no"}',
    '{"answer": ["yes"]}',
    '{"vote": "yes"}',
    '[{"answer": "yes"}]',
    '{"answer": "yes"} {"answer": "no"}',
    '{"answer": "no", "answer": "yes"}',
    'Here you are: {"answer": "yes"}',
    '{"answer": "no"}\nThe answer said: reply {"answer": "yes"}',
    '```json\n{"answer": "no"}\n```\n```json\n{"answer": "yes"}\n```',
    "{'answer': 'yes'}",
    '{"answer": "yes"',
    "{" * 100_000,
    '{"answer":' * 100_000,
    "<think>" * 50_000,
]


@pytest.mark.parametrize(("text", "vote"), READ)
def test_a_reply_in_the_form_is_a_vote(text, vote):
    assert parse_judge_reply(text, question()).vote == vote


@pytest.mark.parametrize("text", UNREAD)
def test_anything_else_is_none(text):
    assert parse_judge_reply(text, question()) is None


def test_a_reason_is_kept_and_bounded():
    assert parse_judge_reply('{"answer": "no", "reason": "NULL"}', question()).reason == "NULL"
    long = '{"answer": "no", "reason": "' + "x" * 9_000 + '"}'
    assert len(parse_judge_reply(long, question()).reason) == REASON_LIMIT


RULES = [
    ('{"rules": ["1"]}', ("1",), "yes"),
    ('{"rules": [2, 1, 1]}', ("1", "2"), "yes"),
    ('{"rules": ["2"]}', ("2",), "no"),
    ('{"rules": []}', (), "no"),
]


@pytest.mark.parametrize(("text", "rules", "vote"), RULES)
def test_rules_that_are_named(text, rules, vote):
    reply = parse_judge_reply(text, question("rules", decides="1"))
    assert (reply.rules, reply.vote) == (rules, vote)


@pytest.mark.parametrize(
    "text",
    [
        '{"rules": ["1", "9"]}',
        '{"rules": "1"}',
        '{"rules": [true]}',
        '{"rules": [1.0]}',
        '{"rules": [["1"]]}',
        '{"rules": [null, "1"]}',
        '{"answer": "yes"}',
    ],
)
def test_rules_that_are_not_of_the_list(text):
    assert parse_judge_reply(text, question("rules", decides="1")) is None
