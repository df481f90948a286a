"""What can be counted in a query: how often it joins, nests, sorts, groups and unites."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, ScopeType

from evalcore.sqlkit.rewrite_rules.conditions import COMPARISON
from evalcore.sqlkit.rewrite_rules.reading import Reading, outputs_of, own_nodes

Count = Callable[[Reading], int]
#: A LIMIT that limits nothing, as some write it only to keep an ORDER BY.
_ENDLESS = 10**9


def nodes(*kinds: type[exp.Expr]) -> Count:
    """Counts the nodes of some kinds, wherever they stand."""
    return lambda reading: sum(1 for _ in reading.tree.find_all(*kinds))


def joins(reading: Reading) -> int:
    """Joins, those written with a comma too."""
    return nodes(exp.Join)(reading)


def derived(reading: Reading) -> int:
    """Derived tables, laterals and CTEs."""
    return sum(reading.role(scope) in ("derived", "lateral") for scope in reading.scopes)


def unread(reading: Reading) -> int:
    """CTEs, and queries in them, that nothing reads."""
    return sum(not reading.live(scope) for scope in reading.scopes)


def subqueries(reading: Reading) -> int:
    """All queries within another, but for the branches of set operations."""
    return sum(reading.role(scope) not in ("root", "branch") for scope in reading.scopes)


def correlated(reading: Reading) -> int:
    """Subqueries that use a column of the query around them."""
    return sum(
        scope.is_correlated_subquery and scope.scope_type == ScopeType.SUBQUERY
        for scope in reading.scopes
    )


def partner_tests(reading: Reading) -> int:
    """EXISTS and IN with a query, negated or not."""
    return sum(_semi(node) for node in reading.tree.find_all(exp.Exists, exp.In))


def semi_joins(reading: Reading) -> int:
    """EXISTS and IN with a query, where they are not negated."""
    negated = sum(_semi(node.this) for node in reading.tree.find_all(exp.Not))
    return partner_tests(reading) - negated


def not_in(reading: Reading) -> int:
    """NOT IN with a query, and its kin <> ALL."""
    negated = (node.this for node in reading.tree.find_all(exp.Not))
    found = sum(isinstance(node, exp.In) and _semi(node) for node in negated)
    unequal = (node.expression for node in reading.tree.find_all(exp.NEQ))
    return found + sum(isinstance(side, exp.All) for side in unequal)


def _semi(node: exp.Expr) -> bool:
    if isinstance(node, exp.In):
        return node.args.get("query") is not None
    return isinstance(node, exp.Exists)


def compared_counts(reading: Reading) -> int:
    """Comparisons of a subquery that only counts."""
    return sum(1 for _ in compared_queries(reading))


def compared_queries(reading: Reading) -> Iterator[exp.Expr]:
    """The subqueries that only count, and whose number is compared."""
    for node in reading.tree.find_all(*COMPARISON):
        for side in (node.this, node.args.get("expression")):
            if isinstance(side, exp.Subquery) and _counts(side.unnest()):
                yield side.unnest()


def _counts(query: exp.Expr) -> bool:
    selects = query.selects if isinstance(query, exp.Select) else []
    return len(selects) == 1 and isinstance(selects[0].unalias(), exp.Count)


def outputs(reading: Reading) -> int:
    """Columns of derived tables and CTEs."""
    return sum(len(outputs_of(scope)) for scope in reading.scopes if _derived(reading, scope))


def unused_outputs(reading: Reading) -> int:
    """Columns of derived tables and CTEs that no query reads."""
    used = _used(reading)
    return sum(
        name not in used[id(scope)]
        for scope in reading.scopes
        if _derived(reading, scope)
        for name in outputs_of(scope)
    )


def _derived(reading: Reading, scope: Scope) -> bool:
    return reading.role(scope) == "derived"


def _used(reading: Reading) -> dict[int, set[str]]:
    """By scope, the names of its columns that are read."""
    used: dict[int, set[str]] = defaultdict(set)
    for reader in reading.scopes:
        within = [source for _, source in reader.selected_sources.values()]
        for column in reader.columns:
            source = reading.source(column, reader)
            for one in within if not column.table else (source,):
                used[id(one)].add(column.name)
        for source in within if reader.stars else ():
            if isinstance(source, Scope):
                used[id(source)].update(outputs_of(source))
    return used


def inner_orders(reading: Reading) -> int:
    """ORDER BY of queries within the query that has no LIMIT to serve."""
    inner = (query for query in reading.tree.find_all(exp.Query) if query is not reading.tree)
    return sum(query.args.get("order") is not None and not row_limit(query) for query in inner)


def row_limit(query: exp.Expr, *, skipped: bool = False) -> int | None:
    """How many rows LIMIT or FETCH lets through, None for all; `skipped`: OFFSET added.

    A number that is not told as one counts as 1.
    """
    limit, offset = query.args.get("limit"), query.args.get("offset")
    if limit is None:
        return None
    count = _number(limit.args.get("expression") or limit.args.get("count"))
    if not 0 <= count < _ENDLESS:
        return None
    return count + (_number(offset.args.get("expression")) if offset and skipped else 0)


def _number(node: exp.Expr | None) -> int:
    if isinstance(node, exp.Neg):
        return -_number(node.this)
    return int(node.name) if isinstance(node, exp.Literal) and node.is_int else 1


def united_distinct(reading: Reading) -> int:
    """The queries that go into a UNION which removes duplicates, directly or through another."""
    return sum(
        isinstance(scope.expression, exp.Select) and _deduplicated(scope.expression)
        for scope in reading.scopes
    )


def _deduplicated(query: exp.Expr) -> bool:
    above = query.parent
    while isinstance(above, exp.Union | exp.Subquery):
        if above.args.get("distinct"):
            return True
        above = above.parent
    return False


def deduplications(reading: Reading) -> int:
    """Set operations that remove duplicates; EXCEPT and INTERSECT count even where they do not."""
    unions = sum(bool(node.args.get("distinct")) for node in reading.tree.find_all(exp.Union))
    return unions + nodes(exp.Except, exp.Intersect)(reading)


def aggregates(query: exp.Expr) -> bool:
    """Whether a query groups its rows, or makes one of them."""
    if query.args.get("group") is not None:
        return True
    selects = query.selects if isinstance(query, exp.Select) else []
    return any(
        isinstance(node, exp.AggFunc) and not isinstance(node.parent, exp.Window)
        for select in selects
        for node in own_nodes(select)
    )


def disjunctions(reading: Reading) -> int:
    """ORs, and the ANDs under a NOT that mean one."""
    found = 0
    for node in reading.tree.find_all(exp.Or, exp.And):
        found += isinstance(node, exp.Or) != _negated(node)
    return found


def _negated(node: exp.Expr) -> bool:
    odd, above = False, node.parent
    while isinstance(above, exp.And | exp.Or | exp.Not):
        odd ^= isinstance(above, exp.Not)
        above = above.parent
    return odd


_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.DPipe)
_OPERATION = (*COMPARISON, *_ARITHMETIC)
_NO_CONSTANT = (
    exp.AggFunc,
    exp.Window,
    exp.Cast,
    exp.TryCast,
    exp.Array,
    exp.Connector,
    exp.Exists,
)


def constant_expressions(reading: Reading) -> int:
    """Expressions of literals alone that could be one literal, and TRUE and FALSE as conditions."""
    return sum(
        _constant(node) and not (node.parent is not None and _constant(node.parent))
        for node in reading.tree.walk()
    )


def _constant(node: exp.Expr) -> bool:
    if isinstance(node, exp.Boolean):
        return isinstance(node.parent, exp.Connector | exp.Where)
    computed = isinstance(node, _OPERATION) or (
        isinstance(node, exp.Func) and not isinstance(node, _NO_CONSTANT)
    )
    if not computed or node.find(exp.Column, exp.Query, exp.Star, exp.Parameter, exp.Placeholder):
        return False
    literals = sum(1 for _ in node.find_all(exp.Literal))
    return literals > 1 or (literals == 1 and isinstance(node, _OPERATION))


def operations(reading: Reading) -> int:
    """Arithmetic, functions, and comparisons of literals alone."""
    return sum(
        isinstance(node, _ARITHMETIC)
        or (isinstance(node, exp.Func) and not isinstance(node, _NO_CONSTANT))
        or (isinstance(node, COMPARISON) and _constant(node))
        for node in reading.tree.walk()
    )
