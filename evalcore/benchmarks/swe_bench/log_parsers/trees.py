"""Logs that print suites and tests as an indented tree: Calypso, Fusion Next and Lighthouse.

The latter two have changed their runners: the version of the project says which form a log has.
Rules: swebench 5.0.2, `parse_log_calypso`, `parse_log_next` and `parse_log_lighthouse`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from evalcore.benchmarks.swe_bench.log_parsers.names import NameJoiner, SuiteStack
from evalcore.benchmarks.swe_bench.log_parsers.prefix_matcher import iter_prefix_matches
from evalcore.benchmarks.swe_bench.log_parsers.status import (
    FAILED,
    PASSED,
    StatusMap,
    UnreadableLog,
)

_ANSI = re.compile(r"\x1B(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])")

_JEST = " ./node_modules/.bin/jest "
_JEST_STATES = {"✓": PASSED, "✕": FAILED}
#: The first words of what follows the tree.
_JEST_DONE = ("Test Suites", "  ● ")
_JEST_TEST = re.compile(r"\s+[✓✕]\s(.*)")
_MILLISECONDS = re.compile(r"\(\d+ms\)")
_TIMED = re.compile(r"(.*)\(\d+ms\)$")

_ASSERTION = re.compile(r"AssertionError:\s+#")
_BROWSER = "Starting browser Chrome"
_KARMA_NOISE = ("ERROR", "LOG", "WARN", "Check", "in")
#: In the order in which they are looked for.
_KARMA_MARKS = (("✗", FAILED), ("✓", PASSED))

_RUNNING = re.compile("Running:")
_RUNNING_SUITE = re.compile(r".*\)\n{3}\s{2}(.*)\n")
#: In the order in which they are read: a test in both has passed.
_RUNNING_TESTS = (
    (re.compile(r"^\s{4}\d+\)\s(.*)", re.MULTILINE), FAILED),
    (re.compile(r"^\s{4}✓\s(.*)\(", re.MULTILINE), PASSED),
)

_FILES = re.compile(r"running\s\d+\stest\sfiles")
_PASSING = re.compile(r"(?<!\d)\d+\spassing")
_MOCHA_TESTS = (
    (re.compile(r"✔\s(.*)\s\(\d+m+s\)"), PASSED),
    (re.compile(r"✔\s(.*)"), PASSED),
    (re.compile(r"\d+\)\s(.*)\s\(\d+m+s\)"), FAILED),
    (re.compile(r"\d+\)\s(.*)"), FAILED),
)

_MOCHA_JSON = "./node_modules/.bin/mocha --reporter json"
#: (start of a list, end of it, state of its tests), in the order in which they are read.
_MOCHA_LISTS = (('"passes": [', "]", PASSED), ('"failures": [', "],", FAILED))
_TITLE = re.compile(r'"fullTitle":\s"')
_TITLE_REST = re.compile(r'(.*)",\n')


def parse_calypso(log: str) -> StatusMap:
    """Jest's tree behind each run of its command, up to its summary or its first failure.

    Raises UnreadableLog for a line with a mark that is no test's, on which upstream fails.
    """
    states: StatusMap = {}
    suites, names = SuiteStack(), NameJoiner()
    for output in log.split(_JEST)[1:]:
        for line in output.split("\n"):
            if line.startswith(_JEST_DONE):
                break
            state = _JEST_STATES.get(line.lstrip()[:1])
            if state:
                # A test without a suite keeps the dash before its name.
                path = suites.list_open_suites() or [""]
                states[names.join(" - ", (*path, _parse_jest_test(line))).strip()] = state
            else:
                suites.read_suite_line(line)
    return states


def _parse_jest_test(line: str) -> str:
    match = _JEST_TEST.match(line)
    if match and _MILLISECONDS.search(line):
        match = _TIMED.match(match[1])
    if match is None:
        raise UnreadableLog("a line of Jest's has a mark, and is no test")
    return match[1]


def parse_next(log: str) -> StatusMap:
    """Karma's tree behind each start of the browser, up to its total; suites go on between runs."""
    states: StatusMap = {}
    suites, names = SuiteStack(), NameJoiner()
    for output in _strip_assertions(_ANSI.sub("", log)).split(" xvfb-run ")[1:]:
        for line in output.rsplit(_BROWSER, 1)[-1].split("\n"):
            if line.startswith("TOTAL"):
                break
            if line.lstrip().startswith(_KARMA_NOISE):
                continue
            mark, state = next(
                (mark_state for mark_state in _KARMA_MARKS if mark_state[0] in line), ("", "")
            )
            if mark:
                test = line.split(mark, 1)[1].lstrip()
                states[names.join(" - ", (*suites.list_open_suites(), test))] = state
            else:
                suites.read_suite_line(line)
    return states


def _strip_assertions(log: str) -> str:
    """The log without the messages of assertions, each of which an empty line ends."""
    parts = []
    at = 0
    while match := _ASSERTION.search(log, at):
        end = log.find("\n\n", match.end())
        if end < 0:
            break
        parts.append(log[at : match.start()])
        at = end + 2
    return "".join([*parts, log[at:]])


def parse_next_cypress(log: str) -> StatusMap:
    """Cypress names the file and, three lines below, its suite; `suite: test` of what follows."""
    states: StatusMap = {}
    names = NameJoiner()
    for suite, section in _split_cypress_sections(log):
        for pattern, state in _RUNNING_TESTS:
            for test in pattern.findall(section):
                states[names.join(": ", (suite, test.strip()))] = state
    return states


def _split_cypress_sections(log: str) -> Iterator[tuple[str, str]]:
    headings = list(iter_prefix_matches(log, _RUNNING, _RUNNING_SUITE))
    ends = [*(following.start for following in headings[1:]), len(log)]
    for heading, end in zip(headings, ends, strict=False):
        yield heading.tail[1], log[heading.tail.end() : end]


def parse_lighthouse_mocha(log: str) -> StatusMap:
    """Mocha's tree of each group of files, up to its summary."""
    states: StatusMap = {}
    names = NameJoiner()
    for output in _FILES.split(log)[1:]:
        suites = SuiteStack()
        for line in _PASSING.split(output, 1)[0].strip().split("\n"):
            text = line.strip()
            tests = ((pattern.match(text), state) for pattern, state in _MOCHA_TESTS)
            test, state = next((match_state for match_state in tests if match_state[0]), (None, ""))
            if test:
                states[names.join(" - ", (*suites.list_open_suites(), test[1]))] = state
            else:
                suites.read_suite_line(line)
    return states


def parse_lighthouse_json(log: str) -> StatusMap:
    """Titles in the JSON report behind each run of the command, read by its lines."""
    states: StatusMap = {}
    for output in log.split(_MOCHA_JSON)[1:]:
        for start, end, state in _MOCHA_LISTS:
            tests = output.rsplit(start, 1)[-1].rsplit(end, 1)[0]
            states.update(
                (match.tail[1], state) for match in iter_prefix_matches(tests, _TITLE, _TITLE_REST)
            )
    return states
