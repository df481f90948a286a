"""Logs of Mocha in three of its forms: highlight.js, ESLint (failures only) and Prism (JSON).

Rules: swebench 5.0.2, `parse_log_highlightjs`, `parse_log_eslint` and `parse_log_prismjs`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from evalcore.benchmarks.swe_bench.log_parsers.names import NameJoiner
from evalcore.benchmarks.swe_bench.log_parsers.prefix_matcher import find_line_end
from evalcore.benchmarks.swe_bench.log_parsers.status import (
    FAILED,
    PASSED,
    StatusMap,
    UnreadableLog,
)

_SUMMARY = re.compile(r"\n[ \t]*\d+ passing")
_DURATION = re.compile(r"\(\d+ms\)")
_NUMBERED = re.compile(r"\d+\)")

_FAILURE = re.compile(r"\s{2}\d+\)")
_BLANKS = re.compile(r"\s+")
_ERROR = "Error"

_COMMAND = "./node_modules/.bin/mocha tests/run.js --reporter json"
#: The lists of a JSON report; a test in both has passed.
_LISTS = (("failures", FAILED), ("passes", PASSED))


def parse_highlightjs(log: str) -> StatusMap:
    """`suite.test` from ticked and numbered lines; the last indented line before is the suite."""
    summary = _SUMMARY.search(log)
    states: StatusMap = {}
    suite: tuple[str, ...] = ()
    names = NameJoiner()
    for line in log[: summary.start() if summary else None].split("\n"):
        text = line.strip()
        mark, state = _parse_test_mark(text)
        if mark:
            test = _DURATION.sub("", line.split(mark, 1)[1]).strip()
            states[names.join(".", (*suite, test))] = state
        elif line.startswith("  "):
            suite = (text,)
    return states


def _parse_test_mark(text: str) -> tuple[str, str]:
    """What ends the mark before a test's name, and the state it says; "" for another line."""
    if text.startswith(("✓", "✔")):
        return text[0], PASSED
    return (")", FAILED) if _NUMBERED.match(text) else ("", "")


def parse_eslint(log: str) -> StatusMap:
    """`  1) suite test` and, on the same or a later line, the error; only failures are named."""
    return {" ".join(name.split()): FAILED for name in _iter_failure_names(log)}


def _iter_failure_names(log: str) -> Iterator[str]:
    """What stands between a number and its error: a name, which begins right behind the number.

    The first blanks end it if the error is on their line, and else the line before the error's.
    """
    at = 0
    while head := _FAILURE.search(log, at):
        blanks = _BLANKS.search(log, head.end())
        error = log.find(_ERROR, blanks.end()) if blanks else -1
        if blanks is None or error < 0:
            return
        newline = log.rfind("\n", blanks.start(), error)
        yield log[head.end() : blanks.start() if newline < 0 else newline]
        # The error's line counts up to its last error.
        at = log.rfind(_ERROR, error, find_line_end(log, error)) + len(_ERROR)


def parse_prismjs(log: str) -> StatusMap:
    """The JSON report behind each run of the command; raises UnreadableLog where there is none."""
    states: StatusMap = {}
    for output in log.split(_COMMAND)[1:]:
        report = _parse_mocha_json("{" + output.split("{", 1)[-1].rsplit("}", 1)[0] + "}")
        for key, state in _LISTS:
            states.update((title, state) for title in _iter_test_titles(report, key))
    return states


def _parse_mocha_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableLog(f"the report of Mocha is no JSON: {error}") from error


def _iter_test_titles(report: Any, key: str) -> Iterator[str]:
    tests = report.get(key)
    if not isinstance(tests, list):
        raise UnreadableLog(f"the report of Mocha has no list of {key}")
    for test in tests:
        title = test.get("fullTitle") if isinstance(test, dict) else None
        if not isinstance(title, str):
            raise UnreadableLog(f"the report of Mocha has {key} without a title")
        yield title
