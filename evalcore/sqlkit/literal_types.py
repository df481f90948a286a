"""Literals for columns of types whose values are not made cell by cell: arrays, intervals, enums,
networks, ranges and the like. The list of a column's literals is all that its cells are drawn from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise

from sqlglot import exp

_Type = exp.DType
_NULL = "NULL"
_ENUM = re.compile(r"\bCREATE\s+TYPE\s+([\w.\"]+)\s+AS\s+ENUM\s*\(([^)]*)\)", re.I)
_TEXT = re.compile(r"'((?:[^']|'')*)'")
_MAX_SET = 4  # members of a SET that are combined

#: Years that conditions ask for, and the ends of what MySQL can hold.
YEARS = (*map(str, range(1995, 2036)), "1901", "1969", "1970", "1971", "2069", "2070", "2155")
_BITS = ("0", "1", "10", "01", "11", "101", "010", "111", "000", "1010", "0101", "1111")
#: Literals by the name of a type, in the dialects that have it.
_LITERALS: dict[str, tuple[str, ...]] = {
    "INTERVAL": (
        *("0 days", "1 day", "2 days", "-1 day", "24 hours", "30 days", "1 month", "31 days"),
        *("1 year", "12 months", "1 year 2 months 3 days", "1 hour", "00:00:00.5", "23:59:59"),
        *("30 days 01:00:00", "1 month -1 day", "-1 month 45 days"),  # a month compares as 30 days
    ),
    "INET": ("10.0.0.1", "10.0.0.1/8", "10.0.0.0/8", "192.168.1.5/24", "192.168.1.5", "::1"),
    "CIDR": ("10.0.0.0/8", "10.0.0.0/16", "192.168.1.0/24", "192.168.1.5/32", "::1/128"),
    "MACADDR": ("08:00:2b:01:02:03", "08:00:2b:01:02:04", "00:00:00:00:00:00"),
    "VARBIT": _BITS,
    "TSVECTOR": ("", "'ash'", "'ash' 'birch'", "'ash':1 'birch':2"),
    "POINT": ("(0,0)", "(1,2)", "(-1,0.5)"),
    "DATERANGE": ("[2024-01-01,2024-02-01)", "[2024-01-31,2024-03-01)", "empty", "(,2024-01-01)"),
    "TSRANGE": ("[2024-01-01,2024-02-01)", "[2024-01-01 12:00,2024-01-02)", "empty"),
} | dict.fromkeys(
    ("INT4RANGE", "INT8RANGE", "NUMRANGE"), ("[1,5)", "[1,5]", "(1,5)", "[5,9)", "empty", "(,3]")
)
#: Three elements of an array, a struct or a map, by their type.
_ELEMENTS: dict[str, tuple[str, str, str]] = {
    **dict.fromkeys(("INT", "BIGINT", "SMALLINT", "TINYINT", "UINT", "UBIGINT"), ("1", "2", "3")),
    **dict.fromkeys(("DECIMAL", "FLOAT", "DOUBLE"), ("1.5", "2", "-3")),
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR"), ("a", "B", "x")),
    "BOOLEAN": ("true", "false", "true"),
    "DATE": ("2024-01-01", "2024-02-29", "2023-12-31"),
    "TIMESTAMP": ("2024-01-01 00:00:00", "2024-02-29 12:30:00", "2023-12-31 23:59:59"),
}


def read_enum_types(ddl: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The labels of every enum that `CREATE TYPE` declares, by its name in lower case."""
    return {
        name.replace('"', "").lower(): tuple(
            label.replace("''", "'") for label in _TEXT.findall(labels)
        )
        for text in ddl
        for name, labels in _ENUM.findall(text)
    }


