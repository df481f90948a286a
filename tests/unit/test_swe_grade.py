"""Grading: which logs count, which tests do, and how specs and hostile logs are met."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evalcore.benchmarks.swe_bench.grade import (
    classify_resolution,
    exit_code,
    grade_log,
    read_log,
)
from evalcore.errors import UsageError
from tests.support.hangs import stop_hang

ROOT = Path(__file__).resolve().parents[2]
SPEC = {
    "instance_id": "evalboard__demo-1",
    "FAIL_TO_PASS": ["t.py::a"],
    "PASS_TO_PASS": ["t.py::b"],
    "log_parser": "parse_log_pytest",
    "eval_type": "pass_and_fail",
}
BOTH = "PASSED t.py::a\nPASSED t.py::b"


def written(results: str, code: int | None = 0, before: str = "", after: str = "") -> str:
    """A log in the form of the evaluation script."""
    text = "" if code is None else f">>>>> Test Exit Code: {code}\n"
    return (
        f"{before}+ : '>>>>> Start Test Output'\n{results}\n"
        f"+ : '>>>>> End Test Output'\n{text}{after}"
    )


def graded(results: str, code: int | None = 0, **changed: object) -> dict:
    return grade_log(SPEC | changed, written(results, code))


def test_all_expected_tests_pass():
    report = graded(BOTH)
    assert report == {
        "patch_is_None": False,
        "patch_exists": True,
        "patch_successfully_applied": True,
        "resolved": True,
        "infra_failure": False,
        "tests_status": {
            "FAIL_TO_PASS": {"success": ["t.py::a"], "failure": []},
            "PASS_TO_PASS": {"success": ["t.py::b"], "failure": []},
            "FAIL_TO_FAIL": {"success": [], "failure": []},
            "PASS_TO_FAIL": {"success": [], "failure": []},
        },
    }


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ("PASSED", "PASSED", "RESOLVED_FULL"),
        ("XFAIL", "XFAIL", "RESOLVED_FULL"),
        ("PASSED", "SKIPPED", "RESOLVED_FULL"),
        ("SKIPPED", "PASSED", "RESOLVED_NO"),
        ("FAILED", "PASSED", "RESOLVED_NO"),
        ("PASSED", "ERROR", "RESOLVED_NO"),
        ("ABSENT", "PASSED", "RESOLVED_NO"),
        ("PASSED", "ABSENT", "RESOLVED_NO"),
        ("ERRORS", "PASSED", "RESOLVED_FULL"),  # a word that is no state counts on neither side
    ],
)
def test_what_each_state_is_worth(first, second, outcome):
    report = graded(f"{first} t.py::a\n{second} t.py::b\nFAILED t.py::other", 1)
    assert classify_resolution(report["tests_status"]) == outcome
    assert report["resolved"] == (outcome == "RESOLVED_FULL")


def test_part_of_the_failing_tests_fixed_is_partial():
    report = graded("PASSED t.py::a\nFAILED t.py::c", 1, FAIL_TO_PASS=["t.py::a", "t.py::c"])
    assert classify_resolution(report["tests_status"]) == "RESOLVED_NO"  # t.py::b is absent
    report = graded(f"{BOTH}\nFAILED t.py::c", 1, FAIL_TO_PASS=["t.py::a", "t.py::c"])
    assert classify_resolution(report["tests_status"]) == "RESOLVED_PARTIAL"
    assert not report["resolved"]


@pytest.mark.parametrize(
    "log",
    [
        "",
        BOTH,
        f"{BOTH}\n>>>>> End Test Output",
        f">>>>> Start Test Output\n{BOTH}",
        written(BOTH, before=">>>>> Patch Apply Failed\n"),
        written(f"{BOTH}\n>>>>> Tests Timed Out"),
        written(BOTH, after=">>>>> Tests Errored"),
        written(BOTH, after=">>>>> Reset Failed"),
        written(BOTH, 1),
        written(BOTH, 137),
        written(BOTH, -9),
        written("no result at all"),
    ],
)
def test_a_log_that_cannot_be_graded(log):
    report = grade_log(SPEC, log)
    assert not report["patch_successfully_applied"]
    assert not report["resolved"]
    assert "tests_status" not in report
    assert read_log(log, "parse_log_pytest").tests == {}


def test_a_failing_exit_status_beside_a_failure_is_graded():
    assert graded(f"{BOTH}\nFAILED t.py::other", 1)["resolved"]
    assert graded(BOTH, None)["resolved"]


def test_only_the_first_section_counts():
    log = written("FAILED t.py::a\nPASSED t.py::b", 1) + written(BOTH)
    assert read_log(log, "parse_log_pytest").tests["t.py::a"] == "FAILED"


def test_results_beside_an_empty_section_are_read():
    assert grade_log(SPEC, written("", before=BOTH + "\n"))["resolved"]


def test_no_end_before_the_start():
    log = f">>>>> End Test Output\n>>>>> Start Test Output\n{BOTH}\n"
    # as upstream: everything behind the start is the section
    assert grade_log(SPEC, log)["resolved"]


def test_lines_ended_as_on_windows_or_by_a_terminal():
    assert grade_log(SPEC, written(BOTH).replace("\n", "\r\n"))["resolved"]
    assert grade_log(SPEC, written("progress\r" + BOTH))["resolved"]


@pytest.mark.parametrize(
    ("ran", "resolved"),
    [
        ("", False),
        ("Executed 0 of 0", False),
        ("0 passing", False),
        ("00 passing", False),
        ("Executed 3 of 3", True),
        ("TOTAL: 5 SUCCESS", True),
        ("10 passing", True),
        ("010 passing", True),
        ("Tests:  4 passed", True),
        ("Test Suites: 0 failed, 2 total", True),
        ("Test Suites: 0 total", False),
        ("# tests 4", True),
        ("x # tests 4", False),
        ("1 spec, 0 failures", True),
        ("'case': ok", True),
    ],
)
def test_silence_counts_where_only_failures_are_named_and_the_suite_ran(ran, resolved):
    changed = {"eval_type": "fail_only", "log_parser": "parse_log_marked"}
    assert graded(ran, **changed)["resolved"] == resolved


def test_a_named_failure_counts_where_only_failures_are_named():
    changed = {"eval_type": "fail_only", "log_parser": "parse_log_marked"}
    report = graded("1) t.py::a\n3 passing", 1, **changed)
    assert report["tests_status"]["FAIL_TO_PASS"] == {"success": [], "failure": ["t.py::a"]}


@pytest.mark.parametrize(
    ("results", "resolved"),
    [
        ("PASSED t.py::p[x-1]\nXFAIL t.py::p[x-2]", True),
        ("PASSED t.py::p[x-1]\nFAILED t.py::p[x-2]", False),
        ("FAILED t.py::p[x-1]\nFAILED t.py::p[x-2]", False),
        ("PASSED t.py::p[y]", False),
        ("PASSED t.py::p[x\nFAILED t.py::p[x-2]", True),
    ],
)
def test_an_id_cut_in_its_bracket_stands_for_tests_that_agree(results, resolved):
    results += "\nFAILED t.py::other"
    report = graded(results, 1, FAIL_TO_PASS=["t.py::p[x"], PASS_TO_PASS=[])
    assert report["resolved"] == resolved


def test_a_whole_id_is_never_a_prefix():
    assert not graded("PASSED t.py::ab\nPASSED t.py::b")["resolved"]


def test_a_prediction_without_a_patch_is_not_graded():
    report = grade_log(SPEC, written(BOTH), {"instance_id": "x", "model_patch": None})
    assert report == {
        "patch_is_None": True,
        "patch_exists": False,
        "patch_successfully_applied": False,
        "resolved": False,
        "infra_failure": False,
    }
    assert grade_log(SPEC, written(BOTH), {"model_patch": ""})["resolved"]


@pytest.mark.parametrize(
    ("line", "reason", "certain"),
    [
        ("fatal: Could not resolve host: x", "network_unreachable", True),
        ("Killed", "out_of_memory", True),
        ("was Killed", None, False),
        ("Error response from daemon: no", "container_unavailable", True),
        ("Missing X server", "display_unavailable", True),
        ("Failed to launch the browser", "browser_launch_failed", True),
        ("ModuleNotFoundError: x", "missing_module", False),
        ("collected 0 items", "no_tests_collected", False),
        ("Timeout error: 1800 seconds exceeded.", "tests_timed_out", False),
    ],
)
def test_a_broken_environment_is_named_where_nothing_was_graded(line, reason, certain):
    report = grade_log(SPEC, line + "\n")
    assert report.get("infra_failure_reason") == reason
    assert report["infra_failure"] is certain
    assert "infra_failure_reason" not in grade_log(SPEC, written(BOTH, before=line + "\n"))


def test_the_exit_status_that_was_written_down():
    assert exit_code(written(BOTH, 5)) == 5
    assert exit_code(written(BOTH, -9)) == -9
    assert exit_code(written(BOTH, None)) is None
    assert exit_code(">>>>> Test Exit Code: " + "9" * 10_000) is not None


def test_columns_of_older_rows():
    old = {name: json.dumps(SPEC[name]) for name in ("FAIL_TO_PASS", "PASS_TO_PASS")}
    assert grade_log(old, written(BOTH))["resolved"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"FAIL_TO_PASS": "not JSON"}, "evalboard__demo-1: FAIL_TO_PASS must be a list"),
        ({"PASS_TO_PASS": None}, "PASS_TO_PASS must be a list"),
        ({"PASS_TO_PASS": [1]}, "PASS_TO_PASS must be a list"),
        ({"PASS_TO_PASS": "[" * 100_000}, "PASS_TO_PASS must be a list"),
        ({"eval_type": "other"}, "eval_type 'other' is not one of pass_and_fail, fail_only"),
        ({"eval_type": ["x"]}, "eval_type"),
        ({"log_parser": "parse_log_other"}, "log parser 'parse_log_other' is not known here"),
    ],
)
def test_a_spec_that_cannot_be_used(changed, message):
    with pytest.raises(UsageError, match=message):
        grade_log(SPEC | changed, written(BOTH))


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "piece",
    [
        "1", "9 passin", "Test Suites: 1 a, ", "Tests:   ", ">>>>> Test Exit Code: ",
        ">>>>> Start Test Output", "PASSED t.py::p[x\n", "\r", "Killed ", "Executed 1",
        "PASSED t.py::a[b] - c\n", "\x1b[32m", "Timeout error: 1", "['", "specs, 1",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["parse_log_pytest", "parse_log_pytest_v2", "parse_log_django"])
def test_a_hostile_log_is_graded_in_linear_time(piece, name):
    log = written(piece * (600_000 // len(piece)))
    with stop_hang():
        grade_log(SPEC | {"log_parser": name, "FAIL_TO_PASS": ["t.py::p[x", "t.py::q[y"]}, log)


def test_importing_is_light():
    """The time it takes, beside the bare interpreter, is measured by perf/swe_grade.py."""
    code = "import sys, evalcore.benchmarks.swe_bench.grade; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    modules = set(done.stdout.split())
    heavy = {"numpy", "pandas", "duckdb", "sqlglot", "streamlit", "datasets", "openai", "httpx"}
    assert modules.isdisjoint(heavy | {"torch", "transformers", "asyncio", "evalcore.catalog"})
