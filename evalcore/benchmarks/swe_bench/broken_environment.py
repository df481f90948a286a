"""Signs in a log that the environment broke, by which a run that cannot be graded is explained.

A sign of the kind "environment" cannot well come from a patch of the repository; an "ambiguous"
one can. Neither changes a verdict. Rules: swebench 5.0.2, `harness/infra_failure.py`.
"""

from __future__ import annotations

import re
from typing import Literal

from evalcore.records import Record

Tier = Literal["environment", "ambiguous"]


class InfraSign(Record, frozen=True):
    """What broke, and whether that is certainly the environment's fault."""

    reason: str
    tier: Tier


#: In the order in which they are looked for; the first one that is found counts.
_SIGNS: tuple[tuple[str, Tier, str], ...] = (
    ("browser_launch_failed", "environment", r"Failed to launch|Failed to connect to the bus"),
    (
        "display_unavailable",
        "environment",
        r"cannot open display|Missing X server|unable to open X display",
    ),
    (
        "out_of_memory",
        "environment",
        r"Cannot allocate memory|OutOfMemoryError|^Killed$",
    ),
    (
        "container_unavailable",
        "environment",
        r"Error response from daemon|Cannot connect to the Docker daemon",
    ),
    (
        "network_unreachable",
        "environment",
        r"Could not resolve host|Temporary failure in name resolution",
    ),
    (
        "missing_module",
        "ambiguous",
        r"Cannot find module|MODULE_NOT_FOUND|ModuleNotFoundError",
    ),
    ("no_tests_collected", "ambiguous", r"no tests ran|collected 0 items"),
    ("tests_timed_out", "ambiguous", r"Timeout error: \d+ seconds exceeded"),
)
_COMPILED = tuple(
    (InfraSign(reason, tier), re.compile(pattern, re.MULTILINE)) for reason, tier, pattern in _SIGNS
)


def find_infra_sign(log: str) -> InfraSign | None:
    """The first sign that the log holds, or None."""
    return next((sign for sign, pattern in _COMPILED if pattern.search(log)), None)
