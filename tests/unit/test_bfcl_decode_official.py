"""Prompt-mode and native answers decoded as upstream does, quirk by quirk."""

from __future__ import annotations

import sys

import pytest

from evalcore.benchmarks.call_decoding import MODES, DecodeError, decode_calls
from evalcore.benchmarks.call_decoding.call import to_plain_value
from evalcore.errors import UsageError
from evalcore.records import ToolCall

PYTHON = "prompt_python"
F1 = [{"f": {"a": 1}}]


@pytest.mark.parametrize(
    "text",
    [
        "f(a=1)",
        "[f(a=1)]",
        "```f(a=1)```",
        "```\n[f(a=1)]\n```",
        "[f(a=1),]",
        "[f(a=1)",
        "f(a=1)]",
        "  `[f(a=1)]` ",
        "[f(\na=1\n)]",
        "[f(2, a=1)]",  # positional arguments vanish
        "[ f(a=1) ]",
    ],
)
def test_forms_that_are_read(text):
    assert decode_calls(text, PYTHON) == F1


@pytest.mark.parametrize(
    "text",
    [
        "```python\n[f(a=1)]\n```",
        "Sure: [f(a=1)]",
        "[f(a=1)] because",
        "<think>x</think>[f(a=1)]",
        "x = f(a=1)",
        "[[f(a=1)]]",
        "await f(a=1)",
        '"[f(a=1)]"',
        "f(a=1); g(b=2)",
        "f(a=1)\ng(b=2)",
        "[f(a=)]",
        "[foo]",
        "['foo']",
        "[None]",
        "[{}]",
        "[f(a=f'{1}')]",
        "[f(a={1, 2})]",
        "[f(a=1 < 2)]",
        "[f(a=x.y)]",
        "[f(a=lambda: 1)]",
        "[f(a=[i for i in x])]",
        "[f(a=-x)]",
        "[f(a=-'x')]",
        "[f(a={**x})]",
        "[f(a={[]: 1})]",
        "[f(a=1/0)]",
        "[f(a=“x”)]",
        "[f(a=1)]\0",
        "[f(a='\ud800')]",
        "(" * 5000,
        "[f(a=" + "-" * 20000 + "1)]",
        "[f(a=" + "9" * 5000 + ")]",
    ],
)
def test_forms_that_are_not_read(text):
    with pytest.raises(DecodeError) as caught:
        decode_calls(text, PYTHON)
    assert caught.value.kind == "decoder_failed"


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("'x'", "x"),
        ("-5", -5),
        ("+5", -5),  # every unary operator negates
        ("~5", -5),
        ("not True", -1),
        ("true", "true"),  # a bare word is text
        ("None", None),
        ("...", "..."),
        ("(1, 2)", (1, 2)),
        ("{'k': [1, x]}", {"k": [1, "x"]}),
        ("g(b=2)", {"g": {"b": 2}}),
        ("g(2, 'x')", "g(2, 'x')"),
        ("g.h()", "g.h()"),
        ("x[0]", "x[0]"),
        ("x['a'][1, 2]", "x['a'][(1, 2)]"),
        ("1_000", 1000),
        ("'a' 'b'", "ab"),
        ("60*5", 300),
        ("'a' + 'b'", "ab"),
        ("-5 + 3", -2),
        ("[1] * 3", [1, 1, 1]),
        ("[1, 2][1] + 1", 3),
        ("'%s!' % 'x'", "x!"),
        ("{1} | {2}", {1, 2}),
        ("2 ** 0.5", 2**0.5),
    ],
)
def test_values_of_arguments(source, value):
    assert decode_calls(f"[f(a={source})]", PYTHON) == [{"f": {"a": value}}]


@pytest.mark.parametrize(
    ("text", "name"),
    [("a.b.c(x=1)", "a.b.c"), ("a.b(x=1).c(x=1)", "c"), ("a[0](x=1)", ""), ("f()(x=1)", "")],
)
def test_names_of_functions(text, name):
    assert decode_calls(text, PYTHON) == [{name: {"x": 1}}]


def test_an_unpacked_mapping_has_a_name_of_its_own():
    assert decode_calls("[f(**{'a': 1})]", PYTHON) == [{"f": {"**": {"a": 1}}}]


@pytest.mark.parametrize(
    "source",
    [
        "0+len(__import__('os').environ)",
        "1+(lambda: 1)()",
        "'x'*__import__('time').sleep(9)",
        "().__class__ + 1",
        "10**10**10",
        "1 << 10**9",
        "'x' * 10**9",
        "[0] * 10**9",
        "'%99999d' % 5",
        "'%*d' % (99999, 5)",
        "'%s' % ['x']",
        "9**99999 * 9**99999",
    ],
)
def test_nothing_is_evaluated_but_constants_and_nothing_large(source):
    with pytest.raises(DecodeError):
        decode_calls(f"[f(a={source})]", PYTHON)


