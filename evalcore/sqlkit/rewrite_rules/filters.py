"""Rewrites of conditions: where they stand, in what form and with what value they compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from evalcore.sqlkit.rewrite_rules.conditions import (
    Condition,
    collect_literals,
    count_tests,
    count_wrapped_and_bare,
    is_prefix_match,
    is_same_condition,
    iter_bases,
    iter_predicates,
    list_conditions,
    list_sides,
)
from evalcore.sqlkit.rewrite_rules.counts import count_disjunctions
from evalcore.sqlkit.rewrite_rules.parsed_query import Base, ParsedQuery, iter_own_nodes
from evalcore.sqlkit.schema import classify_type


def is_condition_pushed_down(before: ParsedQuery, after: ParsedQuery) -> bool:
    """A condition stands nearer to the stored tables than it did, or over fewer of them.

    A join condition sinks where it became a condition of a derived table or LATERAL. A test for
    NULL that was added sinks nowhere.
    """
    added = _count_null_tests(after) - _count_null_tests(before)
    was = [c for c in list_conditions(before) if c.node.find(exp.AggFunc) is None]
    # on one table: conditions on groups can stand nowhere else
    filters = [c for c in list_conditions(after) if c.is_filter and not c.node.find(exp.AggFunc)]
    now = [c for c in filters if after.is_live(c.scope) and c.bases not in added]
    return any(
        is_same_condition(high, low)
        and _is_lower(before, high, after, low)
        and (high.is_filter or nested)
        for low in now
        for nested in (after.is_nested(low.scope),)
        for high in was
    )


def _is_lower(before: ParsedQuery, high: Condition, after: ParsedQuery, low: Condition) -> bool:
    if low.hops < high.hops:
        return True
    over, under = before.count_tables_beneath(high.scope), after.count_tables_beneath(low.scope)
    return after.is_nested(low.scope) and under <= over and under != over


def is_having_pushed_down(before: ParsedQuery, after: ParsedQuery) -> bool:
    """A condition on groups is one on the rows that are grouped."""
    lost = _count_clause_bases(before, "having") - _count_clause_bases(after, "having")
    high = [c for c in list_conditions(before) if c.clause == "having" and c.bases in lost]
    low = [c for c in list_conditions(after) if c.clause != "having" and c.hops == 0]
    return any(is_same_condition(condition, other) for condition in high for other in low)


def _count_clause_bases(parsed: ParsedQuery, clause: str) -> Counter[frozenset[Base]]:
    return Counter(c.bases for c in list_conditions(parsed) if c.clause == clause and c.bases)


def is_column_unwrapped(before: ParsedQuery, after: ParsedQuery) -> bool:
    """A column is compared inside an expression less often, and as it is more often."""
    wrapped_before, bare_before = count_wrapped_and_bare(before)
    wrapped_after, bare_after = count_wrapped_and_bare(after)
    return any(bare_after[base] > bare_before[base] for base in wrapped_before - wrapped_after)


def is_prefix_made_range(before: ParsedQuery, after: ParsedQuery) -> bool:
    """A column has fewer LIKEs with a prefix, and has bounds that fit one of the prefixes."""
    lost = _collect_prefixes(before)
    for base, prefixes in _collect_prefixes(after).items():
        lost[base] = lost.get(base, Counter()) - prefixes
    lows, highs = _collect_bounds(after)
    return any(
        low.startswith(prefix)
        and any(  # beyond the prefix, with a first character that is the next at most
            high > prefix and ord(high[0]) - ord(prefix[0]) <= 1 for high in highs.get(base, ())
        )
        for base, prefixes in lost.items()
        for prefix in prefixes
        for low in lows.get(base, ())
    )


def _collect_prefixes(parsed: ParsedQuery) -> dict[Base, Counter[str]]:
    prefixes_by_base: dict[Base, Counter[str]] = {}
    for scope, node in iter_predicates(parsed):
        if is_prefix_match(node):
            prefix = node.expression.name.casefold().split("%")[0].split("_")[0]
            for base in set(iter_bases(parsed, scope, node)):
                prefixes_by_base.setdefault(base, Counter())[prefix] += 1
    return prefixes_by_base


def _collect_bounds(parsed: ParsedQuery) -> tuple[dict[Base, list[str]], dict[Base, list[str]]]:
    """The constants that are lower and upper bounds of columns as they are."""
    lows: dict[Base, list[str]] = {}
    highs: dict[Base, list[str]] = {}
    for scope, node in iter_predicates(parsed):
        for column, bound, low in _iter_bounds(node):
            constant = bound.find(exp.Literal)
            if isinstance(column, exp.Column) and constant is not None and constant.name:
                for base in parsed.find_origin(column, scope).bases:
                    (lows if low else highs).setdefault(base, []).append(constant.name.casefold())
    return lows, highs


def _iter_bounds(node: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr, bool]]:
    """Yield columns with their bound, and whether it is a lower bound."""
    if isinstance(node, exp.Between):
        yield node.this, node.args["low"], True
        yield node.this, node.args["high"], False
    elif isinstance(node, exp.GT | exp.GTE | exp.LT | exp.LTE):
        below = isinstance(node, exp.GT | exp.GTE)
        yield node.this, node.expression, below
        yield node.expression, node.this, not below


def is_redundant_condition_removed(before: ParsedQuery, after: ParsedQuery) -> bool:
    """A column has fewer conditions in one SELECT, and has one still or lost an IS NOT NULL.

    In all it is tested less often, so that none was only moved or written into another.
    """
    was, now = _count_max_conditions(before), _count_max_conditions(after)
    fewer = count_tests(before) - count_tests(after)
    null_tests = _count_null_tests(before) - _count_null_tests(after)
    return any(
        (now[bases] > 0 or bases in null_tests) and all(base in fewer for base in bases)
        for bases in was - now
    )


def _count_max_conditions(parsed: ParsedQuery) -> Counter[frozenset[Base]]:
    """The most conditions that one SELECT has on the same columns, without those by a query."""
    here: dict[int, Counter[frozenset[Base]]] = {}
    for condition in list_conditions(parsed):
        if condition.bases and not condition.node.find(exp.Query):
            counted = here.setdefault(id(condition.scope), Counter())
            counted[condition.bases] += condition.weight
    maximum: Counter[frozenset[Base]] = Counter()
    for counted in here.values():
        maximum |= counted
    return maximum


def _count_null_tests(parsed: ParsedQuery) -> Counter[frozenset[Base]]:
    negated = (c for c in list_conditions(parsed) if isinstance(c.node, exp.Not))
    return Counter(c.bases for c in negated if isinstance(c.node.this, exp.Is))


def is_or_made_in_list(before: ParsedQuery, after: ParsedQuery) -> bool:
    """There are fewer ORs, and a column that was in one has more values in IN or = ANY."""
    in_or = {
        base
        for condition in list_conditions(before)
        for node in iter_own_nodes(condition.node)
        if isinstance(node, exp.Or) and not isinstance(node.parent, exp.Or)
        for base in iter_bases(before, condition.scope, node)
    }
    more = _count_listed_values(after) - _count_listed_values(before)
    return count_disjunctions(after) < count_disjunctions(before) and any(
        base in more for base in in_or
    )


def _count_listed_values(parsed: ParsedQuery) -> Counter[Base]:
    values_by_base: Counter[Base] = Counter()
    for scope, node in iter_predicates(parsed):
        if isinstance(node.parent, exp.Not) or not isinstance(node.this, exp.Column):
            continue
        arrays = [
            a
            for side in list_sides(node)
            if isinstance(side, exp.Any)
            for a in (len(array.expressions) for array in side.find_all(exp.Array))
        ]
        values = len(node.expressions) if isinstance(node, exp.In) else sum(arrays)
        for base in parsed.find_origin(node.this, scope).bases:
            values_by_base[base] += values
    return values_by_base


#: What a condition is about: base columns and constants.
_Topic = frozenset[Base | str]


def is_or_split_into_union(before: ParsedQuery, after: ParsedQuery) -> bool:
    """There are more UNIONs; two sides of an OR stand in a branch each, and together nowhere."""
    if _count_unions(after) <= _count_unions(before):
        return False
    within = _group_by_query(after)
    branches = [
        [_collect_topic(after, scope, c.node, within) for c in within.get(id(scope.expression), ())]
        for scope in after.scopes
        if after.find_role(scope) == "branch"
    ]
    for side, other in _iter_side_pairs(before):
        branches_with_side = {
            n for n, branch in enumerate(branches) if _is_covered(side, other, branch)
        }
        others = {n for n, branch in enumerate(branches) if _is_covered(other, side, branch)}
        together = any(side | other <= topic for branch in branches for topic in branch)
        if branches_with_side and others and len(branches_with_side | others) > 1 and not together:
            return True
    return False


def _count_unions(parsed: ParsedQuery) -> int:
    return sum(1 for _ in parsed.tree.find_all(exp.Union))


def _iter_side_pairs(parsed: ParsedQuery) -> Iterator[tuple[_Topic, _Topic]]:
    """The sides of each OR, each with the next, and without what both are about."""
    within = _group_by_query(parsed)
    for condition in list_conditions(parsed):
        for node in iter_own_nodes(condition.node):
            if isinstance(node, exp.Or) and not isinstance(node.parent, exp.Or):
                operands = (
                    _collect_topic(parsed, condition.scope, s, within) for s in node.flatten()
                )
                for side, other in pairwise(operands):
                    yield side - other, other - side


def _group_by_query(parsed: ParsedQuery) -> dict[int, list[Condition]]:
    """The conditions by the id of the SELECT that they are of."""
    conditions_by_query: dict[int, list[Condition]] = {}
    for condition in list_conditions(parsed):
        conditions_by_query.setdefault(id(condition.scope.expression), []).append(condition)
    return conditions_by_query


def _collect_topic(
    parsed: ParsedQuery, scope: Scope, node: exp.Expr, within: dict[int, list[Condition]]
) -> _Topic:
    """Collect columns and literals of a whole condition, including the queries inside it."""
    topic: set[Base | str] = {*iter_bases(parsed, scope, node), *collect_literals(node)}
    for query in node.find_all(exp.Query):
        for condition in within.get(id(query), ()):
            topic |= {*condition.bases, *collect_literals(condition.node)}
    return frozenset(topic)


def _is_covered(side: _Topic, other: _Topic, branch: Sequence[_Topic]) -> bool:
    """Whether a branch is about one side of an OR, apart from what it says of the other side."""
    about: set[Base | str] = set()
    for topic in branch:
        if not topic & other:
            about |= topic
    return bool(side) and side <= about


# Comparisons of values of different kinds, which make an engine convert one of them.

#: What a column of a kind is compared with at no cost.
_FITTING: dict[str, frozenset[str]] = {
    "integer": frozenset(("integer", "boolean")),
    "decimal": frozenset(("integer", "decimal", "float")),
    "float": frozenset(("integer", "decimal", "float")),
    "text": frozenset(("text", "json")),
    "date": frozenset(("date",)),
    "timestamp": frozenset(("timestamp", "date")),
    "time": frozenset(("time",)),
    "boolean": frozenset(("boolean", "integer")),
}
_NUMBERS = frozenset(("integer", "decimal", "float"))
Fit = Literal["fit", "misfit", "unknown"]


def is_conversion_removed(before: ParsedQuery, after: ParsedQuery) -> bool:
    """A column was compared with another kind of value, and is now with its own.

    It is not compared with anything of unknown kind instead, nor inside an expression.
    """
    was, now = _count_comparisons(before), _count_comparisons(after)
    hidden = count_wrapped_and_bare(after)[0] - count_wrapped_and_bare(before)[0]
    hidden += now["unknown"] - was["unknown"]
    better = was["misfit"] - now["misfit"]
    return any(base in now["fit"] - was["fit"] and base not in hidden for base in better)


def _count_comparisons(parsed: ParsedQuery) -> dict[Fit, Counter[Base]]:
    """How often each base column is compared with a value that fits, does not, or is unknown."""
    base_counts: dict[Fit, Counter[Base]] = {
        "fit": Counter(),
        "misfit": Counter(),
        "unknown": Counter(),
    }
    for scope, node in iter_predicates(parsed):
        compared = list_sides(node)
        columns = {_find_column_kind(parsed, scope, side) for side in compared} - {""}
        others = [side for side in compared if not _find_column_kind(parsed, scope, side)]
        values = {_find_value_kind(side) for side in others}
        if node.args.get("query") is not None:
            values.add("")
        for side in compared:
            for base, kind in _iter_compared_columns(parsed, scope, side):
                cast = isinstance(side, exp.Cast | exp.TryCast)
                fit: Fit = "misfit" if cast else _classify_fit(kind, columns, values)
                base_counts[fit][base] += 1
    return base_counts


def _classify_fit(kind: str, columns: set[str], values: set[str]) -> Fit:
    """What other columns and constants are to a column of one kind.

    Columns that are numbers of different kinds compare without harm to an index.
    """
    numbers = _NUMBERS if kind in _NUMBERS else frozenset()
    others = (columns - numbers) | values - {""}  # a column is converted beside what does not fit
    if any(other not in _FITTING.get(kind, {other}) for other in others):
        return "misfit"
    return "unknown" if "" in values else "fit"


def _iter_compared_columns(
    parsed: ParsedQuery, scope: Scope, side: exp.Expr
) -> Iterator[tuple[Base, str]]:
    """The column that a side is, or casts to another kind, with its kind."""
    cast = isinstance(side, exp.Cast | exp.TryCast)
    column = side.this if cast else side
    kind = _find_column_kind(parsed, scope, column)
    harmless = cast and classify_type(side.args["to"]) == kind
    if isinstance(column, exp.Column) and kind and not harmless:
        for base in parsed.find_origin(column, scope).bases:
            yield base, kind


def _find_column_kind(parsed: ParsedQuery, scope: Scope, side: exp.Expr) -> str:
    if not isinstance(side, exp.Column):
        return ""
    for table, name in parsed.find_origin(side, scope).bases:
        stored_table = parsed.schema.find_table(table)
        column = stored_table.find_column(name) if stored_table else None
        if column is not None:
            return column.kind
    return ""


def _find_value_kind(side: exp.Expr) -> str:
    if isinstance(side, exp.Neg):
        return _find_value_kind(side.this)
    if isinstance(side, exp.Literal):
        if side.is_string:
            return "text"
        return "integer" if side.is_int else "decimal"
    if isinstance(side, exp.Cast | exp.TryCast) and isinstance(side.this, exp.Literal):
        return classify_type(side.to)
    return "boolean" if isinstance(side, exp.Boolean) else ""
