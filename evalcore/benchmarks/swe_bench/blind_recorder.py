"""Writes down what tests compare, for a reader outside. Run inside, by blind tests.

    blind = runpy.run_path("blind_recorder.py")
    with blind["Raises"](CHECK) as info: blind["record"](CHECK, value, ...)

A value is written as plain data by the content of its built-in type, whatever its own class says of
equality; of anything else only the name of its class and its truth are written.
"""

from __future__ import annotations

import json
from collections import UserString
from collections.abc import Mapping, Sequence, Set
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

#: Where the lines go: a file of the work tree that no test looks at.
RECORDS_PATH = "/testbed/.git/evalboard_records"
_DEPTH, _NODES, _TEXT = 40, 20_000, 2_000


def record(check: str, *operands: Any) -> None:
    _write_line([check, [_Encoder().encode(value, _DEPTH) for value in operands]])


class Raises:
    """Notes what was raised, whatever it is, where an exception is expected and where none is."""

    def __init__(self, check: str, *tokens: Any) -> None:
        self._check, self._tokens = check, tokens
        self.value: BaseException | None = None

    def __enter__(self) -> Raises:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: Any, traceback: Any) -> bool:
        self.value, self.type, self.tb = value, kind, traceback
        if kind is None:
            return False
        names = [base.__name__ for base in type.mro(kind)]
        raised = {"raised": names, "message": _message(value)}
        _write_line([self._check, [raised, *map(str, self._tokens)]])
        return issubclass(kind, Exception)

    @property
    def exception(self) -> BaseException | None:
        return self.value

    @property
    def typename(self) -> str:
        return type(self.value).__name__


def _message(value: BaseException | None) -> str:
    try:
        return str(value)[:_TEXT]
    except Exception:  # an exception of the patch may fail when it is printed
        return ""


def _write_line(content: list[Any]) -> None:
    with open(RECORDS_PATH, "a", encoding="ascii") as file:  # noqa: PTH123 - less to tamper with
        file.write(json.dumps(content) + "\n")


class _Encoder:
    def __init__(self) -> None:
        self._left = _NODES

    def encode(self, value: Any, depth: int) -> Any:
        self._left -= 1
        if value is None or value is True or value is False:
            return value
        if depth and self._left > 0:
            try:
                return self._encode_known(value, depth - 1)
            except Exception:  # whatever methods of the patch raise: such a value is not readable
                return {"opaque": "unreadable", "truth": None}
        return {"opaque": "deep", "truth": None}

    def _encode_known(self, value: Any, depth: int) -> Any:
        for kind, read in _SCALARS:
            if isinstance(value, kind):
                return read(value)
        for kind, name, iterate in _COLLECTIONS:
            if isinstance(value, kind):
                return {name: [self.encode(item, depth) for item in iterate(value)]}
        return {"opaque": type(value).__name__, "truth": bool(value)}


_SCALARS: tuple[tuple[Any, Any], ...] = (
    (str, str.__str__),
    (UserString, str),
    (int, lambda value: {"int": hex(int.__index__(value))}),
    (float, lambda value: {"float": float.hex(float.__float__(value))}),
    (bytes, lambda value: {"bytes": bytes.hex(value)}),
    (bytearray, lambda value: {"bytes": bytearray.hex(value)}),
    (
        complex,
        lambda value: {"complex": [complex.real.__get__(value), complex.imag.__get__(value)]},
    ),
    (Fraction, lambda value: {"ratio": [hex(value.numerator), hex(value.denominator)]}),
    (datetime, lambda value: {"datetime": datetime.isoformat(value)}),
    (date, lambda value: {"date": date.isoformat(value)}),
    (
        timedelta,
        lambda value: {
            "timedelta": list(map(str, (value.days, value.seconds, value.microseconds)))
        },
    ),
    (Decimal, lambda value: {"ratio": list(map(hex, value.as_integer_ratio()))}),
)
_COLLECTIONS: tuple[tuple[Any, str, Any], ...] = (
    (list, "list", list.__iter__),
    (tuple, "tuple", tuple.__iter__),
    (dict, "dict", dict.items),
    (set, "set", set.__iter__),
    (frozenset, "set", frozenset.__iter__),
    (Mapping, "dict", lambda value: value.items()),
    (Set, "set", iter),
    (Sequence, "list", iter),
)
