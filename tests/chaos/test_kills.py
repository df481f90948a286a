"""A run survives `kill -9`: nothing lost, nothing twice, nothing journaled asked again, and what
has ended is ranked whenever the kill came.

EVALBOARD_KILLS and EVALBOARD_END_KILLS say how many kills there are; `make test-full` sets them.
"""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import nullcontext
from pathlib import Path

import orjson
import pytest
from filelock import FileLock

from evalcore.benchmarks.sql_understanding.benchmark import SqlUnderstanding
from evalcore.results import RunSummary
from evalcore.store.index import Index, load_headers
from evalcore.store.repair import repair_runs
from evalcore.store.run_folder import RunFolder
from tests.support.loopback_server import Options, serve
from tests.support.replies import prompt_hash
from tests.support.worker_runs import (
    count_verdicts,
    new_run,
    settings_of,
    size,
    start,
    wait_for_work,
    wait_until,
)

KILLS = int(os.environ.get("EVALBOARD_KILLS", "4"))
END_KILLS = int(os.environ.get("EVALBOARD_END_KILLS", "4"))
SAMPLES = 40 + 8 * KILLS
#: More than are answered while another worker starts, however slowly.
MANY = 2000
FEW = 6
ALL = ("calls", "generations", "verdicts")


def journaled_prompts(folder: RunFolder) -> set[str]:
    """The server's names of the prompts whose answers are journaled."""
    benchmark = SqlUnderstanding({"mode": "verified"})
    prompts = {
        f"sql_understanding/{line.sample.key}": benchmark.build_prompt(line.sample)[-1].content
        for line in folder.read_samples()
    }
    return {prompt_hash(prompts[call.key]) for call in folder.read_calls()}


def result(summary: RunSummary | None) -> tuple[object, ...]:
    """All of a summary that must not depend on how the run went."""
    assert summary is not None
    score = summary.benchmarks["sql_understanding"]
    return score.score, score.interval, score.outcomes, score.metrics, score.coverage


def test_kills_at_any_moment_change_nothing(tmp_path: Path) -> None:
    dice = random.Random(20)
    with serve(Options(latency=0.06)) as server:
        folder = new_run(tmp_path / "killed", server, SAMPLES)
        kills = 0
        while kills < KILLS:
            journaled = journaled_prompts(folder)
            before = server.stats()["prompts"]
            process = start(folder)
            wait_for_work(folder, size(folder), process)
            time.sleep(dice.uniform(0, 0.12))
            if process.poll() is not None:  # on a busy machine the sleep may outlast the run
                break
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert folder.current_state() == "interrupted"
            after = server.stats()["prompts"]
            again = {name for name in journaled if after.get(name, 0) != before.get(name, 0)}
            assert not again, "a journaled answer was asked for again"
            kills += 1
        assert kills
        assert start(folder).wait(120) == 0
        calls = [call.key for call in folder.read_calls()]
        episodes = [line.episode.key for line in folder.read_episodes()]
        scoring = folder.read_summary().scoring
        verdicts = [line.verdict.id for line in folder.read_verdicts(scoring)]
        for journal in (calls, episodes, verdicts):
            assert len(journal) == len(set(journal)) == SAMPLES
        requests = server.stats()["requests"]
        assert SAMPLES <= requests <= SAMPLES + 2 * kills, "more than what was in flight was lost"

        undisturbed = new_run(tmp_path / "undisturbed", server, SAMPLES)
        assert start(undisturbed).wait(120) == 0
    assert result(folder.read_summary()) == result(undisturbed.read_summary())
    assert ranked(folder)


def ranked(folder: RunFolder) -> bool:
    """Whether a process that has never seen the store finds the run complete among the headers."""
    settings = settings_of(folder)
    header = Index(settings.index_path, [settings.runs_dir]).get(folder.run_id)
    return header is not None and header.state == "done"


