"""The conditions of a query: the conjuncts of WHERE, HAVING and ON, and what they compare.

Columns are named by the base columns behind them, so that a condition is known again wherever a
rewrite has moved it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from evalcore.records import Record
from evalcore.sqlkit.rewrite_rules.reading import Base, Reading, own_nodes

Clause = Literal["where", "having", "on"]
RANGE = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)
COMPARISON = (*RANGE, exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)
MATCHING = (exp.Like, exp.ILike)
_PREDICATE = (*COMPARISON, *MATCHING, exp.In)


class Condition(Record, frozen=True):
    """One conjunct. `bases` are the base columns in it, not in queries within it; `hops` through
    how many derived tables the farthest came; `sources` how many tables of its SELECT it is about,
    those of a query around it not counted."""

    node: Any
    scope: Any
    clause: Clause
    bases: frozenset[Base]
    hops: int
    sources: int

    @property
    def filters(self) -> bool:
        """Whether it is about one table; a join condition is about two."""
        return self.sources == 1

    @property
    def weight(self) -> int:
        """BETWEEN is two conditions in one."""
        return 2 if isinstance(self.node, exp.Between) else 1


def conditions(reading: Reading) -> list[Condition]:
    """The conjuncts of all SELECTs of a query."""
    return [
        _condition(reading, scope, clause, node)
        for scope in reading.scopes
        for clause, whole in _clauses(scope.expression)
        for node in _conjuncts(whole)
    ]


def _clauses(select: exp.Expr) -> Iterator[tuple[Clause, exp.Expr]]:
    where, having = select.args.get("where"), select.args.get("having")
    if where is not None:
        yield "where", where.this
    if having is not None:
        yield "having", having.this
    for join in select.args.get("joins") or ():
        if join.args.get("on") is not None:
            yield "on", join.args["on"]


def _conjuncts(whole: exp.Expr) -> Iterator[exp.Expr]:
    return whole.flatten() if isinstance(whole, exp.And) else iter((whole,))


def _condition(reading: Reading, scope: Scope, clause: Clause, node: exp.Expr) -> Condition:
    columns = [found for found in own_nodes(node) if isinstance(found, exp.Column)]
    origins = [reading.origin(column, scope) for column in columns]
    own = {"", *scope.selected_sources}
    return Condition(
        node=node,
        scope=scope,
        clause=clause,
        bases=frozenset(base for origin in origins for base in origin.bases),
        hops=max((origin.hops for origin in origins), default=0),
        sources=len({column.table for column in columns if column.table in own}),
    )


def bases_within(reading: Reading, scope: Scope, node: exp.Expr) -> Iterator[Base]:
    """The base columns in a part of a query, without those of queries within it."""
    for found in own_nodes(node):
        if isinstance(found, exp.Column):
            yield from reading.origin(found, scope).bases


def predicates(reading: Reading) -> Iterator[tuple[Scope, exp.Expr]]:
    """Comparisons, LIKE and IN in all conditions, whatever AND, OR and NOT are around them."""
    for condition in conditions(reading):
        for node in own_nodes(condition.node):
            if isinstance(node, _PREDICATE):
                yield condition.scope, node


def wrapped_and_bare(reading: Reading) -> tuple[Counter[Base], Counter[Base]]:
    """How often a base column is compared inside an expression, and how often as it is.

    A column under an aggregate counts as neither.
    """
    wrapped: Counter[Base] = Counter()
    bare: Counter[Base] = Counter()
    for scope, node in predicates(reading):
        for side in sides(node):
            if isinstance(side, exp.Column):
                bare.update(reading.origin(side, scope).bases)
            elif side.find(exp.AggFunc, exp.Query) is None:
                wrapped.update(bases_within(reading, scope, side))
    return wrapped, bare


def sides(predicate: exp.Expr) -> list[exp.Expr]:
    """What a predicate compares with each other."""
    listed = [item for item in predicate.expressions if isinstance(item, exp.Expr)]
    named = (predicate.args.get(name) for name in ("this", "expression", "low", "high"))
    return [*(part for part in named if isinstance(part, exp.Expr)), *listed]


def prefix_match(node: exp.Expr) -> bool:
    """Whether a node is a LIKE with a literal pattern that begins with a letter."""
    pattern = node.args.get("expression") if isinstance(node, MATCHING) else None
    return isinstance(pattern, exp.Literal) and pattern.name[:1] not in ("", "%", "_")
