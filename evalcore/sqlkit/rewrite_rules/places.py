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

from evalcore.sqlkit.rewrite_rules.counts import aggregates, row_limit
from evalcore.sqlkit.rewrite_rules.reading import Reading

#: The stored tables that are read in one kind of place, as often as they are.
Place = Callable[[Reading], Counter[str]]


def _where(reading: Reading, wanted: Callable[[Scope], bool]) -> Counter[str]:
    found: Counter[str] = Counter()
    for scope in reading.scopes:
        if wanted(scope):
            for table in reading.base_tables(scope):
                found[table] += max(1, reading.times[id(scope)])
    return found


def reads(reading: Reading) -> Counter[str]:
    """Every place; what only hands rows on counts for each of its readers."""
    return _where(reading, lambda scope: True)


def outermost_reads(reading: Reading) -> Counter[str]:
    """The query itself, or a branch of it."""
    return _where(
        reading,
        lambda scope: not reading.within(scope, "derived", "lateral", "exists", "in", "scalar"),
    )


def nested_reads(reading: Reading) -> Counter[str]:
    """Derived tables and subqueries that stand for a value."""
    return _where(reading, lambda scope: reading.role(scope) in ("derived", "lateral", "scalar"))


def partner_reads(reading: Reading) -> Counter[str]:
    """EXISTS and IN with a query, negated or not."""
    return _where(reading, lambda scope: reading.within(scope, "exists", "in"))


def correlated_reads(reading: Reading) -> Counter[str]:
    """Subqueries that use a column of the query around them."""
    return _where(reading, lambda scope: any(s.is_correlated_subquery for s in _chain(scope)))


def missing_reads(reading: Reading) -> Counter[str]:
    """NOT EXISTS, the optional side of an outer join, and what EXCEPT takes away."""
    found = _where(reading, lambda scope: any(_not_exists(reading, s) for s in _chain(scope)))
    found += optional_reads(reading)
    for scope in reading.scopes:
        if isinstance(scope.expression, exp.Except):
            for part in scope.set_operation_scopes[1:]:
                found += reading.tables_beneath(part)
    return found


def optional_reads(reading: Reading) -> Counter[str]:
    """The sides of outer joins that may be missing."""
    found: Counter[str] = Counter()
    for scope in reading.scopes:
        for source in _optional(scope):
            found += _behind(reading, scope, source)
    return found


def joined_reads(reading: Reading) -> Counter[str]:
    """The sides of joins that may not be missing."""
    found: Counter[str] = Counter()
    for scope in reading.scopes:
        if len(scope.selected_sources) > 1:
            missing = _optional(scope)
            for source in scope.selected_sources:
                if source not in missing:
                    found += _behind(reading, scope, source)
    return found


def _optional(scope: Scope) -> set[str]:
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


def _behind(reading: Reading, scope: Scope, name: str) -> Counter[str]:
    """The stored tables behind one source of a FROM."""
    source = scope.sources.get(name)
    if isinstance(source, exp.Table):
        return Counter((source.name,))
    return reading.tables_beneath(source) if isinstance(source, Scope) else Counter()


def _chain(scope: Scope | None) -> Iterator[Scope]:
    while scope is not None:
        yield scope
        scope = scope.parent


def _not_exists(reading: Reading, scope: Scope) -> bool:
    holder = scope.expression.parent
    if isinstance(holder, exp.Subquery):
        holder = holder.parent
    return isinstance(holder, exp.Exists) and isinstance(holder.parent, exp.Not)


def fewer_reads(before: Reading, after: Reading) -> bool:
    """Some table is read less often."""
    return bool(reads(before) - reads(after))


def no_more_reads(before: Reading, after: Reading) -> bool:
    """No table is read more often."""
    return not reads(after) - reads(before)


def moved(place: Place) -> Callable[[Reading, Reading], bool]:
    """Some table is read in this place more often, elsewhere less, and in all no more often."""

    def found(before: Reading, after: Reading) -> bool:
        was, now = reads(before), reads(after)
        there_was, there_is = place(before), place(after)
        return any(
            now[table] - there_is[table] < was[table] - there_was[table]
            for table in there_is - there_was
            if now[table] <= was[table]
        )

    return found


def left(place: Place) -> Callable[[Reading, Reading], bool]:
    """Some table is read in this place less often, and elsewhere more or there no longer at all."""

    def found(before: Reading, after: Reading) -> bool:
        was, now = reads(before), reads(after)
        there_was, there_is = place(before), place(after)
        return any(
            not there_is[table] or now[table] - there_is[table] > was[table] - there_was[table]
            for table in there_was - there_is
        )

    return found


def merged_reads(before: Reading, after: Reading) -> bool:
    """Some table that several subqueries read is read by fewer of them, and is read still."""
    was, now, rest = reads(before), reads(after), nested_reads(after)
    several = {table: n for table, n in nested_reads(before).items() if n > 1}
    return any(rest[table] < n and 0 < now[table] < was[table] for table, n in several.items())


def made_inner(before: Reading, after: Reading) -> bool:
    """A table that could be missing cannot any more, and is joined."""
    less = optional_reads(before) - optional_reads(after)
    more = joined_reads(after) - joined_reads(before)
    return any(table in more for table in less)


def aggregated_sooner(before: Reading, after: Reading) -> bool:
    """A derived table aggregates some of the tables over which all was aggregated before."""
    over = [_aggregated_over(before, scope) for scope in before.scopes if _aggregates(scope)]
    return no_more_reads(before, after) and any(
        _part_of(_aggregated_over(after, scope), whole)
        for scope in after.scopes
        if _aggregates(scope) and after.nested(scope) and after.live(scope)
        for whole in over
    )


def _aggregates(scope: Scope) -> bool:
    return aggregates(scope.expression)


def _aggregated_over(reading: Reading, scope: Scope) -> Counter[str]:
    """What an aggregate runs over: for a correlated one also the tables around it."""
    around = (reading.origin(column, scope).bases for column in scope.external_columns)
    outer = Counter({table for bases in around for table, _ in bases if table})
    return reading.tables_beneath(scope) | outer


def limited_sooner(before: Reading, after: Reading) -> bool:
    """A LIMIT, of no more rows and by the same order, cuts some of the tables sooner."""
    most = max((row_limit(s.expression, skipped=True) or 0 for s in before.scopes), default=0)
    orders = {name for scope in before.scopes for name in _order(before, scope)}
    return len(_early(after, most, orders)) > len(_early(before, most, orders))


def _early(reading: Reading, most: int, orders: set[str]) -> list[Scope]:
    """Limited SELECTs whose rows are joined or united with more, some of the same order."""
    whole = reading.tables_beneath(reading.scopes[-1])
    return [
        scope
        for scope in reading.scopes
        if reading.nested(scope) or reading.role(scope) == "branch"
        if reading.live(scope) and 0 < (row_limit(scope.expression) or 0) <= most
        if _part_of(reading.tables_beneath(scope), whole)
        if not orders or orders & set(_order(reading, scope))
    ]


def _order(reading: Reading, scope: Scope) -> Iterator[str]:
    """The names of the columns by which a query is ordered."""
    order = scope.expression.args.get("order")
    for column in order.find_all(exp.Column) if order is not None else ():
        yield column.name
        for _, name in reading.origin(column, scope).bases:
            yield name


def _part_of(some: Counter[str], whole: Counter[str]) -> bool:
    """Whether some tables, at least one, are among others that are more."""
    return bool(some) and some <= whole and some != whole
