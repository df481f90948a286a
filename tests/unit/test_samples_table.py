"""The table of cases: a row per declared case, kept as fresh as the journals, queried safely."""

from __future__ import annotations

import os
import sys
import tempfile

import duckdb
import msgspec
import pandas as pd
import pytest

from evalcore.errors import RunFolderError, UsageError
from evalcore.records import Failure, Sample, Usage
from evalcore.store.case_tables import (
    CaseFilter,
    ensure_samples_table,
    query_case_page,
    query_samples,
)
from evalcore.store.cases import COLUMNS, build_sample_rows, select_scoring
from evalcore.store.run_folder import StoredSample
from tests.support import stored_runs
from tests.support.stored_runs import SAMPLES, SCORING, answer, judge

ALL = "SELECT * FROM samples ORDER BY position, epoch"


@pytest.fixture
def folder(tmp_path):
    return stored_runs.finish(tmp_path / "runs", "run-1")


def table(folder, scoring=None) -> pd.DataFrame:
    return query_samples([ensure_samples_table(folder, scoring)], ALL)


def test_there_is_one_row_per_case_with_all_that_is_known_of_it(folder):
    answer(folder, SAMPLES[1], cost=0.5, attempts=3, cached=True, finish_reason="length")
    judge(
        folder,
        SAMPLES[1],
        passed=False,
        evidence_kind="executed",
        reason="rows differ",
        note="one row too many",
        details={"extraction": "lenient", "error_type": "mismatch", "call_reading": "lost"},
    )
    frame = table(folder)
    assert list(frame.columns) == list(COLUMNS)
    assert list(frame["id"]) == [sample.id for sample in SAMPLES]
    assert frame.iloc[1].to_dict() == {
        "run": "run-1",
        "position": 1,
        "benchmark": "sql_understanding",
        "metric": "execution_accuracy",
        "id": "2",
        "epoch": 0,
        "difficulty": 3,
        "case_weight": 3.0,
        "dialect": "duckdb",
        "outcome": "failed",
        "score": 0.0,
        "evidence_kind": "executed",
        "reason": "rows differ",
        "note": "one row too many",
        "packed_note": None,
        "latency": 0.25,
        "input_tokens": 10,
        "output_tokens": 2,
        "cost": 0.5,
        "attempts": 3,
        "cached": True,
        "finish_reason": "length",
        "weight": 4.0,
        "extraction": "lenient",
        "call_reading": "lost",
        "error_type": "mismatch",
        "cause": "mismatch",
        "answer_kind": None,
        "level": None,
        "words": "duckdb\nanswer to execution_accuracy/2",
    }


def test_what_an_equivalence_rests_on_is_filtered_by(folder):
    judge(folder, SAMPLES[0], passed=True, details={"equivalence_level": "proved"})
    judge(folder, SAMPLES[1], passed=True, details={"equivalence_level": "tested"})
    frame, count = query_case_page(folder, CaseFilter(level=("proved",)))
    assert (list(frame["id"]), list(frame["level"]), count) == ([SAMPLES[0].id], ["proved"], 1)


def test_what_is_not_known_is_null(folder):
    last = table(folder).iloc[2]
    assert last["metric"] == "syntax_error_detection"
    for column in ("dialect", "weight", "extraction", "error_type"):
        assert pd.isna(last[column]), column


def test_a_case_without_a_verdict_is_missing(tmp_path):
    folder = stored_runs.plan(tmp_path, "run-1", epochs=2)
    judge(folder, SAMPLES[0], passed=True, epoch=1)
    frame = table(folder)
    assert list(frame["epoch"]) == [0, 1] * 3
    assert list(frame["outcome"]) == ["missing", "passed", *["missing"] * 4]
    assert frame["score"].isna().sum() == 5


def test_undeclared_cases_and_epochs_have_no_row(folder):
    judge(folder, Sample(metric="execution_accuracy", id="99", input={}), passed=True)
    judge(folder, SAMPLES[0], passed=True, epoch=7)
    assert len(table(folder)) == 3


def test_a_failure_of_the_target_is_the_error_where_the_verdict_names_none(tmp_path):
    folder = stored_runs.plan(tmp_path, "run-1")
    answer(folder, SAMPLES[0], answer="", failure=Failure("rate_limited", "slow down"))
    judge(folder, SAMPLES[0], passed=False, outcome="target_error", score=None)
    first = table(folder).iloc[0]
    assert (first["outcome"], first["error_type"]) == ("target_error", "rate_limited")
    assert pd.isna(first["score"])


