"""The worker process under attack from inside: what it cannot reach, and that it always ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalcore.errors import EnvironmentFailure
from evalcore.sandbox.worker_process import Reply, WorkerLost, WorkerProcess

SERVICE = "tests.support.probe_service:open_probe"
SECONDS = 0.5
linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel limits are those of Linux")


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    made = WorkerProcess(SERVICE, {}, seconds=SECONDS, memory_bytes=100_000_000, max_reply=100_000)
    yield made
    made.close()


def ask(worker: WorkerProcess, action: str, argument: Any = None) -> Reply:
    worker.hello()
    return worker.request({"do": action, "with": argument})


def result(worker: WorkerProcess, action: str, argument: Any = None) -> Any:
    reply = ask(worker, action, argument)
    assert reply.fault == "", reply.message
    return json.loads(bytes(reply.result))


def test_it_answers_and_says_what_it_is(worker: WorkerProcess) -> None:
    assert worker.hello().about == {"kind": "probe"}
    assert result(worker, "echo", {"a": [1, None, "é"]}) == {"a": [1, None, "é"]}


def test_it_knows_nothing_of_us(
    worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EVALBOARD_TEST_KEY", "secret")
    environment = result(worker, "environment")
    assert set(environment) <= {"HOME", "TZ", "LC_CTYPE"}
    assert environment["HOME"] == result(worker, "folder") != str(Path.cwd())
    result(worker, "stderr", "leak")
    result(worker, "stdout", "leak")
    assert "leak" not in "".join(capfd.readouterr())
    assert result(worker, "echo", 1) == 1


@linux
def test_the_kernel_limits_hold(worker: WorkerProcess) -> None:
    always = {"AS", "FSIZE", "CORE", "NOFILE"}
    assert set(worker.hello().enforced) == always | (set() if os.geteuid() == 0 else {"NPROC"})


@pytest.mark.parametrize("action", ["open", "write", "socket", "run", "system"])
def test_python_opens_and_starts_nothing(
    worker: WorkerProcess, tmp_path: Path, action: str
) -> None:
    path = tmp_path / "file"
    if action == "open":
        path.write_text("content")
    before = sorted(tmp_path.iterdir())
    reply = ask(worker, action, str(path))
    assert reply.fault == "error"
    assert "PermissionError" in reply.message
    assert sorted(tmp_path.iterdir()) == before


@linux
@pytest.mark.parametrize("action", ["native open", "native socket", "native pipe"])
def test_native_code_opens_nothing_either(
    worker: WorkerProcess, tmp_path: Path, action: str
) -> None:
    path = tmp_path / "file"
    path.write_text("content")
    assert result(worker, action, str(path)) == -1


@linux
def test_no_thread_can_be_started_where_the_limit_is_named(worker: WorkerProcess) -> None:
    refused = ask(worker, "thread").fault == "error"
    assert refused == ("NPROC" in worker.hello().enforced)


@linux
def test_memory_ends_in_an_error(worker: WorkerProcess) -> None:
    assert result(worker, "memory", 10_000_000) == 10_000_000
    assert ask(worker, "memory", 200_000_000).fault == "memory"


def test_an_error_of_the_service_is_told(worker: WorkerProcess) -> None:
    reply = ask(worker, "raise", "abc")
    assert reply.fault == "error"
    assert reply.message.startswith("ValueError: invalid literal")


@pytest.mark.parametrize("action", ["sleep", "spin"])
def test_it_is_killed_in_time_and_comes_back(worker: WorkerProcess, action: str) -> None:
    worker.hello()
    with pytest.raises(WorkerLost) as lost:
        ask(worker, action, 60)  # would end with a result if it were let
    assert lost.value.timed_out
    assert result(worker, "echo", 1) == 1


DEATHS = [("exit", 7, "exit status 7"), ("crash", None, "Segmentation"), ("long", 200_000, "over")]


@pytest.mark.parametrize(("action", "argument", "message"), DEATHS)
def test_a_death_is_told_and_mended(
    worker: WorkerProcess, action: str, argument: Any, message: str
) -> None:
    with pytest.raises(WorkerLost, match=message) as lost:
        ask(worker, action, argument)
    assert not lost.value.timed_out
    assert result(worker, "echo", 1) == 1


def test_threads_take_turns(worker: WorkerProcess) -> None:
    answers: dict[int, Any] = {}
    threads = [
        threading.Thread(target=lambda n=n: answers.update({n: result(worker, "echo", n)}))
        for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == {n: n for n in range(20)}


def test_close_leaves_nothing(worker: WorkerProcess) -> None:
    folder = Path(result(worker, "folder"))
    assert folder.is_dir()
    worker.close()
    worker.close()
    assert not folder.exists()


def test_a_service_that_does_not_load_is_an_environment_failure() -> None:
    worker = WorkerProcess("no.such:thing", {}, seconds=1, memory_bytes=1, max_reply=1000)
    with pytest.raises(EnvironmentFailure, match=r"no\.such:thing does not start: .*status 1"):
        worker.hello()
    worker.close()


ORPHAN = f"""
import os
from evalcore.sandbox.worker_process import WorkerProcess
worker = WorkerProcess({SERVICE!r}, {{}}, seconds=1, memory_bytes=10**8, max_reply=1000)
worker.hello()
print(worker._child.pid, flush=True)
worker.request({{"do": "spin"}})
"""


@linux
def test_a_busy_child_outlives_a_killed_parent_by_its_processor_time_only(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", ORPHAN],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},  # a killed parent leaves its folder behind
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    time.sleep(0.3)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline and _alive(child):
        time.sleep(0.1)
    alive = _alive(child)
    if alive:
        os.kill(child, signal.SIGKILL)
    assert not alive


def _alive(pid: int) -> bool:
    """Running, and no zombie that waits for whoever adopted it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
