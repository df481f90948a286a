"""`evalcore score --option mode=scale` with recorded votes gives the published results of a log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalcore.cli.main import main
from evalcore.exchange.scale.cases import ProcessLog, read_process_log
from tests.support.shared_data import shared_data

METRIC = "big_sql_conversion"
LOG = (
    "scale/public/data/evaluation_process_detail_logs/eval_run_logs_2026-06/qwen3.6-35b-a3b/"
    f"dialect_conversion/{METRIC}.log"
)


@pytest.fixture(scope="module")
def log() -> ProcessLog:
    return read_process_log(shared_data(LOG))


def forms(log: ProcessLog, case: str) -> dict[str, list[Any]]:
    """The votes on a case in each form that people keep them in."""
    votes = [vote for vote in log.votes if vote.case == case]
    runs = sorted({vote.run for vote in votes})
    return {
        "objects": [{"judge": v.judge, "run": v.run, "vote": v.vote} for v in votes],
        "replies": [{"judge": v.judge, "run": v.run, "reply": v.text} for v in votes],
        "runs": [[v.text for v in votes if v.run == run] for run in runs],
    }


@pytest.mark.parametrize("form", ["objects", "replies", "runs"])
def test_recorded_votes_give_the_published_results(
    log: ProcessLog, form: str, tmp_path: Path
) -> None:
    cases = shared_data(f"scale/dataset/dialect_conversion/{METRIC}.jsonl")
    lines = [
        {"id": case, "metric": METRIC, "prediction": texts[0], "votes": forms(log, case)[form]}
        for case, texts in log.answers.items()
    ]
    predictions, out = tmp_path / "predictions.jsonl", tmp_path / "verdicts.jsonl"
    predictions.write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = ["score", "dialect_conversion", "--predictions", str(predictions), "--out", str(out)]
    assert main([*words, "--dataset", str(cases), "--option", "mode=scale"]) == 0
    scored = [json.loads(line) for line in out.read_text().splitlines()]
    assert {line["id"]: line["passed"] for line in scored} == log.finals
    assert {line["details"]["judge_runs"] for line in scored} == {3}
    assert len(scored) == 15
    assert {True, False} == set(log.finals.values())


def test_a_vote_that_is_none_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = shared_data(f"scale/dataset/dialect_conversion/{METRIC}.jsonl")
    predictions = tmp_path / "p.jsonl"
    predictions.write_text('{"id": "1", "prediction": "x", "votes": [{"judge": "j"}]}\n')
    out = tmp_path / "v.jsonl"
    words = ["score", "dialect_conversion", "--predictions", str(predictions), "--out", str(out)]
    assert main([*words, "--dataset", str(cases), "--option", "mode=scale"]) == 2
    error_output = capsys.readouterr().err
    assert "line 1" in error_output
    assert "votes[0]" in error_output
    assert not out.exists()
