"""The one gate for everything from outside: replies, bundles, journals, imports, uploads, the Hub.

Each reader is bounded in bytes, depth and range, and typed; whatever it refuses, it refuses with an
error that names the problem. What is no number in range becomes None, which is "unknown"
everywhere: a value that is not finite does not exist.
"""

from evalcore.intake.numbers import (
    COUNT_LIMIT,
    add_counts,
    add_numbers,
    read_cost,
    read_count,
    read_number,
    read_seconds,
)

__all__ = [
    "COUNT_LIMIT",
    "add_counts",
    "add_numbers",
    "read_cost",
    "read_count",
    "read_number",
    "read_seconds",
]
