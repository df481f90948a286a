"""The official package, run from its wheel in an environment of its own, beside ours: the overall
score of answer files over all categories, and the memories of agentic entries.

EVALBOARD_BFCL_PYTHON names that environment's Python; without it these tests are skipped. The
environment: `pip install --no-deps bfcl-eval==2026.3.23` and the few packages that its evaluation
imports (tree_sitter 0.21.3 with its Java and JavaScript grammars, tqdm, tenacity, filelock,
overrides, python-dotenv, mpmath, rank_bm25, numpy, pandas and what they need).
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.bfcl.answers import reference_answer
from evalcore.benchmarks.bfcl.benchmark import Bfcl
from evalcore.benchmarks.bfcl.card import CARD
from evalcore.benchmarks.bfcl.categories import (
    AGENTIC,
    CATEGORIES,
    DECODE_ONLY,
    MULTI_TURN,
    Tally,
    find_category_language,
    group_scores,
)
from evalcore.benchmarks.bfcl.dataset import load_bfcl_samples, sample_to_entry
from evalcore.benchmarks.bfcl.multi_turn.service import (
    FAILED_CALL,
    evaluate_call,
    format_tool_result,
)
from evalcore.benchmarks.bfcl.simulated.memory import MemoryAPI_kv, MemoryAPI_rec_sum
from evalcore.benchmarks.call_decoding import prompt_mode
from evalcore.exchange.bfcl.exporter import write_result_files
from evalcore.exchange.bfcl.results import (
    ModelResults,
    Prediction,
    read_results,
    rescore_predictions,
)
from evalcore.records import Sample
from tests.support import bfcl_official

PYTHON = os.environ.get("EVALBOARD_BFCL_PYTHON", "")
MODEL = "authored"
pytestmark = pytest.mark.skipif(
    not PYTHON, reason="shared data absent: EVALBOARD_BFCL_PYTHON names no environment of bfcl-eval"
)


def run_official(*arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        [PYTHON, str(Path(bfcl_official.__file__)), *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def package() -> Path:
    """The folder that holds the installed package."""
    code = (
        "import importlib.util as u; print(u.find_spec('bfcl_eval').submodule_search_locations[0])"
    )
    done = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True)
    return Path(done.stdout.strip()).parent


def answer_text(sample: Sample) -> object:
    entry = sample_to_entry(sample)
    return reference_answer(entry, prompt_mode(find_category_language(sample.metric)))


def run_call(call: str, tools: Mapping[str, Callable[..., object]]) -> str:
    """As the service of simulated APIs runs it."""
    try:
        return format_tool_result(evaluate_call(call, tools))
    except Exception as error:
        return f"{FAILED_CALL}{error}"


def spell_oddly(text: str, rng: random.Random) -> str:
    """An answer with calls as models spoil them."""
    number, word = re.search(r"=(-?\d+)", text), re.search(r"=(['\"])(.*?)\1", text)
    odd = [
        f"Sure! {text}",
        f"{text}\n\nThat is all.",
        f"```python\n{text}\n```",
        f"<tool_call>{text}</tool_call>",
        text.strip("[]"),
        f"[{text}]",
        text.replace(", ", "，"),
        text.replace("(", "(\u200b", 1),
        text.replace(")", ", zz={'a': {'b': [1, {'c': None}]}})", 1),
        text.replace(")", ", **{'zz': 1})", 1),
        text.replace("(", "(x=1, x=2, ", 1),
        text.replace("(", "('a', ", 1),
        json.dumps([{"name": "f", "arguments": {"x": 1}}]),
        text.replace("=", "=not ", 1),
        text.replace("=", "=-", 1),
        text[:-1],
        text + text,
    ]
    if number is not None:
        values = ["1" + "0" * 40, "1e999", "True", f"{number[1]}.0", f"0x{abs(int(number[1])):x}"]
        values += [f"{number[1]} + 0", f"'{number[1]}'", f"{number[1]}j", f"{number[1]}_0", "0 / 0"]
        odd += [text.replace(number[0], f"={value}", 1) for value in values]
    if word is not None:
        words = [
            word[2].upper(),
            f" {word[2]}.",
            word[2] + "\u00e9\U0001f600",
            f'{{"a": "{word[2]}"}}',
        ]
        odd += [text.replace(word[0], f"={value!r}", 1) for value in words]
        odd += [text.replace(word[0], f"=f{word[0][1:]}", 1)]
        odd += [text.replace(word[0], f"=b{word[0][1:]}", 1)]
        odd += [text.replace(word[0], f"=\u201c{word[2]}\u201d", 1)]
    return rng.choice(odd)


def author_answer(sample: Sample, rng: random.Random) -> Prediction:
    """An answer in prompt mode: the reference's, a wrong one, or one in another form."""
    right = rng.random() < 0.6
    category, truth = sample.metric, json.loads(sample.reference.get("ground_truth", "null"))
    calls = "[f(x=1)]"
    answer: str | list[list[str]]
    if category in MULTI_TURN:
        turns = [f"[{', '.join(turn)}]" if turn else "Nothing to do." for turn in truth]
        answer = [[turn, "Done."] for turn in (turns if right else [calls, *turns[1:]])]
    elif category in AGENTIC:
        words = ["So: ", f"The answer is ({truth[0]}).", "", calls, f"not{truth[0]}"]
        answer = [[calls, words[1]]] if right else [[calls, rng.choice(words)]]
    elif category in DECODE_ONLY:
        answer = "I cannot." if right == ("irrelevance" in category) else calls
    else:
        answer = str(answer_text(sample))
        if not right:
            answer = rng.choice([calls, "no", *[spell_oddly(answer, rng) for _ in range(3)]])
    return Prediction(category=category, id=sample.id, mode="prompt", answer=answer)


