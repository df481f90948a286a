"""Texts that statements read as something else: as days, times, numbers, intervals or truths.

A column of text that holds nothing of the kind shows nothing of what they do with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, time
from typing import Any, cast

from sqlglot import exp

from evalcore.records import Record

#: A column, the form it is read in ("date", "time", ..., a format such as "%d/%m/%Y"), and whether
#: an engine that is strict fails on other texts.
Reading = tuple[str, str, bool]

_LENIENT = frozenset(("sqlite", "mysql"))  # they read any text as something
_TYPES = {
    "date": re.compile(r"DATE(32)?"),
    "moment": re.compile(r"(DATETIME|TIMESTAMP).*"),
    "time": re.compile(r"TIME(TZ)?"),
    "integer": re.compile(r"(U|TINY|SMALL|MEDIUM|BIG|HUGE)*INT\d*"),
    "number": re.compile(r"(BIG)?DECIMAL.*|DOUBLE|FLOAT|REAL|MONEY"),
    "interval": re.compile(r"INTERVAL"),
}
_CLOCK_CALLS = re.compile(r"time|hour|minute|second|time_?to_?sec|(add|sub)time|timediff", re.I)
_DATE_CALLS = re.compile(
    r"extract|(?!make|current|utc|local|from_?unix|unix_?to|str_?to).*"
    r"(date|time|day|year|month|quarter|week|hour|minute|second|epoch|julian).*",
    re.I,
)
_ARITHMETIC = (
    *(exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.Sum, exp.Avg, exp.Abs, exp.Round),
    *(exp.Floor, exp.Ceil, exp.Pow),
)
#: What a text passes through before it is read.
_AROUND = (
    *(exp.Trim, exp.Coalesce, exp.Nullif, exp.Paren, exp.Substring, exp.Left, exp.Replace),
    *(exp.Right, exp.Min, exp.Max, exp.Lag, exp.Lead, exp.Window, exp.TsOrDsToTimestamp, exp.If),
    *(exp.Case, exp.SplitPart, exp.Concat, exp.DPipe),
)
_BESIDE = ((exp.Window, "partition_by"), (exp.Case, "this"), (exp.If, "this"))  # not their value
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_CUTS = frozenset(("1,7", "6,2", "9,2", "12,2"))  # of a day in ISO form: its month, ...
_WORDS = ("ash", "Birch", "x", "")
_DAYS = (
    *("2024-01-31", "2024-02-29", "2023-02-28", "2024-12-31", "2025-01-01", "2023-12-31"),
    *("2024-03-31", "2024-07-15", "2021-01-03", "2000-02-29", "1999-10-30", "2024-02-01"),
    *("2021-01-01", "2018-12-31", "2016-01-02", "2024-08-31", "2023-11-28", "2023-12-15"),
    *("2024-01-18", "2024-02-04", "2024-03-09", "2024-04-12", "2024-05-16"),
)
_CLOCKS = ("00:00:00", "06:30:00", "12:00:00", "18:45:10", "23:59:59", "09:05:00", "13:15:59")
_MOMENTS = tuple(f"{day} {_CLOCKS[n % len(_CLOCKS)]}" for n, day in enumerate(_DAYS))
_INTEGERS = ("0", "1", "2", "3", "7", "9", "10", "12", "100", "-1", "007")
_CELLS: dict[str, tuple[str, ...]] = {
    "date": (*_DAYS, "2024-2-9"),
    "moment": (*_MOMENTS, *_DAYS[:6]),
    "time": _CLOCKS,
    "integer": _INTEGERS,
    "number": (*_INTEGERS, "2.5", "3.25", "19.99", "-1.5", "1e2", "0.125"),
    "interval": (
        *("1 day", "30 days", "1 month", "2 hours", "24:00:00", "90 minutes", "1 year"),
        *("365 days", "-1 day", "00:00:30", "1 month 15 days", "36 hours"),
    ),
}
_PARSERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("date", "moment"), datetime.fromisoformat),
    **{"time": time.fromisoformat, "integer": int, "number": float},
    "interval": _CELLS["interval"].index,
}


class TextForms(Record, frozen=True):
    """What a column of text holds: `cells` in the forms that statements read. With `strict` other
    texts would make them fail."""

    forms: tuple[str, ...]
    cells: tuple[str, ...]
    strict: bool

    @property
    def holds_days(self) -> bool:
        return any(form in ("date", "moment") or "%Y" in form for form in self.forms)

    def list_unusual(self) -> tuple[str, ...]:
        """Cells in spellings that an engine reads and this module does not."""
        return tuple(c for c in self.cells if self.strict and not _can_be_read(c, self.forms))

    def keep_readable(self, cells: Iterable[Any]) -> tuple[Any, ...]:
        """The cells that statements can read."""
        return tuple(c for c in cells if not self.strict or _can_be_read(str(c), self.forms))

    def format_moments(self, moments: Iterable[Any]) -> tuple[str, ...]:
        """Days or moments as the texts that the first form asks for."""
        return tuple(_format_moment(str(moment), self.forms[0]) for moment in moments)


def build_text_forms(readings: Iterable[tuple[str, bool]], dialect: str) -> TextForms:
    """What a column holds that is read in these forms, each perhaps strictly."""
    readings = sorted(readings)
    strict = dialect not in _LENIENT and any(only for _, only in readings)
    forms = tuple(dict.fromkeys(form for form, only in readings if only or not strict))
    cells = dict.fromkeys(cell for form in forms for cell in _list_cells(form, dialect))
    if not strict:
        return TextForms(forms, (*cells, *_WORDS), strict)
    common = tuple(cell for cell in cells if _can_be_read(cell, forms)) if len(forms) > 1 else ()
    return TextForms(forms, common or tuple(cells), strict)


def _can_be_read(text: str, forms: Sequence[str]) -> bool:
    with suppress(ValueError):
        for form in forms:
            datetime.strptime(text, form) if "%" in form else _PARSERS[form](text)
        return True
    return False


def _list_cells(form: str, dialect: str) -> Sequence[str]:
    if "%" in form:
        return [_format_moment(moment, form) for moment in _MOMENTS]
    if form == "date" and dialect != "duckdb":  # to which a moment is no day
        odd = ("31 Dec 1999",) if dialect == "postgres" else ()
        return (*_CELLS[form], *odd, *_MOMENTS[::3])
    return _CELLS["number" if form == "integer" and dialect in _LENIENT else form]


def _format_moment(moment: str, form: str) -> str:
    if "%" not in form:
        return moment
    return datetime.fromisoformat(moment).strftime(form.replace("%f", "000000"))


def iter_readings(columns: Iterable[exp.Column]) -> Iterator[Reading]:
    """How each column is read that stands in a cast, a function of dates or arithmetic, or is held
    against one of dates."""
    for column in columns:
        node, parent = cast(exp.Expr, column), column.parent
        for _ in range(5):
            if reading := _read_in(node, parent):
                yield column.name.lower(), *reading
            if (
                reading
                or not isinstance(parent, _AROUND)
                or (type(parent), node.arg_key) in _BESIDE
            ):
                break
            node, parent = parent, parent.parent


def _read_in(node: exp.Expr, parent: exp.Expr | None) -> tuple[str, bool] | None:
    """The form in which `parent` reads an expression, and whether it must be of that."""
    if isinstance(parent, exp.Cast):
        kind = str(parent.to.this.value)
        form = next((form for form, pattern in _TYPES.items() if pattern.fullmatch(kind)), "")
        return (form, not isinstance(parent, exp.TryCast)) if form else None
    if isinstance(parent, exp.StrToDate | exp.StrToTime):
        return _read_format(parent.text("format"), True)
    if isinstance(parent, exp.Substring) and node is parent.this:
        cut = f"{parent.text('start')},{parent.text('length')}"
        return ("date", False) if cut in _CUTS else None
    if isinstance(parent, exp.Add | exp.Sub):
        moved = isinstance(parent.this, exp.Interval) or isinstance(parent.expression, exp.Interval)
        return "date" if moved else "number", False
    if isinstance(parent, _ARITHMETIC):
        return "number", False
    if isinstance(parent, _COMPARED) and isinstance(node, exp.Column):
        dated = any(map(_calls_dates, parent.iter_expressions()))
        return ("date", False) if dated else None
    if isinstance(parent, exp.Anonymous) and "strptime" in parent.name.lower():
        formats = [each.name for each in parent.expressions if isinstance(each, exp.Literal)]
        return _read_format(next(iter(formats), ""), not parent.name.lower().startswith("try"))
    if parent is not None and _calls_dates(parent) and not isinstance(parent, exp.CurrentDate):
        return "time" if _CLOCK_CALLS.fullmatch(_name_call(parent)) else "date", False
    return None


def _read_format(form: str, strict: bool) -> tuple[str, bool] | None:
    """The format of days and times in which a text is read: none that Python cannot write and read
    back, such as one that asks for the year twice."""
    form = form.replace("%-", "%").replace("FM", "")  # which leave out zeros and blanks
    with suppress(ValueError, re.error):
        datetime.strptime(_format_moment(_MOMENTS[0], form), form)
        return (form, strict) if "%" in form else None
    return None


def _name_call(node: exp.Expr) -> str:
    return node.name if isinstance(node, exp.Anonymous) else type(node).__name__


def _calls_dates(node: exp.Expr) -> bool:
    """Whether an expression is a function of dates, or the present day."""
    name = _name_call(node)
    named = isinstance(node, exp.Func) and _DATE_CALLS.fullmatch(name) is not None
    return named or isinstance(node, exp.CurrentDate)
