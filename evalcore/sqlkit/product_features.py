"""What a version of a database product lacks, and what the engine standing in for it lacks."""

from __future__ import annotations

import re
from collections.abc import Callable

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from evalcore import settings
from evalcore.i18n import Note
from evalcore.records import Record

# What a stated version of a server does not have yet, told from the parse tree.
# The engine that executes here is newer than many servers that cases name, so what it accepts may
# be unknown there. Sources: the release notes of PostgreSQL 8.4 to 15 and the reference manuals
# of MySQL 5.7 and 8.0. Products that only share a kernel are not gated: they add features of
# their own.

Version = tuple[int, ...]


class Feature(Record, frozen=True):
    """A construct, the version since which a server has it, and how it is seen in a tree."""

    title: str
    since: Version
    seen: Callable[[exp.Expr], bool]


def _match_nodes(*kinds: type[exp.Expr]) -> Callable[[exp.Expr], bool]:
    return lambda tree: tree.find(*kinds) is not None


def _match_function(*names: str) -> Callable[[exp.Expr], bool]:
    lowered_names = {name.lower() for name in names}
    return lambda tree: any(
        node.name.lower() in lowered_names for node in tree.find_all(exp.Anonymous)
    )


def _match_argument(kind: type[exp.Expr], name: str) -> Callable[[exp.Expr], bool]:
    return lambda tree: any(node.args.get(name) for node in tree.find_all(kind))


def _is_recursive(tree: exp.Expr) -> bool:
    return any(node.args.get("recursive") for node in tree.find_all(exp.With))


def _match_create_kind(kind: str) -> Callable[[exp.Expr], bool]:
    return lambda tree: any(node.args.get("kind") == kind for node in tree.find_all(exp.Create))


_FEATURES: dict[str, tuple[Feature, ...]] = {
    "PostgreSQL": (
        Feature("LATERAL", (9, 3), _match_nodes(exp.Lateral)),
        Feature("FILTER", (9, 4), _match_nodes(exp.Filter)),
        Feature("WITHIN GROUP", (9, 4), _match_nodes(exp.WithinGroup)),
        Feature("ON CONFLICT", (9, 5), _match_nodes(exp.OnConflict)),
        Feature("GROUPING SETS", (9, 5), _match_nodes(exp.Cube, exp.Rollup, exp.GroupingSets)),
        Feature("identity columns", (10,), _match_nodes(exp.GeneratedAsIdentityColumnConstraint)),
        Feature("CREATE PROCEDURE", (11,), _match_create_kind("PROCEDURE")),
        Feature("generated columns", (12,), _match_nodes(exp.ComputedColumnConstraint)),
        Feature("MERGE", (15,), _match_nodes(exp.Merge)),
        Feature("FETCH WITH TIES", (13,), lambda tree: "WITH TIES" in tree.sql("postgres")),
    ),
    "MySQL": (
        Feature("common table expressions", (8,), _match_nodes(exp.With)),
        Feature("window functions", (8,), _match_nodes(exp.Window)),
        Feature("LATERAL", (8, 0, 14), _match_nodes(exp.Lateral)),
        Feature("recursive queries", (8,), _is_recursive),
        Feature("INTERSECT and EXCEPT", (8, 0, 31), _match_nodes(exp.Intersect, exp.Except)),
        Feature("REGEXP_REPLACE", (8,), _match_nodes(exp.RegexpReplace)),
    ),
}


def find_unsupported_feature(sql: str, dialect: str, title: str, version: str) -> str:
    """The first construct in `sql` that the server does not have at that version, else "".

    A version counts as far as it is stated: 8.0 may be any release of 8.0. Nothing is said of a
    server without a version or a text that does not parse.
    """
    stated = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
    if not stated or title not in _FEATURES:
        return ""
    try:
        trees = [tree for tree in sqlglot.parse(sql, read=dialect) if tree]
    except (sqlglot.errors.SqlglotError, RecursionError):
        return ""
    for feature in _FEATURES[title]:
        if stated < feature.since[: len(stated)] and any(feature.seen(tree) for tree in trees):
            since = ".".join(map(str, feature.since))
            return Note(
                "version_gate",
                title=f"{title} {version}",
                feature=feature.title,
                since=since,
            )
    return ""


# What a database product has and the engine that stands in for it here lacks.
# A refusal by the stand-in says nothing of an answer that uses such a feature: it stays undecided
# until a real server runs it. Only a refusal that names the feature counts, in a statement that
# parses in the product's dialect, so that a misspelt word or an unknown column stays invalid.
# Sources: the reference manuals of MySQL 8.0 and openGauss; refusals by MariaDB 10.11 and
# PostgreSQL.

