"""Runs on the nodes of a real Ray cluster: three on this machine, any of which may be killed."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evalcore.access.secrets import Secrets
from evalcore.errors import UsageError
from evalcore.records import content_hash
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.ray_workers import RayPool
from evalcore.runner.run_request import RunRequest
from evalcore.runner.worker import work_on_run
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder
from tests.support.cases import syntax_cases
from tests.support.loopback_server import Options, Server, serve
from tests.support.ray_nodes import start_nodes
from tests.support.worker_runs import wait_until

pytestmark = pytest.mark.slow
SAMPLES = 150
WIDTH = 12


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    data = tmp_path_factory.mktemp("node")
    with start_nodes(3, env={"EVALBOARD_NODE_DATA": str(data), "OPENAI_API_KEY": "none"}) as nodes:
        yield nodes


def plan(tmp_path: Path, server: Server, address: str) -> tuple[RunFolder, Settings]:
    settings = Settings(
        data=str(tmp_path / "data"), shipped=str(tmp_path / "none"), ray_address=address
    )
    request = RunRequest(
        target="openai:test",
        target_options={"base_url": server.base_url},
        benchmarks=("sql_understanding",),
        dataset=str(syntax_cases(tmp_path / "cases", SAMPLES)),
        concurrency=WIDTH,
        use_cache=False,
        executor="ray" if address else "",
    )
    return create_folder(plan_run(request, settings), settings), settings


def count_answers(folder: RunFolder) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.path.glob("calls/*.jsonl"))


def read_result(folder: RunFolder) -> tuple[Any, ...]:
    """Summary and verdicts, without what depends on where and when the run was worked on."""
    summary = folder.read_summary()
    assert summary is not None
    verdicts = {
        v.verdict.id: content_hash(v.verdict) for v in folder.read_verdicts(summary.scoring)
    }
    score = summary.benchmarks["sql_understanding"]
    return summary.state, msgspec.to_builtins(score), verdicts


def assert_once(folder: RunFolder) -> None:
    """Every sample has one call, one episode and one verdict."""
    summary = folder.read_summary()
    assert summary is not None
    for keys in (
        [call.key for call in folder.read_calls()],
        [line.episode.key for line in folder.read_episodes()],
        [line.verdict.id for line in folder.read_verdicts(summary.scoring)],
    ):
        assert len(keys) == len(set(keys)) == SAMPLES


def test_a_killed_node_changes_no_result(tmp_path: Path, cluster: Any) -> None:
    with serve(Options(latency=0.1)) as server:
        folder, settings = plan(tmp_path, server, cluster.address)
        journaled: list[int] = []

        def kill_node() -> None:
            wait_until(lambda: count_answers(folder) > SAMPLES // 4)
            cluster.remove_node(cluster.nodes.pop(), allow_graceful=False)
            journaled.append(count_answers(folder))

        killer = threading.Thread(target=kill_node)
        killer.start()
        summary = work_on_run(folder, settings, Secrets())
        killer.join()
        cluster.nodes.append(cluster.add_node(num_cpus=1))
        stats = server.stats()
        single, settings = plan(tmp_path, server, "")
        work_on_run(single, settings, Secrets())
    assert journaled[0] < SAMPLES, "the node was killed when all was done"
    assert summary.state == "done"
    assert read_result(folder) == read_result(single)
    assert_once(folder)
    assert stats["max_in_flight"] <= WIDTH
    again = Counter(count for count in stats["prompts"].values() if count > 1)
    assert set(again) <= {2}
    # of the node's share: in flight when it was killed, and answered since its last exchange
    assert again[2] <= 2 * WIDTH // 3
    assert folder.find_event("worker_lost")


def test_a_killed_coordinator_is_resumed_where_it_was(tmp_path: Path, cluster: Any) -> None:
    with serve(Options(latency=0.1)) as server:
        folder, settings = plan(tmp_path, server, cluster.address)
        command = [sys.executable, "-m", "evalcore.cli.main", "resume", folder.run_id]
        command += ["--data", settings.data, "--ray-address", cluster.address]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        wait_until(lambda: count_answers(folder) > SAMPLES // 4 or process.poll() is not None)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert folder.current_state() == "interrupted"
        answered = count_answers(folder)
        assert work_on_run(folder, settings, Secrets()).state == "done"
        assert max(server.stats()["prompts"].values()) <= 2
        # in flight, answered since the last exchange, and begun before the workers noticed
        assert server.stats()["requests"] - SAMPLES <= 4 * WIDTH
    assert answered >= SAMPLES // 4
    assert_once(folder)


def test_the_command_line_and_the_worker_process_take_a_cluster(
    tmp_path: Path, cluster: Any
) -> None:
    """As Launch starts it: the address is a setting of the installation."""
    with serve(Options()) as server:
        folder, _ = plan(tmp_path, server, cluster.address)
        command = [sys.executable, "-m", "evalcore.runner.worker", str(folder.path)]
        environment = {"RAY_ADDRESS": "", "EVALBOARD_RAY_ADDRESS": cluster.address}
        done = subprocess.run(
            ["env", *(f"{name}={value}" for name, value in environment.items()), *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr.decode()
    assert_once(folder)
    progress = folder.read_progress()
    assert progress is not None
    assert (progress.state, progress.scored) == ("done", SAMPLES)


def test_a_local_model_gets_a_worker_per_gpu(tmp_path: Path, cluster: Any) -> None:
    """Ray hides all GPUs from a worker but its own; these are declared, and none is used."""
    node = cluster.add_node(num_cpus=2, num_gpus=2)
    settings = Settings(data=str(tmp_path), ray_address=cluster.address)

    async def introduce() -> list[str]:
        workers = [pool.start_worker() for _ in range(pool.worker_count)]
        introductions = await asyncio.gather(*(worker.introduce() for worker in workers))
        for worker in workers:
            pool.end_worker(worker)
        return [introduction.gpus for introduction in introductions]

    pool = RayPool(settings, is_local=True)
    try:
        assert pool.worker_count == 2
        assert sorted(asyncio.run(introduce())) == ["0", "1"]
    finally:
        pool.disconnect()
        cluster.remove_node(node)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("", "no cluster named"),
        ("ray://127.0.0.1:1", "Ray's client"),
        ("127.0.0.1:1", "no Ray cluster at 127.0.0.1:1"),
    ],
)
def test_an_address_without_a_cluster_says_so(tmp_path: Path, address: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        RayPool(Settings(data=str(tmp_path), ray_address=address), is_local=False)
