"""How the baselines tune a statement: sqlglot's optimizer rewrites, a textbook rule advises.

Both see the statement and the DDL alone, no data and no plan.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.optimizer import optimize
from sqlglot.optimizer.qualify import qualify

from evalcore.records import GenerationRequest
from evalcore.sqlkit.dialects import parse_server
from evalcore.sqlkit.schema import read_schema
from evalcore.targets.baseline import CONSTANT_SQL, Baseline

_EQUAL = (exp.EQ, exp.In)
_RANGE = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)


def answer_sample(request: GenerationRequest, baseline: Baseline) -> str:
    """The answer of a baseline; see `BenchmarkCard.baselines`."""
    if baseline.is_constant:
        return CONSTANT_SQL
    question = request.input
    tune = advise_indexes if question["metric"] == "index_advice" else optimize_statement
    return tune(question["sql"], parse_server(question["dialect"]).dialect, question["schema"])


def optimize_statement(sql: str, dialect: str, schema: Sequence[str]) -> str:
    """The statement as sqlglot's optimizer leaves it; empty where that gives up."""
    try:
        tree = optimize(
            _parse_tuned_statement(sql, dialect),
            schema=_read_column_kinds(schema, dialect),
            dialect=dialect,
        )
    except sqlglot.errors.SqlglotError:
        return ""
    return tree.sql(dialect=dialect)


def advise_indexes(sql: str, dialect: str, schema: Sequence[str]) -> str:
    """An index per table that is compared with constants: equal columns first, then one range.

    A sentence where there is no such table, nothing where the statement does not parse.
    """
    try:
        tree = qualify(
            _parse_tuned_statement(sql, dialect),
            schema=_read_column_kinds(schema, dialect),
            dialect=dialect,
            identify=False,
        )
    except sqlglot.errors.SqlglotError:
        return ""
    tables = {table.alias_or_name: table.name for table in tree.find_all(exp.Table)}
    lines = [
        f"CREATE INDEX advised_{number} ON {tables[alias]} ({', '.join(columns)})"
        for number, (alias, columns) in enumerate(_find_compared_columns(tree).items(), 1)
        if alias in tables
    ]
    return ";\n".join(lines) or "No index can help."


def _find_compared_columns(tree: exp.Expr) -> dict[str, list[str]]:
    """By table, the columns that are compared with constants, in the order for an index."""
    columns_by_table: dict[str, list[str]] = {}
    ranges: dict[str, list[str]] = {}
    for kinds, into in ((_EQUAL, columns_by_table), (_RANGE, ranges)):
        for condition in tree.find_all(*kinds):
            column = condition.this
            others = [c for c in condition.find_all(exp.Column) if c is not column]
            if isinstance(column, exp.Column) and not others:
                columns = into.setdefault(column.table, [])
                columns += [column.name] if column.name not in columns else []
    for alias, columns in ranges.items():
        equal = columns_by_table.setdefault(alias, [])
        equal += [name for name in columns if name not in equal][:1]
    return columns_by_table


def _parse_tuned_statement(sql: str, dialect: str) -> exp.Expr:
    return sqlglot.parse_one(sql, read=dialect)


def _read_column_kinds(schema: Sequence[str], dialect: str) -> dict[str, object]:
    """Tables and columns as sqlglot wants them; types matter little and are left as kinds."""
    tables = read_schema(schema, dialect).tables
    return {table.name: {column.name: column.kind for column in table.columns} for table in tables}
