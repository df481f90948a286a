"""Logs of tests in a browser that name the failures only: bpmn-js and OpenLayers.

Their tasks are graded by `fail_only`. Rules: swebench 5.0.2, `parse_log_bpmn_js` and
`parse_log_openlayers`. A blank between two words can be a newline.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from evalcore.benchmarks.swe_bench.log_parsers.heads import line_end, results
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
_CHROME = re.compile(r"Chrome\s[\d.]+\s\(Linux\s\S+\)\s")
_NUMBER = re.compile(r"^\s{2}\d+\)", re.MULTILINE)
_ERROR = "Error:"
_MISMATCH = re.compile(r"^case\s(.*):\smismatch", re.MULTILINE)


def parse_bpmn_js(log: str) -> StatusMap:
    """Karma's `HeadlessChrome 92.0 (Linux 0.0) name FAILED`, and those of older browsers."""
    names = [
        *(one.tail[1] for one in results(log, _PHANTOM, _FAILED)),
        *(one.tail[1] for one in results(log, _PHANTOM_64, _FAILED)),
        *_any_headless(log),
        *(one.tail[1] for one in results(log, _HEADLESS, _FAILED)),
    ]
    return dict.fromkeys(names, FAILED)


def parse_openlayers(log: str) -> StatusMap:
    """Karma's lines, Mocha's numbered failures up to their error, and renderings that differ."""
    names = [
        *(one.tail[1] for one in results(log, _CHROME_HEADLESS, _FAILED_APART)),
        *(one.tail[1] for one in results(log, _CHROME, _FAILED)),
        *_numbered(log),
        *_MISMATCH.findall(log),
    ]
    return {" ".join(name.split()): FAILED for name in names}


def _any_headless(log: str) -> Iterator[str]:
    """As `results` with a version of any text, behind which the last system counts that fits.

    The first browser on a line has all the systems that a later one has: no other one is tried.
    """
    taken = seen = -1
    for match in _ANY_HEADLESS.finditer(log):
        version = match.end()
        if match.start() < taken or version <= seen:
            continue
        seen = line_end(log, version)
        systems = _LINUX_64.finditer(log, version, seen + _LINUX_64_LENGTH)
        for system in reversed(list(systems)):
            name = system.start() + _LINUX_64_LENGTH
            end = seen if name <= seen else line_end(log, name)
            if name <= end - len(FAILED) and log.startswith(f"{FAILED}\n", end - len(FAILED)):
                yield log[name : end - len(FAILED)]
                taken = end + 1
                break


def _numbered(log: str) -> Iterator[str]:
    """What stands between `  1)` at the start of a line and the next error."""
    at = 0
    while head := _NUMBER.search(log, at):
        error = log.find(_ERROR, head.end())
        if error < 0:
            return
        yield log[head.end() : error]
        at = error + len(_ERROR)
