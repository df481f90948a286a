"""Line forms of other languages whose official patterns backtrack over a whole line, in steps.

Rules: swebench 5.0.2, `harness/log_parsers/` (php.py, ruby.py, c.py).
"""

from __future__ import annotations

import re

from evalcore.benchmarks.swe_bench.log_parsers.names import NameJoiner
from evalcore.benchmarks.swe_bench.log_parsers.status import FAILED, PASSED, SKIPPED, StatusMap

_SUITE = re.compile(r"(\w.+) \(.+\)$")
_TESTDOX = re.compile(r"\s*([✔✘↩])\s*(.*)$")
_TESTDOX_STATES = {"✔": PASSED, "✘": FAILED, "↩": SKIPPED}
_GOOGLE = re.compile(r"\[\s*(OK|FAILED)\s*\]\s")
_GOOGLE_STATES = {"OK": PASSED, "FAILED": FAILED}
_ARGUMENTS = re.compile(r"\s\(")


def parse_phpunit(log: str) -> StatusMap:
    """PHPUnit with --testdox: the suite's line, then a mark and the test's sentence."""
    states: StatusMap = {}
    suite = "None"  # what upstream writes for a test without one
    names = NameJoiner()
    for line in log.split("\n"):
        heading = _SUITE.match(line) if line.endswith(")") else None
        if heading:
            suite = heading[1]
            continue
        match = _TESTDOX.match(line)
        if match:
            states[names.join(" > ", (suite, match[2]))] = _TESTDOX_STATES[match[1]]
    return states


def parse_minitest(log: str) -> StatusMap:
    """`Suite#test. 0.01 s = .`: the last of the letters `.`, `F` and `E` is the result."""
    states: StatusMap = {}
    for raw in log.split("\n"):
        line = raw.strip()
        last = max(line.rfind(letter) for letter in ".FE")
        equals = line.rfind("=", 0, max(last, 0))
        name = line.rfind(". ", 1, max(equals, 0))
        if name > 0:
            states[line[:name]] = PASSED if line[last] == "." else FAILED
    return states


def parse_googletest(log: str) -> StatusMap:
    """`[  OK  ] Suite.test (0 ms)`."""
    states: StatusMap = {}
    for raw in log.split("\n"):
        line = raw.strip()
        if not line.endswith(")"):
            continue
        ends = [match.start() for match in _ARGUMENTS.finditer(line)]
        results = list(_GOOGLE.finditer(line)) if ends else []
        fitting = [result for result in results if result.end() <= ends[-1]]
        if fitting:
            match = fitting[-1]
            states[line[match.end() : ends[-1]]] = _GOOGLE_STATES[match[1]]
    return states
