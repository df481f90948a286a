"""p5.js's logs: Mocha's numbered failures among dumps of objects and of pages.

Rules: swebench 5.0.2, `parse_log_p5js`. Only failures are named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from evalcore.benchmarks.swe_bench.log_parsers.markup import strip_elements
from evalcore.benchmarks.swe_bench.log_parsers.status import FAILED, StatusMap

_ANSI = re.compile(r"\x1B(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])")
#: Blanks at the ends of a number's line only: those of empty lines before it add nothing.
_NUMBER = re.compile(r"^[^\S\n]*\d+\)", re.MULTILINE)
#: The colon that ends a name stands within as many characters.
_LONGEST = 1000


def parse_p5js(log: str) -> StatusMap:
    """`1) suite`, below it further in the test, and a colon: `suite:test`."""
    states: StatusMap = {}
    for text in _iter_numbered_texts(strip_elements("\n".join(_without_json(_ANSI.sub("", log))))):
        lines = text.split("\n")
        indents = [0, *(len(line) - len(line.lstrip()) for line in lines)]
        if all(outer < inner for outer, inner in pairwise(indents)):
            states[":".join(line.strip() for line in lines)] = FAILED
    return states


def _iter_numbered_texts(log: str) -> Iterator[str]:
    """What stands between a number at the start of a line and the next colon, if it is near."""
    at = 0
    while number := _NUMBER.search(log, at):
        colon = log.find(":", number.end(), number.end() + _LONGEST + 1)
        if colon >= 0:
            yield log[number.end() : colon]
        at = max(number.end(), colon + 1)


def _without_json(log: str) -> Iterator[str]:
    """The lines outside of objects and lists: such a block ends at a bracket without indentation.

    A list that an object holds, or an object in a list, has to end by itself as well.
    """
    inside = dict.fromkeys("}]", False)
    for line in log.split("\n"):
        text = line.rstrip()
        if text.endswith(("{", "[")):
            inside["}" if text[-1] == "{" else "]"] = True
        elif inside.get(text):
            inside[text] = False
        elif not any(inside.values()) and not _is_json(text):
            yield line


def _is_json(text: str) -> bool:
    """Whether an object or a list stands on one line."""
    return text[:1] + text[-1:] in ("{}", "[]")
