"""Twenty thousand random and mutated answers: nothing raises, nothing runs, nothing takes long."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from evalcore.benchmarks.bfcl.answers import reference_answer
from evalcore.benchmarks.bfcl.checker.arguments import GROUPS
from evalcore.benchmarks.bfcl.entry import BfclEntry
from evalcore.benchmarks.bfcl.score import decode_answer, score_all_views, score_official
from evalcore.benchmarks.call_decoding import MODES
from evalcore.benchmarks.call_decoding.call import to_plain_value
from tests.support.bfcl import entry, function, weather
from tests.support.hangs import stop_hang

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning"),
]

NESTED = {"type": "array", "items": {"type": "dict"}}
ENTRIES = [
    weather(),
    weather("live_irrelevance"),
    weather("live_relevance"),
    entry(
        "parallel_multiple",
        [
            function("f", {"a": NESTED, "b": "dict", "c": "float"}, ("a",)),
            function("g", {"x": {"type": "array", "items": {"type": "string"}}}),
        ],
        [
            {"f": {"a": [[{"k": [1, ""]}]], "b": [{"m": ["v"]}, ""], "c": ["", 2.5]}},
            {"g": {"x": [["y"]]}},
        ],
    ),
    entry(
        "simple_java",
        [
            function(
                "A.f",
                {"m": "HashMap", "n": "long", "l": {"type": "ArrayList", "items": {"type": "any"}}},
            )
        ],
        [{"A.f": {"m": [{"k": [1]}], "n": [5], "l": [["a"]]}}],
    ),
    entry(
        "simple_javascript",
        [function("f", {"d": "dict", "a": {"type": "array", "items": {"type": "integer"}}})],
        [{"f": {"d": [{"k": ["v"]}], "a": [[1, 2]]}}],
    ),
]
PIECES = [
    *"()[]{}<>.,:;=+-*/%'\"\\`#@\n\t \0",
    *(
        "f(",
        "a=",
        "x=1",
        "1+2",
        "None",
        "true",
        "'v'",
        "**",
        "lambda: ",
        "f'{",
        "é",
        "日本",
        "\ud800",
    ),
    *("```", "```json\n", "<think>", "</think>", "<tool_call>", "</tool_call>", "[TOOL_CALLS]"),
    *(
        "<TOOLCALL>",
        "</TOOLCALL>",
        "<functions>",
        "</functions>",
        '<function name="f">',
        "</function>",
    ),
    *('<param name="a" type="integer">', "</param>", '{"name": "f", "arguments": ', '"function"'),
    *(
        "new ArrayList<>(Arrays.asList(",
        "new HashMap<>() {{ put(",
        "new int[]{",
        "))",
        "}}",
        "9" * 30,
    ),
    *("__import__('os')", "10**10**10", "'x'*10**9", "weather.now(", "A.f(", "<|python_tag|>"),
]


def mutated(text: str, chance: random.Random) -> str:
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(text) + 1)
        cut = chance.randrange(4)
        text = text[:at] + chance.choice(PIECES) * chance.choice((0, 1, 1, 40)) + text[at + cut :]
    return text


def random_answer(bfcl_entry: BfclEntry, mode: str, chance: random.Random) -> Any:
    kind = chance.randrange(4)
    if mode == "fc" and kind:
        arguments = mutated(json.dumps({"city": "Oslo", "a": [1, {"k": None}]}), chance)
        call = {"name": mutated("weather_now", chance), "arguments": arguments}
        return chance.choice([[call], [call, call], [arguments], [{}], [None], call, 5, (), None])
    if kind < 2:
        return "".join(chance.choice(PIECES) for _ in range(chance.randrange(30)))
    asked = mode if mode.split("_")[1] in ("python", "java", "javascript") else "prompt_python"
    return mutated(str(reference_answer(bfcl_entry, asked.removesuffix("_tag"))), chance)


def test_random_and_mutated_answers_raise_nothing():
    chance = random.Random(4)
    modes = sorted(MODES)
    for number in range(20_000):
        choice, mode = chance.choice(ENTRIES), chance.choice(modes)
        answer = (
            random_answer(choice, mode, chance)
            if mode == "fc"
            else text_answer(choice, mode, chance)
        )
        all_views = (
            score_all_views(decode_answer(choice, answer, mode))
            if number % 4 == 0
            else {"official": score_official(decode_answer(choice, answer, mode))}
        )
        for scored in all_views.values():
            assert scored.valid == (not scored.error_type), answer
            assert scored.group is None or scored.group in GROUPS, answer
            json.dumps(to_plain_value(scored.calls))


def text_answer(bfcl_entry: BfclEntry, mode: str, chance: random.Random) -> Any:
    return (
        chance.choice((None, 5, []))
        if chance.random() < 0.01
        else random_answer(bfcl_entry, mode, chance)
    )


def test_the_two_known_probes_execute_nothing(tmp_path):
    marker = tmp_path / "ran"
    code = f"__import__('pathlib').Path({str(marker)!r}).touch()"
    probes = [
        (f"[f(a=0+len(str({code})))]", "prompt_python"),
        (f"[f(a={code}+1)]", "prompt_python"),
        (f"<TOOLCALL>f(a=1-{code})</TOOLCALL>", "prompt_python_tag"),
        ([{"name": code[:-2], "arguments": "{}"}], "fc"),
        ([{code: "{}"}], "fc"),
        (
            f'<functions><function name="f"><param name="a" type="array">{code}</param>'
            "</function></functions>",
            "prompt_concise_xml",
        ),
    ]
    for item in ENTRIES:
        for answer, mode in probes:
            score_all_views(decode_answer(item, answer, mode))
    assert not marker.exists()


@pytest.mark.full
def test_nested_without_end_and_long_answers():
    deep = [
        "f(a=" + "[" * 3000,
        "f(a=" * 3000,
        "{" * 9000,
        "f(a=" + "-" * 9000 + "1)",
        "f(x." * 9000,
    ]
    long = ["f(a='" + "x" * 50_000 + "')", "[" + "f(a=1), " * 2_000 + "]", "f(a=1)\n" * 2_000]
    for text in (*deep, *long):
        for item in ENTRIES:
            with stop_hang():
                score_all_views(decode_answer(item, text))
