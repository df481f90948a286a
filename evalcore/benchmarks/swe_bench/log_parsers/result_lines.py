"""Runners of other languages that print one line per test, as tables of patterns.

A pattern names its groups `word` (what says the state) and `test`; it is matched against the line
without blanks at both ends. Each is written so that a line of any length is read once: where the
rule of swebench 5.0.2 (`harness/log_parsers/`) has a pattern that backtracks, `ends` names what the
line must end with before the pattern is tried.
"""

from __future__ import annotations

import re

from evalcore.benchmarks.swe_bench.log_parsers.status import FAILED, PASSED, SKIPPED, StatusMap
from evalcore.records import Record


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
        re.compile(r"(?P<word>ok|not ok) \d+ (?P<test>.+)$"),
        {"ok": PASSED, "not ok": FAILED},
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
        re.compile(r"(?P<test>.+) - (?P<word>passed|failed)"),
        {"passed": PASSED, "failed": FAILED},
    ),
    "parse_log_cucumber": LineFormat(
        re.compile(r"(?P<test>.*) \.+(?P<word>\.|F)"), {".": PASSED, "F": FAILED}
    ),
}
#: A failed test of redis is followed by the place of the failure.
_FAILURE_LOCATION = re.compile(r"(?<!\s)\s+in\s+\S+$")


def parse_lines(log: str, name: str) -> StatusMap:
    """The states of the tests in the log of a runner that FORMS has."""
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
