"""What can be counted in a query: how often it reads, joins, nests, sorts, groups and unites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, ScopeType

from evalcore.sqlkit.rewrite_rules.conditions import COMPARISON
from evalcore.sqlkit.rewrite_rules.reading import Reading, outputs_of

Count = Callable[[Reading], int]
#: A LIMIT that limits nothing, as some write it only to keep an ORDER BY.
_ENDLESS = 10**9


def nodes(*kinds: type[exp.Expr]) -> Count:
    """Counts the nodes of some kinds, wherever they stand."""
    return lambda reading: sum(1 for _ in reading.tree.find_all(*kinds))


def reads(reading: Reading) -> Counter[str]:
    """The stored tables, as often as they are named."""
    return Counter(table for scope in reading.scopes for table in reading.base_tables(scope))


def nested_reads(reading: Reading) -> Counter[str]:
    """The stored tables that are read in derived tables and scalar subqueries."""
    return Counter(
        table
        for scope in reading.scopes
        if reading.role(scope) in ("derived", "lateral", "scalar")
        for table in reading.base_tables(scope)
    )


def joins(reading: Reading) -> int:
    """Joins, those written with a comma too."""
    return nodes(exp.Join)(reading)


def outer_joins(reading: Reading) -> Counter[frozenset[str]]:
    """Outer joins by the stored tables on the side that may be missing."""
    found: Counter[frozenset[str]] = Counter()
    for scope in reading.scopes:
        for join in scope.expression.args.get("joins") or ():
            if join.side in ("LEFT", "FULL"):
                found[_behind(reading, scope, join.this)] += 1
            if join.side in ("RIGHT", "FULL"):
                found[_behind(reading, scope, scope.expression.args["from_"].this)] += 1
    return found


def _behind(reading: Reading, scope: Scope, node: exp.Expr) -> frozenset[str]:
    """The stored tables behind one source of a FROM."""
    source = scope.sources.get(node.alias_or_name)
    if isinstance(source, exp.Table):
        return frozenset((source.name,))
    if not isinstance(source, Scope):
        return frozenset()
    return frozenset(t for part in source.traverse() for t in reading.base_tables(part))


def derived(reading: Reading) -> int:
    """Derived tables, laterals and CTEs."""
    return sum(reading.role(scope) in ("derived", "lateral") for scope in reading.scopes)


def scalars(reading: Reading) -> int:
    """Subqueries that stand for a value."""
    return sum(reading.role(scope) == "scalar" for scope in reading.scopes)


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


def missing_partner(reading: Reading) -> int:
    """NOT EXISTS, outer joins and EXCEPT: other ways to say NOT IN."""
    negated = (node.this for node in reading.tree.find_all(exp.Not))
    exists = sum(isinstance(node, exp.Exists) for node in negated)
    outer = sum(bool(join.side) for join in reading.tree.find_all(exp.Join))
    return exists + outer + nodes(exp.Except)(reading)


def _semi(node: exp.Expr) -> bool:
    if isinstance(node, exp.In):
        return node.args.get("query") is not None
    return isinstance(node, exp.Exists)


def compared_counts(reading: Reading) -> int:
    """Comparisons of a subquery that only counts."""
    return sum(
        1
        for node in reading.tree.find_all(*COMPARISON)
        for side in (node.this, node.args.get("expression"))
        if isinstance(side, exp.Subquery) and _counts(side.unnest())
    )


def _counts(query: exp.Expr) -> bool:
    selects = query.selects if isinstance(query, exp.Select) else []
    return len(selects) == 1 and isinstance(selects[0].unalias(), exp.Count)


def unused_outputs(reading: Reading) -> int:
    """Columns of derived tables and CTEs that no query reads."""
    return sum(
        len([name for name in outputs_of(scope) if name not in used])
        for scope, used in _uses(reading)
    )


def _uses(reading: Reading) -> Iterator[tuple[Scope, set[str]]]:
    for scope in reading.scopes:
        if reading.role(scope) != "derived":
            continue
        readers = [
            (reader, alias)
            for reader in reading.scopes
            for alias, source in reader.sources.items()
            if source is scope
        ]
        used = {
            column.name
            for reader, alias in readers
            for column in reader.columns
            if column.table in (alias, "")
        }
        if any(reader.expression.find(exp.Star) in reader.stars for reader, _ in readers):
            used.update(outputs_of(scope))
        yield scope, used


def idle_orders(reading: Reading) -> int:
    """ORDER BY of queries within the query that has no LIMIT to serve."""
    inner = (query for query in reading.tree.find_all(exp.Query) if query is not reading.tree)
    return sum(query.args.get("order") is not None and not _limited(query) for query in inner)


def inner_limits(reading: Reading) -> int:
    """LIMITs of derived tables, CTEs and branches of set operations."""
    return sum(
        _limited(scope.expression)
        for scope in reading.scopes
        if reading.role(scope) in ("derived", "branch")
    )


def _limited(query: exp.Expr) -> bool:
    limit = query.args.get("limit")
    count = limit.args.get("expression") or limit.args.get("count") if limit else None
    endless = isinstance(count, exp.Literal) and count.is_int and int(count.name) >= _ENDLESS
    return limit is not None and not endless


def distinct_unions(reading: Reading) -> int:
    """UNIONs that remove duplicates."""
    return sum(bool(node.args.get("distinct")) for node in reading.tree.find_all(exp.Union))


def plain_unions(reading: Reading) -> int:
    """UNION ALLs."""
    return nodes(exp.Union)(reading) - distinct_unions(reading)


def inner_groups(reading: Reading) -> int:
    """Derived tables and CTEs, or branches of them, that group or aggregate."""
    return sum(reading.nested(scope) and _aggregates(scope.expression) for scope in reading.scopes)


def _aggregates(query: exp.Expr) -> bool:
    if query.args.get("group") is not None:
        return True
    selects = query.selects if isinstance(query, exp.Select) else []
    return any(isinstance(found, exp.AggFunc) for s in selects for found in (s.unalias(),))


def listed_values(reading: Reading) -> int:
    """Values in IN lists and in the arrays of = ANY."""
    lists = [len(node.expressions) for node in reading.tree.find_all(exp.In)]
    arrays = [
        len(array.expressions)
        for node in reading.tree.find_all(exp.Any)
        for array in node.find_all(exp.Array)
    ]
    return sum(lists) + sum(arrays)


_OPERATION = (*COMPARISON, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.DPipe)
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
