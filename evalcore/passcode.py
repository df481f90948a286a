"""The passcode of a board: compared in constant time, and not to be tried out.

It stands in the environment of the server alone (EVALBOARD_PASSCODE), never in a file of settings.
Wrong tries are counted twice: in the session that made them, and over all sessions of this server,
because whoever tries many codes opens many sessions.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
import time
from collections import deque
from collections.abc import Callable

VARIABLE = "EVALBOARD_PASSCODE"
#: A shorter one can be guessed in spite of the limits below; it lets nobody in.
SHORTEST = 8
_LONGEST = 1024
_OF_A_SESSION, _OF_ALL = 5, 50  # wrong tries within WINDOW
WINDOW = 600.0  # seconds


def usable() -> bool:
    """Whether a passcode is set with which anybody can be let in."""
    return len(os.environ.get(VARIABLE, "").strip()) >= SHORTEST


class Gate:
    """Counts wrong tries; `clock` gives seconds that never go back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._wrong: deque[float] = deque(maxlen=_OF_ALL)

    def passes(self, typed: str, earlier: list[float]) -> bool:
        """Whether the passcode was typed; a wrong one is noted, also in the session's `earlier`.

        While `wait` says so, not even the right one passes.
        """
        with self._lock:
            if self._wait(earlier):
                return False
            if usable() and same(typed, os.environ[VARIABLE].strip()):
                earlier.clear()
                return True
            moment = self._clock()
            self._wrong.append(moment)
            earlier[:] = [*earlier, moment][-_OF_A_SESSION:]
            return False

    def wait(self, earlier: list[float]) -> float:
        """Seconds until another try counts, 0 where it counts now."""
        with self._lock:
            return self._wait(earlier)

    def _wait(self, earlier: list[float]) -> float:
        ends = [0.0]
        for most, moments in ((_OF_A_SESSION, earlier), (_OF_ALL, self._wrong)):
            if len(moments) >= most:
                ends.append(moments[-most] + WINDOW - self._clock())
        return max(ends)


def same(typed: str, known: str) -> bool:
    """Compared by digests of equal length: the time tells neither length nor beginning."""
    left, right = (hashlib.sha256(text[:_LONGEST].encode()).digest() for text in (typed, known))
    return hmac.compare_digest(left, right)


#: The gate of this server.
GATE = Gate()
