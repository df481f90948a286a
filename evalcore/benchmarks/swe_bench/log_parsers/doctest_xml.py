"""The XML report of a C++ program with doctest: the checks within each part of a test case.

Rules: swebench 5.0.2, `parse_log_doctest`. The report is read as it comes, without a tree of it. No
entity can be declared in it, since it is read from its first element on.
"""

from __future__ import annotations

from evalcore.benchmarks.swe_bench.log_parsers.names import NameJoiner
from evalcore.benchmarks.swe_bench.log_parsers.status import (
    FAILED,
    PASSED,
    StatusMap,
    UnreadableLog,
)

_START, _END = "<doctest", "</doctest>"
#: Elements within elements; a report of doctest's has about as many as the test has parts in parts.
_DEEPEST = 64


def parse_doctest(log: str) -> StatusMap:
    """`test case > part` and whether all checks in the part hold; for the first report in a log.

    Raises UnreadableLog for a report that is cut or is no XML.
    """
    start = log.find(_START)
    if start < 0:
        return {}
    end = log.find(_END, start)
    if end < 0:
        raise UnreadableLog(f"the report of doctest has no {_END}")
    report = _DoctestReport()
    _feed_doctest_report(report, log[start : end + len(_END)])
    return {name: part[0] for parts in report.cases for name, part in parts}


def _feed_doctest_report(report: _DoctestReport, text: str) -> None:
    from xml.parsers import expat

    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartElementHandler = report.start_element
    parser.EndElementHandler = report.end_element
    try:
        parser.Parse(text, True)
    except (expat.ExpatError, UnicodeError) as error:
        raise UnreadableLog(f"the report of doctest is no XML: {error}") from error


class _DoctestReport:
    """What has been read of a report. A part's state is a list of one, as its checks follow it."""

    def __init__(self) -> None:
        self.cases: list[list[tuple[str, list[str]]]] = []
        self._names = NameJoiner()
        self._depth = 0
        self._open_cases: list[tuple[str, list[tuple[str, list[str]]]]] = []
        self._open_parts: list[list[str]] = []

    def start_element(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise UnreadableLog("the report of doctest is nested too deeply to be a real one")
        name = str(attributes.get("name"))
        if tag == "TestCase":
            self.cases.append([])
            self._open_cases.append((name, self.cases[-1]))
        elif tag == "SubCase":
            self._open_parts.append([PASSED])
            for case, parts in self._open_cases:
                parts.append((self._names.join(" > ", (case, name)), self._open_parts[-1]))
        elif tag == "Expression" and attributes.get("success") != "true" and self._open_parts:
            self._open_parts[-1][0] = FAILED

    def end_element(self, tag: str) -> None:
        self._depth -= 1
        if tag == "TestCase":
            self._open_cases.pop()
        elif tag == "SubCase":
            state = self._open_parts.pop()
            if state[0] == FAILED and self._open_parts:
                self._open_parts[-1][0] = FAILED