def test_cases_that_share_a_generation_find_its_episode_by_the_key_of_the_verdict(tmp_path):
    folder = stored_runs.plan(tmp_path, "run-1")
    answer(folder, SAMPLES[0], key="shared/7", latency=1.5)
    for sample in SAMPLES[:2]:
        judge(folder, sample, passed=True, details={"generation": "shared/7"})
    latency = table(folder)["latency"]
    assert list(latency[:2]) == [1.5, 1.5]
    assert pd.isna(latency[2])


def test_hostile_values_become_text_or_null(tmp_path):
    folder = stored_runs.plan(tmp_path, "run-1")
    answer(folder, SAMPLES[0], usage=Usage(input_tokens=10**30, output_tokens=-(10**30)))
    judge(folder, SAMPLES[0], passed=True, details={"extraction": ["'; DROP"], "error_type": {}})
    first = table(folder).iloc[0]
    assert pd.isna(first["input_tokens"])
    assert pd.isna(first["output_tokens"])
    assert first["extraction"] == '["\'; DROP"]'


def test_the_table_is_made_once_and_again_after_each_new_line(folder):
    path = ensure_samples_table(folder)
    assert path == folder.parquet_path
    made = path.stat().st_ino, path.stat().st_mtime_ns
    assert ensure_samples_table(folder) == path
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == made
    judge(folder, SAMPLES[1], passed=True)
    assert list(table(folder)["outcome"]) == ["passed"] * 3
    answer(folder, SAMPLES[0], latency=9.0)
    assert table(folder)["latency"][0] == 9.0


def test_a_line_that_comes_while_the_table_is_made_is_not_lost(folder, monkeypatch):
    """The table is newer than the line, so that times alone would take it for up to date."""

    def late(*arguments):
        made = list(build_sample_rows(*arguments))
        judge(folder, SAMPLES[1], passed=True)
        return made

    with monkeypatch.context() as patch:
        patch.setattr("evalcore.store.case_tables.build_sample_rows", late)
        assert list(table(folder)["outcome"]) == ["passed", "failed", "passed"]
    assert list(table(folder)["outcome"]) == ["passed"] * 3


@pytest.mark.parametrize("content", [b"", b"PAR1", b"x" * 1000])
def test_a_damaged_table_is_made_anew(folder, content):
    folder.parquet_path.write_bytes(content)
    assert len(table(folder)) == 3


def test_each_scoring_has_its_own_table(folder):
    judge(folder, SAMPLES[0], passed=False, scoring="s2")
    assert list(table(folder, "s2")["outcome"]) == ["failed", "missing", "missing"]
    assert list(table(folder)["outcome"]) == ["passed", "failed", "passed"]
    assert ensure_samples_table(folder, "s2") != ensure_samples_table(folder)


def test_the_scoring_is_that_of_the_summary_else_the_newest(tmp_path, folder):
    judge(folder, SAMPLES[0], passed=False, scoring="s2")
    assert select_scoring(folder) == SCORING
    running = stored_runs.plan(tmp_path, "run-2")
    assert select_scoring(running) == ""
    assert list(table(running)["outcome"]) == ["missing"] * 3
    judge(running, SAMPLES[0], passed=True)
    judge(running, SAMPLES[0], passed=True, scoring="s2")
    os.utime(running.verdicts_dir(SCORING), (1, 1))
    assert select_scoring(running) == "s2"


def test_a_hostile_scoring_is_refused(folder):
    with pytest.raises(UsageError, match="not a scoring"):
        ensure_samples_table(folder, "../../other")
    summary = msgspec.structs.replace(folder.read_summary(), scoring="../x")
    folder.write_summary(summary)
    with pytest.raises(UsageError, match="not a scoring"):
        ensure_samples_table(folder)


def test_a_broken_journal_is_named(folder):
    path = folder.verdicts_dir(SCORING) / "w1.jsonl"
    path.write_bytes(b"{}\n" + path.read_bytes())
    with pytest.raises(RunFolderError, match=r"w1\.jsonl, line 1"):
        ensure_samples_table(folder)


