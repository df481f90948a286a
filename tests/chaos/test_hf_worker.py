"""The process of a local model is killed, short of memory, cancelled: all is answered once."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from evalcore import settings as configuration
from evalcore.access.secrets import Secrets
from evalcore.records import GenerationRequest, Message, Sampling, TargetSpec
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.store.run_folder import RunFolder
from evalcore.targets import registry
from evalcore.targets.huggingface import target as processes
from tests.support import hf_models
from tests.support.cases import syntax_cases

WIDTH, SAMPLES, NEW = 32, 96, 24


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    hf_models.local_libraries()
    folder = hf_models.make_model(tmp_path_factory.mktemp("models") / "random")
    hf_models.change_config(folder, max_position_embeddings=8192)
    return folder


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def target(checkpoint: Path, **options):
    settings = configuration.load_settings(checkpoint.parent / "data")
    return registry.create_target(TargetSpec(f"hf:{checkpoint}", options), settings, Secrets())


def requests(count: int, new: int = NEW) -> list[GenerationRequest]:
    return [
        GenerationRequest(
            messages=(Message("user", f"{number} " * (number % 17 + 1)),),
            sampling=Sampling(max_tokens=new),
        )
        for number in range(count)
    ]


async def texts(local, asked) -> list[str]:
    return [done.text for done in await asyncio.gather(*map(local.generate, asked))]


@pytest.mark.full
async def test_a_process_killed_in_the_middle_of_a_batch_changes_no_answer(checkpoint):
    local, text = target(checkpoint), []
    await local.open(text.append)
    undisturbed = await texts(local, requests(40))
    asking = asyncio.create_task(texts(local, requests(40)))
    await asyncio.sleep(0.1)
    assert not asking.done()
    first = local._process.pid
    os.kill(first, signal.SIGKILL)
    assert await asking == undisturbed
    assert local._process.pid != first
    await local.close()


@pytest.mark.full
async def test_a_batch_without_memory_shrinks_and_finishes(checkpoint, monkeypatch):
    local = target(checkpoint)
    await local.open(print)
    expected = await texts(local, requests(40))
    await local.close()
    monkeypatch.setattr(processes, "WORKER", "tests.support.hf_short_of_memory")
    monkeypatch.setenv("EVALBOARD_TEST_PLACES", "400")
    short = target(checkpoint)
    await short.open(print)
    assert await texts(short, requests(40)) == expected
    async with asyncio.timeout(60):
        while not short.info.card.get("halved"):
            await asyncio.sleep(0.05)
    await short.close()


async def test_closing_in_the_middle_of_a_batch_frees_the_process_at_once(checkpoint):
    local = target(checkpoint, context=512)
    await local.open(print)
    asking = [asyncio.create_task(local.generate(request)) for request in requests(64, new=400)]
    await asyncio.sleep(0.2)
    pid = local._process.pid
    await local.close()
    assert not Path(f"/proc/{pid}").exists()
    done = await asyncio.gather(*asking, return_exceptions=True)
    assert any(isinstance(item, Exception) for item in done)


@pytest.mark.full
async def test_a_cancelled_request_makes_room(checkpoint):
    local = target(checkpoint, batch_size=1)
    await local.open(print)
    long = [asyncio.create_task(local.generate(request)) for request in requests(4, new=100_000)]
    await asyncio.sleep(0.05)
    for task in long:
        task.cancel()
    await asyncio.wait_for(local.generate(requests(1)[0]), 60)
    await local.close()


def new_run(tmp_path: Path, checkpoint: Path) -> RunFolder:
    settings = configuration.load_settings(tmp_path / "data")
    request = RunRequest(
        target=f"hf:{checkpoint}",
        target_options={"max_tokens": NEW, "asking": "prompt"},
        benchmarks=("sql_understanding",),
        dataset=str(syntax_cases(tmp_path / "cases", SAMPLES)),
        concurrency=WIDTH,
        use_cache=False,
    )
    return create_folder(plan_run(request, settings), settings)


def start(folder: RunFolder) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "evalcore.runner.worker", str(folder.path)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def answered(folder: RunFolder) -> Counter[str]:
    return Counter(call.key for call in folder.read_calls())


def children(pid: int) -> list[int]:
    parts = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in parts]


def wait_until(true, seconds: float = 180.0) -> None:
    until = time.monotonic() + seconds
    while not true() and time.monotonic() < until:
        time.sleep(0.01)
    assert true()


def test_a_killed_run_frees_its_model_and_asks_nothing_answered_again(tmp_path, checkpoint):
    folder = new_run(tmp_path, checkpoint)
    process = start(folder)
    wait_until(lambda: answered(folder).total() > 0 or process.poll() is not None)
    models = children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert models
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in models))
    stored = answered(folder)
    assert 0 < stored.total() < SAMPLES
    assert start(folder).wait(120) == 0
    assert set(answered(folder).values()) == {1}, "an answered request was asked again"
    assert answered(folder).total() == SAMPLES
    assert {call.completion.finish_reason for call in folder.read_calls()} <= {"stop", "length"}
    assert not folder.read_summary().errors
