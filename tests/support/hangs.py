"""Code that must end soon whatever it reads: a test that it hangs fails, and the others go on."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def stop_hang(seconds: float = 30.0) -> Iterator[None]:
    """Fail the test once the block has computed for so many seconds of processor time.

    Waiting for the processor does not count, so that a busy machine changes nothing. The limit is
    far above what the block needs and far below what quadratic time takes for the sizes that tests
    use; how fast it is, perf/hostile_texts.py measures. `pytest.fail` raises no `Exception`, which
    the code under test could take for a failure of its own.
    """

    def stop(*_: object) -> None:
        pytest.fail(f"still busy after {seconds:g} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
