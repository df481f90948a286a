"""Statements that differ from a given one in a single place, to find out what test data can tell.

Data on which a statement and its mutant give the same does not test that place: the share of
mutants that are told apart measures a set of databases (mutation testing after DeMillo, Lipton and
Sayward 1978, with operators for SQL after Tuya, Suárez-Cabal and de la Riva 2007). Some mutants are
equivalent to the original; which, nobody can tell in general.
"""

from __future__ import annotations

from collections.abc import Iterator

import sqlglot
from sqlglot import exp

from evalcore.records import Record
from tools.sql_mutants.mutation_rules import RULES


class Mutant(Record, frozen=True):
    """A changed statement; `kind` names the rule that changed it, such as "comparison"."""

    kind: str
    sql: str


def normal_form(sql: str, dialect: str) -> str:
    """The statements as sqlglot writes them, in which all mutants are written too.

    Hold mutants against this text, so that a peculiarity of the writer is not taken for a change.
    Comments are left out. Raises sqlglot's ParseError or TokenError where the text is not SQL of
    the dialect, and ParseError too where it is nested too deeply.
    """
    return ";\n".join(_render_tree(tree, dialect) for tree in _parse_mutant_trees(sql, dialect))


def generate_mutants(sql: str, dialect: str) -> tuple[Mutant, ...]:
    """All mutants in the order of their places, none twice, none equal to the original.

    Each is well-formed for sqlglot; an engine may still refuse it. A statement that the parser
    passes through unread (a procedure's body) has none. Raises as `normal_form`.
    """
    original = normal_form(sql, dialect)
    texts = [_render_tree(tree, dialect) for tree in _parse_mutant_trees(sql, dialect)]
    kind_by_sql: dict[str, str] = {}
    for index, tree in enumerate(_parse_mutant_trees(sql, dialect)):
        for kind, changed in _iter_changes(tree, dialect):
            whole = ";\n".join((*texts[:index], changed, *texts[index + 1 :]))
            if whole != original and whole not in kind_by_sql and _is_parsable(whole, dialect):
                kind_by_sql[whole] = kind
    return tuple(Mutant(kind=kind, sql=whole) for whole, kind in kind_by_sql.items())


def _parse_mutant_trees(sql: str, dialect: str) -> list[exp.Expr]:
    try:
        return [tree for tree in sqlglot.parse(sql, read=dialect) if tree is not None]
    except RecursionError as error:
        raise sqlglot.errors.ParseError("the statement is nested too deeply") from error


def _render_tree(tree: exp.Expr, dialect: str) -> str:
    return tree.sql(dialect=dialect, comments=False)


def _iter_changes(tree: exp.Expr, dialect: str) -> Iterator[tuple[str, str]]:
    for node in list(tree.walk()):
        for kind, types, rule in RULES:
            if not isinstance(node, types):
                continue
            for other in list(rule(node)):
                yield kind, _render_with_change(tree, node, other, dialect)


def _render_with_change(tree: exp.Expr, node: exp.Expr, other: exp.Expr, dialect: str) -> str:
    """The tree as text with `other` in the place of `node`; the tree is left as it was."""
    if node is tree:
        return _render_tree(other, dialect)
    node.replace(other)
    text = _render_tree(tree, dialect)
    other.replace(node)
    return text


def _is_parsable(sql: str, dialect: str) -> bool:
    try:
        return bool(_parse_mutant_trees(sql, dialect))
    except sqlglot.errors.SqlglotError:
        return False
