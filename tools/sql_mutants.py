"""Mutants of a SQL statement: copies with a single change, to measure what test data detects.

Data on which a statement and its mutant give the same result does not test the changed node: the
share of mutants that are killed measures a set of databases (mutation testing after DeMillo, Lipton
and Sayward 1978, with operators for SQL after Tuya, Suárez-Cabal and de la Riva 2007). Some mutants
are equivalent to the original; which, nobody can tell in general.

A rule gives, for a node of a statement, other nodes that can stand in its place. It may look at
what is around its node but changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Any

import sqlglot
from sqlglot import exp

from evalcore.records import Record

Rule = Callable[[Any], Iterator[exp.Expr]]


class Mutant(Record, frozen=True):
    """A changed statement; `kind` names the rule that changed it, such as "comparison"."""

    kind: str
    sql: str


def normal_form(sql: str, dialect: str) -> str:
    """Render the statements as sqlglot does, without comments; mutants are rendered alike.

    Compare mutants with this text, so that a peculiarity of the writer is not taken for a change.
    Raises sqlglot's ParseError or TokenError where the text is not SQL of
    the dialect, and ParseError too where it is nested too deeply.
    """
    return ";\n".join(_render_tree(tree, dialect) for tree in _parse_mutant_trees(sql, dialect))


def generate_mutants(sql: str, dialect: str) -> tuple[Mutant, ...]:
    """Generate the distinct mutants in the order of the changed nodes, none equal to the original.

    Each is well-formed for sqlglot; an engine may still refuse it. A statement that the parser
    passes through unread (a procedure's body) has none. Raises as `normal_form`.
    """
    original = normal_form(sql, dialect)
    texts = [_render_tree(tree, dialect) for tree in _parse_mutant_trees(sql, dialect)]
    kind_by_sql: dict[str, str] = {}
    for index, tree in enumerate(_parse_mutant_trees(sql, dialect)):
        for kind, changed in _iter_changes(tree, dialect):
            whole = ";\n".join((*texts[:index], changed, *texts[index + 1 :]))
            if whole != original and whole not in kind_by_sql and _is_parsable(whole, dialect):
                kind_by_sql[whole] = kind
    return tuple(Mutant(kind=kind, sql=whole) for whole, kind in kind_by_sql.items())


def _parse_mutant_trees(sql: str, dialect: str) -> list[exp.Expr]:
    try:
        return [tree for tree in sqlglot.parse(sql, read=dialect) if tree is not None]
    except RecursionError as error:
        raise sqlglot.errors.ParseError("the statement is nested too deeply") from error


def _render_tree(tree: exp.Expr, dialect: str) -> str:
    return tree.sql(dialect=dialect, comments=False)


def _iter_changes(tree: exp.Expr, dialect: str) -> Iterator[tuple[str, str]]:
    for node in list(tree.walk()):
        for kind, types, rule in RULES:
            if not isinstance(node, types):
                continue
            for other in list(rule(node)):
                yield kind, _render_with_change(tree, node, other, dialect)


def _render_with_change(tree: exp.Expr, node: exp.Expr, other: exp.Expr, dialect: str) -> str:
    """Render the tree with `other` instead of `node`; the tree stays as it is."""
    if node is tree:
        return _render_tree(other, dialect)
    node.replace(other)
    text = _render_tree(tree, dialect)
    other.replace(node)
    return text


def _is_parsable(sql: str, dialect: str) -> bool:
    try:
        return bool(_parse_mutant_trees(sql, dialect))
    except sqlglot.errors.SqlglotError:
        return False


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
_VALUE_PARENTS = (
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
_COUNTING_PARENTS = (exp.Limit, exp.Offset, exp.Fetch)
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)(.*)", re.S)


def _swap_operator(node: exp.Expr) -> Iterator[exp.Expr]:
    """The same operands under another operator or function."""
    for other in _SWAPS[type(node)]:
        if other.arg_types.keys() >= {key for key, value in node.args.items() if value}:
            yield other(**{key: _copy_value(value) for key, value in node.args.items()})


def _copy_value(value: Any) -> Any:
    if isinstance(value, list):
        return [_copy_value(item) for item in value]
    return value.copy() if isinstance(value, exp.Expr) else value


def _copy_with(node: exp.Expr, **args: Any) -> exp.Expr:
    other = node.copy()
    for key, value in args.items():
        other.set(key, _copy_value(value))
    return other


def _drop_predicate(node: exp.And | exp.Or) -> Iterator[exp.Expr]:
    yield node.this.copy()
    yield node.expression.copy()


def _drop_filter(node: exp.Expr) -> Iterator[exp.Expr]:
    for clause in ("where", "having", "qualify"):
        if node.args.get(clause) is not None:
            yield _copy_with(node, **{clause: None})


def _drop_not(node: exp.Not) -> Iterator[exp.Expr]:
    yield node.this.copy()


def _add_not(node: exp.Expr) -> Iterator[exp.Expr]:
    if not isinstance(node.parent, exp.Not):
        yield exp.Not(this=node.copy())


def _negate_null_test(node: exp.Is) -> Iterator[exp.Expr]:
    if isinstance(node.expression, exp.Null) and not isinstance(node.parent, exp.Not):
        yield _copy_with(node, negate=not node.args.get("negate"))


def _shift_number(node: exp.Literal) -> Iterator[exp.Expr]:
    """One more and one less; counts of rows and places of columns have rules of their own."""
    numeral = not node.is_string or isinstance(node.parent, exp.Interval)
    skipped = (*_COUNTING_PARENTS, exp.DataTypeParam, exp.Ordered, exp.Group, exp.WindowSpec)
    if isinstance(node.parent, skipped) or _only_exists(node.parent):
        return
    if not numeral or not re.fullmatch(r"\d+", node.this):
        if not node.is_string and re.fullmatch(r"\d*\.\d+", node.this):
            yield exp.Literal.number(str(float(node.this) + 0.5))
        return
    for value in (int(node.this) + 1, int(node.this) - 1):
        yield exp.Literal(this=str(value), is_string=node.is_string)


def _change_text(node: exp.Literal) -> Iterator[exp.Expr]:
    """A day more or less for dates, a letter more or less for words."""
    if not node.is_string or not isinstance(node.parent, _VALUE_PARENTS):
        return
    match = _ISO.fullmatch(node.this)
    if match is None:
        yield exp.Literal.string(node.this + "x")
        if node.this:
            yield exp.Literal.string(node.this[:-1])
        return
    try:
        day = date.fromisoformat(match[1])
    except ValueError:
        return  # a text that only looks like a date
    for days in (1, -1):
        if date.min < day < date.max:
            yield exp.Literal.string((day + timedelta(days=days)).isoformat() + match[2])


def _change_pattern(node: exp.Expr) -> Iterator[exp.Expr]:
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
        yield _copy_with(node, expression=exp.Literal.string(other))


def _shift_row_count(node: exp.Expr) -> Iterator[exp.Expr]:
    key = "count" if isinstance(node, exp.Fetch) else "expression"
    value = node.args.get(key)
    if isinstance(value, exp.Literal) and value.is_int:
        for number in (int(value.this) + 1, int(value.this) - 1):
            if number >= 0:
                yield _copy_with(node, **{key: exp.Literal.number(number)})


def _drop_limit(node: exp.Query) -> Iterator[exp.Expr]:
    for key in ("limit", "offset"):
        if node.args.get(key) is not None:
            yield _copy_with(node, **{key: None})


def _change_join_side(node: exp.Join) -> Iterator[exp.Expr]:
    """Inner, left and full joins take each other's place; a cross join has no condition."""
    if not (node.args.get("on") or node.args.get("using")) or node.args.get("method"):
        return
    side = str(node.args.get("side") or "")
    for other in {"": ("LEFT",), "LEFT": ("",), "RIGHT": ("",), "FULL": ("LEFT", "")}.get(side, ()):
        yield _copy_with(node, side=other or None, kind=None)


def _toggle_distinct(node: exp.Select) -> Iterator[exp.Expr]:
    """Not where repeated rows cannot matter: under EXISTS and IN, or where there are none."""
    if _only_exists(node) or isinstance(node.parent, exp.In) or _has_unique_rows(node):
        return
    if node.args.get("distinct") is None:
        yield _copy_with(node, distinct=exp.Distinct())
    elif node.args["distinct"].args.get("on") is None:
        yield _copy_with(node, distinct=None)


def _only_exists(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Select) and isinstance(node.parent, exp.Exists)


def _has_unique_rows(select: exp.Select) -> bool:
    """Whether it gives one row, or all that its rows are grouped by."""
    if select.args.get("distinct") is not None:
        return False
    group = select.args.get("group")
    if group is None:
        return any(map(_is_aggregate, select.selects))
    if not group.expressions or any(v for k, v in group.args.items() if k != "expressions"):
        return False  # grouping sets repeat
    shown = [part.unalias() for part in select.selects]
    return all(_is_position(key) or key in shown for key in group.expressions)


def _is_position(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_int


def _is_aggregate(node: exp.Expr) -> bool:
    """Whether an output draws all rows together; a query inside it has rows of its own."""
    select = node.parent
    return any(
        function.find_ancestor(exp.Select) is select and function.find_ancestor(exp.Window) is None
        for function in node.find_all(exp.AggFunc)
    )


def _change_count(node: exp.Count) -> Iterator[exp.Expr]:
    """COUNT(DISTINCT x), COUNT(x), COUNT(*) and SUM are easily mixed up."""
    inner = node.this
    if isinstance(inner, exp.Distinct):
        if len(inner.expressions) == 1:
            yield _copy_with(node, this=inner.expressions[0])
    elif isinstance(inner, exp.Column):
        yield _copy_with(node, this=exp.Distinct(expressions=[inner.copy()]))
        yield _copy_with(node, this=exp.Star())


def _toggle_aggregate_distinct(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node.this, exp.Distinct):
        yield _copy_with(node, this=node.this.expressions[0])
    else:
        yield _copy_with(node, this=exp.Distinct(expressions=[node.this.copy()]))


def _reverse_direction(node: exp.Ordered) -> Iterator[exp.Expr]:
    """The other way round, NULLs too, as dialects do that count them as small or large.

    Not in an index or the target of a conflict, where it changes no row.
    """
    if isinstance(node.parent, exp.Order):
        desc, nulls_first = not node.args.get("desc"), not node.args.get("nulls_first")
        yield _copy_with(node, desc=desc, nulls_first=nulls_first)


def _drop_order_key(node: exp.Order) -> Iterator[exp.Expr]:
    yield from _drop_each_item(node, "expressions")


def _drop_each_item(node: exp.Expr, key: str) -> Iterator[exp.Expr]:
    """One of several items left out, each in turn."""
    items = node.args.get(key) or []
    if len(items) > 1:
        for index in range(len(items)):
            yield _copy_with(node, **{key: items[:index] + items[index + 1 :]})


def _swap_set_operation(node: exp.SetOperation) -> Iterator[exp.Expr]:
    if isinstance(node, exp.Union):
        yield _copy_with(node, distinct=not node.args.get("distinct"))
        return
    other = exp.Except if isinstance(node, exp.Intersect) else exp.Intersect
    yield other(**{key: _copy_value(value) for key, value in node.args.items()})


def _drop_default(node: exp.Coalesce) -> Iterator[exp.Expr]:
    yield node.this.copy()


def _drop_group_key(node: exp.Group) -> Iterator[exp.Expr]:
    yield from _drop_each_item(node, "expressions")


def _change_bounds(node: exp.Between) -> Iterator[exp.Expr]:
    """Each bound made exclusive, each left out."""
    low = (node.this, node.args["low"])
    high = (node.this, node.args["high"])
    for first, second in ((exp.GT, exp.LTE), (exp.GTE, exp.LT)):
        both = exp.And(
            this=_build_comparison(first, *low), expression=_build_comparison(second, *high)
        )
        yield exp.Paren(this=both)
    yield _build_comparison(exp.GTE, *low)
    yield _build_comparison(exp.LTE, *high)


def _build_comparison(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return kind(this=left.copy(), expression=right.copy())


def _drop_in_item(node: exp.In) -> Iterator[exp.Expr]:
    yield from _drop_each_item(node, "expressions")


def _drop_branch(node: exp.Case) -> Iterator[exp.Expr]:
    yield from _drop_each_item(node, "ifs")
    if node.args.get("default") is not None:
        yield _copy_with(node, default=None)


def _change_window(node: exp.Window) -> Iterator[exp.Expr]:
    """Without its partition, its frame, or with RANGE for ROWS."""
    if node.args.get("partition_by"):
        yield _copy_with(node, partition_by=None)
    spec = node.args.get("spec")
    if spec is None:
        return
    yield _copy_with(node, spec=None)
    sides = {spec.args.get("start"), spec.args.get("end")}
    if sides <= {"UNBOUNDED", "CURRENT ROW", None}:
        rows = str(spec.args.get("kind")).upper() == "ROWS"
        yield _copy_with(node, spec=_copy_with(spec, kind="RANGE" if rows else "ROWS"))


def _shift_frame(node: exp.WindowSpec) -> Iterator[exp.Expr]:
    for key in ("start", "end"):
        value = node.args.get(key)
        if isinstance(value, exp.Literal) and value.is_int:
            yield _copy_with(node, **{key: exp.Literal.number(int(value.this) + 1)})


def _swap_quantifier(node: exp.Any | exp.All) -> Iterator[exp.Expr]:
    """ANY for ALL and the other way round; the writer puts brackets around a bare query only."""
    other = exp.All if isinstance(node, exp.Any) else exp.Any
    yield other(this=node.this.unnest().copy())


_Types = type[exp.Expr] | tuple[type[exp.Expr], ...]
#: Kind of the change, nodes that it applies to, the rule.
RULES: tuple[tuple[str, _Types, Rule], ...] = (
    ("comparison", _COMPARISONS, _swap_operator),
    ("and_or", (exp.And, exp.Or), _swap_operator),
    ("predicate_dropped", (exp.And, exp.Or), _drop_predicate),
    ("filter_dropped", (exp.Select, exp.Update, exp.Delete), _drop_filter),
    ("not_dropped", exp.Not, _drop_not),
    ("not_added", (exp.In, exp.Exists, exp.Like, exp.Between), _add_not),
    ("null_test", exp.Is, _negate_null_test),
    ("null_default", exp.Coalesce, _drop_default),
    ("number", exp.Literal, _shift_number),
    ("text", exp.Literal, _change_text),
    ("pattern", (exp.Like, exp.ILike), _change_pattern),
    ("limit", (exp.Limit, exp.Offset, exp.Fetch), _shift_row_count),
    ("limit_dropped", exp.Query, _drop_limit),
    ("join", exp.Join, _change_join_side),
    ("distinct", exp.Select, _toggle_distinct),
    ("count", exp.Count, _change_count),
    ("aggregate", (exp.Min, exp.Max, exp.Sum, exp.Avg), _swap_operator),
    ("aggregate_distinct", (exp.Sum, exp.Avg), _toggle_aggregate_distinct),
    ("arithmetic", _ARITHMETIC, _swap_operator),
    ("function", _FUNCTIONS, _swap_operator),
    ("direction", exp.Ordered, _reverse_direction),
    ("order_dropped", exp.Order, _drop_order_key),
    ("set_operation", exp.SetOperation, _swap_set_operation),
    ("group_dropped", exp.Group, _drop_group_key),
    ("between", exp.Between, _change_bounds),
    ("in_item_dropped", exp.In, _drop_in_item),
    ("case", exp.Case, _drop_branch),
    ("window", exp.Window, _change_window),
    ("frame", exp.WindowSpec, _shift_frame),
    ("rank", _RANKS, _swap_operator),
    ("end_of_window", _ENDS, _swap_operator),
    ("quantifier", (exp.Any, exp.All), _swap_quantifier),
)
