"""The closed tasks of the tiny model: function calls as entries of BFCL, and statements of SQL.

A request is a pattern filled with values. The values decide whether it is for training or held out,
so that no prompt can be in both, whatever the seed. Statements are lines of the case files of
`sql_understanding`: is there a syntax error, and of what class is the statement (which the base is
taught wrongly and the adapter rightly).
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from evalcore.records import Record

Split = Literal["train", "held_out"]
_CITIES = (
    *("Oslo", "Lima", "Cairo", "Turin", "Delhi", "Quito", "Perth", "Lyon", "Kyoto", "Porto"),
    *("Accra", "Minsk", "Sofia", "Davao", "Basel", "Natal", "Tunis", "Osaka", "Dakar", "Bonn"),
)
_MONEY = ("EUR", "USD", "JPY", "GBP", "CHF", "SEK", "INR", "BRL")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ROOMS = ("Kitchen", "Bedroom", "Hall", "Attic", "Office", "Studio", "Cellar", "Porch")
_DISHES = ("Tea", "Bread", "Rice", "Soup", "Eggs", "Pasta", "Beans", "Stew")
_NUMBERS = tuple(range(10, 100))

Value = str | int

Metric = Literal["syntax_error_detection", "sql_identification"]
SYNTAX: Metric = "syntax_error_detection"
CLASS: Metric = "sql_identification"

_TABLES = ("orders", "boats", "guests", "trees", "songs", "bills", "roads", "farms")
_COLUMNS = ("price", "weight", "height", "speed", "score", "rate", "width", "depth")

#: Patterns that SQLite parses; {t} is a table, {a} {b} {c} are columns, {n} a number.
RIGHT = (
    "SELECT {a}, {b} FROM {t} WHERE {c} > {n}",
    "SELECT {a} FROM {t} ORDER BY {b} LIMIT {n}",
    "SELECT {a} FROM {t} GROUP BY {a} HAVING MAX({b}) < {n}",
    "UPDATE {t} SET {a} = {n} WHERE {b} < {c}",
    "DELETE FROM {t} WHERE {a} = {n}",
    "INSERT INTO {t} ({a}, {b}) VALUES ({n}, {n})",
)
#: The same with one slip each, which SQLite refuses.
WRONG = (
    "SELECT {a}, FROM {t} WHERE {c} > {n}",
    "SELECT {a}, {b} FROM WHERE {c} > {n}",
    "SELECT {a} FROM {t} BY {b} LIMIT {n}",
    "SELECT {a} FROM {t} GROUP BY {a} HAVING MAX({b} < {n}",
    "UPDATE {t} {a} = {n} WHERE {b} < {c}",
    "UPDATE {t} SET {a} = WHERE {b} < {c}",
    "DELETE FROM {t} WHERE = {n}",
    "INSERT INTO {t} ({a}, {b}) ({n}, {n})",
    "INSERT {t} ({a}, {b}) VALUES ({n}, {n})",
)
#: Patterns of PostgreSQL with their class.
CLASSES = {
    "SELECT {a}, {b} FROM {t} WHERE {c} > {n}": ("DML", "SELECT"),
    "INSERT INTO {t} ({a}) VALUES ({n})": ("DML", "INSERT"),
    "UPDATE {t} SET {a} = {n} WHERE {b} < {c}": ("DML", "UPDATE"),
    "DELETE FROM {t} WHERE {a} = {n}": ("DML", "DELETE"),
    "CREATE TABLE {t} ({a} INT, {b} INT)": ("DDL", "CREATE"),
    "ALTER TABLE {t} ADD COLUMN {a} INT": ("DDL", "ALTER"),
    "DROP TABLE {t}_{a}": ("DDL", "DROP"),
    "TRUNCATE TABLE {t}_{a}": ("DDL", "TRUNCATE"),
    "GRANT SELECT ON {t} TO {a}_{b}": ("DCL", "GRANT"),
    "REVOKE SELECT ON {t} FROM {a}_{b}": ("DCL", "REVOKE"),
    "SAVEPOINT {a}_{b}": ("TCL", "SAVEPOINT"),
    "ROLLBACK TO SAVEPOINT {a}_{b}": ("TCL", "ROLLBACK"),
}


def assign_split(pattern: str, *values: str | int) -> Split:
    """Assign a pattern filled with values to a split; about a fifth is held out."""
    text = "\x1f".join(map(str, (pattern, *values)))
    return "train" if zlib.crc32(text.encode()) % 5 else "held_out"


class Tool(Record, frozen=True):
    """A function: the values of each parameter, and phrases that ask for it by their names."""

    name: str
    about: str
    values: dict[str, tuple[Value, ...]]
    phrases: tuple[str, ...]

    @property
    def description(self) -> dict[str, Any]:
        """As BFCL describes functions."""
        properties = {
            name: {
                "type": "integer" if isinstance(values[0], int) else "string",
                "description": f"The {name}.",
            }
            for name, values in self.values.items()
        }
        parameters = {"type": "dict", "properties": properties, "required": list(properties)}
        return {"name": self.name, "description": self.about, "parameters": parameters}


TOOLS = (
    Tool(
        "weather.now",
        "Weather of a city.",
        {"city": _CITIES, "day": _DAYS},
        ("What is the weather in {city} on {day}?", "How warm is it on {day} in {city}?"),
    ),
    Tool(
        "money.convert",
        "Convert an amount of money.",
        {"amount": _NUMBERS, "source": _MONEY, "target": _MONEY},
        ("Convert {amount} {source} to {target}.", "How much {target} is {amount} {source}?"),
    ),
    Tool(
        "train.book",
        "Book a seat in a train.",
        {"start": _CITIES, "end": _CITIES, "day": _DAYS},
        (
            "Book a train from {start} to {end} on {day}.",
            "On {day} I take the train to {end}, leaving {start}.",
        ),
    ),
    Tool(
        "timer.set",
        "Set a timer.",
        {"minutes": _NUMBERS, "label": _DISHES},
        ("Set a timer of {minutes} minutes for {label}.", "{label} needs {minutes} minutes."),
    ),
    Tool(
        "light.dim",
        "Dim the light of a room.",
        {"room": _ROOMS, "percent": _NUMBERS},
        ("Dim the {room} light to {percent} percent.", "Light at {percent} percent in {room}."),
    ),
)


def build_call_rows(split: Split, count: int, seed: int) -> dict[str, list[dict[str, Any]]]:
    """Build `count` distinct entries of BFCL, as lines of its files, by category.

    Half offer a single function, half two or three.
    """
    rng = random.Random(f"{seed} function calls {split}")  # noqa: S311 - no secret depends on it
    rows_by_category: dict[str, list[dict[str, Any]]] = {}
    seen: set[str] = set()
    while len(seen) < count:
        category = rng.choice(("simple_python", "multiple"))
        tool = rng.choice(TOOLS)
        values = {name: rng.choice(choices) for name, choices in tool.values.items()}
        if assign_split(tool.name, *values.values()) != split or _has_repeated_values(values):
            continue
        row = _build_call_row(category, tool, values, rng)
        if json.dumps(row) in seen:
            continue
        seen.add(json.dumps(row))
        rows_by_category.setdefault(category, []).append(
            {"id": f"{category}_{split}_{len(seen)}", **row}
        )
    return rows_by_category


def _build_call_row(
    category: str, tool: Tool, values: dict[str, Value], rng: random.Random
) -> dict[str, Any]:
    others = [other for other in TOOLS if other is not tool]
    rng.shuffle(others)
    offered = [tool, *others[: rng.choice((1, 2)) if category == "multiple" else 0]]
    rng.shuffle(offered)
    request = rng.choice(tool.phrases).format(**values)
    truth = [{tool.name: {name: [value] for name, value in values.items()}}]
    return {
        "question": [[{"role": "user", "content": request}]],
        "function": [offered_tool.description for offered_tool in offered],
        "ground_truth": truth,
    }


def _has_repeated_values(values: dict[str, Value]) -> bool:
    """Detect a journey to where it begins, or a currency converted into itself."""
    return len(set(values.values())) < len(values)


def build_statement_rows(
    metric: Metric, split: Split, count: int, seed: int
) -> list[dict[str, Any]]:
    """Build `count` distinct cases of a metric."""
    rng = random.Random(f"{seed} {metric} {split}")  # noqa: S311 - no secret depends on it
    draw = _CASE_GENERATORS[metric]
    rows_by_sql: dict[str, dict[str, Any]] = {}
    while len(rows_by_sql) < count:
        pattern, answer = draw(rng)
        a, b, c = rng.sample(_COLUMNS, 3)
        values = {"t": rng.choice(_TABLES), "a": a, "b": b, "c": c, "n": rng.randrange(10, 100)}
        sql = pattern.format(**values)
        if sql not in rows_by_sql and assign_split(sql) == split:
            rows_by_sql[sql] = {
                "case_id": f"{metric}_{split}_{len(rows_by_sql) + 1}",
                "difficulty_level": "1",
                "dialect": "sqlite" if metric == SYNTAX else "postgres",
                "sql": sql,
                "expected": answer,
            }
    return list(rows_by_sql.values())


def shift_statement_classes(cases: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Replace each class by the next: answers right in form and always wrong."""
    classes = [_to_class_fields(label) for label in CLASSES.values()]
    following = {
        str(label): other for label, other in zip(classes, classes[1:] + classes[:1], strict=True)
    }
    return [{**case, "expected": following[str(case["expected"])]} for case in cases]


def _draw_syntax_case(rng: random.Random) -> tuple[str, dict[str, str]]:
    wrong = rng.random() < 0.5
    return rng.choice(WRONG if wrong else RIGHT), {"has_syntax_error": "yes" if wrong else "no"}


def _draw_class_case(rng: random.Random) -> tuple[str, dict[str, str]]:
    pattern = rng.choice(list(CLASSES))
    return pattern, _to_class_fields(CLASSES[pattern])


def _to_class_fields(statement_class: tuple[str, str]) -> dict[str, str]:
    return {"sql_type": statement_class[0], "statement_type": statement_class[1]}


_CASE_GENERATORS: dict[Metric, Callable[[random.Random], tuple[str, dict[str, str]]]] = {
    "syntax_error_detection": _draw_syntax_case,
    "sql_identification": _draw_class_case,
}
