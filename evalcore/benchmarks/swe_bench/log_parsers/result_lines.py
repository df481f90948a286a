"""Logs that print one line per test, as tables of patterns; and what all parsers share: the
states of a test, full names from suites, results between known words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from evalcore.errors import EvalboardError
from evalcore.records import Record

PASSED: Final = "PASSED"
FAILED: Final = "FAILED"
SKIPPED: Final = "SKIPPED"
ERROR: Final = "ERROR"
XFAIL: Final = "XFAIL"

STATES: Final = (FAILED, PASSED, SKIPPED, ERROR, XFAIL)

#: Test id -> state. Some parsers keep a first word such as "ERRORS" as it stands in the log: it
#: is none of STATES, and a test in it counts neither as a success nor as a failure.
StatusMap = dict[str, str]

Parser = Callable[[str], StatusMap]


class UnreadableLog(EvalboardError):
    """The log is not in its runner's form, so that nothing can be said of any test. That is not the
    same as a log without tests: where only failures are named, a test that is absent has passed,
    and a patch that spoils the log must not pass by it. Upstream fails on most of these logs, and
    so has no report for them."""


# Full names of tests, with a bound on what a log can make of them: a suite's name stands once in a
# log and in the names of all its tests, so that a log of a few MB can ask for names of many TB.

#: Characters in all names of a log; those of a real log are a few times its own size at most.
MAX_NAME_CHARS = 64_000_000
#: What a name costs besides its characters, in characters.
_EACH = 20


class NameJoiner:
    """Joins names; raises UnreadableLog where those of one log grow too long."""

    def __init__(self) -> None:
        self._left = MAX_NAME_CHARS

    def join(self, separator: str, parts: Iterable[str]) -> str:
        parts = tuple(parts)
        self._left -= sum(map(len, parts)) + len(separator) * len(parts) + _EACH
        if self._left < 0:
            raise UnreadableLog("the names of the tests are too long to be those of a real log")
        return separator.join(parts)


class SuiteStack:
    """The suites that are open at a line of a log, told by the indentation of their lines."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []

    def read_suite_line(self, line: str) -> None:
        """Take a line as a suite's name: it closes those that are indented as far or further."""
        name = line.lstrip()
        indent = len(line) - len(name)
        if indent:
            while self._open and self._open[-1][0] >= indent:
                self._open.pop()
            self._open.append((indent, name.rstrip()))

    def list_open_suites(self) -> list[str]:
        return [name for _, name in self._open]


# A pattern such as `Chrome .*FAILED` searches a line to its end once for each `Chrome` on it, which
# takes quadratic time on a line of nothing else. Here head and tail are patterns of their own, and
# no line is read more than a few times.


class PrefixMatch(Record, frozen=True):
    start: int
    tail: re.Match[str]


def iter_prefix_matches(
    log: str, head: re.Pattern[str], tail: re.Pattern[str]
) -> Iterator[PrefixMatch]:
    """The results in order; none overlaps another. `tail` is matched right behind `head`. It must
    begin with `.*` and say how that line ends: where it does not fit behind one head, it fits
    behind no later one on the same line."""
    at, failed = 0, -1
    while begin := head.search(log, at):
        at = begin.start() + 1  # the end of one head can be the start of another
        if begin.end() <= failed:
            continue
        match = tail.match(log, begin.end())
        if match:
            at = match.end()
            yield PrefixMatch(begin.start(), match)
        else:
            failed = find_line_end(log, begin.end())


def find_line_end(log: str, at: int) -> int:
    end = log.find("\n", at)
    return len(log) if end < 0 else end


# Runners that print one line per test, as tables of patterns with the groups `word` (what says the
# state) and `test`, matched against the line without blanks at both ends. Each is written so that a
# line of any length is read once: where the rule of swebench 5.0.2 (`harness/log_parsers/`) has a
# pattern that backtracks, `ends` names what the line must end with before the pattern is tried.


class LineFormat(Record, frozen=True):
    """The lines of one runner: which ones count, and what their words say."""

    pattern: re.Pattern[str]
    words: dict[str, str]
    ends: str = ""


