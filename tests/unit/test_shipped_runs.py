"""The runs that come with the project: complete, packed, and without a trace of the machine."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

PATH = re.compile(r"/[\w.-]+(/[\w.-]+)+")
RUNS = sorted((Path(__file__).parents[2] / "data" / "shipped" / "runs").iterdir())


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_where_cases_come_from_is_named_within_the_project(run):
    with gzip.open(run / "samples.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            meta = json.loads(line)["sample"].get("meta", {})
            absolute = [v for v in meta.values() if isinstance(v, str) and PATH.fullmatch(v)]
            assert absolute == []


def test_the_reference_scores_100_wherever_it_is_shipped():
    for run in RUNS:
        if "control-reference" in run.name:
            summary = json.loads((run / "summary.json").read_text("utf-8"))
            scores = {key: score["score"] for key, score in summary["benchmarks"].items()}
            assert set(scores.values()) == {100.0}, (run.name, scores)
