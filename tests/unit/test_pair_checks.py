"""Pairs of statements: the file that holds them, the verb that decides them, the page's job."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from evalcore.access.policy import ANYBODY, OPERATOR, AccessDenied
from evalcore.cli.main import main
from evalcore.errors import UsageError
from evalcore.runner import jobs
from evalcore.runner.jobs import Job, pair_checks
from evalcore.runner.jobs.pair_checks import Pair, read_pairs
from evalcore.settings import Settings
from tests.support.boards import settings_in
from tests.support.job_waits import wait_for_job

SCHEMA = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)"
SAME = Pair("same", "sqlite", SCHEMA, "SELECT n FROM t WHERE n > 1", "SELECT n FROM t WHERE 1 < n")
OTHER = msgspec.structs.replace(SAME, id="other", answer="SELECT n FROM t WHERE n >= 1")
BROKEN = msgspec.structs.replace(SAME, id="broken", reference="SELECT", answer="SELEC")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_in(tmp_path)


def to_lines(*pairs: Pair) -> bytes:
    return b"\n".join(map(msgspec.json.encode, pairs))


def wait(name: str, settings: Settings) -> Job:
    job = wait_for_job(settings, "equivalent", name, 300)
    assert job is not None
    return job


def test_a_file_is_read_and_blank_lines_count():
    assert read_pairs((to_lines(SAME) + b"\n\n" + to_lines(OTHER)).splitlines()) == [SAME, OTHER]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{", "line 2: "),
        (b'{"id": 1}', "$.id"),
        (b'{"id": "x", "engine": "sqlite", "schema": ""}', "reference"),
        (b"\xff\xfe", "line 2: "),
        (b"[" * 100_000, "line 2: "),
        (b'"' + b"x" * 1_000_001 + b'"', "line 2 is longer than 1000000 bytes"),
        (to_lines(msgspec.structs.replace(SAME, engine="oracle")), "there is no engine 'oracle'"),
    ],
)
def test_a_line_that_is_no_pair_is_named(line: bytes, problem: str):
    with pytest.raises(UsageError) as error:
        read_pairs([to_lines(SAME), line])
    assert problem in str(error.value)


def test_the_verb_decides_a_file_and_names_it_where_it_is_wrong(tmp_path: Path, capsys):
    pairs, out = tmp_path / "pairs.jsonl", tmp_path / "out.jsonl"
    pairs.write_bytes(to_lines(SAME, OTHER, BROKEN))
    assert main(["equivalent", "--pairs", str(pairs), "--out", str(out)]) == 0
    rows = {row["id"]: row for row in map(json.loads, out.read_text().splitlines())}
    assert [row["status"] for row in rows.values()] == ["equivalent", "different", "invalid"]
    assert rows["same"]["level"] == "proved"
    assert rows["same"]["proof_rows"] > 0
    assert rows["other"]["counterexample"]["tables"]["t"]["rows"]
    assert "Neither statement runs" in rows["broken"]["message"]
    pairs.write_bytes(b"{}")
    assert main(["equivalent", "--pairs", str(pairs)]) != 0
    assert "pairs.jsonl: line 1: " in capsys.readouterr().err


def test_a_check_decides_its_pairs_and_is_answered_at_once_the_second_time(settings: Settings):
    name = pair_checks.start_check([SAME, OTHER], OPERATOR, settings)
    job = wait(name, settings)
    assert (job.state, job.done, job.total) == ("done", 2, 2)
    same, other = pair_checks.read_results(job)
    assert (same.pair, same.status, same.level, same.evidence) == (
        *(SAME, "equivalent", "proved"),
        (),
    )
    assert other.status == "different"
    assert [section.kind for section in other.evidence] == ["database", "table_diff"]
    assert pair_checks.start_check([SAME, OTHER], OPERATOR, settings) == name
    assert pair_checks.find_check(name, settings) == job
    assert pair_checks.start_check([OTHER], OPERATOR, settings) != name


def test_a_hostile_statement_neither_leaves_the_engine_nor_fails_the_check(settings: Settings):
    hostile = msgspec.structs.replace(
        SAME, answer="ATTACH DATABASE '/tmp/never' AS x", schema=[SCHEMA]
    )
    [result] = pair_checks.read_results(
        wait(pair_checks.start_check([hostile], OPERATOR, settings), settings)
    )
    assert result.status == "invalid"
    assert not Path("/tmp/never").exists()


@pytest.mark.parametrize(
    ("pairs", "problem"),
    [
        ([], "no pairs"),
        ([SAME] * 501, "501 pairs are too many"),
        ([msgspec.structs.replace(SAME, answer=" \n")], "Fill in"),
        ([msgspec.structs.replace(SAME, schema=[])], "Fill in"),
        ([msgspec.structs.replace(SAME, answer="x" * 200_001)], "the limit is 200000"),
        ([msgspec.structs.replace(SAME, engine="")], "there is no engine"),
    ],
)
def test_what_cannot_be_checked_is_refused(settings: Settings, pairs, problem: str):
    with pytest.raises(UsageError, match=problem):
        pair_checks.start_check(pairs, OPERATOR, settings)
    assert not jobs.list_jobs(settings, "equivalent")


def test_a_board_that_nobody_may_write_to_checks_nothing(settings: Settings):
    closed = msgspec.structs.replace(settings, access="read-only")
    with pytest.raises(AccessDenied):
        pair_checks.start_check([SAME], ANYBODY, closed)


def test_few_checks_run_at_a_time_and_old_ones_are_swept(settings: Settings, monkeypatch):
    monkeypatch.setattr(pair_checks, "_MAX_RUNNING", 0)
    with pytest.raises(UsageError, match="already running"):
        pair_checks.start_check([SAME], OPERATOR, settings)
    monkeypatch.undo()
    monkeypatch.setattr(pair_checks, "_MAX_ENDED", 1)
    names = []
    for pair in (SAME, OTHER, BROKEN):
        names.append(pair_checks.start_check([pair], OPERATOR, settings))
        wait(names[-1], settings)
    assert pair_checks.find_check(names[0], settings) is None
    assert pair_checks.find_check(names[2], settings) is not None


def test_a_name_from_a_link_is_no_path(settings: Settings):
    for name in ("../../etc/passwd", "", "a/b", "x" * 500):
        assert pair_checks.find_check(name, settings) is None


def test_a_check_can_be_cancelled(settings: Settings):
    many = [msgspec.structs.replace(OTHER, id=str(number)) for number in range(500)]
    name = pair_checks.start_check(many, OPERATOR, settings)
    folder = jobs.resolve_job_folder(settings, "equivalent", name)
    while not (job := jobs.find_job(settings, "equivalent", name)) or not job.pid:
        assert job is None or job.state == "running"
    pair_checks.cancel_check(name, OPERATOR, settings)
    assert wait(name, settings).state == "cancelled"
    assert pair_checks.start_check(many, OPERATOR, settings) == name  # starts anew
    pair_checks_job = jobs.find_job(settings, "equivalent", name)
    assert pair_checks_job is not None
    assert pair_checks_job.state == "running"
    while not jobs.find_job(settings, "equivalent", name).pid:  # type: ignore[union-attr]
        pass
    pair_checks.cancel_check(name, OPERATOR, settings)
    wait(name, settings)
    shutil.rmtree(folder)
