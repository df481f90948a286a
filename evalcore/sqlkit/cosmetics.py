"""Disguises of a statement that save nothing: the floors of whatever pays for a rewrite."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

ROWS = 1_000  # of the limit that is added


def disguise_query(kind: str, sql: str, dialect: str) -> str:
    """The statement in a CTE (`cte`), with a limit where it has none (`limit`), or with a condition
    that always holds (`tautology`); as it is where it cannot be read.

    Raises KeyError for another kind.
    """
    change = {"cte": _in_cte, "limit": _with_limit, "tautology": _with_tautology}[kind]
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
        return change(tree).sql(dialect=dialect) if isinstance(tree, exp.Query) else sql
    except (SqlglotError, RecursionError, ValueError):
        return sql


def _in_cte(tree: exp.Query) -> exp.Query:
    return exp.select("*").from_("q").with_("q", as_=tree)


def _with_limit(tree: exp.Query) -> exp.Query:
    return tree if tree.args.get("limit") else tree.limit(ROWS)


def _with_tautology(tree: exp.Query) -> exp.Query:
    """In the first branch of a union."""
    branch: exp.Expr = tree
    while isinstance(branch, exp.SetOperation | exp.Subquery):
        branch = branch.this
    if isinstance(branch, exp.Select):
        branch.where("1 = 1", copy=False)
    return tree
