"""Greedy programs in the sandbox: memory, processor, processes, output and disk all end."""

from __future__ import annotations

import sys
import textwrap

import msgspec
import pytest

from evalcore.sandbox.program import Limits, Program
from tests.support.sandbox import SMALL, Way, gone, shown
from tests.support.sandbox_driver import Request

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs are run on Linux only")


def changed(**limits: object) -> Limits:
    return msgspec.structs.replace(SMALL, **limits)


def test_one_process_cannot_take_all_memory(sandbox: Way) -> None:
    result = sandbox.python("x = bytearray(400 << 20)")
    assert result.exit_code == 1
    assert "MemoryError" in result.output


def test_many_processes_cannot_either(sandbox: Way) -> None:
    code = """
        import os, time
        for _ in range(8):
            if not os.fork():
                kept = bytearray(os.urandom(1 << 20) * 50)
                time.sleep(20)
        time.sleep(20)
    """
    result = sandbox.python(code)
    assert (result.ended_by, result.exit_code) == ("memory", None)


def test_shared_memory_is_counted_once(sandbox: Way) -> None:
    """A parent's pages belong to all its children; eight times 60 MB of them are no 480 MB."""
    code = """
        import os, time
        kept = bytearray(os.urandom(1 << 20) * 60)
        children = []
        for _ in range(8):
            child = os.fork()
            if not child:
                time.sleep(0.4)
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
        print("fine")
    """
    assert sandbox.python(code).output == "fine\n"


def test_files_in_memory_count_as_memory(sandbox: Way) -> None:
    code = """
        import errno, time
        def fill(folder):
            try:
                for number in range(200):
                    with open(f"{folder}/{number}", "wb") as file:
                        file.write(bytes(1 << 20))
            except OSError as problem:
                print(folder, errno.errorcode[problem.errno], flush=True)
        fill("/tmp")
        kept = bytearray(40 << 20)
        fill("/dev/shm")
        time.sleep(5)
    """
    result = sandbox.python(code)
    assert result.output.startswith("/tmp ENOSPC")
    assert result.ended_by == "memory"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("limits", "code", "ended_by"),
    [({"seconds": 0.7}, None, "time"), ({"cpu_seconds": 1}, {128 + 24, 128 + 9}, "")],
    ids=["wall clock", "processor"],
)
def test_a_loop_ends(
    sandbox: Way, limits: dict[str, float], code: set[int] | None, ended_by: str
) -> None:
    result = sandbox.python("while True: pass", changed(**limits))
    assert result.ended_by == ended_by
    assert result.exit_code is None if code is None else result.exit_code in code


def test_a_fork_bomb_stays_small(sandbox: Way) -> None:
    code = """
        import os, time
        started = 0
        try:
            while started < 200:
                if not os.fork():
                    time.sleep(20)
                started += 1
        except BlockingIOError:
            print(started)
    """
    result = sandbox.python(code)
    assert 10 < int(result.output) <= SMALL.processes
    bomb = sandbox.run(("bash", "-c", "b() { b | b & }; b; sleep 20"), changed(seconds=0.7))
    assert bomb.ended_by in ("time", "processes")
    assert gone("b() { b | b & }")


def test_threads_count_as_processes(sandbox: Way) -> None:
    code = """
        import threading, time
        started = 0
        try:
            while started < 100:
                threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
                started += 1
        except RuntimeError:
            print(started)
    """
    assert int(sandbox.python(code).output) <= SMALL.processes


def test_runs_beside_one_another_do_not_share_the_count(sandbox: Way) -> None:
    code = """
        import os, time
        children = []
        for _ in range(16):
            child = os.fork()
            if not child:
                time.sleep(0.5)
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
        print("fine")
    """
    words = ("python", "-S", "-c", textwrap.dedent(code))
    answers = sandbox.driver.ask(Request(sandbox.means, Program(argv=words), SMALL, often=4))
    assert [answer.finished and answer.finished.output for answer in answers] == ["fine\n"] * 4


def test_an_output_flood_ends_at_once(sandbox: Way) -> None:
    result = sandbox.run(("yes",))
    assert result.ended_by == "output"
    assert len(result.output) == SMALL.output_bytes


def test_an_output_that_is_no_text(sandbox: Way) -> None:
    code = r"import os; os.write(1, b'\xff\x00ok'); os.write(2, b'\xe4'); os.kill(os.getpid(), 11)"
    result = sandbox.python(code)
    assert result.output == "�\0ok�"
    assert result.exit_code == 128 + 11


def test_a_file_cannot_grow_without_end(sandbox: Way) -> None:
    code = """
        import errno
        try:
            with open("/case/big", "wb") as file:
                while True:
                    file.write(bytes(1 << 16))
        except OSError as problem:
            print(errno.errorcode[problem.errno])
    """
    with sandbox.folder() as folder:
        assert sandbox.python(code, binds=shown(folder, "/case")).output == "EFBIG\n"
        assert (folder / "big").stat().st_size <= SMALL.file_bytes


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "code",
    [
        "open(f'/case/{n}', 'wb').write(bytes(1 << 20))",
        "os.mkdir('d'); os.chdir('d')",
    ],
    ids=["bytes", "depth"],
)
def test_a_folder_cannot_be_flooded(sandbox: Way, code: str) -> None:
    loop = (
        f"import os, time\nfor n in range(500):\n    {code}\n    time.sleep(0.01)\ntime.sleep(20)"
    )
    with sandbox.folder() as folder:
        result = sandbox.python(loop, binds=shown(folder, "/case"), cwd="/case")
        assert result.ended_by == "disk"
