"""What statements and CHECKs hold columns against: constants and lengths of time."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any, Literal

from sqlglot import exp

from evalcore.records import Record
from evalcore.sqlkit.generate.clocks import iter_anniversaries, iter_moved_days
from evalcore.sqlkit.generate.regex_samples import sample_matches

# The value at which a comparison turns, where arithmetic stands between column and constant.

Number = int | float
_OPERATIONS: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: operator.truediv,
}
#: What undoes an operation with a constant on its right, and turns no comparison round.
_UNDONE: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: operator.sub,
    exp.Sub: operator.add,
    exp.Mul: operator.truediv,
    exp.Div: operator.mul,
}
_MAX_EXACT = 2**53  # beyond it fractions are not exact


def fold_constant(node: exp.Expr) -> Number | None:
    """The number that an expression of numbers alone gives, such as 12 * 25; None for others."""
    if isinstance(node, exp.Paren | exp.Cast):
        return fold_constant(node.this)
    if isinstance(node, exp.Neg):
        inner = fold_constant(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Literal):
        return None if node.is_string else _parse_exact_number(node.this)
    if type(node) not in _OPERATIONS:
        return None
    left, right = fold_constant(node.this), fold_constant(node.expression)
    return (
        None if left is None or right is None else _apply_operation(_OPERATIONS, node, left, right)
    )


def solve_for_column(node: exp.Expr, value: Number) -> tuple[exp.Expr, Number]:
    """What is left of `node` without its constants, and the value to hold it against.

    `units * 2 - 40` against 300 is `units` against 170. Constants on the left of an operator are
    left, and so are factors below 0, which would turn the comparison round.
    """
    while True:
        if isinstance(node, exp.Paren):
            node = node.this
            continue
        constant = fold_constant(node.expression) if type(node) in _UNDONE else None
        scaling = isinstance(node, exp.Mul | exp.Div)
        if constant is None or (scaling and constant <= 0):
            return node, value
        undone = _apply_operation(_UNDONE, node, value, constant)
        if undone is None:
            return node, value
        node, value = node.this, undone


def _apply_operation(
    table: dict[type[exp.Expr], Callable[[Any, Any], Any]],
    node: exp.Expr,
    left: Number,
    right: Number,
) -> Number | None:
    try:
        number = table[type(node)](left, right)
    except (ArithmeticError, ValueError):
        return None
    if not abs(number) < _MAX_EXACT:
        return None
    return int(number) if number == int(number) else round(number, 6)


def _parse_exact_number(text: str) -> Number | None:
    try:
        number = float(text)
    except ValueError:
        return None
    if not abs(number) < _MAX_EXACT:
        return None
    return int(number) if number == int(number) else number


# The values that statements hold columns against: comparisons, patterns, lists, defaults.

Operator = Literal["=", "<>", "<", "<=", ">", ">=", "like", "not like", "null", "not null", "about"]


class Constant(Record, frozen=True):
    """A value, None for NULL, that a column is held against, or that is no more than `about` it."""

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
    "null": "not null",
    "not null": "not null",
    "about": "about",
}
_TURNED: dict[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
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

    A column that stands alone as a condition is held against 1, under NOT against 0; an alias of
    a literal stands for it.
    """
    for read in filter(None, (tree, _inline_literals(tree))):
        yield from _iter_tree_constants(read)


def _inline_literals(tree: exp.Expr) -> exp.Expr | None:
    """A copy of the statement with literals in place of the columns that inner queries give them
    as, such as `bounds.low` for `WITH bounds AS (SELECT 5 AS low)`; None where there are none."""
    first = dict(reversed(list(_iter_named_parts(tree))))
    fixed = {
        name: node
        for name, node in first.items()
        if _list_literals(node) and not list_column_names(node) and not node.find(exp.Query)
    }
    inner = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    stored = {
        table.alias_or_name.lower()
        for table in tree.find_all(exp.Table)
        if table.name.lower() not in inner and not isinstance(table.this, exp.Func)
    }

    def is_fixed(node: exp.Expr) -> bool:
        named = isinstance(node, exp.Column) and node.name.lower() in fixed
        return named and node.text("table").lower() not in stored

    if not any(map(is_fixed, tree.find_all(exp.Column))):
        return None
    return tree.transform(lambda node: fixed[node.name.lower()].copy() if is_fixed(node) else node)


_MAX_VALUES = 12  # rows of a VALUES clause whose literals are read


