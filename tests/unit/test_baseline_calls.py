"""`baseline:keywords`: which function it calls, which values it copies, and when it calls none."""

from __future__ import annotations

import asyncio
import json

import pytest

from evalcore.benchmarks.bfcl.baseline import build_keyword_call
from evalcore.errors import TargetFailure
from evalcore.records import GenerationRequest, Message, TargetSpec
from evalcore.targets.baseline import Baseline
from tests.support.bfcl import function

WEATHER = function("city.weather", {"city": "string", "days": "integer"}, ("city", "days"))
TICKETS = function("ticket.buy", {"seats": "integer"}, ("seats",))


def asked(question: str, *functions: dict[str, object], category: str = "multiple") -> str:
    options = {"functions": json.dumps(functions), "metric": category}
    return build_keyword_call(options, [Message("user", question)])


def test_the_function_with_most_common_words_gets_the_values_that_stand_in_the_question():
    answer = asked("What is the weather in Oslo for 3 days?", TICKETS, WEATHER)
    assert answer == '[city.weather(city="Oslo", days=3)]'


def test_no_common_word_and_no_function_is_no_call():
    assert asked("Sing a song.", WEATHER) == ""
    assert asked("What is the weather?") == ""


def test_results_of_tools_are_answered_by_nothing():
    assert asked("[{'role': 'tool', 'name': 'weather()', 'content': 'weather'}]", WEATHER) == ""


@pytest.mark.parametrize(
    ("kind", "category", "written"),
    [
        ("boolean", "simple_python", "True"),
        ("boolean", "simple_java", "true"),
        ("long", "simple_java", "7L"),
    ],
)
def test_values_are_written_in_the_language(kind: str, category: str, written: str):
    lamp = function("lamp.switch", {"value": kind}, ("value",))
    assert asked("Switch lamp 7", lamp, category=category) == f"[lamp.switch(value={written})]"


def test_what_is_copied_stays_within_its_quotation_marks():
    note = function("note.write", {"text": "string"}, ("text",))
    assert asked(r"Write the note 'a\'", note) == '[note.write(text="a ")]'


def test_a_baseline_refuses_what_it_knows_nothing_of():
    request = GenerationRequest(messages=(), input={"benchmark": "bfcl"})
    with pytest.raises(TargetFailure, match="answers sql_understanding"):
        asyncio.run(Baseline(TargetSpec("baseline:sqlglot")).generate(request))
