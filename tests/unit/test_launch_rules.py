"""What is said of a request before anything is started."""

from __future__ import annotations

import msgspec
import pytest

from evalcore.runner.run_request import RunRequest
from pages.parts.launch.preflight import find_request_problems

GOOD = RunRequest(target="baseline:sqlglot", benchmarks=("sql_understanding",))
METRICS = {"sql_understanding": ("execution_accuracy",)}


def keys_of(tmp_path, missing=(), metrics=METRICS, own_dataset=False, **changes) -> list[str]:
    request = msgspec.structs.replace(GOOD, **changes)
    request_problems = find_request_problems(
        request, missing, metrics, tmp_path, own_dataset=own_dataset
    )
    return [problem.key.removeprefix("launch.problem.") for problem in request_problems]


def test_a_good_request_has_no_problem(tmp_path):
    assert keys_of(tmp_path) == []


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("openai:", "model"),
        ("openai:deepseek/", "model"),
        ("openai:  ", "model"),
        ("baseline:", "target"),
    ],
)
def test_a_target_must_be_named(tmp_path, target, problem):
    assert keys_of(tmp_path, target=target) == [problem]


@pytest.mark.parametrize("address", ["", "localhost:8000", "ftp://host", "http://", "http://["])
def test_an_address_must_be_one(tmp_path, address):
    assert keys_of(tmp_path, target_options={"base_url": address}) == ["address"]


def test_an_address_is_never_repeated_since_a_key_may_stand_in_it(tmp_path):
    request = msgspec.structs.replace(GOOD, target_options={"base_url": "sk-secret-key"})
    [problem] = find_request_problems(request, (), METRICS, tmp_path)
    assert problem.values == {}


def test_a_good_address_is_taken(tmp_path):
    assert keys_of(tmp_path, target_options={"base_url": "http://127.0.0.1:8000/v1"}) == []


def test_benchmarks_and_metrics_must_be_chosen(tmp_path):
    assert keys_of(tmp_path, benchmarks=()) == ["benchmark"]
    assert keys_of(tmp_path, metrics={"sql_understanding": ()}) == ["metric"]


def test_a_dataset_is_a_path_or_a_name_in_the_folder_of_datasets(tmp_path):
    (tmp_path / "mine").mkdir()
    assert keys_of(tmp_path, dataset="mine", own_dataset=True) == []
    assert keys_of(tmp_path, dataset=str(tmp_path / "mine"), own_dataset=True) == []
    assert keys_of(tmp_path, dataset="yours", own_dataset=True) == ["dataset"]
    assert keys_of(tmp_path, dataset="x" * 5000, own_dataset=True) == ["dataset"]
    assert keys_of(tmp_path, dataset="a\0b", own_dataset=True) == ["dataset"]


def test_own_cases_without_a_path_are_not_silently_the_bundled_ones(tmp_path):
    assert keys_of(tmp_path, own_dataset=True) == ["dataset_empty"]


def test_each_missing_key_is_named(tmp_path):
    request_problems = find_request_problems(GOOD, ["A_KEY", "B_KEY"], METRICS, tmp_path)
    assert [problem.values["name"] for problem in request_problems] == ["A_KEY", "B_KEY"]
