"""The cells at which a column's type, or what statements do with it, turns over."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from itertools import chain, zip_longest
from typing import Any
from uuid import UUID

from evalcore.sqlkit.generate.checks import compile_checks, iter_compared_columns
from evalcore.sqlkit.generate.clocks import iter_zone_moments
from evalcore.sqlkit.generate.hints import Hints
from evalcore.sqlkit.generate.regex_samples import sample_matches
from evalcore.sqlkit.generate.text_forms import TextForms, build_text_forms
from evalcore.sqlkit.generate.usage import Usage
from evalcore.sqlkit.generate.values import Cell, build_cell_pool, build_fit_check
from evalcore.sqlkit.schema import Column, Schema

_ISO = re.compile(r"\d{4}-\d\d?(-\d\d?)?([ T].*)?\Z")
_INTEGERS = (0, 1, -1, 2, -2, 3, -3, -7, 10, 1000, 1_000_001, 16_777_217)
_LARGE_INTEGERS = (2**32, 2**53, 2**53 + 1)
_FLOATS = (
    *(0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 0.2, 0.3, 4e-7, 0.00015, 1234.5678, -0.001, 100_000.25),
    *(0.29, 1.15, 1.005),  # a hundred times which is less than it looks
)
#: Ends of months, quarters, years and ISO weeks, leap days, a century, days before 1970.
_DAYS = (
    *("2024-02-29", "2024-02-28", "2023-02-28", "2024-01-31", "2024-03-31", "2024-04-30"),
    *("2024-06-30", "2024-07-01", "2024-12-30", "2024-12-31", "2025-01-01", "2021-01-01"),
    *("2021-01-03", "2021-01-04", "2020-12-31", "2022-01-01", "2022-01-02", "2023-12-31"),
    *("2000-02-29", "1999-12-31", "1969-12-31", "2024-01-15", "2023-10-29"),
)
_CLOCKS = ("00:00:00", "23:59:59", "12:00:00", "12:30:01", "00:00:01")
_FRACTIONS = ("23:59:59.5", "08:15:30.123456", "23:59:59.999999", "00:00:00.000001")
_TEXTS: tuple[str, ...] = (
    *("", " ", "\t", "a", "A", "é", "É", "ß", "中", "中文字", "😀"),
    *("a😀b", "Élan vital", " b", "b "),
    *("\tb\n", "Aa", "a b", "x_y", "50%", "O'N", "10", "9", "02", "2.50", "-1", "zzz", "ZZ", "~"),
)
_MAX_DIGITS = 20  # of a number written as a text
_LETTERS = "Abcdefghijklmnopqrstuvwxyz0123456789"
_ZONED = re.compile(r"TIMESTAMPTZ|WITH TIME ZONE|TIMESTAMPLTZ", re.I)
_NOT_FINITE = re.compile(r"[+-]?inf(inity)?|nan", re.I)
_PRECISION = re.compile(r"\((\d)\)")


def list_edge_cells(column: Column, hints: Hints, usage: Usage, dialect: str) -> Sequence[Cell]:
    """The edges of a column, all within what its declaration allows, those from statements first.

    A joined or keyed column has them too; whoever places them keeps the keys.
    """
    name = column.name.lower()
    pool = build_cell_pool(column, hints)
    if column.choices:
        return pool.all_cells
    mined = (*pool.hits, *pool.near)
    constants = [constant.value for constant in hints.constants.get(name, ())]
    if holds_json(column, usage):
        return list_documents(usage)
    forms = hints.forms.get(name) if column.kind == "text" else None
    if forms and (forms.strict or forms.holds_days):
        cells = _iter_form_cells(forms, constants)
        return tuple(filter(build_fit_check(column), dict.fromkeys((*mined, *cells))))
    fits = build_fit_check(column)
    if column.kind == "integer":  # constants may lie further out than is safe for sums
        low, high = _list_integer_bounds(column, dialect)
        whole = [int(value) for value in constants if isinstance(value, int)]
        around = (value + step for value in whole for step in (0, 1, -1))
        integers = filter(fits, (*mined, *_INTEGERS, *_LARGE_INTEGERS))
        return tuple(dict.fromkeys(n for n in (*around, *integers) if low <= n <= high))
    is_any_number = dialect in ("mysql", "sqlite") and "BIT" not in column.declared
    makers: dict[str, Callable[[], Iterable[Cell]]] = {
        "decimal": lambda: _iter_decimals(column, constants),
        "float": lambda: _iter_floats(constants, usage),
        "text": lambda: _take_turns(
            forms.cells if forms else (),
            _iter_texts(name, constants, column, usage),
            _iter_lengths(usage),
        ),
        "date": lambda: _iter_day_cells(constants),
        "timestamp": lambda: chain(
            iter_zone_moments(
                (*usage.texts, *_list_hours(constants)),
                "+00" if _ZONED.search(column.declared) else "",
            ),
            _iter_moments(constants, _list_clocks(column)),
        ),
        "time": lambda: _iter_clock_cells(constants, column),
        "boolean": lambda: (True, False, *((2, -1) if is_any_number else ())),
        "bytes": lambda: ("", "00", "ff", "c3a9", "61"),
        "uuid": lambda: (str(UUID(int=0)), str(UUID(int=2**128 - 1))),
    }
    return tuple(dict.fromkeys(filter(fits, chain(mined, makers[column.kind]()))))


def _list_hours(constants: Sequence[Any]) -> list[str]:
    """The numbers that may be hours, as times within them."""
    return [f"{value}:30" for value in constants if isinstance(value, int) and value in range(24)]


def holds_json(column: Column, usage: Usage) -> bool:
    """Whether a column is JSON, or text that the statements handle as such."""
    return column.kind == "json" or (
        column.kind == "text" and column.name.lower() in usage.json_texts
    )


def list_documents(usage: Usage) -> tuple[str, ...]:
    """JSON texts grown from the keys and literals of the statements."""
    return tuple(dict.fromkeys(_iter_json_cells(usage)))


def list_extreme_cells(column: Column, dialect: str, sign: int) -> Sequence[Cell]:
    """The largest (`sign` 1) or the smallest (-1) numbers of a column's type."""
    if column.kind == "integer":
        low, high = _list_integer_bounds(column, dialect)
        return (high, high - 1) if sign > 0 else (low, low + 1)
    if column.kind == "decimal" and column.precision:
        scale = column.scale or 0
        return (Decimal(sign * (10**column.precision - 1)).scaleb(-scale),)
    if column.kind == "float":
        return (sign * 1e9,)
    return ()


