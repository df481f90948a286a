"""slm-evals' own rows are data for the four benchmarks, by a configuration file and by options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from evalcore.benchmarks.base import DatasetSource
from evalcore.cli.main import main
from evalcore.errors import DatasetError, UsageError
from evalcore.runner.plan import create_benchmark

BFCL = [
    {
        "id": 7,
        "question": "Book a table for two at noon.",
        "function": [
            {
                "type": "function",
                "function": {
                    "name": "book_table",
                    "parameters": {
                        "type": "object",
                        "properties": {
                            "people": {"type": "number"},
                            "time": {"type": ["string", "null"]},
                            "wishes": {
                                "type": "object",
                                "properties": {"window": {"type": "boolean"}},
                            },
                        },
                        "required": ["people"],
                    },
                },
            }
        ],
        "ground_truth": {
            "name": "book_table",
            "arguments": {"people": 2, "time": "noon", "wishes": {"window": True}},
        },
    },
    {
        "input": "Wave.",
        "function": {"name": "wave", "parameters": {}},
        "ground_truth": '{"function_name": "wave", "args": {}}',
    },
]
TAU = [
    {
        "id": "cancel-1",
        "instruction": "Cancel my order.",
        "tools": [{"name": "cancel", "parameters": {"properties": {"status": {"type": "string"}}}}],
        "context": "You work for a shop.",
        "initial_state": {"status": "open", "amount": 12.5},
        "ground_truth_state": {"status": "cancelled", "amount": 12.5},
    },
    {
        "user_goal": "Note my name, Ada.",
        "tools": [{"name": "set_state"}],
        "initial_state": {},
        "ground_truth_state": {"name": "Ada"},
    },
]
GAIA = [
    {"id": "q1", "question": "What is 2 + 2?", "answer": 4, "level": 1},
    {"question": "Name the capital of France.", "final_answer": "Paris", "level": "2"},
]
SWE = [{"id": "fix-1", "issue": "The sum is wrong.", "patch": "--- a/x.py\n+++ b/x.py\n"}]
ROWS = {"bfcl": BFCL, "tau_bench": TAU, "gaia": GAIA, "swe_bench": SWE}


def write_rows(folder: Path, key: str, rows=None) -> Path:
    path = folder / f"{key}_local.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows or ROWS[key]))
    return path


def load(folder: Path, key: str, rows=None, **options):
    source = DatasetSource(path=str(write_rows(folder, key, rows)))
    return create_benchmark(key, options).load_dataset(source)


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("EVALBOARD_SHIPPED", str(tmp_path / "shipped"))
    return tmp_path


def run_controls(capsys, control, *flags):
    status = main(["run", "--target", f"control:{control}", *flags, "--json"])
    printed = capsys.readouterr()
    assert status in (0, 3), printed.err
    return json.loads(printed.out)["benchmarks"]


def write_config(folder: Path, form: str) -> Path:
    overrides = {key: {"data_path": str(write_rows(folder, key))} for key in ROWS}
    fields = {
        "model_path": "./models/tiny",
        "model_type": "hf",
        "device": "auto",
        "dtype": "bfloat16",
        "benchmarks": "all" if form == "yaml" else list(ROWS),
        "max_samples": 100,
        "benchmark_overrides": overrides,
    }
    path = folder / f"experiment.{form}"
    path.write_text(yaml.safe_dump(fields) if form == "yaml" else json.dumps(fields))
    return path


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_configuration_file_runs_all_four(capsys, data, monkeypatch, form):
    monkeypatch.chdir(data)
    path = write_config(data, form)
    right = run_controls(capsys, "reference", "--config", str(path))
    assert {key: right[key]["score"] for key in ("bfcl", "tau_bench", "gaia")} == {
        "bfcl": 100.0,
        "tau_bench": 100.0,
        "gaia": 100.0,
    }
    assert right["swe_bench"]["score"] is None
    assert right["swe_bench"]["outcomes"] == {"not_executed": 1}
    assert list((data / "results").glob("*/results.json"))


def test_options_name_the_same_files(capsys, data):
    flags = ["--benchmarks", *ROWS]
    for key in ROWS:
        flags += ["--option", f"{key}.data_path={write_rows(data, key)}"]
    wrong = run_controls(capsys, "null", *flags)
    assert {key: wrong[key]["score"] for key in ("bfcl", "tau_bench", "gaia")} == {
        "bfcl": 0.0,
        "tau_bench": 0.0,
        "gaia": 0.0,
    }


def test_a_row_of_bfcl_becomes_an_entry(tmp_path):
    first, second = load(tmp_path, "bfcl")
    assert (first.id, first.metric, second.id) == ("7", "simple_python", "row_2")
    assert first.input["question"] == [[{"role": "user", "content": BFCL[0]["question"]}]]
    [function] = json.loads(first.input["functions"])
    properties = function["parameters"]["properties"]
    assert [properties[name]["type"] for name in properties] == ["float", "string", "dict"]
    assert json.loads(first.reference["ground_truth"]) == [
        {"book_table": {"people": [2], "time": ["noon"], "wishes": [{"window": [True]}]}}
    ]


@pytest.mark.parametrize(
    ("key", "change", "field"),
    [
        ("bfcl", {"ground_truth": {}}, "ground_truth"),
        ("bfcl", {"ground_truth": "{"}, "ground_truth"),
        ("bfcl", {"ground_truth": '{"name": "f", "arguments": {"a": NaN}}'}, "ground_truth"),
        ("bfcl", {"ground_truth": {"name": "f", "arguments": [1]}}, "ground_truth"),
        ("bfcl", {"question": ""}, "question"),
        ("bfcl", {"function": [{"parameters": {}}]}, "function"),
        ("tau_bench", {"ground_truth_state": {}}, "ground_truth_state"),
        ("tau_bench", {"initial_state": [1]}, "initial_state"),
        ("tau_bench", {"tools": []}, "tools"),
        ("tau_bench", {"tools": ["cancel"]}, "tools"),
        ("tau_bench", {"domain": "bank"}, "domain"),
        ("tau_bench", {"instruction": " "}, "instruction"),
        ("gaia", {"level": 9}, "Level"),
        ("swe_bench", {"issue": ""}, "problem_statement"),
    ],
)
def test_a_bad_row_names_file_line_and_field(tmp_path, key, change, field):
    rows = [*ROWS[key][1:], {**ROWS[key][0], **change}]
    with pytest.raises(DatasetError) as caught:
        load(tmp_path, key, rows)
    assert f"{key}_local.jsonl" in str(caught.value)
    assert str(len(rows)) in str(caught.value)
    assert field in str(caught.value)


def test_nested_and_huge_rows_are_refused(tmp_path):
    deep: dict = {}
    for _ in range(60):
        deep = {"a": deep}
    with pytest.raises(DatasetError):
        load(tmp_path, "tau_bench", [{**TAU[0], "initial_state": deep}])
    schema: dict = {"type": "object"}
    for _ in range(60):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(DatasetError, match="nested too deep"):
        load(tmp_path, "bfcl", [{**BFCL[0], "function": {"name": "f", "parameters": schema}}])


def test_other_values_than_those_asked_for_may_not_change(tmp_path):
    benchmark = create_benchmark("tau_bench", {})
    sample, _ = load(tmp_path, "tau_bench")
    import asyncio

    def score(*calls):
        actions = [{"name": name, "kwargs": kwargs} for name, kwargs in calls]
        episode = benchmark.episode_from_answer(sample, {"actions": actions, "says": []})
        return asyncio.run(benchmark.evaluate_sample(sample, episode)).score

    assert score(("cancel", {"status": "cancelled"})) == 1.0
    assert score(("cancel", {"status": "cancelled", "unknown": 1})) == 1.0
    assert score(("cancel", {"status": "cancelled", "amount": 0})) == 0.0
    assert score(("cancel", {"status": "Cancelled"})) == 0.0
    assert score(("refund", {"status": "cancelled"})) == 0.0
    assert score() == 0.0


def test_the_official_protocol_refuses_rows_that_are_not_upstreams(tmp_path):
    benchmark = create_benchmark("tau_bench", {"protocol": "official"})
    with pytest.raises(UsageError, match="protocol=board"):
        benchmark.select_runnable(load(tmp_path, "tau_bench"))
