"""Whether a process holds a lock, by which runs and jobs are known to live."""

import subprocess
import sys
import threading

from evalcore.store.journal import is_locked

HOLDER = """
import sys
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("holds it", flush=True)
    sys.stdin.read()
"""


def test_a_lock_is_held_until_its_process_is_gone(tmp_path):
    lock = tmp_path / "lock"
    assert not is_locked(lock)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout.readline() == b"holds it\n"
        assert is_locked(lock)
        holder.kill()
        holder.wait()
        assert not is_locked(lock)


def test_asking_at_once_is_never_taken_for_holding(tmp_path):
    """What is taken for alive can be cancelled, by the number of its process."""
    lock = tmp_path / "lock"
    lock.touch()
    answers: list[bool] = []
    threads = [
        threading.Thread(target=lambda: answers.extend(is_locked(lock) for _ in range(500)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 2000
    assert not any(answers)
