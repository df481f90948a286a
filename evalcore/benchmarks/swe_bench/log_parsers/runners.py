"""Logs of pytest, Django, seaborn and SymPy, of Maven and Gradle, and of doctest for C++."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator

from evalcore.benchmarks.swe_bench.log_parsers.result_lines import (
    ERROR,
    FAILED,
    PASSED,
    SKIPPED,
    STATES,
    NameJoiner,
    StatusMap,
    UnreadableLog,
    find_line_end,
)

# pytest's summary lines: the state first, then the id of the test. Rules: swebench 5.0.2,
# `harness/log_parsers/python.py`.

#: `SKIPPED [2] path:line: reason` counts skipped tests and names none of them.
_COUNT = re.compile(r"\[\d+\]$")
_COLOUR = re.compile(r"\[\d+m")
_CONTROLS = dict.fromkeys(range(1, 32))
#: matplotlib's ids print an enumeration by name in one Python and by value in another.
_BUTTONS = (("MouseButton.LEFT", "1"), ("MouseButton.RIGHT", "3"))


def parse_pytest(log: str) -> StatusMap:
    """The plain form; an id ends at its first blank."""
    return dict(_iter_summary_lines(log))


def parse_pytest_options(log: str) -> StatusMap:
    """Parse as the plain format does, and cut a path in brackets to its last part."""
    return {_shorten_path_option(test): state for test, state in _iter_summary_lines(log)}


def parse_matplotlib(log: str) -> StatusMap:
    """As the plain form, after the mouse buttons' names were replaced by their numbers."""
    for name, number in _BUTTONS:
        log = log.replace(name, number)
    return dict(_iter_summary_lines(log))


def parse_pytest_v2(log: str) -> StatusMap:
    """Ids with blanks, colours removed; also lines that end with the state, as old pytest's do."""
    states: StatusMap = {}
    for raw in log.split("\n"):
        line = _COLOUR.sub("", raw).translate(_CONTROLS)
        if line.startswith(STATES):
            if line.startswith(FAILED):
                line = line.split(" - ", 1)[0]  # the message of the assertion is not in the id
            words = line.split()
            if len(words) > 1 and not _counts_skipped(words):
                states[" ".join(words[1:])] = words[0]
        elif line.endswith(STATES):
            words = line.split()
            if len(words) > 1:
                states[" ".join(words[:-1])] = words[-1]
    return states


def _iter_summary_lines(log: str) -> Iterator[tuple[str, str]]:
    """(id, state) of each line that begins with a state."""
    for line in log.split("\n"):
        if line.startswith(STATES):
            text = line.replace(" - ", " ") if line.startswith(FAILED) else line
            words = text.split(maxsplit=2)
            if len(words) > 1 and not _counts_skipped(words):
                yield words[1], words[0]


def _counts_skipped(words: list[str]) -> bool:
    return words[0] == SKIPPED and _COUNT.match(words[1]) is not None


def _shorten_path_option(test: str) -> str:
    """An id whose bracket holds an absolute path, with the last part of that path only. The bracket
    reaches from the first `[` to the last `]`, and what follows it is dropped."""
    first, last = test.find("["), test.rfind("]")
    if first < 0 or last < first:
        return test
    option = test[first + 1 : last]
    if option.startswith("/") and not option.startswith("//") and "*" not in option:
        option = "/" + option.rsplit("/", 1)[1]
    return f"{test[:first]}[{option}]"


# Django's own runner: `test_name (module.Class) ... ok`, often torn apart by prints. A test's line
# may be interrupted between `...` and `ok`, so that three known interruptions are looked for in the
# whole log after the lines. Rules: swebench 5.0.2, `parse_log_django`, without a pattern that spans
# lines: the log is read once, whatever it holds.

_PASSED_ENDS = (" ... ok", " ... OK", " ...  OK")
#: A test whose name spans several lines.
_VERSION_TEST = "--version is equivalent to version"
#: A migration's message stands on one line with the test that it belongs to.
_MIGRATION = "Applying sites.0002_alter_domain_unique...test_no_migrations"
#: (end of the line, state) and (start of the line, state).
_FAILED_ENDS = ((" ... FAIL", FAILED), (" ... ERROR", ERROR))
_STARTS = (("FAIL:", FAILED), ("ERROR:", ERROR))

#: A line that neither begins so nor holds the dots says nothing of a test.
_TELLING = ("FAIL:", "ERROR:", "ok")

_INSTALLED = re.compile(r"\s\.\.\.\sTesting against Django installed in ")
_SILENCED = re.compile(r" silenced\)\.\nok$", re.MULTILINE)
_SERVER_ERROR = re.compile(r"\s\.\.\.\sInternal Server Error: /")
_CHECKED = re.compile(
    r"\s\.\.\.\sSystem check identified no issues \(0 silenced\)\nok$", re.MULTILINE
)
#: Where an interruption that begins before a place ends; -1 for nowhere.
FindEnd = Callable[[str, int], int]


def parse_django(log: str) -> StatusMap:
    states: StatusMap = {}
    before = None
    for raw in log.split("\n"):
        line = raw.strip()
        if _VERSION_TEST in line:
            states[_VERSION_TEST] = PASSED
        if " ... " in line:
            before = line.split(" ... ", 1)[0]
        elif not line.startswith(_TELLING):
            continue
        states.update(_parse_django_line(line))
        if line.startswith("ok") and before is not None:
            states[before] = PASSED
    for opening, end in (
        (_INSTALLED, _find_silenced_end),
        (_SERVER_ERROR, _build_slash_end_finder()),
        (_CHECKED, lambda _, at: at),
    ):
        states.update(dict.fromkeys(_iter_interrupted_tests(log, opening, end), PASSED))
    return states


