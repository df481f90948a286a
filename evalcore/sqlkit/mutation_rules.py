"""The small changes that make mutants: each rule gives, for a node of a statement, other nodes.

A rule may look at what is around its node but changes nothing: it yields new nodes that can stand
in the node's place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Any

from sqlglot import exp

Rule = Callable[[Any], Iterator[exp.Expr]]

_SWAPS: dict[type[exp.Expr], tuple[type[exp.Expr], ...]] = {
    exp.EQ: (exp.NEQ, exp.GTE),
    exp.NEQ: (exp.EQ, exp.GT),
    exp.LT: (exp.LTE, exp.GT),
    exp.LTE: (exp.LT, exp.GTE),
    exp.GT: (exp.GTE, exp.LT),
    exp.GTE: (exp.GT, exp.LTE),
    exp.And: (exp.Or,),
    exp.Or: (exp.And,),
    exp.Add: (exp.Sub,),
    exp.Sub: (exp.Add,),
    exp.Mul: (exp.Div,),
    exp.Div: (exp.Mul,),
    exp.Mod: (exp.Div,),
    exp.Min: (exp.Max,),
    exp.Max: (exp.Min,),
    exp.Sum: (exp.Avg, exp.Max),
    exp.Avg: (exp.Sum, exp.Min),
    exp.Floor: (exp.Ceil,),
    exp.Ceil: (exp.Floor,),
    exp.Upper: (exp.Lower,),
    exp.Lower: (exp.Upper,),
    exp.Greatest: (exp.Least,),
    exp.Least: (exp.Greatest,),
    exp.RowNumber: (exp.Rank,),
    exp.Rank: (exp.DenseRank, exp.RowNumber),
    exp.DenseRank: (exp.Rank,),
    exp.Lag: (exp.Lead,),
    exp.Lead: (exp.Lag,),
    exp.FirstValue: (exp.LastValue,),
    exp.LastValue: (exp.FirstValue,),
}
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Lag, exp.Lead)
_ENDS = (exp.FirstValue, exp.LastValue)
_FUNCTIONS = (exp.Floor, exp.Ceil, exp.Upper, exp.Lower, exp.Greatest, exp.Least)
#: Where a literal is a value that rows are held against or that is shown, not a format or a size.
_VALUE_PLACES = (
    *_COMPARISONS,
    exp.In,
    exp.Between,
    exp.Case,
    exp.If,
    exp.Coalesce,
    exp.Cast,
    exp.Nullif,
    exp.DPipe,
    exp.Alias,
    exp.Neg,
)
_COUNTING_PLACES = (exp.Limit, exp.Offset, exp.Fetch)
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)(.*)", re.S)


def _swapped(node: exp.Expr) -> Iterator[exp.Expr]:
    """The same operands under another operator or function."""
    for other in _SWAPS[type(node)]:
        if other.arg_types.keys() >= {key for key, value in node.args.items() if value}:
            yield other(**{key: _copied(value) for key, value in node.args.items()})


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value.copy() if isinstance(value, exp.Expr) else value


def _set(node: exp.Expr, **args: Any) -> exp.Expr:
    other = node.copy()
    for key, value in args.items():
        other.set(key, _copied(value))
    return other


def _one_side(node: exp.And | exp.Or) -> Iterator[exp.Expr]:
    yield node.this.copy()
    yield node.expression.copy()


def _without_filter(node: exp.Expr) -> Iterator[exp.Expr]:
    for clause in ("where", "having", "qualify"):
        if node.args.get(clause) is not None:
            yield _set(node, **{clause: None})


def _positive(node: exp.Not) -> Iterator[exp.Expr]:
    yield node.this.copy()


def _negative(node: exp.Expr) -> Iterator[exp.Expr]:
    if not isinstance(node.parent, exp.Not):
        yield exp.Not(this=node.copy())


def _null_test(node: exp.Is) -> Iterator[exp.Expr]:
    if isinstance(node.expression, exp.Null) and not isinstance(node.parent, exp.Not):
        yield _set(node, negate=not node.args.get("negate"))


def _number(node: exp.Literal) -> Iterator[exp.Expr]:
    """One more and one less; counts of rows and places of columns have rules of their own."""
    numeral = not node.is_string or isinstance(node.parent, exp.Interval)
    skipped = (*_COUNTING_PLACES, exp.DataTypeParam, exp.Ordered, exp.Group, exp.WindowSpec)
    if isinstance(node.parent, skipped) or _only_exists(node.parent):
        return
    if not numeral or not re.fullmatch(r"\d+", node.this):
        if not node.is_string and re.fullmatch(r"\d*\.\d+", node.this):
            yield exp.Literal.number(str(float(node.this) + 0.5))
        return
    for value in (int(node.this) + 1, int(node.this) - 1):
        yield exp.Literal(this=str(value), is_string=node.is_string)


def _text(node: exp.Literal) -> Iterator[exp.Expr]:
    """A day more or less for dates, a letter more or less for words."""
    if not node.is_string or not isinstance(node.parent, _VALUE_PLACES):
        return
    found = _ISO.fullmatch(node.this)
    if found is None:
        yield exp.Literal.string(node.this + "x")
        if node.this:
            yield exp.Literal.string(node.this[:-1])
        return
    try:
        day = date.fromisoformat(found[1])
    except ValueError:
        return  # a text that only looks like a date
    for days in (1, -1):
        if date.min < day < date.max:
            yield exp.Literal.string((day + timedelta(days=days)).isoformat() + found[2])


def _pattern(node: exp.Expr) -> Iterator[exp.Expr]:
    """A pattern with a joker less or more at either end, or a letter less."""
    pattern = node.expression
    if not isinstance(pattern, exp.Literal) or not pattern.this:
        return
    text = pattern.this
    for other in (
        text.removesuffix("%"),
        text.removeprefix("%"),
        "%" + text.removeprefix("%"),
        text.removesuffix("%") + "%",
        text.replace("%", "_"),
        re.sub(r"\w(?=\W*$)", "", text),
    ):
        yield _set(node, expression=exp.Literal.string(other))


def _count_of_rows(node: exp.Expr) -> Iterator[exp.Expr]:
    key = "count" if isinstance(node, exp.Fetch) else "expression"
    value = node.args.get(key)
    if isinstance(value, exp.Literal) and value.is_int:
        for number in (int(value.this) + 1, int(value.this) - 1):
            if number >= 0:
                yield _set(node, **{key: exp.Literal.number(number)})


def _without_limit(node: exp.Query) -> Iterator[exp.Expr]:
    for key in ("limit", "offset"):
        if node.args.get(key) is not None:
            yield _set(node, **{key: None})


def _join(node: exp.Join) -> Iterator[exp.Expr]:
    """Inner, left and full joins take each other's place; a cross join has no condition."""
    if not (node.args.get("on") or node.args.get("using")) or node.args.get("method"):
        return
    side = str(node.args.get("side") or "")
    for other in {"": ("LEFT",), "LEFT": ("",), "RIGHT": ("",), "FULL": ("LEFT", "")}.get(side, ()):
        yield _set(node, side=other or None, kind=None)


