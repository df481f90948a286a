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
    def first(self) -> str:
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
def split(script: str, dialect: str) -> tuple[Statement, ...] | None:
    """The statements of a script in `dialect` (postgres, mysql), None where it has no tokens."""
    try:
        return tuple(
            statement
            for part in _undelimited(script, dialect)
            for statement in _statements(part, dialect)
        )
    except TokenError:
        return None


def _undelimited(script: str, dialect: str) -> Iterator[str]:
    """The parts of a script between DELIMITER lines and the delimiters that these set."""
    if dialect != "mysql" or not _DELIMITER.search(script):
        yield script
        return
    delimiter, begin = ";", 0
    for line in (*_DELIMITER.finditer(script), None):
        part = script[begin : line.start() if line else len(script)]
        yield from [part] if delimiter == ";" else _cut(part, delimiter)
        if line:
            delimiter, begin = line[1], line.end()


def _cut(text: str, delimiter: str) -> Iterator[str]:
    begin = 0
    for found in re.finditer(f"{_HIDING}|({re.escape(delimiter)})", text, re.DOTALL | re.VERBOSE):
        if found[1]:
            yield text[begin : found.start()]
            begin = found.end()
    yield text[begin:]


def _statements(text: str, dialect: str) -> Iterator[Statement]:
    gathered: list[Token] = []
    depth = 0
    for token in _TOKENIZERS[dialect](dialect=Dialect.get_or_raise(dialect)).tokenize(text):
        if token.token_type == TokenType.SEMICOLON and depth == 0:
            if gathered:
                yield _statement(text, gathered)
            gathered = []
            continue
        depth = max(depth + _step(gathered, token), 0)
        gathered.append(token)
    if gathered:
        yield _statement(text, gathered)


def _step(before: list[Token], token: Token) -> int:
    """How much deeper a token leads into the blocks of a routine's body."""
    word = _word(token)
    if word not in _BLOCKS and word not in ("BEGIN", "CASE", "END", "ATOMIC"):
        return 0
    head = [_word(earlier) for earlier in before[:12]]
    if word == "ATOMIC":
        return int(head == ["BEGIN", "NOT"])
    if not _compound(head):
        return 0
    previous = _word(before[-1])
    if word == "END":
        return -1
    if previous == "END":
        return 0
    return 1 if word in ("BEGIN", "CASE") or previous in _BEGINNINGS else 0


def _compound(head: list[str]) -> bool:
    """Whether a statement that begins like this has a body of statements."""
    if head[:1] == ["CREATE"]:
        return bool(_ROUTINES.intersection(head))
    return head[:3] == ["BEGIN", "NOT", "ATOMIC"]


def _statement(text: str, tokens: list[Token]) -> Statement:
    plain = [token for token in tokens if token.token_type not in _QUOTED]
    calls = (
        token.text.lower()
        for token, following in pairwise(tokens)
        if following.token_type == TokenType.L_PAREN and token.token_type not in _QUOTED
    )
    return Statement(
        text=text[tokens[0].start : tokens[-1].end + 1],
        words=tuple(filter(None, map(_word, plain))),
        calls=tuple(calls),
        comments=tuple(comment for token in tokens for comment in token.comments or ()),
        bodies=tuple(t.text for t in tokens if t.token_type == TokenType.HEREDOC_STRING),
    )


def _word(token: Token) -> str:
    """A token as a word; a quoted name is none."""
    return "" if token.token_type in (*_QUOTED, TokenType.IDENTIFIER) else token.text.upper()
