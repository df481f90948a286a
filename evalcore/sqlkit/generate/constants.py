"""The values that statements hold columns against: comparisons, patterns, lists, defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from sqlglot import exp

from evalcore.records import Record
from evalcore.sqlkit.generate.arithmetic import folded, solved

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
Found = tuple[tuple[str, ...], Constant]


def columns_of(node: exp.Expr) -> tuple[str, ...]:
    """The columns of an expression, folded, not those of a query inside it."""
    if isinstance(node, exp.Query):
        return ()
    if isinstance(node, exp.Column):
        return (node.name.lower(),)
    return tuple(name for child in node.iter_expressions() for name in columns_of(child))


def constants(tree: exp.Expr) -> Iterator[Found]:
    """Every constant of a statement with the columns that are held against it.

    A column that stands alone as a condition is held against 1, under NOT against 0.
    """
    for node in tree.walk():
        negated = _is_negated(node)
        for columns, constant in _constants(node):
            if negated:
                yield columns, Constant(_NEGATED[constant.operator], constant.value)
            else:
                yield columns, constant
        if isinstance(node, exp.Column) and _is_condition(node):
            yield columns_of(node), Constant("=", 0 if negated else 1)


def _is_negated(node: exp.Expr) -> bool:
    if node.args.get("negate"):
        return True
    around = node.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    return isinstance(around, exp.Not)


def _constants(node: exp.Expr) -> Iterator[Found]:
    if type(node) in COMPARISONS:
        forward, backward = COMPARISONS[type(node)]
        yield from _pairs(node.this, node.expression, forward)
        yield from _pairs(node.expression, node.this, backward)
    elif isinstance(node, exp.Like | exp.ILike):
        yield from _pairs(node.this, node.expression, "like")
    elif isinstance(node, exp.Glob):
        for value in _literals(node.expression):
            pattern = str(value).replace("*", "%").replace("?", "_")
            yield columns_of(node.this), Constant("like", pattern)
    elif isinstance(node, exp.Between):
        yield from _pairs(node.this, node.args["low"], ">=")
        yield from _pairs(node.this, node.args["high"], "<=")
    elif isinstance(node, exp.In):
        for item in node.expressions:
            yield from _pairs(node.this, item, "=")
    elif isinstance(node, exp.Is):
        yield columns_of(node.this), Constant("null", None)
    elif isinstance(node, exp.StartsWith | exp.Contains):
        for value in _literals(node.expression):
            yield columns_of(node.this), Constant("like", f"%{value}%")
    else:
        yield from _alternatives(node)


def _alternatives(node: exp.Expr) -> Iterator[Found]:
    """What a value is replaced by, or told apart from."""
    if isinstance(node, exp.Coalesce):
        yield columns_of(node.this), Constant("null", None)
        for other in node.expressions:
            yield from _pairs(node.this, other, "=")
    elif isinstance(node, exp.Case) and node.this is not None:
        for branch in node.args.get("ifs", ()):
            yield from _pairs(node.this, branch.this, "=")


def _is_condition(column: exp.Column) -> bool:
    """Whether a column alone is true or false, such as `WHERE NOT closed`."""
    around = column.parent
    if isinstance(around, exp.If | exp.Where | exp.Having | exp.Filter):
        return around.this is column
    return isinstance(around, exp.Not | exp.And | exp.Or)


def _pairs(left: Any, right: Any, operator: Operator) -> Iterator[Found]:
    columns = columns_of(left)
    if not columns:
        return
    for value in _literals(right):
        yield columns, Constant(operator, value)
    number = folded(right)
    if number is not None:
        yield columns, Constant(operator, solved(left, number)[1])


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
