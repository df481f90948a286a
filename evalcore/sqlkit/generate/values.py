"""Cells for a column: such as satisfy the statements' conditions, just miss them, and others."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta
from itertools import chain
from typing import Any
from uuid import UUID

from evalcore.records import Record
from evalcore.sqlkit.generate.clocks import days_around
from evalcore.sqlkit.generate.conditions import Constant
from evalcore.sqlkit.generate.hints import Hints
from evalcore.sqlkit.generate.text_forms import TextForms
from evalcore.sqlkit.literal_types import mine_literals
from evalcore.sqlkit.schema import Column

# Days and moments for conditions on a part of a date: its year, its month, its hour, ...

Cells = tuple[Sequence[str], Sequence[str]]
_SPANNED = ("date", "timestamp")
_MONTH = re.compile(r"(\d{4})[-/]?(\d\d?)?")
_YEARS = range(1900, 2101)
_PART = re.compile(r"\d\d?")  # of a day or of a moment
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


def _list_parts_within(times: Sequence[str], constants: Sequence[Constant]) -> list[str]:
    """Some of the times with each day and hour that constants ask for."""
    values = [str(constant.value) for constant in constants if constant.operator == "="]
    parts = {int(value) for value in values if _PART.fullmatch(value)}
    moved = []
    for moment in map(datetime.fromisoformat, times[:2]):
        for part in sorted(parts):
            if 0 < part <= 28:
                moved.append(moment.replace(day=part))
            if part < 24 and len(times[0]) > 10:
                moved.append(moment.replace(hour=part))
    return [str(moment) if len(times[0]) > 10 else moment.date().isoformat() for moment in moved]


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


# Cells for a column: such as satisfy the statements' conditions, such as just miss, and others.

Cell = Any


class Pool(Record, frozen=True):
    """Cells of one column by what they do: satisfy a condition, just miss one, or neither.

    `best` are the hits that satisfy most conditions at once; `absent` tells that one asks for NULL.
    """

    hits: tuple[Cell, ...]
    near: tuple[Cell, ...]
    plain: tuple[Cell, ...]
    best: tuple[Cell, ...] = ()
    absent: bool = False

    @property
    def all_cells(self) -> tuple[Cell, ...]:
        return tuple(dict.fromkeys((*self.hits, *self.near, *self.plain)))


_WORDS = ("ash", "Birch", "cedar", "dogwood", "Elm", "fir", "hazel wood", "O'Neil", "x", "_y%", "")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UNSIGNED = re.compile(r"\bUNSIGNED\b|^BIT\b|^U\w*INT(EGER)?\b", re.I)
_FIRST_DAY = date(2023, 11, 28)
_PLAIN: dict[str, tuple[Cell, ...]] = {
    "integer": (0, 1, 2, 3, 4, 5, 7, 10, -1, 12),
    "decimal": (0, 1, 2.5, 3.25, 7, 10, 19.99, -1.5, 100),
    "float": (0.0, 1.5, 2.25, 3.0, 10.5, -2.0, 100.0),
    "text": _WORDS,
    "date": tuple((_FIRST_DAY + timedelta(days=17 * n)).isoformat() for n in range(10)),
    "timestamp": tuple(
        str(datetime(2023, 11, 28, 7 * n % 24, 13 * n % 60) + timedelta(days=11 * n))
        for n in range(10)
    ),
    "time": (
        *("00:00:00", "06:30:00", "12:00:00", "18:45:10"),
        *("23:59:59", "00:00:30.6", "00:01:01.7"),
    ),
    "boolean": (True, False),
    "bytes": ("", "00ff", "6162"),
    "json": ("{}", '{"a": 1}', '{"a": null, "b": [1, 2]}'),
    "uuid": tuple(str(UUID(int=n)) for n in range(1, 9)),
}


def build_cell_pool(column: Column, hints: Hints) -> Pool:
    """The cells of a column, all within what its declaration allows."""
    fits = build_fit_check(column)
    if column.choices:
        return _select_choices(column, hints)
    if documents := hints.documents.get(column.name.lower()):
        return Pool(hits=(), near=(), plain=documents)
    hits: list[Cell] = []
    near: list[Cell] = []
    constants = hints.constants.get(column.name.lower(), ())
    forms = hints.forms.get(column.name.lower()) if column.kind == "text" else None
    for constant in constants:
        good, bad = (
            _select_form_cells(constant, forms)
            if forms
            else _select_cells_around(constant, column.kind)
        )
        hits += filter(fits, good)
        near += filter(fits, bad)
    if column.kind in _SPANNED and hits:
        spans = [constant for constant in constants if not _PART.fullmatch(str(constant.value))]
        hits += _list_parts_within(_select_best(hits, spans, column.kind), constants)
    short = ("a", "B", "") if column.kind == "text" else (0, 1)
    plain = tuple(filter(fits, forms.cells if forms else _PLAIN[column.kind])) or short
    if hints.clock and (column.kind in ("date", "timestamp") or (forms and forms.holds_days)):
        around = days_around(date.today(), hints.lengths)
        for cells, days in zip((hits, near), around, strict=True):
            clock = " 10:30:00" if column.kind == "timestamp" else ""
            moments = [f"{day}{clock}" for day in days]
            cells += forms.format_moments(moments) if forms else moments
    return Pool(
        hits=tuple(dict.fromkeys(hits)),
        near=tuple(dict.fromkeys(near)),
        plain=plain,
        best=_select_best(hits, constants, column.kind),
        absent=any(constant.operator == "null" for constant in constants),
    )


def _select_choices(column: Column, hints: Hints) -> Pool:
    """Of a column's choices those that a condition asks for, else those that none leaves out."""
    constants = hints.constants.get(column.name.lower(), ())
    asked = {str(c.value) for c in constants if c.operator != "<>"}
    left_out = {str(c.value) for c in constants if c.operator == "<>"} - asked
    chosen = (c for c in column.choices if c in asked or (left_out and c not in left_out))
    return Pool(
        hits=(*chosen, *_mine_literals(column, hints)),
        near=tuple(choice for choice in column.choices if choice in left_out),
        plain=column.choices,
    )


