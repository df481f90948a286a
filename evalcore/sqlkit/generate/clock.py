"""Days and moments for statements that ask what day it is: of late, and as long ago as they say.

"ordered within the last 3 years"  ->  days just inside three years, just outside, far outside
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, timedelta

from sqlglot import exp

_CLOCKS = (exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentDatetime, exp.CurrentTime)
_CLOCK_NAMES = frozenset(("now", "curdate", "getdate", "sysdate", "localtimestamp", "today"))
_DAYS = {"day": 1.0, "week": 7.0, "month": 30.44, "quarter": 91.3, "year": 365.25}
_LENGTH = re.compile(r"([+-]?\d{1,4})\s*(day|week|month|quarter|year)s?", re.IGNORECASE)
_UNIT = re.compile(r"(day|week|month|quarter|year)s?", re.IGNORECASE)
_LATELY = (0, 1, 6, 8, 29, 32, 89, 93, 178, 184, 364, 400, -2)
_LONGEST = 60 * 365


def is_time_dependent(tree: exp.Expr) -> bool:
    """Whether a statement asks for the time."""
    if tree.find(*_CLOCKS):
        return True
    named = any(node.name.lower() in _CLOCK_NAMES for node in tree.find_all(exp.Anonymous))
    return named or any(text.name.lower() == "now" for text in tree.find_all(exp.Literal))


def list_interval_days(trees: Iterable[exp.Expr]) -> tuple[int, ...]:
    """The lengths of time, in whole days, that statements add to dates or take from them."""
    candidates = (
        days for tree in trees for node in tree.walk() for days in _parse_interval_days(node)
    )
    return tuple(dict.fromkeys(days for days in candidates if 0 < days <= _LONGEST))


def days_around(today: date, intervals: Sequence[int]) -> tuple[list[date], list[date]]:
    """Days of late, then days about so many days from today: inside of that, and outside."""
    inside = [today - timedelta(days=days) for days in _LATELY]
    outside = []
    for days in intervals:
        inside += [today - timedelta(days=gone) for gone in (days - 2, days // 2)]
        outside += [today - timedelta(days=gone) for gone in (days + 3, 2 * days + 45)]
    return inside, outside


def _parse_interval_days(node: exp.Expr) -> list[int]:
    unit = _UNIT.fullmatch(node.text("unit"))
    amount = node.this if isinstance(node, exp.Interval) else node.args.get("expression")
    if unit is not None and isinstance(amount, exp.Literal) and amount.name.lstrip("-").isdigit():
        return [round(abs(int(amount.name)) * _DAYS[unit[1].lower()])]
    if isinstance(node, exp.Literal) and node.is_string and len(node.name) < 40:
        return [round(abs(int(n)) * _DAYS[u.lower()]) for n, u in _LENGTH.findall(node.name)]
    return []