def _distinct(node: exp.Select) -> Iterator[exp.Expr]:
    """Not where repeated rows cannot matter: under EXISTS and IN, or where there are none."""
    if _only_exists(node) or isinstance(node.parent, exp.In) or _gives_rows_once(node):
        return
    if node.args.get("distinct") is None:
        yield _set(node, distinct=exp.Distinct())
    elif node.args["distinct"].args.get("on") is None:
        yield _set(node, distinct=None)


def _only_exists(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Select) and isinstance(node.parent, exp.Exists)


def _gives_rows_once(select: exp.Select) -> bool:
    """Whether it gives one row, or all that its rows are grouped by."""
    if select.args.get("distinct") is not None:
        return False
    group = select.args.get("group")
    if group is None:
        return any(map(_is_aggregate, select.selects))
    if not group.expressions or any(v for k, v in group.args.items() if k != "expressions"):
        return False  # grouping sets repeat
    shown = [part.unalias() for part in select.selects]
    return all(_is_place(key) or key in shown for key in group.expressions)


def _is_place(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_int


def _is_aggregate(node: exp.Expr) -> bool:
    """Whether an output draws all rows together; a query inside it has rows of its own."""
    select = node.parent
    return any(
        function.find_ancestor(exp.Select) is select and function.find_ancestor(exp.Window) is None
        for function in node.find_all(exp.AggFunc)
    )


def _count(node: exp.Count) -> Iterator[exp.Expr]:
    """COUNT(DISTINCT x), COUNT(x), COUNT(*) and SUM are easily mixed up."""
    inner = node.this
    if isinstance(inner, exp.Distinct):
        if len(inner.expressions) == 1:
            yield _set(node, this=inner.expressions[0])
    elif isinstance(inner, exp.Column):
        yield _set(node, this=exp.Distinct(expressions=[inner.copy()]))
        yield _set(node, this=exp.Star())


def _aggregate_of_distinct(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node.this, exp.Distinct):
        yield _set(node, this=node.this.expressions[0])
    else:
        yield _set(node, this=exp.Distinct(expressions=[node.this.copy()]))


def _direction(node: exp.Ordered) -> Iterator[exp.Expr]:
    """The other way round, NULLs too, as dialects do that count them as small or large.

    Not in an index or the target of a conflict, where it changes no row.
    """
    if isinstance(node.parent, exp.Order):
        desc, nulls_first = not node.args.get("desc"), not node.args.get("nulls_first")
        yield _set(node, desc=desc, nulls_first=nulls_first)


def _fewer_orders(node: exp.Order) -> Iterator[exp.Expr]:
    yield from _fewer(node, "expressions")


def _fewer(node: exp.Expr, key: str) -> Iterator[exp.Expr]:
    """One of several items left out, each in turn."""
    items = node.args.get(key) or []
    if len(items) > 1:
        for place in range(len(items)):
            yield _set(node, **{key: items[:place] + items[place + 1 :]})


def _set_operation(node: exp.SetOperation) -> Iterator[exp.Expr]:
    if isinstance(node, exp.Union):
        yield _set(node, distinct=not node.args.get("distinct"))
        return
    other = exp.Except if isinstance(node, exp.Intersect) else exp.Intersect
    yield other(**{key: _copied(value) for key, value in node.args.items()})


def _default(node: exp.Coalesce) -> Iterator[exp.Expr]:
    yield node.this.copy()


def _group(node: exp.Group) -> Iterator[exp.Expr]:
    yield from _fewer(node, "expressions")


def _bounds(node: exp.Between) -> Iterator[exp.Expr]:
    """Each bound made exclusive, each left out."""
    low = (node.this, node.args["low"])
    high = (node.this, node.args["high"])
    for first, second in ((exp.GT, exp.LTE), (exp.GTE, exp.LT)):
        both = exp.And(this=_comparison(first, *low), expression=_comparison(second, *high))
        yield exp.Paren(this=both)
    yield _comparison(exp.GTE, *low)
    yield _comparison(exp.LTE, *high)


def _comparison(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return kind(this=left.copy(), expression=right.copy())


def _fewer_items(node: exp.In) -> Iterator[exp.Expr]:
    yield from _fewer(node, "expressions")


def _branches(node: exp.Case) -> Iterator[exp.Expr]:
    yield from _fewer(node, "ifs")
    if node.args.get("default") is not None:
        yield _set(node, default=None)


def _window(node: exp.Window) -> Iterator[exp.Expr]:
    """Without its partition, its frame, or with RANGE for ROWS."""
    if node.args.get("partition_by"):
        yield _set(node, partition_by=None)
    spec = node.args.get("spec")
    if spec is None:
        return
    yield _set(node, spec=None)
    sides = {spec.args.get("start"), spec.args.get("end")}
    if sides <= {"UNBOUNDED", "CURRENT ROW", None}:
        rows = str(spec.args.get("kind")).upper() == "ROWS"
        yield _set(node, spec=_set(spec, kind="RANGE" if rows else "ROWS"))


def _frame(node: exp.WindowSpec) -> Iterator[exp.Expr]:
    for key in ("start", "end"):
        value = node.args.get(key)
        if isinstance(value, exp.Literal) and value.is_int:
            yield _set(node, **{key: exp.Literal.number(int(value.this) + 1)})


def _quantifier(node: exp.Any | exp.All) -> Iterator[exp.Expr]:
    """ANY for ALL and the other way round; the writer puts brackets around a bare query only."""
    other = exp.All if isinstance(node, exp.Any) else exp.Any
    yield other(this=node.this.unnest().copy())


_Types = type[exp.Expr] | tuple[type[exp.Expr], ...]
#: Kind of the change, nodes that it applies to, the rule.
RULES: tuple[tuple[str, _Types, Rule], ...] = (
    ("comparison", _COMPARISONS, _swapped),
    ("and_or", (exp.And, exp.Or), _swapped),
    ("predicate_dropped", (exp.And, exp.Or), _one_side),
    ("filter_dropped", (exp.Select, exp.Update, exp.Delete), _without_filter),
    ("not_dropped", exp.Not, _positive),
    ("not_added", (exp.In, exp.Exists, exp.Like, exp.Between), _negative),
    ("null_test", exp.Is, _null_test),
    ("null_default", exp.Coalesce, _default),
    ("number", exp.Literal, _number),
    ("text", exp.Literal, _text),
    ("pattern", (exp.Like, exp.ILike), _pattern),
    ("limit", (exp.Limit, exp.Offset, exp.Fetch), _count_of_rows),
    ("limit_dropped", exp.Query, _without_limit),
    ("join", exp.Join, _join),
    ("distinct", exp.Select, _distinct),
    ("count", exp.Count, _count),
    ("aggregate", (exp.Min, exp.Max, exp.Sum, exp.Avg), _swapped),
    ("aggregate_distinct", (exp.Sum, exp.Avg), _aggregate_of_distinct),
    ("arithmetic", _ARITHMETIC, _swapped),
    ("function", _FUNCTIONS, _swapped),
    ("direction", exp.Ordered, _direction),
    ("order_dropped", exp.Order, _fewer_orders),
    ("set_operation", exp.SetOperation, _set_operation),
    ("group_dropped", exp.Group, _group),
    ("between", exp.Between, _bounds),
    ("in_item_dropped", exp.In, _fewer_items),
    ("case", exp.Case, _branches),
    ("window", exp.Window, _window),
    ("frame", exp.WindowSpec, _frame),
    ("rank", _RANKS, _swapped),
    ("end_of_window", _ENDS, _swapped),
    ("quantifier", (exp.Any, exp.All), _quantifier),
)