def _select_best(
    hits: Sequence[Cell], constants: Sequence[Constant], kind: str
) -> tuple[Cell, ...]:
    """The hits that satisfy as many of the conditions as any: 30 and not 5, where one asks for at
    least 5 and one for at least 30. All where so many are stated that a list of values is meant."""
    if len(constants) > _MAX_COMPARED:
        return tuple(dict.fromkeys(hits))
    counts = {cell: sum(_satisfies(cell, each, kind) for each in constants) for cell in hits}
    most = max(counts.values(), default=0)
    return tuple(cell for cell, count in counts.items() if count == most)


def _satisfies(cell: Cell, constant: Constant, kind: str) -> bool:
    centre = _as_kind(constant.value, kind)
    compare = _COMPARED.get(constant.operator)
    if compare is None or centre is None or parse_span(constant.value) is not None:
        return cell in _select_cells_around(constant, kind)[0]
    return bool(compare(cell, centre))


_MAX_COMPARED = 30  # conditions on a column that are held against each other
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _mine_literals(column: Column, hints: Hints) -> tuple[Cell, ...]:
    """Literals of a column's type with the constants that it, or a field of it, is held against."""
    if column.kind != "literal":
        return ()
    values = {
        name: [c.value for c in constants if c.value is not None]
        for name, constants in hints.constants.items()
    }
    mine = values.get(column.name.lower(), ())
    mined = mine_literals(
        column.choices, column.declared, mine[:6], {name: v[:4] for name, v in values.items()}
    )
    return tuple(text for text in dict.fromkeys(mined) if text not in column.choices)


def build_fit_check(column: Column) -> Callable[[Cell], bool]:
    """Whether a cell keeps to length, precision and scale."""
    if column.kind == "text" and column.length is not None:
        length = column.length
        return lambda cell: len(cell) <= length
    if column.kind == "uuid":
        return lambda cell: bool(_UUID.fullmatch(cell))
    if column.kind == "integer":
        bound = 10 ** (column.precision or 9)
        unsigned = _UNSIGNED.search(column.declared)
        # MySQL counts on where it is given a 0
        minimum = 0 if column.identity else -1 if unsigned else -bound
        return lambda cell: minimum < cell < bound
    if column.kind == "decimal" and column.precision is not None:
        bound, scale = 10 ** (column.precision - (column.scale or 0)), column.scale or 0
        return lambda cell: -bound < cell < bound and round(cell, scale) == cell
    return lambda cell: True


