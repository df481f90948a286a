"""What can be counted in a query: how often it joins, nests, sorts, groups and unites."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, ScopeType

from evalcore.sqlkit.rewrite_rules.conditions import COMPARISON
from evalcore.sqlkit.rewrite_rules.parsed_query import (
    ParsedQuery,
    iter_own_nodes,
    list_output_names,
)

Count = Callable[[ParsedQuery], int]
#: A LIMIT that limits nothing, as some write it only to keep an ORDER BY.
_ENDLESS = 10**9


def node_counter(*kinds: type[exp.Expr]) -> Count:
    """Counts the nodes of some kinds, wherever they stand."""
    return lambda parsed: sum(1 for _ in parsed.tree.find_all(*kinds))


def count_joins(parsed: ParsedQuery) -> int:
    """Joins, those written with a comma too."""
    return node_counter(exp.Join)(parsed)


def count_derived_tables(parsed: ParsedQuery) -> int:
    """Derived tables, laterals and CTEs."""
    return sum(parsed.find_role(scope) in ("derived", "lateral") for scope in parsed.scopes)


def count_unread_ctes(parsed: ParsedQuery) -> int:
    """CTEs, and queries in them, that nothing reads."""
    return sum(not parsed.is_live(scope) for scope in parsed.scopes)


def count_subqueries(parsed: ParsedQuery) -> int:
    """All queries within another, but for the branches of set operations."""
    return sum(parsed.find_role(scope) not in ("root", "branch") for scope in parsed.scopes)


def count_correlated(parsed: ParsedQuery) -> int:
    """Subqueries that use a column of the query around them."""
    return sum(
        scope.is_correlated_subquery and scope.scope_type == ScopeType.SUBQUERY
        for scope in parsed.scopes
    )


def count_partner_tests(parsed: ParsedQuery) -> int:
    """EXISTS and IN with a query, negated or not."""
    return sum(_is_semi_join(node) for node in parsed.tree.find_all(exp.Exists, exp.In))


def count_semi_joins(parsed: ParsedQuery) -> int:
    """EXISTS and IN with a query, where they are not negated."""
    negated = sum(_is_semi_join(node.this) for node in parsed.tree.find_all(exp.Not))
    return count_partner_tests(parsed) - negated


def count_not_in(parsed: ParsedQuery) -> int:
    """NOT IN with a query, and its kin <> ALL."""
    negated = (node.this for node in parsed.tree.find_all(exp.Not))
    in_count = sum(isinstance(node, exp.In) and _is_semi_join(node) for node in negated)
    unequal = (node.expression for node in parsed.tree.find_all(exp.NEQ))
    return in_count + sum(isinstance(side, exp.All) for side in unequal)


def _is_semi_join(node: exp.Expr) -> bool:
    if isinstance(node, exp.In):
        return node.args.get("query") is not None
    return isinstance(node, exp.Exists)


def count_compared_counts(parsed: ParsedQuery) -> int:
    """Comparisons of a subquery that only counts."""
    return sum(1 for _ in iter_compared_queries(parsed))


def iter_compared_queries(parsed: ParsedQuery) -> Iterator[exp.Expr]:
    """The subqueries that only count, and whose number is compared."""
    for node in parsed.tree.find_all(*COMPARISON):
        for side in (node.this, node.args.get("expression")):
            if isinstance(side, exp.Subquery) and _is_count_query(side.unnest()):
                yield side.unnest()


def _is_count_query(query: exp.Expr) -> bool:
    selects = query.selects if isinstance(query, exp.Select) else []
    return len(selects) == 1 and isinstance(selects[0].unalias(), exp.Count)


def count_outputs(parsed: ParsedQuery) -> int:
    """Columns of derived tables and CTEs."""
    return sum(
        len(list_output_names(scope)) for scope in parsed.scopes if _is_derived(parsed, scope)
    )


def count_unused_outputs(parsed: ParsedQuery) -> int:
    """Columns of derived tables and CTEs that no query reads."""
    used = _collect_used_columns(parsed)
    return sum(
        name not in used[id(scope)]
        for scope in parsed.scopes
        if _is_derived(parsed, scope)
        for name in list_output_names(scope)
    )


def _is_derived(parsed: ParsedQuery, scope: Scope) -> bool:
    return parsed.find_role(scope) == "derived"


def _collect_used_columns(parsed: ParsedQuery) -> dict[int, set[str]]:
    """By scope, the names of its columns that are read."""
    used: dict[int, set[str]] = defaultdict(set)
    for reader in parsed.scopes:
        within = [source for _, source in reader.selected_sources.values()]
        for column in reader.columns:
            source = parsed.find_source(column, reader)
            for read_source in within if not column.table else (source,):
                used[id(read_source)].add(column.name)
        for source in within if reader.stars else ():
            if isinstance(source, Scope):
                used[id(source)].update(list_output_names(source))
    return used


def count_inner_orders(parsed: ParsedQuery) -> int:
    """ORDER BY of queries within the query that has no LIMIT to serve."""
    inner = (query for query in parsed.tree.find_all(exp.Query) if query is not parsed.tree)
    return sum(query.args.get("order") is not None and not find_row_limit(query) for query in inner)


def find_row_limit(query: exp.Expr, *, skipped: bool = False) -> int | None:
    """How many rows LIMIT or FETCH lets through, None for all; `skipped`: OFFSET added.

    A number that is not told as one counts as 1.
    """
    limit, offset = query.args.get("limit"), query.args.get("offset")
    if limit is None:
        return None
    count = _parse_row_count(limit.args.get("expression") or limit.args.get("count"))
    if not 0 <= count < _ENDLESS:
        return None
    return count + (_parse_row_count(offset.args.get("expression")) if offset and skipped else 0)


def _parse_row_count(node: exp.Expr | None) -> int:
    if isinstance(node, exp.Neg):
        return -_parse_row_count(node.this)
    return int(node.name) if isinstance(node, exp.Literal) and node.is_int else 1


def count_deduplicated_inputs(parsed: ParsedQuery) -> int:
    """The queries that go into a UNION which removes duplicates, directly or through another."""
    return sum(
        isinstance(scope.expression, exp.Select) and _is_deduplicated(scope.expression)
        for scope in parsed.scopes
    )


def _is_deduplicated(query: exp.Expr) -> bool:
    above = query.parent
    while isinstance(above, exp.Union | exp.Subquery):
        if above.args.get("distinct"):
            return True
        above = above.parent
    return False


def count_deduplications(parsed: ParsedQuery) -> int:
    """Set operations that remove duplicates; EXCEPT and INTERSECT count even where they do not."""
    unions = sum(bool(node.args.get("distinct")) for node in parsed.tree.find_all(exp.Union))
    return unions + node_counter(exp.Except, exp.Intersect)(parsed)


def is_aggregating(query: exp.Expr) -> bool:
    """Whether a query groups its rows, or makes one of them."""
    if query.args.get("group") is not None:
        return True
    selects = query.selects if isinstance(query, exp.Select) else []
    return any(
        isinstance(node, exp.AggFunc) and not isinstance(node.parent, exp.Window)
        for select in selects
        for node in iter_own_nodes(select)
    )


def count_aggregating_queries(parsed: ParsedQuery) -> int:
    """Queries that group their rows, or make one of them."""
    return sum(is_aggregating(scope.expression) for scope in parsed.scopes)


def count_plain_groups(parsed: ParsedQuery) -> int:
    """GROUP BYs that only remove duplicates, as no aggregate is computed over their groups."""
    return sum(
        scope.expression.args.get("group") is not None
        and not any(isinstance(node, exp.AggFunc) for node in iter_own_nodes(scope.expression))
        for scope in parsed.scopes
    )


def count_disjunctions(parsed: ParsedQuery) -> int:
    """ORs, and the ANDs under a NOT that mean one."""
    count = 0
    for node in parsed.tree.find_all(exp.Or, exp.And):
        count += isinstance(node, exp.Or) != _is_negated(node)
    return count


def _is_negated(node: exp.Expr) -> bool:
    odd, above = False, node.parent
    while isinstance(above, exp.And | exp.Or | exp.Not):
        odd ^= isinstance(above, exp.Not)
        above = above.parent
    return odd


_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.DPipe)
_OPERATION = (*COMPARISON, *_ARITHMETIC, exp.In)
_NO_CONSTANT = (
    exp.AggFunc,
    exp.Window,
    exp.Cast,
    exp.TryCast,
    exp.Array,
    exp.Connector,
    exp.Exists,
)


def count_constant_expressions(parsed: ParsedQuery) -> int:
    """Expressions of literals alone that could be one literal, and TRUE and FALSE as conditions."""
    return sum(
        _is_constant(node) and not (node.parent is not None and _is_constant(node.parent))
        for node in parsed.tree.walk()
    )


def _is_constant(node: exp.Expr) -> bool:
    if isinstance(node, exp.Boolean):
        return isinstance(node.parent, exp.Connector | exp.Where)
    if isinstance(node, exp.Subquery):
        query = node.unnest()  # such as `(SELECT 1)`
        return isinstance(query, exp.Select) and not query.find(exp.Column, exp.Table, exp.Star)
    computed = isinstance(node, _OPERATION) or (
        isinstance(node, exp.Func) and not isinstance(node, _NO_CONSTANT)
    )
    varying = (exp.Column, exp.Table, exp.Star, exp.Parameter, exp.Placeholder)
    if not computed or node.find(*varying):
        return False
    literals = sum(1 for _ in node.find_all(exp.Literal))
    return literals > 1 or (literals == 1 and isinstance(node, _OPERATION))


def count_operations(parsed: ParsedQuery) -> int:
    """Arithmetic, functions, and comparisons of literals alone."""
    return sum(
        isinstance(node, _ARITHMETIC)
        or (isinstance(node, exp.Func) and not isinstance(node, _NO_CONSTANT))
        or (isinstance(node, (*COMPARISON, exp.In, exp.Subquery)) and _is_constant(node))
        for node in parsed.tree.walk()
    )
