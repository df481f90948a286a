"""What a verdict rests on, as sections for the Case page: patch, tests, log, readings, measures."""

from __future__ import annotations

from collections.abc import Iterator

from evalcore.benchmarks.swe_bench.evaluate_patch import PatchEvaluation
from evalcore.benchmarks.swe_bench.execution.resolution import Execution, is_resolved
from evalcore.benchmarks.swe_bench.measures import Measures
from evalcore.benchmarks.swe_bench.task import Task
from evalcore.records import Section

_LOG, _PATCH = 24_000, 40_000  # characters that are kept
_MISSING = "not run"
#: States that the grading counts as passing.
_GOOD = ("PASSED", "XFAIL")


def build_evidence_sections(task: Task, evaluation: PatchEvaluation) -> tuple[Section, ...]:
    """In the order in which a reader asks: the patch, what the tests said, how near it came."""
    return tuple(_iter_evidence_sections(task, evaluation))


def count_failed_tests(run: Execution) -> int:
    """How many of the tests that have to pass do not, as the grading counts."""
    groups = (run.report.get("tests_status") or {}).values()
    return sum(len(group.get("failure", ())) for group in groups)


def _iter_evidence_sections(task: Task, evaluation: PatchEvaluation) -> Iterator[Section]:
    if evaluation.answer.patch.strip():
        yield _build_diff_section("submitted_patch", evaluation.answer.patch)
    if evaluation.execution is not None:
        yield _build_results_section(evaluation)
        yield _build_test_table(task, evaluation.execution)
        yield Section(
            kind="log", title="test_log", body=_shorten_section_text(evaluation.execution.log, _LOG)
        )
    if evaluation.execution is not None and not evaluation.execution.applied:
        yield Section(
            kind="log",
            title="apply_log",
            body=_shorten_section_text(evaluation.execution.apply_log, _LOG),
        )
    if evaluation.harness is not None:
        yield Section(kind="json", title="harness_report", body=evaluation.harness.report)
        yield Section(
            kind="log", title="test_log", body=_shorten_section_text(evaluation.harness.log, _LOG)
        )
    if evaluation.repaired is not None and evaluation.rerun is not None:
        yield _build_diff_section("repaired_patch", evaluation.repaired.patch)
    if evaluation.measures is not None:
        yield _build_measures_section(evaluation.measures)
    yield _build_diff_section("true_patch", task.patch)


def _build_diff_section(title: str, patch: str) -> Section:
    body = {"language": "diff", "text": _shorten_section_text(patch, _PATCH)}
    return Section(kind="code", title=title, body=body)


def _build_results_section(evaluation: PatchEvaluation) -> Section:
    """The readings of the same answer beside each other, each with what it ran."""
    rows = []
    for name, run in (("official", evaluation.execution), ("repaired", evaluation.rerun)):
        if run is not None:
            rows.append(
                [name, _format_yes_no(is_resolved(run)), run.applied or "no", run.log_sha256[:16]]
            )
    hard = evaluation.hardened
    if hard is not None:
        run = hard.control or hard.clean
        rows.append(
            ["hardened", _format_yes_no(hard.resolved), ", ".join(hard.flags), _short_log_hash(run)]
        )
    columns = ["reading", "resolved", "applied", "log_sha256"]
    return Section(kind="table", title="results", body={"columns": columns, "rows": rows})


def _short_log_hash(run: Execution | None) -> str:
    return run.log_sha256[:16] if run is not None else ""


def _format_yes_no(value: bool) -> str:
    return "yes" if value else "no"


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
    rows = [
        ["file_recall", f"{measures.file_recall:.2f}"],
        ["file_precision", f"{measures.file_precision:.2f}"],
        ["hunk_recall", f"{measures.hunk_recall:.2f}"],
        ["line_f1", f"{measures.line_f1:.2f}"],
        ["identical_to_gold", _format_yes_no(measures.identical_to_gold)],
        ["test_infrastructure", ", ".join(measures.infrastructure) or "none"],
        ["suspicious_lines", str(len(measures.suspicious))],
    ]
    columns = ["measure", "value"]
    return Section(kind="table", title="patch_measures", body={"columns": columns, "rows": rows})


def _shorten_section_text(text: str, limit: int) -> str:
    """Beginning and end of a long text."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[{len(text) - limit} characters left out]\n{text[-half:]}"
