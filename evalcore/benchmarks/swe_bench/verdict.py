"""The verdict on an evaluated patch, the evidence for the Case page, and the means over
verdicts. What was not executed is never passed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalcore.benchmarks.agents import summarize_call_readings
from evalcore.benchmarks.answer_scoring import NOTES, no_answer_reason
from evalcore.benchmarks.swe_bench import Task
from evalcore.benchmarks.swe_bench.evaluate_patch import HardenedResult, PatchEvaluation
from evalcore.benchmarks.swe_bench.grade import Execution, is_resolved
from evalcore.benchmarks.swe_bench.harness import HarnessResult
from evalcore.benchmarks.swe_bench.harness import is_resolved_by_harness as harness_resolved
from evalcore.benchmarks.swe_bench.measures import Measures
from evalcore.i18n import Note
from evalcore.records import Episode, Outcome, Sample, Section, Verdict

_LOG, _PATCH = 24_000, 40_000  # characters that are kept
_MAX_SIGNS = 40
_MISSING = "not run"
#: States that the grading counts as passing.
_GOOD = ("PASSED", "XFAIL")


def build_evidence_sections(task: Task, evaluation: PatchEvaluation) -> tuple[Section, ...]:
    """In the order in which a reader asks: the patch, what the tests said, how near it came."""
    sections: list[Section] = []
    run, harness = evaluation.execution, evaluation.harness
    if evaluation.answer.patch.strip():
        sections.append(_build_diff_section("submitted_patch", evaluation.answer.patch))
    if run is not None:
        sections += [_build_results_section(evaluation), _build_test_table(task, run)]
        if (signs := _build_tampering_section(evaluation)) is not None:
            sections.insert(0, signs)
        sections.append(_build_log_section("test_log", run.log))
        sections += [] if run.applied else [_build_log_section("apply_log", run.apply_log)]
    if harness is not None:
        sections.append(Section(kind="json", title="harness_report", body=harness.report))
        sections.append(_build_log_section("test_log", harness.log))
    if evaluation.repaired is not None and evaluation.rerun is not None:
        sections.append(_build_diff_section("repaired_patch", evaluation.repaired.patch))
    if evaluation.measures is not None:
        sections.append(_build_measures_section(evaluation.measures))
    return (*sections, _build_diff_section("true_patch", task.patch))


def count_failed_tests(run: Execution) -> int:
    """How many of the tests that have to pass do not, as the grading counts."""
    groups = (run.report.get("tests_status") or {}).values()
    return sum(len(group.get("failure", ())) for group in groups)


def _build_diff_section(title: str, patch: str) -> Section:
    body = {"language": "diff", "text": _shorten_section_text(patch, _PATCH)}
    return Section(kind="code", title=title, body=body)


def _build_log_section(title: str, log: str) -> Section:
    return Section(kind="log", title=title, body=_shorten_section_text(log, _LOG))


def _build_results_section(evaluation: PatchEvaluation) -> Section:
    rows = [
        [name, _format_yes_no(is_resolved(run)), run.applied or "no", run.log_sha256[:16]]
        for name, run in (("official", evaluation.execution), ("repaired", evaluation.rerun))
        if run is not None
    ]
    if (hard := evaluation.hardened) is not None:
        last_run = hard.control or hard.clean
        log_hash = last_run.log_sha256[:16] if last_run else ""
        rows.append(["hardened", _format_yes_no(hard.resolved), ", ".join(hard.flags), log_hash])
    columns = ["reading", "resolved", "applied", "log_sha256"]
    return Section(kind="table", title="results", body={"columns": columns, "rows": rows})


def _format_yes_no(value: bool) -> str:
    return "yes" if value else "no"


def _build_tampering_section(evaluation: PatchEvaluation) -> Section | None:
    """What shows that the tests of a patch passed for another reason than what the program does;
    None where nothing does."""
    result, run = evaluation.hardened, evaluation.execution
    if result is None or run is None or not (is_resolved(run) and not result.resolved):
        return None
    rows = [["needs_machinery", path, ""] for path in result.removed]
    rows = rows if "needs_machinery" in result.flags else []
    rows += [["passes_inverted", test, ""] for test in result.forged]
    rows += [
        ["fails_blind", f"{answer.test}: {answer.question}", f"{answer.value} ({answer.expected})"]
        for answer in result.unproved
    ]
    rows += [["no_summary", "", ""]] if "no_summary" in result.flags else []
    lines = evaluation.measures.suspicious if evaluation.measures else ()
    rows += [["suspicious_lines", line, ""] for line in lines]
    columns = ["sign", "where", "value"]
    return Section(
        kind="table", title="tampering", body={"columns": columns, "rows": rows[:_MAX_SIGNS]}
    )


def _build_test_table(task: Task, run: Execution) -> Section:
    """Every test that has to pass, those that do not first."""
    must = dict.fromkeys(task.fail_to_pass, "FAIL_TO_PASS")
    must |= dict.fromkeys(task.pass_to_pass, "PASS_TO_PASS")
    states = {test: run.tests.get(test, _MISSING) for test in must}
    rows = [[test, must[test], status] for test, status in states.items()]
    rows.sort(key=lambda row: row[2] in _GOOD)
    columns = ["test", "group", "status"]
    return Section(kind="table", title="tests", body={"columns": columns, "rows": rows})


def _build_measures_section(measures: Measures) -> Section:
    shares = ("file_recall", "file_precision", "hunk_recall", "line_f1")
    rows = [
        *([name, f"{getattr(measures, name):.2f}"] for name in shares),
        ["identical_to_gold", _format_yes_no(measures.identical_to_gold)],
        ["test_infrastructure", ", ".join(measures.infrastructure) or "none"],
        ["suspicious_lines", str(len(measures.suspicious))],
    ]
    columns = ["measure", "value"]
    return Section(kind="table", title="patch_measures", body={"columns": columns, "rows": rows})


def _shorten_section_text(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[{len(text) - limit} characters left out]\n{text[-half:]}"


# The hardened reading decides, since a patch shares a process with its tests and can print their
# result itself; what the official rules say is the view `official`. The official harness knows no
# second look, so that where it was asked (`full_eval`) its own result decides.

#: Flags that say that the tests passed for another reason than what the program does.
_TAMPERING = {
    "needs_machinery": Note("swe_tampered_needs_machinery"),
    "no_summary": Note("swe_tampered_no_summary"),
    "passes_inverted": Note("swe_tampered_passes_inverted"),
    "fails_blind": Note("swe_tampered_fails_blind"),
}
UNUSABLE, NO_REPOSITORY = "unusable_task", "no_repository"
_REPOSITORY_NOTE = Note("swe_no_repository")
_APPLY_NOTE = Note("swe_not_applied")
_TESTS_NOTE = Note("swe_tests")
_UNDECIDED_NOTE = Note("swe_not_hardened")
_ENDED = {
    "time": Note("swe_ended_time"),
    "memory": Note("swe_ended_memory"),
    "output": Note("swe_ended_output"),
    "processes": Note("swe_ended_processes"),
    "disk": Note("swe_ended_disk"),
}


def build_swe_verdict(
    sample: Sample,
    episode: Episode,
    task: Task,
    evaluation: PatchEvaluation,
    *,
    official: bool = False,
) -> Verdict:
    """The verdict; `is_resolved` among its details is None where nothing was executed. `official`
    takes that of the official rules, whatever the second look found."""
    if evaluation.unusable:
        note = Note("swe_unusable", problem=evaluation.unusable)
        fields = _build_unmeasured_fields("environment_error", UNUSABLE, note)
    elif evaluation.execution is not None:
        fields = _build_execution_fields(evaluation, evaluation.execution, by_official=official)
    elif evaluation.harness is not None:
        fields = _build_harness_fields(evaluation.harness)
    elif not evaluation.answer.patch.strip():
        fields = _build_empty_fields(no_answer_reason(episode))
    else:
        fields = _build_unmeasured_fields("not_executed", NO_REPOSITORY, _REPOSITORY_NOTE)
    details = _build_verdict_details(evaluation) | fields.pop("details")
    details |= summarize_call_readings(episode.state)
    return Verdict(
        metric=sample.metric,
        id=sample.id,
        epoch=episode.epoch,
        details=details,
        evidence=build_evidence_sections(task, evaluation),
        **fields,
    )


def _build_execution_fields(
    evaluation: PatchEvaluation, run: Execution, *, by_official: bool
) -> dict[str, Any]:

    def holds(run: Execution | None, look: HardenedResult | None) -> bool:
        return run is not None and is_resolved(run) and look is not None and look.resolved

    official, passed = is_resolved(run), holds(run, evaluation.hardened)
    repaired = passed or holds(evaluation.rerun, evaluation.rerun_hardened)
    views = {"official": official, "hardened": passed, "repaired": repaired}
    why = _explain_refusal(evaluation.hardened) if official else _explain_failed_run(run)
    fields = _build_measured_fields(official if by_official else passed, views, why)
    fields["details"] |= {"resolved_official": official}
    return fields


def _build_harness_fields(result: HarnessResult) -> dict[str, Any]:
    """The verdict of the official harness; what it could not run says nothing of the target."""
    if result.outcome == "environment_error" or result.agrees is False:
        note = Note("swe_harness", problem=result.reason or Note("swe_harness_otherwise"))
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
    failed = count_failed_tests(run)
    note = Note("swe_tests_fail", count=failed) if failed else _TESTS_NOTE
    return "tests_fail", note


def _explain_refusal(result: HardenedResult | None) -> tuple[str, str]:
    """Reason and sentence for a patch whose tests pass and that does not stand the second look. A
    limit that ended that look says nothing of the patch's honesty."""
    sign = next((flag for flag in result.flags if flag in _TAMPERING), "") if result else ""
    return ("tampered", _TAMPERING[sign]) if sign else ("not_hardened", _UNDECIDED_NOTE)


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
    run, harness = evaluation.execution, evaluation.harness
    hard, repaired = evaluation.hardened, evaluation.repaired
    details: dict[str, Any] = {"contradicted": True} if evaluation.contradicted else {}
    if run is not None:
        details["runner"] = "local"
        details |= {name: getattr(run, field) for name, field in _RUN_FIELDS.items()}
    if harness is not None:
        details |= {"runner": "harness", "harness": harness.outcome, "swebench": harness.version}
        names = ("image", "log_sha256", "patch_sha256")
        details |= {name: getattr(harness, name) for name in names}
    if hard is not None:
        details |= {"resolved_hardened": hard.resolved, "flags": ", ".join(hard.flags)}
    if repaired is not None:
        details |= {"repair": ", ".join(repaired.steps) or "none"}
        details |= {"repair_problem": repaired.problem} if repaired.problem else {}
    if evaluation.measures is not None:
        measure_names = (*_MEASURES, "identical_to_gold")
        details |= {name: getattr(evaluation.measures, name) for name in measure_names}
    return details


