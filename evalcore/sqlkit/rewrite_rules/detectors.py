"""The detectors: each tells from two queries whether one known rewrite leads from one to the other.

A detector sees form alone. That the answer is equivalent, and no worse, is for others to find out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from evalcore.errors import UsageError
from evalcore.sqlkit.rewrite_rules import counts, filters, places
from evalcore.sqlkit.rewrite_rules.counts import Count, node_counter
from evalcore.sqlkit.rewrite_rules.kinds import is_conversion_removed
from evalcore.sqlkit.rewrite_rules.parsing import PARSER_FAULTS, read_query
from evalcore.sqlkit.rewrite_rules.reading import ParsedQuery
from evalcore.sqlkit.rewrite_rules.same import is_same_statement

#: Whether a rewrite leads from the first query to the second.
Detector = Callable[[ParsedQuery, ParsedQuery], bool]


def all_fall(*counters: Count) -> Detector:
    """Every one of the counts is lower in the answer."""
    return lambda before, after: all(count(after) < count(before) for count in counters)


def all_grow(*counters: Count) -> Detector:
    """Every one of the counts is higher in the answer."""
    return lambda before, after: all(count(after) > count(before) for count in counters)


def none_grow(*counters: Count) -> Detector:
    """None of the counts is higher in the answer."""
    return lambda before, after: all(count(after) <= count(before) for count in counters)


def all_of(*detectors: Detector) -> Detector:
    return lambda before, after: all(detector(before, after) for detector in detectors)


def any_of(*detectors: Detector) -> Detector:
    return lambda before, after: any(detector(before, after) for detector in detectors)


#: Rows are kept apart from their like in another way than before: nothing was saved.
_NO_OTHER_WAY = all_of(
    none_grow(counts.count_deduplications, node_counter(exp.Window)),
    places.has_no_more_reads,
)

#: By the name that a case gives.
DETECTORS: dict[str, Detector] = {
    "predicate_pushdown": filters.is_condition_pushed_down,
    "projection_pushdown": all_fall(counts.count_unused_outputs, counts.count_outputs),
    "subquery_folding": all_of(
        all_fall(counts.count_derived_tables),
        any_of(all_fall(counts.count_subqueries), places.moved_into(places.count_outermost_reads)),
    ),
    "join_elimination": all_of(all_fall(counts.count_joins), places.has_fewer_reads),
    "outer_to_inner": places.is_join_made_inner,
    "join_to_exists": all_of(
        all_fall(counts.count_joins),
        all_grow(counts.count_semi_joins),
        places.moved_into(places.count_partner_reads),
    ),
    "sargable": filters.is_column_unwrapped,
    "implicit_conversion": is_conversion_removed,
    "like_to_range": filters.is_prefix_made_range,
    "order_by_removed": all_fall(counts.count_inner_orders, node_counter(exp.Order)),
    "distinct_removed": all_of(
        all_fall(node_counter(exp.Distinct)), none_grow(node_counter(exp.Group)), _NO_OTHER_WAY
    ),
    "group_by_removed": all_of(
        all_fall(node_counter(exp.Group)), none_grow(node_counter(exp.Distinct)), _NO_OTHER_WAY
    ),
    "having_to_where": filters.is_having_pushed_down,
    "union_to_union_all": all_of(
        all_fall(counts.count_deduplicated_inputs),
        none_grow(node_counter(exp.Distinct, exp.Group, exp.Window, exp.Except, exp.Intersect)),
        places.has_no_more_reads,
    ),
    "union_elimination": all_of(all_fall(node_counter(exp.SetOperation)), places.has_fewer_reads),
    "or_to_in": filters.is_or_made_in_list,
    "or_to_union": filters.is_or_split_into_union,
    "count_to_exists": all_of(
        all_fall(counts.count_compared_counts, node_counter(exp.AggFunc)),
        places.moved_into(places.count_partner_reads),
    ),
    "decorrelate": all_of(
        all_fall(counts.count_correlated), places.moved_out_of(places.count_correlated_reads)
    ),
    "subquery_to_window": all_of(all_grow(node_counter(exp.Window)), places.has_fewer_reads),
    "limit_pushdown": places.is_limited_sooner,
    "scalar_subquery_merged": places.has_merged_reads,
    "constant_folding": all_fall(counts.count_constant_expressions, counts.count_operations),
    "not_in_to_not_exists": all_of(
        all_fall(counts.count_not_in), places.moved_into(places.count_missing_reads)
    ),
    "aggregate_pushdown": places.is_aggregated_sooner,
    "redundant_predicate_removed": filters.is_redundant_condition_removed,
}


def has_rewrite(
    check: str, original: str, answer: str, dialect: str, schema: Sequence[str]
) -> bool | None:
    """Whether the rewrite named `check` was done on the way from `original` to `answer`.

    `schema` is the DDL of the tables. None where it cannot be told: one of the two is no single
    query that parses. Never true where both say the same (`is_same_statement`), nor for an answer
    with CTEs that nothing reads: they could hold the new form, or the old one, for show. Raises
    UsageError for an unknown name.
    """
    detector = DETECTORS.get(check)
    if detector is None:
        raise UsageError(f"rewrite {check!r} is unknown; known: {', '.join(DETECTORS)}")
    before, after = read_query(original, dialect, schema), read_query(answer, dialect, schema)
    if before is None or after is None:
        return None
    try:
        if counts.count_unread_ctes(after) > counts.count_unread_ctes(before):
            return False
        return not is_same_statement(original, answer, dialect, schema) and detector(before, after)
    except PARSER_FAULTS:
        return None