def _select_cells_around(constant: Constant, kind: str) -> tuple[Sequence[Cell], Sequence[Cell]]:
    """Cells that satisfy a comparison with the constant, and cells that just miss it."""
    if constant.operator in ("null", "not null"):
        return (), ()  # NULLs come by the share of the profile
    if constant.operator == "like":
        return _build_like_cells(str(constant.value)) if kind == "text" else ((), ())
    if constant.operator == "not like":
        return _build_like_cells(str(constant.value))[::-1] if kind == "text" else ((), ())
    spanned = constant.operator != "about" and kind in _SPANNED
    if spanned and (span := parse_span(constant.value)) is not None:
        return around_span(span, constant.operator, kind)
    if spanned and _PART.fullmatch(str(constant.value)):
        return parts_of_dates(int(str(constant.value)), kind)
    centre = _as_kind(constant.value, kind)
    if centre is None:
        return (), ()
    below, above = _NEIGHBOURS[kind](centre)
    if constant.operator == "about":
        return (), (centre, *below[:1], *above[:1], *_look_alikes(centre))
    table: dict[str, tuple[Sequence[Cell], Sequence[Cell]]] = {
        "=": ((centre,), (*below[:1], *above[:1], *_look_alikes(centre))),
        "<>": ((*above, *below), (centre, *_look_alikes(centre))),
        "<": (below, (centre, *above[:1])),
        "<=": ((centre, *below), above[:1]),
        ">": (above, (centre, *below[:1])),
        ">=": ((centre, *above), below[:1]),
    }
    return table[constant.operator]


def _select_form_cells(
    constant: Constant, forms: TextForms
) -> tuple[Sequence[Cell], Sequence[Cell]]:
    """Texts in their form about a constant, days where it is one, a part of one or so many, with
    other spellings among those that miss it."""
    texts = good, bad = _select_cells_around(constant, "text")
    if forms.holds_days:
        is_part = _PART.fullmatch(str(constant.value))
        timed = len(str(constant.value)) > 10 or ":" in str(constant.value)
        kinds = _SPANNED if is_part else (_SPANNED[timed],)
        moments = [_select_cells_around(constant, kind) for kind in kinds]
        good, bad = (
            forms.format_moments(chain.from_iterable(side)) for side in zip(*moments, strict=True)
        )
        if good or bad:
            bad = (*bad, *texts[0], *texts[1])
        else:
            good, bad = texts
    return forms.keep_readable(good), forms.keep_readable(bad)


def _look_alikes(cell: Cell) -> tuple[Cell, ...]:
    """Texts that are easily taken for another."""
    if not isinstance(cell, str) or not cell or _DATE.match(cell):
        return ()
    return (cell.swapcase(), cell + "x", cell[:-1]) if len(cell) > 1 else (cell.swapcase(),)


