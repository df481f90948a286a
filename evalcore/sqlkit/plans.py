"""Query plans as facts: which tables are visited in which way, and whether something is sorted.

Reads the details of SQLite's EXPLAIN QUERY PLAN, whose wording is documented as not stable: the
forms here are those of SQLite 3.36 and later ("SCAN t", formerly "SCAN TABLE t").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

_VISIT = re.compile(
    r"""(?P<access>SCAN|SEARCH)\ (?:TABLE\ )?(?P<table>.+?)
        (?:\ AS\ (?P<alias>\S+))?
        (?:\ USING\ (?P<using>.+?))?
        (?:\ \(.*\))? (?:\ LEFT-JOIN)? (?:\ VIRTUAL\ TABLE\ INDEX\ .*)?\Z""",
    re.VERBOSE,
)
_PRIMARY = re.compile(r"INTEGER PRIMARY KEY|PRIMARY KEY|(?:COVERING )?INDEX sqlite_autoindex_\S+")
_AUTOMATIC = re.compile(r"AUTOMATIC (?:PARTIAL )?(?:COVERING )?INDEX")
_NAMED = re.compile(r"(?:COVERING )?INDEX (?P<index>.+)")
#: Constant rows are no table that anybody chose a way into.
_NO_TABLE = re.compile(r"CONSTANT ROW|\d+(?:-ROW| CONSTANT ROWS).*")


def sqlite_steps(rows: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """The plan in rows of (id, parent, detail), in the order in which SQLite gives them.

    Returns {"steps": [{"table", "access", "index"}], "temp_sort"}: a step per table visited, by its
    alias where it has one; access "scan" or "search"; index the name of the index used,
    "PRIMARY KEY" for row id or primary key, "AUTOMATIC" for an index built for the query, else
    None; temp_sort whether a temporary b-tree serves ORDER BY, GROUP BY or DISTINCT.
    """
    details = [str(row[2]) for row in rows]
    visits = (_VISIT.match(detail) for detail in details)
    return {
        "steps": [
            _build_plan_step(visit)
            for visit in visits
            if visit and not _NO_TABLE.match(visit["table"])
        ],
        "temp_sort": any(detail.startswith("USE TEMP B-TREE") for detail in details),
    }


def _build_plan_step(visit: re.Match[str]) -> dict[str, str | None]:
    return {
        "table": visit["alias"] or visit["table"],
        "access": visit["access"].lower(),
        "index": _classify_index(visit["using"] or ""),
    }


def _classify_index(using: str) -> str | None:
    if _PRIMARY.fullmatch(using):
        return "PRIMARY KEY"
    if _AUTOMATIC.match(using):
        return "AUTOMATIC"
    named = _NAMED.fullmatch(using)
    return named["index"] if named else None
