"""The four views of an answer, and what an answer did where no function fits."""

from __future__ import annotations

import pytest

from evalcore.benchmarks.bfcl.answers import (
    ABSTENTION,
    prompt_text,
    reference_answer,
    reference_calls,
    tool_calls,
)
from evalcore.benchmarks.bfcl.score import (
    classify_abstention,
    classify_call_reading,
    classify_conversation_reading,
    decode_answer,
    is_infrastructure_error,
    score_all_views,
    score_fuzzy,
    score_official,
    score_strict,
    score_tolerant,
)
from evalcore.errors import UsageError
from tests.support.bfcl import entry, function, weather

PYTHON = "prompt_python"


def valid(item, answer, mode="") -> str:
    """The views that accept the answer, by their first letters."""
    all_views = score_all_views(decode_answer(item, answer, mode))
    return "".join(name[0] for name, scored in all_views.items() if scored.valid)


@pytest.mark.parametrize(
    ("answer", "accepted"),
    [
        ("[weather.now(city='Oslo', days=3)]", "otsf"),
        ("[weather.now(city='oslo', days=3)]", "otf"),
        ("```python\n[weather.now(city='Oslo', days=3)]\n```", "tsf"),
        ('{"name": "weather.now", "arguments": {"city": "Oslo", "days": 3}}', "tsf"),
        ("[weather.now('Oslo', 3)]", "tsf"),
        ("[weather.now(city='Oslo', days=3.0)]", "f"),
        ("[weather.now(city='Oslo', days='3')]", ""),
        ("[weather.now(city='Oslo')]", ""),
        ("[weather.now(city='Oslo', days=3, more=1)]", ""),
        ("[weather.now(city=['Oslo'], days=3)]", ""),
        ("[weather_now(city='Oslo', days=3)]", ""),
        ("[weather.now(city='Oslo', days=3), weather.now(city='Oslo', days=3)]", ""),
        ("I cannot help.", ""),
        ("", ""),
    ],
)
def test_views_of_a_text(answer, accepted):
    assert valid(weather(), answer) == accepted


@pytest.mark.parametrize(
    ("answer", "reading", "call_format"),
    [
        ("[weather.now(city='Oslo', days=3)]", "native", "pythonic"),
        ("```python\n[weather.now(city='Oslo')]\n```", "rescued", "fenced_pythonic"),
        (
            '<tool_call>{"name": "weather.now", "arguments": {"city": "Oslo"}}</tool_call>',
            "rescued",
            "hermes",
        ),
        ("[weather.now(city=", "lost", ""),
        ("I cannot help.", None, ""),
        ("", None, ""),
    ],
)
def test_how_the_calls_of_an_answer_were_read(answer, reading, call_format):
    decoded = decode_answer(weather(), answer)
    assert (classify_call_reading(decoded), decoded.call_format) == (reading, call_format)


NATIVE_CALL = [{"name": "weather_now", "arguments": '{"city": "Oslo"}'}]


@pytest.mark.parametrize(
    ("said", "mode", "reading"),
    [
        (["[weather.now(city='Oslo')]", "It rains."], PYTHON, "native"),
        ([NATIVE_CALL, "I called weather.now(city='Oslo') for you."], "fc", "native"),
        ([NATIVE_CALL, [{"name": "weather_now", "arguments": "{"}]], "fc", "lost"),
        ([NATIVE_CALL, '{"name": "weather.now", "arguments": {"city": "Rome"}}'], "fc", "lost"),
        (['<tool_call>{"name": "weather.now", "arguments": {"ci'], PYTHON, "lost"),
        (["<think><tool_call></think>It rains.", "Bye."], "fc", None),
    ],
)
def test_how_the_calls_of_a_conversation_were_read(said, mode, reading):
    readings = [decode_answer(weather("multi_turn_base"), answer, mode) for answer in said]
    assert classify_conversation_reading(readings) == reading


def test_views_of_native_calls():
    text = '{"city": "Oslo", "days": 3}'
    assert valid(weather(), [{"name": "weather_now", "arguments": text}]) == "otsf"
    assert valid(weather(), [{"name": "weather.now", "arguments": text}]) == "tsf"
    assert valid(weather(), "[weather.now(city='Oslo', days=3)]", "fc") == "tsf"
    assert valid(weather(), None) == ""


def test_what_a_scored_answer_tells():
    scored = score_official(decode_answer(weather(), "[weather.now(city='Rome', days=3)]"))
    assert (scored.error_type, scored.group) == ("value_error:string", "value")
    assert (scored.argument, scored.output, scored.expected) == (("city",), 0, 0)
    assert scored.calls == ({"weather.now": {"city": "Rome", "days": 3}},)
    assert "'Rome'" in scored.message
    assert "Oslo" in scored.message
    failed = score_official(decode_answer(weather(), "no"))
    assert failed.group == "decode"
    assert failed.calls is None
    right = score_official(decode_answer(weather(), "weather.now(city='Oslo', days=3)"))
    assert (right.score, right.group, right.error_type) == (1.0, None, "")


def test_the_fuzzy_score_is_the_share_of_right_arguments():
    assert score_fuzzy(
        decode_answer(weather(), "weather.now(city='Oslo', days=4)")
    ).score == pytest.approx(2 / 3)
    extra = decode_answer(weather(), "weather.now(city='Oslo', days=3, x=1)")
    assert score_fuzzy(extra).score == pytest.approx(3 / 4)
    assert score_fuzzy(decode_answer(weather(), "other(city='Oslo', days=3)")).score == 0
    assert score_strict(decode_answer(weather(), "weather.now(city='Oslo', days=4)")).score == 0


