"""The names by which people know the SQL dialects of cases."""

from __future__ import annotations

from evalcore.sqlkit import dialects

DIALECT_TITLES: dict[str, str] = dialects.TITLES
