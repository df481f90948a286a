"""The guard against hangs: it ends what computes for ever, and nothing that waits."""

from __future__ import annotations

import re
import time

import pytest

from tests.support.hangs import stop_hang


def test_a_loop_without_end_fails_even_where_every_exception_is_caught():
    with pytest.raises(pytest.fail.Exception, match=r"still busy after 0\.1 s"), stop_hang(0.1):
        while True:
            try:
                sum(range(1000))
            except Exception:
                continue


def test_a_pattern_that_backtracks_for_ever_is_interrupted():
    with pytest.raises(pytest.fail.Exception), stop_hang(0.1):
        re.match(r"(a+)+$", "a" * 60 + "b")


def test_waiting_is_no_hang_and_nothing_stays_armed():
    with stop_hang(0.1):
        time.sleep(0.3)
    until = time.process_time() + 0.3
    while time.process_time() < until:
        pass
