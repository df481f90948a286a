"""Change a statement by its tokens, so that all that is not changed stays as it was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import sqlglot
from sqlglot import Token, TokenType
from sqlglot.errors import SqlglotError

Edit = tuple[int, int, str]
_QUOTED = frozenset(
    (
        TokenType.STRING,
        TokenType.IDENTIFIER,
        TokenType.HEREDOC_STRING,
        TokenType.NATIONAL_STRING,
        TokenType.RAW_STRING,
    )
)
_NAMES = frozenset((TokenType.VAR, TokenType.IDENTIFIER))
#: Before a qualified name, and before the name of what is made or filled.
_BEFORE_NO_CALL = frozenset(
    (".", "FUNCTION", "PROCEDURE", "TABLE", "VIEW", "INDEX", "INTO", "EXISTS", "REFERENCES")
)


class Untranslatable(Exception):
    """A feature of the product that no translation says to its substitute; the text names it."""


def read_tokens(sql: str, dialect: str) -> list[Token]:
    """The tokens of a statement, none where it cannot be cut into tokens."""
    try:
        return list(sqlglot.tokenize(sql, read=dialect))
    except (SqlglotError, RecursionError):
        return []


def fold_word(token: Token) -> str:
    """A token as a word in upper case, "" for what is quoted."""
    return "" if token.token_type in _QUOTED else str(token.text).upper()


def is_name(token: Token) -> bool:
    return token.token_type in _NAMES


def apply_edits(sql: str, edits: Sequence[Edit]) -> str:
    """The text with each span, `end` exclusive, replaced; spans do not overlap."""
    for start, end, text in sorted(edits, reverse=True):
        sql = f"{sql[:start]}{text}{sql[end:]}"
    return sql


def find_closing(tokens: Sequence[Token], opening: int) -> int:
    """The index of the parenthesis that closes the one at `opening`, -1 if none does."""
    depth = 0
    for index in range(opening, len(tokens)):
        depth += tokens[index].token_type == TokenType.L_PAREN
        depth -= tokens[index].token_type == TokenType.R_PAREN
        if depth == 0:
            return index
    return -1


def find_opening(tokens: Sequence[Token], closing: int) -> int:
    """The index of the parenthesis that the one at `closing` closes, -1 if there is none."""
    depth = 0
    for index in range(closing, -1, -1):
        depth += tokens[index].token_type == TokenType.R_PAREN
        depth -= tokens[index].token_type == TokenType.L_PAREN
        if depth == 0:
            return index
    return -1


def split_arguments(sql: str, tokens: Sequence[Token], opening: int, closing: int) -> list[str]:
    """The texts between the commas of a pair of parentheses, stripped."""
    if closing == opening + 1:
        return []
    bounds, depth = [tokens[opening].end + 1], 0
    for token in tokens[opening + 1 : closing]:
        depth += token.token_type == TokenType.L_PAREN
        depth -= token.token_type == TokenType.R_PAREN
        if token.token_type == TokenType.COMMA and depth == 0:
            bounds += [token.start, token.end + 1]
    bounds.append(tokens[closing].start)
    return [sql[a:b].strip() for a, b in zip(bounds[::2], bounds[1::2], strict=True)]


Rewriter = Callable[[list[str]], str | None]


def iter_calls(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    """Index and upper-case name of each unqualified call of a function, the last first."""
    for index in range(len(tokens) - 2, -1, -1):
        if tokens[index + 1].token_type != TokenType.L_PAREN:
            continue
        before = fold_word(tokens[index - 1]) if index else ""
        word = fold_word(tokens[index])
        if word and before not in _BEFORE_NO_CALL and word.replace("_", "").isalnum():
            yield index, word


def rewrite_calls(sql: str, dialect: str, rewriters: Mapping[str, Rewriter]) -> str:
    """The statement with calls of the named functions, inner ones first, rewritten.

    A rewriter gets the texts of the arguments and gives the text of the whole call, None to leave
    it as it is.
    """
    before = len(sql)
    while True:
        tokens = read_tokens(sql, dialect)
        call = next(
            (
                (index, word)
                for index, word in iter_calls(tokens)
                if word in rewriters and tokens[index].start < before
            ),
            None,
        )
        if call is None:
            return sql
        index, word = call
        before = tokens[index].start
        closing = find_closing(tokens, index + 1)
        if closing < 0:
            continue
        text = rewriters[word](split_arguments(sql, tokens, index + 1, closing))
        if text is not None:
            sql = f"{sql[:before]}{text}{sql[tokens[closing].end + 1 :]}"
