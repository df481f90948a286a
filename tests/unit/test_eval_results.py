"""`.eval_results` YAML: the Hub's own reader understands it, and no half result gets out."""

from __future__ import annotations

import msgspec
import pytest
import yaml
from huggingface_hub import EvalResultEntry
from huggingface_hub._eval_results import eval_result_entries_to_yaml, parse_eval_result_entries

from evalcore.cli.main import main
from evalcore.errors import UsageError
from evalcore.exchange.reports import HubTask, parse_hub_task
from tests.support.boards import Plan, make_run
from tests.support.pages import store as store

HUB = "sql_understanding=org/sql-cases:default"


@pytest.fixture
def run(store):
    return make_run(store, Plan(target="openai:strong", skill=0.9, cases=8), "run")


def export(capsys, *words, run="run"):
    status = main(["export", run, "--format", "eval_results", *words])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_the_hubs_reader_finds_the_score(capsys, run):
    revision = "5503434ddd753f426f4b38109466949a1217c2bb"
    status, out, _ = export(
        capsys, "--hub", f"{HUB}@{revision}", "--source", "https://board.example/runs?run=run"
    )
    assert status == 0
    content = yaml.safe_load(out)
    (entry,) = parse_eval_result_entries(content)
    score = run.read_summary().benchmarks["sql_understanding"]
    assert entry == EvalResultEntry(
        dataset_id="org/sql-cases",
        task_id="default",
        value=round(score.score, 4),
        dataset_revision=revision,
        date="2026-11-01T10:00:00.000+00:00",
        source_url="https://board.example/runs?run=run",
        source_name="Evalboard",
        notes=entry.notes,
    )
    assert eval_result_entries_to_yaml([entry]) == content
    assert f"{score.interval.low:.1f} to {score.interval.high:.1f}" in entry.notes
    assert f"{score.samples} cases" in entry.notes


def test_only_what_is_known_is_said(capsys, run):
    _, out, _ = export(capsys, "--hub", HUB)
    assert set(yaml.safe_load(out)[0]) == {"dataset", "value", "date", "notes"}


def test_a_subset_says_so(capsys, store):
    make_run(store, Plan(target="openai:strong", cases=3, full=False), "part")
    _, out, _ = export(capsys, "--hub", HUB, run="part")
    assert "a subset of" in yaml.safe_load(out)[0]["notes"]


def test_it_goes_to_a_file(capsys, run, tmp_path):
    out = tmp_path / "sql.yaml"
    assert export(capsys, "--hub", HUB, "--out", str(out))[:2] == (0, "")
    assert parse_eval_result_entries(yaml.safe_load(out.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "--hub BENCHMARK=OWNER/DATASET:TASK[@REVISION] is missing"),
        (("--hub", "bfcl=a/b:c"), "the run contains: sql_understanding"),
        (("--hub", "sql_understanding"), "must have the form"),
        (("--hub", HUB, "--source", "javascript:alert(1)"), "starts with https://"),
        (("--hub", HUB, "--source", "https://a b"), "starts with https://"),
    ],
)
def test_what_is_missing_or_wrong_is_said(capsys, run, words, problem):
    status, out, err = export(capsys, *words)
    assert (status, out) == (2, "")
    assert problem in err


def test_the_flags_belong_to_this_form(capsys, run):
    assert main(["export", "run", "--format", "json", "--hub", HUB]) == 2
    assert "--format eval_results only" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        (Plan(target="openai:strong", cases=8, failing=2), "not complete"),
        (Plan(target="control:reference", cases=8, skill=1), "a control, not of a model"),
    ],
)
def test_what_is_no_result_stays(capsys, store, plan, problem):
    make_run(store, plan, "other")
    status, out, err = export(capsys, "--hub", HUB, run="other")
    assert (status, out) == (2, "")
    assert problem in err


def test_a_claim_of_others_stays(capsys, run):
    summary = run.read_summary()
    score = msgspec.structs.replace(summary.benchmarks["sql_understanding"], level=0)
    run.write_summary(msgspec.structs.replace(summary, benchmarks={"sql_understanding": score}))
    assert "not run here" in export(capsys, "--hub", HUB)[2]


def test_an_unfinished_run_stays(capsys, run):
    run.summary_path.unlink()
    assert "no result yet" in export(capsys, "--hub", HUB)[2]


def test_places_are_read_strictly():
    assert parse_hub_task("a/b.c-d_e:x:y@0123abc") == HubTask("a/b.c-d_e", "x:y", "0123abc")
    for text in ("", "a:b", "a/b", "a/b/c:d", "../b:c", "a/b:c@main", "a/b:c\n", "a/b: c", "é/b:c"):
        with pytest.raises(UsageError, match="must have the form"):
            parse_hub_task(text)
