"""Texts that statements read as something else: as days, times, numbers, intervals or truths.

A column of text that holds nothing of the kind shows nothing of what they do with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from sqlglot import exp

from evalcore.records import Record

#: A column, the form it is read in ("date", "time", ..., a format such as "%d/%m/%Y"), and whether
#: an engine that is strict fails on other texts.
Reading = tuple[str, str, bool]

_LENIENT = frozenset(("sqlite", "mysql"))  # they read any text as something
_FORMS = {
    "date": r"DATE(?:32)?",
    "moment": r"(?:DATETIME|TIMESTAMP).*",
    "time": r"TIME(?:TZ)?",
    "integer": r"(?:U|TINY|SMALL|MEDIUM|BIG|HUGE)*INT\d*",
    "number": r"(?:BIG)?DECIMAL.*|DOUBLE|FLOAT|REAL|MONEY",
    "interval": r"INTERVAL",
    "boolean": r"BOOLEAN",
}
_TYPES = {form: re.compile(pattern) for form, pattern in _FORMS.items()}
_CLOCK_CALLS = re.compile(r"time|hour|minute|second|timetosec|addtime|subtime|timediff", re.I)
_DATE_CALLS = re.compile(
    r"date|time|day|year|month|quarter|week|hour|minute|second|epoch|julian|extract", re.I
)
_NO_READING = re.compile(r"(?:make_?|current|utc|local|from_?unix|unix_?to|str_?p)|arrayagg", re.I)
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
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_CUTS = frozenset(("1,7", "6,2", "9,2", "12,2"))  # of a day in ISO form: its month, ...
_WORDS = ("ash", "Birch", "x", "")
_FIRST = date(2023, 11, 28)
_DAYS = (
    *("2024-01-31", "2024-02-29", "2023-02-28", "2024-12-31", "2025-01-01", "2023-12-31"),
    *("2024-03-31", "2024-07-15", "2021-01-03", "2000-02-29", "1999-10-30", "2024-02-01"),
    *("2021-01-01", "2018-12-31", "2016-01-02", "2024-08-31"),
    *((_FIRST + timedelta(days=17 * n)).isoformat() for n in range(8)),
)
_CLOCKS = ("00:00:00", "06:30:00", "12:00:00", "18:45:10", "23:59:59", "09:05:00", "13:15:59")
_CELLS: dict[str, tuple[str, ...]] = {
    "time": _CLOCKS,
    "integer": ("0", "1", "2", "3", "7", "9", "10", "12", "100", "-1", "007"),
    "number": ("0", "1", "2", "2.5", "3.25", "10", "9", "19.99", "-1.5", "100", "1e2", "0.125"),
    "interval": (
        *("1 day", "30 days", "1 month", "2 hours", "24:00:00", "90 minutes", "1 year"),
        *("365 days", "-1 day", "00:00:30", "1 month 15 days", "36 hours"),
    ),
    "boolean": ("true", "false", "t", "f", "1", "0"),
}
_PARSERS: dict[str, Callable[[str], Any]] = {
    "date": datetime.fromisoformat,
    "moment": datetime.fromisoformat,
    "time": time.fromisoformat,
    "integer": int,
    "number": float,
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

    def keep_readable(self, cells: Iterable[Any]) -> tuple[Any, ...]:
        """The cells that statements can read."""
        return tuple(
            cell
            for cell in cells
            if not self.strict or cell in self.cells or self.can_be_read(str(cell))
        )

    def format_moments(self, moments: Iterable[Any]) -> tuple[str, ...]:
        """Days or moments as the texts that the first form asks for."""
        form = self.forms[0]
        if "%" not in form:
            return tuple(map(str, moments))
        return tuple(_format_moment(datetime.fromisoformat(str(each)), form) for each in moments)

    def can_be_read(self, text: str) -> bool:
        """Whether a text is of all forms."""
        try:
            for form in self.forms:
                if "%" in form:
                    datetime.strptime(text, form)
                elif form in _PARSERS:
                    _PARSERS[form](text)
                elif text not in _CELLS[form]:
                    return False
        except ValueError:
            return False
        return True


def build_text_forms(readings: Iterable[tuple[str, bool]], dialect: str) -> TextForms:
    """What a column holds that is read in these forms, each perhaps strictly."""
    readings = sorted(readings)
    strict = dialect not in _LENIENT and any(only for _, only in readings)
    forms = tuple(dict.fromkeys(form for form, only in readings if only or not strict))
    cells = dict.fromkeys(cell for form in forms for cell in _list_cells(form, dialect))
    if not strict:
        return TextForms(forms, (*cells, *_WORDS), strict)
    made = TextForms(forms, tuple(cells), strict)
    common = tuple(filter(made.can_be_read, cells)) if len(forms) > 1 else ()
    return TextForms(forms, common or made.cells, strict)


def _list_cells(form: str, dialect: str) -> Sequence[str]:
    if form == "integer" and dialect in _LENIENT:
        return (*_CELLS[form], *_CELLS["number"])
    if form in _CELLS:
        return _CELLS[form]
    moments = [f"{day} {_CLOCKS[n % len(_CLOCKS)]}" for n, day in enumerate(_DAYS)]
    if "%" in form:
        return [_format_moment(datetime.fromisoformat(moment), form) for moment in moments]
    if form == "moment":
        return [*moments, *_DAYS[:6]]
    spelled = ["2024-2-9", *(["31 Dec 1999"] if dialect == "postgres" else [])]
    return [*_DAYS, *spelled, *(moments[::3] if dialect != "duckdb" else ())]


def _format_moment(moment: datetime, form: str) -> str:
    return moment.strftime(form.replace("%-", "%").replace("%f", "000000"))


def iter_readings(columns: Iterable[exp.Column]) -> Iterator[Reading]:
    """How each column is read that stands in a cast, a function of dates or arithmetic, or is held
    against one of dates."""
    for column in columns:
        node: exp.Expr = column
        parent = column.parent
        for _ in range(5):
            reading = _read_in(node, parent)
            if reading is not None:
                yield column.name.lower(), *reading
            if reading is not None or not isinstance(parent, _AROUND):
                break
            node, parent = parent, parent.parent


def _read_in(node: exp.Expr, parent: exp.Expr | None) -> tuple[str, bool] | None:
    """The form in which `parent` reads an expression, and whether it must be of that."""
    if isinstance(parent, exp.Cast):
        kind = str(parent.to.this.value)
        form = next((form for form, pattern in _TYPES.items() if pattern.fullmatch(kind)), None)
        return (form, not isinstance(parent, exp.TryCast)) if form else None
    if isinstance(parent, exp.StrToDate | exp.StrToTime):
        return (parent.text("format"), True) if parent.text("format") else None
    if isinstance(parent, exp.Substring) and node is parent.this:
        return ("date", False) if _list_cut(parent) in _CUTS else None
    if isinstance(parent, exp.Add | exp.Sub):
        moved = isinstance(parent.this, exp.Interval) or isinstance(parent.expression, exp.Interval)
        return "date" if moved else "number", False
    if isinstance(parent, _ARITHMETIC):
        return "number", False
    if isinstance(parent, _COMPARED):
        sides = [side for side in parent.iter_expressions() if side is not node]
        dated = any(_calls_dates(side) or isinstance(side, exp.CurrentDate) for side in sides)
        return ("date", False) if dated and isinstance(node, exp.Column) else None
    if isinstance(parent, exp.Func) and _calls_dates(parent):
        formats = [e.name for e in parent.expressions if isinstance(e, exp.Literal)]
        if "strptime" in parent.name.lower():
            return (formats[0], not parent.name.lower().startswith("try")) if formats else None
        is_clock = _CLOCK_CALLS.fullmatch(_name_call(parent).replace("_", ""))
        return "time" if is_clock else "date", False
    return None


def _list_cut(node: exp.Substring) -> str:
    return ",".join(node.text(name) for name in ("start", "length"))


def _name_call(node: exp.Expr) -> str:
    return node.name if isinstance(node, exp.Anonymous) else type(node).__name__


def _calls_dates(node: exp.Expr) -> bool:
    name = _name_call(node)
    return (
        isinstance(node, exp.Func)
        and _DATE_CALLS.search(name) is not None
        and (_NO_READING.search(name) is None or "strptime" in name.lower())
    )
