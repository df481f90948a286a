"""SQL expressions over symbolic rows: from a parsed condition or column to a `Value`.

What is not listed here raises `Unsupported`; nothing is guessed. Deterministic functions that
cannot fail are left unknown: all that is assumed is that equal arguments give equal results.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import NamedTuple, Protocol

from sqlglot import exp

from evalcore.sqlkit.prover.symbols import Kind, Symbols, Term, Unsupported, Value
from evalcore.sqlkit.schema import classify_type


class Source(NamedTuple):
    """The columns of one FROM item in one row, and which of them identify the row."""

    columns: dict[str, Value]
    primary: tuple[str, ...] = ()


Bindings = dict[str, Source]


@dataclass(frozen=True)
class Row:
    """A row that is there or not, with the columns in scope by alias and name."""

    present: Term
    bindings: Bindings


@dataclass(frozen=True)
class Relation:
    """A bag of at most `len(rows)` rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Term, tuple[Value, ...]], ...]
    primary: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """The rows that one row of an aggregation stands for, and its keys by their SQL."""

    members: tuple[tuple[Term, Scope], ...]
    keys: dict[str, Value]


@dataclass(frozen=True)
class Scope:
    """What names mean: the row at hand, the statements around it, the CTEs."""

    bindings: Bindings = field(default_factory=dict)
    parent: Scope | None = None
    ctes: dict[str, Relation] = field(default_factory=dict)
    group: Group | None = None


class QueryTranslator(Protocol):
    """What expressions need of queries: those inside them."""

    def __call__(self, query: exp.Expr, scope: Scope) -> Relation: ...


#: Functions of which only the kind and sort of the result are known. They fail on no argument of
#: their type and depend on nothing else.
_UNKNOWN: dict[type[exp.Expr], tuple[Kind, str]] = {
    **dict.fromkeys(
        (exp.Upper, exp.Lower, exp.Trim, exp.Concat, exp.DPipe, exp.Replace, exp.Reverse),
        ("text", "Real"),
    ),
    **dict.fromkeys(
        (exp.Length, exp.StrPosition, exp.Year, exp.Month, exp.Day, exp.Quarter, exp.Sign),
        ("number", "Int"),
    ),
    **dict.fromkeys((exp.Round, exp.Floor, exp.Ceil, exp.Extract), ("number", "Real")),
    **dict.fromkeys((exp.Like, exp.ILike), ("boolean", "Bool")),
    **dict.fromkeys((exp.DateTrunc, exp.TimestampTrunc), ("timestamp", "Real")),
}
_COMPARISONS: dict[type[exp.Expr], tuple[Callable[[Term, Term], Term], bool]] = {
    exp.EQ: (operator.eq, False),
    exp.NEQ: (operator.ne, False),
    exp.LT: (operator.lt, True),
    exp.LTE: (operator.le, True),
    exp.GT: (operator.gt, True),
    exp.GTE: (operator.ge, True),
}
_ARITHMETIC: dict[type[exp.Expr], Callable[[Term, Term], Term]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
}
_AGGREGATES = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
#: Arguments of nodes beyond "this" and "expression" that are read here or mean nothing to a result.
#: Any other raises, because a parser puts into such arguments what changes the meaning.
_ARGUMENTS: dict[type[exp.Expr], frozenset[str]] = {
    exp.Column: frozenset(("table",)),
    exp.Literal: frozenset(("is_string",)),
    exp.Alias: frozenset(("alias",)),
    exp.Is: frozenset(("negate",)),
    exp.Between: frozenset(("low", "high")),
    exp.In: frozenset(("expressions", "query")),
    exp.Case: frozenset(("ifs", "default")),
    exp.If: frozenset(("true", "false")),
    exp.Coalesce: frozenset(("expressions",)),
    exp.Cast: frozenset(("to", "_type")),
    exp.Count: frozenset(("big_int",)),
    exp.Subquery: frozenset(("alias",)),
}


