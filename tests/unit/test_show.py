"""`evalcore show` and `evalcore diff`: runs, cases, both sides; hostile text prints nothing odd."""

from __future__ import annotations

import json
import re
import sys

import duckdb
import pytest

from evalcore.cli.main import main
from evalcore.i18n import LANGUAGES, load_catalogue
from evalcore.records import MEASURED, Message, Section, ToolCall, Verdict
from evalcore.store.journal import Journal
from evalcore.store.run_folder import StoredVerdict
from evalcore.views import run_diff, run_problems
from evalcore.views.run_problems import find_remedy
from tests.support import stored_runs
from tests.support.boards import Plan, make_run, settings_in

ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\x08\r\u202egnp.exe\u200b\x00\x7f"
ODD = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
SAMPLE = stored_runs.SAMPLES[1]


@pytest.fixture
def settings(tmp_path, monkeypatch):
    result = settings_in(tmp_path)
    monkeypatch.setenv("EVALBOARD_SHIPPED", result.shipped)
    monkeypatch.setenv("EVALBOARD_DATA", result.data)
    return result


@pytest.fixture
def run(settings):
    """A run whose second case failed, with evidence of every kind and hostile text in all of it."""
    folder = stored_runs.plan(settings.runs_dir, "run-1")
    for sample in stored_runs.SAMPLES:
        stored_runs.answer(
            folder,
            sample,
            answer=f"SELECT 1 {ESCAPES}",
            messages=(
                Message("system", f"be good {ESCAPES}"),
                Message("user", f"question of {sample.key}"),
                Message("assistant", f"answer{ESCAPES}", f"thought{ESCAPES}"),
                Message(
                    "assistant",
                    tool_calls=(ToolCall("1", f"look{ESCAPES}", f'{{"a": "{ESCAPES}"}}'),),
                ),
                Message("tool", f"result{ESCAPES}", name=f"look{ESCAPES}"),
            ),
        )
    stored_runs.judge(folder, stored_runs.SAMPLES[0], passed=True)
    hostile = f"no row {ESCAPES} is right"
    evidence = (
        Section("text", "answer", hostile),
        Section("log", f"log{ESCAPES}", hostile * 400),
        Section("code", "submitted_patch", {"language": "diff", "text": f"-a\n+b{ESCAPES}"}),
        Section("json", "derivation", [{"tool": ESCAPES}]),
        Section("table", "works", {"columns": [ESCAPES], "rows": [[hostile, None], []]}),
        Section(
            "table_diff",
            "difference",
            {
                "columns": ["a"],
                "expected": [[1]],
                "actual": [[2]],
                "missing": [[1]],
                "extra": [[2]],
            },
        ),
        Section(
            "tree_diff",
            "database_difference",
            {"expected": 1, "actual": 2, "differences": [{"path": ESCAPES, "expected": hostile}]},
        ),
        Section(
            "database",
            "counterexample",
            {"tables": [{"name": ESCAPES, "columns": ["c"], "rows": [[1]]}]},
        ),
        Section(
            "plans",
            "work",
            {
                "unit": "rows",
                "before": {"amount": 4, "plan": [ESCAPES]},
                "after": {"amount": 2, "plan": ["scan"]},
            },
        ),
        Section("votes", "votes", [{"judge": "openai:j", "vote": "no", "reason": hostile}]),
        Section("chat", "chat", [{"role": "user", "content": hostile}]),
        Section(
            "calls",
            "calls",
            {
                "answer": [{"name": f"f{ESCAPES}", "arguments": {"x": ESCAPES}}],
                "accepted": [{"name": "f", "arguments": {"x": [1], "y": [2]}}],
                "output": None,
                "expected": None,
                "argument": [],
            },
        ),
        Section("table", "broken", "no table at all"),
    )
    stored_runs.judge(folder, SAMPLE, passed=False, note=hostile, evidence=evidence)
    lost = Verdict(
        metric="syntax_error_detection",
        id="1",
        outcome="target_error",
        reason="permanent",
        note=f"model not here {ESCAPES}",
    )
    with Journal(folder.path / "verdicts" / stored_runs.SCORING / "w2.jsonl") as journal:
        journal.append(StoredVerdict(benchmark=stored_runs.BENCHMARK, verdict=lost))
    folder.write_summary(stored_runs.summary_of(folder.read_spec()))
    return folder


@pytest.fixture(params=["plain", "terminal"])
def output(request, monkeypatch):
    if request.param == "terminal":
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        monkeypatch.setenv("TERM", "dumb")
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setenv("COLUMNS", "160")
    return request.param