def list_literals(
    declared: exp.DataType, dialect: str, enums: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """The literals of a type, empty for one whose cells are made otherwise."""
    kind, fields = declared.this, declared.expressions
    if kind in (_Type.ARRAY, _Type.LIST):
        return _list_arrays(fields, "{}" if dialect == "postgres" else "[]")
    if kind == _Type.STRUCT:
        return _list_structs(fields)
    if kind == _Type.MAP and len(fields) == 2:
        return _list_maps(*map(_list_elements, fields))
    if kind == _Type.ENUM:
        return tuple(item.name for item in fields)
    if kind == _Type.SET:
        return _list_sets([item.name for item in fields])
    if kind == _Type.YEAR:
        return YEARS
    if kind == _Type.BIT and dialect in ("postgres", "duckdb"):
        size = int(fields[0].name) if fields and fields[0].name.isdigit() else 1
        exact = tuple(dict.fromkeys(bits.rjust(size, "0")[:size] for bits in _BITS))
        return exact if dialect == "postgres" else _BITS
    name = declared.sql(dialect=dialect).upper()
    return _LITERALS.get(name.partition("(")[0]) or enums.get(name.replace('"', "").lower(), ())


_PLAIN = re.compile(r"[\w.:-]+")


def mine_literals(
    choices: Sequence[str],
    declared: str,
    values: Sequence[object],
    fields: Mapping[str, Sequence[object]],
) -> tuple[str, ...]:
    """Literals of a type that hold the constants that statements compare with: arrays with the
    values as elements, each and all, ranges that begin and end at them, structs with the constants
    of their `fields`. `choices` are the type's own literals."""
    name = declared.upper()
    marks = choices[-1][0] + choices[-1][-1]
    if marks in ("{}", "[]") and (name.endswith("]") or name.startswith("ARRAY")):
        elements = [_quote_element(str(value), marks) for value in values]
        present = [part for choice in choices for part in choice[1:-1].split(",")]
        other = next((part for part in present if part not in (*elements, "", _NULL)), "")
        late = f"{other}," * 4  # what looks at the first elements alone does not see
        contents = (
            (e, f"{e},{other}".strip(","), f"{other},{e},{e}".strip(","), f"{late}{e}".strip(","))
            for e in dict.fromkeys((*elements, ",".join(elements), ",".join(elements[::-1])))
        )
        return tuple(f"{marks[0]}{text}{marks[1]}" for texts in contents for text in texts)
    if name.endswith("RANGE"):
        return tuple(text for value in values for text in _list_ranges(value))
    if name.startswith("MAP"):
        return _list_maps_with(values)
    if marks != "{}" or not name.startswith("STRUCT"):
        return ()
    return tuple(
        _set_field(choices[0], field, _quote_element(str(cell), "[]"))
        for field, held in fields.items()
        for value in held
        for cell in ((value, value + 1, value - 1) if isinstance(value, int | float) else (value,))
    )


def _list_maps_with(values: Sequence[object]) -> tuple[str, ...]:
    """Maps with the texts as keys and the numbers, and those about them, as values."""
    keys = [value for value in values if isinstance(value, str)][:3]
    numbers = [value for value in values if isinstance(value, int | float)][:2]
    around = [number + step for number in numbers for step in (1, 0, -1)]
    return tuple(
        f"{{{_quote_element(key, '[]')}={cell}}}" for key in keys for cell in (*around, _NULL)
    )


def _set_field(struct: str, field: str, cell: str) -> str:
    pattern = rf"('{re.escape(field)}': )[^,}}]+"
    return re.sub(pattern, lambda match: match[1] + cell, struct, flags=re.I)


def _quote_element(text: str, marks: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    if marks == "[]":
        return "'" + text.replace("'", "\\'") + "'"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _list_ranges(value: object) -> tuple[str, ...]:
    """Ranges that begin and end at a bound, with it and without."""
    if isinstance(value, int | float):
        low, high = value - 10, value + 10
        return (f"[{value},{high})", f"({value},{high}]", f"[{low},{value})", f"[{low},{value}]")
    return (f"[{value},)", f"({value},)", f"(,{value})", f"(,{value}]")


def _list_elements(declared: exp.Expr) -> tuple[str, str, str] | None:
    """Elements of a type, None for one that holds others or is unknown."""
    kind = declared.this if isinstance(declared, exp.DataType) else None
    return _ELEMENTS.get(kind.name) if isinstance(kind, _Type) else None


def _list_arrays(fields: Sequence[exp.Expr], marks: str) -> tuple[str, ...]:
    """None, one and several elements, twice the same, NULL among them; of others the empty one."""
    elements = _list_elements(fields[0]) if fields else None
    if elements is None:
        return (marks,)
    first, second, third = elements
    contents = [
        *([], [first], [second], [first, second], [second, first], [first, first]),
        *([_NULL], [first, _NULL], [first, second, third]),
    ]
    return tuple(f"{marks[0]}{','.join(items)}{marks[1]}" for items in contents)


def _list_structs(fields: Sequence[exp.Expr]) -> tuple[str, ...]:
    """Structs of first, second and third elements, and with NULL in each field in turn."""
    members = [field for field in fields if isinstance(field, exp.ColumnDef)]
    elements = [_list_elements(field.args["kind"]) for field in members if field.args.get("kind")]
    columns = [choices for choices in elements if choices]
    if not fields or len(columns) != len(fields):
        return ()
    rows = [[choices[n] for choices in columns] for n in range(3)]
    rows += [[*rows[0][:n], _NULL, *rows[0][n + 1 :]] for n in range(len(columns))]
    return tuple(
        "{" + ", ".join(f"'{m.name}': {cell}" for m, cell in zip(members, row, strict=True)) + "}"
        for row in rows
    )


def _list_maps(
    keys: tuple[str, str, str] | None, values: tuple[str, str, str] | None
) -> tuple[str, ...]:
    if keys is None or values is None:
        return ("{}",)
    pairs = [f"{key}={value}" for key, value in zip(keys, values, strict=True)]
    return (
        *("{}", *("{" + pair + "}" for pair in pairs)),
        *("{" + ", ".join(both) + "}" for both in pairwise(pairs)),
        f"{{{keys[0]}={_NULL}}}",
    )


def _list_sets(members: Sequence[str]) -> tuple[str, ...]:
    """Each member alone, pairs of the first few, all, and none."""
    pairs = (",".join(pair) for pair in combinations(members[:_MAX_SET], 2))
    return tuple(dict.fromkeys((*members, *pairs, ",".join(members), "")))