def refuse_arguments(node: exp.Expr, allowed: frozenset[str]) -> None:
    """Raise Unsupported for an argument of a parsed node that is neither read nor void."""
    for name, value in node.args.items():
        if value and name not in allowed and name not in ("this", "expression"):
            raise Unsupported(f"{type(node).__name__} with {name.strip('_')} is not covered")


def find_aggregates(node: exp.Expr) -> Iterator[exp.Expr]:
    """Aggregates of this query level, not those of queries inside."""
    for child in node.walk(prune=lambda n: isinstance(n, exp.Query) and n is not node):
        if isinstance(child, exp.AggFunc):
            yield child


class Expressions:
    """Translates expressions; `translate_query` gives the relation of a query inside one."""

    def __init__(self, symbols: Symbols, translate_query: QueryTranslator) -> None:
        self.symbols = symbols
        self._translate_query = translate_query
        self._by_type: dict[type[exp.Expr], Callable[[exp.Expr, Scope], Value]] = {
            exp.Paren: lambda node, scope: self.evaluate(node.this, scope),
            exp.Alias: lambda node, scope: self.evaluate(node.this, scope),
            exp.Column: self._evaluate_column,
            exp.Literal: self._evaluate_literal,
            exp.Null: lambda node, scope: self.symbols.null,
            exp.Boolean: self._evaluate_boolean,
            exp.And: self._evaluate_connective,
            exp.Or: self._evaluate_connective,
            exp.Not: self._evaluate_not,
            exp.Is: self._evaluate_is,
            exp.NullSafeEQ: self._evaluate_distinct_from,
            exp.NullSafeNEQ: self._evaluate_distinct_from,
            exp.Between: self._evaluate_between,
            exp.In: self._evaluate_in,
            exp.Exists: self._evaluate_exists,
            exp.Case: self._evaluate_case,
            exp.If: self._evaluate_if,
            exp.Coalesce: self._evaluate_coalesce,
            exp.Nullif: self._evaluate_nullif,
            exp.Neg: self._evaluate_negative,
            exp.Cast: self._evaluate_cast,
            exp.Subquery: self._evaluate_scalar_query,
            **dict.fromkeys(_COMPARISONS, self._evaluate_comparison),
            **dict.fromkeys(_ARITHMETIC, self._evaluate_arithmetic),
            **dict.fromkeys(_AGGREGATES, self._evaluate_aggregate),
            **dict.fromkeys(_UNKNOWN, self._evaluate_unknown),
        }

    def evaluate(self, node: exp.Expr, scope: Scope) -> Value:
        """Evaluate an expression; raises Unsupported for an unknown one."""
        self.symbols.spend()
        if scope.group and (value := scope.group.keys.get(node.sql())):
            return value
        if isinstance(node, exp.Filter):
            return self._evaluate_aggregate(node, scope)
        handler = self._by_type.get(type(node))
        if handler is None:
            raise Unsupported(f"{type(node).__name__} is not covered")
        if type(node) not in _UNKNOWN:
            refuse_arguments(node, _ARGUMENTS.get(type(node), frozenset()))
        return handler(node, scope)

    def holds(self, node: exp.Expr, scope: Scope) -> Term:
        """Whether a condition is true, neither false nor NULL."""
        return self.symbols.is_true(self.evaluate(node, scope))

    def _evaluate_column(self, node: exp.Expr, scope: Scope) -> Value:
        at: Scope | None = scope
        while at is not None:
            if source := at.bindings.get(node.args["table"].name if node.args.get("table") else ""):
                if at.group is not None:
                    if value := at.group.keys.get(node.sql()):
                        return value
                    raise Unsupported("a column that is neither aggregated nor a key of its group")
                if node.name not in source.columns:
                    raise Unsupported(f"column {node.name} is unknown or ambiguous")
                return source.columns[node.name]
            at = at.parent
        raise Unsupported(f"column {node.sql()} belongs to no table in scope")

    def _evaluate_literal(self, node: exp.Expr, scope: Scope) -> Value:
        if node.args["is_string"]:
            return self.symbols.create_text(node.name)
        return self.symbols.create_number(node.name)

    def _evaluate_boolean(self, node: exp.Expr, scope: Scope) -> Value:
        value = self.symbols.true if node.this else self.symbols.false
        return Value("boolean", self.symbols.false, value)

    def _evaluate_connective(self, node: exp.Expr, scope: Scope) -> Value:
        s = self.symbols
        sides = [s.read_truth(self.evaluate(part, scope)) for part in node.flatten()]
        true, false = zip(*sides, strict=True)
        if isinstance(node, exp.And):
            return s.create_boolean(s.all_of(true), s.any_of(false))
        return s.create_boolean(s.any_of(true), s.all_of(false))

    def _evaluate_not(self, node: exp.Expr, scope: Scope) -> Value:
        true, false = self.symbols.read_truth(self.evaluate(node.this, scope))
        return self.symbols.create_boolean(false, true)

    def _evaluate_is(self, node: exp.Expr, scope: Scope) -> Value:
        s, value = self.symbols, self.evaluate(node.this, scope)
        if isinstance(node.expression, exp.Null):
            holds = value.null
        elif isinstance(node.expression, exp.Boolean):
            holds = s.read_truth(value)[not node.expression.this]
        else:
            raise Unsupported("IS beside something else than NULL, TRUE, FALSE")
        return Value("boolean", s.false, s.negate(holds) if node.args.get("negate") else holds)

    def _evaluate_distinct_from(self, node: exp.Expr, scope: Scope) -> Value:
        s = self.symbols
        same = s.is_same(self.evaluate(node.this, scope), self.evaluate(node.expression, scope))
        return Value(
            "boolean", s.false, same if isinstance(node, exp.NullSafeEQ) else s.negate(same)
        )

    def _evaluate_between(self, node: exp.Expr, scope: Scope) -> Value:
        s, value = self.symbols, self.evaluate(node.this, scope)
        low = s.order(value, self.evaluate(node.args["low"], scope), operator.ge)
        high = s.order(value, self.evaluate(node.args["high"], scope), operator.le)
        true, false = zip(s.read_truth(low), s.read_truth(high), strict=True)
        return s.create_boolean(s.all_of(true), s.any_of(false))

    def _evaluate_comparison(self, node: exp.Expr, scope: Scope) -> Value:
        test, by_order = _COMPARISONS[type(node)]
        if isinstance(node.expression, exp.Any | exp.All):
            return self._evaluate_quantified(node, scope, test, by_order)
        if isinstance(node.this, exp.Tuple):
            raise Unsupported("a comparison of row values")
        left, right = self.evaluate(node.this, scope), self.evaluate(node.expression, scope)
        return (self.symbols.order if by_order else self.symbols.compare)(left, right, test)

    def _evaluate_quantified(
        self, node: exp.Expr, scope: Scope, test: Callable[[Term, Term], Term], by_order: bool
    ) -> Value:
        s, compare = self.symbols, self.symbols.order if by_order else self.symbols.compare
        left = self.evaluate(node.this, scope)
        relation = self._translate_query(node.expression.this, scope)
        rows = [(p, s.read_truth(compare(left, values[0], test))) for p, values in relation.rows]
        if isinstance(node.expression, exp.Any):
            return self._create_membership(rows)
        refuted = self._create_membership([(p, (false, true)) for p, (true, false) in rows])
        true, false = s.read_truth(refuted)
        return s.create_boolean(false, true)

    def _create_membership(self, rows: Sequence[tuple[Term, tuple[Term, Term]]]) -> Value:
        """True if some present row matches, false if none can."""
        s = self.symbols
        return s.create_boolean(
            s.any_of(s.all_of((present, true)) for present, (true, _) in rows),
            s.all_of(s.any_of((s.negate(present), false)) for present, (_, false) in rows),
        )

    def _evaluate_in(self, node: exp.Expr, scope: Scope) -> Value:
        s = self.symbols
        left = [
            self.evaluate(part, scope)
            for part in (node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this])
        ]
        if query := node.args.get("query"):
            rows = self._translate_query(query, scope).rows
        elif node.expressions and not isinstance(node.this, exp.Tuple):
            rows = tuple((s.true, (self.evaluate(e, scope),)) for e in node.expressions)
        else:
            raise Unsupported("this form of IN")
        matches = []
        for present, values in rows:
            pairs = [
                s.read_truth(s.compare(a, b, operator.eq))
                for a, b in zip(left, values, strict=True)
            ]
            true, false = zip(*pairs, strict=True)
            matches.append((present, (s.all_of(true), s.any_of(false))))
        return self._create_membership(matches)

    def _evaluate_exists(self, node: exp.Expr, scope: Scope) -> Value:
        s = self.symbols
        relation = self._translate_query(node.this, scope)
        return Value("boolean", s.false, s.any_of(present for present, _ in relation.rows))

    def _evaluate_scalar_query(self, node: exp.Expr, scope: Scope) -> Value:
        relation = self._translate_query(node.this, scope)
        if len(relation.columns) != 1 or len(relation.rows) != 1:
            raise Unsupported("a query as a value that may give several rows")
        ((present, (value,)),) = relation.rows
        return value._replace(null=self.symbols.any_of((value.null, self.symbols.negate(present))))

    def _evaluate_case(self, node: exp.Expr, scope: Scope) -> Value:
        s, default = self.symbols, node.args.get("default")
        result = self.evaluate(default, scope) if default is not None else s.null
        for branch in reversed(node.args["ifs"]):
            condition = branch.this
            if node.this is not None:
                condition = exp.EQ(this=node.this.copy(), expression=condition.copy())
            value = self.evaluate(branch.args["true"], scope)
            result = s.select(self.holds(condition, scope), value, result)
        return result

    def _evaluate_if(self, node: exp.Expr, scope: Scope) -> Value:
        otherwise = node.args.get("false")
        return self.symbols.select(
            self.holds(node.this, scope),
            self.evaluate(node.args["true"], scope),
            self.evaluate(otherwise, scope) if otherwise is not None else self.symbols.null,
        )

    def _evaluate_coalesce(self, node: exp.Expr, scope: Scope) -> Value:
        values = [self.evaluate(part, scope) for part in (node.this, *node.expressions)]
        return reduce(
            lambda rest, value: self.symbols.select(value.null, rest, value), reversed(values)
        )

    def _evaluate_nullif(self, node: exp.Expr, scope: Scope) -> Value:
        left, right = self.evaluate(node.this, scope), self.evaluate(node.expression, scope)
        equal = self.symbols.is_true(self.symbols.compare(left, right, operator.eq))
        return left._replace(null=self.symbols.any_of((left.null, equal)))

    def _evaluate_negative(self, node: exp.Expr, scope: Scope) -> Value:
        value = self._evaluate_number(node.this, scope)
        return value._replace(term=-value.term)

    def _evaluate_number(self, node: exp.Expr, scope: Scope) -> Value:
        value, _ = self.symbols.align(self.evaluate(node, scope), self.symbols.create_number("0"))
        return value

    def _evaluate_arithmetic(self, node: exp.Expr, scope: Scope) -> Value:
        s = self.symbols
        left, right = s.align(
            self._evaluate_number(node.this, scope), self._evaluate_number(node.expression, scope)
        )
        term = _ARITHMETIC[type(node)](left.term, right.term)
        return Value("number", s.any_of((left.null, right.null)), term)

    def _evaluate_cast(self, node: exp.Expr, scope: Scope) -> Value:
        s, value, kind = (
            self.symbols,
            self.evaluate(node.this, scope),
            classify_type(node.args["to"]),
        )
        if value.literal is not None and kind in ("date", "timestamp") and s.dialect != "sqlite":
            try:
                return s.parse_constant(value.literal, "date" if kind == "date" else "timestamp")
            except ValueError:
                raise Unsupported(f"{value.literal!r} as a {kind}") from None
        if value.kind == "number" and kind in ("decimal", "float") and s.z3.is_int(value.term):
            return s.to_real(value)
        raise Unsupported(f"a cast from {value.kind} to {kind}")

    def _evaluate_unknown(self, node: exp.Expr, scope: Scope) -> Value:
        kind, sort = _UNKNOWN[type(node)]
        if kind == "timestamp" and self.symbols.dialect == "sqlite":
            raise Unsupported("dates of SQLite")
        args: list[Value] = []
        names = [type(node).__name__]
        for key, part in sorted(node.args.items()):
            for item in part if isinstance(part, list) else [part]:
                if isinstance(item, exp.Var | exp.Identifier) or not isinstance(item, exp.Expr):
                    names.append(f"{key}={item}")
                else:
                    names.append(key)
                    args.append(self.evaluate(item, scope))
        return self.symbols.call(" ".join(names), kind, sort, args)

    def _evaluate_aggregate(self, node: exp.Expr, scope: Scope) -> Value:
        s = self.symbols
        if scope.group is None:
            raise Unsupported("an aggregate of a query around")
        members = list(scope.group.members)
        if isinstance(node, exp.Filter):
            refuse_arguments(node.this, _ARGUMENTS.get(type(node.this), frozenset()))
            condition = node.expression.this
            members = [(s.all_of((m, self.holds(condition, sc))), sc) for m, sc in members]
            node = node.this
        if not isinstance(node, _AGGREGATES):
            raise Unsupported(f"{type(node).__name__} is not covered")
        argument = node.this
        distinct = isinstance(argument, exp.Distinct)
        if isinstance(argument, exp.Distinct):
            if len(argument.expressions) != 1 or argument.args.get("on"):
                raise Unsupported("DISTINCT of several columns in an aggregate")
            argument = argument.expressions[0]
        if isinstance(argument, exp.Star):
            return Value("number", s.false, s.count(member for member, _ in members))
        counted: list[tuple[Term, Value]] = []
        for member, inner in members:
            value = self.evaluate(argument, inner)
            takes_part = s.all_of((member, s.negate(value.null)))
            if distinct:
                seen = [s.all_of((other, s.is_same(value, v))) for other, v in counted]
                takes_part = s.all_of((takes_part, s.negate(s.any_of(seen))))
            counted.append((takes_part, value))
        return self._combine_members(node, counted)

    def _combine_members(self, node: exp.Expr, counted: list[tuple[Term, Value]]) -> Value:
        s = self.symbols
        count = s.count(member for member, _ in counted)
        if isinstance(node, exp.Count):
            return Value("number", s.false, count)
        none = s.negate(s.any_of(member for member, _ in counted))
        if isinstance(node, exp.Min | exp.Max):
            if self.symbols.dialect == "mysql" and counted[0][1].variant is not None:
                raise Unsupported("the least text by a collation")
            test = operator.lt if isinstance(node, exp.Min) else operator.gt
            chosen, best = counted[0][0], counted[0][1]._replace(null=s.false)
            for member, value in counted[1:]:
                candidate = value._replace(null=s.false)
                better = s.is_true(s.order(candidate, best, test))
                takes = s.all_of((member, s.any_of((s.negate(chosen), better))))
                best = s.select(takes, candidate, best)
                chosen = s.any_of((chosen, member))
            return best._replace(null=none)
        numbers = [s.align(value, s.create_number("0"))[0] for _, value in counted]
        zero = s.create_null(numbers[0]).term
        total = s.add(
            s.choose(member, number.term, zero)
            for (member, _), number in zip(counted, numbers, strict=True)
        )
        if isinstance(node, exp.Sum):
            return Value("number", none, total)
        real = s.z3.ToReal(total) if s.z3.is_int(total) else total
        mean = real
        for size in range(2, len(counted) + 1):
            mean = s.choose(count == size, real / size, mean)
        return Value("number", none, mean)


def at_row(scope: Scope, bindings: Bindings) -> Scope:
    """The same scope with the columns of one row."""
    return replace(scope, bindings=bindings)