def test_code_in_answers_and_in_names_does_not_run(monkeypatch):
    ran = []
    monkeypatch.setitem(sys.modules, "probe_module", type("M", (), {"go": ran.append})())
    attack = "__import__('probe_module').go(1)"
    for mode in MODES:
        for answer in (
            f"f(a=0+{attack})",
            f"{attack}",
            f"[f(a={attack})]",
            f"f(a=[{attack}][0]+1)",
        ):
            try:
                decode_calls(answer, mode)
            except DecodeError:
                continue
    assert decode_calls([{"name": attack, "arguments": "{}"}], "fc") == [{attack: {}}]
    assert ran == []


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('[{"function": "f", "parameters": {"a": 1}}]', F1),
        ('```json\n[{"function": "f", "parameters": {"a": 1}}]\n```', F1),
        ('Sure [{"function": "f", "parameters": {"a": 1}}] done', F1),
        ('[1] [{"function": "f", "parameters": {"a": 1}}] x}]', F1),
        ("no JSON", []),
        ('[{"function": "f", "parameters": {"a": 1}', []),
        ("", []),
        ("[1, 2]", []),
    ],
)
def test_json(text, calls):
    assert decode_calls(text, "prompt_json") == calls


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('[{"name": "f", "arguments": {}}]', "decoder_failed"),
        ('[{"function": "f", "parameters": [1]}]', "decoder_wrong_output_format"),
        ('[{"function": [], "parameters": {}}]', "decoder_failed"),
    ],
)
def test_json_that_holds_no_calls(text, kind):
    with pytest.raises(DecodeError) as caught:
        decode_calls(text, "prompt_json")
    assert caught.value.kind == kind


def test_a_cut_off_json_answer_is_read_in_linear_time():
    assert decode_calls("[" + "{}," * 20000 + "x", "prompt_json") == []
    assert decode_calls("[{" * 20000, "prompt_json") == []


VERBOSE = (
    '<functions><function name="f"><params>'
    '<param name="a" value="1" type="integer"/><param name="b" value="[1, 2]" type="array"/>'
    '<param name="c" value="TRUE" type="boolean"/><param name="d" value="2" type="float"/>'
    '<param name="e" value="x" type="odd"/></params></function></functions>'
)
CONCISE = (
    '<functions><function name="f"><param name="a" type="integer"> 1 </param>'
    '<param name="b" type="tuple">(1, 2)</param><param name="c"/></function></functions>'
)


def test_both_xml_forms():
    expected = {"a": 1, "b": [1, 2], "c": True, "d": 2.0, "e": "x"}
    assert decode_calls(f"Here: {VERBOSE} ok", "prompt_verbose_xml") == [{"f": expected}]
    expected = {"a": 1, "b": (1, 2), "c": ""}
    assert decode_calls(f"```xml\n{CONCISE}\n```", "prompt_concise_xml") == [{"f": expected}]


@pytest.mark.parametrize(
    "text",
    [
        "f(a=1)",
        "<functions><function name='f'>",
        "<functions><function></function></functions>",
        VERBOSE.replace('value="1"', 'value="one"'),
        VERBOSE.replace('value="[1, 2]"', "value=\"__import__('os')\""),
        "<functions>&unknown;</functions>",
    ],
)
def test_broken_xml(text):
    with pytest.raises(DecodeError):
        decode_calls(text, "prompt_verbose_xml")


def test_a_tag_is_required_where_the_mode_says_so():
    assert decode_calls("So: <TOOLCALL>f(a=1)</TOOLCALL>", "prompt_python_tag") == F1
    assert decode_calls("<TOOLCALL>f(a=1), f(a=1)</TOOLCALL>", "prompt_python_tag") == F1 * 2
    with pytest.raises(DecodeError):
        decode_calls("[f(a=1)]", "prompt_python_tag")


@pytest.mark.parametrize(
    "answer",
    [
        [{"name": "f", "arguments": ' {"a": 1}\n'}],
        [{"f": '{"a": 1}'}],
        (ToolCall("1", "f", '{"a": 1}'),),
    ],
)
def test_native_calls_in_every_shape(answer):
    assert decode_calls(answer, "fc") == F1


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (None, "decoder_failed"),
        ("[f(a=1)]", "decoder_failed"),
        ([{"name": "f", "arguments": '{"a": 1'}], "decoder_failed"),
        ([{"name": "f", "arguments": {"a": 1}}], "decoder_failed"),
        ([{"name": 5, "arguments": "{}"}], "decoder_failed"),
        ([{}], "decoder_failed"),
        ([7], "decoder_failed"),
        ([{"name": "f", "arguments": "[" * 100000}], "decoder_failed"),
        ([{"name": "f", "arguments": "null"}], "decoder_wrong_output_format"),
        ([{"name": "f", "arguments": "[1]"}], "decoder_wrong_output_format"),
    ],
)
def test_native_answers_without_calls(answer, kind):
    with pytest.raises(DecodeError) as caught:
        decode_calls(answer, "fc")
    assert caught.value.kind == kind


def test_no_tool_calls_and_no_text_is_an_empty_list():
    assert decode_calls([], "fc") == decode_calls("", "fc") == []


def test_the_reply_of_one_json_object():
    mode = "prompt_name_arguments"
    assert decode_calls('{"name": "f", "arguments": {"a": 1}}', mode) == F1
    assert decode_calls('[{"name": "f", "arguments": {"a": 1}}]', mode) == F1
    for text in ("f(a=1)", '```\n{"name": "f", "arguments": {}}\n```', '{"name": "f"}', "5"):
        with pytest.raises(DecodeError):
            decode_calls(text, mode)


def test_a_very_long_answer_and_no_text_are_refused():
    for answer in ("x" * 1_000_001, None, 5, ["f"]):
        with pytest.raises(DecodeError):
            decode_calls(answer, PYTHON)


def test_an_unknown_mode_names_the_known_ones():
    with pytest.raises(UsageError, match="prompt_concise_xml"):
        decode_calls("f()", "chat")


def test_decoded_values_become_json():
    values = {"a": (1, 2j), 3: float("nan"), "b": 10**30, "c": {1}, "d": [True, None, 1.5, "x"]}
    assert to_plain_value(values) == {
        "a": [1, "2j"],
        "3": "nan",
        "b": str(10**30),
        "c": "{1}",
        "d": [True, None, 1.5, "x"],
    }
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    assert isinstance(to_plain_value(deep), list)
