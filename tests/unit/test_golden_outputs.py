"""The outputs of the shipped runs and of small new runs are those of the record in `tests/golden`.
`make test` exports some of the runs one by one, `make test-full` all.

They are collected in another time zone, language and hash seed than they were recorded in.
"""

from __future__ import annotations

import os

import pytest

from tests.support import golden, golden_outputs

pytestmark = pytest.mark.slow

RUN_STEP = int(os.environ.get("EVALBOARD_RUN_STEP", "9"))
ELSEWHERE = {"TZ": "Pacific/Auckland", "LANG": "zh_CN.UTF-8", "LC_ALL": "C", "PYTHONHASHSEED": "11"}


@pytest.fixture(scope="module")
def outputs():
    return golden.collect(ELSEWHERE | {"EVALBOARD_RUN_STEP": str(RUN_STEP)})


@pytest.mark.parametrize("record", golden.RECORDS)
def test_outputs_equal_the_record(outputs, record):
    reports = golden.differences(outputs, record, run_step=RUN_STEP)
    assert not reports, golden.explain(reports, record)


def test_every_kind_of_output_is_collected(outputs):
    """A collector that yields nothing must not pass for an empty record."""
    groups = {"/".join(name.split("/")[:2]) for name in outputs}
    kinds = ("api", "board", "cli", "export", "pages", "run", "shipped", "site")
    assert groups >= {f"data/{kind}" for kind in kinds}
    assert groups >= {
        f"texts/{kind}" for kind in ("api", "board", "cli", "export", "pages", "site")
    }


def test_no_output_names_the_machine(outputs):
    paths = (str(golden.ROOT), "/tmp/")
    assert not [name for name, text in outputs.items() if any(path in text for path in paths)]


SMALL = {
    "data/api/a": '{\n"x": 1\n}',
    "data/cli/b": "",
    "texts/cli/b": "line\r\nnext\n",
    "data/c/d": "é",
}


def test_a_record_reads_back(tmp_path):
    for record in golden.RECORDS:
        golden.write_record(SMALL, record, tmp_path)
        assert golden.differences(SMALL, record, tmp_path) == []
        own = {name: text for name, text in SMALL.items() if name.startswith(f"{record}/")}
        assert golden.read_texts(record, tmp_path) == own


def test_changes_additions_and_losses_are_reported_with_a_diff(tmp_path):
    golden.write_record(SMALL, "data", tmp_path)
    changed = {"data/api/a": '{\n"x": 2\n}', "data/cli/b": "", "data/new/e": ""}
    missing, first, new = golden.differences(changed, "data", tmp_path)
    assert missing == "missing: data/c/d"
    assert new == "new: data/new/e"
    assert first.startswith("changed: data/api/a")
    assert '-"x": 1' in first
    assert '+"x": 2' in first
    assert "renew data" in golden.explain([first], "data")


def test_renewing_one_record_leaves_the_other(tmp_path):
    for record in golden.RECORDS:
        golden.write_record(SMALL, record, tmp_path)
    changed = {name: f"{text}!" for name, text in SMALL.items()}
    golden.write_record(changed, "texts", tmp_path)
    assert golden.differences(changed, "texts", tmp_path) == []
    assert len(golden.differences(changed, "data", tmp_path)) == 3


def test_texts_beyond_the_budget_are_held_as_hashes(tmp_path, monkeypatch):
    monkeypatch.setitem(golden.TEXT_BUDGET, "data", 30)
    golden.write_record(SMALL, "data", tmp_path)
    assert "data/api/a" not in golden.read_texts("data", tmp_path)
    [report] = golden.differences(SMALL | {"data/api/a": "2"}, "data", tmp_path)
    assert "not in the record" in report


def test_a_text_that_looks_like_the_record_itself_is_only_hashed(tmp_path):
    forged = {"data/a/b": "=== data/a/c\nhello", "data/a/c": "true"}
    golden.write_record(forged, "data", tmp_path)
    assert golden.read_texts("data", tmp_path) == {"data/a/c": "true"}
    assert golden.differences(forged, "data", tmp_path) == []


def test_what_is_passed_over_is_of_whole_runs_alone():
    names = [name for record in golden.RECORDS for name in golden.read_hashes(record)]
    assert not [name for name in names if golden_outputs.is_passed_over(name, 1)]
    passed = [name for name in names if golden_outputs.is_passed_over(name, RUN_STEP)]
    kept = golden_outputs.list_run_names(RUN_STEP)
    assert {"baseline", "control"} == {run.split("-")[1] for run in kept}
    assert not [name for name in passed if name.endswith(tuple(kept))]
    assert len(passed) < len(names) / 2


def test_only_known_fields_of_a_record_are_masked():
    """`at` of an episode is a time; `at` among the arguments of a call is content."""
    line = {"episode": {"at": "2026-01-01", "calls": [{"at": 9, "latency": 2}], "cost": 0.1}}
    assert golden_outputs._stable(line) == {
        "episode": {"at": golden_outputs.MASK, "calls": [{"at": 9, "latency": 2}], "cost": 0.1}
    }