@pytest.mark.full
def test_a_kill_at_the_very_end_leaves_no_run_unranked(tmp_path: Path) -> None:
    """Between the last verdict and the index: a run that has a summary is on the boards."""
    dice, unindexed = random.Random(21), 0
    with serve(Options(latency=0.01)) as server:
        for number in range(END_KILLS):
            folder = new_run(tmp_path / str(number), server, FEW)
            settings = settings_of(folder)
            path = settings.index_path
            locked = number % 3 == 2  # it cannot enter the index before it is killed
            with FileLock(f"{path}.lock") if locked else nullcontext():
                process = start(folder)
                wait_until(lambda f=folder: count_verdicts(f) == FEW)
                if number % 3:
                    wait_until(folder.summary_path.exists)
                    time.sleep(dice.uniform(0, 0.004))
                else:
                    time.sleep(dice.uniform(0, 0.06))
                process.send_signal(signal.SIGKILL)
                process.wait()
            entered = path.exists() and folder.run_id in orjson.loads(path.read_bytes())["runs"]
            if folder.summary_path.exists():
                unindexed += not entered
                assert folder.current_state() == "done"
            else:
                assert folder.current_state() == "interrupted"
                asked = server.stats()["requests"]
                assert start(folder).wait(120) == 0
                assert server.stats()["requests"] == asked, "a journaled answer was asked for again"
            assert ranked(folder)
            assert [header.run_id for header in load_headers(settings)] == [folder.run_id]
    print(f"{unindexed} of {END_KILLS} kills struck between the summary and the index")
    assert unindexed >= END_KILLS // 3


def test_a_cancelled_run_keeps_what_it_has_and_goes_on(tmp_path: Path) -> None:
    with serve(Options(latency=0.06)) as server:
        folder = new_run(tmp_path, server, SAMPLES)
        process = start(folder)
        wait_for_work(folder, 0, process)
        folder.cancel_path.touch()
        assert process.wait(120) == 3
        assert folder.current_state() == "cancelled"
        partial = folder.read_summary().benchmarks["sql_understanding"]
        assert 0 < partial.coverage < 1
        assert partial.samples == SAMPLES
        assert not partial.complete
        assert start(folder).wait(120) == 0
        assert folder.current_state() == "done"
        assert server.stats()["requests"] <= SAMPLES + 2


@pytest.mark.full
def test_two_workers_cannot_share_a_run(tmp_path: Path) -> None:
    with serve(Options(latency=0.06)) as server:
        folder = new_run(tmp_path, server, MANY)
        first = start(folder)
        wait_for_work(folder, 0, first)
        assert folder.current_state() == "running"
        assert start(folder).wait(120) == 2
        folder.cancel_path.touch()
        first.wait(120)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("damaged", "asked"), [(("generations",), 0), (ALL, 1)])
def test_a_run_goes_on_after_its_journals_were_repaired(
    tmp_path: Path, damaged: tuple[str, ...], asked: int
) -> None:
    """What was set aside is asked and scored again, and nothing else."""
    with serve(Options()) as server:
        folder = new_run(tmp_path, server, FEW)
        assert start(folder).wait(120) == 0
        before, requests = result(folder.read_summary()), server.stats()["requests"]
        for name in damaged:
            [path] = folder.path.glob(f"{name}/**/main.jsonl")
            lines = path.read_bytes().splitlines(keepends=True)
            lines = [
                b"\xff\n" if b'/c2"' in line or b'"id":"c2"' in line else line for line in lines
            ]
            assert b"\xff\n" in lines, lines[0]
            path.write_bytes(b"".join(lines))
        assert start(folder).wait(120) == 2, "without a repair the damage is named"
        settings = settings_of(folder)
        assert len(list(repair_runs([settings.runs_dir]))) == len(damaged)
        assert not ranked(folder)
        assert start(folder).wait(120) == 0
        assert server.stats()["requests"] == requests + asked
    assert result(folder.read_summary()) == before
    assert ranked(folder)