def printed(capsys, *verb, status=0):
    assert main(verb) == status
    return capsys.readouterr().out


def test_a_run_lists_errors_with_remedies_and_failed_cases(capsys, run, output):
    text = printed(capsys, "show", "run-1")
    assert not ODD.search(text)
    assert "1 target_error: permanent" in text
    assert "evalcore resume run-1" in text
    assert "execution_accuracy/2" in text
    assert "execution_accuracy/1 " not in text
    shown = json.loads(printed(capsys, "show", "run-1", "--json"))
    [error] = shown["errors"]
    assert (error["outcome"], error["reason"], error["cases"]) == ("target_error", "permanent", 1)
    assert "evalcore preflight" in error["remedy"]
    assert [(case["metric"], case["id"]) for case in shown["failed"]] == [
        ("execution_accuracy", "2")
    ]
    assert shown["state"] == "done"


def test_a_list_of_cases_is_cut(capsys, settings):
    folder = make_run(settings, Plan(target="openai:bad", skill=0.0, cases=9))
    text = printed(capsys, "show", folder.run_id, "--cases", "2")
    assert "more; --cases" in text
    assert len(re.findall(r"^\w+/\d+ ", text, re.M)) == 2
    assert "more; --cases" not in printed(capsys, "show", folder.run_id, "--cases", "0")
    assert main(["show", folder.run_id, "--cases", "-1"]) == 2
    assert "must not be negative" in capsys.readouterr().err


def test_a_case_shows_prompt_calls_evidence_and_verdict(capsys, run, output):
    text = printed(capsys, "show", "run-1", "execution_accuracy/2", "--full")
    assert not ODD.search(text)
    for part in (
        *("be good", "question of execution_accuracy/2", "(reasoning) thought", "-> look"),
        *("[tool look", "Patch extracted from the answer", "+b", "missing (1):", "rows expected"),
        *(
            "First difference between the databases",
            "4 rows",
            "openai:j",
            "missing",
            "no table at all",
        ),
        "A database that shows the difference",
    ):
        assert part in text
    short = printed(capsys, "show", "run-1", "execution_accuracy/2")
    assert "--full prints all" in short
    assert len(short) < len(text)


def test_a_case_as_json_is_whole_and_safe(capsys, run):
    text = printed(capsys, "show", "run-1", "execution_accuracy/2", "--json")
    assert not ODD.search(text.replace("\n", ""))
    case = json.loads(text)
    assert (case["outcome"], case["score"], case["remedy"]) == ("failed", 0.0, None)
    assert case["episode"]["messages"][2]["content"] == f"answer{ESCAPES}"
    assert len(case["evidence"]) == 13


