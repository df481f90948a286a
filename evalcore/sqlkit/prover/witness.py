"""A database from what the solver found: terms become numbers, texts and dates to be stored."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

from evalcore.sqlkit.generate import Database
from evalcore.sqlkit.prover.expressions import Relation
from evalcore.sqlkit.prover.symbols import Symbols, Term, Value
from evalcore.sqlkit.schema import Column, Schema, plain_name

_FIRST, _LAST = date(1990, 1, 1), date(2035, 12, 31)
_EPOCH = date(1970, 1, 1)


def build_witness(
    symbols: Symbols, solver: Any, schema: Schema, relations: dict[str, Relation]
) -> Database | None:
    """The rows of the solver's model, None where they cannot be written in their types."""
    for table in schema.tables:
        if relation := relations.get(plain_name(table.name)):
            for _, values in relation.rows:
                for column, value in zip(table.columns, values, strict=True):
                    solver.add(*_list_storable(symbols, column, value))
    if solver.check() != symbols.z3.sat:
        return None
    model = solver.model()
    texts = _spell_texts(symbols, model, relations)
    tables = {}
    for table in schema.tables:
        relation = relations.get(plain_name(table.name))
        tables[table.name] = tuple(
            tuple(
                _read_cell(symbols, model, column, value, texts)
                for column, value in zip(table.columns, values, strict=True)
            )
            for present, values in (relation.rows if relation else ())
            if symbols.z3.is_true(model.eval(present, model_completion=True))
        )
    return Database(profile="found by proof", tables=tables)


def _list_storable(s: Symbols, column: Column, value: Value) -> list[Term]:
    """What a value must be to be written in the type of its column."""
    term = value.term
    if column.choices and value.kind == "enum":
        texts = [s.create_text(choice).term for choice in column.choices]
        return [s.any_of((value.null, *(term == text for text in texts)))]
    if value.kind == "date":
        return [term >= (_FIRST - _EPOCH).days, term <= (_LAST - _EPOCH).days]
    if value.kind == "timestamp":
        days = s.z3.Int(f"{term}:seconds", s.context)
        return [term == s.z3.ToReal(days), days >= 631_152_000, days <= 2_082_672_000]
    if value.kind != "number":
        return []
    if column.kind == "boolean":
        return [term >= 0, term <= 1]
    if s.z3.is_int(term):
        limit = 10 ** min(column.precision or 9, 18) - 1
        return [term >= (0 if "UNSIGNED" in column.declared.upper() else -limit), term <= limit]
    scale = 10 ** (column.scale if column.scale is not None else 2)
    scaled = s.z3.Int(f"{term}:scaled", s.context)
    limit = 10 ** min(column.precision or 9, 15) - 1
    return [term * scale == s.z3.ToReal(scaled), scaled >= -limit, scaled <= limit]


def _spell_texts(s: Symbols, model: Any, relations: dict[str, Relation]) -> dict[Fraction, str]:
    """A text for each code: constants as they are, the others between them in order."""
    spelled = {
        _read_number(model.eval(term, model_completion=True)): key for key, term in s.texts.items()
    }
    codes = {
        _read_number(model.eval(value.term, model_completion=True))
        for relation in relations.values()
        for _, values in relation.rows
        for value in values
        if value.kind in ("text", "enum")
    }
    below = ""
    for number, code in enumerate(sorted(codes | spelled.keys())):
        below = spelled.setdefault(code, f"{below}{chr(97 + number % 26)}")
    return spelled


def _read_number(term: Term) -> Fraction:
    return (
        Fraction(term.as_fraction()) if hasattr(term, "as_fraction") else Fraction(term.as_long())
    )


def _read_cell(
    s: Symbols, model: Any, column: Column, value: Value, texts: dict[Fraction, str]
) -> Any:
    if column.computed or s.z3.is_true(model.eval(value.null, model_completion=True)):
        return None
    term = model.eval(value.term, model_completion=True)
    if value.kind == "boolean":
        return bool(s.z3.is_true(term))
    number = _read_number(term)
    if value.kind in ("text", "enum"):
        text = texts[number]
        return text[: column.length] if column.length else text
    if value.kind == "date":
        return (_EPOCH + timedelta(days=int(number))).isoformat()
    if value.kind == "timestamp":
        return (datetime(1970, 1, 1) + timedelta(seconds=int(number))).isoformat(" ")
    if column.kind == "boolean":
        return bool(number)
    return int(number) if number.denominator == 1 else float(number)
