"""Rewrites of conditions: where they stand, and in what form they compare a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from evalcore.sqlkit.rewrite_rules.conditions import (
    Condition,
    alike,
    bases_within,
    conditions,
    literals,
    predicates,
    prefix_match,
    sides,
    tests,
    wrapped_and_bare,
)
from evalcore.sqlkit.rewrite_rules.counts import disjunctions
from evalcore.sqlkit.rewrite_rules.reading import Base, Reading, own_nodes


def conditions_sank(before: Reading, after: Reading) -> bool:
    """A condition stands nearer to the stored tables than it did, or over fewer of them.

    A join condition sinks where it became a condition of a derived table or LATERAL.
    """
    was = [c for c in conditions(before) if c.node.find(exp.AggFunc) is None]
    now = [c for c in _filters(after) if after.live(c.scope)]
    return any(
        alike(high, low) and _lower(before, high, after, low) and (high.filters or nested)
        for low in now
        for nested in (after.nested(low.scope),)
        for high in was
    )


def _filters(reading: Reading) -> list[Condition]:
    """The conditions on one table; those on groups can stand nowhere else."""
    return [c for c in conditions(reading) if c.filters and c.node.find(exp.AggFunc) is None]


def _lower(before: Reading, high: Condition, after: Reading, low: Condition) -> bool:
    if low.hops < high.hops:
        return True
    over, under = before.tables_beneath(high.scope), after.tables_beneath(low.scope)
    return after.nested(low.scope) and under <= over and under != over


def having_sank(before: Reading, after: Reading) -> bool:
    """A condition on groups is one on the rows that are grouped."""
    lost = _most_of(before, "having") - _most_of(after, "having")
    high = [c for c in conditions(before) if c.clause == "having" and c.bases in lost]
    low = [c for c in conditions(after) if c.clause != "having" and c.hops == 0]
    return any(alike(one, other) for one in high for other in low)


def _most_of(reading: Reading, clause: str) -> Counter[frozenset[Base]]:
    return Counter(c.bases for c in conditions(reading) if c.clause == clause and c.bases)


def column_laid_bare(before: Reading, after: Reading) -> bool:
    """A column is compared inside an expression less often, and as it is more often."""
    wrapped_before, bare_before = wrapped_and_bare(before)
    wrapped_after, bare_after = wrapped_and_bare(after)
    return any(bare_after[base] > bare_before[base] for base in wrapped_before - wrapped_after)


def prefix_made_range(before: Reading, after: Reading) -> bool:
    """A column has fewer LIKEs with a prefix, and has bounds that fit one of the prefixes."""
    lost = _prefixes(before)
    for base, prefixes in _prefixes(after).items():
        lost[base] = lost.get(base, Counter()) - prefixes
    lows, highs = _bounds(after)
    return any(
        low.startswith(prefix) and any(_near(high, prefix) for high in highs.get(base, ()))
        for base, prefixes in lost.items()
        for prefix in prefixes
        for low in lows.get(base, ())
    )


def _near(high: str, prefix: str) -> bool:
    """Whether a bound lies beyond a prefix, with a first character that is the next at most."""
    return high > prefix and ord(high[0]) - ord(prefix[0]) <= 1


def _prefixes(reading: Reading) -> dict[Base, Counter[str]]:
    found: dict[Base, Counter[str]] = {}
    for scope, node in predicates(reading):
        if prefix_match(node):
            prefix = node.expression.name.casefold().split("%")[0].split("_")[0]
            for base in set(bases_within(reading, scope, node)):
                found.setdefault(base, Counter())[prefix] += 1
    return found


def _bounds(reading: Reading) -> tuple[dict[Base, list[str]], dict[Base, list[str]]]:
    """The constants that are lower and upper bounds of columns as they are."""
    lows: dict[Base, list[str]] = {}
    highs: dict[Base, list[str]] = {}
    for scope, node in predicates(reading):
        for column, bound, low in _told_bounds(node):
            constant = bound.find(exp.Literal)
            if isinstance(column, exp.Column) and constant is not None and constant.name:
                for base in reading.origin(column, scope).bases:
                    (lows if low else highs).setdefault(base, []).append(constant.name.casefold())
    return lows, highs


def _told_bounds(node: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr, bool]]:
    """A column, what bounds it, and whether from below."""
    if isinstance(node, exp.Between):
        yield node.this, node.args["low"], True
        yield node.this, node.args["high"], False
    elif isinstance(node, exp.GT | exp.GTE | exp.LT | exp.LTE):
        below = isinstance(node, exp.GT | exp.GTE)
        yield node.this, node.expression, below
        yield node.expression, node.this, not below


def needless_condition_gone(before: Reading, after: Reading) -> bool:
    """A column has fewer conditions in one SELECT, and has one still or lost an IS NOT NULL.

    In all it is tested less often, so that none was only moved or written into another.
    """
    was, now = _most_conditions(before), _most_conditions(after)
    fewer = tests(before) - tests(after)
    null_tests = _tests_for_null(before) - _tests_for_null(after)
    return any(
        (now[bases] > 0 or bases in null_tests) and all(base in fewer for base in bases)
        for bases in was - now
    )


def _most_conditions(reading: Reading) -> Counter[frozenset[Base]]:
    """The most conditions that one SELECT has on the same columns, without those by a query."""
    here: dict[int, Counter[frozenset[Base]]] = {}
    for condition in conditions(reading):
        if condition.bases and not condition.node.find(exp.Query):
            counted = here.setdefault(id(condition.scope), Counter())
            counted[condition.bases] += condition.weight
    most: Counter[frozenset[Base]] = Counter()
    for counted in here.values():
        most |= counted
    return most


def _tests_for_null(reading: Reading) -> Counter[frozenset[Base]]:
    return Counter(
        condition.bases
        for condition in conditions(reading)
        if isinstance(condition.node, exp.Not) and isinstance(condition.node.this, exp.Is)
    )


def listed(before: Reading, after: Reading) -> bool:
    """There are fewer ORs, and a column that was in one has more values in IN or = ANY."""
    in_or = {
        base
        for condition in conditions(before)
        for node in own_nodes(condition.node)
        if isinstance(node, exp.Or) and not isinstance(node.parent, exp.Or)
        for base in bases_within(before, condition.scope, node)
    }
    more = _listed_values(after) - _listed_values(before)
    return disjunctions(after) < disjunctions(before) and any(base in more for base in in_or)


def _listed_values(reading: Reading) -> Counter[Base]:
    found: Counter[Base] = Counter()
    for scope, node in predicates(reading):
        if isinstance(node.parent, exp.Not) or not isinstance(node.this, exp.Column):
            continue
        arrays = [a for side in sides(node) if isinstance(side, exp.Any) for a in _arrays(side)]
        values = len(node.expressions) if isinstance(node, exp.In) else sum(arrays)
        for base in reading.origin(node.this, scope).bases:
            found[base] += values
    return found


def _arrays(node: exp.Expr) -> Iterator[int]:
    return (len(array.expressions) for array in node.find_all(exp.Array))


#: What a condition is about: base columns and constants.
_Topic = frozenset[Base | str]


def split_into_branches(before: Reading, after: Reading) -> bool:
    """There are more UNIONs; two sides of an OR stand in a branch each, and together nowhere."""
    if _unions(after) <= _unions(before):
        return False
    within = _by_query(after)
    branches = [
        [_topic(after, scope, c.node, within) for c in within.get(id(scope.expression), ())]
        for scope in after.scopes
        if after.role(scope) == "branch"
    ]
    for one, other in _pairs_of_sides(before):
        places = {n for n, branch in enumerate(branches) if _covered(one, other, branch)}
        others = {n for n, branch in enumerate(branches) if _covered(other, one, branch)}
        together = any(one | other <= topic for branch in branches for topic in branch)
        if places and others and len(places | others) > 1 and not together:
            return True
    return False


def _unions(reading: Reading) -> int:
    return sum(1 for _ in reading.tree.find_all(exp.Union))


def _pairs_of_sides(reading: Reading) -> Iterator[tuple[_Topic, _Topic]]:
    """The sides of each OR, each with the next, and without what both are about."""
    within = _by_query(reading)
    for condition in conditions(reading):
        for node in own_nodes(condition.node):
            if isinstance(node, exp.Or) and not isinstance(node.parent, exp.Or):
                operands = (_topic(reading, condition.scope, s, within) for s in node.flatten())
                for one, other in pairwise(operands):
                    yield one - other, other - one


def _by_query(reading: Reading) -> dict[int, list[Condition]]:
    """The conditions by the id of the SELECT that they are of."""
    found: dict[int, list[Condition]] = {}
    for condition in conditions(reading):
        found.setdefault(id(condition.scope.expression), []).append(condition)
    return found


def _topic(
    reading: Reading, scope: Scope, node: exp.Expr, within: dict[int, list[Condition]]
) -> _Topic:
    """Of a whole condition, queries within it included."""
    found: set[Base | str] = {*bases_within(reading, scope, node), *literals(node)}
    for query in node.find_all(exp.Query):
        for condition in within.get(id(query), ()):
            found |= {*condition.bases, *literals(condition.node)}
    return frozenset(found)


def _covered(side: _Topic, other: _Topic, branch: Sequence[_Topic]) -> bool:
    """Whether a branch is about one side of an OR, apart from what it says of the other side."""
    about: set[Base | str] = set()
    for topic in branch:
        if not topic & other:
            about |= topic
    return bool(side) and side <= about
