"""Closed tasks on SQL, as lines of the case files of `sql_understanding`: is there a syntax error,
and of what class is the statement (which the base is taught wrongly and the adapter rightly)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from evalcore.testing.split import Split, of_values

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


def rows(metric: Metric, split: Split, count: int, seed: int) -> list[dict[str, Any]]:
    """`count` distinct cases of one metric."""
    rng = random.Random(f"{seed} {metric} {split}")  # noqa: S311 - no secret depends on it
    draw = _DRAWN[metric]
    found: dict[str, dict[str, Any]] = {}
    while len(found) < count:
        pattern, answer = draw(rng)
        a, b, c = rng.sample(_COLUMNS, 3)
        values = {"t": rng.choice(_TABLES), "a": a, "b": b, "c": c, "n": rng.randrange(10, 100)}
        sql = pattern.format(**values)
        if sql not in found and of_values(sql) == split:
            found[sql] = {
                "case_id": f"{metric}_{split}_{len(found) + 1}",
                "difficulty_level": "1",
                "dialect": "sqlite" if metric == SYNTAX else "postgres",
                "sql": sql,
                "expected": answer,
            }
    return list(found.values())


def mistaken(cases: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Cases of classes with each class taken for the next one: right in form, always wrong."""
    known = [_named(one) for one in CLASSES.values()]
    following = {str(one): other for one, other in zip(known, known[1:] + known[:1], strict=True)}
    return [{**case, "expected": following[str(case["expected"])]} for case in cases]


def _syntax(rng: random.Random) -> tuple[str, dict[str, str]]:
    wrong = rng.random() < 0.5
    return rng.choice(WRONG if wrong else RIGHT), {"has_syntax_error": "yes" if wrong else "no"}


def _class(rng: random.Random) -> tuple[str, dict[str, str]]:
    pattern = rng.choice(list(CLASSES))
    return pattern, _named(CLASSES[pattern])


def _named(found: tuple[str, str]) -> dict[str, str]:
    return {"sql_type": found[0], "statement_type": found[1]}


_DRAWN: dict[Metric, Callable[[random.Random], tuple[str, dict[str, str]]]] = {
    "syntax_error_detection": _syntax,
    "sql_identification": _class,
}
