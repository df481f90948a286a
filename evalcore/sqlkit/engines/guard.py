"""The first of the layers that keep hostile SQL out: what a statement is, judged by its words.

It works on tokens and needs no parse, so it also holds for SQL that our parser does not know. It is
an early and readable refusal, not the wall: an engine's own authorizer, the locked configuration
and the limits of the process stand behind it and do not trust it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from sqlglot import Token, TokenType
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError

from evalcore.records import Record

_COMMON = "SELECT WITH VALUES INSERT UPDATE DELETE CREATE DROP ALTER BEGIN COMMIT ROLLBACK END"
#: The first words of the statements that are run.
_ALLOWED: dict[str, frozenset[str]] = {
    "sqlite": frozenset(f"{_COMMON} REPLACE ANALYZE REINDEX SAVEPOINT RELEASE".split()),
    "duckdb": frozenset(
        f"{_COMMON} MERGE TRUNCATE FROM TABLE PIVOT UNPIVOT DESCRIBE SHOW SUMMARIZE COMMENT START "
        "ABORT".split()
    ),
}
_MODIFIERS = frozenset(("OR", "REPLACE", "TEMP", "TEMPORARY", "PERSISTENT", "UNIQUE"))
_REFUSED_KINDS = frozenset(("VIRTUAL", "SECRET"))
#: Functions that read files, call an address, run SQL from a string or look into the process.
_REFUSED_FUNCTIONS: dict[str, re.Pattern[str]] = {
    "sqlite": re.compile(r"load_extension|readfile|writefile|edit|fts3_tokenizer|pragma_\w+"),
    "duckdb": re.compile(
        r"read_\w+|sniff_csv|glob|getenv|parquet_\w+|\w+_scan|\w+_scan_dumb|from_substrait\w*|query"
        r"|query_table|json_execute_serialized_sql|which_secret|duckdb_secrets|pragma_\w+"
        r"|enable_\w+|disable_\w+|duckdb_logs\w*|write_log"
    ),
}


class Finding(Record, frozen=True):
    """What the words of a script say. `statements` is None where it has no tokens to count.

    `refusal` is the reason why it is not run, "" where nothing speaks against it.
    """

    statements: int | None
    refusal: str = ""


@lru_cache(maxsize=1024)
def inspect(script: str, dialect: str) -> Finding:
    """Look through all statements of a script; `dialect` is sqlite or duckdb."""
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(script)
    except TokenError:
        return Finding(statements=None)
    statements = _cut(tokens)
    refusals = (_refusal(statement, dialect) for statement in statements)
    return Finding(
        statements=_count(statements), refusal=next((reason for reason in refusals if reason), "")
    )


def _cut(tokens: list[Token]) -> list[list[Token]]:
    statements: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            statements.append([])
        else:
            statements[-1].append(token)
    return [statement for statement in statements if statement]


def _count(statements: list[list[Token]]) -> int:
    """Statements, where the body of a trigger (BEGIN ...; END) belongs to its CREATE."""
    if statements and _words(statements[0])[:1] == ["CREATE"]:
        words = _words(statements[0])
        if "TRIGGER" in words[:4] and _words(statements[-1]) == ["END"]:
            return 1
    return len(statements)


def _words(statement: list[Token]) -> list[str]:
    return [token.text.upper() for token in statement if token.token_type != TokenType.L_PAREN]


def _refusal(statement: list[Token], dialect: str) -> str:
    words = _words(statement)
    first = words[0] if words else ""
    if first not in _ALLOWED[dialect]:
        return f"{first or 'empty'} statements are not run"
    kind = next((word for word in words[1:] if word not in _MODIFIERS), "")
    if first in ("CREATE", "DROP") and kind in _REFUSED_KINDS:
        return f"{first} {kind} is not run"
    for token, following in pairwise(statement):
        name = token.text.lower()
        if (
            following.token_type == TokenType.L_PAREN
            and token.token_type != TokenType.STRING
            and _REFUSED_FUNCTIONS[dialect].fullmatch(name)
        ):
            return f"the function {name} is not run"
    return ""
