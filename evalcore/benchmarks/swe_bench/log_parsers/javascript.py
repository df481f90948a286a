"""Logs of JavaScript runners that are more than one line per test.

Several of them name only the tests that failed; their tasks are graded by `fail_only`. Rules:
swebench 5.0.2, `harness/log_parsers/javascript.py`, each written so that a log is read once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from evalcore.benchmarks.swe_bench.log_parsers.names import NameJoiner
from evalcore.benchmarks.swe_bench.log_parsers.status import (
    FAILED,
    PASSED,
    StatusMap,
    UnreadableLog,
)

_ANSI = re.compile(r"\x1B(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])")
_CHROME = re.compile(r"Chrome\s[\d.]+[^\S\n]\(")
_BROWSER_END = re.compile(r"\)[^\S\n]")
_NUMBERED = re.compile(r"\d+\)\s(.*)")
_FILE = re.compile(r"(PASS|FAIL)\s(.*)")
_FILE_STATES = {"PASS": PASSED, "FAIL": FAILED}
#: Durations behind the name of a file, in the order in which they are tried.
_DURATIONS = tuple(re.compile(rf"(.*)\s\([\d.]+{unit}\)") for unit in ("ms", r"\ss", "s"))
_LAST_DURATION = re.compile(r"\s\([\d.]+\s?(?:ms|s)\)$")
_FILE_ANYWHERE = {word: re.compile(rf"^{word}\s(.*)", re.MULTILINE) for word in ("FAIL", "PASS")}
_KARMA = re.compile(r"(\s*)([✔✖])?\s(.*)$")


def parse_chart_js(log: str) -> StatusMap:
    """`Chrome 115.0 (Linux) name FAILED`; only failures are named."""
    return dict.fromkeys(_failed_in_chrome(_ANSI.sub("", log)), FAILED)


def _failed_in_chrome(log: str) -> Iterator[str]:
    """What stands between the browser and the last word of a line that ends with FAILED."""
    taken = seen = 0
    for match in _CHROME.finditer(log):
        name = match.end()
        if match.start() < taken or name <= seen:
            continue  # inside a result, or on a line that was no result from an earlier browser on
        seen = log.find("\n", name)
        seen = len(log) if seen < 0 else seen
        browser = _BROWSER_END.search(log, name + 1, seen)
        if browser and log.startswith(FAILED, seen - 6) and browser.end() <= seen - 6:
            yield log[browser.end() : seen - 6]
            taken = seen


def parse_marked(log: str) -> StatusMap:
    """`1) name` at the start of a line is a failure; nothing else is named."""
    matches = map(_NUMBERED.match, log.split("\n"))
    return {match[1].strip(): FAILED for match in matches if match}


def parse_carbon(log: str) -> StatusMap:
    """Jest's lines for files, `PASS path (1.2 s)`, at the start of a line."""
    states: StatusMap = {}
    for line in log.split("\n"):
        match = _FILE.match(line)
        if match:
            timed_matches = (pattern.match(match[2]) for pattern in _DURATIONS)
            name = next((timed_match[1] for timed_match in timed_matches if timed_match), match[2])
            states[name] = _FILE_STATES[match[1]]
    return states


def parse_grommet(log: str) -> StatusMap:
    """As carbon's, with a duration only at the end; a file that passes once has passed."""
    states: StatusMap = {}
    for word, pattern in _FILE_ANYWHERE.items():
        for match in pattern.finditer(log):
            states[_LAST_DURATION.sub("", match[1].strip())] = _FILE_STATES[word]
    return states


def parse_karma(log: str) -> StatusMap:
    """Karma's tree of suites, from the start of the browser to the summary; names hold the path."""
    states: StatusMap = {}
    suites: list[str] = []
    names = NameJoiner()
    depth, started = -1, False
    for line in log.split("\n"):
        if line.startswith("SUMMARY:"):
            break
        if "Starting browser" in line:
            started = True
            continue
        match = _KARMA.match(line) if started else None
        if match is None:
            continue
        indent, mark, name = match.groups()
        if indent and not mark:
            if len(indent) > depth:
                suites.append(name)
            elif len(indent) < depth:
                if not suites:
                    raise UnreadableLog("the tree of suites goes up further than it went down")
                suites.pop()
            depth = len(indent)
        if mark:
            states[names.join(" > ", (*suites, name))] = PASSED if mark == "✔" else FAILED
    return states
