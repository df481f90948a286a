"""Java and JavaScript answers decoded as upstream does, and native values written as source."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evalcore.benchmarks.call_decoding import DecodeError, decode_calls
from evalcore.benchmarks.call_decoding.upstream_formats import (
    calls_to_source,
    java_calls,
    source_text,
)
from tests.support.bfcl import function


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('[A.b(x="t", y=5L)]', [{"A.b": {"x": "t", "y": "5L"}}]),
        ("f(c='x', d=1)", [{"f": {"c": "x", "d": "1"}}]),
        ("f(x=new int[]{1, 2})", [{"f": {"x": "new int[]{1,2}"}}]),
        ("f(x=new T(1, y))", [{"f": {"x": "new T(1, y)"}}]),
        ("f(x=Enum.A)", [{"f": {"x": "Enum.A"}}]),
        ("f(x=g.h(1, 2))", [{"f": {"x": "g.h(1, 2)"}}]),
        ("a.f(x=1, y)", [{"a.f": {"x": "1", "*": "y"}}]),
        ('a.f(x=1, "y")', [{"a.f": {"x": "1"}}]),
        ("a.f(x=1); g(y=2)", [{"a.f": {"x": "1"}}]),
        (
            'f(m=new HashMap<String, Object>() {{ put("a", 1); }})',
            [{"f": {"m": "new HashMap<String,Object>()"}}],  # the body is dropped
        ),
    ],
)
def test_java(text, calls):
    assert decode_calls(text, "prompt_java") == calls


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("f(x=)", "decoder_failed"),
        ("f(x=1, x=2)", "decoder_failed"),
        ("f(x=new int[5])", "decoder_failed"),
        ("f(x=1)", "decoder_failed"),  # the grammar takes it for a declaration
        ("x", "decoder_failed"),
        ("f(x='\ud800')", "decoder_failed"),
        ("say hello", "decoder_wrong_output_format"),
        ("", "decoder_wrong_output_format"),
        ("f(" * 5000, "decoder_failed"),
        ("f(x=" + "(" * 5000 + "1" + ")" * 5000 + ")", "decoder_failed"),
    ],
)
def test_java_without_a_call(text, kind):
    with pytest.raises(DecodeError) as caught:
        decode_calls(text, "prompt_java")
    assert caught.value.kind == kind


def test_long_chains_neither_crash_nor_run_on():
    for mode in ("prompt_java", "prompt_javascript"):
        for text in ("f(x=" + "1+" * 50_000 + "1)", "[" * 100_000, "f(" * 50_000, "a." * 50_000):
            try:
                decode_calls(text, mode)
            except DecodeError:
                continue


def test_java_values_can_be_kept_whole():
    body = 'new HashMap<String, Object>() {{ put("ä", 1); }}'
    assert java_calls(f'[f(m={body}, s="é")]', whole=True) == [{"f": {"m": body, "s": "é"}}]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('f(x="t", y=5n)', [{"f": {"x": "t", "y": "5n"}}]),
        ("f(x='t', y=[1, 2])", [{"f": {"x": "t", "y": "[1, 2]"}}]),
        ("f(x={a: 1})", [{"f": {"x": "{a: 1}"}}]),
        ("f(x=(a, b) => a)", [{"f": {"x": "(a, b) => a"}}]),
        ("f(y)", [{"f": {"*": "y"}}]),
        ("f(true)", [{"f": {"*": "true"}}]),
        ("f(1)", [{"f": {}}]),
        ("a.b(x=1)", [{"a.b": {"x": "1"}}]),
        ('f(x="é", y=1)', [{"f": {"x": "é", "y": "1"}}]),
    ],
)
def test_javascript(text, calls):
    assert decode_calls(f"[{text}]", "prompt_javascript") == calls


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("f(x=)", "decoder_failed"),
        ("f(x=1, x=2)", "decoder_failed"),
        ("f(y, z)", "decoder_failed"),
        ("x", "decoder_wrong_output_format"),
        ("let a = f(x=1)", "decoder_wrong_output_format"),
    ],
)
def test_javascript_without_a_call(text, kind):
    with pytest.raises(DecodeError) as caught:
        decode_calls(f"[{text}]", "prompt_javascript")
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("value", "kind", "element", "java"),
    [
        (True, "boolean", "", "true"),
        (5, "long", "", "5L"),
        (1.5, "float", "", "1.5f"),
        (1.5, "double", "", "1.5"),
        ([1, 2], "ArrayList", "long", "new ArrayList<>(Arrays.asList(1L, 2L))"),
        ([], "ArrayList", "", "new ArrayList<>()"),
        (["a"], "Array", "String", 'new Object[]{"a"}'),
        ({"k": 1}, "HashMap", "", 'new HashMap<String, Object>() {{ put("k", 1); }}'),
    ],
)
def test_values_as_java(value, kind, element, java):
    schema = {"type": kind, "items": {"type": element}}
    assert source_text(value, schema, "java") == java


def test_values_as_javascript_and_texts_stay():
    offered = [function("f", {"a": "array", "b": "Bigint", "s": "String", "d": "dict"})]
    calls = [{"f": {"a": ["x", 1], "b": 5, "s": "t", "d": {"k": None}, "new": True}}]
    expected = {"a": '["x", 1]', "b": "5n", "s": "t", "d": '{"k": null}', "new": "true"}
    assert calls_to_source(calls, offered, "javascript") == [{"f": expected}]


def test_the_grammars_are_loaded_only_when_java_or_javascript_is_read():
    program = (
        "import sys; import evalcore.benchmarks.bfcl.answers;"
        " from evalcore.benchmarks.call_decoding import decode_calls;"
        " decode_calls('f(a=1)', 'prompt_python');"
        " print([name for name in sys.modules if name.startswith('tree_sitter')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