def _parse_django_line(line: str) -> Iterator[tuple[str, str]]:
    for end in _PASSED_ENDS:
        if line.endswith(end):
            if line.startswith(_MIGRATION):
                line = line.split("...", 1)[1].strip()
            yield line.removesuffix(end), PASSED
            break
    if " ... skipped" in line:
        yield line.split(" ... skipped", 1)[0], SKIPPED
    for (end, state), (start, _) in zip(_FAILED_ENDS, _STARTS, strict=True):
        if line.endswith(end):
            yield line.split(end, 1)[0], state
        words = line.split(maxsplit=2) if line.startswith(start) else []
        if len(words) > 1:
            yield words[1], state


def _iter_interrupted_tests(log: str, opening: re.Pattern[str], find_end: FindEnd) -> Iterator[str]:
    """Names of the tests whose lines an interruption follows: the text from the start of a line
    to the opening. The opening's first blank may be the end of that line."""
    done = 0
    for match in opening.finditer(log):
        start = match.start()
        if start < done:
            continue
        stop = find_end(log, match.end())
        if stop < 0:
            if find_end is _find_silenced_end:
                return  # no later opening has an end either
            continue
        line = log.rfind("\n", 0, start) + 1
        if line >= done:
            yield log[line:start]
            done = stop


def _find_silenced_end(log: str, at: int) -> int:
    match = _SILENCED.search(log, at)
    return match.end() if match else -1


def _build_slash_end_finder() -> FindEnd:
    """An end that wants a slash before the end of the line, and `ok` alone on the next one."""
    line_end = -1

    def find_slash_end(log: str, at: int) -> int:
        nonlocal line_end
        if line_end < at:  # openings come in order: no line is searched twice for its end
            line_end = find_line_end(log, at)
        if line_end - 1 < at or log[line_end - 1] != "/" or not log.startswith("\nok", line_end):
            return -1
        stop = line_end + 3
        return stop if stop == len(log) or log[stop] == "\n" else -1

    return find_slash_end


# Seaborn: pytest lines with the state before the id, or behind it with a percentage.
# Rules: swebench 5.0.2, `parse_log_seaborn`; nothing but passed and failed is read.


def parse_seaborn(log: str) -> StatusMap:
    states: StatusMap = {}
    for line in log.split("\n"):
        words = line.split(maxsplit=2)
        if len(words) < 2:
            continue
        if line.startswith(FAILED):
            states[words[1]] = FAILED
        elif f" {PASSED} " in line:
            if words[1] == PASSED:
                states[words[0]] = PASSED
        elif line.startswith(PASSED):
            states[words[1]] = PASSED
    return states


# SymPy's own runner: `test_name ok`, and `____ path.py:test_name ____` over a failure. Rules:
# swebench 5.0.2, `parse_log_sympy`; its pattern for headings takes cubic time on a line of blanks.

_ENDS = ((" E", ERROR), (" F", FAILED), (" ok", PASSED))


def parse_sympy(log: str) -> StatusMap:
    """Result lines outweigh headings, which name a test between their first and last blank."""
    lines = log.split("\n")
    states: StatusMap = {}
    for line in lines:
        heading = line[line.find(" ") + 1 : max(line.rfind(" "), 0)]
        if ".py:" in heading:
            states[heading] = FAILED
    for raw in lines:
        line = raw.strip()
        if line.startswith("test_"):
            for end, state in _ENDS:
                if line.endswith(end):
                    states[line.split(maxsplit=1)[0]] = state
    return states


# Maven and Gradle, where a test's name and its result can stand on different lines.
# Rules: swebench 5.0.2, `harness/log_parsers/java.py`.

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
        if choices := list(_CHOSEN.finditer(line)):  # the last `-Dtest=` of a line counts
            commands.append(line[choices[-1].end() :].split(maxsplit=1)[0])
        for end, state in _BUILDS:
            if line.endswith(end):
                if commands:
                    states[commands.popleft()] = state
                else:
                    results.append(state)
    states.update(zip(commands, results, strict=False))
    return states


def parse_gradle(log: str) -> StatusMap:
    """Parse a test's name, blanks and the state; the state may follow on a line of its own."""
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


# The XML report of a C++ program with doctest: the checks within each part of a test case. Rules:
# swebench 5.0.2, `parse_log_doctest`. The report is read as it comes, without a tree of it. No
# entity can be declared in it, since it is read from its first element on.

_START, _END = "<doctest", "</doctest>"
#: Elements within elements; a report of doctest's has about as many as the test has parts in parts.
_DEEPEST = 64


def parse_doctest(log: str) -> StatusMap:
    """`test case > part` and whether all checks in the part hold; for the first report in a log.
    Raises UnreadableLog for a report that is cut or is no XML."""
    from xml.parsers import expat

    start = log.find(_START)
    if start < 0:
        return {}
    end = log.find(_END, start)
    if end < 0:
        raise UnreadableLog(f"the report of doctest has no {_END}")
    report = _DoctestReport()
    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartElementHandler = report.start_element
    parser.EndElementHandler = report.end_element
    try:
        parser.Parse(log[start : end + len(_END)], True)
    except (expat.ExpatError, UnicodeError) as error:
        raise UnreadableLog(f"the report of doctest is no XML: {error}") from error
    return {name: part[0] for parts in report.cases for name, part in parts}


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
