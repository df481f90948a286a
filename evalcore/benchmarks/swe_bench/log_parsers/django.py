"""Output of Django's own runner: `test_name (module.Class) ... ok`, often torn apart by prints.

A test's line may be interrupted between `...` and `ok`, so that three known interruptions are
looked for in the whole log after the lines. Rules: swebench 5.0.2, `parse_log_django`. The search
is written without a pattern that spans lines: it reads the log once, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from evalcore.benchmarks.swe_bench.log_parsers.status import (
    ERROR,
    FAILED,
    PASSED,
    SKIPPED,
    StatusMap,
)

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
    """The states of the tests in a log of Django's runner."""
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
        (_CHECKED, _find_end_here),
    ):
        states.update(dict.fromkeys(_iter_interrupted_tests(log, opening, end), PASSED))
    return states


def _parse_django_line(line: str) -> Iterator[tuple[str, str]]:
    """What one line says of tests, in the order in which it counts."""
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


def _find_end_here(_: str, at: int) -> int:
    return at


def _find_silenced_end(log: str, at: int) -> int:
    match = _SILENCED.search(log, at)
    return match.end() if match else -1


def _build_slash_end_finder() -> FindEnd:
    """An end that wants a slash before the end of the line, and `ok` alone on the next one."""
    line_end = -1

    def find_slash_end(log: str, at: int) -> int:
        nonlocal line_end
        if line_end < at:  # openings come in order: no line is searched twice for its end
            line_end = log.find("\n", at)
            line_end = len(log) if line_end < 0 else line_end
        if line_end - 1 < at or log[line_end - 1] != "/" or not log.startswith("\nok", line_end):
            return -1
        stop = line_end + 3
        return stop if stop == len(log) or log[stop] == "\n" else -1

    return find_slash_end
