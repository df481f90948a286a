"""Logs of SymPy's own runner: `test_name ok`, and `____ path.py:test_name ____` over a failure.

Rules: swebench 5.0.2, `parse_log_sympy`. Its pattern for headings is spelled out in steps here,
since it takes cubic time on a line of blanks.
"""

from __future__ import annotations

from collections.abc import Iterator

from evalcore.benchmarks.swe_bench.log_parsers.status import ERROR, FAILED, PASSED, StatusMap

_ENDS = ((" E", ERROR), (" F", FAILED), (" ok", PASSED))


def parse_sympy(log: str) -> StatusMap:
    """The states of the tests in a log of SymPy's runner; result lines outweigh headings."""
    lines = log.split("\n")
    states: StatusMap = dict.fromkeys(_iter_failure_headings(lines), FAILED)
    for raw in lines:
        line = raw.strip()
        if line.startswith("test_"):
            for end, state in _ENDS:
                if line.endswith(end):
                    states[line.split(maxsplit=1)[0]] = state
    return states


def _iter_failure_headings(lines: list[str]) -> Iterator[str]:
    """What stands between the first and the last blank of a line and holds `.py:`."""
    for line in lines:
        first, last = line.find(" "), line.rfind(" ")
        if first >= 0 and ".py:" in line[first + 1 : last]:
            yield line[first + 1 : last]
