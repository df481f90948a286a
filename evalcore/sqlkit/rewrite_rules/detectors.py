"""The detectors: each tells from two queries whether one known rewrite leads from one to the other.

A detector sees form alone. That the answer is equivalent, and no worse, is for others to find out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from sqlglot import exp

from evalcore.errors import UsageError
from evalcore.sqlkit.rewrite_rules import counts
from evalcore.sqlkit.rewrite_rules.conditions import (
    RANGE,
    Condition,
    bases_within,
    conditions,
    predicates,
    prefix_match,
    wrapped_and_bare,
)
from evalcore.sqlkit.rewrite_rules.counts import Count, nodes
from evalcore.sqlkit.rewrite_rules.kinds import conversions
from evalcore.sqlkit.rewrite_rules.reading import Base, Reading, read
from evalcore.sqlkit.rewrite_rules.same import same_statement

#: Whether a rewrite leads from the first query to the second.
Detector = Callable[[Reading, Reading], bool]


def falls(*found: Count) -> Detector:
    """Every one of the counts is lower in the answer."""
    return lambda before, after: all(count(after) < count(before) for count in found)


def grows(*found: Count) -> Detector:
    """Every one of the counts is higher in the answer."""
    return lambda before, after: all(count(after) > count(before) for count in found)


def stays(*found: Count) -> Detector:
    """None of the counts is higher in the answer."""
    return lambda before, after: all(count(after) <= count(before) for count in found)


def both(*detectors: Detector) -> Detector:
    return lambda before, after: all(detector(before, after) for detector in detectors)


def either(*detectors: Detector) -> Detector:
    return lambda before, after: any(detector(before, after) for detector in detectors)


def fewer_reads(before: Reading, after: Reading) -> bool:
    """Some table is read less often."""
    return any((counts.reads(before) - counts.reads(after)).values())


def merged_reads(before: Reading, after: Reading) -> bool:
    """Some table that several subqueries read is read by fewer of them, and is read still."""
    was, now, left = counts.reads(before), counts.reads(after), counts.nested_reads(after)
    several = {table: n for table, n in counts.nested_reads(before).items() if n > 1}
    return any(left[table] < n and 0 < now[table] < was[table] for table, n in several.items())


def outer_join_made_inner(before: Reading, after: Reading) -> bool:
    """A side that could be missing cannot any more, and its tables are still there."""
    was, now = counts.reads(before), counts.reads(after)
    return any(
        tables and all(now[table] >= was[table] for table in tables)
        for tables in counts.outer_joins(before) - counts.outer_joins(after)
    )


def conditions_sank(before: Reading, after: Reading) -> bool:
    """Conditions stand nearer to the stored tables than they did."""
    was, now = _filters(before), _filters(after)
    nearer = sum(c.hops for c in now) < sum(c.hops for c in was)
    grounded = _grounded(now) > _grounded(was) or len(now) >= len(was)
    return (nearer and grounded) or _more_within(before, after)


def _filters(reading: Reading) -> list[Condition]:
    """The conditions on one table; those on groups can stand nowhere else."""
    return [c for c in conditions(reading) if c.filters and c.node.find(exp.AggFunc) is None]


def _grounded(filters: Sequence[Condition]) -> int:
    return sum(condition.hops == 0 for condition in filters)


def _more_within(before: Reading, after: Reading) -> bool:
    """A table has more conditions in derived tables: it was read there, or taken there now."""
    was_read = {
        table
        for scope in before.scopes
        if before.nested(scope)
        for table in before.base_tables(scope)
    }
    filtered_above = {
        table
        for condition in _filters(before)
        if before.role(condition.scope) == "root"
        for table, _ in condition.bases
    }
    more = _within(after) - _within(before)
    return any(table in was_read | filtered_above for table in more)


def _within(reading: Reading) -> Counter[str]:
    """Conditions in derived tables, by the stored table they are about."""
    return Counter(
        table
        for condition in _filters(reading)
        if reading.nested(condition.scope)
        for table, _ in condition.bases
    )


def column_laid_bare(before: Reading, after: Reading) -> bool:
    """A column is compared inside an expression less often, and as it is more often."""
    wrapped_before, bare_before = wrapped_and_bare(before)
    wrapped_after, bare_after = wrapped_and_bare(after)
    return any(bare_after[base] > bare_before[base] for base in wrapped_before - wrapped_after)


def prefix_made_range(before: Reading, after: Reading) -> bool:
    """A column has fewer LIKEs with a prefix, and more bounds."""
    lost = _by_base(before, prefix_match) - _by_base(after, prefix_match)
    gained = _by_base(after, _bounds) - _by_base(before, _bounds)
    return any(base in gained for base in lost)


def _bounds(node: exp.Expr) -> bool:
    return isinstance(node, RANGE)


def _by_base(reading: Reading, wanted: Callable[[exp.Expr], bool]) -> Counter[Base]:
    return Counter(
        base
        for scope, node in predicates(reading)
        if wanted(node)
        for base in set(bases_within(reading, scope, node))
    )


def needless_condition_gone(before: Reading, after: Reading) -> bool:
    """A column has fewer conditions in one SELECT, and has one still or lost an IS NOT NULL."""
    was, now = _most_conditions(before), _most_conditions(after)
    tests = _tests_for_null(before) - _tests_for_null(after)
    return any(now[bases] > 0 or bases in tests for bases in was - now)


def _most_conditions(reading: Reading) -> Counter[frozenset[Base]]:
    """The most conditions that one SELECT has on the same columns, without those by a query."""
    most: Counter[frozenset[Base]] = Counter()
    for scope in reading.scopes:
        here: Counter[frozenset[Base]] = Counter()
        for condition in conditions(reading):
            if condition.scope is scope and condition.bases and not condition.node.find(exp.Query):
                here[condition.bases] += condition.weight
        most |= here
    return most


def _tests_for_null(reading: Reading) -> Counter[frozenset[Base]]:
    return Counter(
        condition.bases
        for condition in conditions(reading)
        if isinstance(condition.node, exp.Not) and isinstance(condition.node.this, exp.Is)
    )


def _in_clause(clause: str) -> Count:
    return lambda reading: sum(c.clause == clause for c in conditions(reading))


#: By the name that a case gives.
DETECTORS: dict[str, Detector] = {
    "predicate_pushdown": conditions_sank,
    "projection_pushdown": falls(counts.unused_outputs),
    "subquery_folding": falls(counts.derived),
    "join_elimination": both(falls(counts.joins), fewer_reads),
    "outer_to_inner": outer_join_made_inner,
    "join_to_exists": both(falls(counts.joins), grows(counts.semi_joins)),
    "sargable": column_laid_bare,
    "implicit_conversion": falls(conversions),
    "like_to_range": prefix_made_range,
    "order_by_removed": falls(counts.idle_orders),
    "distinct_removed": both(falls(nodes(exp.Distinct)), stays(nodes(exp.Group))),
    "group_by_removed": both(falls(nodes(exp.Group)), stays(nodes(exp.Distinct))),
    "having_to_where": both(falls(_in_clause("having")), grows(_in_clause("where"))),
    "union_to_union_all": both(falls(counts.distinct_unions), grows(counts.plain_unions)),
    "union_elimination": falls(nodes(exp.SetOperation)),
    "or_to_in": both(falls(nodes(exp.Or)), grows(counts.listed_values)),
    "or_to_union": both(falls(nodes(exp.Or)), grows(nodes(exp.Union))),
    "count_to_exists": both(falls(counts.compared_counts), grows(counts.partner_tests)),
    "decorrelate": falls(counts.correlated),
    "subquery_to_window": both(
        grows(nodes(exp.Window)), either(fewer_reads, falls(counts.correlated))
    ),
    "limit_pushdown": grows(counts.inner_limits),
    "scalar_subquery_merged": merged_reads,
    "constant_folding": falls(counts.constant_expressions),
    "not_in_to_not_exists": both(falls(counts.not_in), grows(counts.missing_partner)),
    "aggregate_pushdown": grows(counts.inner_groups),
    "redundant_predicate_removed": needless_condition_gone,
}


def holds(
    check: str, original: str, answer: str, dialect: str, schema: Sequence[str]
) -> bool | None:
    """Whether the rewrite named `check` was done on the way from `original` to `answer`.

    `schema` is the DDL of the tables. None where it cannot be told: one of the two is no single
    query that parses. Never true where both say the same (`same_statement`). Raises UsageError for
    an unknown name.
    """
    detector = DETECTORS.get(check)
    if detector is None:
        raise UsageError(f"rewrite {check!r} is unknown; known: {', '.join(DETECTORS)}")
    before, after = read(original, dialect, schema), read(answer, dialect, schema)
    if before is None or after is None:
        return None
    try:
        return not same_statement(original, answer, dialect, schema) and detector(before, after)
    except RecursionError:
        return None
