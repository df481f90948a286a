"""The values that statements hold columns against: comparisons, patterns, lists, defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from sqlglot import exp

from evalcore.records import Record
from evalcore.sqlkit.generate.arithmetic import fold_constant, solve_for_column

Operator = Literal["=", "<>", "<", "<=", ">", ">=", "like", "not like", "null"]


class Constant(Record, frozen=True):
    """A value that a column is held against: text, number, or None for IS NULL."""

    operator: Operator
    value: str | int | float | None


#: The operator from either side.
COMPARISONS: dict[type[exp.Expr], tuple[Operator, Operator]] = {
    exp.EQ: ("=", "="),
    exp.NullSafeEQ: ("=", "="),
    exp.NEQ: ("<>", "<>"),
    exp.NullSafeNEQ: ("<>", "<>"),
    exp.LT: ("<", ">"),
    exp.LTE: ("<=", ">="),
    exp.GT: (">", "<"),
    exp.GTE: (">=", "<="),
}
_NEGATED: dict[Operator, Operator] = {
    "=": "<>",
    "<>": "=",
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
    "like": "not like",
    "null": "null",
}
ColumnConstant = tuple[tuple[str, ...], Constant]


def list_column_names(node: exp.Expr) -> tuple[str, ...]:
    """The columns of an expression, folded, not those of a query inside it."""
    if isinstance(node, exp.Query):
        return ()
    if isinstance(node, exp.Column):
        return (node.name.lower(),)
    return tuple(name for child in node.iter_expressions() for name in list_column_names(child))


def iter_constants(tree: exp.Expr) -> Iterator[ColumnConstant]:
    """Every constant of a statement with the columns that are held against it.

    A column that stands alone as a condition is held against 1, under NOT against 0.
    """
    for node in tree.walk():
        negated = _is_negated(node)
        for columns, constant in _iter_node_constants(node):
            if negated:
                yield columns, Constant(_NEGATED[constant.operator], constant.value)
            else:
                yield columns, constant
        if isinstance(node, exp.Column) and _is_condition(node):
            yield list_column_names(node), Constant("=", 0 if negated else 1)


def _is_negated(node: exp.Expr) -> bool:
    if node.args.get("negate"):
        return True
    around = node.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    return isinstance(around, exp.Not)


def _iter_node_constants(node: exp.Expr) -> Iterator[ColumnConstant]:
    if type(node) in COMPARISONS:
        forward, backward = COMPARISONS[type(node)]
        yield from _pair_constants(node.this, node.expression, forward)
        yield from _pair_constants(node.expression, node.this, backward)
    elif isinstance(node, exp.Like | exp.ILike):
        yield from _pair_constants(node.this, node.expression, "like")
    elif isinstance(node, exp.Glob):
        for value in _list_literals(node.expression):
            pattern = str(value).replace("*", "%").replace("?", "_")
            yield list_column_names(node.this), Constant("like", pattern)
    elif isinstance(node, exp.Between):
        yield from _pair_constants(node.this, node.args["low"], ">=")
        yield from _pair_constants(node.this, node.args["high"], "<=")
    elif isinstance(node, exp.In):
        for item in node.expressions:
            yield from _pair_constants(node.this, item, "=")
    elif isinstance(node, exp.Is):
        yield list_column_names(node.this), Constant("null", None)
    elif isinstance(node, exp.StartsWith | exp.Contains):
        for value in _list_literals(node.expression):
            yield list_column_names(node.this), Constant("like", f"%{value}%")
    else:
        yield from _iter_alternatives(node)


def _iter_alternatives(node: exp.Expr) -> Iterator[ColumnConstant]:
    """What a value is replaced by, or told apart from."""
    if isinstance(node, exp.Coalesce):
        yield list_column_names(node.this), Constant("null", None)
        for other in node.expressions:
            yield from _pair_constants(node.this, other, "=")
    elif isinstance(node, exp.Case) and node.this is not None:
        for branch in node.args.get("ifs", ()):
            yield from _pair_constants(node.this, branch.this, "=")


def _is_condition(column: exp.Column) -> bool:
    """Whether a column alone is true or false, such as `WHERE NOT closed`."""
    around = column.parent
    if isinstance(around, exp.If | exp.Where | exp.Having | exp.Filter):
        return around.this is column
    return isinstance(around, exp.Not | exp.And | exp.Or)


def _pair_constants(left: Any, right: Any, operator: Operator) -> Iterator[ColumnConstant]:
    columns = list_column_names(left)
    if not columns:
        return
    for value in _list_literals(right):
        yield columns, Constant(operator, value)
    number = fold_constant(right)
    if number is not None:
        yield columns, Constant(operator, solve_for_column(left, number)[1])


def _list_literals(node: exp.Expr) -> tuple[str | int | float, ...]:
    """The literal values of an expression, a negated one with its sign."""
    if isinstance(node, exp.Query):
        return ()
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
        return tuple(-v for v in _list_literals(node.this) if not isinstance(v, str))
    if isinstance(node, exp.Literal):
        return (node.this if node.is_string else _parse_numeric_literal(node.this),)
    if isinstance(node, exp.Boolean):
        return (int(node.this),)
    return tuple(value for child in node.iter_expressions() for value in _list_literals(child))


def _parse_numeric_literal(text: str) -> int | float | str:
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text
