"""What all parsers share: the states of a test, and the error for a log that has none to read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from evalcore.errors import EvalboardError

PASSED: Final = "PASSED"
FAILED: Final = "FAILED"
SKIPPED: Final = "SKIPPED"
ERROR: Final = "ERROR"
XFAIL: Final = "XFAIL"

STATES: Final = (FAILED, PASSED, SKIPPED, ERROR, XFAIL)

#: Test id -> state. Some parsers keep a first word such as "ERRORS" as it stands in the log: it
#: is none of STATES, and a test in it counts neither as a success nor as a failure.
StatusMap = dict[str, str]

Parser = Callable[[str], StatusMap]


class UnreadableLog(EvalboardError):
    """The log is not in its runner's form, so that nothing can be said of any test.

    That is not the same as a log without tests: where only failures are named, a test that is
    absent has passed, and a patch that spoils the log must not pass by it. Upstream fails on most
    of these logs, and so has no report for them.
    """
