"""Seaborn's logs: pytest lines with the state before the id, or behind it with a percentage.

Rules: swebench 5.0.2, `parse_log_seaborn`; nothing but passed and failed is read.
"""

from __future__ import annotations

from evalcore.benchmarks.swe_bench.log_parsers.status import FAILED, PASSED, StatusMap


def parse_seaborn(log: str) -> StatusMap:
    """The states of the tests in a log of seaborn's."""
    states: StatusMap = {}
    for line in log.split("\n"):
        words = line.split(maxsplit=2)
        if len(words) < 2:
            continue
        if line.startswith(FAILED):
            states[words[1]] = FAILED
        elif f" {PASSED} " in line:
            if words[1] == PASSED:
                states[words[0]] = PASSED
        elif line.startswith(PASSED):
            states[words[1]] = PASSED
    return states