def _list_integer_bounds(column: Column, dialect: str) -> tuple[int, int]:
    bits = next((n for name, n in _BITS if column.declared.upper().startswith(name)), 32)
    top: int = 2 ** (64 if dialect == "sqlite" else bits)
    if "UNSIGNED" in column.declared.upper() or column.identity:
        return 1, top // 2 - 1
    return -top // 2, top // 2 - 1


_BITS = (("TINYINT", 8), ("SMALLINT", 16), ("MEDIUMINT", 24), ("BIGINT", 64), ("INT", 32))


# Numbers.


def _iter_decimals(column: Column, constants: Iterable[Any]) -> Iterator[Cell]:
    scale = 2 if column.scale is None else column.scale
    unit = Decimal(1).scaleb(-scale)
    for value in constants:
        number = _parse_decimal(value)
        if number is not None:
            yield from (_to_cell(number + step, scale) for step in (0, unit, -unit))
    yield from (_to_cell(number, scale) for number in (Decimal(0), unit, -unit))
    for digits in range(min(scale, 4)):  # halves at every digit that something may round to
        half = Decimal(5).scaleb(-digits - 1)
        yield from (_to_cell(number + half, scale) for number in (0, 1, 2))
        yield _to_cell(-2 - half, scale)
    yield from (
        _to_cell(Decimal(text), scale)
        for text in ("1.28", "-0.99", "100.0001", "7", "0.29", "1.15")
    )


def _parse_decimal(value: Any) -> Decimal | None:
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number) < 10**30 else None


def _to_cell(number: Decimal, scale: int) -> Cell:
    rounded = round(number, scale)
    if rounded == rounded.to_integral_value():
        return int(rounded)
    return float(rounded) if len(rounded.as_tuple().digits) <= 15 else rounded


def _iter_floats(constants: Iterable[Any], usage: Usage) -> Iterator[Cell]:
    yield 0.0
    small = [number for number in usage.numbers if 0 < number <= 1]
    for value in constants:
        if isinstance(value, int | float):
            yield float(value)
            yield from (value + sign * number * 0.4 for number in small for sign in (1, -1))
    if any(_NOT_FINITE.fullmatch(text) for text in usage.texts):
        yield from (float("inf"), float("-inf"), float("nan"))
    yield from _FLOATS


# Texts.


