"""The passcode of a board: compared in constant time, and not to be tried out.

It stands in the environment of the server alone (EVALBOARD_PASSCODE), never in a file of settings.
Wrong tries are counted in the session that made them and for the address they came from, because
whoever tries many codes opens many sessions. Over all addresses they only slow down further tries:
nobody can lock others out. A session that has passed never comes here again.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

VARIABLE = "EVALBOARD_PASSCODE"
#: A shorter one can be guessed in spite of the limits below; it lets nobody in.
SHORTEST = 8
_LONGEST = 1024
_OF_A_SESSION, _OF_AN_ADDRESS = 5, 20  # wrong tries within WINDOW
WINDOW = 600.0  # seconds
#: Addresses whose wrong tries are remembered; the one that was last wrong longest ago is forgotten.
_ADDRESSES = 10_000
#: So many wrong tries of all visitors within WINDOW make each try a second slower.
_PER_SECOND = 50
_SLOWEST = 5.0  # seconds


def is_passcode_usable() -> bool:
    """Whether a passcode is set with which anybody can be let in."""
    return len(os.environ.get(VARIABLE, "").strip()) >= SHORTEST


class PasscodeGate:
    """Counts wrong tries; `clock` gives seconds that never go back, `sleep` slows a try down."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock, self._sleep, self._lock = clock, sleep, threading.Lock()
        self._by_address: OrderedDict[str, list[float]] = OrderedDict()
        self._all: deque[float] = deque(maxlen=int(_PER_SECOND * _SLOWEST))

    def try_passcode(self, typed: str, earlier: list[float], address: str = "") -> bool:
        """Whether the passcode was typed; a wrong one is noted, also in the session's `earlier`.

        While `compute_wait` says so, not even the right one passes. `address` is that of
        `addresses.visitor_network`, "" where it cannot be told and nothing is counted by it.
        """
        if self.compute_wait(earlier, address):
            return False
        if delay := self.compute_delay():
            self._sleep(delay)
        with self._lock:
            if self._compute_wait(earlier, address):  # others of this address were wrong meanwhile
                return False
            if is_passcode_usable() and is_same_passcode(typed, os.environ[VARIABLE].strip()):
                earlier.clear()
                return True
            moment = self._clock()
            self._all.append(moment)
            earlier[:] = [*earlier, moment][-_OF_A_SESSION:]
            if address:
                before = self._by_address.pop(address, [])
                self._by_address[address] = [*before, moment][-_OF_AN_ADDRESS:]
            while len(self._by_address) > _ADDRESSES:
                self._by_address.popitem(last=False)
            return False

    def compute_wait(self, earlier: list[float], address: str = "") -> float:
        """Seconds until another try counts, 0 where it counts now."""
        with self._lock:
            return self._compute_wait(earlier, address)

    def compute_delay(self) -> float:
        """Seconds that each try takes longer now, by the wrong ones of all visitors."""
        with self._lock:
            since = self._clock() - WINDOW
            return float(sum(moment > since for moment in self._all) // _PER_SECOND)

    def _compute_wait(self, earlier: list[float], address: str) -> float:
        ends = [0.0]
        of_address = self._by_address.get(address, [])
        for limit, moments in ((_OF_A_SESSION, earlier), (_OF_AN_ADDRESS, of_address)):
            if len(moments) >= limit:
                ends.append(moments[-limit] + WINDOW - self._clock())
        return max(ends)


def is_same_passcode(typed: str, expected: str) -> bool:
    """Compared by digests of equal length: the time tells neither length nor beginning."""
    left, right = (hashlib.sha256(text[:_LONGEST].encode()).digest() for text in (typed, expected))
    return hmac.compare_digest(left, right)


#: The gate of this server.
GATE = PasscodeGate()
