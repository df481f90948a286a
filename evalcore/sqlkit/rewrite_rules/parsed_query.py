"""A query as the detectors see it: names resolved, scopes known, stored columns traced.

Comments, brackets and the case of names are made equal; stars and USING are written out where
the schema tells the columns.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import OptimizeError, SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, ScopeType, traverse_scope

from evalcore.records import Record
from evalcore.sqlkit.schema import Schema, plain_name, read_schema

# A query as the detectors see it: its scopes, and which stored columns and tables are behind them.
# How a text becomes one is told in `parsing`.

Role = Literal["root", "derived", "lateral", "branch", "exists", "in", "scalar"]
#: A column of a base table, as (table, column) in lower case.
Base = tuple[str, str]
_FROM = (ScopeType.CTE, ScopeType.DERIVED_TABLE)
_MAX_TIMES = 1_000  # more is not told apart, as a ladder of CTEs doubles at every rung
#: The role of a subquery, by what stands around it.
_SUBQUERY: dict[type[Any], Role] = {exp.Exists: "exists", exp.In: "in", exp.Lateral: "lateral"}


class Origin(Record, frozen=True):
    """Where a column comes from: base columns, through so many derived tables or CTEs.

    `computed` are base columns of which it is an expression, those under an aggregate left out.
    """

    bases: frozenset[Base] = frozenset()
    hops: int = 0
    computed: frozenset[Base] = frozenset()


class ParsedQuery(Record, frozen=True):
    """One query. `scopes` are its SELECTs and set operations, the innermost first.

    `times` tells by scope how often its rows are made: a CTE that only hands rows on is made for
    each of its readers, any other once, and one without readers never. `conditions`, `origins` and
    `tables_by_scope` keep what was found so far: in a ladder of CTEs it is asked for very often.
    """

    tree: Any
    scopes: tuple[Any, ...]
    schema: Schema
    times: dict[int, int]
    conditions: list[Any]
    origins: dict[tuple[int, str], Origin]
    tables_by_scope: dict[int, Counter[str]]

    def is_live(self, scope: Scope) -> bool:
        """Whether anything reads the rows of a scope."""
        return self.times[id(scope)] > 0

    def find_role(self, scope: Scope) -> Role:
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

    def is_nested(self, scope: Scope | None) -> bool:
        """Whether the rows of a scope pass through a derived table or CTE on their way out."""
        return self.is_within(scope, "derived", "lateral")

    def is_within(self, scope: Scope | None, *roles: Role) -> bool:
        """Whether a scope is, or is part of, a query in one of these roles."""
        while scope is not None:
            if self.find_role(scope) in roles:
                return True
            scope = scope.parent
        return False

    def count_tables_beneath(self, scope: Scope) -> Counter[str]:
        """The stored tables that a scope reads, with all queries in it and CTEs it names."""
        key = id(scope)
        if key not in self.tables_by_scope:
            self.tables_by_scope[key] = Counter()  # what a recursive query finds of itself
            tables = Counter(self.list_base_tables(scope))
            for part in _iter_inner_scopes(scope):
                tables += self.count_tables_beneath(part)
            self.tables_by_scope[key] = tables
        return self.tables_by_scope[key]

    def list_base_tables(self, scope: Scope) -> list[str]:
        """The stored tables that a scope itself reads, as often as it does."""
        sources = (source for _, source in scope.selected_sources.values())
        return [source.name for source in sources if isinstance(source, exp.Table)]

    def find_source(self, column: exp.Column, scope: Scope | None) -> exp.Table | Scope | None:
        """What a column is taken from, which may be in a query around the one that it stands in."""
        while scope is not None and column.table not in scope.sources:
            scope = scope.parent
        source: exp.Table | Scope | None = (
            scope.sources[column.table] if scope is not None else None
        )
        return source

    def find_origin(self, column: exp.Column, scope: Scope | None) -> Origin:
        """The base columns behind a column; an unknown one is known by its own name."""
        source = self.find_source(column, scope)
        if isinstance(source, Scope):
            return self._find_output_origin(source, column.name)
        table = source.name if isinstance(source, exp.Table) else ""
        return Origin(bases=frozenset(((table, column.name),)))

    def _find_output_origin(self, source: Scope, name: str) -> Origin:
        """The origin of the output `name` of a derived table."""
        key = (id(source), name)
        if key not in self.origins:
            self.origins[key] = Origin(hops=1)  # what a recursive query finds of itself
            self.origins[key] = self._compute_output_origin(source, name)
        return self.origins[key]

    def _compute_output_origin(self, source: Scope, name: str) -> Origin:
        bases: set[Base] = set()
        computed: set[Base] = set()
        deepest = 0
        for leaf, select in _iter_output_sources(source, name):
            if isinstance(select, exp.Column):
                origin = self.find_origin(select, leaf)
                bases |= origin.bases
                computed |= origin.computed
                deepest = max(deepest, origin.hops)
            else:
                for column in _iter_plain_columns(select):
                    origin = self.find_origin(column, leaf)
                    computed |= origin.bases | origin.computed
        return Origin(bases=frozenset(bases), hops=deepest + 1, computed=frozenset(computed))


def _iter_plain_columns(node: exp.Expr) -> Iterator[exp.Column]:
    """The columns of an expression that are in no aggregate, window or query of it."""
    around = (exp.AggFunc, exp.Window, exp.Query)
    for descendant in node.walk(prune=lambda part: isinstance(part, around)):
        if isinstance(descendant, exp.Column):
            yield descendant


def _iter_inner_scopes(scope: Scope) -> Iterator[Scope]:
    """The scopes within a scope, and the CTEs that it reads."""
    yield from scope.subquery_scopes
    yield from scope.set_operation_scopes
    yield from scope.udtf_scopes
    for _, source in scope.selected_sources.values():
        if isinstance(source, Scope) and source.scope_type in _FROM:
            yield source


def count_evaluations(scopes: Sequence[Scope]) -> dict[int, int]:
    """How often the rows of each scope are made; see `ParsedQuery`."""
    times: dict[int, int] = defaultdict(int)
    for scope in reversed(scopes):  # those around a scope, and those that read it, come first
        if scope.scope_type == ScopeType.ROOT:
            times[id(scope)] = 1
        often = min(times[id(scope)], _MAX_TIMES)
        if scope.scope_type == ScopeType.CTE and not _hands_rows_on(scope.expression):
            often = min(often, 1)
        times[id(scope)] = often
        for part in _iter_inner_scopes(scope):
            times[id(part)] += often
    return times


def _hands_rows_on(query: exp.Expr) -> bool:
    """Whether a query gives the rows that it reads, and computes none over many of them."""
    if any(query.args.get(name) is not None for name in ("group", "distinct", "limit")):
        return False
    aggregates = (node for node in iter_own_nodes(query) if isinstance(node, exp.AggFunc))
    return all(isinstance(node.parent, exp.Window) for node in aggregates)


def _iter_output_sources(source: Scope, name: str) -> Iterator[tuple[Scope, exp.Expr]]:
    """What makes the output column `name` of a scope, in each branch of a set operation."""
    names = list_output_names(source)
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


def list_output_names(scope: Scope) -> list[str]:
    """The names of the columns that a scope gives; those of a table function are unknown."""
    query = scope.expression
    return list(query.named_selects) if isinstance(query, exp.Query) else []


def iter_own_nodes(root: exp.Expr | None) -> Iterator[exp.Expr]:
    """The nodes of a clause or SELECT without those of the queries within it."""
    if root is None:
        return
    for node in root.walk(prune=lambda n: n is not root and isinstance(n, exp.Query)):
        if node is root or not isinstance(node, exp.Query):
            yield node


# A query as the detectors see it: layout gone, names resolved against the schema, scopes known.
# Comments, brackets and the case of names are made equal; stars and USING are written out where
# the schema tells the columns. Done with sqlglot's optimizer, of which only the qualifying of
# names is used.

#: How many queries are kept. None is read that has more characters or tokens, or a tree with more
#: levels: names are resolved in more than linear time, and this takes a fraction of a second.
QUERY_CACHE_SIZE, MAX_QUERY_CHARACTERS, MAX_TOKENS, MAX_TREE_DEPTH = 256, 50_000, 3_000, 600
_MAX_STAR_COLUMNS = 1_000  # columns that the stars of a query may stand for
#: What the parser and the optimizer raise over a text that they were not made for.
PARSER_FAULTS = (SqlglotError, RecursionError, AttributeError, KeyError, TypeError, ValueError)


def read_query(sql: str, dialect: str, schema: Sequence[str]) -> ParsedQuery | None:
    """One query, None where the text is none, or is more than one statement."""
    return (
        _read_cached_query(sql, dialect, tuple(schema))
        if len(sql) <= MAX_QUERY_CHARACTERS
        else None
    )


@lru_cache(maxsize=QUERY_CACHE_SIZE)
def _read_cached_query(sql: str, dialect: str, ddl: tuple[str, ...]) -> ParsedQuery | None:
    schema = _read_schema(ddl, dialect)
    try:
        reader = Dialect.get_or_raise(dialect)
        tokens = reader.tokenize(sql)
        if len(tokens) > MAX_TOKENS:
            return None
        trees = [tree for tree in reader.parser().parse(tokens, sql) if tree]
        query = trees[0].unnest() if len(trees) == 1 else None
        if not isinstance(query, exp.Query) or _compute_depth(query) > MAX_TREE_DEPTH:
            return None
        if _count_star_columns(query, schema) > _MAX_STAR_COLUMNS:
            return None
        tree = _qualify_names(normalize_tree(query), dialect, schema)
        scopes = tuple(traverse_scope(tree))
        return ParsedQuery(
            tree=tree,
            scopes=scopes,
            schema=schema,
            times=count_evaluations(scopes),
            conditions=[],
            origins={},
            tables_by_scope={},
        )
    except PARSER_FAULTS:
        return None


def _count_star_columns(tree: exp.Expr, schema: Schema) -> int:
    """A bound for the columns that the stars stand for: of tables, and those named in the query."""
    stars = sum(
        isinstance(star.parent, exp.Select | exp.Column) for star in tree.find_all(exp.Star)
    )
    widest = max((len(table.columns) for table in schema.tables), default=0)
    return stars * (widest + sum(1 for _ in tree.find_all(exp.Alias))) if stars > 1 else 0


def _compute_depth(tree: exp.Expr) -> int:
    levels = {id(tree): 0}
    for node in tree.walk():
        levels[id(node)] = levels.get(id(node.parent), 0) + 1
    return max(levels.values())


@lru_cache(maxsize=QUERY_CACHE_SIZE)
def _read_schema(ddl: tuple[str, ...], dialect: str) -> Schema:
    return read_schema(ddl, dialect)


def _qualify_names(tree: exp.Expr, dialect: str, schema: Schema) -> exp.Expr:
    """With every column under its table; as it was where a name is ambiguous."""
    columns = {
        plain_name(table.name): {column.name.lower(): "TEXT" for column in table.columns}
        for table in schema.tables
    }
    try:
        qualified = qualify(
            tree.copy(),
            dialect=dialect,
            schema=dict(columns),
            allow_partial_qualification=True,
            validate_qualify_columns=False,
            quote_identifiers=False,
        )
    except OptimizeError:
        return tree
    return normalize_tree(qualified)


def normalize_tree(tree: exp.Expr) -> exp.Expr:
    """A copy without what no engine looks at: comments, brackets, the case of names."""
    copy = tree.copy()
    for node in list(copy.walk()):
        _normalize_node(node)
    return copy


def _normalize_node(node: exp.Expr) -> None:
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
    elif isinstance(node, exp.Is) and node.args.get("negate"):  # as PostgreSQL's parser has it
        negation = exp.Not()
        node.set("negate", None)
        node.replace(negation)
        negation.set("this", node)


def _needless_wrapper(node: exp.Expr) -> bool:
    """Brackets around a branch of a set operation, or around brackets."""
    around = (exp.SetOperation, exp.Subquery)
    return isinstance(node, exp.Subquery) and node.is_wrapper and isinstance(node.parent, around)
