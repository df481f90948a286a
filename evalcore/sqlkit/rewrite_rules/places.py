"""Where stored tables are read: in a subquery, on the optional side of a join, over and over.

That something new stands in a query proves nothing, since it can be added beside the old. So most
rewrites are told by a table that has moved: it is read in the new place, less elsewhere, and no
more often than before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from evalcore.sqlkit.rewrite_rules.counts import find_row_limit, is_aggregating
from evalcore.sqlkit.rewrite_rules.parsed_query import ParsedQuery

#: The stored tables that are read in one kind of place, as often as they are.
ReadCounter = Callable[[ParsedQuery], Counter[str]]


def _count_reads_where(parsed: ParsedQuery, predicate: Callable[[Scope], bool]) -> Counter[str]:
    reads_by_table: Counter[str] = Counter()
    for scope in parsed.scopes:
        if predicate(scope):
            for table in parsed.list_base_tables(scope):
                reads_by_table[table] += max(1, parsed.times[id(scope)])
    return reads_by_table


def count_reads(parsed: ParsedQuery) -> Counter[str]:
    """Every place; what only hands rows on counts for each of its readers."""
    return _count_reads_where(parsed, lambda scope: True)


def count_outermost_reads(parsed: ParsedQuery) -> Counter[str]:
    """The query itself, or a branch of it."""
    return _count_reads_where(
        parsed,
        lambda scope: not parsed.is_within(scope, "derived", "lateral", "exists", "in", "scalar"),
    )


def count_nested_reads(parsed: ParsedQuery) -> Counter[str]:
    """Derived tables and subqueries that stand for a value."""
    return _count_reads_where(
        parsed, lambda scope: parsed.find_role(scope) in ("derived", "lateral", "scalar")
    )


def count_partner_reads(parsed: ParsedQuery) -> Counter[str]:
    """EXISTS and IN with a query, negated or not."""
    return _count_reads_where(parsed, lambda scope: parsed.is_within(scope, "exists", "in"))


def count_correlated_reads(parsed: ParsedQuery) -> Counter[str]:
    """Subqueries that use a column of the query around them."""
    return _count_reads_where(
        parsed, lambda scope: any(s.is_correlated_subquery for s in _iter_scope_chain(scope))
    )


def count_missing_reads(parsed: ParsedQuery) -> Counter[str]:
    """NOT EXISTS, the optional side of an outer join, and what EXCEPT takes away."""
    reads_by_table = _count_reads_where(
        parsed, lambda scope: any(_is_not_exists(parsed, s) for s in _iter_scope_chain(scope))
    )
    reads_by_table += count_optional_reads(parsed)
    for scope in parsed.scopes:
        if isinstance(scope.expression, exp.Except):
            for part in scope.set_operation_scopes[1:]:
                reads_by_table += parsed.count_tables_beneath(part)
    return reads_by_table


def count_optional_reads(parsed: ParsedQuery) -> Counter[str]:
    """The sides of outer joins that may be missing."""
    reads_by_table: Counter[str] = Counter()
    for scope in parsed.scopes:
        for source in _list_optional_sources(scope):
            reads_by_table += _count_tables_behind(parsed, scope, source)
    return reads_by_table


def count_joined_reads(parsed: ParsedQuery) -> Counter[str]:
    """The sides of joins that may not be missing."""
    reads_by_table: Counter[str] = Counter()
    for scope in parsed.scopes:
        if len(scope.selected_sources) > 1:
            missing = _list_optional_sources(scope)
            for source in scope.selected_sources:
                if source not in missing:
                    reads_by_table += _count_tables_behind(parsed, scope, source)
    return reads_by_table


def _list_optional_sources(scope: Scope) -> set[str]:
    """The sources of a SELECT that an outer join may leave out."""
    first = scope.expression.args.get("from_")
    before = [first.this.alias_or_name] if first is not None else []
    missing: set[str] = set()
    for join in scope.expression.args.get("joins") or ():
        if join.side in ("RIGHT", "FULL"):
            missing.update(before)
        if join.side in ("LEFT", "FULL"):
            missing.add(join.this.alias_or_name)
        before.append(join.this.alias_or_name)
    return missing


def _count_tables_behind(parsed: ParsedQuery, scope: Scope, name: str) -> Counter[str]:
    """The stored tables behind one source of a FROM."""
    source = scope.sources.get(name)
    if isinstance(source, exp.Table):
        return Counter((source.name,))
    return parsed.count_tables_beneath(source) if isinstance(source, Scope) else Counter()


def _iter_scope_chain(scope: Scope | None) -> Iterator[Scope]:
    while scope is not None:
        yield scope
        scope = scope.parent


def _is_not_exists(parsed: ParsedQuery, scope: Scope) -> bool:
    holder = scope.expression.parent
    if isinstance(holder, exp.Subquery):
        holder = holder.parent
    return isinstance(holder, exp.Exists) and isinstance(holder.parent, exp.Not)


def has_fewer_reads(before: ParsedQuery, after: ParsedQuery) -> bool:
    """Some table is read less often."""
    return bool(count_reads(before) - count_reads(after))


def has_no_more_reads(before: ParsedQuery, after: ParsedQuery) -> bool:
    """No table is read more often."""
    return not count_reads(after) - count_reads(before)


def moved_into(counter: ReadCounter) -> Callable[[ParsedQuery, ParsedQuery], bool]:
    """Some table is read in this place more often, elsewhere less, and in all no more often."""

    def has_moved(before: ParsedQuery, after: ParsedQuery) -> bool:
        was, now = count_reads(before), count_reads(after)
        there_was, there_is = counter(before), counter(after)
        return any(
            now[table] - there_is[table] < was[table] - there_was[table]
            for table in there_is - there_was
            if now[table] <= was[table]
        )

    return has_moved


def moved_out_of(counter: ReadCounter) -> Callable[[ParsedQuery, ParsedQuery], bool]:
    """Some table is read in this place less often, and elsewhere more or there no longer at all."""

    def has_moved(before: ParsedQuery, after: ParsedQuery) -> bool:
        was, now = count_reads(before), count_reads(after)
        there_was, there_is = counter(before), counter(after)
        return any(
            not there_is[table] or now[table] - there_is[table] > was[table] - there_was[table]
            for table in there_was - there_is
        )

    return has_moved


def has_merged_reads(before: ParsedQuery, after: ParsedQuery) -> bool:
    """Some table that several subqueries read is read by fewer of them, and is read still."""
    was, now, rest = count_reads(before), count_reads(after), count_nested_reads(after)
    several = {table: n for table, n in count_nested_reads(before).items() if n > 1}
    return any(rest[table] < n and 0 < now[table] < was[table] for table, n in several.items())


def is_join_made_inner(before: ParsedQuery, after: ParsedQuery) -> bool:
    """A table that could be missing cannot any more, and is joined."""
    less = count_optional_reads(before) - count_optional_reads(after)
    more = count_joined_reads(after) - count_joined_reads(before)
    return any(table in more for table in less)


def is_aggregated_sooner(before: ParsedQuery, after: ParsedQuery) -> bool:
    """A derived table aggregates some of the tables over which all was aggregated before."""
    over = [
        _count_aggregated_tables(before, scope)
        for scope in before.scopes
        if _is_aggregating_scope(scope)
    ]
    return has_no_more_reads(before, after) and any(
        _part_of(_count_aggregated_tables(after, scope), whole)
        for scope in after.scopes
        if _is_aggregating_scope(scope) and after.is_nested(scope) and after.is_live(scope)
        for whole in over
    )


def _is_aggregating_scope(scope: Scope) -> bool:
    return is_aggregating(scope.expression)


def _count_aggregated_tables(parsed: ParsedQuery, scope: Scope) -> Counter[str]:
    """What an aggregate runs over: for a correlated one also the tables around it."""
    around = (parsed.find_origin(column, scope).bases for column in scope.external_columns)
    outer = Counter({table for bases in around for table, _ in bases if table})
    return parsed.count_tables_beneath(scope) | outer


def is_limited_sooner(before: ParsedQuery, after: ParsedQuery) -> bool:
    """A LIMIT, of no more rows and by the same order, cuts some of the tables sooner.

    Where tables are read more often than before, it must cut some before others come in: rows that
    are limited and then united with, or compared to, more of the same tables were cut no sooner.
    """
    max_rows = max(
        (find_row_limit(s.expression, skipped=True) or 0 for s in before.scopes), default=0
    )
    orders = {name for scope in before.scopes for name in _iter_order_columns(before, scope)}
    others = not has_no_more_reads(before, after)
    return len(_list_early_limits(after, max_rows, orders, others)) > len(
        _list_early_limits(before, max_rows, orders, others)
    )


def _list_early_limits(
    parsed: ParsedQuery, max_rows: int, orders: set[str], others: bool
) -> list[Scope]:
    """Limited SELECTs whose rows are joined or united with more, some of the same order; with
    `others` only those that lack a table of the whole."""
    whole = parsed.count_tables_beneath(parsed.scopes[-1])
    return [
        scope
        for scope in parsed.scopes
        if parsed.is_nested(scope) or parsed.find_role(scope) == "branch"
        if parsed.is_live(scope) and 0 < (find_row_limit(scope.expression) or 0) <= max_rows
        for tables in (parsed.count_tables_beneath(scope),)
        if _part_of(tables, whole) and not (others and set(tables) == set(whole))
        if not orders or orders & set(_iter_order_columns(parsed, scope))
    ]


def _iter_order_columns(parsed: ParsedQuery, scope: Scope) -> Iterator[str]:
    """The names of the columns by which a query is ordered."""
    order = scope.expression.args.get("order")
    for column in order.find_all(exp.Column) if order is not None else ():
        yield column.name
        for _, name in parsed.find_origin(column, scope).bases:
            yield name


def _part_of(some: Counter[str], whole: Counter[str]) -> bool:
    """Whether some tables, at least one, are among others that are more."""
    return bool(some) and some <= whole and some != whole
