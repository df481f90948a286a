"""Logs of tests in a browser that name the failures only: bpmn-js and OpenLayers.

Their tasks are graded by `fail_only`. Rules: swebench 5.0.2, `parse_log_bpmn_js` and
`parse_log_openlayers`. A blank between two words can be a newline.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from evalcore.benchmarks.swe_bench.log_parsers.prefix_matcher import (
    find_line_end,
    iter_prefix_matches,
)
from evalcore.benchmarks.swe_bench.log_parsers.status import FAILED, StatusMap

_FAILED = re.compile(r"(.*)FAILED\n")
_FAILED_APART = re.compile(r"(.*)\sFAILED\n")

_PHANTOM = re.compile(r"2KPhantomJS\s[\d.]+\s\(Linux\s[\d.]+\)\s")
_PHANTOM_64 = re.compile(r"2KPhantomJS\s[\d.]+\s\(Linux\sx86_64\)\s")
_ANY_HEADLESS = re.compile(r"Chrome\sHeadless\s")
_HEADLESS = re.compile(r"HeadlessChrome\s[\d.]+\s\(Linux\s[\d.]+\)\s")
#: What follows the version of a headless Chrome. It takes up no room, since two can share a blank.
_LINUX_64 = re.compile(r"(?=\s\(Linux\sx86_64\)\s)")
_LINUX_64_LENGTH = len(" (Linux x86_64) ")

_CHROME_HEADLESS = re.compile(r"Chrome\sHeadless\s[\d.]+\s\(Linux\s\S+\)\s")
_CHROME_LINUX = re.compile(r"Chrome\s[\d.]+\s\(Linux\s\S+\)\s")
_NUMBER = re.compile(r"^\s{2}\d+\)", re.MULTILINE)
_ERROR = "Error:"
_MISMATCH = re.compile(r"^case\s(.*):\smismatch", re.MULTILINE)


def parse_bpmn_js(log: str) -> StatusMap:
    """Karma's `HeadlessChrome 92.0 (Linux 0.0) name FAILED`, and those of older browsers."""
    names = [
        *(match.tail[1] for match in iter_prefix_matches(log, _PHANTOM, _FAILED)),
        *(match.tail[1] for match in iter_prefix_matches(log, _PHANTOM_64, _FAILED)),
        *_iter_headless_failures(log),
        *(match.tail[1] for match in iter_prefix_matches(log, _HEADLESS, _FAILED)),
    ]
    return dict.fromkeys(names, FAILED)


def parse_openlayers(log: str) -> StatusMap:
    """Karma's lines, Mocha's numbered failures up to their error, and renderings that differ."""
    names = [
        *(match.tail[1] for match in iter_prefix_matches(log, _CHROME_HEADLESS, _FAILED_APART)),
        *(match.tail[1] for match in iter_prefix_matches(log, _CHROME_LINUX, _FAILED)),
        *_iter_numbered_failures(log),
        *_MISMATCH.findall(log),
    ]
    return {" ".join(name.split()): FAILED for name in names}


def _iter_headless_failures(log: str) -> Iterator[str]:
    """As `iter_prefix_matches` with a version of any text, behind which the last system counts that
    fits.

    The first browser on a line has all the systems that a later one has: no other one is tried.
    """
    taken = seen = -1
    for match in _ANY_HEADLESS.finditer(log):
        version = match.end()
        if match.start() < taken or version <= seen:
            continue
        seen = find_line_end(log, version)
        systems = _LINUX_64.finditer(log, version, seen + _LINUX_64_LENGTH)
        for system in reversed(list(systems)):
            name = system.start() + _LINUX_64_LENGTH
            end = seen if name <= seen else find_line_end(log, name)
            if name <= end - len(FAILED) and log.startswith(f"{FAILED}\n", end - len(FAILED)):
                yield log[name : end - len(FAILED)]
                taken = end + 1
                break


def _iter_numbered_failures(log: str) -> Iterator[str]:
    """What stands between `  1)` at the start of a line and the next error."""
    at = 0
    while head := _NUMBER.search(log, at):
        error = log.find(_ERROR, head.end())
        if error < 0:
            return
        yield log[head.end() : error]
        at = error + len(_ERROR)
