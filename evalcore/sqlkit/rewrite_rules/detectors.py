"""The detectors: each tells from two queries whether one known rewrite leads from one to the other.

A detector sees form alone. That the answer is equivalent, and no worse, is for others to find out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from evalcore.errors import UsageError
from evalcore.sqlkit.rewrite_rules import counts, filters, places
from evalcore.sqlkit.rewrite_rules.counts import Count, nodes
from evalcore.sqlkit.rewrite_rules.kinds import fits_again
from evalcore.sqlkit.rewrite_rules.parsing import PARSER_FAULTS, read
from evalcore.sqlkit.rewrite_rules.reading import Reading
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


#: Rows are kept apart from their like in another way than before: nothing was saved.
_NO_OTHER_WAY = both(
    stays(counts.deduplications, nodes(exp.Window)),
    places.no_more_reads,
)

#: By the name that a case gives.
DETECTORS: dict[str, Detector] = {
    "predicate_pushdown": filters.conditions_sank,
    "projection_pushdown": falls(counts.unused_outputs, counts.outputs),
    "subquery_folding": both(
        falls(counts.derived),
        either(falls(counts.subqueries), places.moved(places.outermost_reads)),
    ),
    "join_elimination": both(falls(counts.joins), places.fewer_reads),
    "outer_to_inner": places.made_inner,
    "join_to_exists": both(
        falls(counts.joins), grows(counts.semi_joins), places.moved(places.partner_reads)
    ),
    "sargable": filters.column_laid_bare,
    "implicit_conversion": fits_again,
    "like_to_range": filters.prefix_made_range,
    "order_by_removed": falls(counts.inner_orders, nodes(exp.Order)),
    "distinct_removed": both(falls(nodes(exp.Distinct)), stays(nodes(exp.Group)), _NO_OTHER_WAY),
    "group_by_removed": both(falls(nodes(exp.Group)), stays(nodes(exp.Distinct)), _NO_OTHER_WAY),
    "having_to_where": filters.having_sank,
    "union_to_union_all": both(
        falls(counts.united_distinct),
        stays(nodes(exp.Distinct, exp.Group, exp.Window, exp.Except, exp.Intersect)),
        places.no_more_reads,
    ),
    "union_elimination": both(falls(nodes(exp.SetOperation)), places.fewer_reads),
    "or_to_in": filters.listed,
    "or_to_union": filters.split_into_branches,
    "count_to_exists": both(
        falls(counts.compared_counts, nodes(exp.AggFunc)), places.moved(places.partner_reads)
    ),
    "decorrelate": both(falls(counts.correlated), places.left(places.correlated_reads)),
    "subquery_to_window": both(grows(nodes(exp.Window)), places.fewer_reads),
    "limit_pushdown": places.limited_sooner,
    "scalar_subquery_merged": places.merged_reads,
    "constant_folding": falls(counts.constant_expressions, counts.operations),
    "not_in_to_not_exists": both(falls(counts.not_in), places.moved(places.missing_reads)),
    "aggregate_pushdown": places.aggregated_sooner,
    "redundant_predicate_removed": filters.needless_condition_gone,
}


def holds(
    check: str, original: str, answer: str, dialect: str, schema: Sequence[str]
) -> bool | None:
    """Whether the rewrite named `check` was done on the way from `original` to `answer`.

    `schema` is the DDL of the tables. None where it cannot be told: one of the two is no single
    query that parses. Never true where both say the same (`same_statement`), nor for an answer
    with CTEs that nothing reads: they could hold the new form, or the old one, for show. Raises
    UsageError for an unknown name.
    """
    detector = DETECTORS.get(check)
    if detector is None:
        raise UsageError(f"rewrite {check!r} is unknown; known: {', '.join(DETECTORS)}")
    before, after = read(original, dialect, schema), read(answer, dialect, schema)
    if before is None or after is None:
        return None
    try:
        if counts.unread(after) > counts.unread(before):
            return False
        return not same_statement(original, answer, dialect, schema) and detector(before, after)
    except PARSER_FAULTS:
        return None