def list_text_forms(schema: Schema, hints: Hints, usage: Usage) -> dict[str, TextForms]:
    """What the columns of text hold that statements and checks read as something else or hold
    against days, or that a check holds against such a column."""
    readings: dict[str, set[tuple[str, bool]]] = defaultdict(set)
    for name, form, strict in usage.readings:
        readings[name].add((form, strict))
    for name, constants in hints.constants.items():
        if any(_ISO.match(str(constant.value)) for constant in constants):
            readings[name].add(("date", False))
    for table in schema.tables:
        for name, other in iter_compared_columns(table.checks, schema.dialect):
            readings[name] |= readings.get(other, set())
    forms = {name: build_text_forms(each, schema.dialect) for name, each in readings.items()}
    return {name: each for name, each in forms.items() if _may_hold(schema, name, each.cells)}


def _may_hold(schema: Schema, name: str, cells: Sequence[Cell]) -> bool:
    """Whether no CHECK refuses all of the cells in a column of that name."""
    for table in schema.tables:
        checks = compile_checks(table.checks, schema.dialect) if table.find_column(name) else ()
        if not any(all(check({name: cell}) for check in checks) for cell in cells):
            return False
    return True


def _iter_form_cells(forms: TextForms, constants: Sequence[Any]) -> Iterator[Cell]:
    """Texts in their forms: days, and moments, about the constants first."""
    if not forms.holds_days:
        return iter(forms.cells)
    clocked = any(len(str(value)) > 10 for value in constants)
    moments = _iter_moments(constants, ("",))
    cells = moments if clocked else _take_turns(_iter_day_cells(constants), moments)
    return iter((*forms.list_unusual(), *forms.keep_readable(forms.format_moments(cells))))


def _iter_texts(
    name: str, constants: Sequence[Any], column: Column, usage: Usage
) -> Iterator[Cell]:
    yield from ("_", "%") if name in usage.patterns else ()
    samples = (sample_matches(literal)[:1] for literal in usage.literals.get(name, ()))
    yield from (f"{sample}\n{sample}" for sample in chain.from_iterable(samples))
    for value in constants:
        if isinstance(value, str):
            yield from _iter_variants(value.replace("%", ""))
        elif value is not None:
            yield from (str(value), f"0{value}", f"{value}0", f"{value}.0", f" {value}")
            yield f"1{'0' * len(str(value))}"  # larger as a number and perhaps smaller as a text
    for literal in usage.literals.get(name, ()):
        yield from (literal, f"x{literal}y", literal.swapcase(), f"{literal}x{literal}")
        yield f"a{literal}b{literal}c{literal}{literal}d"
    yield from _TEXTS
    yield _make_text(min(column.length or 40, 40))


