"""What a verdict rests on, as sections for the Case page: patch, tests, log, readings, measures."""

from __future__ import annotations

from collections.abc import Iterator

from evalcore.benchmarks.swe_bench.examination import Examination
from evalcore.benchmarks.swe_bench.execution.resolution import Execution, resolved
from evalcore.benchmarks.swe_bench.measures import Measures
from evalcore.benchmarks.swe_bench.task import Task
from evalcore.records import Section

_LOG, _PATCH = 24_000, 40_000  # characters that are kept
_MISSING = "not run"
#: States that the grading counts as passing.
_GOOD = ("PASSED", "XFAIL")


def sections(task: Task, found: Examination) -> tuple[Section, ...]:
    """In the order in which a reader asks: the patch, what the tests said, how near it came."""
    return tuple(_sections(task, found))


def failed(run: Execution) -> int:
    """How many of the tests that have to pass do not, as the grading counts."""
    groups = (run.report.get("tests_status") or {}).values()
    return sum(len(group.get("failure", ())) for group in groups)


def _sections(task: Task, found: Examination) -> Iterator[Section]:
    if found.answer.patch.strip():
        yield _diff("submitted_patch", found.answer.patch)
    if found.execution is not None:
        yield _results(found)
        yield _test_table(task, found.execution)
        yield Section(kind="log", title="test_log", body=_shortened(found.execution.log, _LOG))
    if found.execution is not None and not found.execution.applied:
        yield Section(
            kind="log", title="apply_log", body=_shortened(found.execution.apply_log, _LOG)
        )
    if found.harness is not None:
        yield Section(kind="json", title="harness_report", body=found.harness.report)
        yield Section(kind="log", title="test_log", body=_shortened(found.harness.log, _LOG))
    if found.repaired is not None and found.rerun is not None:
        yield _diff("repaired_patch", found.repaired.patch)
    if found.measures is not None:
        yield _measures(found.measures)
    yield _diff("true_patch", task.patch)


def _diff(title: str, patch: str) -> Section:
    body = {"language": "diff", "text": _shortened(patch, _PATCH)}
    return Section(kind="code", title=title, body=body)


def _results(found: Examination) -> Section:
    """The readings of the same answer beside each other, each with what it ran."""
    rows = []
    for name, run in (("official", found.execution), ("repaired", found.rerun)):
        if run is not None:
            rows.append([name, _said(resolved(run)), run.applied or "no", run.log_sha256[:16]])
    hard = found.hardened
    if hard is not None:
        run = hard.control or hard.clean
        rows.append(["hardened", _said(hard.resolved), ", ".join(hard.flags), _hash(run)])
    columns = ["reading", "resolved", "applied", "log_sha256"]
    return Section(kind="table", title="results", body={"columns": columns, "rows": rows})


def _hash(run: Execution | None) -> str:
    return run.log_sha256[:16] if run is not None else ""


def _said(value: bool) -> str:
    return "yes" if value else "no"


def _test_table(task: Task, run: Execution) -> Section:
    """Every test that has to pass, those that do not first."""
    must = dict.fromkeys(task.fail_to_pass, "FAIL_TO_PASS")
    must |= dict.fromkeys(task.pass_to_pass, "PASS_TO_PASS")
    found = {test: run.tests.get(test, _MISSING) for test in must}
    rows = [[test, must[test], status] for test, status in found.items()]
    rows.sort(key=lambda row: row[2] in _GOOD)
    columns = ["test", "group", "status"]
    return Section(kind="table", title="tests", body={"columns": columns, "rows": rows})


def _measures(found: Measures) -> Section:
    rows = [
        ["file_recall", f"{found.file_recall:.2f}"],
        ["file_precision", f"{found.file_precision:.2f}"],
        ["hunk_recall", f"{found.hunk_recall:.2f}"],
        ["line_f1", f"{found.line_f1:.2f}"],
        ["identical_to_gold", _said(found.identical_to_gold)],
        ["test_infrastructure", ", ".join(found.infrastructure) or "none"],
        ["suspicious_lines", str(len(found.suspicious))],
    ]
    columns = ["measure", "value"]
    return Section(kind="table", title="patch_measures", body={"columns": columns, "rows": rows})


def _shortened(text: str, most: int) -> str:
    """Beginning and end of a long text."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[{len(text) - most} characters left out]\n{text[-half:]}"
