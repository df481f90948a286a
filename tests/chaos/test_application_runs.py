"""Whole runs on a service that misbehaves: its errors are never answers, and nothing is asked
twice that was answered."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from pathlib import Path

import pytest

from evalcore.store import run_folder
from evalcore.store.run_folder import RunFolder
from tests.support.task_service import TaskService, serve

KEY = "canary-Zq7x-0123456789-KEY"
CASES = Path(__file__).parents[2] / "datasets" / "dialect_conversion" / "logical_equivalence.jsonl"
DESCRIPTION = """
title: Loopback
base_url: $env:LOOP_URL
headers: {Authorization: Bearer $env:LOOP_KEY}
branches:
  - benchmark: dialect_conversion
    submit: {url: /submit, form: {sql: $sql, to: $target_dialect}}
    error: [{path: code, not_in: [0]}]
    take: {task: data.task_id}
    poll:
      url: /tasks/$task
      interval: 0.05
      timeout: POLLING
      done: [{path: data.state, in: [done]}]
      failed: [{path: data.state, in: [failed]}]
    extract: data.steps[-1].optimized_sql
    say: [{when: [{path: data.steps, in: [[]]}], text: Nothing to improve.}]
"""


class Bench:
    """Four cases that are executed in this process, and a service that knows their references."""

    def __init__(self, folder: Path, service: TaskService) -> None:
        self.folder, self.service, self.data = folder, service, folder / "data"
        rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
        chosen = [row for row in rows if row["target_dialect"] in ("SQLite", "DuckDB")][:4]
        self.dataset = folder / "logical_equivalence.jsonl"
        self.dataset.write_text("".join(f"{json.dumps(row)}\n" for row in chosen), "utf-8")
        self.sql = [row["sql"] for row in chosen]
        service.answers = {row["sql"]: row["reference"] for row in chosen}
        self.describe(polling=2.0)

    def describe(self, polling: float) -> None:
        text = DESCRIPTION.replace("POLLING", str(polling))
        (self.folder / "loop.yaml").write_text(text)

    def misbehave(self, *moods: str) -> None:
        self.service.moods = dict(zip(self.sql, moods, strict=False))

    async def start(self, *words: str) -> Process:
        environment = {
            "LOOP_URL": self.service.base_url,
            "LOOP_KEY": KEY,
            "EVALBOARD_RETRY_BASE": "0.01",
            "EVALBOARD_MAX_ATTEMPTS": "3",
        }
        return await asyncio.create_subprocess_exec(
            *(
                sys.executable,
                "-m",
                "evalcore.cli.main",
                *words,
                "--data",
                str(self.data),
                "--json",
            ),
            env=os.environ | environment,
            stdout=PIPE,
            stderr=PIPE,
        )

    async def start_run(self) -> Process:
        return await self.start(
            *("run", "--target", f"app:{self.folder / 'loop.yaml'}"),
            *("--benchmarks", "dialect_conversion", "--dataset", str(self.dataset)),
        )

    async def run(self) -> int:
        return await self.ended(await self.start_run())

    async def resume(self) -> int:
        return await self.ended(await self.start("resume", self.run_folder.run_id))

    async def ended(self, process: Process) -> int:
        output, errors = await asyncio.wait_for(process.communicate(), 60)
        assert KEY not in (output + errors).decode()
        assert KEY.encode() not in b"".join(
            path.read_bytes() for path in self.data.rglob("*") if path.is_file()
        )
        return int(process.returncode or 0)

    @property
    def run_folder(self) -> RunFolder:
        [folder] = run_folder.list_run_folders([self.data / "runs"])
        return folder

    @property
    def outcomes(self) -> Counter[str]:
        summary = self.run_folder.read_summary()
        assert summary is not None
        newest = {}
        for line in self.run_folder.read_verdicts(summary.scoring):
            newest[line.verdict.id] = line.verdict.outcome
        return Counter(newest.values())

    @property
    def submits(self) -> list[int]:
        return [self.service.submits[sql] for sql in self.sql]


@pytest.fixture
async def bench(tmp_path):
    async with serve() as service:
        yield Bench(tmp_path, service)


@pytest.mark.full
async def test_a_service_that_converts_well_earns_all(bench):
    bench.misbehave("do", "slow", "flaky", "garbled")
    assert await bench.run() == 0
    assert bench.outcomes == {"passed": 4}
    assert bench.submits == [1, 1, 1, 1]
    score = bench.run_folder.read_summary().benchmarks["dialect_conversion"]
    assert (score.score, score.coverage) == (100.0, 1.0)


async def test_a_service_that_recovers_is_asked_again(bench):
    bench.misbehave("busy", "limited", "do", "do")
    assert await bench.run() == 0
    assert bench.outcomes == {"passed": 4}
    assert bench.submits == [3, 3, 1, 1]


@pytest.mark.parametrize(
    "moods",
    [
        ("do", "lost", "refuse", "page"),
        ("do", "endless", "empty", "huge"),
        ("do", "status 500", "status 401", "path"),
    ],
)
@pytest.mark.full
async def test_errors_of_the_service_leave_the_run_incomplete_and_are_never_scored(bench, moods):
    bench.describe(polling=1.5)
    bench.misbehave(*(mood.split()[0] for mood in moods))
    for sql, mood in zip(bench.sql, moods, strict=True):
        if mood.startswith("status"):
            bench.service.answers[sql] = mood.split()[1]
    assert await bench.run() == 3
    assert bench.outcomes == {"passed": 1, "target_error": 3}
    score = bench.run_folder.read_summary().benchmarks["dialect_conversion"]
    assert (score.answered, score.coverage) == (100.0, 0.25)
    assert bench.run_folder.current_state() == "incomplete"


@pytest.mark.full
async def test_what_failed_is_asked_again_on_resume_and_nothing_else(bench):
    bench.misbehave("do", "lost", "lost", "do")
    assert await bench.run() == 3
    bench.misbehave()
    assert await bench.resume() == 0
    assert bench.outcomes == {"passed": 4}
    assert bench.submits == [1, 2, 2, 1]


@pytest.mark.full
async def test_the_input_handed_back_and_words_are_answers_that_fail(bench):
    bench.misbehave("same", "idle", "do", "do")
    assert await bench.run() == 0
    assert bench.outcomes == {"passed": 2, "failed": 2}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", ["cancel", "kill"])
async def test_a_run_that_is_stopped_while_it_waits_goes_on_later(bench, how):
    bench.describe(polling=60.0)
    bench.misbehave("do", "do", "do", "endless")
    process = await bench.start_run()
    while sum(bench.service.polls.values()) < 12:  # three answers, and many polls of the fourth
        assert process.returncode is None, "the run ended before it waited"
        await asyncio.sleep(0.05)
    if how == "kill":
        process.kill()
    else:
        assert await bench.ended(await bench.start("cancel", bench.run_folder.run_id)) == 0
    assert await asyncio.wait_for(bench.ended(process), 60) == (3 if how == "cancel" else -9)
    assert bench.run_folder.current_state() == ("cancelled" if how == "cancel" else "interrupted")
    bench.misbehave()
    assert await bench.resume() == 0
    assert bench.outcomes == {"passed": 4}
    assert bench.submits == [1, 1, 1, 2]
