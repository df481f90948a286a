"""Quarto's logs: `[smoke] > name ... ok` in colours, with names of temporary files in the name.

Rules: swebench 5.0.2, `parse_log_quarto_cli`. A temporary file has another name in each run, so
that the files are numbered in the order in which they come.
"""

from __future__ import annotations

import re

from evalcore.benchmarks.swe_bench.log_parsers.status import FAILED, PASSED, StatusMap

_KINDS = ("[smoke]", "[unit]")
#: A line with one of these begins the part that repeats the failures.
_DONE = ("ERRORS", "failures:")
_TEMPORARY = (re.compile(r"/tmp/\w+\.qmd"), re.compile(r"/tmp/\w+/"))  # noqa: S108 (in a log)
#: The end of a colour's code and the word that it colours.
_WORDS = (("32mok", PASSED), ("31mFAILED", FAILED))
_INFO = "34mINFO"
_SUMMARY = ("passed", "failed", "steps")


def parse_quarto_cli(log: str) -> StatusMap:
    """The states of the tests; one that no line says a state of has failed."""
    states: StatusMap = {}
    numbers: dict[str, int] = {}
    for raw in log.split("\n"):
        if any(word in raw for word in _DONE):
            break
        if not any(kind in raw for kind in _KINDS):
            continue
        line = _number_temp_files(raw, numbers)
        if line.startswith("test result:") or _INFO in line or all(w in line for w in _SUMMARY):
            continue
        name = line.split("...", 1)[0].strip()
        state = next((state for word, state in _WORDS if word in line), None)
        states[name] = state or states.get(name, FAILED)
    return states


def _number_temp_files(line: str, numbers: dict[str, int]) -> str:
    """The line with its temporary files as numbers; all files on a line take the first one's."""
    for pattern in _TEMPORARY:
        match = pattern.search(line)
        if match:
            number = numbers.setdefault(match[0], len(numbers))
            line = pattern.sub(f"/tmp/{number}", line)  # noqa: S108 (text of a log)
    return line