def _iter_lengths(usage: Usage) -> Iterator[Cell]:
    """Texts, and numbers as texts, of the lengths at which the statements cut."""
    if usage.takes_lengths:
        for number in usage.lengths:
            yield from (_make_text(number + step) for step in (-1, 0, 1, 2))
            yield from ("中" * number, "中" * (number // 3 + 1))  # three bytes each
            yield from ("1" * (number + step) for step in (-1, 0, 1) if number < _MAX_DIGITS)
            yield from (f"{_make_text(number - 1)} ", f" {_make_text(number - 1)}")


def _take_turns(*sources: Iterable[Cell]) -> Iterator[Cell]:
    """The cells of all sources, one of each after the other."""
    missing = object()
    for turn in zip_longest(*sources, fillvalue=missing):
        yield from (cell for cell in turn if cell is not missing)


def _iter_variants(text: str) -> Iterator[str]:
    """Texts that are easily taken for another."""
    yield from (text, text.upper(), text.lower(), text.title(), f"{text} ", f" {text}")
    yield from (f"{text}x", f"x{text}", f"{text}.cn", _add_accent(text), text[:-1])


def _add_accent(text: str) -> str:
    """The text with an accent on its first vowel, else at its end."""
    match = re.search(r"[aeiou]", text, re.I)
    end = match.end() if match else len(text)
    return unicodedata.normalize("NFC", f"{text[:end]}\u0301{text[end:]}")


def _make_text(length: int) -> str:
    return (_LETTERS * (length // len(_LETTERS) + 1))[:length] if length > 0 else ""


# Days and times.


def _parse_moment(value: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return moment if 1000 < moment.year < 9000 else None


def _list_packed_days(value: Any) -> list[date]:
    """The days about a number such as 202302 (a month or a week of a year) or 20230201."""
    text = str(value).replace("-", "").upper().replace("W", "")
    if not re.fullmatch(r"(?:19|20)\d{4}(?:\d\d)?", text):
        return []
    year, part = int(text[:4]), int(text[4:6])
    starts: list[date] = []
    with suppress(ValueError):
        if len(text) == 8:
            starts = [date(year, part, int(text[6:]))]
        elif 1 <= part <= 53:
            week = date(year, 1, 4) + timedelta(weeks=part - 1, days=-date(year, 1, 4).weekday())
            starts = [week, week + timedelta(days=7), week + timedelta(days=-1)]
            starts += [date(year, part, 1)] if part <= 12 else []
    return [day + timedelta(days=n) for day in starts for n in (0, -1)]


def _iter_day_cells(constants: Sequence[Any]) -> Iterator[Cell]:
    yield from (day.isoformat() for value in constants for day in _list_packed_days(value))
    for moment in filter(None, map(_parse_moment, constants)):
        yield from ((moment.date() + timedelta(days=n)).isoformat() for n in (0, -1, 1, -2, 2))
    yield from _DAYS


def _list_clocks(column: Column) -> Sequence[str]:
    """Times of day that a column can hold, with fractions of a second where it has any."""
    precision = _PRECISION.search(column.declared)
    if "DATETIME" in column.declared.upper():
        digits = int(precision[1]) if precision else 0
    else:
        digits = int(precision[1]) if precision else 6
    zone = "+00" if _ZONED.search(column.declared) else ""
    fractions = _FRACTIONS if digits == 6 else ("23:59:59.5",) if digits else ()
    return [f"{clock}{zone}" for clock in (*_CLOCKS, *fractions)]


def _iter_moments(constants: Sequence[Any], clocks: Sequence[str]) -> Iterator[Cell]:
    """Moments about the constants, then the edges of days with all times of day in turn."""
    clocks = clocks if clocks != ("",) else _CLOCKS
    zone = "+00" if clocks[0].endswith("+00") else ""
    for packed in (day for value in constants for day in _list_packed_days(value)):
        yield f"{packed} 12:00:00{zone}"
    for moment in filter(None, map(_parse_moment, constants)):
        for step in (timedelta(0), timedelta(seconds=-1), timedelta(hours=-4), timedelta(hours=9)):
            yield f"{moment + step}{zone}"
        if any("." in clock for clock in clocks):
            yield f"{moment - timedelta(milliseconds=500)}{zone}"
            yield f"{moment + timedelta(milliseconds=500)}{zone}"
    for number, day in enumerate(_DAYS):
        yield f"{day} {clocks[number % len(clocks)]}"
    yield from (f"2024-07-09 {clock}" for clock in clocks)


def _iter_clock_cells(constants: Iterable[Any], column: Column) -> Iterator[Cell]:
    for value in constants:
        try:
            moment = datetime.combine(date(2024, 1, 2), time.fromisoformat(str(value)))
        except ValueError:
            continue
        yield from ((moment + timedelta(seconds=n)).strftime("%H:%M:%S") for n in (0, -1, 1))
    yield from _CLOCKS


# JSON.

_JSON_VALUES: tuple[Any, ...] = (
    *(None, "x", "", 5, 0, 5.5, "5", "true", True, False),
    *([], ["a", "b"], ["b", "a"], ["a", "a"], [1, 2, 2], {}, {"a": None}),
)
_ALIKE = ((5, "5"), (5, 5), (None, "null"))  # the same as texts
_MAX_KEYS, _MAX_NUMBER = 6, 2**31 // 20


def _iter_json_cells(usage: Usage) -> Iterator[Cell]:
    """Objects in which each key has every kind of value in turn, or none; then other documents."""
    keys = usage.json_keys[:_MAX_KEYS] or ("a",)
    bare = [text.strip('"') for text in usage.texts]  # a text as JSON writes it
    plain = [text for text in bare if text not in keys and not text.startswith("$")]
    literals = [text for text in plain if len(text) < 20][:4]
    patterns = [text for text in plain if re.search(r"[\^$\[\\]", text)]
    literals += [text for pattern in patterns for text in sample_matches(pattern)][:6]
    numbers = [int(n) if n == int(n) else n for n in usage.numbers][:3]
    common: list[Any] = [*literals, *numbers, *(n + 1 for n in numbers), *map(str, numbers)]
    full = dict.fromkeys(keys, "x")
    yield from _iter_stated_documents(usage.texts)
    yield from _iter_nested_documents(usage.json_paths[:_MAX_KEYS], common)
    for key in keys:
        yield json.dumps({name: value for name, value in full.items() if name != key})
    for pair in _ALIKE if keys[1:] else ():
        yield json.dumps({**full, **dict(zip(keys, pair, strict=False))})
    for value in (*common, *_JSON_VALUES):
        for key in keys[: 2 if len(keys) > 3 else 3]:
            yield json.dumps({**full, key: value}, ensure_ascii=False)
    nested: Any = "x"
    for key in reversed(keys):
        nested = {key: nested}
    yield json.dumps(nested)
    yield json.dumps(dict.fromkeys(("z", *keys[::-1]), 1))  # not in the order of the alphabet
    records = [full, full, {}, dict.fromkeys(keys, numbers[0] if numbers else 5)]
    yield from (json.dumps({key: records}, ensure_ascii=False) for key in keys[:2])
    for literal in literals[:3]:
        yield json.dumps({keys[-1]: ["b", literal]}, ensure_ascii=False)
        yield json.dumps({"other": literal}, ensure_ascii=False)
    yield from _iter_word_lists([text.strip("%") for text in literals[:3]])
    yield from ("{}", "[]", "[1, 2]", "null", json.dumps(keys[0]))
    yield json.dumps(keys)  # to `?` a text in a list is what a key is in an object


def _iter_stated_documents(texts: Sequence[str]) -> Iterator[Cell]:
    """The objects and lists among the literals, and such as contain them."""
    for text in texts:
        if text[:1] in ("{", "["):
            with suppress(ValueError, RecursionError):  # no JSON, or nested too deeply
                stated = json.loads(text)
                for form in (stated, _widen(stated)):
                    yield json.dumps(form, ensure_ascii=False, allow_nan=False)


def _widen(stated: Any) -> Any:
    """The value with a member more in every object, and an item more before those of each list."""
    if isinstance(stated, dict):
        return {**{key: _widen(value) for key, value in stated.items()}, "z": 1}
    return ["x", *map(_widen, stated)] if isinstance(stated, list) else stated


def _iter_word_lists(words: Sequence[str]) -> Iterator[Cell]:
    """Lists that hold a word, or others of which it is a part."""
    for word in words:
        for items in ([word], [f"whole{word}"], [f"{word}s", word], [word, word]):
            yield json.dumps(items, ensure_ascii=False)


def list_plain_documents(usage: Usage) -> tuple[str, ...]:
    """Documents of the shapes that statements expect: numbers at the ends of paths, and lists of
    objects that have all keys. On others functions fail that take lists apart."""
    keys = usage.json_keys[:_MAX_KEYS] or ("a",)
    documents: dict[str, None] = {}
    stated = [int(n) for n in usage.numbers if abs(n) < _MAX_NUMBER][:2]
    more = (n for value in stated for n in (value, value + 1, value - 1, 10 ** len(str(value))))
    for number in (1, 2, 5, *more):  # the last one is larger as a number and smaller as a text
        record = dict.fromkeys(keys, number)
        nested: Any = record
        for path in usage.json_paths[:_MAX_KEYS]:
            nested = _set_path(nested, path, number)
        documents[json.dumps(nested)] = None
        for key in keys:
            documents[json.dumps({key: [record, record, {**record, keys[-1]: 3}]})] = None
    words = [text for text in usage.texts if not text.startswith("$") and text not in keys][:2]
    for text in ("x", *(more for word in words for more in (word, f"{word}x", word[:-1]))):
        for key in keys if len(keys) > 1 else ():  # a list beside the texts
            items = [dict.fromkeys(keys, number) for number in (1, 2)]
            documents[json.dumps({**dict.fromkeys(keys, text), key: items})] = None
    if not usage.json_keys:
        documents |= dict.fromkeys(_iter_word_lists([text.strip('%"') for text in words]))
    return tuple(documents)


def _iter_nested_documents(
    paths: Sequence[tuple[str, ...]], common: Sequence[Any]
) -> Iterator[Cell]:
    """Documents that have all paths, each of which ends at every kind of value in turn."""
    for value in (*common, *_JSON_VALUES[:9], ["a", "a"]):
        for path in paths:
            document: Any = {}
            for other in (*(other for other in paths if other != path), path):
                document = _set_path(document, other, value if other == path else "x")
            yield json.dumps(document, ensure_ascii=False)


def _set_path(document: Any, path: Sequence[str], value: Any) -> Any:
    """The document with a value at a path; a number among the steps counts the items of a list."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if step.isdigit():
        items = document if isinstance(document, list) else []
        items += [None] * (min(int(step), 20) + 1 - len(items))
        index = min(int(step), 20)
        items[index] = _set_path(items[index], rest, value)
        return items
    fields = document if isinstance(document, dict) else {}
    fields[step] = _set_path(fields.get(step), rest, value)
    return fields