_DURATION = r"\d+\s*m?s"
LINE_FORMATS: dict[str, LineFormat] = {
    "parse_log_gotest": LineFormat(
        re.compile(r"--- (?P<word>PASS|FAIL|SKIP): (?P<test>.+) \(.+\)$"),
        {"PASS": PASSED, "FAIL": FAILED, "SKIP": SKIPPED},
        ends=")",
    ),
    "parse_log_cargo": LineFormat(
        re.compile(r"test\s+(?P<test>\S+)\s+\.\.\.\s+(?P<word>\w+)$"),
        {"ok": PASSED, "FAILED": FAILED},
    ),
    "parse_log_ant": LineFormat(
        re.compile(r"\[junit\]\s+\[(?P<word>PASS|FAIL|ERR)\]\s+(?P<test>.*)$"),
        {"PASS": PASSED, "FAIL": FAILED, "ERR": FAILED},
    ),
    "parse_log_tap": LineFormat(
        re.compile(r"(?P<word>ok|not ok) \d+ (?P<test>.+)$"), {"ok": PASSED, "not ok": FAILED}
    ),
    "parse_log_jest": LineFormat(
        re.compile(rf"(?P<word>[✓✕○])\s(?P<test>.+?)(?:\s\({_DURATION}\))?$"),
        {"✓": PASSED, "✕": FAILED, "○": SKIPPED},
    ),
    "parse_log_jest_json": LineFormat(
        re.compile(r"\[(?P<word>PASSED|FAILED)\]\s(?P<test>.+)$"),
        {"PASSED": PASSED, "FAILED": FAILED},
    ),
    "parse_log_vitest": LineFormat(
        re.compile(r"(?P<word>[✓×↓])\s(?P<test>.+?)(?:\s(?:\d+\s*m?s?|\[skipped\]))?$"),
        {"✓": PASSED, "×": FAILED, "↓": SKIPPED},
    ),
    "parse_log_jq": LineFormat(
        re.compile(r"(?P<word>PASS|FAIL):\s(?P<test>.+)$"), {"PASS": PASSED, "FAIL": FAILED}
    ),
    "parse_log_micropython_test": LineFormat(
        re.compile(r"(?P<word>pass|FAIL|skip)\s+(?P<test>.+)$"),
        {"pass": PASSED, "FAIL": FAILED, "skip": SKIPPED},
    ),
    "parse_log_redis": LineFormat(
        re.compile(rf"\[(?P<word>ok|err|skip|ignore)\]:\s(?P<test>.+?)(?:\s\({_DURATION}\))?$"),
        {"ok": PASSED, "err": FAILED, "skip": SKIPPED, "ignore": SKIPPED},
    ),
    "parse_log_ruby_unit": LineFormat(
        re.compile(r"(?:test: )?(?P<test>.+):\s+(?P<word>\.|E\b|F\b|O\b)"),
        {".": PASSED, "E": FAILED, "F": FAILED, "O": SKIPPED},
    ),
    "parse_log_rspec_transformed_json": LineFormat(
        re.compile(r"(?P<test>.+) - (?P<word>passed|failed)"), {"passed": PASSED, "failed": FAILED}
    ),
    "parse_log_cucumber": LineFormat(
        re.compile(r"(?P<test>.*) \.+(?P<word>\.|F)"), {".": PASSED, "F": FAILED}
    ),
}
#: A failed test of redis is followed by the place of the failure.
_FAILURE_LOCATION = re.compile(r"(?<!\s)\s+in\s+\S+$")


def parse_lines(log: str, name: str) -> StatusMap:
    """Read the log of a runner that LINE_FORMATS has."""
    line_format = LINE_FORMATS[name]
    states: StatusMap = {}
    for raw in log.split("\n"):
        line = raw.strip()
        match = line_format.pattern.match(line) if line.endswith(line_format.ends) else None
        state = line_format.words.get(match["word"]) if match else None
        if match and state:
            states[_CLEANED.get((name, state), str)(match["test"])] = state
    return states


_CLEANED = {
    ("parse_log_redis", FAILED): lambda test: _FAILURE_LOCATION.sub("", test),
    **{("parse_log_jest", state): str.strip for state in (PASSED, FAILED, SKIPPED)},
}


# Line forms whose official patterns backtrack over a whole line, in steps.
# Rules: swebench 5.0.2, `harness/log_parsers/` (php.py, ruby.py, c.py).

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
        if line.endswith(")") and (heading := _SUITE.match(line)):
            suite = heading[1]
            continue
        if match := _TESTDOX.match(line):
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
