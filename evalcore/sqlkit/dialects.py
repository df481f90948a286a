"""The SQL dialects we know: one internal name each (sqlglot's), and the name that people use."""

from __future__ import annotations

import re

from evalcore.errors import UsageError

TITLES: dict[str, str] = {
    "sqlite": "SQLite",
    "duckdb": "DuckDB",
    "postgres": "PostgreSQL",
    "mysql": "MySQL",
    "oracle": "Oracle",
    "tsql": "SQL Server",
}
_ALIASES = {"postgresql": "postgres", "sqlserver": "tsql", "mssql": "tsql", "mariadb": "mysql"}


def dialect_name(text: str) -> str:
    """The internal name of a dialect as people write it; raises UsageError naming the known."""
    folded = re.sub(r"[^a-z]", "", text.lower())
    name = _ALIASES.get(folded, folded)
    if name not in TITLES:
        raise UsageError(f"dialect {text!r} is unknown; known: {', '.join(TITLES.values())}")
    return name
