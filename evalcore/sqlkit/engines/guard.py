"""The first layer that keeps hostile SQL out: cut a script, judge each statement by its words.

It works on tokens, so it also holds for SQL that our parser does not know. It is an early and
readable refusal, not the wall: an engine's own authorizer, the locked configuration and the limits
of the process stand behind it and do not trust it.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Self

import msgspec
from sqlglot import Token, TokenType
from sqlglot.dialects import MySQL, Postgres
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError

from evalcore.catalog import engine_cards
from evalcore.records import Record
from evalcore.sqlkit.engines import Execution, GeneratedScript, Stage


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
    """The statements of a script for an engine, None where it cannot be cut into tokens.

    For servers a semicolon in the body of a routine (BEGIN ... END, IF ... END IF and their kin)
    ends none; DELIMITER lines, which only MySQL's own client understands, are followed and dropped.
    """
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
    rules = Dialect.get_or_raise(dialect)
    tokenizer = _TOKENIZERS.get(dialect, rules.tokenizer_class)(dialect=rules)
    for token in tokenizer.tokenize(text):
        if token.token_type == TokenType.SEMICOLON and depth == 0:
            if gathered:
                yield _build_script_statement(text, gathered)
            gathered = []
            continue
        if engine_cards()[dialect].server:
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
    is_routine = head[:1] == ["CREATE"] and bool(_ROUTINES.intersection(head))
    if not is_routine and head[:3] != ["BEGIN", "NOT", "ATOMIC"]:
        return 0
    previous = _to_keyword(before[-1])
    if word == "END":
        return -1
    if previous == "END":
        return 0
    return 1 if word in ("BEGIN", "CASE") or previous in _BEGINNINGS else 0


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


_MODIFIERS = frozenset(
    ("OR", "REPLACE", "TEMP", "TEMPORARY", "PERSISTENT", "UNIQUE", "TRUSTED", "IF", "EXISTS")
)
_REFUSED_KINDS = frozenset(("VIRTUAL", "SECRET"))
#: What belongs to a whole server and not to one database, after CREATE, ALTER or DROP.
_REFUSED_OF_SERVERS = frozenset(
    "DATABASE ROLE USER GROUP TABLESPACE SERVER FOREIGN EXTENSION LANGUAGE PUBLICATION "  # noqa: SIM905
    "SUBSCRIPTION SYSTEM ACCESS OWNED EVENT INSTANCE LOGFILE RESOURCE UNDO".split()
)
_FILES = frozenset((("INTO", "OUTFILE"), ("INTO", "DUMPFILE"), ("DATA", "INFILE")))
#: Of one statement: a third of a second to look through, and far more than a model writes.
MAX_SQL_CHARACTERS = 100_000
_NO_STATEMENT = Execution(status="syntax_error", message="there is no statement")


class ScriptInspection(Record, frozen=True):
    """What the words of a script say. `statements` is None where it has no tokens to count.

    `refusal` is the reason why it is not run, "" where nothing speaks against it.
    """

    statements: int | None
    refusal: str = ""


@lru_cache(maxsize=1024)
def inspect_script(script: str, dialect: str) -> ScriptInspection:
    """Look through all statements of a script; `dialect` is the name of an engine."""
    statements = split_script(script, dialect)
    if statements is None:
        return ScriptInspection(statements=None)
    count = len(statements)
    # The body of a trigger, of which servers are cut already, belongs to its CREATE.
    if count and statements[0].words[:1] == ("CREATE",) and statements[-1].words == ("END",):
        count = 1 if "TRIGGER" in statements[0].words[:4] else count
    refusals = (_find_refusal(statement, dialect) for statement in statements)
    return ScriptInspection(count, next((reason for reason in refusals if reason), ""))


def inspect_answer(sql: str, dialect: str, *, script: bool) -> ScriptInspection:
    """`inspect_script` for what is to be judged: not too long to be looked through in the time of a
    statement, and one statement unless it is a `script`."""
    if len(sql) > MAX_SQL_CHARACTERS:
        return ScriptInspection(
            None, f"{len(sql)} characters are not run, at most {MAX_SQL_CHARACTERS} are"
        )
    inspection = inspect_script(sql, dialect)
    if not inspection.refusal and not script and (inspection.statements or 1) > 1:
        return ScriptInspection(
            inspection.statements, f"{inspection.statements} statements where one is run"
        )
    return inspection


def _find_refusal(statement: Statement, dialect: str) -> str:
    card, words = engine_cards()[dialect], statement.words
    is_server = bool(card.server)
    first = statement.first_word if is_server else next((w for w in words if w != "("), "")
    if first not in card.statements.split():
        return f"{first or 'empty'} statements are not run"
    if first == "SET" and not _is_user_variable_set(words):
        return "SET of anything but a user variable is not run"
    if first in ("CREATE", "ALTER", "DROP"):
        kind = next((word for word in words[1:] if word not in _MODIFIERS), "")
        refused_kinds = _REFUSED_OF_SERVERS if is_server else _REFUSED_KINDS
        if kind in refused_kinds or (kind == "SCHEMA" and dialect == "mysql"):
            return f"{first} {kind} is not run"
    if is_server and _FILES.intersection(pairwise(words)):
        return "reading and writing files is not run"
    if is_server and any(comment.startswith(("!", "M!")) for comment in statement.comments):
        return "executable comments are not run"
    for name in _iter_called_functions(statement, dialect):
        if re.fullmatch(card.refused_functions, name):
            return f"the function {name} is not run"
    return ""


def _is_user_variable_set(words: tuple[str, ...]) -> bool:
    """Whether each item of a SET begins with one @; a comma outside parentheses ends an item."""
    depth, begins = 0, True
    for word in words[1:]:
        if begins and word != "@":
            return False
        depth += (word == "(") - (word == ")")
        begins = word == "," and depth == 0
    return not begins


def _iter_called_functions(statement: Statement, dialect: str) -> Iterator[str]:
    """The functions that a statement calls, in the bodies of routines too."""
    yield from statement.calls
    for body in statement.bodies:
        for inner in split_script(body, dialect) or ():
            yield from inner.calls


class GuardedEngine(ABC):
    """The half that all engines share: nothing reaches the database before it was looked through.

    Refused SQL that the engine's own parser cannot read either is a syntax error, not forbidden.
    """

    name: str

    @abstractmethod
    def check_parse(self, text: str) -> Execution:
        """What the engine's own parser says of a text; nothing is run."""

    @abstractmethod
    def close(self) -> None:
        """Release what the engine holds; safe to call twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def check_syntax(self, sql: str) -> Execution:
        if inspect_script(sql, self.name).statements == 0:
            return _NO_STATEMENT
        return self.check_parse(sql)

    def run_guarded(
        self, setup: Sequence[str], sql: str, run: Callable[[], Execution], *, script: bool = False
    ) -> Execution:
        """Run what may be run: `sql` as one statement unless it is a `script`."""
        for text in setup:
            if isinstance(text, GeneratedScript):
                continue
            if refusal := inspect_script(text, self.name).refusal:
                return self._reject_script(text, refusal, "setup")
        inspection = inspect_answer(sql, self.name, script=script)
        if inspection.statements == 0:
            return _NO_STATEMENT
        if inspection.refusal:
            return self._reject_script(sql, inspection.refusal, "statement")
        return run()

    def may_run(self, setups: Sequence[Sequence[str]], sql: str, *, script: bool = False) -> bool:
        """Whether `run_guarded` would run a statement on each of some setups."""
        inspection = inspect_answer(sql, self.name, script=script)
        texts = (
            text for setup in setups for text in setup if not isinstance(text, GeneratedScript)
        )
        return (
            inspection.statements != 0
            and not inspection.refusal
            and not any(inspect_script(text, self.name).refusal for text in texts)
        )

    def _reject_script(self, text: str, reason: str, stage: Stage) -> Execution:
        forbidden = Execution(status="forbidden", message=reason, stage=stage)
        if len(text) > MAX_SQL_CHARACTERS:
            return forbidden
        parsed = self.check_parse(text)
        return forbidden if parsed.status == "ok" else msgspec.structs.replace(parsed, stage=stage)
