"""The states that a test can have in a log, by the names that the grading rules use."""

from __future__ import annotations

from typing import Final

PASSED: Final = "PASSED"
FAILED: Final = "FAILED"
SKIPPED: Final = "SKIPPED"
ERROR: Final = "ERROR"
XFAIL: Final = "XFAIL"

STATES: Final = (FAILED, PASSED, SKIPPED, ERROR, XFAIL)

#: Test id -> state. Some parsers keep a first word such as "ERRORS" as it stands in the log: it
#: is none of STATES, and a test in it counts neither as a success nor as a failure.
StatusMap = dict[str, str]
