"""Whole runs of a real local model, small but trained: in every dtype, with an adapter, by YAML."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from evalcore.targets.huggingface.target import HuggingFace
from tests.support.hf_runs import Done, evaluate
from tests.support.tiny_models import TinyModel, tiny

pytestmark = pytest.mark.slow

__all__ = ["tiny"]

FULL = pytest.mark.full
BOTH = ("--benchmarks", "sql_understanding", "bfcl")
#: Bytes a parameter takes at most, the tables that are not quantised and the scales included.
BYTES = {"float32": 4.1, "bfloat16": 2.1, "int8": 1.7, "int4": 1.3}


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture
def cards(monkeypatch) -> list[dict[str, Any]]:
    """What each model reported of itself, as its run ended."""
    result: list[dict[str, Any]] = []
    closed = HuggingFace.close

    async def close(self) -> None:
        if self._process is not None:
            result.append(dict(self.info.card))
        await closed(self)

    monkeypatch.setattr(HuggingFace, "close", close)
    return result


def held_out(tiny: TinyModel, data: Path, **options: object) -> Done:
    cases = [
        word
        for key in ("sql_understanding", "bfcl")
        for word in ("--option", f"{key}.data_path={tiny.cases / key}")
    ]
    return evaluate(data, "--target", f"hf:{tiny.base}", *BOTH, *cases, options=options)


def on_classes(tiny: TinyModel, data: Path, **options: object) -> Done:
    words = ("--target", f"hf:{tiny.base}", "--benchmarks", "sql_understanding")
    return evaluate(data, *words, "--dataset", str(tiny.cases / "lora"), options=options)


@pytest.mark.parametrize(
    "dtype", ["float32", *(pytest.param(name, marks=FULL) for name in ("bfloat16", "int8", "int4"))]
)
def test_it_answers_what_it_was_not_taught_in_every_dtype(tiny, tmp_path, cards, dtype) -> None:
    done = held_out(tiny, tmp_path / "data", dtype=dtype, device="cpu", max_tokens=64)

    assert done.status == 0
    assert done.score("sql_understanding") >= 90
    assert done.score("bfcl") >= 90
    assert (cards[0]["dtype"], cards[0]["device"]) == (dtype, "cpu")
    assert 0 < cards[0]["memory_bytes"] <= BYTES[dtype] * cards[0]["parameters"]
    assert cards[0]["parameters"] < 1_000_000
    if dtype == "float32":  # others may miss a call
        check_that_tools_were_called(done)


def check_that_tools_were_called(done: Done) -> None:
    assert {verdict.details["mode"] for verdict in done.verdicts("bfcl")} == {"fc"}
    answers = [c.completion for (key, _), c in done.calls().items() if key.startswith("bfcl/")]
    assert len(answers) == 120
    assert all(answer.tool_calls and not answer.text for answer in answers)
    assert {answer.finish_reason for answer in answers} == {"tool_calls"}


@pytest.mark.full
@pytest.mark.parametrize(
    "dtype", ["int8", *(pytest.param(name, marks=FULL) for name in ("bfloat16", "float32", "int4"))]
)
def test_the_bundled_benchmarks_run_in_every_dtype(tiny, tmp_path, cards, dtype) -> None:
    words = ("--target", f"hf:{tiny.base}", *BOTH, "--max-samples", "17")
    options = {"dtype": dtype, "max_tokens": 48}
    done = evaluate(tmp_path / "data", *words, options=options)

    assert done.status == 0
    assert cards[0]["dtype"] == dtype
    for benchmark in ("sql_understanding", "bfcl"):
        outcomes = done.outcomes(benchmark)
        assert sum(outcomes.values()) == 17
        assert set(outcomes) <= {"passed", "failed"}, "each sample is measured"
    assert {verdict.metric for verdict in done.verdicts("bfcl")} >= {"multiple", "multi_turn_base"}


@pytest.mark.full
def test_base_and_adapter_are_told_apart(tiny, tmp_path, cards) -> None:
    base = on_classes(tiny, tmp_path / "data", max_tokens=64)
    adapted = on_classes(tiny, tmp_path / "data", max_tokens=64, adapter=tiny.adapter)

    assert base.score("sql_understanding") <= 20
    assert adapted.score("sql_understanding") >= 95
    assert base.printed["target"] != adapted.printed["target"]
    assert [card.get("adapter", "") for card in cards] == ["", str(tiny.adapter)]


@pytest.mark.full
def test_an_adapter_works_on_quantised_weights(tiny, tmp_path) -> None:
    done = on_classes(tiny, tmp_path / "data", max_tokens=64, dtype="int4", adapter=tiny.adapter)

    assert done.score("sql_understanding") >= 90


CONFIG = """\
model_path: {base}
device: cpu
dtype: float32
max_new_tokens: 64
temperature: 0.0
experiment_name: tiny
output_dir: {out}
benchmarks: [bfcl, sql_understanding]
max_samples: 20
benchmark_overrides:
  bfcl:
    data_path: {cases}/bfcl
    categories: [simple, multiple]
    strict: false
  sql_understanding:
    data_path: {cases}/sql_understanding
"""


@pytest.mark.full
def test_a_configuration_of_slm_evals_runs_as_it_is(tiny, tmp_path) -> None:
    out, file = tmp_path / "results", tmp_path / "run.yaml"
    file.write_text(CONFIG.format(base=tiny.base, cases=tiny.cases, out=out), encoding="utf-8")
    done = evaluate(tmp_path / "data", "--config", str(file))

    assert done.status == 0
    assert done.score("bfcl") >= 90
    spec = done.folder.read_spec()
    assert spec.target.key == f"hf:{tiny.base}"
    assert {call.completion.sent["max_tokens"] for call in done.folder.read_calls()} == {64}
    assert {verdict.metric for verdict in done.verdicts("bfcl")} == {"simple_python", "multiple"}
    _check_files(out / "tiny", spec.target.key)


def _check_files(folder: Path, target: str) -> None:
    """The three reports of slm-evals, about both benchmarks."""
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    rows = list(csv.DictReader((folder / "results.csv").open(encoding="utf-8")))
    report = (folder / "report.md").read_text(encoding="utf-8")

    assert results["experiment_name"] == "tiny"
    assert target in json.dumps(results)
    assert {row["benchmark"] for row in rows} == {"bfcl", "sql_understanding"}
    assert all(name in report for name in ("bfcl", "sql_understanding"))
