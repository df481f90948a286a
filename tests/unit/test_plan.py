"""Planning: everything is checked before anything is asked, and frozen with its column key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalcore import settings as configuration
from evalcore.errors import UsageError
from evalcore.records import from_json
from evalcore.runner.plan import Plan, create_benchmark, create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from tests.support.cases import syntax_cases

KEY = "sql_understanding"


def make(tmp_path: Path, **changes: Any) -> Plan:
    cases = tmp_path / "cases"
    if not cases.exists():
        syntax_cases(cases, 12)
    values: dict[str, Any] = {
        "target": "control:null",
        "benchmarks": (KEY,),
        "dataset": str(cases),
        **changes,
    }
    return plan_run(RunRequest(**values), configuration.load_settings(tmp_path / "data"))


def column(made: Plan) -> str:
    return made.spec.benchmarks[0].column


def test_a_plan_is_frozen_to_disk_and_read_back(tmp_path: Path) -> None:
    made = make(tmp_path)
    folder = create_folder(made, configuration.load_settings(tmp_path / "data"))
    assert folder.read_spec() == made.spec
    assert [line.sample for line in folder.read_samples()] == made.samples[KEY]
    assert folder.current_state() == "planned"
    assert from_json(type(made.spec), (folder.path / "spec.json").read_bytes()) == made.spec


def test_equal_requests_share_a_column_and_the_target_does_not_matter(tmp_path: Path) -> None:
    assert column(make(tmp_path)) == column(make(tmp_path, target="baseline:sqlglot", seed=5))


@pytest.mark.parametrize(
    "changes",
    [
        {"options": {KEY: {"mode": "scale"}}},
        {"options": {KEY: {"weights.syntax_error_detection": "7"}}},
        {"max_samples": 5},
    ],
)
def test_what_changes_the_score_changes_the_column(tmp_path: Path, changes: dict) -> None:
    assert column(make(tmp_path)) != column(make(tmp_path, **changes))


def test_a_changed_case_changes_the_column(tmp_path: Path) -> None:
    before = column(make(tmp_path))
    file = tmp_path / "cases" / "syntax_error_detection.jsonl"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("SELECT 3 + 3", "SELECT 3 + 4"), encoding="utf-8")
    assert column(make(tmp_path)) != before


def test_the_order_of_cases_does_not_change_the_column(tmp_path: Path) -> None:
    before = column(make(tmp_path))
    file = tmp_path / "cases" / "syntax_error_detection.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join(reversed(lines)) + "\n", encoding="utf-8")
    assert column(make(tmp_path)) == before


def test_a_subset_is_drawn_by_the_seed_and_is_not_full(tmp_path: Path) -> None:
    first, again = make(tmp_path, max_samples=5), make(tmp_path, max_samples=5)
    other = make(tmp_path, max_samples=5, seed=1)
    assert [s.id for s in first.samples[KEY]] == [s.id for s in again.samples[KEY]]
    assert [s.id for s in first.samples[KEY]] != [s.id for s in other.samples[KEY]]
    assert len(first.samples[KEY]) == 5
    assert not first.spec.benchmarks[0].full
    assert make(tmp_path, max_samples=12).spec.benchmarks[0].full


def test_a_subset_of_the_bundled_set_spreads_over_its_metrics(tmp_path: Path) -> None:
    made = make(tmp_path, dataset="", max_samples=8)
    metrics = [sample.metric for sample in made.samples[KEY]]
    assert {metrics.count(metric) for metric in metrics} == {2}


def test_a_prompt_template_wraps_the_question(tmp_path: Path) -> None:
    template = tmp_path / "prompt.txt"
    template.write_text("Think first.\n$question\nCosts $5 a row.", encoding="utf-8")
    made = make(tmp_path, options={KEY: {"prompt": str(template)}})
    spec = made.spec.benchmarks[0]
    benchmark = create_benchmark(spec.key, spec.options)
    content = benchmark.messages(made.samples[KEY][0])[-1].content
    assert content.startswith("Think first.\nDoes the SQL statement below")
    assert content.endswith("Costs $5 a row.")
    assert column(made) != column(make(tmp_path))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"benchmarks": ()}, "no benchmark"),
        ({"benchmarks": ("chess",)}, "unknown benchmark 'chess'; known: .*sql_understanding"),
        ({"metrics": ("poetry",)}, "no metric 'poetry'; it has: execution_accuracy"),
        ({"metrics": ("execution_accuracy", "poetry")}, "no metric 'poetry'"),
        ({"dataset": "nowhere"}, "no dataset 'nowhere'"),
        ({"epochs": 0}, "epochs"),
        ({"max_samples": 0}, "max_samples"),
        ({"concurrency": -1}, "concurrency"),
        (
            {"options": {KEY: {"mood": "x"}}},
            "mood is unknown; known: mode, weights.METRIC, difficulty.N, prompt",
        ),
        ({"options": {KEY: {"mode": "x"}}}, "is not one of: verified, scale"),
        ({"options": {KEY: {"weights.poetry": 1}}}, "no metric 'poetry'"),
        ({"options": {KEY: {"weights.execution_accuracy": "-1"}}}, "is not a valid weight"),
        ({"options": {KEY: {"weights.execution_accuracy": "nan"}}}, "is not a valid weight"),
        ({"options": {KEY: {"prompt": "missing.txt"}}}, "missing.txt"),
        ({"options": {"chess": {"a": 1}}}, "names 'chess'"),
    ],
)
def test_a_bad_request_says_what_to_do(tmp_path: Path, changes: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make(tmp_path, **changes)


def test_a_template_without_the_question_is_refused(tmp_path: Path) -> None:
    template = tmp_path / "prompt.txt"
    template.write_text("Say hello.", encoding="utf-8")
    with pytest.raises(UsageError, match=r"\$question"):
        make(tmp_path, options={KEY: {"prompt": str(template)}})
