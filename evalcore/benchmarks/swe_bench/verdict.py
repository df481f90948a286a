"""The verdict on an examined answer. What was not executed is never passed.

The hardened reading decides, since a patch shares a process with its tests and can print their
result itself; what the official rules say is the view `official`. The official harness knows no
second look, so that where it was asked (`full_eval`) its own result decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalcore.benchmarks.answer_parsing import NOTES, no_answer_reason
from evalcore.benchmarks.swe_bench import evidence
from evalcore.benchmarks.swe_bench.evaluate_patch import PatchEvaluation
from evalcore.benchmarks.swe_bench.execution.resolution import Execution, is_resolved
from evalcore.benchmarks.swe_bench.harness.results import HarnessResult
from evalcore.benchmarks.swe_bench.harness.results import is_resolved_by_harness as harness_resolved
from evalcore.benchmarks.swe_bench.task import Task
from evalcore.records import Episode, Outcome, Sample, Verdict

UNUSABLE, NO_REPOSITORY = "unusable_task", "no_repository"
_UNUSABLE_NOTE = "The task cannot be used here:"
_REPOSITORY_NOTE = "No repository of the task is at hand, so that its tests did not run."
_APPLY_NOTE = "The patch does not apply."
_TESTS_NOTE = "Tests that have to pass do not."
_FORGED_NOTE = "Its tests pass, but the patch does not stand the stricter second look."
_ENDED = {
    "time": "The time limit ended the tests.",
    "memory": "The memory limit ended the tests.",
    "output": "The limit on output ended the tests.",
    "processes": "The limit on processes ended the tests.",
    "disk": "The limit on disk space ended the tests.",
}


def build_swe_verdict(
    sample: Sample, episode: Episode, task: Task, evaluation: PatchEvaluation
) -> Verdict:
    """The verdict; `is_resolved` among its details is None where nothing was executed."""
    if evaluation.unusable:
        fields = _build_unmeasured_fields(
            "environment_error", UNUSABLE, f"{_UNUSABLE_NOTE} {evaluation.unusable}"
        )
    elif evaluation.execution is not None:
        fields = _build_execution_fields(evaluation, evaluation.execution)
    elif evaluation.harness is not None:
        fields = _build_harness_fields(evaluation.harness)
    elif not evaluation.answer.patch.strip():
        fields = _build_empty_fields(no_answer_reason(episode))
    else:
        fields = _build_unmeasured_fields("not_executed", NO_REPOSITORY, _REPOSITORY_NOTE)
    details = _build_verdict_details(evaluation) | fields.pop("details")
    return Verdict(
        metric=sample.metric,
        id=sample.id,
        epoch=episode.epoch,
        details=details,
        evidence=evidence.build_evidence_sections(task, evaluation),
        **fields,
    )


def _build_execution_fields(evaluation: PatchEvaluation, run: Execution) -> dict[str, Any]:
    """The verdict on runs of ours."""
    official = is_resolved(run)
    passed = official and evaluation.hardened is not None and evaluation.hardened.resolved
    rerun = evaluation.rerun is not None and is_resolved(evaluation.rerun)
    repaired = (
        rerun and evaluation.rerun_hardened is not None and evaluation.rerun_hardened.resolved
    )
    views = {"official": official, "hardened": passed, "repaired": passed or repaired}
    why = ("not_hardened", _FORGED_NOTE) if official else _explain_failed_run(run)
    fields = _build_measured_fields(passed, views, why)
    fields["details"] |= {"resolved_official": official}
    return fields


def _build_harness_fields(result: HarnessResult) -> dict[str, Any]:
    """The verdict of the official harness; what it could not run says nothing of the target."""
    if result.outcome == "environment_error" or result.agrees is False:
        note = f"The official harness has no result: {result.reason or 'its log grades otherwise'}"
        return _build_unmeasured_fields("environment_error", "environment", note)
    passed = harness_resolved(result)
    applied = result.outcome != "apply_failed"
    why = ("tests_fail", _TESTS_NOTE) if applied else ("does_not_apply", _APPLY_NOTE)
    return _build_measured_fields(passed, {"official": passed}, why)


def _build_measured_fields(
    passed: bool, views: Mapping[str, bool], why: tuple[str, str]
) -> dict[str, Any]:
    """The only place that can say `passed`; it is asked with what an execution resolved."""
    reason, note = ("", "") if passed else why
    return {
        "outcome": "passed" if passed else "failed",
        "score": float(passed),
        "evidence_kind": "executed",
        "reason": reason,
        "note": note,
        "views": {name: float(value) for name, value in views.items()},
        "details": {"resolved": passed},
    }


def _explain_failed_run(run: Execution) -> tuple[str, str]:
    """Reason and sentence for a patch that did not resolve its task."""
    if not run.applied:
        return "does_not_apply", _APPLY_NOTE
    if run.ended_by:
        return "budget", _ENDED[run.ended_by]
    failed = evidence.count_failed_tests(run)
    note = f"{failed} of the tests that have to pass do not." if failed else _TESTS_NOTE
    return "tests_fail", note


def _build_empty_fields(reason: str) -> dict[str, Any]:
    """No patch at all: nothing has to be executed to know that it resolves nothing."""
    return {
        "outcome": "failed",
        "score": 0.0,
        "evidence_kind": "checked",
        "reason": reason,
        "note": NOTES[reason],
        "views": {"official": 0.0, "hardened": 0.0, "repaired": 0.0},
        "details": {"resolved": False},
    }


def _build_unmeasured_fields(outcome: Outcome, reason: str, note: str) -> dict[str, Any]:
    return {"outcome": outcome, "reason": reason, "note": note, "details": {"resolved": None}}


def _build_verdict_details(evaluation: PatchEvaluation) -> dict[str, Any]:
    run, hard, repaired, measured = (
        evaluation.execution,
        evaluation.hardened,
        evaluation.repaired,
        evaluation.measures,
    )
    details: dict[str, Any] = {"contradicted": True} if evaluation.contradicted else {}
    if run is not None:
        details |= {
            "runner": "local",
            "applied": run.applied,
            "exit_code": run.exit_code,
            "log_sha256": run.log_sha256,
            "patch_sha256": run.patch_sha256,
            "sandbox": run.means,
            "test_script": run.script,
            "python": run.python,
            "seconds": run.seconds,
        }
    if evaluation.harness is not None:
        details |= {
            "runner": "harness",
            "harness": evaluation.harness.outcome,
            "swebench": evaluation.harness.version,
            "image": evaluation.harness.image,
            "log_sha256": evaluation.harness.log_sha256,
            "patch_sha256": evaluation.harness.patch_sha256,
        }
    if hard is not None:
        details |= {"resolved_hardened": hard.resolved, "flags": ", ".join(hard.flags)}
    if repaired is not None:
        details |= {"repair": ", ".join(repaired.steps) or "none"}
        details |= {"repair_problem": repaired.problem} if repaired.problem else {}
    if measured is not None:
        details |= {
            "file_recall": measured.file_recall,
            "hunk_recall": measured.hunk_recall,
            "line_f1": measured.line_f1,
            "identical_to_gold": measured.identical_to_gold,
        }
    return details
