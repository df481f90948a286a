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
from evalcore.sqlkit.rewrite_rules.parsed_query import Base, ParsedQuery, iter_own_nodes

Clause = Literal["where", "having", "qualify", "on"]
RANGE = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)
COMPARISON = (*RANGE, exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)
MATCHING = (exp.Like, exp.ILike)
_PREDICATE = (*COMPARISON, *MATCHING, exp.In)
#: What may stand around a column that is compared as it is.
_PLAIN = (*_PREDICATE, exp.And, exp.Or, exp.Not, exp.Is, exp.Tuple, exp.Escape)


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
    def is_filter(self) -> bool:
        """Whether it is about one table; a join condition is about two."""
        return self.sources == 1

    @property
    def weight(self) -> int:
        """BETWEEN is two conditions in one."""
        return 2 if isinstance(self.node, exp.Between) else 1


def list_conditions(parsed: ParsedQuery) -> list[Condition]:
    """The conjuncts of all SELECTs of a query."""
    if not parsed.conditions:
        parsed.conditions.extend(
            _build_condition(parsed, scope, clause, node)
            for scope in parsed.scopes
            for clause, whole in _iter_clauses(scope.expression)
            for node in _iter_conjuncts(whole)
        )
    return parsed.conditions


def _iter_clauses(select: exp.Expr) -> Iterator[tuple[Clause, exp.Expr]]:
    for clause in ("where", "having", "qualify"):
        if select.args.get(clause) is not None:
            yield clause, select.args[clause].this
    for join in select.args.get("joins") or ():
        if join.args.get("on") is not None:
            yield "on", join.args["on"]


def _iter_conjuncts(whole: exp.Expr) -> Iterator[exp.Expr]:
    return whole.flatten() if isinstance(whole, exp.And) else iter((whole,))


def _build_condition(
    parsed: ParsedQuery, scope: Scope, clause: Clause, node: exp.Expr
) -> Condition:
    columns = [part for part in iter_own_nodes(node) if isinstance(part, exp.Column)]
    origins = [parsed.find_origin(column, scope) for column in columns]
    own = {"", *scope.selected_sources}
    return Condition(
        node=node,
        scope=scope,
        clause=clause,
        bases=frozenset(base for origin in origins for base in origin.bases),
        hops=max((origin.hops for origin in origins), default=0),
        sources=len({column.table for column in columns if column.table in own}),
    )


def iter_bases(parsed: ParsedQuery, scope: Scope, node: exp.Expr) -> Iterator[Base]:
    """The base columns in a part of a query, without those of queries within it."""
    for part in iter_own_nodes(node):
        if isinstance(part, exp.Column):
            yield from parsed.find_origin(part, scope).bases


def iter_predicates(parsed: ParsedQuery) -> Iterator[tuple[Scope, exp.Expr]]:
    """Comparisons, LIKE and IN in all conditions, whatever AND, OR and NOT are around them."""
    for condition in list_conditions(parsed):
        for node in iter_own_nodes(condition.node):
            if isinstance(node, _PREDICATE):
                yield condition.scope, node


def count_tests(parsed: ParsedQuery) -> Counter[Base]:
    """How often each base column is tested, wherever in a condition; BETWEEN is two tests."""
    test_counts: Counter[Base] = Counter()
    for condition in list_conditions(parsed):
        for node in iter_own_nodes(condition.node):
            if isinstance(node, (*_PREDICATE, exp.Is)):
                for base in set(iter_bases(parsed, condition.scope, node)):
                    test_counts[base] += 2 if isinstance(node, exp.Between) else 1
    return test_counts


def count_wrapped_and_bare(parsed: ParsedQuery) -> tuple[Counter[Base], Counter[Base]]:
    """How often a base column is compared inside an expression, and how often as it is.

    Inside also where a derived table or a subquery computes what is compared. A column under an
    aggregate counts as neither, and so does one that is compared with itself.
    """
    wrapped: Counter[Base] = Counter()
    bare: Counter[Base] = Counter()
    for condition in list_conditions(parsed):
        for column in (
            node for node in iter_own_nodes(condition.node) if isinstance(node, exp.Column)
        ):
            origin = parsed.find_origin(column, condition.scope)
            wrapped.update(origin.computed)
            around = _classify_holder(column, condition.node)
            if around is exp.Func:
                wrapped.update(origin.bases)
            elif around is exp.Predicate:
                bare.update(origin.bases)
    for scope in parsed.scopes:
        if parsed.find_role(scope) in ("exists", "in", "scalar"):
            wrapped.update(_computed_outside(parsed, scope))
    return wrapped, bare


def _classify_holder(column: exp.Column, condition: exp.Expr) -> type[exp.Expr] | None:
    """How a condition uses a column: within an expression (Func), compared (Predicate) or neither
    (None)."""
    node: exp.Expr | None = column
    while node is not None and node is not condition:
        node = node.parent
        if isinstance(node, exp.AggFunc | exp.Window):
            return None
        if not isinstance(node, _PLAIN):
            return exp.Func
    holder = column.parent
    if not isinstance(holder, _PREDICATE):
        return None
    return exp.Predicate if sum(side == column for side in list_sides(holder)) == 1 else None


def _computed_outside(parsed: ParsedQuery, scope: Scope) -> Iterator[Base]:
    """Columns of the query around a subquery in the expressions that the subquery gives."""
    for select in scope.expression.expressions if isinstance(scope.expression, exp.Select) else ():
        value = select.unalias()
        for column in iter_own_nodes(value) if not isinstance(value, exp.Column) else ():
            if isinstance(column, exp.Column) and column.table not in scope.selected_sources:
                yield from parsed.find_origin(column, scope).bases


def collect_literals(node: exp.Expr) -> frozenset[str]:
    """The constants in a part of a query, as text."""
    return frozenset(part.name for part in iter_own_nodes(node) if isinstance(part, exp.Literal))


def is_same_condition(a: Condition, b: Condition) -> bool:
    """Whether two conditions may be one that was moved: on columns of a name, with a constant.

    A rewrite changes the form of a condition and the table whose column it is about, not both the
    name of the column and the constants.
    """
    names = {name for _, name in a.bases} & {name for _, name in b.bases}
    constants = collect_literals(a.node)
    if not names or isinstance(b.node, exp.Or) > isinstance(a.node, exp.Or):
        return False
    if constants:
        return bool(constants & collect_literals(b.node))
    return a.bases == b.bases and type(a.node) is type(b.node)


def list_sides(predicate: exp.Expr) -> list[exp.Expr]:
    """What a predicate compares with each other."""
    listed = [item for item in predicate.expressions if isinstance(item, exp.Expr)]
    named = (predicate.args.get(name) for name in ("this", "expression", "low", "high"))
    return [*(part for part in named if isinstance(part, exp.Expr)), *listed]


def is_prefix_match(node: exp.Expr) -> bool:
    """Whether a node is a LIKE with a literal pattern that begins with a letter."""
    pattern = node.args.get("expression") if isinstance(node, MATCHING) else None
    return isinstance(pattern, exp.Literal) and pattern.name[:1] not in ("", "%", "_")
