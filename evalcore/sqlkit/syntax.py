"""What a parser can say of SQL without a database: is it well-formed, of which class and form.

The parser is sqlglot, one dialect at a time. It reads more than most servers accept, so
`check_well_formed` is an opinion and no proof; an engine's `check_syntax` is the stronger word
where there is one.
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError, TokenError

from evalcore.sqlkit.dialects import dialect_name

Class = tuple[str, str]

_TYPES: dict[str, str] = {
    **dict.fromkeys(("SELECT", "INSERT", "UPDATE", "DELETE", "MERGE"), "DML"),
    **dict.fromkeys(("CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE"), "DDL"),
    **dict.fromkeys(("GRANT", "REVOKE"), "DCL"),
    **dict.fromkeys(("BEGIN", "COMMIT", "SAVEPOINT", "ROLLBACK"), "TCL"),
}
_BY_TREE: tuple[tuple[type[exp.Expr], str], ...] = (
    (exp.Insert, "INSERT"),
    (exp.Update, "UPDATE"),
    (exp.Delete, "DELETE"),
    (exp.Merge, "MERGE"),
    (exp.Query, "SELECT"),
    (exp.Values, "SELECT"),
    (exp.Create, "CREATE"),
    (exp.Alter, "ALTER"),
    (exp.Drop, "DROP"),
    (exp.TruncateTable, "TRUNCATE"),
    (exp.Grant, "GRANT"),
    (exp.Revoke, "REVOKE"),
    (exp.Transaction, "BEGIN"),
    (exp.Commit, "COMMIT"),
    (exp.Rollback, "ROLLBACK"),
)
#: First words that mean a statement of another name.
_BY_WORD: dict[str, str] = {
    **{name: name for name in _TYPES},
    **dict.fromkeys(("WITH", "VALUES", "TABLE", "FROM"), "SELECT"),
    "REPLACE": "INSERT",
    "START": "BEGIN",
    "SAVE": "SAVEPOINT",
    "END": "COMMIT",
    "ABORT": "ROLLBACK",
}
#: Well-formed statements that the parser does not know.
_BEYOND_PARSER = re.compile(
    r"\s*(?:SAVEPOINT\s+\w+|RELEASE\s+(?:SAVEPOINT\s+)?\w+|SAVE\s+TRAN(?:SACTION)?\s+\w+"
    r"|(?:END|ABORT)(?:\s+(?:TRANSACTION|WORK))?)\s*;?\s*",
    re.IGNORECASE,
)
_FIRST_WORD_ONLY = "known by its first word only"
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_VERBS_OF_WITH = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|MERGE)\b", re.IGNORECASE)


def check_well_formed(sql: str, dialect: str) -> tuple[bool, str]:
    """Whether every statement is well-formed in `dialect`, and the parser's message if not.

    The message is "known by its first word only" for a statement that the parser passes through
    unread. Raises UsageError for an unknown dialect.
    """
    name = dialect_name(dialect)
    if _BEYOND_PARSER.fullmatch(_COMMENT.sub(" ", sql)):
        return True, _FIRST_WORD_ONLY
    try:
        trees = [tree for tree in sqlglot.parse(sql, read=name) if tree]
    except ParseError as error:
        return False, _format_parse_error(error)
    except (SqlglotError, RecursionError) as error:
        return False, str(error)
    if not trees:
        return False, "there is no statement"
    for tree in trees:
        if isinstance(tree, exp.Condition | exp.Alias) and not isinstance(tree, exp.Query):
            return False, f"{tree.sql()[:80]!r} is no statement"
    if any(isinstance(tree, exp.Command) for tree in trees):
        return True, _FIRST_WORD_ONLY
    return True, ""


def _format_parse_error(error: ParseError) -> str:
    """Line, column and problem, without the parser's own words for a token."""
    first = error.errors[0] if error.errors else {"description": str(error)}
    problem = str(first["description"]).split(" but got <")[0]
    return f"line {first['line']}, column {first['col']}: {problem}" if "line" in first else problem


def classify_statement(sql: str, dialect: str) -> Class | None:
    """(sql_type, statement_type) of the first statement, None where it is of no known class.

    sql_type is DML, DDL, DCL or TCL; statement_type one of the keys of `_TYPES`. What the parser
    cannot read is classed by its first word. Raises UsageError for an unknown dialect.
    """
    try:
        tree = next((t for t in sqlglot.parse(sql, read=dialect_name(dialect)) if t), None)
    except (SqlglotError, RecursionError):
        tree = None
    kind = next((name for node, name in _BY_TREE if isinstance(tree, node)), "")
    kind = kind or _class_by_word(sql)
    return (_TYPES[kind], kind) if kind else None


def fold_statement(sql: str, dialect: str) -> str:
    """The form of a statement with names and literals made equal, to find cases that are the same.

    Two statements fold to the same text if they differ only in the names of tables, columns and
    aliases, in the values of literals, in comments, case of keywords and layout. What does not
    parse is folded token by token. Raises UsageError for an unknown dialect.
    """
    name = dialect_name(dialect)
    try:
        trees = [tree for tree in sqlglot.parse(sql, read=name) if tree]
        if trees and not any(isinstance(tree, exp.Command) for tree in trees):
            return "; ".join(
                tree.transform(_fold_node).sql(dialect=name, comments=False) for tree in trees
            )
    except (SqlglotError, RecursionError):
        return _fold_tokens(sql, name)
    return _fold_tokens(sql, name)


def _fold_node(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.Identifier):
        return exp.to_identifier("n")
    if isinstance(node, exp.Literal):
        return exp.Literal.string("s") if node.is_string else exp.Literal.number(0)
    return node


_FOLDED_TOKENS = {
    TokenType.VAR: "n",
    TokenType.IDENTIFIER: "n",
    TokenType.STRING: "'s'",
    TokenType.NUMBER: "0",
}


def _fold_tokens(sql: str, dialect: str) -> str:
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(sql)
    except TokenError:
        return " ".join(sql.split()).upper()
    return " ".join(_FOLDED_TOKENS.get(token.token_type, token.text.upper()) for token in tokens)


def _class_by_word(sql: str) -> str:
    word = _first_word(sql)
    if word == "WITH":
        verbs = _VERBS_OF_WITH.findall(_COMMENT.sub(" ", sql))
        return next((verb.upper() for verb in verbs if verb.upper() != "SELECT"), "SELECT")
    return _BY_WORD.get(word, "")


def _first_word(sql: str) -> str:
    match = re.match(r"[\s(;]*([A-Za-z_]+)", _COMMENT.sub(" ", sql))
    return match[1].upper() if match else ""
