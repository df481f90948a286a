"""The one gate for everything from outside: replies, bundles, journals, imports, uploads, the Hub.

Each reader is bounded in bytes, depth and range. A number that is not finite or not in range
becomes None, which is "unknown" everywhere.
"""

from __future__ import annotations

import math

# Numbers from outside: token counts, costs, durations, and their sums. A provider, a bundle or a
# journal may state any number. What is out of range would later break a serializer (orjson ends at
# 64 bits), a sum or a chart, so that it is unknown (None) from the start.

#: The largest count. Up to here each integer is exact in every JSON reader (RFC 8259, section 6).
COUNT_LIMIT = 2**53 - 1
#: Magnitude of any other number; far above every cost, duration and score.
NUMBER_LIMIT = 1e15
COST_LIMIT = 1e9  # USD
SECONDS_LIMIT = 1e9  # 31 years


def read_count(value: object) -> int | None:
    """Return a whole number from 0 to `COUNT_LIMIT`, None for anything else. A float counts where
    it is whole (some servers write 12.0); a boolean or a text never does."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value <= COUNT_LIMIT or value != int(value):  # NaN fails the first comparison
        return None
    return int(value)


def read_number(value: object, low: float = 0.0, high: float = NUMBER_LIMIT) -> float | None:
    """Return a finite number from `low` to `high`, None for anything else (texts, booleans)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if low <= value <= high else None


def read_cost(value: object) -> float | None:
    """Return an amount of USD, None for anything that is none."""
    return read_number(value, high=COST_LIMIT)


def read_seconds(value: object) -> float | None:
    """Return a duration or an age in seconds, None for anything that is none."""
    return read_number(value, high=SECONDS_LIMIT)


def add_counts(*counts: int | None) -> int | None:
    """Add the known counts; None where none is known. The sum stops at `COUNT_LIMIT`, so that
    adding never leaves the range that is readable again."""
    reported = [count for count in counts if count is not None]
    return min(COUNT_LIMIT, sum(reported)) if reported else None


def add_numbers(*numbers: float | None) -> float | None:
    """Add numbers of which each has to be known; None where one is not, or the sum is not finite.
    For costs: a total with an unknown part is unknown."""
    total = 0.0
    for number in numbers:
        if number is None:
            return None
        total += number
    return total if math.isfinite(total) else None
