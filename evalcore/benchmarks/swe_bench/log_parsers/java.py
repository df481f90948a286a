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
    states: StatusMap = {}
    for raw in log.split("\n"):
        line = raw.strip()
        chosen = _find_chosen_test(line)
        if chosen:
            commands.append(chosen)
        for end, state in _BUILDS:
            if line.endswith(end):
                if commands:
                    states[commands.popleft()] = state
                else:
                    results.append(state)
    states.update(zip(commands, results, strict=False))
    return states


def _find_chosen_test(line: str) -> str:
    """The test that the last `-Dtest=` of a line chooses; "" where none does."""
    matches = list(_CHOSEN.finditer(line))
    return line[matches[-1].end() :].split(maxsplit=1)[0] if matches else ""


def parse_gradle(log: str) -> StatusMap:
    """A test's name, blanks and the state; the state can follow on a line of its own."""
    states: StatusMap = {}
    pending_name = ""
    for raw in log.split("\n"):
        line = raw.strip()
        state = next((candidate for candidate in _GRADLE if line.endswith(candidate)), "")
        name = line[: -len(state) - 1] if state else ""
        if len(name) > 1 and line[0] != ">" and line[len(name)].isspace():
            states[name] = state
            pending_name = ""
        elif _NAME_ONLY.match(line):
            pending_name = line
        elif pending_name and state and line == state:
            states[pending_name] = state
            pending_name = ""
    return states
