"""Cutting a script into its statements as PostgreSQL and MySQL do.

A semicolon ends a statement unless it lies in a string, a comment, dollar quotes, or the body of a
routine (BEGIN ... END, IF ... END IF and their kin). DELIMITER lines, which only MySQL's own client
understands, are followed and dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import Token, TokenType
from sqlglot.dialects import MySQL, Postgres
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError

from evalcore.records import Record


class Statement(Record, frozen=True):
    """One statement: its text, and its words in upper case with what is quoted left out.

    `calls` are the names before an opening parenthesis, in lower case; `comments` what its comments
    hold; `bodies` the texts in dollar quotes.
    """

    text: str
    words: tuple[str, ...]
    calls: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    bodies: tuple[str, ...] = ()

    @property
    def first_word(self) -> str:
        """The word that tells what it is, "" if there is none."""
        return next((word for word in self.words if word[0].isalpha()), "")


class _PostgresTokenizer(Postgres.Tokenizer):  # type: ignore[misc]
    """Reads the rest of a statement as words, also after words such as DO and CALL."""

    COMMANDS: ClassVar[set[TokenType]] = set()


class _MysqlTokenizer(MySQL.Tokenizer):  # type: ignore[misc]
    """As above."""

    COMMANDS: ClassVar[set[TokenType]] = set()


_TOKENIZERS: dict[str, Any] = {"postgres": _PostgresTokenizer, "mysql": _MysqlTokenizer}
_QUOTED = frozenset((TokenType.STRING, TokenType.HEREDOC_STRING, TokenType.NATIONAL_STRING))
_ROUTINES = frozenset(("PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"))
#: Words that open a block where a statement can begin, and the words after which one can.
_BLOCKS = frozenset(("IF", "LOOP", "WHILE", "REPEAT"))
_BEGINNINGS = frozenset((";", "BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT", ":"))
_DELIMITER = re.compile(r"^[ \t]*DELIMITER[ \t]+(\S+)[ \t]*$", re.IGNORECASE | re.MULTILINE)
#: What may hide a delimiter in MySQL: strings, quoted names and comments.
_HIDING = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--\s[^\n]*|\#[^\n]*|/\*.*?\*/"""


@lru_cache(maxsize=1024)
def split_script(script: str, dialect: str) -> tuple[Statement, ...] | None:
    """The statements of a script in `dialect` (postgres, mysql), None where it has no tokens."""
    try:
        return tuple(
            statement
            for part in _iter_delimited_parts(script, dialect)
            for statement in _iter_statements(part, dialect)
        )
    except TokenError:
        return None


def _iter_delimited_parts(script: str, dialect: str) -> Iterator[str]:
    """The parts of a script between DELIMITER lines and the delimiters that these set."""
    if dialect != "mysql" or not _DELIMITER.search(script):
        yield script
        return
    delimiter, start = ";", 0
    for line in (*_DELIMITER.finditer(script), None):
        part = script[start : line.start() if line else len(script)]
        yield from [part] if delimiter == ";" else _split_at_delimiter(part, delimiter)
        if line:
            delimiter, start = line[1], line.end()


def _split_at_delimiter(text: str, delimiter: str) -> Iterator[str]:
    start = 0
    for match in re.finditer(f"{_HIDING}|({re.escape(delimiter)})", text, re.DOTALL | re.VERBOSE):
        if match[1]:
            yield text[start : match.start()]
            start = match.end()
    yield text[start:]


def _iter_statements(text: str, dialect: str) -> Iterator[Statement]:
    gathered: list[Token] = []
    depth = 0
    for token in _TOKENIZERS[dialect](dialect=Dialect.get_or_raise(dialect)).tokenize(text):
        if token.token_type == TokenType.SEMICOLON and depth == 0:
            if gathered:
                yield _build_script_statement(text, gathered)
            gathered = []
            continue
        depth = max(depth + _compute_depth_change(gathered, token), 0)
        gathered.append(token)
    if gathered:
        yield _build_script_statement(text, gathered)


def _compute_depth_change(before: list[Token], token: Token) -> int:
    """How much deeper a token leads into the blocks of a routine's body."""
    word = _to_keyword(token)
    if word not in _BLOCKS and word not in ("BEGIN", "CASE", "END", "ATOMIC"):
        return 0
    head = [_to_keyword(earlier) for earlier in before[:12]]
    if word == "ATOMIC":
        return int(head == ["BEGIN", "NOT"])
    if not _is_compound(head):
        return 0
    previous = _to_keyword(before[-1])
    if word == "END":
        return -1
    if previous == "END":
        return 0
    return 1 if word in ("BEGIN", "CASE") or previous in _BEGINNINGS else 0


def _is_compound(head: list[str]) -> bool:
    """Whether a statement that begins like this has a body of statements."""
    if head[:1] == ["CREATE"]:
        return bool(_ROUTINES.intersection(head))
    return head[:3] == ["BEGIN", "NOT", "ATOMIC"]


def _build_script_statement(text: str, tokens: list[Token]) -> Statement:
    plain = [token for token in tokens if token.token_type not in _QUOTED]
    calls = (
        token.text.lower()
        for token, following in pairwise(tokens)
        if following.token_type == TokenType.L_PAREN and token.token_type not in _QUOTED
    )
    return Statement(
        text=text[tokens[0].start : tokens[-1].end + 1],
        words=tuple(filter(None, map(_to_keyword, plain))),
        calls=tuple(calls),
        comments=tuple(comment for token in tokens for comment in token.comments or ()),
        bodies=tuple(t.text for t in tokens if t.token_type == TokenType.HEREDOC_STRING),
    )


def _to_keyword(token: Token) -> str:
    """A token as a word; a quoted name is none."""
    return "" if token.token_type in (*_QUOTED, TokenType.IDENTIFIER) else token.text.upper()
