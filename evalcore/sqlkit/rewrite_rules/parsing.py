"""A query as the detectors see it: layout gone, names resolved against the schema, scopes known.

Comments, brackets and the case of names are made equal; stars and USING are written out where the
schema tells the columns. Done with sqlglot's optimizer, of which only the qualifying of names is
used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import OptimizeError, SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import traverse_scope

from evalcore.sqlkit.rewrite_rules.reading import ParsedQuery, count_evaluations
from evalcore.sqlkit.schema import Schema, plain_name, read_schema

#: How many queries are kept. None is read that has more characters or tokens, or a tree with more
#: levels: names are resolved in more than linear time, and this takes a fraction of a second.
QUERY_CACHE_SIZE, MAX_QUERY_CHARACTERS, MAX_TOKENS, MAX_TREE_DEPTH = 256, 50_000, 3_000, 600
_MAX_STAR_COLUMNS = 1_000  # columns that the stars of a query may stand for
#: What the parser and the optimizer raise over a text that they were not made for.
PARSER_FAULTS = (
    SqlglotError,
    RecursionError,
    AttributeError,
    KeyError,
    TypeError,
    ValueError,
)


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


def _needless_wrapper(node: exp.Expr) -> bool:
    """Brackets around a branch of a set operation, or around brackets."""
    around = (exp.SetOperation, exp.Subquery)
    return isinstance(node, exp.Subquery) and node.is_wrapper and isinstance(node.parent, around)