def _make_number_neighbours(step: float) -> Callable[[Any], tuple[Sequence[Cell], Sequence[Cell]]]:
    def list_neighbours(centre: Any) -> tuple[Sequence[Cell], Sequence[Cell]]:
        far = max(abs(centre) // 4, step * 3)
        return ((round(centre - step, 6), centre - far), (round(centre + step, 6), centre + far))

    return list_neighbours


def _list_day_neighbours(centre: str) -> tuple[Sequence[Cell], Sequence[Cell]]:
    day = date.fromisoformat(centre)
    moved = [(day + timedelta(days=n)).isoformat() for n in (-1, -40, 1, 40)]
    return moved[:2], moved[2:]


def _list_moment_neighbours(centre: str) -> tuple[Sequence[Cell], Sequence[Cell]]:
    moment = datetime.fromisoformat(centre)
    day = 86_400
    moved = [str(moment + timedelta(seconds=n)) for n in (-1, -20 * day, 1, 15 * 3600, 20 * day)]
    return moved[:2], moved[2:]


def _list_text_neighbours(centre: str) -> tuple[Sequence[Cell], Sequence[Cell]]:
    if re.fullmatch(r"-?\d{1,15}", centre):
        width = len(centre)
        lower, upper = str(int(centre) - 1).zfill(width), str(int(centre) + 1).zfill(width)
        return (lower,), (upper, centre + "0")
    if not centre:
        return (), ("a",)
    last = centre[-1]
    return (centre[:-1] + chr(max(33, ord(last) - 1)),), (
        centre[:-1] + chr(ord(last) + 1),
        centre + "a",
    )


def _list_boolean_neighbours(centre: Any) -> tuple[Sequence[Cell], Sequence[Cell]]:
    return (), (not centre,) if isinstance(centre, bool) else ()


_NEIGHBOURS: dict[str, Callable[[Any], tuple[Sequence[Cell], Sequence[Cell]]]] = {
    "integer": _make_number_neighbours(1),
    "decimal": _make_number_neighbours(0.01),
    "float": _make_number_neighbours(0.5),
    "text": _list_text_neighbours,
    "date": _list_day_neighbours,
    "timestamp": _list_moment_neighbours,
    **dict.fromkeys(("time", "boolean", "bytes", "json", "uuid"), _list_boolean_neighbours),
}
_DATE = re.compile(r"\d{4}-\d\d?(?:-\d\d?)?")
_CLOCK = re.compile(r"\d\d:\d\d(:\d\d)?")


def _as_kind(value: Any, kind: str) -> Cell | None:
    """A literal as a cell of that kind, None where it is none."""
    if kind in ("integer", "decimal", "float"):
        return _as_number(value, whole=kind == "integer")
    if kind == "boolean":
        return bool(value) if isinstance(value, int | float) else None
    if kind in ("date", "timestamp"):
        return _as_moment(value, kind)
    if kind == "text":
        return str(value)
    if kind == "uuid":
        return str(value).lower()
    return None


def _as_number(value: Any, whole: bool) -> int | float | None:
    if isinstance(value, int):
        return value if abs(value) < 2**63 else None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    if not abs(number) < 2**53:
        return None
    return int(number) if whole or number == int(number) else number


def _as_moment(value: Any, kind: str) -> str | None:
    """Parse a date or time from ISO text; that of a clock is one of some day."""
    text = str(value).replace("/", "-")
    if kind == "timestamp" and _CLOCK.fullmatch(text):
        text = f"{_FIRST_DAY} {text}"
    text = re.sub(r"-(\d)(?=\D|$)", r"-0\1", text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if not 1000 < moment.year < 9000:
        return None
    moment = moment.replace(tzinfo=None, microsecond=0)
    return moment.date().isoformat() if kind == "date" else str(moment)


def _build_like_cells(pattern: str) -> tuple[Sequence[Cell], Sequence[Cell]]:
    """Build texts that match a LIKE pattern, and near misses."""
    core = re.sub(r"\\(.)", lambda match: _HELD.get(match[1], match[1]), pattern)
    tight = _write_held(core.replace("%", "").replace("_", "k"))
    loose = _write_held(core.replace("%", "zq").replace("_", "7"))
    near = [
        tight[:-1],
        tight[1:],
        tight.swapcase(),
        "p" + tight,
        tight + "p",
        tight[:1] + "." + tight[1:],
        tight[:-1] + "." + tight[-1:],
    ]
    wild = _write_held(core.replace("%", "").replace("_", ""))
    hits = [tight, loose] if tight else [loose]
    if core.endswith("%") and tight:  # as many as a unique column may need
        hits += [f"{tight}{number}" for number in range(1, 9)]
    return hits, [text for text in (*near, wild) if text and text not in hits]


#: In place of what a pattern escapes, so that it is no wildcard.
_HELD = {"%": "\ue000", "_": "\ue001"}


def _write_held(text: str) -> str:
    return text.replace(_HELD["%"], "%").replace(_HELD["_"], "_")


def extend_values(values: Iterable[Cell], kind: str) -> Iterable[Cell]:
    """The values, then ever new ones of the kind, for keys; times go on from the first value."""
    seen = dict.fromkeys(values)
    first = next((str(v) for v in seen if v is not None), "")
    yield from seen
    if kind == "literal":
        return  # what else there is, only the engine knows
    day = date.fromisoformat(first) if kind == "date" and first else date(2021, 1, 1)
    moment = (
        datetime.fromisoformat(first) if kind == "timestamp" and first else datetime(2021, 1, 1)
    )
    makers: dict[str, Callable[[int], Cell]] = {
        "integer": lambda n: n,
        "decimal": lambda n: n,
        "float": lambda n: n + 0.5,
        "date": lambda n: (day + timedelta(days=3 * n if first == "" else -n)).isoformat(),
        "timestamp": lambda n: str(moment + timedelta(hours=31 * n if first == "" else -n)),
        "time": lambda n: f"{n // 60 % 24:02}:{n % 60:02}:{n // 1440 % 60:02}",
        "bytes": lambda n: f"{n:08x}",
        "json": lambda n: f'{{"n": {n}}}',
        "uuid": lambda n: str(UUID(int=n << 64)),
        "boolean": lambda n: bool(n % 2),
        "text": lambda n: f"k{n}",
    }
    for number in range(1, 20_000):
        value = makers[kind](number)
        if value not in seen:
            seen[value] = None
            yield value
