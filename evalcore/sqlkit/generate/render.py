"""A database as INSERT statements of a dialect."""

from __future__ import annotations

from evalcore.sqlkit.generate.database import Database
from evalcore.sqlkit.schema import Column, Schema, Table, plain_name, sort_by_dependency

_AT_ONCE = 500  # rows of a statement


def render_inserts(schema: Schema, database: Database, dialect: str) -> tuple[str, ...]:
    """Statements that fill the tables, those first that others refer to."""
    statements = []
    for table in sort_by_dependency(schema):
        rows = database.tables.get(table.name, ())
        indexes = [n for n, column in enumerate(table.columns) if not column.computed]
        at_once = 1 if _refers_to_itself(table) and dialect == "duckdb" else _AT_ONCE
        names = ", ".join(_quote_column(table.columns[n], dialect) for n in indexes)
        for start in range(0, len(rows), at_once):
            values = ",\n".join(
                "("
                + ", ".join(_format_sql_cell(row[n], table.columns[n], dialect) for n in indexes)
                + ")"
                for row in rows[start : start + at_once]
            )
            statements.append(f"INSERT INTO {table.name} ({names}) VALUES\n{values}")
    return tuple(statements)


def _refers_to_itself(table: Table) -> bool:
    """DuckDB looks for the rows referred to before it has those of the same statement."""
    return any(plain_name(f.table) == plain_name(table.name) for f in table.foreign)


def _quote_column(column: Column, dialect: str) -> str:
    """As the DDL wrote it: engines fold bare names and keep quoted ones."""
    if not column.quoted:
        return column.name
    return f"`{column.name}`" if dialect == "mysql" else f'"{column.name}"'


def _format_sql_cell(value: object, column: Column, dialect: str) -> str:
    if value is None:
        return "NULL"
    if column.kind == "boolean" or isinstance(value, bool):
        truth = bool(value)
        return str(int(truth)) if dialect in ("mysql", "sqlite", "tsql", "oracle") else str(truth)
    if isinstance(value, int | float):
        return repr(value)
    if column.kind == "bytes":
        return f"'\\x{value}'" if dialect == "postgres" else f"X'{value}'"
    text = str(value).replace("'", "''")
    if dialect == "mysql":
        text = text.replace("\\", "\\\\")
    return f"'{text}'"
