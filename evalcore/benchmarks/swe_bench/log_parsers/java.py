"""Logs of Maven and Gradle, in which a test's name and its result can stand on different lines.

Rules: swebench 5.0.2, `harness/log_parsers/java.py`.
"""

from __future__ import annotations

import re
from collections import deque

from evalcore.benchmarks.swe_bench.log_parsers.status import FAILED, PASSED, StatusMap

_CHOSEN = re.compile(r"-Dtest=(?=\S)")
_BUILDS = (("BUILD SUCCESS", PASSED), ("BUILD FAILURE", FAILED))
_GRADLE = (PASSED, FAILED)
_NAME_ONLY = re.compile(r"[^>]\S*\s+>\s+\S+$")


def parse_maven(log: str) -> StatusMap:
    """Maven names no test that passes, so that each is run by a command of its own: the commands
    and the results of the builds are paired in their order."""
    commands: deque[str] = deque()
    results: deque[str] = deque()
    found: StatusMap = {}
    for raw in log.split("\n"):
        line = raw.strip()
        chosen = _chosen(line)
        if chosen:
            commands.append(chosen)
        for end, state in _BUILDS:
            if line.endswith(end):
                if commands:
                    found[commands.popleft()] = state
                else:
                    results.append(state)
    found.update(zip(commands, results, strict=False))
    return found


def _chosen(line: str) -> str:
    """The test that the last `-Dtest=` of a line chooses; "" where none does."""
    matches = list(_CHOSEN.finditer(line))
    return line[matches[-1].end() :].split(maxsplit=1)[0] if matches else ""


def parse_gradle(log: str) -> StatusMap:
    """A test's name, blanks and the state; the state can follow on a line of its own."""
    found: StatusMap = {}
    waiting = ""
    for raw in log.split("\n"):
        line = raw.strip()
        state = next((one for one in _GRADLE if line.endswith(one)), "")
        name = line[: -len(state) - 1] if state else ""
        if len(name) > 1 and line[0] != ">" and line[len(name)].isspace():
            found[name] = state
            waiting = ""
        elif _NAME_ONLY.match(line):
            waiting = line
        elif waiting and state and line == state:
            found[waiting] = state
            waiting = ""
    return found