def test_several_calls_are_matched_as_a_whole_by_strict_and_fuzzy():
    offered = [function("f", {"x": "integer"}, ("x",))]
    item = entry("parallel", offered, [{"f": {"x": [1, 2]}}, {"f": {"x": [1]}}])
    assert valid(item, "[f(x=1), f(x=2)]") == "sf"  # upstream's order is greedy
    assert valid(item, "[f(x=2), f(x=1)]") == "otsf"
    assert score_fuzzy(decode_answer(item, "[f(x=1), f(x=9)]")).score == 0.5
    assert score_fuzzy(decode_answer(item, "[f(x=1)]")).score == 0.5
    assert score_fuzzy(decode_answer(item, "[f(x=9), f(x=1)]")).argument == ("x",)


def test_nested_values_are_matched_by_strict_and_fuzzy():
    offered = [function("f", {"d": "dict"}, ("d",))]
    truth = [{"f": {"d": [{"k": [{"n": ["Vv"]}], "l": [["A b"], ""], "m": ["", None]}]}}]
    item = entry("simple_python", offered, truth)
    assert valid(item, "f(d={'k': {'n': 'Vv'}, 'l': ['A b']})") == "sf"  # upstream cannot match it
    assert valid(item, "f(d={'k': {'n': 'vv'}, 'l': ['ab'], 'm': None})") == "f"
    assert valid(item, "f(d={'k': {'n': 'vv', 'o': 1}})") == ""
    assert valid(item, "f(d={})") == ""


def test_java_arrays_pass_where_upstream_keeps_their_quotes():
    items = {"type": "Array", "items": {"type": "String"}}
    item = entry(
        "simple_java",
        [function("A.f", {"a": items, "b": "long"})],
        [{"A.f": {"a": [["x"]], "b": [5]}}],
    )
    assert valid(item, 'A.f(a=new String[]{"x"}, b=5L)') == "sf"
    assert valid(item, "A.f(a=new String[]{x}, b=5L)") == "otsf"


RELEVANCE = [
    # where no function fits: answer, kind, views
    ("None of them fits.", "abstained", "otsf"),
    ("[]", "abstained", "otsf"),
    ("You could try weather.now instead.", "abstained", "otsf"),
    ("", "empty", "otf"),
    ("<think>Hm.</think>", "empty", "otf"),
    ("weather.now(city='Oslo')", "call", ""),
    ("other()", "call", ""),
    ("```python\n[weather.now(city='Oslo')]\n```", "call", "o"),
    ('{"name": "weather.now", "arguments": {}}', "call", "o"),
    ("<tool_call>{broken</tool_call>", "malformed", "o"),
    ("weather.now(city=", "malformed", "o"),
    ("[{}]", "malformed", "o"),
    ([], "empty", "otf"),
    (None, "empty", "otf"),
    ([{"name": "weather_now", "arguments": "{}"}], "call", ""),
    ([{"name": "weather_now", "arguments": "{"}], "malformed", "o"),
    ([{"name": "weather_now", "arguments": "null"}], "malformed", "o"),
]


@pytest.mark.parametrize(("answer", "what", "accepted"), RELEVANCE)
def test_irrelevance(answer, what, accepted):
    item = weather("live_irrelevance")
    mode = PYTHON if isinstance(answer, str) else "fc"
    assert classify_abstention(decode_answer(item, answer, mode)) == what
    assert valid(item, answer, mode) == accepted
    if "o" not in accepted:
        assert (
            score_official(decode_answer(item, answer, mode)).error_type
            == "irrelevance_error:decoder_success"
        )


@pytest.mark.parametrize(
    ("answer", "accepted"),
    [
        ("weather.now(city='Rome')", "otsf"),
        ("other(a=1)", "ot"),
        ("```python\nweather.now(city='Rome')\n```", "tsf"),
        ("[]", ""),
        ("", ""),
        ("I cannot.", ""),
    ],
)
def test_relevance(answer, accepted):
    assert valid(weather("live_relevance"), answer) == accepted


def test_failed_requests_of_imported_files_are_known():
    assert is_infrastructure_error("Error during inference: timed out")
    assert not is_infrastructure_error("[f()]")
    assert not is_infrastructure_error(None)


@pytest.mark.parametrize("category", ["simple_python", "live_irrelevance", "live_relevance"])
@pytest.mark.parametrize("mode", ["fc", PYTHON])
def test_reference_answers_pass_in_every_view(category, mode):
    item = weather(category)
    assert valid(item, reference_answer(item, mode), mode) == "otsf"


def test_reference_calls_and_their_spellings():
    calls = reference_calls(weather())
    assert calls == [{"weather.now": {"city": "Oslo", "days": 3, "units": "metric"}}]
    assert reference_calls(weather(), "omitted") == [{"weather.now": {"city": "Oslo", "days": 3}}]
    assert prompt_text(calls) == "[weather.now(city='Oslo', days=3, units='metric')]"
    assert tool_calls(calls)[0].name == "weather_now"
    assert reference_answer(weather("irrelevance"), PYTHON) == ABSTENTION


def test_an_unknown_mode_is_refused():
    with pytest.raises(UsageError, match="unknown mode 'chat'"):
        decode_answer(weather(), "[]", "chat")


def test_the_tolerant_view_accepts_what_the_official_one_does():
    item = entry("simple_python", [function("f", {"a": "string"})], [{"f": {"a": ["x[0]", ""]}}])
    for answer in ("f(a=x[0])", "f('ignored')", "f()"):
        assert score_official(decode_answer(item, answer)).valid
        assert score_tolerant(decode_answer(item, answer)).valid
