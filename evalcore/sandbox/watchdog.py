"""A clock over calls of one owner, made one after another: what overruns is stopped by steps.

One thread serves all calls. Calls that end in time never wake it: it sleeps past them and looks
again, because to start or to wake a thread for each call takes longer than many a call.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Yields, after each step, the seconds until the next.
Steps = Callable[[], Iterator[float]]
_IDLE_SECONDS = 60.0  # without a call, after which the thread ends


class Watch:
    """One call under the clock; `fired` tells that it overran."""

    def __init__(self, deadline: float, steps: Iterator[float]) -> None:
        self.fired = False
        self.deadline, self.steps = deadline, steps

    def take_step(self) -> None:
        """Do the next step, and set the time of that after it."""
        self.fired = True
        pause = next(self.steps, math.inf)
        self.deadline = time.monotonic() + pause


class Watchdog:
    """See the module. With `start` its thread starts at once and stays, for a process that may
    start none later."""

    def __init__(self, *, start: bool = False) -> None:
        self._condition = threading.Condition()
        self._watch: Watch | None = None
        self._thread: threading.Thread | None = None
        self._wakes = 0.0  # when the thread looks next, by itself
        self._stays = start
        if start:
            self._ensure_thread()

    @contextmanager
    def watch_call(self, seconds: float, steps: Steps) -> Iterator[Watch]:
        """Take `steps` once the call has lasted `seconds`; none is taken after its end."""
        watch = Watch(time.monotonic() + seconds, steps())
        with self._condition:
            self._watch = watch
            self._ensure_thread()
            if watch.deadline < self._wakes:
                self._condition.notify()
        try:
            yield watch
        finally:
            with self._condition:  # waits for a step that is being taken
                self._watch = None

    def _ensure_thread(self) -> None:
        """Start the thread, also in a process that was forked from that of the last one."""
        if self._thread is None or not self._thread.is_alive():
            self._wakes = 0.0
            self._thread = threading.Thread(target=self._look_after_calls, daemon=True)
            self._thread.start()

    def _look_after_calls(self) -> None:
        with self._condition:
            while True:
                watch = self._watch
                if watch is not None and watch.deadline <= time.monotonic():
                    watch.take_step()
                now = time.monotonic()
                pause = min(_IDLE_SECONDS, watch.deadline - now) if watch else _IDLE_SECONDS
                self._wakes = now + pause
                woken = self._condition.wait(max(pause, 0.0))
                if not (woken or watch or self._watch or self._stays):
                    self._thread = None
                    return
