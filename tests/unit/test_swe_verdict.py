"""What a verdict says of an examined answer: resolved only ever of an execution."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from evalcore.benchmarks.swe_bench import Task, verdict
from evalcore.benchmarks.swe_bench.evaluate_patch import (
    HardenedResult,
    PatchEvaluation,
    SubmittedAnswer,
    evaluate_without_running,
)
from evalcore.benchmarks.swe_bench.grade import Execution, is_resolved, sha256_text
from evalcore.benchmarks.swe_bench.harness import HarnessResult
from evalcore.records import Episode, Sample
from evalcore.settings import ROOT

PATCH = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"
TASK = Task(
    instance_id="x__y-1",
    repo="x/y",
    base_commit="a" * 40,
    problem_statement="It is wrong.",
    patch=PATCH,
    test_patch="",
    fail_to_pass=("t::one",),
    pass_to_pass=("t::two",),
)
SAMPLE = Sample("under_15_min", "x__y-1", {})
EPISODE = Episode(key="k", epoch=0, answer="text")
LOG = "the log"
GOOD = {
    "resolved": True,
    "tests_status": {
        "FAIL_TO_PASS": {"success": ["t::one"], "failure": []},
        "PASS_TO_PASS": {"success": ["t::two"], "failure": []},
    },
}


def ran(**changes):
    fields = {
        "instance_id": "x__y-1",
        "patch_sha256": sha256_text(PATCH),
        "applied": "apply",
        "log": LOG,
        "log_sha256": sha256_text(LOG),
        "exit_code": 0,
        "means": "bubblewrap",
        "report": GOOD,
        "tests": {"t::one": "PASSED", "t::two": "PASSED"},
    }
    return Execution(**(fields | changes))


def verdict_of(result, episode=EPISODE):
    return verdict.build_swe_verdict(SAMPLE, episode, TASK, result)


def test_an_execution_that_resolved_is_passed_with_its_proof():
    result = verdict_of(
        PatchEvaluation(
            SubmittedAnswer(PATCH), execution=ran(), hardened=HardenedResult(resolved=True)
        )
    )
    assert (result.outcome, result.score, result.evidence_kind) == ("passed", 1.0, "executed")
    assert result.views == {"official": 1.0, "hardened": 1.0, "repaired": 1.0}
    assert result.details["log_sha256"] == sha256_text(LOG)
    assert result.details["resolved"] is True
    titles = [section.title for section in result.evidence]
    assert titles[:4] == ["submitted_patch", "results", "tests", "test_log"]


@pytest.mark.parametrize(
    "changes",
    [
        {"applied": ""},
        {"applied": "nothing"},
        {"means": ""},
        {"log_sha256": "0" * 64},
        {"report": {}},
        {"report": {"resolved": "yes"}},
        {"report": {"resolved": False}},
    ],
)
def test_nothing_less_than_an_execution_is_passed(changes):
    execution = ran(**changes)
    assert not is_resolved(execution)
    result = verdict_of(PatchEvaluation(SubmittedAnswer(PATCH), execution=execution))
    assert (result.outcome, result.score, result.details["resolved"]) == ("failed", 0.0, False)


def test_a_forged_result_is_no_pass_and_official_by_name_only():
    hard = HardenedResult(resolved=False, flags=("machinery", "needs_machinery"))
    result = verdict_of(PatchEvaluation(SubmittedAnswer(PATCH), execution=ran(), hardened=hard))
    assert (result.outcome, result.score, result.reason) == ("failed", 0.0, "tampered")
    assert result.evidence[0].title == "tampering"
    assert result.views == {"official": 1.0, "hardened": 0.0, "repaired": 0.0}
    assert result.details["flags"] == "machinery, needs_machinery"
    assert (result.details["resolved"], result.details["resolved_official"]) == (False, True)


def test_without_the_second_look_nothing_is_passed():
    result = verdict_of(PatchEvaluation(SubmittedAnswer(PATCH), execution=ran()))
    assert (result.outcome, result.views["official"]) == ("failed", 1.0)


def test_the_repaired_patch_counts_beside_and_never_in_the_score():
    failed = ran(report={**GOOD, "resolved": False})
    for resolved_hardened in (True, False):
        hard = HardenedResult(resolved_hardened)
        result = verdict_of(
            PatchEvaluation(
                SubmittedAnswer(PATCH, "text"), execution=failed, rerun=ran(), rerun_hardened=hard
            )
        )
        assert (result.outcome, result.views["repaired"]) == ("failed", float(resolved_hardened))


def test_without_a_repository_nothing_is_resolved_though_the_patch_is_the_true_one():
    result = verdict_of(evaluate_without_running(TASK, SubmittedAnswer(PATCH)))
    assert (result.outcome, result.score, result.reason) == ("not_executed", None, "no_repository")
    assert result.details["resolved"] is None
    assert (result.details["file_recall"], result.details["identical_to_gold"]) == (1.0, True)
    assert result.views == {}


def by_harness(**changes):
    fields = {"outcome": "resolved", "log": LOG, "log_sha256": sha256_text(LOG), "agrees": True}
    result = HarnessResult("x__y-1", **(fields | changes))
    return verdict_of(PatchEvaluation(SubmittedAnswer(PATCH), harness=result))


@pytest.mark.parametrize(
    ("changes", "outcome", "reason"),
    [
        ({}, "passed", ""),
        ({"outcome": "unresolved"}, "failed", "tests_fail"),
        ({"outcome": "apply_failed", "log": "", "agrees": None}, "failed", "does_not_apply"),
        ({"outcome": "environment_error", "reason": "no image"}, "environment_error", None),
        ({"agrees": False}, "environment_error", None),
        ({"log": "", "log_sha256": sha256_text("")}, "failed", "tests_fail"),
        ({"log_sha256": "0" * 64}, "failed", "tests_fail"),
    ],
)
def test_the_official_harness_decides_by_a_log_that_is_there(changes, outcome, reason):
    harness = by_harness(**changes)
    assert harness.outcome == outcome
    assert harness.reason == (reason if reason is not None else "environment")
    assert harness.details["runner"] == "harness"


def test_no_patch_has_failed_and_an_unusable_task_says_nothing_of_the_target():
    empty = verdict_of(PatchEvaluation(SubmittedAnswer("")), Episode(key="k", epoch=0))
    assert (empty.outcome, empty.reason) == ("failed", "empty")
    bad = verdict_of(
        PatchEvaluation(SubmittedAnswer(PATCH), unusable="its tests pass without a patch")
    )
    assert (bad.outcome, bad.reason) == ("environment_error", "unusable_task")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"applied": "", "report": {}}, "does_not_apply"),
        ({"ended_by": "time", "report": {}}, "budget"),
        ({"report": {}}, "tests_fail"),
    ],
)
def test_the_reason_of_a_failure_is_named(changes, reason):
    assert (
        verdict_of(PatchEvaluation(SubmittedAnswer(PATCH), execution=ran(**changes))).reason
        == reason
    )


def test_only_one_place_of_the_benchmark_can_say_passed():
    """The word of the outcome stands once, beside the only call that decides it; to the parsers
    of logs it is a word of the runners."""
    folder = ROOT / "evalcore" / "benchmarks" / "swe_bench"
    places = [(path, node) for path in folder.rglob("*.py") for node in _passed(path)]
    names = [path.name for path, _ in places if path.parent.name != "log_parsers"]
    assert names == ["verdict.py"]


def _passed(path: Path) -> list[ast.Constant]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and n.value == "passed"]


def test_unusable_tasks_count_neither_way_and_measures_stand_apart():
    good = verdict_of(PatchEvaluation(SubmittedAnswer(PATCH), execution=ran()))
    other = Sample("under_15_min", "x__y-2", {})
    bad = verdict.build_swe_verdict(
        other, EPISODE, TASK, PatchEvaluation(SubmittedAnswer(PATCH), unusable="why")
    )
    usable, unusable = verdict.split_unusable([SAMPLE, other], [good, bad])
    assert (usable, unusable) == ([SAMPLE], [other])
    assert verdict.compute_group_means(usable, [good, bad])["applies_rate"] == 100


def test_what_was_never_looked_at_has_no_measure():
    assert set(verdict.compute_group_means([SAMPLE], []).values()) == {None}


def test_what_was_not_executed_has_no_rate_of_applying():
    means = verdict.compute_group_means(
        [SAMPLE], [verdict_of(evaluate_without_running(TASK, SubmittedAnswer(PATCH)))]
    )
    assert (means["applies_rate"], means["file_recall"]) == (None, 100.0)