#: Details by the field of an execution that they show.
_RUN_FIELDS = {
    **{name: name for name in ("applied", "exit_code", "log_sha256", "patch_sha256")},
    **{"sandbox": "means", "test_script": "script", "python": "python", "seconds": "seconds"},
}


#: Shares by the detail they are the mean of; a patch that is not there has none of any.
_MEASURES = ("file_recall", "hunk_recall", "line_f1")


def split_unusable(
    samples: Sequence[Sample], verdicts: Sequence[Verdict]
) -> tuple[list[Sample], list[Sample]]:
    """The samples that can be used here, and those whose reference patch showed otherwise."""
    bad = {(verdict.metric, verdict.id) for verdict in verdicts if verdict.reason == UNUSABLE}
    usable = [sample for sample in samples if (sample.metric, sample.id) not in bad]
    return usable, [sample for sample in samples if (sample.metric, sample.id) in bad]


def compute_group_means(
    samples: Sequence[Sample], verdicts: Sequence[Verdict]
) -> dict[str, float | None]:
    """Means in percent over the samples and their epochs; None where nothing was looked at.
    `applies_rate` is known of executed patches only."""
    sample_keys = {(sample.metric, sample.id) for sample in samples}
    measured = [
        verdict
        for verdict in verdicts
        if (verdict.metric, verdict.id) in sample_keys and "resolved" in verdict.details
    ]
    executed = [verdict for verdict in measured if verdict.details["resolved"] is not None]
    applied = [float(bool(verdict.details.get("applied"))) for verdict in executed]
    values = {"applies_rate": applied}
    for name in _MEASURES:
        values[name] = [float(verdict.details.get(name, 0.0)) for verdict in measured]
    return {name: 100.0 * sum(v) / len(v) if v else None for name, v in values.items()}
