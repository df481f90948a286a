"""Full names of tests from the suites around them, with a bound on what a log can make of them.

A suite's name stands once in a log and in the names of all its tests, so that a log of a few MB
can ask for names of many TB.
"""

from __future__ import annotations

from collections.abc import Iterable

from evalcore.benchmarks.swe_bench.log_parsers.status import UnreadableLog

#: Characters in all names of a log; those of a real log are a few times its own size at most.
MAX_NAME_CHARS = 64_000_000
#: What a name costs besides its characters, in characters.
_EACH = 20


class NameJoiner:
    """Joins names; raises UnreadableLog where those of one log grow beyond MOST."""

    def __init__(self) -> None:
        self._left = MAX_NAME_CHARS

    def join(self, separator: str, parts: Iterable[str]) -> str:
        """One name from its parts."""
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
        """The names of the open suites, the outermost first."""
        return [name for _, name in self._open]
