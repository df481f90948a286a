"""Whether two statements are the same one, written differently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b

from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.optimizer.scope import Scope, traverse_scope

from evalcore.sqlkit.rewrite_rules.parsing import (
    MAX_QUERY_CHARACTERS,
    PARSER_FAULTS,
    QUERY_CACHE_SIZE,
    read_query,
)
from evalcore.sqlkit.rewrite_rules.reading import iter_own_nodes, list_output_names

#: The same comparison with its sides exchanged.
_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {exp.GT: exp.LT, exp.GTE: exp.LTE}
_CHAINED = (exp.And, exp.Or)
_EITHER_WAY = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)


def is_same_statement(a: str, b: str, dialect: str, schema: Sequence[str] = ()) -> bool:
    """Whether `b` says what `a` says, letter for letter but for what no engine looks at.

    That is: layout, comments, the case of keywords and names, needless brackets, the names of
    aliases and CTEs, INNER and ASC, the order of the operands of AND, OR, = and <>, the side on
    which a comparison has its column, and the order of an IN list. With the DDL in `schema` a star
    is the same as its columns, and a name the same with its table and without. What does not parse
    is compared word by word.
    """
    if a.split() == b.split():
        return True
    first, second = (_digest_query(sql, dialect, tuple(schema)) for sql in (a, b))
    if first is None or second is None:
        return _tokenize_words(a, dialect) == _tokenize_words(b, dialect)
    return first == second


@lru_cache(maxsize=QUERY_CACHE_SIZE)
def _digest_query(sql: str, dialect: str, schema: tuple[str, ...]) -> bytes | None:
    """A mark that queries share which say the same; None for what is no single query."""
    parsed = read_query(sql, dialect, schema)
    if parsed is None:
        return None
    tree: exp.Expr = parsed.tree.copy()
    scopes = traverse_scope(tree)
    renamed = [
        *_iter_column_renamings(scopes),
        *_iter_source_renamings(scopes),
        *_iter_cte_renamings(tree),
    ]
    for node, argument, name in renamed:
        node.set(argument, exp.to_identifier(name))
    return _digest_tree(tree)


def _tokenize_words(sql: str, dialect: str) -> list[str]:
    """The words of a text that is no single query, without layout, comments and semicolons."""
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(sql[:MAX_QUERY_CHARACTERS])
    except PARSER_FAULTS:
        return sql.lower().split()
    return [
        token.text if token.token_type == TokenType.STRING else token.text.lower()
        for token in tokens
        if token.token_type != TokenType.SEMICOLON
    ] + sql[MAX_QUERY_CHARACTERS:].split()


_Renaming = tuple[exp.Expr, str, str]  # a node, its argument, and the name to put there


def _iter_column_renamings(scopes: Sequence[Scope]) -> Iterator[_Renaming]:
    """New names for output columns, and for the columns that mean one."""
    positions_by_scope: dict[int, dict[str, int]] = {}

    def index_outputs(scope: Scope) -> dict[str, int]:
        if id(scope) not in positions_by_scope:
            names = reversed(list(enumerate(list_output_names(scope))))
            positions_by_scope[id(scope)] = {name: number for number, name in names}
        return positions_by_scope[id(scope)]

    for scope in scopes:
        bare = (node for node in iter_own_nodes(scope.expression) if isinstance(node, exp.Column))
        meant = [(column, index_outputs(scope)) for column in bare if not column.table]
        for column in scope.columns:
            source = scope.sources.get(column.table)
            if isinstance(source, Scope):
                meant.append((column, index_outputs(source)))
        for column, outputs in meant:
            if column.name in outputs:
                yield column, "this", f"c{outputs[column.name]}"
        if isinstance(scope.expression, exp.Select):
            for number, select in enumerate(scope.expression.selects):
                if isinstance(select, exp.Alias):
                    yield select, "alias", f"c{number}"


def _iter_source_renamings(scopes: Sequence[Scope]) -> Iterator[_Renaming]:
    """New names for the aliases of tables and derived tables, and for their columns' qualifiers."""
    for depth, scope in enumerate(scopes):
        for number, (alias, (node, _)) in enumerate(scope.selected_sources.items()):
            holder: exp.Expr | None = node
            while holder is not None and not holder.alias:
                holder = holder.parent
            if holder is None:
                continue
            yield holder.args["alias"], "this", f"s{depth}_{number}"
            for column in scope.columns:
                if column.table == alias:
                    yield column, "table", f"s{depth}_{number}"


def _iter_cte_renamings(tree: exp.Expr) -> Iterator[_Renaming]:
    ctes = list(tree.find_all(exp.CTE))
    names = {cte.alias: f"w{number}" for number, cte in enumerate(ctes)}
    for cte in ctes:
        yield cte.args["alias"], "this", names[cte.alias]
    for table in tree.find_all(exp.Table):
        if table.name in names:
            yield table, "this", names[table.name]


def _digest_tree(tree: exp.Expr) -> bytes:
    """A digest of a tree in which operands that may stand in any order do.

    From the leaves up and without recursion, as a chain of ORs may be thousands deep.
    """
    marks: dict[int, bytes] = {}
    for node in reversed(list(tree.walk())):
        marks[id(node)] = blake2b(_spell_node(node, marks).encode(), digest_size=16).digest()
    return marks[id(tree)]


def _spell_node(node: exp.Expr, marks: dict[int, bytes]) -> str:
    kind, arguments = type(node), dict(node.args)
    if isinstance(node, _CHAINED):
        if type(node.parent) is kind:
            return ""  # the head of the chain speaks for it
        arguments = {"operands": sorted(marks[id(part)] for part in node.flatten())}
    elif isinstance(node, _EITHER_WAY):
        arguments = {"operands": sorted((marks[id(node.this)], marks[id(node.expression)]))}
    elif kind in _FLIPPED:
        kind, arguments = _FLIPPED[kind], {"this": node.expression, "expression": node.this}
    elif isinstance(node, exp.In):
        arguments["expressions"] = sorted(marks[id(item)] for item in node.expressions)
    spelled_arguments = sorted(
        (name, _spell_argument(value, marks)) for name, value in arguments.items() if value
    )
    return f"{kind.__name__} {spelled_arguments}"


def _spell_argument(value: object, marks: dict[int, bytes]) -> str:
    if isinstance(value, list):
        return str([_spell_argument(item, marks) for item in value])
    return repr(marks[id(value)] if isinstance(value, exp.Expr) else value)
