"""Closed tasks on SQL, as lines of the case files of `sql_understanding`: is there a syntax error,
and of what class is the statement (which the base is taught wrongly and the adapter rightly)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from tools.tiny_models.split import Split, assign_split

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


def build_statement_rows(
    metric: Metric, split: Split, count: int, seed: int
) -> list[dict[str, Any]]:
    """`count` distinct cases of one metric."""
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
    """Cases of classes with each class taken for the next one: right in form, always wrong."""
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
