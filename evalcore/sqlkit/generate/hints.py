"""What statements tell about the data that would set them apart.

Columns are known by name alone, whatever table they stand in: `status` is one thing in a case, and
where it is not, the databases only hold a few values more. An alias stands for the columns of its
expression, so that a bound on `SUM(amount) AS total` reaches `amount`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, product
from typing import NamedTuple, TypeVar

import sqlglot
from sqlglot import exp

from evalcore.records import Record
from evalcore.sqlkit.generate.clocks import is_time_dependent, list_interval_days
from evalcore.sqlkit.generate.conditions import (
    COMPARISONS,
    ColumnConstant,
    Constant,
    fold_constant,
    iter_constants,
    list_column_names,
)
from evalcore.sqlkit.generate.text_forms import TextForms

Node = TypeVar("Node", bound=exp.Expr)
TableColumn = tuple[str, str]


class Hints(Record, frozen=True):
    """`constants` by folded column name; `kindred` gives each column of a join the name of its
    class, `equated` does so for joins by equality alone, `links` are the pairs of `(table, column)`
    that one of these equates; `counts` are limits and bounds on COUNT;
    `sorted` are columns that something orders (not those that rows are grouped by, which must
    repeat); `clock` tells that a statement asks for the present time, `lengths` are the days that
    statements add to dates or take from them, `ranked` that one numbers or cuts off rows inside, so
    that ties would leave open what it gives; `grouped` are columns that rows are grouped or
    partitioned by, `documents` the JSON texts that a column may hold, `forms` the others that
    statements read as something else; `negated` are tables in which a statement wants to find
    nothing, `measured` the columns that are held against an aggregate, each with a column of that,
    `alternatives` columns of which one may satisfy what another does not, in OR or UNION;
    `replaced` are columns whose NULLs something stands for, `written` gives columns a text that a
    statement writes in place of what they hold; `years` are numbers that may be years between two
    times, `combined` gives columns that are put together to a text what stands between them."""

    constants: dict[str, tuple[Constant, ...]] = {}
    kindred: dict[str, str] = {}
    equated: dict[str, str] = {}
    links: tuple[tuple[TableColumn, TableColumn], ...] = ()
    counts: tuple[int, ...] = ()
    sorted: tuple[str, ...] = ()
    clock: bool = False
    lengths: tuple[float, ...] = ()
    ranked: bool = False
    grouped: frozenset[str] = frozenset()
    documents: dict[str, tuple[str, ...]] = {}
    forms: dict[str, TextForms] = {}
    negated: frozenset[str] = frozenset()
    measured: tuple[tuple[str, str], ...] = ()
    alternatives: frozenset[tuple[str, str]] = frozenset()
    replaced: frozenset[str] = frozenset()
    written: dict[str, str] = {}
    years: tuple[int, ...] = ()
    combined: dict[str, str] = {}

    def find_family(self, column: str) -> str:
        return self.kindred.get(column.lower(), column.lower())


_RANKING = (exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue)
_NUMBERING = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile, exp.Count)
_ORDERING: tuple[type[exp.Expr], ...] = (exp.Ordered, exp.Min, exp.Max, exp.First, exp.Last)


class _Reading(Record, frozen=True):
    """What one statement says, before its aliases are led back to columns."""

    constants: tuple[ColumnConstant, ...]
    aliases: dict[str, tuple[str, ...]]
    joined: tuple[tuple[str, str], ...]
    equated: tuple[tuple[str, str], ...]
    links: tuple[tuple[TableColumn, TableColumn], ...]
    counts: tuple[int, ...]
    lengths: tuple[float, ...]
    ranks: frozenset[str]  # aliases of ranks and counts, whose bounds are not those of columns
    keys: frozenset[str]  # of GROUP BY
    grouped: tuple[str, ...]  # by GROUP BY or PARTITION BY
    sorted: tuple[str, ...]
    clock: bool
    ranked: bool
    negated: frozenset[str]
    measured: tuple[tuple[str, str], ...]
    alternatives: frozenset[tuple[str, str]]
    replaced: frozenset[str]
    written: tuple[tuple[str, str], ...]
    years: tuple[int, ...]
    combined: tuple[tuple[str, str], ...]


@lru_cache(maxsize=512)
def _read_statement(sql: str, dialect: str) -> _Reading:
    try:
        return _read_trees(parse_trees(sql, dialect))
    except RecursionError:  # nested too deeply
        return _read_trees(())


def _read_trees(trees: tuple[exp.Expr, ...]) -> _Reading:
    return _Reading(
        constants=tuple(pair for tree in trees for pair in iter_constants(tree)),
        aliases=collect_aliases(trees),
        joined=tuple(pair for tree in trees for pair in _iter_joined_columns(tree, _COMPARING)),
        equated=tuple(pair for tree in trees for pair in _iter_joined_columns(tree, _EQUATING)),
        links=tuple(pair for tree in trees for pair in _iter_links(tree)),
        counts=tuple(count for tree in trees for count in _iter_row_counts(tree)),
        lengths=list_interval_days(trees),
        ranks=frozenset(name for tree in trees for name in _iter_rank_aliases(tree)),
        keys=frozenset(
            name
            for tree in trees
            for g in find_nodes(tree, exp.Group)
            for name in list_column_names(g)
        ),
        grouped=tuple(name for tree in trees for name in _iter_grouped_columns(tree)),
        sorted=tuple(name for tree in trees for name in _iter_sorted_columns(tree)),
        clock=any(map(is_time_dependent, trees)),
        ranked=any(map(_has_ranking, trees)),
        negated=frozenset(name for tree in trees for name in _iter_negated_tables(tree)),
        measured=tuple(pair for tree in trees for pair in _iter_measured_columns(tree)),
        alternatives=frozenset(pair for tree in trees for pair in _iter_alternatives(tree)),
        replaced=frozenset(name for tree in trees for name in _iter_replaced_columns(tree)),
        written=tuple(pair for tree in trees for pair in _iter_written_texts(tree)),
        years=tuple(number for tree in trees for number in _iter_years(tree)),
        combined=tuple(pair for tree in trees for pair in _iter_combined_columns(tree)),
    )


def read_hints(statements: Iterable[tuple[str, str]]) -> Hints:
    """All hints of some statements, each with its dialect; what does not parse gives none."""
    readings = [_read_statement(sql, dialect) for sql, dialect in statements]
    aliases = _merge_aliases(reading.aliases for reading in readings)
    grouped = frozenset[str]().union(*(reading.keys for reading in readings))
    ranks = frozenset[str]().union(*(reading.ranks for reading in readings))
    constants_by_column: dict[str, dict[Constant, None]] = defaultdict(dict)
    for names, constant in (pair for reading in readings for pair in reading.constants):
        for name in names:
            for column in (name,) if name in ranks else resolve_alias(name, aliases):
                constants_by_column[column][constant] = None

    def resolve_each(parts: Iterable[Iterable[str]]) -> Iterator[str]:
        return (c for names in parts for name in names for c in resolve_alias(name, aliases))

    return Hints(
        constants={name: tuple(each) for name, each in constants_by_column.items()},
        kindred=_build_join_classes((p for reading in readings for p in reading.joined), aliases),
        equated=_build_join_classes((p for reading in readings for p in reading.equated), aliases),
        links=tuple(dict.fromkeys(pair for reading in readings for pair in reading.links)),
        counts=tuple(dict.fromkeys(n for reading in readings for n in reading.counts)),
        clock=any(reading.clock for reading in readings),
        lengths=tuple(dict.fromkeys(n for reading in readings for n in reading.lengths)),
        ranked=any(reading.ranked for reading in readings),
        negated=frozenset[str]().union(*(reading.negated for reading in readings)),
        alternatives=frozenset[tuple[str, str]]().union(*(r.alternatives for r in readings)),
        replaced=frozenset(resolve_each(reading.replaced for reading in readings)),
        years=tuple(dict.fromkeys(n for reading in readings for n in reading.years)),
        combined={
            column: between
            for reading in readings
            for name, between in reading.combined
            for column in resolve_alias(name, aliases)
        },
        written={
            column: text
            for reading in reversed(readings)
            for name, text in reversed(reading.written)  # the outermost counts
            for column in resolve_alias(name, aliases)
        },
        measured=tuple(
            dict.fromkeys(
                (bound, column)
                for reading in readings
                for bound, name in reading.measured
                for column in resolve_alias(name, aliases)
                if column != bound
            )
        ),
        grouped=frozenset(resolve_each(reading.grouped for reading in readings)),
        sorted=tuple(
            column
            for column in dict.fromkeys(resolve_each(reading.sorted for reading in readings))
            if column not in grouped
        ),
    )


def list_row_limits(sql: str, dialect: str) -> frozenset[int]:
    """The numbers of rows that a statement cuts off at, skips or counts up to."""
    return frozenset(_read_statement(sql, dialect).counts)


@lru_cache(maxsize=128)
def parse_trees(sql: str, dialect: str) -> tuple[exp.Expr, ...]:
    """The statements of a text, to be read and not changed; none where it does not parse."""
    try:
        parsed = sqlglot.parse(_REPLACE.sub("INSERT OR REPLACE INTO", sql), read=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return ()
    return tuple(tree for tree in parsed if tree is not None)


_REPLACE = re.compile(r"^\s*REPLACE(?:\s+INTO)?\b(?!\s*\()", re.I)


class _Root(NamedTuple):
    """A tree as itself: two with the same nodes are not the same."""

    tree: exp.Expr

    def __hash__(self) -> int:
        return id(self.tree)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Root) and self.tree is other.tree


@lru_cache(maxsize=32)
def _walk_tree(root: _Root) -> tuple[exp.Expr, ...]:
    return tuple(root.tree.walk())


def find_nodes(tree: exp.Expr, *types: type[Node]) -> Iterator[Node]:
    """`tree.find_all` for a tree of `parse_trees`, which is walked but once."""
    return (node for node in _walk_tree(_Root(tree)) if isinstance(node, types))


def collect_aliases(trees: Sequence[exp.Expr]) -> dict[str, tuple[str, ...]]:
    """Columns by the alias of the expression that they stand in."""
    columns_by_alias: dict[str, dict[str, None]] = defaultdict(dict)
    for tree in trees:
        for alias in find_nodes(tree, exp.Alias):
            inner = alias.this
            parts = inner.this.selects if isinstance(inner, exp.Subquery) else (inner,)
            for name in (name for part in parts for name in list_column_names(part)):
                if name != alias.alias.lower():
                    columns_by_alias[alias.alias.lower()][name] = None
        for named in find_nodes(tree, exp.CTE, exp.Subquery):  # WITH r (n) AS (SELECT id ...)
            declared = named.args["alias"].columns if named.args.get("alias") else ()
            for identifier, part in zip(declared, _list_selected(named.this), strict=False):
                for name in list_column_names(part):
                    if name != identifier.name.lower():
                        columns_by_alias[identifier.name.lower()][name] = None
    return {name: tuple(columns) for name, columns in columns_by_alias.items()}


def _merge_aliases(parts: Iterable[dict[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    merged: dict[str, dict[str, None]] = defaultdict(dict)
    for part in parts:
        for alias, columns in part.items():
            merged[alias] |= dict.fromkeys(columns)
    return {alias: tuple(columns) for alias, columns in merged.items()}


def _list_selected(query: exp.Expr) -> list[exp.Expr]:
    """What the first part of a query selects."""
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    return list(query.selects) if isinstance(query, exp.Query) else []


def resolve_alias(name: str, aliases: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """A column and, where it may be an alias, all that the alias stands for."""
    seen: dict[str, None] = {name: None}
    waiting = [name]
    while waiting:
        for column in aliases.get(waiting.pop(), ()):
            if column not in seen:
                seen[column] = None
                waiting.append(column)
    return tuple(seen)


def _build_join_classes(
    joined: Iterable[tuple[str, str]], aliases: dict[str, tuple[str, ...]]
) -> dict[str, str]:
    """Columns that are joined, directly or over others, get one name."""
    parent: dict[str, str] = {}

    def find_root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            name = parent[name]
        return name

    for left, right in joined:
        for a in resolve_alias(left, aliases):
            for b in resolve_alias(right, aliases):
                first, second = sorted((find_root(a), find_root(b)))
                parent[second] = first
    return {name: find_root(name) for name in parent}


_EQUATING = (exp.EQ, exp.NullSafeEQ)
_COMPARING = (*_EQUATING, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def _iter_joined_columns(
    tree: exp.Expr, comparing: tuple[type[exp.Expr], ...]
) -> Iterator[tuple[str, str]]:
    for node in find_nodes(tree, *comparing):
        if isinstance(node.this, exp.Column) and isinstance(node.expression, exp.Column):
            yield node.this.name.lower(), node.expression.name.lower()
    for membership in find_nodes(tree, exp.In):
        query = membership.args.get("query")
        selected = query.this.selects if isinstance(query, exp.Subquery) else ()
        for left, right in zip(list_column_names(membership.this), selected, strict=False):
            for name in list_column_names(right)[:1]:
                yield left, name
    for join in find_nodes(tree, exp.Join):
        for using in join.args.get("using") or ():
            yield using.name.lower(), using.name.lower()


def _iter_links(tree: exp.Expr) -> Iterator[tuple[TableColumn, TableColumn]]:
    """Both ways round, with the tables for their aliases; not what equates rows of one table."""
    tables = {each.alias_or_name.lower(): each.name.lower() for each in find_nodes(tree, exp.Table)}
    for node in find_nodes(tree, *_EQUATING):
        if isinstance(node.this, exp.Column) and isinstance(node.expression, exp.Column):
            left, right = (
                (tables.get(each.table.lower(), ""), each.name.lower())
                for each in (node.this, node.expression)
            )
            if left[0] and right[0] and left[0] != right[0]:
                yield from ((left, right), (right, left))


def _iter_row_counts(tree: exp.Expr) -> Iterator[int]:
    for limit in find_nodes(tree, exp.Limit, exp.Offset, exp.Fetch):
        inner = limit.args.get("expression") or limit.args.get("count")
        if inner is not None:
            yield from _iter_integers(inner)
    counting = set(_iter_rank_aliases(tree))
    for node in find_nodes(tree, *COMPARISONS, exp.Between):
        sides = list(node.iter_expressions())
        named = counting.intersection(name for side in sides for name in list_column_names(side))
        if named or node.find(exp.Count, exp.RowNumber, exp.Rank, exp.DenseRank) is not None:
            yield from (v for side in sides for v in _iter_integers(side))


def _iter_rank_aliases(tree: exp.Expr) -> Iterator[str]:
    """The aliases, folded, of counts and of numbers that rows are given."""
    for alias in find_nodes(tree, exp.Alias):
        counted = alias.this.this if isinstance(alias.this, exp.Window) else alias.this
        if isinstance(counted, _NUMBERING):
            yield alias.alias.lower()


def _iter_integers(node: exp.Expr) -> Iterator[int]:
    """The number that an expression gives, or those in it where only an engine can tell."""
    number = fold_constant(node)
    if isinstance(number, int):
        yield number
    elif isinstance(node, exp.Query | exp.Func):
        yield from (int(part.this) for part in node.find_all(exp.Literal) if part.is_int)


def _has_ranking(tree: exp.Expr) -> bool:
    limits = (limit for limit in find_nodes(tree, exp.Limit, exp.Fetch) if limit.parent is not tree)
    return next(find_nodes(tree, *_RANKING), None) is not None or next(limits, None) is not None


def _iter_sorted_columns(tree: exp.Expr) -> Iterator[str]:
    for node in find_nodes(tree, *_ORDERING):
        yield from list_column_names(node.this)


def _iter_grouped_columns(tree: exp.Expr) -> Iterator[str]:
    for group in find_nodes(tree, exp.Group):
        yield from list_column_names(group)
    for window in find_nodes(tree, exp.Window):
        for key in window.args.get("partition_by") or ():
            yield from list_column_names(key)


def _iter_alternatives(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    """Each column of one side of an OR, or of the conditions of a UNION, with each of the other."""
    for node in find_nodes(tree, exp.Or, exp.Union):
        if isinstance(node, exp.Or):
            if isinstance(node.parent, exp.Or):
                continue  # a part of a chain of them
            sides = [{c.name.lower() for c in part.find_all(exp.Column)} for part in node.flatten()]
        else:
            wheres = [list(side.find_all(exp.Where)) for side in (node.this, node.expression)]
            sides = [
                {c.name.lower() for w in side for c in w.find_all(exp.Column)} for side in wheres
            ]
        for one, other in combinations(dict.fromkeys(map(frozenset, sides)), 2):
            for left, right in product(one - other, other - one):
                yield from ((left, right), (right, left))


def _iter_replaced_columns(tree: exp.Expr) -> Iterator[str]:
    for node in find_nodes(tree, exp.Coalesce):
        yield from list_column_names(node.this)


def _iter_written_texts(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    """Columns that a CASE or COALESCE gives, each with a text that it gives in other rows."""
    for node in find_nodes(tree, exp.Case, exp.Coalesce, exp.If):
        if isinstance(node, exp.Coalesce):
            parts = [node.this, *node.expressions]
        elif isinstance(node, exp.Case):
            parts = [branch.args["true"] for branch in node.args["ifs"]]
            parts += [node.args["default"]] if node.args.get("default") else []
        else:
            parts = [part for part in (node.args.get("true"), node.args.get("false")) if part]
        texts = [part.name for part in parts if isinstance(part, exp.Literal) and part.is_string]
        for name in (name for part in parts for name in list_column_names(part)):
            yield from ((name, text) for text in texts[:1] if text)


def _iter_years(tree: exp.Expr) -> Iterator[int]:
    """The numbers that a statement compares something with, where it counts years."""
    counted = (exp.Year, exp.Extract, exp.TimeToStr, exp.TimestampDiff, exp.DateDiff, exp.Anonymous)
    calls = " ".join(node.sql() for node in find_nodes(tree, *counted, exp.Div))
    if _YEARS.search(calls):
        for node in find_nodes(tree, *COMPARISONS, exp.Between):
            sides = (fold_constant(side) for side in node.iter_expressions())
            yield from (n for n in sides if isinstance(n, int) and n in _LIFETIME)
        yield 1


_YEARS, _LIFETIME = re.compile(r"%Y|\byear|\bage\(|\b36[56]\b", re.I), range(1, 120)


def _iter_combined_columns(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    """The columns that `||` or CONCAT puts together, each with the text that stands between."""
    for node in find_nodes(tree, exp.DPipe, exp.Concat, exp.ConcatWs):
        names = list_column_names(node)
        if len(set(names)) > 1 and not isinstance(node.parent, exp.DPipe):
            texts = [part.name for part in node.find_all(exp.Literal) if part.is_string]
            yield from ((name, texts[0] if texts else "") for name in names)


def _iter_measured_columns(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    """Columns that are held against an expression with an aggregate, or with the alias of one, each
    with the columns in it."""
    drawn = {
        alias.alias.lower() for alias in find_nodes(tree, exp.Alias) if alias.this.find(exp.AggFunc)
    }
    for node in find_nodes(tree, *COMPARISONS):
        for bare, other in ((node.this, node.expression), (node.expression, node.this)):
            query = other.this if isinstance(other, exp.Subquery) else None
            parts = query.selects if isinstance(query, exp.Select) else [other]
            names = [name for part in parts for name in list_column_names(part)]
            if isinstance(bare, exp.Column) and (
                drawn.intersection(names) or any(part.find(exp.AggFunc) for part in parts)
            ):
                yield from ((bare.name.lower(), name) for name in names)


def _iter_negated_tables(tree: exp.Expr) -> Iterator[str]:
    """The tables of queries under NOT EXISTS, NOT IN and EXCEPT and of counts held against 0 or 1,
    and those that are joined to ask for the NULLs of what finds no partner."""
    for node in find_nodes(tree, exp.Exists, exp.In, exp.Except, *COMPARISONS):
        if isinstance(node, exp.Except):
            yield from _iter_table_names(node.expression)
        elif isinstance(node, exp.Exists | exp.In):
            if isinstance(node.parent, exp.Not) or node.args.get("negate"):
                yield from _iter_table_names(node.args.get("query") or node.this)
        elif {fold_constant(side) for side in (node.this, node.expression)} & {0, 1}:
            for query in node.find_all(exp.Subquery):
                if query.find(exp.Count):
                    yield from _iter_table_names(query)
    tested = {
        node.this.table.lower()
        for node in find_nodes(tree, exp.Is)
        if isinstance(node.this, exp.Column) and isinstance(node.expression, exp.Null)
    }
    for join in find_nodes(tree, exp.Join):
        if join.args.get("side") and join.this.alias_or_name.lower() in tested:
            yield from _iter_table_names(join.this)


def _iter_table_names(node: exp.Expr) -> Iterator[str]:
    return (table.name.lower() for table in node.find_all(exp.Table))
