"""How judges are written, and which panels cannot sit."""

from __future__ import annotations

import pytest

from evalcore.errors import UsageError
from evalcore.records import BenchmarkSpec, RunSpec, TargetSpec
from evalcore.runner import run_request


def test_a_judge_is_a_target_with_its_options() -> None:
    model_spec = run_request.parse_model_spec(
        "openai:qwen/q-3:8b?base_url=http://127.0.0.1:9/v1&temperature=0"
    )
    options = {"base_url": "http://127.0.0.1:9/v1", "temperature": "0"}
    assert model_spec == TargetSpec(key="openai:qwen/q-3:8b", options=options)
    assert run_request.parse_model_spec("openai:m") == TargetSpec(key="openai:m")


@pytest.mark.parametrize(
    ("judge", "problem"),
    [
        ("gpt", "write it as a target"),
        ("openai:", "write it as a target"),
        (":m", "write it as a target"),
        ("control:reference", "a control cannot judge"),
        ("baseline:sqlglot", "a baseline cannot judge"),
        ("app:sqlflash", "an? app cannot judge"),
        ("openai:m?temperature", "NAME=VALUE"),
        ("openai:m?&", "NAME=VALUE"),
    ],
)
def test_what_is_no_judge_is_refused(judge: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        run_request.check_panel([judge])


def test_a_judge_votes_once() -> None:
    with pytest.raises(UsageError, match="votes only once"):
        run_request.check_panel(["openai:a", "openai:b", "openai:a"])
    run_request.check_panel(["openai:a", "openai:a?temperature=1"])


def test_who_sits_is_told_by_the_columns() -> None:
    def spec(key: str, *judges: str) -> BenchmarkSpec:
        return BenchmarkSpec(
            key=key,
            suite="sql",
            dataset="d",
            dataset_hash="h",
            options={},
            weights={},
            prompt_version="1",
            scorer_version="1",
            column="c",
            samples=1,
            judges=judges,
        )

    run = RunSpec(
        run_id="r",
        created_at="",
        target=TargetSpec(key="control:null"),
        benchmarks=(spec("a"), spec("b", "openai:x", "openai:y")),
        judges=("openai:x", "openai:y"),
    )
    assert run_request.list_judge_specs(run) == ("openai:x", "openai:y")
