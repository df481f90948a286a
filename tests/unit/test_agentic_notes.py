"""Every sentence that the scorers of `gaia` and `swe_bench` and the sandbox write is retold."""

from __future__ import annotations

import re

import pytest

from evalcore.benchmarks.gaia import score as gaia_verdict
from evalcore.benchmarks.gaia.score import question_scorer
from evalcore.benchmarks.swe_bench import verdict as swe_verdict
from evalcore.benchmarks.swe_bench.evaluate_patch import FLAGS, _explain_gold_failure
from evalcore.benchmarks.swe_bench.grade import Execution
from evalcore.benchmarks.swe_bench.log_parsers.result_lines import (
    ERROR,
    FAILED,
    PASSED,
    SKIPPED,
    XFAIL,
)
from evalcore.benchmarks.swe_bench.patches.parsed_patch import PROBLEMS
from evalcore.benchmarks.swe_bench.verdict import _MISSING as MISSING
from evalcore.i18n import LANGUAGES, Note, lookup_text, translate_note
from evalcore.sandbox import program
from evalcore.sandbox.program import SandboxSupport
from evalcore.sandbox.supervise import SandboxBroken
from tests.support import agentic_runs
from tests.support.boards import settings_in
from tests.support.rows import each_row

CHINESE = re.compile(r"[\u4e00-\u9fff]")
NO_WORDS_LEFT = re.compile(r"[A-Za-z]{3,}")


def run(**more):
    return Execution("a__b-1", "0" * 64, applied="apply", **more)


UNUSABLE = [
    run(ended_by="time"),
    run(ended_by="disk"),
    run(),
    run(report={"tests_status": {"FAIL_TO_PASS": {"failure": ["t.py::one"]}}}),
    run(report={"tests_status": {"FAIL_TO_PASS": {"failure": []}}}),
    Execution("a__b-1", "0" * 64),
]
OPEN = program._evaluate_probe("bubblewrap", {"network": False, "files": True})
SENTENCES = [
    question_scorer("17 km", "17").note,
    question_scorer("18", "17").note,
    question_scorer("1, 2, 3", "1, 2").note,
    question_scorer("1, 2 km", "1, 3").note,
    question_scorer("1, 2", "1, 3").note,
    question_scorer("a", "b").note,
    gaia_verdict._HIDDEN_NOTE,
    gaia_verdict._BUDGET_NOTE,
    swe_verdict._REPOSITORY_NOTE,
    swe_verdict._APPLY_NOTE,
    swe_verdict._TESTS_NOTE,
    "7 of the tests that have to pass do not.",
    *swe_verdict._ENDED.values(),
    *(
        Note("swe_unusable", problem=Note("swe_gold_fails", problem=_explain_gold_failure(item)))
        for item in UNUSABLE
    ),
    "The task cannot be used here: the reference patch does not resolve it here: it does not apply",
    "The task cannot be used here: its tests pass without a patch",
    "The official harness has no result: the harness left no report; the harness ended with: x",
    *PROBLEMS.values(),
    *(SandboxSupport("", row.problem, row.fix).explanation for row in program._DIAGNOSES),
    "This kernel, or what stands in for it, lacks calls that the sandbox is built with. "
    "Install bubblewrap, or use Linux 5.12 or newer.",
    " ".join(program.diagnose_failure("an unheard-of complaint")),
    "Programs can be run in a sandbox on Linux only. Use Linux, a virtual machine or a container.",
    OPEN.explanation,
    "In a sandbox by bubblewrap this was seen not to hold: network. "
    "Use another machine or container.",
    str(SandboxBroken("namespaces", "no reason")),
    "sandbox: not up after 20 s",
    "git is not installed; install it (Debian: apt install git)",
    "git fetch failed: fatal: no such remote",
    "the file a.csv of q-1 is gone from datasets/gaia",
    "the web search brave fails: it answers with status 503; check BRAVE_API_KEY, its quota and "
    "the network",
]


@each_row("sentence", SENTENCES)
def test_it_is_retold_and_whole(sentence):
    if isinstance(sentence, Note):
        assert translate_note(sentence, "en", in_terminal=True) == sentence
    assert CHINESE.search(translate_note(sentence, "zh"))


@pytest.mark.parametrize(
    ("sentence", "left"),
    [
        (SENTENCES[0], "km"),
        ("The task cannot be used here: its tests pass without a patch", ""),
        (
            "The task cannot be used here: the reference patch does not solve it here: "
            "its tests hit the time limit",
            "",
        ),
    ],
)
def test_sentences_inside_sentences_are_retold_too(sentence, left):
    words = NO_WORDS_LEFT.findall(translate_note(sentence, "zh").replace(left, "") if left else "")
    assert words == []


def test_an_answer_that_looks_like_a_placeholder_stays_what_it_is():
    note = question_scorer("{part} {0.__class__}", "17").note
    assert "{part} {0.__class__}" in translate_note(note, "zh")


@pytest.mark.parametrize("language", LANGUAGES)
def test_flags_reasons_and_views_have_words(language, tmp_path):
    for flag in FLAGS:
        assert lookup_text(f"case.shield.{flag}", language)
        assert lookup_text(f"section.word.results.{flag}", language)
    settings = settings_in(tmp_path)
    for folder in (agentic_runs.gaia(settings), agentic_runs.swe(settings)):
        [key] = folder.read_summary().benchmarks
        for line in folder.read_verdicts(agentic_runs.SCORING):
            verdict = line.verdict
            assert not verdict.reason or lookup_text(f"common.reason.{verdict.reason}", language)
            for view in verdict.views:
                assert lookup_text(f"target.view_name.{view}", language)
                assert lookup_text(f"{key}.view_about.{view}", language)
            for section in verdict.evidence:
                assert lookup_text(f"section.{section.title}", language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_tables_have_words_for_columns_and_cells(language):
    for status in (PASSED, FAILED, ERROR, SKIPPED, XFAIL, MISSING):
        assert lookup_text(f"section.word.{status}", language), status
    cases = [make(name) for name, make in agentic_runs.SWE_CASES.items()]
    tables = [s for case in cases for s in case.verdict.evidence if s.kind == "table"]
    for section in tables:
        for column in section.body["columns"]:
            assert lookup_text(f"section.column.{column}", language), column
    measures = next(s for s in tables if s.title == "patch_measures")
    for name, _ in measures.body["rows"]:
        assert lookup_text(f"section.word.{name}", language), name
