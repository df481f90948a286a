"""Summary lines of pytest: the state first, then the id of the test.

The parsers differ in what they make of ids: the plain one ends an id at the first blank, the one
for options shortens paths in brackets, version 2 keeps blanks and takes a state behind the id too.
Rules: swebench 5.0.2, `harness/log_parsers/python.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from evalcore.benchmarks.swe_bench.log_parsers.status import FAILED, SKIPPED, STATES, StatusMap

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
    """As the plain form, with a path in brackets cut to its last part."""
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
    """An id whose bracket holds an absolute path, with the last part of that path only.

    The bracket reaches from the first `[` to the last `]`, and what follows it is dropped.
    """
    first, last = test.find("["), test.rfind("]")
    if first < 0 or last < first:
        return test
    option = test[first + 1 : last]
    if option.startswith("/") and not option.startswith("//") and "*" not in option:
        option = "/" + option.rsplit("/", 1)[1]
    return f"{test[:first]}[{option}]"