def test_the_overall_score_is_that_of_the_official_package(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALBOARD_BFCL_EVAL", str(package))
    benchmark = Bfcl({option.name: option.default for option in CARD.options})
    samples = load_bfcl_samples(DatasetSource(package / "bfcl_eval" / "data"), (), False)
    rng = random.Random(7)
    write_result_files(tmp_path, MODEL, [author_answer(one, rng) for one in samples])
    run_official("score", MODEL, str(tmp_path / "result"), str(tmp_path / "score"))

    predictions = tuple(read_results(tmp_path / "result" / MODEL, "prompt"))
    results = ModelResults(MODEL, "2026-01-01", "v4", predictions)
    rescored = rescore_predictions(benchmark, samples, results)
    benchmark.close()
    assert not rescored.unknown
    assert not rescored.unscored
    assert set(rescored.counts) == set(CATEGORIES)
    for path in (tmp_path / "score").rglob("*_score.json"):
        category = path.name.removeprefix("BFCL_v4_").removesuffix("_score.json")
        header = json.loads(path.read_text().splitlines()[0])
        count = rescored.counts[category]
        assert (count.right, count.total) == (header["correct_count"], header["total_count"]), path
    groups = group_scores(
        {name: Tally(count.right, count.total) for name, count in rescored.counts.items()}
    )
    table = [
        line.split(",") for line in (tmp_path / "score/data_overall.csv").read_text().split("\n")
    ]
    row = dict(zip(table[0], table[1], strict=True))
    ours = {
        "Overall Acc": "overall",
        "Non-Live AST Acc": "non_live",
        "Live Acc": "live",
        "Multi Turn Acc": "multi_turn",
        "Web Search Acc": "web_search",
        "Memory Acc": "memory",
        "Irrelevance Detection": "hallucination",
    }
    for column, name in ours.items():
        score = groups[name].score
        assert score is not None
        shown = float(row[column].removesuffix("%"))
        assert abs(shown - score) < 0.005 + 1e-9, (column, row[column], score)  # two digits


WORDS = ["city", "first_name", "order_number", "a", "Bad Key", "city_of_birth", "name"]
TEXTS = ["Ann", "x" * 301, "y" * 2001, "", "12 pears", "it's", 7, None]


def write_calls(rng: random.Random, kind: str, number: int) -> list[str]:
    def write_call(name: str, **arguments: object) -> str:
        return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"

    calls = []
    for _ in range(number):
        key, text = rng.choice(WORDS), rng.choice(TEXTS)
        part = rng.choice(["core", "archival"])
        if kind == "rec_sum":
            calls.append(
                rng.choice(
                    [
                        write_call("memory_append", text=text),
                        write_call("memory_update", text=rng.choice(["z" * 9990, "new", text])),
                        write_call("memory_replace", old_text=rng.choice(["n", "q"]), new_text="m"),
                        write_call("memory_retrieve"),
                        rng.choice(["memory_clear()", "memory_append()", "memory_retrieve(1)"]),
                    ]
                )
            )
            continue
        calls.append(
            rng.choice(
                [
                    write_call(f"{part}_memory_add", key=key, value=text),
                    write_call(f"{part}_memory_add", key=f"key_{rng.randrange(60)}", value="v"),
                    write_call(f"{part}_memory_replace", key=key, value=text),
                    write_call(f"{part}_memory_remove", key=key),
                    write_call(f"{part}_memory_retrieve", key=key),
                    write_call(f"{part}_memory_list_keys"),
                    write_call(f"{part}_memory_key_search", query=f"{key} number", k=3),
                    write_call(f"{part}_memory_key_search", query="key name of"),
                    write_call("core_memory_retrieve_all"),
                    write_call(rng.choice(["core_memory_clear", "archival_memory_remove"])),
                ]
            )
        )
    return calls


@pytest.mark.parametrize("seed", range(4))
def test_memories_answer_as_the_official_ones(package: Path, seed: int) -> None:
    """Word for word, but for the last digits of scores, which come from arrays upstream."""
    rng = random.Random(seed)
    calls = {kind: write_calls(rng, kind, 250) for kind in ("kv", "rec_sum")}
    theirs = json.loads(run_official("memory", stdin=json.dumps(calls)).splitlines()[-1])
    for kind, memory in (("kv", MemoryAPI_kv()), ("rec_sum", MemoryAPI_rec_sum())):
        tools = {name: getattr(memory, name) for name in dir(memory) if "memory_" in name}
        for call, expected in zip(calls[kind], theirs[kind], strict=True):
            result = run_call(call, tools)
            if "ranked_results" in expected and "error" not in expected:
                ours, other = json.loads(result), json.loads(expected)
                assert [key for _, key in ours["ranked_results"]] == [
                    key for _, key in other["ranked_results"]
                ], call
                for (mine, _), (score, _) in zip(
                    ours["ranked_results"], other["ranked_results"], strict=True
                ):
                    assert mine == pytest.approx(score, rel=1e-12)
            else:
                assert result == expected, call
