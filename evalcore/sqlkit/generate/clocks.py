"""Days that statements ask for without naming them: of late, so long ago or ahead, of some age.

"ordered within the last 3 years" -> days just inside three years, just outside, far outside
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import product
from typing import Any
from zoneinfo import ZoneInfo

from sqlglot import exp

_CLOCKS = (
    *(exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentDatetime, exp.CurrentTime),
    *(exp.UtcDate, exp.UtcTimestamp, exp.Localtime, exp.Localtimestamp),
)
_CLOCK_NAMES = frozenset(("now", "curdate", "getdate", "sysdate", "localtimestamp", "today"))
_SUBTRACTIONS = (exp.Sub, exp.DateSub, exp.DatetimeSub, exp.TimestampSub, exp.Neg)
_DAYS = {"day": 1.0, "week": 7.0, "month": 30.44, "quarter": 91.3, "year": 365.25}
_PARTS_OF_A_DAY = {"hour": 1 / 24, "minute": 1 / 1440, "second": 1 / 86_400}
_UNIT = re.compile(rf"({'|'.join((*_DAYS, *_PARTS_OF_A_DAY))})s?", re.IGNORECASE)
_LENGTH = re.compile(rf"([+-]?\d{{1,4}})\s*{_UNIT.pattern}", re.IGNORECASE)
_WHOLE_DAYS = re.compile(r"\d{1,5}")
_UNIT_WORDS = {
    "year": r"year|%Y|\b365",
    "month": r"month|%m",
    "day": r"(?<!to)day|^(?!.*(year|month))",
}
_LATELY = (0, 1, 6, 8, 29, 32, 89, 93, 178, 184, 364, 400, -2)
_LONGEST = 60 * 365
_OLDEST = 400  # units that an age is held against


def is_time_dependent(tree: exp.Expr) -> bool:
    """Whether a statement reads the current time."""
    if tree.find(*_CLOCKS):
        return True
    calls = [(call.name.lower(), len(call.expressions)) for call in tree.find_all(exp.Anonymous)]
    if any(name in _CLOCK_NAMES for name, _ in calls) or ("age", 1) in calls:
        return True
    return any(text.name.lower() == "now" for text in tree.find_all(exp.Literal))


def list_interval_days(trees: Iterable[exp.Expr]) -> tuple[float, ...]:
    """The lengths of time that statements add to times or take from them, in days, whole ones where
    they come to one."""
    spans = (s for tree in trees for node in tree.walk() for s in _parse_spans(node))
    units = _DAYS | _PARTS_OF_A_DAY
    lengths = (amount * units[unit] for amount, unit in spans)
    whole = (days if days < 1 else round(days) for days in lengths)
    return tuple(dict.fromkeys(days for days in whole if 0 < days <= _LONGEST))


def days_around(today: date, intervals: Sequence[float]) -> tuple[list[date], list[date]]:
    """Days of late, then days about so many days from today: inside of that, and outside."""
    birthday = _move_day(today, -20, "year")
    inside = [birthday + timedelta(days=days) for days in (0, 1, -1)]
    inside += [today - timedelta(days=days) for days in _LATELY]
    outside = []
    for days in intervals:
        inside += [today - timedelta(days=gone) for gone in (days - 2, days // 2)]
        outside += [today - timedelta(days=gone) for gone in (days + 3, 2 * days + 45)]
    return inside, outside


Moved = tuple[str, bool, bool]


def iter_moved_days(column_side: exp.Expr, other: exp.Expr) -> Iterator[Moved]:
    """The days at which a comparison of `column_side` with another expression turns, in ISO form.

    They are the dates and the present day that it names, moved by the intervals in it or, where an
    age is held against a number, by that; each with whether the comparison is that of the column
    with this day, and whether it is turned round.
    """
    sides = (column_side, other)
    literals = [literal.name for side in sides for literal in side.find_all(exp.Literal)]
    days = [day for value in literals if (day := _parse_day(value)) is not None]
    if any(map(is_time_dependent, sides)):
        days.append(date.today())
    spans = [s for side in sides for part in side.walk() for s in _parse_calendar_spans(part)]
    is_age = _names_day(column_side)
    shifted = other
    if not spans and is_age:
        numbers = [int(text) for text in literals if text.isdigit() and int(text) <= _OLDEST]
        text = " ".join(side.sql() for side in sides)
        units = [unit for unit, words in _UNIT_WORDS.items() if re.search(words, text, re.I)]
        spans = list(product(numbers[:2], units))
    elif any(_parse_calendar_spans(part) for part in column_side.walk()):
        shifted = column_side
    backward = is_age or (_subtracts(shifted) != (shifted is column_side))
    for day, (amount, unit), sign in product(days[:3], dict.fromkeys(spans[:4]), (-1, 1)):
        with suppress(ValueError, OverflowError):
            moved = _move_day(day, sign * amount, unit)
            yield moved.isoformat(), (sign < 0) == backward, is_age
            if is_age and sign < 0 and unit in ("year", "month"):
                yield moved.replace(month=12, day=31).isoformat(), False, is_age
                yield moved.replace(month=1, day=1).isoformat(), False, is_age
            elif moved.day > 27 and unit not in ("day", "week"):
                for more in range(1, 4):  # what the same day of a shorter month stands for
                    yield (moved + timedelta(days=more)).isoformat(), False, is_age


def iter_anniversaries(call: exp.Expr) -> Iterator[str]:
    """The days among a function's own arguments, in ISO form, with those a month and a year before
    and after each, where an age in months or years turns; and their last hours beside a time."""
    for argument in call.iter_expressions():
        text = (argument.this if isinstance(argument, exp.Cast) else argument).name
        day = _parse_day(text)
        if day is None:
            continue
        for amount, unit in product((0, -1, 1), ("year", "month")):
            with suppress(ValueError, OverflowError):
                moved = _move_day(day, amount, unit).isoformat()
                yield from (moved, f"{moved} 23:00:00") if len(text) > 10 else (moved,)


def _names_day(node: exp.Expr) -> bool:
    """Whether an expression names the present day or a date."""
    literals = node.find_all(exp.Literal)
    return is_time_dependent(node) or any(_parse_day(literal.name) for literal in literals)


def _subtracts(node: exp.Expr) -> bool:
    literals = node.find_all(exp.Literal)
    return node.find(*_SUBTRACTIONS) is not None or any(t.name.startswith("-") for t in literals)


def _parse_calendar_spans(node: exp.Expr) -> list[tuple[int, str]]:
    return [(amount, unit) for amount, unit in _parse_spans(node) if unit in _DAYS]


def _parse_spans(node: exp.Expr) -> list[tuple[int, str]]:
    unit = _UNIT.fullmatch(node.text("unit"))
    amount = node.this if isinstance(node, exp.Interval) else node.args.get("expression")
    if unit is not None and isinstance(amount, exp.Literal) and amount.name.lstrip("-").isdigit():
        return [(abs(int(amount.name)), unit[1].lower())]
    if isinstance(node, exp.Literal) and node.is_string and len(node.name) < 40:
        return [(abs(int(n)), u.lower()) for n, u in _LENGTH.findall(node.name)]
    if isinstance(node, exp.Add | exp.Sub) and isinstance(node.this, exp.Column):
        days = node.expression.name  # whole ones, as in `back > lent + 21`
        return [(int(days), "day")] if _WHOLE_DAYS.fullmatch(days) else []
    return []


def _parse_day(value: Any) -> date | None:
    try:
        return date.fromisoformat(str(value)[:10]) if isinstance(value, str) else None
    except ValueError:
        return None


def _move_day(day: date, amount: int, unit: str) -> date:
    """The day so many units later, the last of a month where that has fewer days."""
    months = amount * {"month": 1, "quarter": 3, "year": 12}.get(unit, 0)
    if not months:
        return day + timedelta(days=amount * (7 if unit == "week" else 1))
    count = day.year * 12 + day.month - 1 + months
    first = date(count // 12, count % 12 + 1, 1)
    return first + timedelta(days=min(day.day, monthrange(first.year, first.month)[1]) - 1)


def move_time(value: Any, hours: float, kind: str) -> str | None:
    """A date or moment so many hours later, None where it is none."""
    try:
        moved = datetime.fromisoformat(str(value)) + timedelta(hours=hours)
    except (ValueError, OverflowError):
        return None
    return str(moved.date()) if kind == "date" else str(moved)


def list_month_ends(value: Any, kind: str) -> list[str | None]:
    """A date or moment on the last day of the month before, and of its own."""
    day = _parse_day(value)
    ends = (0, monthrange(day.year, day.month)[1]) if day else ()
    return [move_time(value, 24 * (end - day.day), kind) for end in ends if day]


def list_anniversaries(value: Any, years: Sequence[int], kind: str) -> list[str | None]:
    """Dates or moments so many years after one and after that of the next year, and a day before
    each: between the two there may be a leap day less."""
    day = _parse_day(value)
    if day is None:
        return []
    counts = [n + more for n in (0, *years) for more in (0, 1)] if years else ()
    moved = []
    for count in counts:
        with suppress(ValueError):  # after the last year
            moved.append(_move_day(day, count, "year"))
    return [move_time(value, 24 * ((to - day).days + d), kind) for to in moved for d in (0, -1)]


# Moments at which the day of a time zone, or its distance from UTC, changes.

_ZONE = re.compile(r"[A-Z]\w+/[\w/+-]+|[+-](?!00:00)\d\d:\d\d")
_CLOCK = re.compile(r"[0-2]?\d:[0-5]\d(:[0-5]\d)?")
_MAX_ZONES, _MAX_STATED = 2, 4
_AROUND = (0, -1, 1, 86_399, 86_400)  # seconds from the start of a stated day, or from a moment


def iter_zone_moments(texts: Sequence[str], ending: str) -> Iterator[str]:
    """For the time zones among the literals: the days, at both ends, and moments among the
    literals, the hour round midnight and the times of day among them, in winter and in summer, and
    the changes of the clock, all as written in UTC."""
    clocks = [f"{text:0>5}:00"[:8] for text in texts if _CLOCK.fullmatch(text)][:_MAX_STATED]
    stated = [moment for text in texts if (moment := _parse_local_moment(text))][:_MAX_STATED]
    for name in [text for text in texts if _ZONE.fullmatch(text)][:_MAX_ZONES]:
        moments = _list_zone_moments(name, tuple(clocks), tuple(stated))
        yield from (f"{moment}{ending}" for moment in moments)


def _parse_local_moment(text: str) -> datetime | None:
    """A day or a moment without a zone, None for what is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if text[4:5] == "-" and moment.tzinfo is None else None


@lru_cache(maxsize=64)
def _list_zone_moments(
    name: str, clocks: tuple[str, ...], stated: tuple[datetime, ...]
) -> tuple[datetime, ...]:
    """Nothing for a zone that the machine's own table lacks."""
    try:
        fixed = datetime.fromisoformat(f"2024-01-01T00{name}") if "/" not in name else None
        zone = fixed.tzinfo if fixed else ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        return ()
    times = ("00:30:00", "23:30:00", *clocks)
    local = [moment + timedelta(seconds=step) for moment in stated for step in _AROUND]
    local += [datetime.fromisoformat(f"2024-{m}-15 {c}") for m in ("07", "01") for c in times]
    moments = [moment.replace(tzinfo=zone).astimezone(UTC) for moment in local]
    start = datetime(2024, 1, 1, tzinfo=UTC)
    for hour in range(366 * 24):
        moment = start + timedelta(hours=hour)
        before = moment - timedelta(minutes=30)
        if moment.astimezone(zone).utcoffset() != before.astimezone(zone).utcoffset():
            moments += [before, moment + timedelta(minutes=30)]
    return tuple(moment.replace(tzinfo=None) for moment in moments)
