"""What statements tell about the data that would set them apart.

Columns are known by name alone, whatever table they stand in: `status` is one thing in a case, and
where it is not, the databases only hold a few values more. An alias stands for the columns of its
expression, so that a bound on `SUM(amount) AS total` reaches `amount`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import sqlglot
from sqlglot import exp

from evalcore.records import Record
from evalcore.sqlkit.generate import clock
from evalcore.sqlkit.generate.arithmetic import folded
from evalcore.sqlkit.generate.constants import COMPARISONS, Constant, columns_of, constants


class Hints(Record, frozen=True):
    """`constants` by folded column name; `kindred` gives each column of a join the name of its
    class; `counts` are limits and bounds on COUNT; `sorted` are columns that something orders
    (not those that rows are grouped by, which must repeat);
    `clock` tells that a statement asks for the present time, `lengths` are the days that statements
    add to dates or take from them, `ranked` that one numbers or cuts off
    rows inside, so that ties would leave open what it gives; `grouped` are columns that rows are
    grouped or partitioned by."""

    constants: dict[str, tuple[Constant, ...]] = {}
    kindred: dict[str, str] = {}
    counts: tuple[int, ...] = ()
    sorted: tuple[str, ...] = ()
    clock: bool = False
    lengths: tuple[int, ...] = ()
    ranked: bool = False
    grouped: frozenset[str] = frozenset()

    def family(self, column: str) -> str:
        return self.kindred.get(column.lower(), column.lower())


_RANKING = (exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue)
_ORDERING: tuple[type[exp.Expr], ...] = (exp.Ordered, exp.Min, exp.Max, exp.First, exp.Last)


def read_hints(statements: Iterable[tuple[str, str]]) -> Hints:
    """All hints of some statements, each with its dialect; what does not parse gives none."""
    trees = [tree for sql, dialect in statements for tree in _trees(sql, dialect)]
    aliases = _aliases(trees)
    grouped = {name for tree in trees for g in tree.find_all(exp.Group) for name in columns_of(g)}
    held: dict[str, dict[Constant, None]] = defaultdict(dict)
    for tree in trees:
        for names, constant in constants(tree):
            for name in names:
                for column in _resolved(name, aliases):
                    held[column][constant] = None
    return Hints(
        constants={name: tuple(found) for name, found in held.items()},
        kindred=_kindred(trees, aliases),
        counts=tuple(dict.fromkeys(count for tree in trees for count in _counts(tree))),
        clock=any(map(clock.asked, trees)),
        lengths=clock.lengths(trees),
        ranked=any(map(_ranks, trees)),
        grouped=frozenset(
            column for tree in trees for n in _grouped(tree) for column in _resolved(n, aliases)
        ),
        sorted=tuple(
            dict.fromkeys(
                column
                for tree in trees
                for name in _sorted(tree)
                for column in _resolved(name, aliases)
                if column not in grouped
            )
        ),
    )


def row_limits(sql: str, dialect: str) -> frozenset[int]:
    """The numbers of rows that a statement cuts off at, skips or counts up to."""
    return frozenset(count for tree in _trees(sql, dialect) for count in _counts(tree))


def _trees(sql: str, dialect: str) -> Iterator[exp.Expr]:
    try:
        parsed = sqlglot.parse(sql, read=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return
    yield from (tree for tree in parsed if tree is not None)


def _aliases(trees: Sequence[exp.Expr]) -> dict[str, tuple[str, ...]]:
    """Columns by the alias of the expression that they stand in."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for tree in trees:
        for alias in tree.find_all(exp.Alias):
            inner = alias.this
            parts = inner.this.selects if isinstance(inner, exp.Subquery) else (inner,)
            for name in (name for part in parts for name in columns_of(part)):
                if name != alias.alias.lower():
                    found[alias.alias.lower()][name] = None
    return {name: tuple(columns) for name, columns in found.items()}


def _resolved(name: str, aliases: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """A column and, where it may be an alias, all that the alias stands for."""
    seen: dict[str, None] = {name: None}
    waiting = [name]
    while waiting:
        for column in aliases.get(waiting.pop(), ()):
            if column not in seen:
                seen[column] = None
                waiting.append(column)
    return tuple(seen)


def _kindred(trees: Sequence[exp.Expr], aliases: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """Columns that are joined, directly or over others, get one name."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            name = parent[name]
        return name

    for tree in trees:
        for left, right in _joined(tree):
            for a in _resolved(left, aliases):
                for b in _resolved(right, aliases):
                    first, second = sorted((root(a), root(b)))
                    parent[second] = first
    return {name: root(name) for name in parent}


def _joined(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    for node in tree.find_all(exp.EQ, exp.NullSafeEQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE):
        if isinstance(node.this, exp.Column) and isinstance(node.expression, exp.Column):
            yield node.this.name.lower(), node.expression.name.lower()
    for membership in tree.find_all(exp.In):
        query = membership.args.get("query")
        selected = query.this.selects if isinstance(query, exp.Subquery) else ()
        for left, right in zip(columns_of(membership.this), selected, strict=False):
            for name in columns_of(right)[:1]:
                yield left, name
    for join in tree.find_all(exp.Join):
        for using in join.args.get("using") or ():
            yield using.name.lower(), using.name.lower()


def _counts(tree: exp.Expr) -> Iterator[int]:
    for limit in tree.find_all(exp.Limit, exp.Offset, exp.Fetch):
        inner = limit.args.get("expression") or limit.args.get("count")
        if inner is not None:
            yield from _whole(inner)
    counting = {
        alias.alias.lower()
        for alias in tree.find_all(exp.Alias)
        if isinstance(alias.this, exp.Count | exp.Window)
    }
    for node in tree.find_all(*COMPARISONS):
        named = counting.intersection((*columns_of(node.this), *columns_of(node.expression)))
        if not named and node.find(exp.Count, exp.RowNumber, exp.Rank, exp.DenseRank) is None:
            continue
        yield from (v for side in (node.this, node.expression) for v in _whole(side))


def _whole(node: exp.Expr) -> Iterator[int]:
    """The number that an expression gives, or those in it where only an engine can tell."""
    number = folded(node)
    if isinstance(number, int):
        yield number
    elif isinstance(node, exp.Query | exp.Func):
        yield from (int(part.this) for part in node.find_all(exp.Literal) if part.is_int)


def _ranks(tree: exp.Expr) -> bool:
    limits = (limit for limit in tree.find_all(exp.Limit, exp.Fetch) if limit.parent is not tree)
    return tree.find(*_RANKING) is not None or next(limits, None) is not None


def _sorted(tree: exp.Expr) -> Iterator[str]:
    for node in tree.find_all(*_ORDERING):
        yield from columns_of(node.this)


def _grouped(tree: exp.Expr) -> Iterator[str]:
    for group in tree.find_all(exp.Group):
        yield from columns_of(group)
    for window in tree.find_all(exp.Window):
        for key in window.args.get("partition_by") or ():
            yield from columns_of(key)
