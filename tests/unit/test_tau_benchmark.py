"""Samples from folders, which of them a run can ask, and the verdict on given answers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from evalcore import settings as configuration
from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.tau_bench import dataset
from evalcore.catalog import benchmark_card
from evalcore.errors import DatasetError, EnvironmentFailure, UsageError
from evalcore.records import Episode, Sample, Verdict, from_json, to_json
from evalcore.runner.plan import plan_run
from evalcore.runner.predictions import ScoreRequest, score_file
from evalcore.runner.run_request import RunRequest
from tests.support import tau_data
from tests.support.shared_data import shared_data
from tests.support.tau import recorded_rows
from tests.support.tau_data import CANCEL, HAND_OVER, MODIFY


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tau_data.write(tmp_path / "data")


def verdict(folder: Path, task: str, prediction: Any, **options: Any) -> Verdict:
    benchmark = tau_data.benchmark(**options)
    sample = tau_data.samples(folder)[task]
    return asyncio.run(
        benchmark.evaluate_sample(sample, benchmark.episode_from_answer(sample, prediction))
    )


def test_the_card_counts_every_task_the_same():
    card = benchmark_card("tau_bench")
    assert card.suite == "agentic"
    assert card.weights == {"retail": 1.0, "airline": 1.0}


def test_all_splits_of_both_domains_are_loaded_by_their_ids(folder):
    ids = [*(f"retail/test/{at}" for at in range(5)), "retail/dev/0", "airline/test/0"]
    assert sorted(tau_data.samples(folder)) == sorted(ids)


def test_domain_split_and_metric_choose(folder):
    assert set(tau_data.samples(folder, domain="airline")) == {"airline/test/0"}
    assert set(tau_data.samples(folder, split="dev")) == {"retail/dev/0"}
    source = DatasetSource(path=str(folder), metrics=("airline",))
    assert [s.id for s in tau_data.benchmark().load_dataset(source)] == ["airline/test/0"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"split": "none"}, "has no task of split 'none'"),
        ({"split": "none", "domain": "retail"}, "has no split 'none'"),
    ],
)
def test_a_split_that_nobody_has_is_named(folder, options, problem):
    with pytest.raises(UsageError, match=problem):
        tau_data.samples(folder, **options)


def test_a_folder_without_a_domain_is_named(tmp_path, folder):
    with pytest.raises(DatasetError, match="holds no domain"):
        tau_data.samples(tmp_path / "data" / "retail")
    with pytest.raises(DatasetError, match="is not a folder"):
        tau_data.samples(tmp_path / "nowhere")


def test_one_domain_is_enough(folder):
    (folder / "airline").rename(folder / "elsewhere")
    assert {sample.metric for sample in tau_data.samples(folder).values()} == {"retail"}


def test_of_tau2_the_whole_is_loaded_and_not_its_parts_again(tmp_path, folder):
    """`train` and `test` are parts of `base` there; elsewhere splits have no task in common."""
    path = tmp_path / "data" / "tau2" / "domains" / "retail"
    path.mkdir(parents=True)
    tables = {
        name: json.loads((folder / "retail" / f"{name}.json").read_text())
        for name in ("orders", "products", "users")
    }
    scenario = {"instructions": {"reason_for_call": "A lamp.", "known_info": "You are Given."}}
    fields = {"user_scenario": scenario, "evaluation_criteria": {"actions": []}}
    parts = {"base": ["0", "1"], "test": ["0"], "train": ["1"]}
    for name, content in (
        ("db", tables),
        ("tasks", [{"id": item, **fields} for item in parts["base"]]),
        ("split_tasks", parts),
    ):
        (path / f"{name}.json").write_text(json.dumps(content))
    (path / "policy.md").write_text("Be kind.")
    samples = tau_data.samples(tmp_path, domain="retail")
    assert set(samples) == {"retail/base/0", "retail/base/1"}
    assert "tau2-offline" in samples["retail/base/0"].meta["flags"]
    assert set(tau_data.samples(tmp_path, split="test", domain="retail")) == {"retail/test/0"}


def test_a_task_is_the_same_after_the_journal(folder):
    for sample in tau_data.samples(folder).values():
        stored = from_json(Sample, to_json(sample))
        task = dataset.to_task(stored)
        assert task == dataset.to_task(sample)
        assert [list(action.kwargs) for action in task.actions] == [
            list(action.kwargs) for action in dataset.to_task(sample).actions
        ]


def test_the_target_may_know_the_domain_alone(folder):
    assert {tuple(s.input) for s in tau_data.samples(folder).values()} == {("domain",)}


def test_the_data_belongs_to_what_a_sample_is(folder):
    before = tau_data.samples(folder)["retail/test/0"].case_hash
    orders = folder / "retail" / "orders.json"
    orders.write_text(orders.read_text().replace("13.6", "13.7"))
    changed = tau_data.samples(folder)["retail/test/0"].case_hash
    (folder / "retail" / "policy.md").write_text("Be rude.")
    assert len({before, changed, tau_data.samples(folder)["retail/test/0"].case_hash}) == 3


def test_data_that_was_changed_or_is_gone_is_our_failure(folder, monkeypatch):
    monkeypatch.setattr(dataset._domains, "_domains", {})
    sample = tau_data.samples(folder)["retail/test/0"]
    dataset._domains._domains.clear()
    assert dataset.load_sample_domain(sample).name == "retail"
    dataset._domains._domains.clear()
    (folder / "retail" / "policy.md").write_text("Be rude.")
    with pytest.raises(EnvironmentFailure, match="has changed since the run was planned"):
        dataset.load_sample_domain(sample)
    (folder / "retail").rename(folder / "gone")
    with pytest.raises(EnvironmentFailure, match="is missing"):
        dataset.load_sample_domain(sample)


def test_the_rule_user_runs_what_it_can_play_and_a_model_all(folder):
    loaded = list(tau_data.samples(folder).values())
    playable = {sample.id for sample in tau_data.benchmark().select_runnable(loaded)}
    assert {s.id for s in loaded} - playable == {"retail/test/4"}
    by_model = tau_data.benchmark(use_llm_user=True, user_model="openai:m")
    assert by_model.select_runnable(loaded) == loaded


def test_a_split_that_the_rule_user_cannot_play_is_refused(folder):
    loaded = list(tau_data.samples(folder, split="test").values())
    with pytest.raises(UsageError, match="1 of 6 tasks are free prose"):
        tau_data.benchmark(split="test").select_runnable(loaded)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"use_llm_user": True}, "needs tau_bench.user_model"),
        ({"use_llm_user": True, "user_model": "m"}, "user 'm': write it as a target"),
        ({"use_llm_user": True, "user_model": "control:null"}, "control cannot play a user"),
        ({"domain": "telecom"}, "is not one of: both, retail, airline"),
    ],
)
def test_options_that_no_run_can_have_are_refused_before_it_starts(
    tmp_path, folder, options, problem
):
    request = RunRequest(
        target="control:null",
        benchmarks=("tau_bench",),
        dataset=str(folder),
        options={"tau_bench": options},
    )
    with pytest.raises(UsageError, match=problem):
        plan_run(request, configuration.load_settings(tmp_path / "store"))


def test_the_right_calls_pass_with_their_facts(folder):
    result = verdict(folder, "retail/test/0", {"actions": [CANCEL], "says": ["Done."]})
    assert (result.outcome, result.score, result.evidence_kind) == ("passed", 1.0, "executed")
    details = result.details
    assert details["db_hash"] == details["gt_hash"]
    assert len(details["db_hash"]) == 64
    assert [len(item) for item in details["obs_sha"]] == [16]
    assert (details["writes"], details["tool_errors"]) == (1, 0)
    assert "flagged" not in details


def test_the_first_entity_that_differs_is_evidence(folder):
    result = verdict(folder, "retail/test/0", {"actions": [], "says": ["Done."]})
    assert (result.outcome, result.reason) == ("failed", "wrong_answer")
    [section] = [evidence for evidence in result.evidence if evidence.kind == "tree_diff"]
    [difference] = section.body["differences"]
    assert difference["path"] == "orders.#W1.cancel_reason"
    assert difference["expected"] == "no longer needed"
    assert "orders.#W1.cancel_reason" in result.note


def test_what_was_never_said_is_evidence(folder):
    result = verdict(folder, "retail/test/1", {"actions": [], "says": ["It costs 120.6."]})
    assert result.note == "Never said: 20.6."
    assert ["20.6"] in next(s.body["rows"] for s in result.evidence if s.kind == "table")


def test_substrings_are_enough_where_that_is_asked_for(folder):
    options = {"says": ["It costs 120.6."]}
    assert verdict(folder, "retail/test/1", options, outputs="substring").outcome == "passed"


def test_degenerate_tasks_are_flagged(folder):
    result = verdict(folder, "retail/test/2", {})
    assert (result.outcome, result.details["flagged"]) == ("passed", "nothing-to-do")
    assert result.details["idle_passes"] is True


def test_an_answer_in_text_is_said(folder):
    assert verdict(folder, "retail/test/1", "It costs $20.60.").outcome == "passed"
    assert verdict(folder, "retail/test/1", json.dumps({"says": ["20.6"]})).outcome == "passed"
    assert verdict(folder, "retail/test/1", "").outcome == "failed"


@pytest.mark.parametrize(
    "prediction",
    [5, [], {"actions": 5}, {"actions": ["x"]}, {"actions": [{}]}, {"says": [5]}, {"says": "x"}],
)
def test_predictions_of_another_form_are_refused(folder, prediction):
    sample = tau_data.samples(folder)["retail/test/0"]
    with pytest.raises(UsageError, match="a prediction is"):
        tau_data.benchmark().episode_from_answer(sample, prediction)


@pytest.mark.parametrize("kwargs", [None, [], "x", {"order_id": 1e400}, {"a": {"b": [10**400]}}])
def test_hostile_arguments_are_errors_of_the_tool(folder, kwargs):
    action = {"name": "cancel_pending_order", "kwargs": kwargs}
    result = verdict(folder, "retail/test/0", {"actions": [action]})
    assert (result.outcome, result.details["tool_errors"]) == ("failed", 1)


def test_an_episode_without_its_end_is_no_success(folder):
    sample = tau_data.samples(folder)["retail/test/0"]
    benchmark = tau_data.benchmark()
    done = benchmark.episode_from_answer(sample, {"actions": [CANCEL]})
    cut = Episode(done.key, 0, state={**done.state, "ended": "max_turns"})
    actual_sample = asyncio.run(benchmark.evaluate_sample(sample, cut))
    assert (actual_sample.outcome, actual_sample.reason) == ("failed", "budget")
    assert actual_sample.details["termination"] == "max_turns"
    assert actual_sample.details["actions_ok"] is True


def test_the_data_set_is_found_right(folder):
    findings, _ = tau_data.benchmark().validate_dataset(list(tau_data.samples(folder).values()))
    assert findings == []


def test_calls_that_end_the_conversation_are_left_out_of_the_truth(folder):
    for actions in ([MODIFY], [MODIFY, HAND_OVER]):
        assert verdict(folder, "retail/test/3", {"actions": actions}).outcome == "passed"


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("outputs", ["numbers", "substring"])
def test_score_gives_every_recorded_reward_and_hash(tmp_path, outputs):
    data = shared_data("tau_bench")
    rows = recorded_rows(data / "official_rewards.dev.jsonl.gz")
    path, out = tmp_path / "given.jsonl", tmp_path / "out.jsonl"
    lines = (
        {
            "id": f"{row['domain']}/{row['split']}/{row['task']}",
            "prediction": {"actions": row["actions"], "says": row["says"]},
        }
        for row in rows
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    request = ScoreRequest("tau_bench", str(path), str(data), options={"outputs": outputs})
    score_file(request, out, configuration.load_settings(tmp_path / "store"))
    payloads = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(payloads) == len(rows) >= 1400
    for row, line in zip(rows, payloads, strict=True):
        details = line["details"]
        assert details["obs_sha"] == row["obs_sha"]
        assert line["score"] == row["reward"]
        assert (details["db_hash"], details["gt_hash"]) == (
            row["final_db_hash"],
            row["gt_db_hash"],
        )
