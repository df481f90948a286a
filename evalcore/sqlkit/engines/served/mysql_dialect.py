"""Where MariaDB differs from MySQL 8, and what is done about it before a statement is sent.

- MySQL's default collation utf8mb4_0900_ai_ci does not pad with blanks; MariaDB does not know it.
  Its kin (UCA 14 in place of UCA 9, no padding) stands for it, as it does for utf8mb4 named without
  a collation. Older collations stay what they are in both.
- Table names are compared without case, as MySQL does on macOS and Windows.
- A recursion that MySQL ends with an error after 1000 steps runs on up to a million here.
- There are no LATERAL derived tables, no functional indexes, and no JSON type beside its text;
  EXPLAIN shows fewer estimates.
"""

from __future__ import annotations

import re

DEFAULT = "utf8mb4_uca1400_nopad_ai_ci"
_DEFINES = re.compile(r"\s*(?:CREATE|ALTER)\b", re.IGNORECASE)
_BINARY = re.compile(r"\butf8mb4_0900_bin\b", re.IGNORECASE)
_NEWER = re.compile(r"\butf8mb4_0900_(ai_ci|as_ci|as_cs)\b", re.IGNORECASE)
_BARE = re.compile(
    r"\b((?:CHARSET|CHARACTER\s+SET)\s*=?\s*utf8mb4)\b(?!\s*,?\s*(?:DEFAULT\s+)?COLLATE\b)",
    re.IGNORECASE,
)


def for_mariadb(sql: str) -> str:
    """A statement with the collations of MySQL 8 in MariaDB's names."""
    sql = _BINARY.sub("utf8mb4_nopad_bin", sql)
    sql = _NEWER.sub(r"utf8mb4_uca1400_nopad_\1", sql)
    return _BARE.sub(rf"\1 COLLATE {DEFAULT}", sql) if _DEFINES.match(sql) else sql
