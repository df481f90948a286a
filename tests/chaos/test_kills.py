"""A run survives `kill -9`: nothing lost, nothing twice, nothing journaled asked again."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from evalcore import settings as configuration
from evalcore.benchmarks.sql_understanding.benchmark import SqlUnderstanding
from evalcore.records import RunSummary
from evalcore.runner.plan import create_folder, plan
from evalcore.runner.request import RunRequest
from evalcore.store.run_folder import RunFolder
from tests.support.cases import syntax_cases
from tests.support.loopback_server import Options, Server, serve
from tests.support.replies import prompt_hash

SAMPLES, KILLS = 300, 50


def new_run(tmp_path: Path, server: Server) -> RunFolder:
    settings = configuration.load(tmp_path / "data")
    cases = syntax_cases(tmp_path / "cases", SAMPLES)
    request = RunRequest(
        target="openai:test",
        target_options={"base_url": server.base_url},
        benchmarks=("sql_understanding",),
        dataset=str(cases),
        concurrency=2,
        use_cache=False,
    )
    return create_folder(plan(request, settings), settings)


def start(folder: RunFolder) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "evalcore.runner.worker", str(folder.path)],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_for_work(folder: RunFolder, before: int, process: subprocess.Popen[bytes]) -> None:
    """Until this worker has journaled something: a kill during start-up would test nothing."""
    until = time.monotonic() + 30
    while size(folder) <= before and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)


def size(folder: RunFolder) -> int:
    path = folder.path / "calls" / "main.jsonl"
    return path.stat().st_size if path.exists() else 0


def journaled_prompts(folder: RunFolder) -> set[str]:
    """The server's names of the prompts whose answers are journaled."""
    benchmark = SqlUnderstanding({"mode": "verified"})
    prompts = {
        f"sql_understanding/{line.sample.key}": benchmark.build_prompt(line.sample)[-1].content
        for line in folder.samples()
    }
    return {prompt_hash(prompts[call.key]) for call in folder.calls()}


def result(summary: RunSummary | None) -> tuple[object, ...]:
    """All of a summary that must not depend on how the run went."""
    assert summary is not None
    score = summary.benchmarks["sql_understanding"]
    return score.score, score.interval, score.outcomes, score.metrics, score.coverage


def test_fifty_kills_change_nothing(tmp_path: Path) -> None:
    dice = random.Random(20)
    with serve(Options(latency=0.06)) as server:
        folder = new_run(tmp_path / "killed", server)
        kept: Counter[str] = Counter()
        for _ in range(KILLS):
            journaled = journaled_prompts(folder)
            before = server.stats()["prompts"]
            process = start(folder)
            wait_for_work(folder, size(folder), process)
            time.sleep(dice.uniform(0, 0.12))
            assert process.poll() is None, "the run ended before the kills did"
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert folder.state() == "interrupted"
            after = server.stats()["prompts"]
            again = {name for name in journaled if after.get(name, 0) != before.get(name, 0)}
            assert not again, "a journaled answer was asked for again"
            kept.update(journaled)
        assert start(folder).wait(120) == 0
        calls = [call.key for call in folder.calls()]
        episodes = [line.episode.key for line in folder.episodes()]
        scoring = folder.summary().scoring
        verdicts = [line.verdict.id for line in folder.verdicts(scoring)]
        for journal in (calls, episodes, verdicts):
            assert len(journal) == len(set(journal)) == SAMPLES
        requests = server.stats()["requests"]
        assert SAMPLES <= requests <= SAMPLES + 2 * KILLS, "more than what was in flight was lost"

        undisturbed = new_run(tmp_path / "undisturbed", server)
        assert start(undisturbed).wait(120) == 0
    assert result(folder.summary()) == result(undisturbed.summary())


def test_a_cancelled_run_keeps_what_it_has_and_goes_on(tmp_path: Path) -> None:
    with serve(Options(latency=0.06)) as server:
        folder = new_run(tmp_path, server)
        process = start(folder)
        wait_for_work(folder, 0, process)
        folder.cancel_path.touch()
        assert process.wait(20) == 3
        assert folder.state() == "cancelled"
        partial = folder.summary().benchmarks["sql_understanding"]
        assert 0 < partial.coverage < 1
        assert partial.samples == SAMPLES
        assert not partial.complete
        assert start(folder).wait(120) == 0
        assert folder.state() == "done"
        assert server.stats()["requests"] <= SAMPLES + 2


def test_two_workers_cannot_share_a_run(tmp_path: Path) -> None:
    with serve(Options(latency=0.06)) as server:
        folder = new_run(tmp_path, server)
        first = start(folder)
        wait_for_work(folder, 0, first)
        assert folder.state() == "running"
        assert start(folder).wait(30) == 2
        folder.cancel_path.touch()
        first.wait(20)
