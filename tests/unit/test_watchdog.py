"""The clock over calls: what overruns is stopped by steps, what ends in time is left alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from evalcore.sandbox import worker_process
from evalcore.sandbox.worker_process import Watchdog


class Steps:
    """Counts the steps taken and sets `second` with the second one."""

    def __init__(self) -> None:
        self.taken = 0
        self.second = threading.Event()

    def __call__(self) -> Iterator[float]:
        while True:
            self.taken += 1
            if self.taken == 2:
                self.second.set()
            yield 0.01


def list_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.daemon}


def test_a_call_that_overruns_is_stopped_by_steps_until_its_end() -> None:
    dog, steps = Watchdog(), Steps()
    with dog.watch_call(0.01, steps) as watch:
        assert steps.second.wait(30)
    taken = steps.taken
    assert watch.fired
    with dog.watch_call(60, Steps()) as later:
        threading.Event().wait(0.1)  # several pauses between steps
    assert (steps.taken, later.fired) == (taken, False)


def test_a_shorter_call_wakes_a_thread_that_waits_for_a_longer_one() -> None:
    dog, steps = Watchdog(), Steps()
    with dog.watch_call(3600, Steps()) as longer:
        pass
    with dog.watch_call(0.01, steps):
        assert steps.second.wait(30)
    assert not longer.fired


def test_one_thread_serves_all_calls() -> None:
    before = list_threads()
    dog = Watchdog()
    for _ in range(50):
        with dog.watch_call(60, Steps()):
            pass
    assert len(list_threads() - before) == 1


def test_steps_that_end_leave_a_call_alone() -> None:
    done = threading.Event()

    def step_once() -> Iterator[float]:
        done.set()
        yield from ()

    with Watchdog().watch_call(0.0, step_once) as watch:
        assert done.wait(30)
    assert watch.fired


def test_an_idle_thread_ends_and_a_later_call_has_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "_IDLE_SECONDS", 0.01)
    before = list_threads()
    dog, steps = Watchdog(), Steps()
    with dog.watch_call(0.0, Steps()):
        (thread,) = list_threads() - before
    thread.join(30)
    assert not thread.is_alive()
    with dog.watch_call(0.01, steps):
        assert steps.second.wait(30)
