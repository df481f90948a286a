"""Reading the cases of `sql_optimization`: SCALE's files unchanged, and our own.

SCALE fields: case_id, difficulty_level, db_type, description, create_table_statements, sql,
explain; the depth cases have expected.optimization_rules [{rule_id, difficulty_level, rationale}],
the index cases a text `expected` and columns_selectivity. Ours keep one line per statement in
`rewrite.jsonl`, which feeds the three rewrite metrics, with reference, variants, counterexamples,
data, and a `check` per rule; our index cases have structured alternatives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalcore.benchmarks import case_file
from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.case_file import Line
from evalcore.benchmarks.sql_optimization import advice
from evalcore.errors import UsageError
from evalcore.records import Sample
from evalcore.sqlkit.dialects import Server, parse_server
from evalcore.sqlkit.index_advice import UnreadableIndex

REWRITES = ("logical_equivalence", "syntax_error_detection", "optimization_depth")
_FILES = {"rewrite": REWRITES} | {metric: (metric,) for metric in (*REWRITES, "index_advice")}
_DIFFICULTIES = ("1", "2", "3")


def load(source: DatasetSource) -> list[Sample]:
    """The samples of a folder of case files, or of one file; rules are samples of their own.

    Raises DatasetError naming file, line and field.
    """

    def read(line: Line, stem: str) -> Iterator[Sample]:
        for metric in _FILES[stem]:
            yield from _SAMPLES[metric](line, metric)

    return case_file.load(source, _FILES, read)


def _server(line: Line) -> Server:
    try:
        return parse_server(line.text("db_type"))
    except UsageError as error:
        line.wrong("db_type", str(error))


def _input(line: Line, target: Server) -> dict[str, Any]:
    return {
        "dialect": target.name,
        "description": line.optional_text("description"),
        "schema": line.texts("create_table_statements"),
        "sql": line.text("sql"),
        "explain": line.optional_text("explain"),
    }


def _reference(line: Line, target: Server) -> dict[str, Any]:
    data = line.items("data")
    for script in data:
        if not isinstance(script, list) or not all(isinstance(text, str) for text in script):
            line.wrong("data", "must be a list of databases, each a list of INSERT statements")
    return {
        "engine": target.engine,
        "dialect": target.dialect,
        "reference": line.optional_text("reference"),
        "data": data,
        "ordered": line.truth("ordered"),
    }


def _rules(line: Line) -> list[dict[str, Any]]:
    """The improvements that a case names; a case of ours may have none."""
    expected = line.row.get("expected") or {}
    rules = expected.get("optimization_rules", []) if isinstance(expected, dict) else None
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        line.wrong("expected.optimization_rules", "must be a list of objects")
    for rule in rules:
        if str(rule.get("difficulty_level")) not in _DIFFICULTIES or "rule_id" not in rule:
            line.wrong("expected.optimization_rules", 'needs rule_id and difficulty_level "1"-"3"')
    return rules


def _meta(line: Line) -> dict[str, Any]:
    """What a case itself calls right and wrong; SCALE's say neither."""
    if not line.row.get("reference"):
        return {"source": line.source}
    return {
        "variants": line.texts("variants"),
        "counterexamples": [line.text("sql"), *line.texts("counterexamples")],
        "source": line.source,
    }


def _rewrite(line: Line, metric: str) -> Iterator[Sample]:
    target = _server(line)
    yield Sample(
        metric=metric,
        id=line.identity(),
        input=_input(line, target),
        reference=_reference(line, target) | {"rules": _rules(line)},
        difficulty=line.difficulty(),
        meta=_meta(line),
    )


def _depth(line: Line, metric: str) -> Iterator[Sample]:
    """A sample per rule."""
    target, rules = _server(line), _rules(line)
    for rule in rules:
        yield Sample(
            metric=metric,
            id=f"{line.identity()}/{rule['rule_id']}",
            input=_input(line, target),
            reference=_reference(line, target) | {"rule": rule, "rules": rules},
            difficulty=int(rule["difficulty_level"]),
            meta=_meta(line),
        )


def _index(line: Line, metric: str) -> Iterator[Sample]:
    """SCALE's index cases name no database: all are MySQL."""
    target = _server(line) if line.row.get("db_type") else parse_server("MySQL")
    expected = line.row.get("expected")
    right: list[str] = []
    if isinstance(expected, dict):
        right = _right_advice(line, expected, target)
    elif not isinstance(expected, str):
        line.wrong("expected", "must be an object of alternatives, or SCALE's text")
    given = _input(line, target) | {
        "columns_selectivity": line.optional_text("columns_selectivity")
    }
    yield Sample(
        metric=metric,
        id=line.identity(),
        input=given,
        reference={"engine": target.engine, "dialect": target.dialect, "expected": expected},
        difficulty=line.difficulty(),
        meta={
            "variants": [*line.texts("variants"), *right],
            "counterexamples": line.texts("counterexamples"),
            "source": line.source,
        },
    )


def _right_advice(line: Line, expected: dict[str, Any], target: Server) -> list[str]:
    """The answers that an expectation itself calls right, to be confirmed like any variant."""
    alternatives = expected.get("alternatives")
    if not isinstance(alternatives, list) or not all(
        isinstance(one, dict) and isinstance(one.get("columns"), list) and one.get("table")
        for one in alternatives
    ):
        line.wrong("expected.alternatives", "must be a list of {table, columns}")
    try:
        right = advice.right_answers(expected, target.dialect)
    except UnreadableIndex as error:
        line.wrong("expected.alternatives", str(error))
    if not right:
        line.wrong("expected", "needs an alternative, or none_ok or cannot_ok")
    return right


_SAMPLES = {
    "logical_equivalence": _rewrite,
    "syntax_error_detection": _rewrite,
    "optimization_depth": _depth,
    "index_advice": _index,
}