def _iter_named_parts(tree: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    """The folded names that a statement gives to expressions, each with the expression."""
    for alias in tree.find_all(exp.Alias):
        yield alias.alias.lower(), alias.this
    for named in tree.find_all(exp.CTE, exp.Subquery):  # WITH bounds (low) AS (SELECT 5)
        declared = named.args["alias"].columns if named.args.get("alias") else ()
        selected = named.this.selects if isinstance(named.this, exp.Query) else ()
        for identifier, part in zip(declared, selected, strict=False):
            if not isinstance(part, exp.Star):
                yield identifier.name.lower(), part
    for values in tree.find_all(exp.Values):  # WITH bounds (low) AS (VALUES (5)), or AS v (low)
        cte = values.find_ancestor(exp.CTE)
        tables = [each.args.get("alias") for each in (values, cte) if each is not None]
        declared = next((table.columns for table in tables if table and table.columns), ())
        rows = [row.expressions for row in values.expressions[:_MAX_VALUES] if row.expressions]
        rows = [row[0].expressions if isinstance(row[0], exp.Anonymous) else row for row in rows]
        for identifier, *parts in zip(declared, *rows, strict=False):  # MySQL: VALUES ROW(5)
            if not parts:
                continue
            several = exp.Tuple(expressions=[part.copy() for part in parts])
            yield identifier.name.lower(), several if parts[1:] else parts[0]
    for table in tree.find_all(exp.Table):  # generate_series(1, 5) AS n, or AS t (n)
        named_as = table.args.get("alias")
        if named_as is not None and isinstance(table.this, exp.Func):
            for identifier in named_as.columns or [named_as.this]:
                yield identifier.name.lower(), table.this


def _iter_tree_constants(tree: exp.Expr) -> Iterator[ColumnConstant]:
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
        if isinstance(node.this, exp.Tuple) and isinstance(node.expression, exp.Tuple):
            yield from _iter_row_constants(node.this, node.expression, forward)
        yield from _pair_constants(node.this, node.expression, forward)
        yield from _pair_constants(node.expression, node.this, backward)
        yield from _iter_moved_constants(node.this, node.expression, forward)
        yield from _iter_moved_constants(node.expression, node.this, backward)
        yield from _iter_joined_constants(node.this, node.expression)
    elif isinstance(node, exp.Like | exp.ILike):
        for columns, constant in _pair_constants(node.this, node.expression, "like"):
            yield columns, _read_escapes(node, constant)
    elif isinstance(node, exp.Glob):
        for value in _list_literals(node.expression):
            pattern = str(value).replace("*", "%").replace("?", "_")
            yield list_column_names(node.this), Constant("like", pattern)
    elif isinstance(node, exp.Between):
        yield from _pair_constants(node.this, node.args["low"], ">=")
        yield from _pair_constants(node.this, node.args["high"], "<=")
        yield from _iter_moved_constants(node.this, node.args["low"], ">=")
        yield from _iter_moved_constants(node.this, node.args["high"], "<=")
    elif isinstance(node, exp.In):
        for item in node.expressions:
            yield from _pair_constants(node.this, item, "=")
    elif isinstance(node, exp.Is):
        operator: Operator = "null" if isinstance(node.expression, exp.Null) else "not null"
        yield list_column_names(node.this), Constant(operator, None)
    elif isinstance(node, exp.StartsWith | exp.Contains):
        for value in _list_literals(node.expression):
            yield list_column_names(node.this), Constant("like", f"%{value}%")
    elif isinstance(node, exp.ArrayContains | exp.ArrayContainsAll | exp.ArrayOverlaps):
        yield from _pair_constants(node.this, node.expression, "=")
        yield from _pair_constants(node.expression, node.this, "=")
    elif isinstance(node, exp.Overlaps):
        yield from _pair_constants(node.this, node.expression, "about")
        yield from _pair_constants(node.expression, node.this, "about")
    elif isinstance(node, exp.Div | exp.IntDiv):
        yield from _iter_halves(node)
    elif isinstance(node, exp.Bracket):  # the key of a map
        for part in node.expressions:
            yield from _pair_constants(node.this, part, "=")
    elif isinstance(node, exp.Anonymous) and node.name.upper() == "FIND_IN_SET":
        item, names = node.expressions[0], list_column_names(node)
        for value in _list_literals(item):
            yield from ((names, Constant("=", text)) for text in (value, f"x,{value},y"))
    elif isinstance(node, exp.Insert) and isinstance(node.expression, exp.Values):
        yield from _iter_upserted_constants(node)
    elif _takes_pattern(node):
        yield from _iter_regex_constants(node)
    elif isinstance(node, _ALTERNATIVES):
        yield from _iter_alternatives(node)
    elif isinstance(node, exp.Func) and not isinstance(node, exp.Connector):
        columns = list_column_names(node)
        for day in iter_anniversaries(node) if columns else ():
            yield columns, Constant("about", day)


def _iter_halves(node: exp.Expr) -> Iterator[ColumnConstant]:
    """What divided by a constant gives halves, where whole numbers are made of it: engines and
    functions differ in how they round these."""
    divisor = fold_constant(node.expression)
    if divisor and divisor > 1 and node.find_ancestor(exp.Round, exp.Cast, exp.Floor, exp.Ceil):
        for half in (0.5, 1.5, 2.5):
            value = divisor * half
            yield (
                list_column_names(node.this),
                Constant("about", int(value) if value == int(value) else value),
            )


def _iter_joined_constants(side: exp.Expr, other: exp.Expr) -> Iterator[ColumnConstant]:
    """What the columns hold where the text is asked for that they are put together to: `a` x and
    `b` 1 for `a || '-' || b = 'x-1'`."""
    if not (isinstance(other, exp.Literal) and isinstance(side, exp.DPipe | exp.Concat)):
        return
    parts = side.flatten() if isinstance(side, exp.DPipe) else side.expressions
    parts = [part for part in parts if part.find(exp.Column) or isinstance(part, exp.Literal)]
    columns = [part for part in parts if not isinstance(part, exp.Literal)]
    written = (re.escape(p.name) if isinstance(p, exp.Literal) else "(.+?)" for p in parts)
    if len(columns) > _MAX_PARTS:
        return
    if match := re.fullmatch("".join(written), other.name[:_MAX_JOINED]):
        for part, text in zip(columns, match.groups(), strict=True):
            yield list_column_names(part), Constant("=", text)


_MAX_JOINED, _MAX_PARTS = 80, 4
_ALTERNATIVES = (exp.Coalesce, exp.Case)


def _iter_row_constants(
    left: exp.Tuple, right: exp.Tuple, operator: Operator
) -> Iterator[ColumnConstant]:
    """Of rows that are compared: the last column decides where all before it are equal."""
    pairs = list(zip(left.expressions, right.expressions, strict=False))
    for number, (column, value) in enumerate(pairs, 1):
        yield from _pair_constants(column, value, operator if number == len(pairs) else "=")


def _read_escapes(node: exp.Expr, constant: Constant) -> Constant:
    """A pattern with a backslash in place of the character that `LIKE ... ESCAPE` names."""
    mark = node.parent.expression.name if isinstance(node.parent, exp.Escape) else ""
    if not mark or not isinstance(constant.value, str):
        return constant
    return Constant(constant.operator, constant.value.replace(mark, "\\"))


def _iter_moved_constants(
    side: exp.Expr, other: exp.Expr, operator: Operator
) -> Iterator[ColumnConstant]:
    """The days at which a comparison with a side that holds columns turns."""
    columns = list_column_names(side)
    for day, is_bound, is_turned in iter_moved_days(side, other) if columns else ():
        compared = _TURNED.get(operator, operator) if is_turned else operator
        yield columns, Constant(compared if is_bound else "about", day)


def may_conflict(node: exp.Expr) -> bool:
    """Whether a statement is an INSERT that says what becomes of rows that are there already."""
    stated = any(map(node.args.get, ("conflict", "alternative", "ignore")))
    return isinstance(node, exp.Insert) and stated


def _iter_upserted_constants(node: exp.Insert) -> Iterator[ColumnConstant]:
    """What an INSERT writes that says what becomes of rows that are there already."""
    if may_conflict(node):
        columns = node.this.expressions if isinstance(node.this, exp.Schema) else ()
        for values in node.expression.expressions[:3]:
            for column, value in zip(columns, values.iter_expressions(), strict=False):
                yield from _pair_constants(exp.column(column.name), value, "=")


def _takes_pattern(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return _REGEX_FUNCTION.match(node.name) is not None
    named = isinstance(node, exp.Func) and _REGEX_FUNCTION.match(node.sql_name()) is not None
    return named or isinstance(node, exp.SimilarTo | exp.RegexpLike | exp.RegexpILike)


_REGEX_FUNCTION = re.compile(r"REGEXP?_?|RLIKE", re.I)


def _iter_regex_constants(node: exp.Expr) -> Iterator[ColumnConstant]:
    """Texts that the pattern of a function matches, the first of its literals."""
    patterns = [part for part in node.iter_expressions() if isinstance(part, exp.Literal)]
    columns = next(filter(None, map(list_column_names, node.iter_expressions())), ())
    for pattern in [part.this for part in patterns if part.is_string][:1]:
        for text in sample_matches(pattern.replace("%", ".*")):
            yield columns, Constant("=", text)


def _iter_alternatives(node: exp.Expr) -> Iterator[ColumnConstant]:
    """What a value is replaced by, or told apart from."""
    if isinstance(node, exp.Coalesce):
        yield list_column_names(node.this), Constant("not null", None)
        for other in node.expressions:
            yield from _pair_constants(node.this, other, "about")
    elif node.this is not None:
        for branch in node.args.get("ifs", ()):
            yield from _pair_constants(node.this, branch.this, "=")


def _is_condition(column: exp.Column) -> bool:
    """Whether a column alone is true or false, such as `WHERE NOT closed`."""
    around = column.parent
    if isinstance(around, exp.If | exp.Where | exp.Having | exp.Filter):
        return around.this is column
    return isinstance(around, exp.Not | exp.And | exp.Or)


def _pair_constants(left: Any, right: Any, operator: Operator) -> Iterator[ColumnConstant]:
    if isinstance(left, exp.Subquery) and isinstance(left.this, exp.Select):
        left = next(iter(left.this.selects), left)  # what a scalar subquery gives
    columns = list_column_names(left)
    if not columns:
        return
    if list_column_names(right):
        operator = "about"
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
