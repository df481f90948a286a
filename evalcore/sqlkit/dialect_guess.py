"""Which dialect pasted SQL is written in, and its statements with their lines.

A guess rests on what parses, by sqlglot, and on spellings that only some products have; it is for
a person to confirm and decides nothing by itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from evalcore.records import Record
from evalcore.sqlkit.dialects import TITLES, register_plugin_dialects

_PARSED_STATEMENTS = 40  # of a script, the first and the last
_PARSED_CHARS = 4_000  # of a statement
_PARSE_WEIGHT = 5.0
#: What hides a semicolon: comments, texts, quoted names, dollar-quoted bodies.
_HIDING = (
    r"--[^\n]*|^[ \t]*\#[^\n]*|/\*.*?(?:\*/|\Z)|{text}|\"(?:[^\"]|\"\")*(?:\"|\Z)"
    r"|`[^`]*(?:`|\Z)|(\$[A-Za-z_]*\$).*?(?:\1|\Z)|;"
)
_STANDARD_TEXT, _MYSQL_TEXT = r"'(?:[^']|'')*(?:'|\Z)", r"'(?:[^'\\]|''|\\.)*(?:'|\Z)"
_COMMENT = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z))*", re.DOTALL)
#: Spellings by dialect, each with how much it tells.
_MARKS: dict[str, tuple[tuple[str, float], ...]] = {
    "mysql": (
        (r"`\w+`", 2.0),
        (r"\bAUTO_INCREMENT\b|\bENGINE\s*=", 3.0),
        (r"\bUNSIGNED\b|\bTINYINT\b|\bMEDIUMTEXT\b|\bIFNULL\s*\(|\bGROUP_CONCAT\s*\(", 1.0),
        (r"\bDATE_FORMAT\s*\(|\bSTR_TO_DATE\s*\(|\bLIMIT\s+\d+\s*,", 1.5),
    ),
    "postgres": (
        (r"::\s*\w", 1.5),
        (r"\b(?:BIG|SMALL)?SERIAL\b|\bJSONB\b|\bTIMESTAMPTZ\b|\bBYTEA\b", 2.5),
        (r"\bILIKE\b|\bDISTINCT\s+ON\b|\bSTRING_AGG\s*\(|\bGENERATE_SERIES\s*\(", 1.0),
        (r"\$\$|\bPLPGSQL\b|\bON\s+CONFLICT\b.*\bEXCLUDED\b", 1.5),
    ),
    "sqlite": (
        (r"\bAUTOINCREMENT\b|\bWITHOUT\s+ROWID\b|\bPRAGMA\b", 3.0),
        (r"\bINTEGER\s+PRIMARY\s+KEY\b", 1.0),
        (r"\bSTRFTIME\s*\(\s*'|\bJULIANDAY\s*\(|\bDATETIME\s*\(\s*'now'", 1.5),
        (r"\bGROUP_CONCAT\s*\(|\bIFNULL\s*\(|\bGLOB\b", 0.5),
    ),
    "duckdb": (
        (r"\bQUALIFY\b|\bEXCLUDE\s*\(|\bLIST_\w+\s*\(|\bSTRUCT\s*\(|\bHUGEINT\b", 2.5),
        (r"\bREAD_(?:CSV|PARQUET)\w*\s*\(|\bASOF\s+JOIN\b|\bGROUP\s+BY\s+ALL\b", 2.5),
    ),
    "oracle": (
        (r"\bVARCHAR2\b|\bNUMBER\s*\(|\bNVL\s*\(|\bROWNUM\b|\bFROM\s+DUAL\b", 3.0),
        (r"\(\+\)|\bSYSDATE\b|\bCONNECT\s+BY\b|%TYPE\b|\bCLOB\b", 2.0),
    ),
    "tsql": (
        (r"\bSELECT\s+TOP\b|\bNVARCHAR\b|\bIDENTITY\s*\(|\bGETDATE\s*\(|\bDATETIME2\b", 3.0),
        (r"\[\w+\]|\bISNULL\s*\(|\bDATEADD\s*\(|^\s*GO\s*$", 2.0),
    ),
}


class ScriptStatement(Record, frozen=True):
    """A statement of a script, without its semicolon; `line` is where it begins, from 1."""

    line: int
    text: str


class DialectGuess(Record, frozen=True):
    """A dialect by internal name, and how sure that is, 0 to 1."""

    dialect: str
    confidence: float


def split_script(script: str, dialect: str = "") -> list[ScriptStatement]:
    """The statements of a script, for any dialect alike but for the backslash of MySQL; comments
    alone are none."""
    statements, start = [], 0
    text = _MYSQL_TEXT if dialect == "mysql" else _STANDARD_TEXT
    hiding = re.compile(_HIDING.replace("{text}", text), re.DOTALL | re.MULTILINE)
    ends = [match.start() for match in hiding.finditer(script) if match[0] == ";"]
    for end in (*ends, len(script)):
        head = _COMMENT.match(script, start, end)
        first = head.end() if head else start
        if body := script[first:end].strip():
            statements.append(ScriptStatement(script.count("\n", 0, first) + 1, body))
        start = end + 1
    return statements


def guess_dialects(statements: Sequence[str]) -> list[DialectGuess]:
    """The dialects that a script may be in, the likeliest first; all together are 1."""
    register_plugin_dialects()
    chosen = [text[:_PARSED_CHARS] for text in _pick_statements(statements)]
    script = "\n".join(statements)[: _PARSED_CHARS * _PARSED_STATEMENTS]
    scores = {
        name: _PARSE_WEIGHT * _measure_parsed_share(chosen, name) + _count_marks(script, name)
        for name in TITLES
    }
    most = max(scores.values())
    shares = {name: math.exp(score - most) for name, score in scores.items()}
    whole = math.fsum(shares.values())
    guesses = [DialectGuess(name, round(share / whole, 4)) for name, share in shares.items()]
    return sorted(guesses, key=lambda guess: -guess.confidence)


def _pick_statements(statements: Sequence[str]) -> list[str]:
    if len(statements) <= _PARSED_STATEMENTS:
        return list(statements)
    half = _PARSED_STATEMENTS // 2
    return [*statements[:half], *statements[-half:]]


def _measure_parsed_share(statements: Sequence[str], dialect: str) -> float:
    return sum(is_parsed(text, dialect) for text in statements) / max(len(statements), 1)


def is_parsed(text: str, dialect: str) -> bool:
    """Whether the parser of a dialect reads all of a statement."""
    try:
        trees = sqlglot.parse(text, read=dialect)
    except (SqlglotError, RecursionError, ValueError):
        return False
    return bool(trees) and not any(isinstance(tree, exp.Command) for tree in trees if tree)


def _count_marks(script: str, dialect: str) -> float:
    return math.fsum(
        weight
        for pattern, weight in _MARKS.get(dialect, ())
        if re.search(pattern, script, re.IGNORECASE | re.MULTILINE)
    )
