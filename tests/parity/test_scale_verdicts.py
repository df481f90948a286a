"""Every published objective verdict of SCALE is reproduced in `scale` mode.

Dataset and predictions are rebuilt from the case reports: the case as it was graded stands in
`case_content`, the answer as the published agent parsed it in `model_answers`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalcore import settings as configuration
from evalcore.runner import predictions
from tests.support.shared_data import shared_data

REPORTS = "scale/public/data/evaluation_case_reports"
METRICS = ("execution_accuracy", "explain_detection", "syntax_error_detection")


def published(report: Path, metric: str) -> list[dict]:
    indicators = json.loads(report.read_text(encoding="utf-8"))
    return [
        case
        for indicator in indicators
        if indicator["indicator_name"] == f"{metric}.jsonl"
        for case in indicator["case_datas"]
    ]


def write_lines(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("metric", METRICS)
def test_every_published_verdict_is_reproduced(metric: str, tmp_path: Path) -> None:
    reports = sorted(shared_data(REPORTS).glob("*/sql_understanding/*.json"))
    assert reports, "the shared data holds no report of this capability"
    for report in reports:
        cases = published(report, metric)
        assert cases
        rows = [json.loads(case["case_content"]) for case in cases]
        dataset = write_lines(tmp_path / f"{metric}.jsonl", rows)
        answers = [
            {"id": case["case_id"], "prediction": case["model_answers"][0]["model_answer"]}
            for case in cases
        ]
        out = tmp_path / "verdicts.jsonl"
        predictions.score_file(
            predictions.ScoreRequest(
                benchmark="sql_understanding",
                predictions=str(write_lines(tmp_path / "predictions.jsonl", answers)),
                dataset=str(dataset),
                options={"mode": "scale"},
            ),
            out,
            configuration.load_settings(tmp_path),
        )
        verdicts = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        assert [v["id"] for v in verdicts] == [case["case_id"] for case in cases]
        ours = ["Pass" if v["passed"] else "Fail" for v in verdicts]
        assert ours == [case["case_eval_result"] for case in cases], report.name


def test_published_scores_follow_from_the_verdicts(tmp_path: Path) -> None:
    """The indicator scores on the board follow from difficulty-weighted verdicts."""
    folder = shared_data("scale/public/data")
    board = json.loads((folder / "eval_reports/models-2026-06.json").read_text(encoding="utf-8"))
    models = {model["id"]: model for model in board["models"]}
    checked = 0
    for report in sorted((folder / "evaluation_case_reports").glob("*/sql_understanding/*.json")):
        scores = models[report.stem]["scores"]["sql_understanding"]["indicator_score"]
        claimed = {s["indicator_name"]: s["indicator_actual_score"] for s in scores}
        for metric in METRICS:
            cases = published(report, metric)
            got = sum(case["case_weight"] for case in cases if case["case_eval_result"] == "Pass")
            most = sum(case["case_weight"] for case in cases)
            assert round(100 * got / most, 1) == claimed[f"{metric}.jsonl"]
            checked += 1
    assert checked == 6
