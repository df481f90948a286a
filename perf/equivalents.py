"""Other spellings of a statement that mean the same in every dialect here.

Each rule changes all places that it applies to, so that a statement has at most one other spelling
a rule. A rule leaves alone what only looks equivalent: operands are exchanged only where none can
fail (PostgreSQL may evaluate either first), branches of a recursive query never.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import sqlglot
from sqlglot import exp

from evalcore.records import Record
from perf.reshaped import reshaped
from tools.sql_mutants import normal_form

Rule = Callable[[Any], exp.Expr | None]
_Types = type[exp.Expr] | tuple[type[exp.Expr], ...]


class Spelling(Record, frozen=True):
    """An equivalent statement; `kind` names the rule that spelt it so."""

    kind: str
    sql: str


def spellings(sql: str, dialect: str) -> tuple[Spelling, ...]:
    """The other spellings of one statement, none with its text.

    Raises sqlglot's errors where it does not parse; several statements have none.
    """
    plain = normal_form(sql, dialect)
    trees = [tree for tree in sqlglot.parse(plain, read=dialect) if tree is not None]
    if len(trees) != 1:
        return ()
    candidates = (Spelling(kind, text) for kind, text in _spelt(trees[0], dialect))
    return tuple(candidate for candidate in candidates if candidate.sql != plain)


def _spelt(tree: exp.Expr, dialect: str) -> Iterator[tuple[str, str]]:
    for kind, types, rule in RULES:
        yield kind, _everywhere(tree.copy(), types, rule).sql(dialect=dialect)
    for kind, other in reshaped(tree):
        yield kind, other.sql(dialect=dialect)


def _everywhere(tree: exp.Expr, types: _Types, rule: Rule) -> exp.Expr:
    """The tree with the rule applied to its nodes, the innermost first."""
    for node in reversed(list(tree.walk())):
        if isinstance(node, types) and (other := rule(node)) is not None:
            if node is tree:
                tree = other
            else:
                node.replace(other)
    return tree


_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}
_NEGATED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.LTE: exp.GT,
    exp.GT: exp.LTE,
    exp.GTE: exp.LT,
}
_COMPARISONS = tuple(_MIRRORED)
#: What can fail, or be evaluated for its effect; beside it the order of operands is kept.
_MAY_FAIL = (
    exp.Cast,
    exp.TryCast,
    exp.Div,
    exp.IntDiv,
    exp.Mod,
    exp.Func,
    exp.Query,
    exp.JSONExtract,
)
#: Functions among those that cannot fail.
_SAFE = (exp.Coalesce, exp.Connector, exp.Upper, exp.Lower, exp.Exists)


def _cannot_fail(node: exp.Expr) -> bool:
    return not any(
        isinstance(inner, _MAY_FAIL) and not isinstance(inner, _SAFE) for inner in node.walk()
    )


def _is_condition(node: exp.Expr) -> bool:
    """Whether a comparison filters rows: elsewhere its operator may be an assignment."""
    clause = node.find_ancestor(exp.Where, exp.Having, exp.Join, exp.Select, exp.Update)
    return isinstance(clause, exp.Where | exp.Having | exp.Join)


def _in_brackets(node: exp.Expr) -> exp.Paren:
    return exp.Paren(this=node)


def _exchanged(node: exp.And | exp.Or) -> exp.Expr | None:
    if not _cannot_fail(node):
        return None
    left, right = node.this.copy(), node.expression.copy()
    return type(node)(this=_in_brackets(right), expression=_in_brackets(left))


def _mirrored(node: exp.Expr) -> exp.Expr | None:
    quantified = isinstance(node.expression, exp.Any | exp.All)
    if not _is_condition(node) or quantified or node.find(exp.Collate, exp.Tuple):
        return None
    return _MIRRORED[type(node)](this=node.expression.copy(), expression=node.this.copy())


def _as_negation(node: exp.Expr) -> exp.Expr | None:
    if not _is_condition(node) or isinstance(node.expression, exp.Any | exp.All):
        return None
    if node.find(exp.Tuple):
        return None
    inner = _NEGATED[type(node)](this=node.this.copy(), expression=node.expression.copy())
    return _in_brackets(exp.Not(this=_in_brackets(inner)))


def _bounds(node: exp.Between) -> exp.Expr | None:
    if node.args.get("symmetric"):
        return None
    low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
    high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
    return _in_brackets(exp.And(this=low, expression=high))


def _reversed_items(node: exp.In) -> exp.Expr | None:
    if len(node.expressions) < 2:
        return None
    other = node.copy()
    other.set("expressions", [item.copy() for item in reversed(node.expressions)])
    return other


def _as_equalities(node: exp.In) -> exp.Expr | None:
    if len(node.expressions) < 2 or isinstance(node.this, exp.Tuple):
        return None
    parts: list[exp.Expr] = [
        exp.EQ(this=node.this.copy(), expression=item.copy()) for item in node.expressions
    ]
    whole = parts[0]
    for part in parts[1:]:
        whole = exp.Or(this=whole, expression=part)
    return _in_brackets(whole)


def _negated_twice(node: exp.Where) -> exp.Expr:
    inner = exp.Not(this=_in_brackets(node.this.copy()))
    return exp.Where(this=exp.Not(this=_in_brackets(inner)))


def _with_a_truism(node: exp.Where) -> exp.Expr:
    truism = exp.EQ(this=exp.Literal.number(1), expression=exp.Literal.number(1))
    return exp.Where(this=exp.And(this=truism, expression=_in_brackets(node.this.copy())))


def _bracketed(node: exp.Expr) -> exp.Expr | None:
    return _in_brackets(_in_brackets(node.copy())) if _is_condition(node) else None


def _coalesced(node: exp.Select) -> exp.Expr | None:
    """Plain columns of the output, under their names; COALESCE(a, a) is a."""
    if node.args.get("distinct") or not node.args.get("from_"):
        return None
    other = node.copy()
    parts: list[exp.Expr] = []
    for part in other.expressions:
        inner = part.unalias()
        if isinstance(inner, exp.Column) and not isinstance(inner.this, exp.Star):
            twice = exp.Coalesce(this=inner.copy(), expressions=[inner.copy()])
            name = part.args["alias"] if isinstance(part, exp.Alias) else inner.this
            part = exp.Alias(this=twice, alias=name.copy())
        parts.append(part)
    other.set("expressions", parts)
    return other


def _as_case(node: exp.Coalesce) -> exp.Expr | None:
    if len(node.expressions) != 1 or not _cannot_fail(node):
        return None
    present = exp.Not(this=exp.Is(this=node.this.copy(), expression=exp.Null()))
    branch = exp.If(this=present, true=node.this.copy())
    return exp.Case(ifs=[branch], default=node.expressions[0].copy())


def _searched(node: exp.Case) -> exp.Expr | None:
    """CASE x WHEN y as CASE WHEN x = y."""
    if node.this is None:
        return None
    other = exp.Case(ifs=[], default=node.args.get("default"))
    for branch in node.args["ifs"]:
        same = exp.EQ(this=node.this.copy(), expression=branch.this.copy())
        other.append("ifs", exp.If(this=same, true=branch.args["true"].copy()))
    return other.copy()


def _joins_exchanged(node: exp.Select) -> exp.Expr | None:
    """The first two tables of an inner join; of an outer one with the other side."""
    source, joins = node.args.get("from_"), node.args.get("joins") or []
    if source is None or not joins or node.find(exp.Star, exp.Lateral, exp.Unnest):
        return None
    first = joins[0]
    plain = (exp.Table, exp.Subquery)
    if not isinstance(source.this, plain) or not isinstance(first.this, plain):
        return None
    side = {"": None, "LEFT": "RIGHT", "RIGHT": "LEFT"}.get(str(first.args.get("side") or ""), "")
    if first.args.get("on") is None or first.args.get("method") or side == "":
        return None
    other = node.copy()
    left, right = source.this.copy(), first.this.copy()
    if left.args.get("joins") or right.args.get("joins"):
        return None
    other.args["from_"].set("this", right)
    other.args["joins"][0].set("this", left)
    other.args["joins"][0].set("side", side)
    return other


def _branches_exchanged(node: exp.Union) -> exp.Expr | None:
    recursive = node.find_ancestor(exp.With)
    if (recursive is not None and recursive.args.get("recursive")) or node.args.get("order"):
        return None
    nested = isinstance(node.parent, exp.SetOperation) or isinstance(node.this, exp.SetOperation)
    if nested or node.args.get("limit") or node.args.get("with_") or _has_null_output(node):
        return None
    other = node.copy()
    other.set("this", node.expression.copy())
    other.set("expression", node.this.copy())
    return other


def _has_null_output(node: exp.Union) -> bool:
    """NULL and texts have no type of their own: the first branch gives it."""
    selects = node.find_all(exp.Select)
    untyped = (exp.Null, exp.Literal)
    named = [
        [part.alias_or_name for part in select.selects] for select in node.find_all(exp.Select)
    ]
    used = node.parent is not None and named[0] != named[-1]
    return used or any(isinstance(p.unalias(), untyped) for s in selects for p in s.selects)


def _grouped(node: exp.Select) -> exp.Expr | None:
    """DISTINCT columns as columns that rows are grouped by."""
    distinct = node.args.get("distinct")
    bare = all(isinstance(part.unalias(), exp.Column) for part in node.selects)
    if distinct is None or distinct.args.get("on") or not bare or node.args.get("group"):
        return None
    if node.find(exp.Star):
        return None
    other = node.copy()
    other.set("distinct", None)
    other.set("group", exp.Group(expressions=[part.unalias().copy() for part in node.selects]))
    return other


def _counted(node: exp.Exists) -> exp.Expr | None:
    query = node.this
    if not isinstance(query, exp.Select) or not query.args.get("from_"):
        return None
    if any(query.args.get(key) for key in ("group", "limit", "offset", "having", "distinct")):
        return None
    counting = query.copy()
    counting.set("expressions", [exp.Count(this=exp.Star())])
    zero = exp.Literal.number(0)
    return _in_brackets(exp.GT(this=exp.Subquery(this=counting), expression=zero))


def _count_of_ones(node: exp.Count) -> exp.Expr | None:
    return exp.Count(this=exp.Literal.number(1)) if isinstance(node.this, exp.Star) else None


def _product_exchanged(node: exp.Mul) -> exp.Expr | None:
    simple = (exp.Column, exp.Literal)
    if not isinstance(node.this, simple) or not isinstance(node.expression, simple):
        return None
    return exp.Mul(this=node.expression.copy(), expression=node.this.copy())


RULES: tuple[tuple[str, _Types, Rule], ...] = (
    ("connector_exchanged", (exp.And, exp.Or), _exchanged),
    ("comparison_mirrored", _COMPARISONS, _mirrored),
    ("comparison_negated", _COMPARISONS, _as_negation),
    ("between_as_bounds", exp.Between, _bounds),
    ("items_reversed", exp.In, _reversed_items),
    ("items_as_equalities", exp.In, _as_equalities),
    ("negated_twice", exp.Where, _negated_twice),
    ("truism_added", exp.Where, _with_a_truism),
    ("brackets_added", (*_COMPARISONS, exp.Is, exp.In), _bracketed),
    ("coalesced_with_itself", exp.Select, _coalesced),
    ("coalesce_as_case", exp.Coalesce, _as_case),
    ("case_searched", exp.Case, _searched),
    ("joins_exchanged", exp.Select, _joins_exchanged),
    ("branches_exchanged", exp.Union, _branches_exchanged),
    ("distinct_as_group", exp.Select, _grouped),
    ("exists_as_count", exp.Exists, _counted),
    ("count_of_ones", exp.Count, _count_of_ones),
    ("product_exchanged", exp.Mul, _product_exchanged),
)
