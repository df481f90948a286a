"""Our scorer against recorded verdicts of the official one, row by row."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from evalcore.benchmarks.gaia.score import question_scorer
from tests.support.shared_data import shared_data


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    path = shared_data("gaia") / "official_verdicts.dev.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_every_verdict_branch_and_complaint_is_upstreams(rows):
    differing = []
    for row in rows:
        scored = question_scorer(row["prediction"], row["truth"])
        ours = (scored.right, scored.branch, list(scored.warnings), bool(scored.printed))
        if ours != (row["official"], row["branch"], row["warnings"], row["printed"]):
            differing.append((row["id"], row["note"], ours))
    assert not differing
    assert len(rows) >= 28
    assert {row["branch"] for row in rows} == {"number", "list", "string"}


def test_a_note_stands_where_the_verdict_is_wrong(rows):
    for row in rows:
        scored = question_scorer(row["prediction"], row["truth"])
        assert bool(scored.note) != row["official"], row["id"]
