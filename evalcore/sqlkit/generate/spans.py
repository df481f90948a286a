"""Days and moments for conditions on a part of a date: its year, its month, its hour, ..."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from evalcore.records import Record

Cells = tuple[Sequence[str], Sequence[str]]
_MONTH = re.compile(r"(\d{4})[-/]?(\d\d?)?")
_YEARS = range(1900, 2101)
_A_YEAR = 2024  # any leap year does


class Span(Record, frozen=True):
    """The first and the last day of a year or of a month."""

    first: date
    last: date


def parse_span(value: Any) -> Span | None:
    """What 2024, '2024', '2024-03' and 202403 mean where a date is held against them."""
    match = _MONTH.fullmatch(str(value))
    if match is None or int(match[1]) not in _YEARS:
        return None
    year, month = int(match[1]), int(match[2] or 0)
    if not match[2]:
        return Span(date(year, 1, 1), date(year, 12, 31))
    if not 1 <= month <= 12:
        return None
    following = date(year + month // 12, month % 12 + 1, 1)
    return Span(date(year, month, 1), following - timedelta(days=1))


def around_span(span: Span, operator: str, kind: str) -> Cells:
    """Times inside and just outside of the span: (those that satisfy, those that just miss)."""
    day, middle = timedelta(days=1), span.first + (span.last - span.first) / 2
    within = (
        _format_day_start(span.first, kind),
        _format_day_start(middle, kind),
        _format_day_end(span.last, kind),
    )
    before, after = (
        (_format_day_end(span.first - day, kind),),
        (_format_day_start(span.last + day, kind),),
    )
    table: dict[str, Cells] = {
        "=": (within, (*before, *after)),
        "<>": ((*before, *after), within),
        "<": (before, within[:1]),
        "<=": ((*within, *before), after),
        ">": (after, within[-1:]),
        ">=": ((*within, *after), before),
    }
    return table[operator]


def parts_of_dates(number: int, kind: str) -> Cells:
    """Times whose hour, day, month or quarter is that number, and others one beside it."""
    hits = _list_times_with_part(number, kind)
    near = [*_list_times_with_part(number - 1, kind), *_list_times_with_part(number + 1, kind)]
    return hits, [time for time in near if time not in hits]


def _list_times_with_part(number: int, kind: str) -> list[str]:
    times = []
    if 1 <= number <= 12:
        times.append(_format_day_start(date(_A_YEAR, number, 10), kind))
    if 1 <= number <= 4:  # the ends of a quarter
        times.append(_format_day_start(date(_A_YEAR, 3 * number - 2, 1), kind))
        times.append(_format_day_end(date(_A_YEAR, 3 * number, 30), kind))
    if 1 <= number <= 31:
        times.append(_format_day_start(date(_A_YEAR, 1, number), kind))
    if kind == "timestamp" and 0 <= number <= 23:
        times += [f"{_A_YEAR}-01-05 {number:02}:00:00", f"{_A_YEAR}-01-05 {number:02}:59:59"]
    return times


def _format_day_start(day: date, kind: str) -> str:
    return day.isoformat() if kind == "date" else f"{day} 00:00:00"


def _format_day_end(day: date, kind: str) -> str:
    return day.isoformat() if kind == "date" else f"{day} 23:59:59"