def test_a_read_only_run_is_cached_where_only_this_user_reads(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    path = ensure_samples_table(folder)
    assert (tmp_path / "tmp") in path.parents
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert not folder.parquet_path.exists()
    made = path.stat().st_ino
    assert ensure_samples_table(folder).stat().st_ino == made
    assert len(query_samples([path], ALL)) == 3
    path.parent.chmod(0o777)
    with pytest.raises(UsageError, match="TMPDIR"):
        ensure_samples_table(folder)


def test_several_runs_are_queried_together(folder, tmp_path):
    other = stored_runs.finish(tmp_path / "runs", "run-2")
    judge(other, SAMPLES[1], passed=True)
    frame = query_samples(
        [ensure_samples_table(folder), ensure_samples_table(other)],
        "SELECT run, avg(score) AS mean FROM samples WHERE metric = ? GROUP BY run ORDER BY run",
        ["execution_accuracy"],
    )
    assert frame.to_dict("records") == [
        {"run": "run-1", "mean": 0.5},
        {"run": "run-2", "mean": 1.0},
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM '{secret}'",
        "COPY samples TO '{target}'",
        "ATTACH '{target}' AS other",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "SELECT * FROM secret_frame",
    ],
)
def test_a_query_reaches_nothing_but_the_tables(folder, tmp_path, sql):
    secret_frame = pd.DataFrame({"key": ["value"]})
    secret, target = tmp_path / "secret.csv", tmp_path / "out"
    secret.write_text("a,b\n1,2\n")
    with pytest.raises(duckdb.Error):
        query_samples([ensure_samples_table(folder)], sql.format(secret=secret, target=target))
    assert not target.exists()
    assert len(secret_frame) == 1


def test_a_statement_cannot_change_the_table(folder):
    with pytest.raises(duckdb.Error):
        query_samples([ensure_samples_table(folder)], "DELETE FROM samples")
    assert len(table(folder)) == 3


def test_pages_follow_each_other_in_the_declared_order(folder):
    cases, total = query_case_page(folder, limit=2)
    rest, same = query_case_page(folder, offset=2, limit=2)
    assert (len(cases), len(rest), total, same) == (2, 1, 3, 3)
    assert list(cases["position"]) + list(rest["position"]) == [0, 1, 2]
    beyond, total = query_case_page(folder, offset=10)
    assert (len(beyond), total) == (0, 3)


@pytest.mark.parametrize(
    ("where", "positions"),
    [
        (CaseFilter(), [0, 1, 2]),
        (CaseFilter(outcome=("failed",)), [1]),
        (CaseFilter(outcome=("failed", "passed")), [0, 1, 2]),
        (CaseFilter(metric=("execution_accuracy",), outcome=("passed",)), [0]),
        (CaseFilter(benchmark=("bfcl",)), []),
        (CaseFilter(difficulty=(2, 3)), [1, 2]),
        (CaseFilter(dialect=("sqlite", "duckdb")), [0, 1]),
        (CaseFilter(evidence_kind=("checked",)), [0, 1, 2]),
        (CaseFilter(level=("proved",)), []),
        (CaseFilter(text="2"), [1]),
        (CaseFilter(text="%"), []),
        (CaseFilter(text="'; DROP VIEW samples; --"), []),
        (CaseFilter(outcome=("') OR 1=1 --",)), []),
    ],
)
def test_filters(folder, where, positions):
    cases, total = query_case_page(folder, where)
    assert list(cases["position"]) == positions
    assert total == len(positions)


def test_text_is_looked_for_in_notes_too_whatever_the_letter_case(folder):
    judge(folder, SAMPLES[2], passed=False, note="Wrong LINE number")
    assert list(query_case_page(folder, CaseFilter(text="wrong line"))[0]["position"]) == [2]


@pytest.mark.parametrize("bounds", [{"offset": -1}, {"limit": -1}])
def test_negative_bounds_are_refused(folder, bounds):
    with pytest.raises(UsageError, match="negative"):
        query_case_page(folder, **bounds)


def test_ids_with_any_character_survive(tmp_path):
    hostile = Sample(metric="m", id="a'\"\\\n../中文\u2028😀", input={"dialect": 5})
    folder = stored_runs.plan(tmp_path, "run-1")
    line = StoredSample(benchmark="b", sample=hostile)
    (folder.path / "samples.jsonl").write_bytes(msgspec.json.encode(line) + b"\n")
    frame = table(folder)
    assert (frame["id"][0], frame["dialect"][0]) == (hostile.id, "5")


def test_importing_the_store_loads_no_table_library():
    import subprocess

    script = (
        "import sys, evalcore.store.index, evalcore.store.case_tables, evalcore.store.cases;"
        "print([m for m in ('pandas', 'pyarrow', 'duckdb') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("damage", ["head", "middle", "end", "folder", "empty"])
def test_a_table_that_is_damaged_anywhere_is_made_anew(folder, damage):
    path = ensure_samples_table(folder)
    whole, content = query_case_page(folder)[0], bytearray(path.read_bytes())
    if damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        start = {"head": 0, "middle": 200, "end": len(content) - 60, "empty": 0}[damage]
        content[start : start + 60] = b"\xff" * 60
        path.write_bytes(b"" if damage == "empty" else bytes(content))
    try:
        result, total = query_case_page(folder)
    except RunFolderError:  # behind an intact end: seen by its reader alone
        result, total = query_case_page(folder)
    assert total == len(SAMPLES)
    pd.testing.assert_frame_equal(result, whole)
