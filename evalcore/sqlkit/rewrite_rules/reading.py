"""A query as the detectors see it: layout gone, names resolved against the schema, scopes known.

Comments, brackets and the case of names are made equal; stars and USING are written out where the
schema tells the columns. Done with sqlglot's optimizer, of which only the qualifying of names is
used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal

import sqlglot
from sqlglot import exp
from sqlglot.errors import OptimizeError, SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, ScopeType, traverse_scope

from evalcore.records import Record
from evalcore.sqlkit.schema import Schema, plain_name, read_schema

Role = Literal["root", "derived", "lateral", "branch", "exists", "in", "scalar"]
#: A column of a base table, as (table, column) in lower case.
Base = tuple[str, str]
_FROM = (ScopeType.CTE, ScopeType.DERIVED_TABLE)
#: How many queries are kept. None is read that has more characters, or a tree with more levels.
REMEMBERED, LONGEST, DEEPEST = 256, 50_000, 600
#: What the parser and the optimizer raise over a text that they were not made for.
PARSER_FAULTS = (
    SqlglotError,
    RecursionError,
    AttributeError,
    KeyError,
    TypeError,
    ValueError,
)


#: The role of a subquery, by what stands around it.
_SUBQUERY: dict[type[Any], Role] = {exp.Exists: "exists", exp.In: "in", exp.Lateral: "lateral"}


class Origin(Record, frozen=True):
    """Where a column comes from: base columns, through so many derived tables or CTEs."""

    bases: frozenset[Base] = frozenset()
    hops: int = 0


class Reading(Record, frozen=True):
    """One query. `scopes` are its SELECTs and set operations, the innermost first.

    `known` keeps the origins found so far: in a ladder of CTEs they are asked for very often.
    """

    tree: Any
    scopes: tuple[Any, ...]
    schema: Schema
    known: dict[tuple[int, str], Origin]

    def role(self, scope: Scope) -> Role:
        """What a scope is to the query around it."""
        if scope.scope_type in _FROM:
            return "derived"
        if scope.scope_type == ScopeType.SET_OPERATION:
            return "branch"
        if scope.scope_type != ScopeType.SUBQUERY:
            return "root"
        above = scope.expression.parent
        if isinstance(above, exp.Subquery):
            above = above.parent
        return _SUBQUERY.get(type(above), "scalar")

    def nested(self, scope: Scope | None) -> bool:
        """Whether the rows of a scope pass through a derived table or CTE on their way out."""
        while scope is not None:
            if self.role(scope) in ("derived", "lateral"):
                return True
            scope = scope.parent
        return False

    def base_tables(self, scope: Scope) -> list[str]:
        """The stored tables that a scope itself reads, as often as it does."""
        sources = (source for _, source in scope.selected_sources.values())
        return [source.name for source in sources if isinstance(source, exp.Table)]

    def origin(self, column: exp.Column, scope: Scope | None) -> Origin:
        """The base columns behind a column; an unknown one is known by its own name."""
        while scope is not None and column.table not in scope.sources:
            scope = scope.parent
        source = scope.sources[column.table] if scope is not None else None
        if isinstance(source, Scope):
            return self._through(source, column.name)
        table = source.name if isinstance(source, exp.Table) else ""
        return Origin(bases=frozenset(((table, column.name),)))

    def _through(self, source: Scope, name: str) -> Origin:
        """The origin of the output `name` of a derived table."""
        key = (id(source), name)
        if key not in self.known:
            self.known[key] = Origin(hops=1)  # what a recursive query finds of itself
            self.known[key] = self._found(source, name)
        return self.known[key]

    def _found(self, source: Scope, name: str) -> Origin:
        bases: set[Base] = set()
        deepest = 0
        for place, select in _outputs(source, name):
            if isinstance(select, exp.Column):
                found = self.origin(select, place)
                bases |= found.bases
                deepest = max(deepest, found.hops)
        return Origin(bases=frozenset(bases), hops=deepest + 1)


def _outputs(source: Scope, name: str) -> Iterator[tuple[Scope, exp.Expr]]:
    """What makes the output column `name` of a scope, in each branch of a set operation."""
    names = outputs_of(source)
    if name not in names:
        return
    number = names.index(name)
    leaves = [source]
    while leaves:
        leaf = leaves.pop()
        if leaf.set_operation_scopes:
            leaves.extend(leaf.set_operation_scopes)
        elif isinstance(leaf.expression, exp.Select) and number < len(leaf.expression.selects):
            yield leaf, leaf.expression.selects[number].unalias()


def outputs_of(scope: Scope) -> list[str]:
    """The names of the columns that a scope gives; those of a table function are unknown."""
    query = scope.expression
    return list(query.named_selects) if isinstance(query, exp.Query) else []


def own_nodes(root: exp.Expr | None) -> Iterator[exp.Expr]:
    """The nodes of a clause or SELECT without those of the queries within it."""
    if root is None:
        return
    for node in root.walk(prune=lambda n: n is not root and isinstance(n, exp.Query)):
        if node is root or not isinstance(node, exp.Query):
            yield node


def read(sql: str, dialect: str, schema: Sequence[str]) -> Reading | None:
    """One query, None where the text is none, or is more than one statement."""
    return _read(sql, dialect, tuple(schema)) if len(sql) <= LONGEST else None


@lru_cache(maxsize=REMEMBERED)
def _read(sql: str, dialect: str, ddl: tuple[str, ...]) -> Reading | None:
    schema = _read_schema(ddl, dialect)
    try:
        trees = [tree for tree in sqlglot.parse(sql, read=dialect) if tree]
        query = trees[0].unnest() if len(trees) == 1 else None
        if not isinstance(query, exp.Query) or _depth(query) > DEEPEST:
            return None
        tree = _qualified(plain(query), dialect, schema)
        return Reading(tree=tree, scopes=tuple(traverse_scope(tree)), schema=schema, known={})
    except PARSER_FAULTS:
        return None


def _depth(tree: exp.Expr) -> int:
    levels = {id(tree): 0}
    for node in tree.walk():
        levels[id(node)] = levels.get(id(node.parent), 0) + 1
    return max(levels.values())


@lru_cache(maxsize=REMEMBERED)
def _read_schema(ddl: tuple[str, ...], dialect: str) -> Schema:
    return read_schema(ddl, dialect)


def _qualified(tree: exp.Expr, dialect: str, schema: Schema) -> exp.Expr:
    """With every column under its table; as it was where a name is ambiguous."""
    columns = {
        plain_name(table.name): {column.name.lower(): "TEXT" for column in table.columns}
        for table in schema.tables
    }
    try:
        found = qualify(
            tree.copy(),
            dialect=dialect,
            schema=dict(columns),
            allow_partial_qualification=True,
            validate_qualify_columns=False,
            quote_identifiers=False,
        )
    except OptimizeError:
        return tree
    return plain(found)


def plain(tree: exp.Expr) -> exp.Expr:
    """A copy without what no engine looks at: comments, brackets, the case of names."""
    copy = tree.copy()
    for node in list(copy.walk()):
        _make_plain(node)
    return copy


def _make_plain(node: exp.Expr) -> None:
    node.comments = None
    if isinstance(node, exp.Paren) or _needless_wrapper(node):
        node.replace(node.this)
    elif isinstance(node, exp.Identifier):
        node.replace(exp.to_identifier(node.name.lower(), quoted=False))
    elif isinstance(node, exp.Table | exp.Column):
        node.set("db", None)
        node.set("catalog", None)
    elif isinstance(node, exp.Join) and node.kind in ("INNER", "OUTER"):
        node.set("kind", None)
    elif isinstance(node, exp.Ordered) and not node.args.get("desc"):
        node.set("desc", None)


def _needless_wrapper(node: exp.Expr) -> bool:
    """Brackets around a branch of a set operation, or around brackets."""
    around = (exp.SetOperation, exp.Subquery)
    return isinstance(node, exp.Subquery) and node.is_wrapper and isinstance(node.parent, around)
