"""Our grading against recorded reports of the official harness, field by field."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from evalcore.benchmarks.swe_bench.grade import (
    classify_resolution,
    grade_log,
    read_log,
    success_rate,
)
from tests.support.shared_data import shared_data


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    path = shared_data("swe_bench") / "official_grading.dev.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_every_report_is_upstreams(rows):
    for row in rows:
        report = grade_log(row["spec"], row["log"], row["prediction"])
        assert {row["spec"]["instance_id"]: report} == row["report"], row["name"]
    assert len(rows) >= 26


def test_every_state_of_a_test_is_upstreams(rows):
    for row in rows:
        reading = read_log(row["log"], row["spec"]["log_parser"])
        assert reading.tests == row["status_map"], row["name"]
        assert reading.is_gradable == row["log_found"], row["name"]


def test_every_rate_is_upstreams(rows):
    compared = 0
    for row in rows:
        status = grade_log(row["spec"], row["log"], row["prediction"]).get("tests_status")
        if status is None:
            continue
        assert classify_resolution(status) == row["resolution"], row["name"]
        assert success_rate(status["FAIL_TO_PASS"]) == row["f2p_rate"], row["name"]
        assert success_rate(status["PASS_TO_PASS"]) == row["p2p_rate"], row["name"]
        compared += 1
    assert compared >= 15


def test_columns_may_be_json_text_as_in_the_published_rows(rows):
    for row in rows:
        columns = ("FAIL_TO_PASS", "PASS_TO_PASS")
        spec = row["spec"] | {name: json.dumps(row["spec"][name]) for name in columns}
        assert grade_log(spec, row["log"]) == grade_log(row["spec"], row["log"]), row["name"]
