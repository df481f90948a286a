"""Queries over symbolic tables: each becomes a bag of at most so many rows that may be there.

Joins, filters, aggregation, DISTINCT, set operations, subqueries and CTEs that are not recursive.
LIMIT, window functions and what depends on the physical order of rows raise `Unsupported`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from evalcore.sqlkit.prover.expressions import (
    Bindings,
    Expressions,
    Group,
    Relation,
    Row,
    Scope,
    Source,
    at_row,
    find_aggregates,
    refuse_arguments,
)
from evalcore.sqlkit.prover.symbols import Symbols, Term, Unsupported, Value

#: Rows that a join may have.
_MAX_ROWS = 128
#: Arguments of parsed nodes that are read here, or change nothing about the rows (`hint`).
_SELECT = frozenset(
    (
        "expressions",
        "from_",
        "joins",
        "where",
        "group",
        "having",
        "distinct",
        "order",
        "with_",
        "hint",
    )
)
_SET_OPERATION = frozenset(("distinct", "with_", "order"))
_SOURCE = frozenset(("alias",))
_JOIN = frozenset(("side", "kind", "on"))
_ORDERED = frozenset(("desc", "nulls_first"))
_JOIN_KINDS = frozenset(("", "INNER", "OUTER", "CROSS"))


@dataclass(frozen=True)
class OrderKey:
    """How the rows of a statement are ordered by one of its keys."""

    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Ordered:
    """What a statement returns; `keys` are the columns after `width`, by which it is ordered."""

    relation: Relation
    width: int
    keys: tuple[OrderKey, ...]


class Queries:
    """Translates queries over `tables`, whose names are folded."""

    def __init__(self, symbols: Symbols, tables: Mapping[str, Relation]) -> None:
        self.symbols = symbols
        self._tables = tables
        self.expressions = Expressions(symbols, self.translate)

    def translate_statement(self, query: exp.Expr, ordered: bool) -> Ordered:
        """A whole statement, with its order as further columns where the order counts."""
        keys = _list_order(query) if ordered else []
        if ordered and not keys:
            raise Unsupported("a statement without ORDER BY where the order counts")
        for key in keys:
            refuse_arguments(key, _ORDERED)
        relation = self._translate(query, Scope(), keys)
        return Ordered(
            relation,
            len(relation.columns),
            tuple(
                OrderKey(bool(k.args.get("desc")), bool(k.args.get("nulls_first"))) for k in keys
            ),
        )

    def translate(self, query: exp.Expr, scope: Scope) -> Relation:
        """A query inside another, whose columns it may use."""
        return self._translate(query, Scope(parent=scope, ctes=scope.ctes), [])

    def _translate(self, query: exp.Expr, scope: Scope, keys: Sequence[exp.Expr]) -> Relation:
        if with_ := query.args.get("with_"):
            refuse_arguments(with_, frozenset(("expressions",)))
            scope = self._define_ctes(with_, scope)
        if isinstance(query, exp.Subquery):
            refuse_arguments(query, _SOURCE)
            return self._translate(query.this, scope, keys)
        if isinstance(query, exp.SetOperation):
            return self._translate_set_operation(query, scope, keys)
        if isinstance(query, exp.Select):
            return self._translate_select(query, scope, keys)
        raise Unsupported(f"{type(query).__name__} is not covered")

    def _define_ctes(self, with_: exp.Expr, scope: Scope) -> Scope:
        ctes = dict(scope.ctes)
        for cte in with_.expressions:
            refuse_arguments(cte, frozenset(("alias", "materialized")))
            relation = self._translate(cte.this, replace(scope, ctes=ctes), [])
            names = tuple(column.name for column in cte.args["alias"].columns)
            ctes[cte.alias.lower()] = replace(relation, columns=names or relation.columns)
        return replace(scope, ctes=ctes)

    def _translate_set_operation(
        self, query: exp.Expr, scope: Scope, keys: Sequence[exp.Expr]
    ) -> Relation:
        s = self.symbols
        refuse_arguments(query, _SET_OPERATION)
        sides = [query.this, query.expression]
        if any(
            isinstance(side, exp.SetOperation) and type(side) is not type(query) for side in sides
        ):
            raise Unsupported("set operations of several kinds without parentheses")
        left, right = (self._translate(side, scope, []) for side in sides)
        if len(left.columns) != len(right.columns):
            raise Unsupported("the sides of a set operation differ in their columns")
        distinct = query.args.get("distinct", True)
        rows: list[tuple[Term, tuple[Value, ...]]]
        if isinstance(query, exp.Union):
            rows = [*left.rows, *right.rows]
            rows = self._unify(rows)
        else:
            rows = []
            intersects = isinstance(query, exp.Intersect)
            for index, (present, values) in enumerate(left.rows):
                others = s.count(self._match(values, row) for row in right.rows)
                earlier = (
                    s.integer(0)
                    if distinct
                    else s.count(self._match(values, row) for row in left.rows[:index])
                )
                keeps = others > earlier if intersects else others <= earlier
                rows.append((s.all_of((present, keeps)), values))
        if distinct:
            rows = self._remove_duplicates(rows)
        if keys:
            rows = [(p, (*v, *self._pick_keys(keys, left.columns, v))) for p, v in rows]
        return Relation(left.columns, tuple(rows))

    def _match(self, values: Sequence[Value], row: tuple[Term, tuple[Value, ...]]) -> Term:
        present, others = row
        return self.symbols.all_of(
            (present, *(self.symbols.is_same(a, b) for a, b in zip(values, others, strict=True)))
        )

    def _unify(
        self, rows: list[tuple[Term, tuple[Value, ...]]]
    ) -> list[tuple[Term, tuple[Value, ...]]]:
        """Columns of one type: what one row needs, all get."""
        columns = list(zip(*(values for _, values in rows), strict=True))
        unified = []
        for column in columns:
            widest = column[0]
            for value in column[1:]:
                widest = self.symbols.align(widest, value)[0]
            unified.append([self.symbols.align(value, widest)[0] for value in column])
        return [(p, tuple(v)) for (p, _), v in zip(rows, zip(*unified, strict=True), strict=True)]

    def _remove_duplicates(
        self, rows: list[tuple[Term, tuple[Value, ...]]]
    ) -> list[tuple[Term, tuple[Value, ...]]]:
        s = self.symbols
        unique = []
        for index, (present, values) in enumerate(rows):
            self._refuse_variants(values)
            earlier = s.any_of(self._match(values, row) for row in rows[:index])
            unique.append((s.all_of((present, s.negate(earlier))), values))
        return unique

    def _refuse_variants(self, values: Sequence[Value]) -> None:
        if any(value.variant is not None for value in values):
            raise Unsupported("equal texts of different bytes in one group")

    def _pick_keys(
        self, keys: Sequence[exp.Expr], columns: Sequence[str], values: Sequence[Value]
    ) -> Iterator[Value]:
        for key in keys:
            index = _find_output(key.this, columns)
            if index is None:
                raise Unsupported("an order by something that is not returned")
            yield values[index]

    def _translate_select(
        self, query: exp.Expr, scope: Scope, keys: Sequence[exp.Expr]
    ) -> Relation:
        refuse_arguments(query, _SELECT)
        s = self.symbols
        rows = self._translate_from(query, scope)
        if where := query.args.get("where"):
            rows = [
                Row(
                    s.all_of(
                        (r.present, self.expressions.holds(where.this, at_row(scope, r.bindings)))
                    ),
                    r.bindings,
                )
                for r in rows
            ]
        columns = tuple(part.alias_or_name for part in query.expressions)
        results: list[tuple[Term, tuple[Value, ...]]] = []
        distinct = query.args.get("distinct")
        if distinct:
            refuse_arguments(distinct, frozenset())
        for present, inner in self._find_output_rows(query, rows, scope):
            values = tuple(self.expressions.evaluate(part, inner) for part in query.expressions)
            added = [] if distinct else self._evaluate_keys(keys, columns, values, inner)
            results.append((present, (*values, *added)))
        if distinct:
            results = self._remove_duplicates(results)
            if keys:
                results = [(p, (*v, *self._pick_keys(keys, columns, v))) for p, v in results]
        return Relation(columns, tuple(results))

    def _evaluate_keys(
        self,
        keys: Sequence[exp.Expr],
        columns: Sequence[str],
        values: Sequence[Value],
        scope: Scope,
    ) -> list[Value]:
        evaluated = []
        for key in keys:
            index = _find_output(key.this, columns)
            evaluated.append(
                self.expressions.evaluate(key.this, scope) if index is None else values[index]
            )
        return evaluated

    def _find_output_rows(
        self, query: exp.Expr, rows: list[Row], scope: Scope
    ) -> Iterator[tuple[Term, Scope]]:
        """What the SELECT list is evaluated on: the rows, or their groups that pass HAVING."""
        group, having = query.args.get("group"), query.args.get("having")
        parts = [*query.expressions, *([having] if having else []), *_list_order(query)]
        if not group and not having and not any(True for p in parts for _ in find_aggregates(p)):
            yield from ((row.present, at_row(scope, row.bindings)) for row in rows)
            return
        for present, inner in self._group_rows(group, rows, scope):
            keeps = self.expressions.holds(having.this, inner) if having else self.symbols.true
            yield self.symbols.all_of((present, keeps)), inner

    def _group_rows(
        self, group: exp.Expr | None, rows: list[Row], scope: Scope
    ) -> Iterator[tuple[Term, Scope]]:
        s = self.symbols
        scopes = [at_row(scope, row.bindings) for row in rows]
        if group is None:
            members = tuple((row.present, inner) for row, inner in zip(rows, scopes, strict=True))
            bindings = rows[0].bindings if rows else {}
            yield s.true, replace(scope, bindings=bindings, group=Group(members, {}))
            return
        refuse_arguments(group, frozenset(("expressions",)))
        keys = [
            [self.expressions.evaluate(key, inner) for key in group.expressions] for inner in scopes
        ]
        names = [key.sql() for key in group.expressions]
        for values in keys[:1]:
            self._refuse_variants(values)
        for index, row in enumerate(rows):
            same = [
                self._match(keys[index], (other.present, tuple(key)))
                for other, key in zip(rows, keys, strict=True)
            ]
            first = s.all_of((row.present, s.negate(s.any_of(same[:index]))))
            values_by_key = dict(zip(names, keys[index], strict=True))
            values_by_key |= self._find_dependent(row, values_by_key)
            members = tuple(zip(same, scopes, strict=True))
            yield first, replace(scope, bindings=row.bindings, group=Group(members, values_by_key))

    def _find_dependent(self, row: Row, keys: Mapping[str, Value]) -> dict[str, Value]:
        """Columns that the primary key of their table determines, where the group has that key."""
        return {
            _format_column(alias, name): value
            for alias, source in row.bindings.items()
            if source.primary and all(_format_column(alias, key) in keys for key in source.primary)
            for name, value in source.columns.items()
        }

    def _translate_from(self, query: exp.Expr, scope: Scope) -> list[Row]:
        s = self.symbols
        source = query.args.get("from_")
        rows = [Row(s.true, {})]
        if source is not None:
            rows = self._join(rows, self._translate_source(source.this, scope), None, "", scope)
        for join in query.args.get("joins") or ():
            refuse_arguments(join, _JOIN)
            side, kind = join.side.upper(), join.kind.upper()
            if kind not in _JOIN_KINDS:
                raise Unsupported(f"a {kind} join")
            right = self._translate_source(join.this, scope)
            rows = self._join(rows, right, join.args.get("on"), side, scope)
        return rows

    def _translate_source(self, source: exp.Expr, scope: Scope) -> list[Row]:
        """The rows of one item of FROM, each with its columns under the item's alias."""
        if isinstance(source, exp.Table | exp.Subquery):
            refuse_arguments(source, _SOURCE)
        if isinstance(source, exp.Table):
            name = source.name.lower()
            relation = scope.ctes.get(name) or self._tables.get(name)
            if relation is None:
                raise Unsupported(f"the table {name} is unknown")
        elif isinstance(source, exp.Subquery) and source.alias:
            relation = self._translate(source.this, Scope(parent=scope.parent, ctes=scope.ctes), [])
            if names := tuple(column.name for column in source.args["alias"].columns):
                relation = replace(relation, columns=names)
        else:
            raise Unsupported(f"{type(source).__name__} in FROM")
        repeated = {c for c in relation.columns if relation.columns.count(c) > 1}
        return [
            Row(
                present,
                {
                    source.alias_or_name: Source(
                        {
                            name: value
                            for name, value in zip(relation.columns, values, strict=False)
                            if name not in repeated
                        },
                        relation.primary,
                    )
                },
            )
            for present, values in relation.rows
        ]

    def _join(
        self, left: list[Row], right: list[Row], on: exp.Expr | None, side: str, scope: Scope
    ) -> list[Row]:
        s = self.symbols
        if len(left) * len(right) > _MAX_ROWS:
            raise Unsupported("joins of too many rows")
        if left and right and left[0].bindings.keys() & right[0].bindings.keys():
            raise Unsupported("an alias that stands twice")
        pairs: list[Row] = []
        matches: dict[tuple[int, int], Term] = {}
        for i, a in enumerate(left):
            for j, b in enumerate(right):
                bindings = a.bindings | b.bindings
                holds = (
                    s.true if on is None else self.expressions.holds(on, at_row(scope, bindings))
                )
                matches[i, j] = s.all_of((a.present, b.present, holds))
                pairs.append(Row(matches[i, j], bindings))
        if side in ("LEFT", "FULL"):
            empty = self._create_null_bindings(right[0].bindings)
            for i, a in enumerate(left):
                alone = s.negate(s.any_of(matches[i, j] for j in range(len(right))))
                pairs.append(Row(s.all_of((a.present, alone)), a.bindings | empty))
        if side in ("RIGHT", "FULL"):
            empty = self._create_null_bindings(left[0].bindings)
            for j, b in enumerate(right):
                alone = s.negate(s.any_of(matches[i, j] for i in range(len(left))))
                pairs.append(Row(s.all_of((b.present, alone)), empty | b.bindings))
        return pairs

    def _create_null_bindings(self, bindings: Bindings) -> Bindings:
        return {
            alias: Source(
                {
                    name: value if value.kind == "null" else self.symbols.create_null(value)
                    for name, value in source.columns.items()
                }
            )
            for alias, source in bindings.items()
        }


def _list_order(query: exp.Expr) -> list[exp.Expr]:
    order = query.args.get("order")
    return list(order.expressions) if order else []


def _find_output(key: exp.Expr, columns: Sequence[str]) -> int | None:
    """Which returned column a key of ORDER BY names, by its number or its alias."""
    if isinstance(key, exp.Literal) and not key.args["is_string"] and key.name.isdigit():
        return int(key.name) - 1 if 0 < int(key.name) <= len(columns) else None
    if isinstance(key, exp.Column) and not key.table and columns.count(key.name) == 1:
        return columns.index(key.name)
    return None


def _format_column(alias: str, name: str) -> str:
    return exp.column(
        exp.to_identifier(name, quoted=True), exp.to_identifier(alias, quoted=True)
    ).sql()
