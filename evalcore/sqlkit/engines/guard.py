"""The first of the layers that keep hostile SQL out: what a statement is, judged by its words.

It works on tokens and needs no parse, so it also holds for SQL that our parser does not know. It is
an early and readable refusal, not the wall: an engine's own authorizer, the locked configuration
and the limits of the process stand behind it and do not trust it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from sqlglot import Token, TokenType
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError

from evalcore.records import Record
from evalcore.sqlkit.engines.script import Statement, split_script

_COMMON = "SELECT WITH VALUES INSERT UPDATE DELETE CREATE DROP ALTER BEGIN COMMIT ROLLBACK END"
#: The first words of the statements that are run.
_ALLOWED: dict[str, frozenset[str]] = {
    "sqlite": frozenset(f"{_COMMON} REPLACE ANALYZE REINDEX SAVEPOINT RELEASE".split()),
    "duckdb": frozenset(
        f"{_COMMON} MERGE TRUNCATE FROM TABLE PIVOT UNPIVOT DESCRIBE SHOW SUMMARIZE COMMENT START "
        "ABORT".split()
    ),
    "postgres": frozenset(
        f"{_COMMON} MERGE TRUNCATE TABLE CALL DO START ABORT SAVEPOINT RELEASE COMMENT ANALYZE "
        "REFRESH REINDEX".split()
    ),
    "mysql": frozenset(
        f"{_COMMON} REPLACE TRUNCATE TABLE RENAME CALL START SAVEPOINT RELEASE ANALYZE PREPARE "
        "EXECUTE DEALLOCATE SET".split()
    ),
}
_MODIFIERS = frozenset(
    ("OR", "REPLACE", "TEMP", "TEMPORARY", "PERSISTENT", "UNIQUE", "TRUSTED", "IF", "EXISTS")
)
_REFUSED_KINDS = frozenset(("VIRTUAL", "SECRET"))
#: What belongs to a whole server and not to one database, after CREATE, ALTER or DROP.
_REFUSED_OF_SERVERS = frozenset(
    [
        "DATABASE",
        "ROLE",
        "USER",
        "GROUP",
        "TABLESPACE",
        "SERVER",
        "FOREIGN",
        "EXTENSION",
        "LANGUAGE",
        "PUBLICATION",
        "SUBSCRIPTION",
        "SYSTEM",
        "ACCESS",
        "OWNED",
        "EVENT",
        "INSTANCE",
        "LOGFILE",
        "RESOURCE",
        "UNDO",
    ]
)
#: Functions that read files, call an address, run SQL from a string or look into the process.
_REFUSED_FUNCTIONS: dict[str, re.Pattern[str]] = {
    "sqlite": re.compile(r"load_extension|readfile|writefile|edit|fts3_tokenizer|pragma_\w+"),
    "duckdb": re.compile(
        r"read_\w+|sniff_csv|glob|getenv|parquet_\w+|\w+_scan|\w+_scan_dumb|from_substrait\w*|query"
        r"|query_table|json_execute_serialized_sql|which_secret|duckdb_secrets|pragma_\w+"
        r"|enable_\w+|disable_\w+|duckdb_logs\w*|write_log"
    ),
    "postgres": re.compile(
        r"pg_read_\w+|pg_ls_\w+|pg_stat_file|pg_file_\w+|lo_\w+|loread|lowrite|dblink\w*|set_config"
        r"|pg_terminate_backend|pg_cancel_backend|pg_reload_conf|pg_rotate_logfile|pg_notify"
        r"|pg_(try_)?advisory_\w+|(query|table|schema|database|cursor)_to_xml\w*|pg_export_snapshot"
        r"|pg_create_\w+|pg_drop_\w+|pg_switch_wal|pg_log_\w+|pg_import_\w+"
    ),
    "mysql": re.compile(
        r"load_file|benchmark|get_lock|release_lock|release_all_locks|is_free_lock|is_used_lock"
        r"|master_\w+_wait|source_pos_wait|wait_for_\w+|sys_exec|sys_eval"
    ),
}
_FILES = frozenset((("INTO", "OUTFILE"), ("INTO", "DUMPFILE"), ("DATA", "INFILE")))


_SERVERS = frozenset(("postgres", "mysql"))
#: Of one statement: a third of a second to look through, and far more than a model writes.
MAX_SQL_CHARACTERS = 100_000


class ScriptInspection(Record, frozen=True):
    """What the words of a script say. `statements` is None where it has no tokens to count.

    `refusal` is the reason why it is not run, "" where nothing speaks against it.
    """

    statements: int | None
    refusal: str = ""


@lru_cache(maxsize=1024)
def inspect_script(script: str, dialect: str) -> ScriptInspection:
    """Look through all statements of a script; `dialect` is the name of an engine."""
    if dialect in _SERVERS:
        return _inspect_for_server(script, dialect)
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(script)
    except TokenError:
        return ScriptInspection(statements=None)
    statements = _split_tokens(tokens)
    refusals = (_find_refusal(statement, dialect) for statement in statements)
    return ScriptInspection(
        statements=_count_statements(statements),
        refusal=next((reason for reason in refusals if reason), ""),
    )


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


def _split_tokens(tokens: list[Token]) -> list[list[Token]]:
    statements: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            statements.append([])
        else:
            statements[-1].append(token)
    return [statement for statement in statements if statement]


def _count_statements(statements: list[list[Token]]) -> int:
    """Statements, where the body of a trigger (BEGIN ...; END) belongs to its CREATE."""
    if statements and _list_words(statements[0])[:1] == ["CREATE"]:
        words = _list_words(statements[0])
        if "TRIGGER" in words[:4] and _list_words(statements[-1]) == ["END"]:
            return 1
    return len(statements)


def _list_words(statement: list[Token]) -> list[str]:
    return [token.text.upper() for token in statement if token.token_type != TokenType.L_PAREN]


def _find_refusal(statement: list[Token], dialect: str) -> str:
    words = _list_words(statement)
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


def _inspect_for_server(script: str, dialect: str) -> ScriptInspection:
    statements = split_script(script, dialect)
    if statements is None:
        return ScriptInspection(statements=None)
    refusals = (_find_server_refusal(statement, dialect) for statement in statements)
    return ScriptInspection(
        statements=len(statements), refusal=next((reason for reason in refusals if reason), "")
    )


def _find_server_refusal(statement: Statement, dialect: str) -> str:
    words, first = statement.words, statement.first_word
    if first not in _ALLOWED[dialect]:
        return f"{first or 'empty'} statements are not run"
    if first == "SET" and not _is_user_variable_set(words):
        return "SET of anything but a user variable is not run"
    if first in ("CREATE", "ALTER", "DROP"):
        kind = next((word for word in words[1:] if word not in _MODIFIERS), "")
        if kind in _REFUSED_OF_SERVERS or (kind == "SCHEMA" and dialect == "mysql"):
            return f"{first} {kind} is not run"
    if _FILES.intersection(pairwise(words)):
        return "reading and writing files is not run"
    if any(comment.startswith(("!", "M!")) for comment in statement.comments):
        return "executable comments are not run"
    for name in _iter_called_functions(statement, dialect):
        if _REFUSED_FUNCTIONS[dialect].fullmatch(name):
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
