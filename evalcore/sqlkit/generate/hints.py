"""What statements tell about the data that would set them apart.

Columns are known by name alone, whatever table they stand in: `status` is one thing in a case, and
where it is not, the databases only hold a few values more. An alias stands for the columns of its
expression, so that a bound on `SUM(amount) AS total` reaches `amount`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import sqlglot
from sqlglot import exp

from evalcore.records import Record
from evalcore.sqlkit.generate import clock

Operator = Literal["=", "<>", "<", "<=", ">", ">=", "like", "null"]


class Constant(Record, frozen=True):
    """A value that a column is held against: text, number, or None for IS NULL."""

    operator: Operator
    value: str | int | float | None


class Hints(Record, frozen=True):
    """`constants` by folded column name; `kindred` gives each column of a join the name of its
    class; `counts` are limits and bounds on COUNT; `sorted` are columns that something orders
    (not those that rows are grouped by, which must repeat);
    `clock` tells that a statement asks for the present time, `lengths` are the days that statements
    add to dates or take from them, `ranked` that one numbers or cuts off
    rows inside, so that ties would leave open what it gives."""

    constants: dict[str, tuple[Constant, ...]] = {}
    kindred: dict[str, str] = {}
    counts: tuple[int, ...] = ()
    sorted: tuple[str, ...] = ()
    clock: bool = False
    lengths: tuple[int, ...] = ()
    ranked: bool = False

    def family(self, column: str) -> str:
        return self.kindred.get(column.lower(), column.lower())


_COMPARISONS: dict[type[exp.Expr], tuple[Operator, Operator]] = {
    exp.EQ: ("=", "="),
    exp.NullSafeEQ: ("=", "="),
    exp.NEQ: ("<>", "<>"),
    exp.LT: ("<", ">"),
    exp.LTE: ("<=", ">="),
    exp.GT: (">", "<"),
    exp.GTE: (">=", "<="),
}
_LIKES = (exp.Like, exp.ILike)
_RANKING = (exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue)
_ORDERING: tuple[type[exp.Expr], ...] = (exp.Ordered, exp.Min, exp.Max, exp.First, exp.Last)


def read_hints(statements: Iterable[tuple[str, str]]) -> Hints:
    """All hints of some statements, each with its dialect; what does not parse gives none."""
    trees = [tree for sql, dialect in statements for tree in _trees(sql, dialect)]
    aliases = _aliases(trees)
    grouped = {name for tree in trees for g in tree.find_all(exp.Group) for name in _columns(g)}
    constants: dict[str, dict[Constant, None]] = defaultdict(dict)
    for tree in trees:
        for names, constant in _constants(tree):
            for name in names:
                for column in _resolved(name, aliases):
                    constants[column][constant] = None
    return Hints(
        constants={name: tuple(found) for name, found in constants.items()},
        kindred=_kindred(trees, aliases),
        counts=tuple(dict.fromkeys(count for tree in trees for count in _counts(tree))),
        clock=any(map(clock.asked, trees)),
        lengths=clock.lengths(trees),
        ranked=any(map(_ranks, trees)),
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
            for name in (name for part in parts for name in _columns(part)):
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


def _columns(node: exp.Expr) -> tuple[str, ...]:
    """The columns of an expression, not those of a query inside it."""
    if isinstance(node, exp.Query):
        return ()
    if isinstance(node, exp.Column):
        return (node.name.lower(),)
    return tuple(name for child in node.iter_expressions() for name in _columns(child))


def _literals(node: exp.Expr) -> tuple[str | int | float, ...]:
    """The literal values of an expression, a negated one with its sign."""
    if isinstance(node, exp.Query):
        return ()
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
        return tuple(-v for v in _literals(node.this) if not isinstance(v, str))
    if isinstance(node, exp.Literal):
        return (node.this if node.is_string else _number(node.this),)
    if isinstance(node, exp.Boolean):
        return (int(node.this),)
    return tuple(value for child in node.iter_expressions() for value in _literals(child))


def _number(text: str) -> int | float | str:
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def _constants(tree: exp.Expr) -> Iterator[tuple[tuple[str, ...], Constant]]:
    """Every comparison of columns with literals."""
    for node in tree.walk():
        if type(node) in _COMPARISONS:
            forward, backward = _COMPARISONS[type(node)]
            yield from _pairs(node.this, node.expression, forward)
            yield from _pairs(node.expression, node.this, backward)
        elif isinstance(node, _LIKES):
            yield from _pairs(node.this, node.expression, "like")
        elif isinstance(node, exp.Between):
            yield from _pairs(node.this, node.args["low"], ">=")
            yield from _pairs(node.this, node.args["high"], "<=")
        elif isinstance(node, exp.In):
            for item in node.expressions:
                yield from _pairs(node.this, item, "=")
        elif isinstance(node, exp.Is):
            yield _columns(node.this), Constant("null", None)
        elif isinstance(node, exp.Coalesce):
            yield _columns(node.this), Constant("null", None)
            for other in node.expressions:
                yield from _pairs(node.this, other, "=")
        elif isinstance(node, exp.Case) and node.this is not None:
            for branch in node.args.get("ifs", ()):
                yield from _pairs(node.this, branch.this, "=")
        elif isinstance(node, exp.StartsWith | exp.Contains):
            for value in _literals(node.expression):
                yield _columns(node.this), Constant("like", f"%{value}%")


def _pairs(left: Any, right: Any, operator: Operator) -> Iterator[tuple[tuple[str, ...], Constant]]:
    columns = _columns(left)
    if not columns:
        return
    for value in _literals(right):
        yield columns, Constant(operator, value)


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
        for left, right in zip(_columns(membership.this), selected, strict=False):
            for name in _columns(right)[:1]:
                yield left, name
    for join in tree.find_all(exp.Join):
        for using in join.args.get("using") or ():
            yield using.name.lower(), using.name.lower()


def _counts(tree: exp.Expr) -> Iterator[int]:
    for limit in tree.find_all(exp.Limit, exp.Offset, exp.Fetch):
        inner = limit.args.get("expression") or limit.args.get("count")
        if isinstance(inner, exp.Literal) and inner.is_int:
            yield int(inner.this)
    counting = {
        alias.alias.lower()
        for alias in tree.find_all(exp.Alias)
        if isinstance(alias.this, exp.Count | exp.Window)
    }
    for node in tree.find_all(*_COMPARISONS):
        named = counting.intersection((*_columns(node.this), *_columns(node.expression)))
        if not named and node.find(exp.Count, exp.RowNumber, exp.Rank, exp.DenseRank) is None:
            continue
        yield from (v for side in (node.this, node.expression) for v in _whole(side))


def _whole(node: exp.Expr) -> Iterator[int]:
    if isinstance(node, exp.Literal) and node.is_int:
        yield int(node.this)


def _ranks(tree: exp.Expr) -> bool:
    limits = (limit for limit in tree.find_all(exp.Limit, exp.Fetch) if limit.parent is not tree)
    return tree.find(*_RANKING) is not None or next(limits, None) is not None


def _sorted(tree: exp.Expr) -> Iterator[str]:
    for node in tree.find_all(*_ORDERING):
        yield from _columns(node.this)