_MYSQL = ("MySQL", "OceanBase (MySQL mode)")
_GAUSS = ("openGauss", "GaussDB")
#: Functions that the product has, by how the refusal names them.
_FUNCTIONS = {
    **dict.fromkeys(_MYSQL, "any_value|grouping|regexp_like|bin_to_uuid|uuid_to_bin"),
    **dict.fromkeys(
        _GAUSS,
        "nvl|nvl2|decode|add_months|months_between|last_day|next_day|instr|to_number|sysdate"
        "|instrb|lengthb|substrb|rawtohex|bitand|systimestamp|listagg|regexp_like|rownum",
    ),
}
_UNKNOWN_FUNCTION = r"(?:function|column)\s+[\"'`]?(?:\w+\.)?(?P<name>{names})\b"
#: Syntax that MySQL 8 has: how a statement shows it, and where MariaDB's message then points.
_MYSQL_SYNTAX = {
    "LATERAL": (r"\bLATERAL\s*\(", r"near '(?:LATERAL\b|\(\s*SELECT)"),
    "->>": (r"->>?\s*'", r"near '>"),
    "MEMBER OF": (r"\bMEMBER\s+OF\s*\(", r"near '(?:MEMBER\b|OF\b)"),
    "VALUES ROW": (r"\bVALUES\s+ROW\s*\(", r"near '(?:ROW\b|\()"),
    "a row alias": (r"\bVALUES\b.*\)\s*AS\s+\w+\s*ON\s+DUPLICATE\b", r"near '(?:AS\b|ON\b)"),
    "TABLE": (r"(?:\A|[(;]|\bUNION\b(?:\s+ALL)?)\s*TABLE\s+\w+", r"near '(?:TABLE\b|\w+)"),
    "WITH before a change": (r"\A\s*WITH\b.*\b(?:DELETE|UPDATE)\b", r"near '(?:DELETE|UPDATE)\b"),
    "GROUPING": (r"\bGROUPING\s*\(", r"GROUPING|near '\("),
}


#: What PostgreSQL names in `a MINUS SELECT b`, where it may take MINUS for an alias.
_AT_MINUS = r'syntax error at or near "(?:MINUS|SELECT|WITH|VALUES|TABLE|ALL|DISTINCT|\()"'
_OPERANDS = frozenset(
    (TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.TABLE, TokenType.L_PAREN)
)


def missing_feature(sql: str, title: str, message: str) -> str:
    """The feature of the product `title` over which its stand-in refused `sql` with `message`.

    "" where the refusal is about something else, where the statement does not parse in the
    product's dialect, and where a server of one's own runs it.
    """
    own, dialect = settings.load_settings(), "mysql" if title in _MYSQL else "postgres"
    if title not in _FUNCTIONS or (own.mysql_dsn if title in _MYSQL else own.postgres_dsn):
        return ""
    text = re.sub(r"--[^\n]*|/\*.*?(?:\*/|\Z)", " ", sql[:100_000], flags=re.S)
    named = re.search(_UNKNOWN_FUNCTION.format(names=_FUNCTIONS[title]), message, re.I)
    feature = named["name"].upper() if named else ""
    if title in _MYSQL and not feature:
        feature = next(
            (
                name
                for name, (shown, refused) in _MYSQL_SYNTAX.items()
                if re.search(refused, message, re.I) and re.search(shown, text, re.I | re.S)
            ),
            "",
        )
        if feature == "WITH before a change" and _changes_its_own_name(text):
            return ""
    if title in _GAUSS and not feature and re.search(_AT_MINUS, message, re.I):
        feature = "MINUS" if replace_minus(sql) != sql else ""
    return feature if feature and _is_parsable(replace_minus(sql), dialect) else ""


def _changes_its_own_name(text: str) -> bool:
    """Whether a statement changes what its WITH names, which MySQL refuses (error 1288)."""
    names = re.findall(r"\b(\w+)(?:\s*\([^()]*\))?\s+AS\s*\(", text, re.I)
    changed = re.findall(r"\b(?:DELETE\s+FROM|UPDATE)\s+(\w+)", text, re.I)
    return not {name.lower() for name in names}.isdisjoint(name.lower() for name in changed)


def replace_minus(sql: str) -> str:
    """The statement with openGauss's set operator MINUS as the standard's EXCEPT, which it equals;
    an alias, a text or a comment of that word stays."""
    try:
        tokens = sqlglot.tokenize(sql, read="postgres")
    except SqlglotError:
        return sql
    for position in range(len(tokens) - 2, 0, -1):
        token, follower = tokens[position], tokens[position + 1]
        if follower.token_type in (TokenType.ALL, TokenType.DISTINCT):
            follower = tokens[min(position + 2, len(tokens) - 1)]
        bare = token.token_type == TokenType.VAR and token.text.upper() == "MINUS"
        if bare and follower.token_type in _OPERANDS:
            sql = f"{sql[: token.start]}EXCEPT{sql[token.end + 1 :]}"
    return sql


def _is_parsable(sql: str, dialect: str) -> bool:
    try:
        return any(sqlglot.parse(sql, read=dialect))
    except (SqlglotError, RecursionError):
        return False