def test_a_case_without_a_measurement_names_the_remedy(capsys, run):
    text = printed(capsys, "show", "run-1", "syntax_error_detection/1")
    assert "== Remedy ==" in text
    assert (
        json.loads(printed(capsys, "show", "run-1", "syntax_error_detection/1", "--json"))["score"]
        is None
    )


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("1", "several cases '1'; name one of: execution_accuracy/1, syntax_error_detection/1"),
        ("executon_accuracy/2", "for example: execution_accuracy/2"),
        ("../../etc/passwd", "has no case"),
        (ESCAPES, "has no case"),
    ],
)
def test_a_case_that_is_none_is_refused_with_what_is_alike(capsys, run, case, said):
    assert main(["show", "run-1", case]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert not ODD.search(error)


def test_an_epoch_that_is_none_is_refused(capsys, run):
    assert main(["show", "run-1", "2", "--epoch", "7"]) == 2
    assert "run run-1 has 1 epoch, counted from 0; there is no 7" in capsys.readouterr().err


def test_gated_cases_show_no_word(capsys, settings, monkeypatch):
    gated = stored_runs.SAMPLES[0].__class__(
        "execution_accuracy", "9", {"q": "secret question"}, meta={"gated": True}
    )
    monkeypatch.setattr(stored_runs, "SAMPLES", (gated,))
    folder = stored_runs.plan(settings.runs_dir, "run-1")
    stored_runs.answer(folder, gated, answer="secret answer")
    stored_runs.judge(folder, gated, passed=False, note="secret note")
    folder.write_summary(stored_runs.summary_of(folder.read_spec()))
    for verb in (["show", "run-1"], ["show", "run-1", "9"], ["show", "run-1", "9", "--json"]):
        assert "secret" not in printed(capsys, *verb)


def test_a_diff_names_flipped_cases_and_significance(capsys, settings, output):
    first, second = (
        make_run(settings, Plan(target=f"openai:{name}", skill=skill, cases=20))
        for name, skill in (("weak", 0.2), ("good", 0.8))
    )
    text = printed(capsys, "diff", first.run_id, second.run_id, "--cases", "3")
    assert ": statistically significant" in text
    assert "fixed" in text
    assert "more; --cases" in text
    diff = json.loads(printed(capsys, "diff", first.run_id, second.run_id, "--json"))
    [result] = diff["benchmarks"].values()
    changes = [case["change"] for case in result["changed"]]
    assert changes.count("fixed") == result["wins"]
    assert changes.count("broken") == result["losses"]
    assert result["significant"] is True
    assert result["p"] < 0.05
    assert {case["first"]["outcome"] for case in result["changed"]} <= set(MEASURED)
    back = json.loads(printed(capsys, "diff", second.run_id, first.run_id, "--json"))
    [reverse] = back["benchmarks"].values()
    assert reverse["difference"] == pytest.approx(-result["difference"])


def test_a_reason_is_told_by_one_case():
    """Also where only the next one has a note that can be translated: it may be a gated one's."""
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE samples AS SELECT * FROM (VALUES "
            "('b', 'judge_error', 'late', 'm', '1', 0, 0, 'first', NULL), "
            "('b', 'judge_error', 'late', 'm', '2', 1, 0, 'second', '{}')) "
            "AS t(benchmark, outcome, reason, metric, id, position, epoch, note, packed_note)"
        )
        rows = connection.execute(run_problems._REASONS, [["judge_error"]]).fetchall()
    assert rows == [("b", "judge_error", "late", 2, "1", "m", "first", None)]


def test_a_case_that_mostly_passed_shows_no_cause(tmp_path):
    folder = stored_runs.plan(tmp_path, "run-1", epochs=3)
    for epoch in range(3):
        failed = {"details": {"error_type": "wrong_table"}} if epoch == 1 else {}
        stored_runs.judge(folder, SAMPLE, passed=epoch != 1, epoch=epoch, **failed)
    outcomes = run_diff._load_outcomes([tmp_path], "run-1").set_index(["metric", "id"])
    assert tuple(outcomes.loc[SAMPLE.metric, SAMPLE.id][["outcome", "cause"]]) == ("passed", "")


def test_a_diff_says_why_runs_cannot_be_compared(capsys, settings):
    first, second = (
        make_run(settings, Plan(target="openai:a", mode=mode, cases=3))
        for mode in ("verified", "scale")
    )
    text = printed(capsys, "diff", first.run_id, second.run_id)
    assert "== Not compared ==" in text
    assert "other rules" in text
    assert main(["diff", first.run_id, first.run_id]) == 2
    assert "2 to 8 different runs" in capsys.readouterr().err


@pytest.mark.parametrize("layout", ["columns", "stacked"])
def test_both_sides_of_a_case(capsys, run, settings, layout, output):
    make_run(settings, Plan(target="openai:other"), run_id="run-2")
    assert main(["diff", "run-1", "run-2", "--case", "execution_accuracy/2"]) == 2
    assert "not the same in both runs" in capsys.readouterr().err
    stored_runs.finish(settings.runs_dir, "run-3")
    text = printed(
        capsys, "diff", "run-1", "run-3", "--case", "execution_accuracy/2", "--layout", layout
    )
    assert not ODD.search(text)
    assert "answer to execution_accuracy/2" in text
    lines = text.splitlines()
    side_by_side = any("run-1 (" in line and "run-3 (" in line for line in lines)
    assert side_by_side == (layout == "columns")


def test_wide_terminals_get_columns(capsys, run, settings, monkeypatch):
    stored_runs.finish(settings.runs_dir, "run-3")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    for width, wide in ((160, True), (80, False)):
        monkeypatch.setenv("COLUMNS", str(width))
        text = printed(capsys, "diff", "run-1", "run-3", "--case", "execution_accuracy/2")
        assert any("run-1 (" in line and "run-3 (" in line for line in text.splitlines()) == wide


def test_every_kind_of_error_has_a_remedy_in_every_language():
    outcomes = ("target_error", "judge_error", "environment_error", "missing")
    for language in LANGUAGES:
        for outcome in outcomes:
            assert find_remedy(outcome, "unheard of", "RUN", language)
        kinds = [
            key.removeprefix("common.error.")
            for key in load_catalogue(language)
            if key.startswith("common.error.")
        ]
        assert kinds
        for kind in kinds:
            assert find_remedy("target_error", kind, "RUN", language)
    assert find_remedy("failed", "wrong_answer", "RUN") == ""
