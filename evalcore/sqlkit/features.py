"""What a stated version of a server does not have yet, told from the parse tree.

The engine that executes here is newer than many servers that cases name, so what it accepts may be
unknown there. Sources: the release notes of PostgreSQL 8.4 to 15 and the reference manuals of
MySQL 5.7 and 8.0. Products that only share a kernel are not gated: they add features of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import sqlglot
from sqlglot import exp

from evalcore.records import Record

Version = tuple[int, ...]


class Feature(Record, frozen=True):
    """A construct, the version since which a server has it, and how it is seen in a tree."""

    title: str
    since: Version
    seen: Callable[[exp.Expr], bool]


def _match_nodes(*kinds: type[exp.Expr]) -> Callable[[exp.Expr], bool]:
    return lambda tree: tree.find(*kinds) is not None


def _match_function(*names: str) -> Callable[[exp.Expr], bool]:
    lowered_names = {name.lower() for name in names}
    return lambda tree: any(
        node.name.lower() in lowered_names for node in tree.find_all(exp.Anonymous)
    )


def _match_argument(kind: type[exp.Expr], name: str) -> Callable[[exp.Expr], bool]:
    return lambda tree: any(node.args.get(name) for node in tree.find_all(kind))


def _is_recursive(tree: exp.Expr) -> bool:
    return any(node.args.get("recursive") for node in tree.find_all(exp.With))


def _match_create_kind(kind: str) -> Callable[[exp.Expr], bool]:
    return lambda tree: any(node.args.get("kind") == kind for node in tree.find_all(exp.Create))


_FEATURES: dict[str, tuple[Feature, ...]] = {
    "PostgreSQL": (
        Feature("LATERAL", (9, 3), _match_nodes(exp.Lateral)),
        Feature("FILTER", (9, 4), _match_nodes(exp.Filter)),
        Feature("WITHIN GROUP", (9, 4), _match_nodes(exp.WithinGroup)),
        Feature("ON CONFLICT", (9, 5), _match_nodes(exp.OnConflict)),
        Feature("GROUPING SETS", (9, 5), _match_nodes(exp.Cube, exp.Rollup, exp.GroupingSets)),
        Feature("identity columns", (10,), _match_nodes(exp.GeneratedAsIdentityColumnConstraint)),
        Feature("CREATE PROCEDURE", (11,), _match_create_kind("PROCEDURE")),
        Feature("generated columns", (12,), _match_nodes(exp.ComputedColumnConstraint)),
        Feature("MERGE", (15,), _match_nodes(exp.Merge)),
        Feature("FETCH WITH TIES", (13,), lambda tree: "WITH TIES" in tree.sql("postgres")),
    ),
    "MySQL": (
        Feature("common table expressions", (8,), _match_nodes(exp.With)),
        Feature("window functions", (8,), _match_nodes(exp.Window)),
        Feature("LATERAL", (8, 0, 14), _match_nodes(exp.Lateral)),
        Feature("recursive queries", (8,), _is_recursive),
        Feature("INTERSECT and EXCEPT", (8, 0, 31), _match_nodes(exp.Intersect, exp.Except)),
        Feature("REGEXP_REPLACE", (8,), _match_nodes(exp.RegexpReplace)),
    ),
}


def find_unsupported_feature(sql: str, dialect: str, title: str, version: str) -> str:
    """The first construct in `sql` that the server does not have at that version, else "".

    A version counts as far as it is stated: 8.0 may be any release of 8.0. Nothing is said of a
    server without a version or a text that does not parse.
    """
    stated = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
    if not stated or title not in _FEATURES:
        return ""
    try:
        trees = [tree for tree in sqlglot.parse(sql, read=dialect) if tree]
    except (sqlglot.errors.SqlglotError, RecursionError):
        return ""
    for feature in _FEATURES[title]:
        if stated < feature.since[: len(stated)] and any(feature.seen(tree) for tree in trees):
            since = ".".join(map(str, feature.since))
            return f"{title} {version} has no {feature.title}; it came with {since}"
    return ""
