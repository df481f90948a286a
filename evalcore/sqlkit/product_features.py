"""What a version of a database product lacks, and what the engine standing in for it lacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from evalcore.i18n import Note
from evalcore.records import Record
from evalcore.sqlkit.schema import read_schema

# What a stated version of a server does not have yet, told from the parse tree.
# The engine that executes here is newer than many servers that cases name, so what it accepts may
# be unknown there. Sources: the release notes of PostgreSQL 8.4 to 15 and the reference manuals
# of MySQL 5.7 and 8.0, the tagged sources of openGauss 5.0 to 7.0. Other products that only share a
# kernel are not gated: they add features of their own.

Version = tuple[int, ...]


class Feature(Record, frozen=True):
    """A construct, the version since which a server has it, and how it is seen in a tree."""

    title: str
    since: Version
    seen: Callable[[exp.Expr], bool]


def _match_nodes(*kinds: type[exp.Expr]) -> Callable[[exp.Expr], bool]:
    return lambda tree: tree.find(*kinds) is not None


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
    "openGauss": (Feature("LATERAL", (7,), _match_nodes(exp.Lateral)),),
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
                "version_gate", title=f"{title} {version}", feature=feature.title, since=since
            )
    return ""


# What the engine that stands in for a product accepts and the product refuses.
# Sources: the reference manuals of MySQL 8.0, TiDB 8, OceanBase 4, openGauss 5; MariaDB 10.11.

_MARIADB_FUNCTIONS = frozenset(
    "NVL NVL2 DECODE_ORACLE ADD_MONTHS TO_CHAR TO_DATE CHR LENGTHB SUBSTRB MEDIAN "  # noqa: SIM905
    "PERCENTILE_CONT PERCENTILE_DISC NEXTVAL LASTVAL SETVAL JSON_DETAILED JSON_COMPACT JSON_LOOSE "
    "JSON_EXISTS JSON_QUERY JSON_EQUALS JSON_NORMALIZE SFORMAT NATURAL_SORT_KEY SYS_GUID ROWNUM "
    "CRC32C COLUMN_GET COLUMN_CREATE COLUMN_JSON".split()
)
#: Syntax of MariaDB alone, by how the words of a statement show it; texts are left out of them.
_MARIADB_SYNTAX = {
    "RETURNING": r"\A(?:INSERT|REPLACE|DELETE)\b(?:(?!\bJSON_VALUE\b).)*\bRETURNING\b",
    "sequences": r"\b(?:CREATE|ALTER|DROP)\b.*?\bSEQUENCE\b|\b(?:NEXT|PREVIOUS) VALUE FOR\b",
    "CREATE OR REPLACE TABLE": r"\ACREATE OR REPLACE (?:TEMPORARY )?(?:TABLE|UNIQUE|INDEX)\b",
    "CREATE INDEX IF NOT EXISTS": r"\ACREATE (?:UNIQUE )?INDEX IF NOT EXISTS\b",
    "ALTER with IF EXISTS": r"\AALTER TABLE (?!IF EXISTS).*\bIF (?:NOT )?EXISTS\b|"
    r"\AALTER TABLE IF EXISTS\b",
    "FETCH FIRST": r"\bFETCH (?:FIRST|NEXT)\b",
    "VALUES without ROW": r"(?:\A|(?<=[(]) ?|\bUNION (?:ALL )?|\bFROM \( ?)VALUES \(",
    "BEGIN NOT ATOMIC": r"\ABEGIN NOT ATOMIC\b",
    "EXECUTE IMMEDIATE": r"\AEXECUTE IMMEDIATE\b",
    "system versions": r"\bFOR SYSTEM_TIME\b|\bWITH SYSTEM VERSIONING\b",
}
#: What MySQL and all after it refuse, beside a feature that only they have.
_MYSQL_REFUSED = {"DECLARE outside of a procedure": r"\ADECLARE\b"}
#: What TiDB does not have, by its own list.
_TIDB_SYNTAX = {
    "stored procedures and functions": r"\ACREATE (?:DEFINER \S+ )?"
    r"(?:PROCEDURE|FUNCTION|TRIGGER|EVENT)\b",
    "CREATE TABLE AS SELECT": r"\ACREATE (?:TEMPORARY )?TABLE\b.*\b(?:AS|\)) \(?SELECT\b",
    "FULLTEXT": r"\bMATCH \(.*\bAGAINST\b|\bFULLTEXT\b",
}
#: What PostgreSQL has and neither Oracle nor OceanBase's mode after it.
_ORACLE_LACKS = {
    "LIMIT": r"\bLIMIT (?:\d+|ALL|\?)(?= |\Z)",
    "::": r" :: ",
    "ILIKE": r"\bILIKE\b",
    "DISTINCT ON": r"\bDISTINCT ON \(",
    "FILTER": r"\) FILTER \( WHERE\b",
}
_POSTGRES_FUNCTIONS = frozenset(
    "GENERATE_SERIES STRING_AGG ARRAY_AGG SPLIT_PART DATE_TRUNC DATE_PART AGE".split()  # noqa: SIM905
)
#: The kernel of openGauss and GaussDB is PostgreSQL 9.2; these came later and were not added.
_GAUSS_SYNTAX = {
    "ON CONFLICT": r"\bON CONFLICT\b",
    "identity columns": r"\bGENERATED (?:ALWAYS|BY DEFAULT) AS IDENTITY\b",
    "WITH TIES": r"\bWITH TIES\b",
}
#: What the sources of openGauss (5.0 to 6.0) define nowhere, and GaussDB may have.
_OPENGAUSS_SYNTAX = {"PIVOT": r"\b(?:UN)?PIVOT \((?:(?!\bSELECT\b).)*?\bFOR\b.*?\bIN \("}
_OPENGAUSS_FUNCTIONS = frozenset(("MONTHS_BETWEEN", "NVL2", "LNNVL"))
_GAUSS_FUNCTIONS = frozenset("MAKE_DATE MAKE_TIMESTAMP DATE_BIN REGEXP_MATCH NUM_NULLS".split())  # noqa: SIM905
_REFUSED: dict[str, tuple[str, frozenset[str], dict[str, str]]] = {
    **dict.fromkeys(("MySQL", "PolarDB for MySQL"), ("mysql", _MARIADB_FUNCTIONS, _MARIADB_SYNTAX)),
    "TiDB": (
        "mysql",
        _MARIADB_FUNCTIONS - {"NEXTVAL", "LASTVAL", "SETVAL"},
        {k: v for k, v in _MARIADB_SYNTAX.items() if k != "sequences"} | _TIDB_SYNTAX,
    ),
    "OceanBase (MySQL mode)": (
        "mysql",
        _MARIADB_FUNCTIONS - {"NVL", "NEXTVAL"},
        {k: v for k, v in _MARIADB_SYNTAX.items() if k not in ("sequences", "FETCH FIRST")},
    ),
    "GaussDB": ("postgres", _GAUSS_FUNCTIONS, _GAUSS_SYNTAX),
    "OceanBase (Oracle mode)": ("oracle", _POSTGRES_FUNCTIONS | {"IFNULL"}, _ORACLE_LACKS),
    "DM": ("oracle", frozenset(("GENERATE_SERIES",)), {}),
    "openGauss": (
        "postgres",
        _GAUSS_FUNCTIONS | _OPENGAUSS_FUNCTIONS,
        _GAUSS_SYNTAX | _OPENGAUSS_SYNTAX,
    ),
}


def find_product_refusal(sql: str, title: str, schema: Sequence[str] = ()) -> str:
    """The construct of a statement that the engine accepts and the product `title` does not know,
    "" if there is none. A function that `schema` makes is known."""
    if title not in _REFUSED:
        return ""
    dialect, functions, syntax = _REFUSED[title]
    try:
        tokens = sqlglot.tokenize(sql, read=dialect)
    except (SqlglotError, RecursionError):
        return ""
    quoted = (TokenType.STRING, TokenType.IDENTIFIER, TokenType.HEREDOC_STRING)
    words = ["''" if t.token_type in quoted else str(t.text).upper() for t in tokens]
    for index, (word, follower) in enumerate(pairwise(words)):
        qualified = index > 0 and words[index - 1] == "."
        if follower != "(" or qualified or word not in functions:
            continue
        if not any(re.search(rf"\bFUNCTION\s+`?{word}\b", ddl, re.I) for ddl in schema):
            return Note("product_refuses", title=title, feature=word)
    text = " ".join(words)
    if dialect == "mysql":
        syntax = syntax | _MYSQL_REFUSED
    for feature, pattern in syntax.items():
        if feature == "VALUES without ROW" and "DUPLICATE" in words:
            continue  # where VALUES(c) is the value that a row brings
        if re.search(pattern, text, re.S):
            return Note("product_refuses", title=title, feature=feature)
    if "LATERAL" in words and dialect == "mysql" and _has_unconditional_outer_join(sql):
        return Note("product_refuses", title=title, feature="LEFT JOIN without ON")
    column = _find_ungrouped_column(sql, schema) if title in _FULL_GROUPS else ""
    return Note("product_refuses_column", title=title, column=column) if column else ""


def _has_unconditional_outer_join(sql: str) -> bool:
    """Whether a lateral table is joined by LEFT or RIGHT JOIN without ON, which MySQL demands."""
    try:
        tree = sqlglot.parse_one(sql, read="mysql")
    except (SqlglotError, RecursionError):
        return False
    return any(
        isinstance(join.this, exp.Lateral) and join.side and not join.args.get("on")
        for join in tree.find_all(exp.Join)
    )


def find_output_name_in_having(sql: str, schema: Sequence[str]) -> str:
    """A name that HAVING takes from the select list and no table has, "" if there is none: the
    products after PostgreSQL and Oracle know such names in ORDER BY and GROUP BY alone."""
    try:
        trees = [tree for tree in sqlglot.parse(sql, read="postgres") if tree]
    except (SqlglotError, RecursionError):
        return ""
    tables = read_schema(schema, "postgres").tables
    for select in (select for tree in trees for select in tree.find_all(exp.Select)):
        having, source = select.args.get("having"), select.args.get("from_")
        joined = [join.this for join in select.args.get("joins") or []]
        if having is None or source is None or having.find(exp.Select):
            continue
        if not all(isinstance(part, exp.Table) for part in (source.this, *joined)):
            continue
        outputs = {item.alias.lower() for item in select.selects if isinstance(item, exp.Alias)}
        for column in having.find_all(exp.Column):
            is_output = not column.table and column.name.lower() in outputs
            if is_output and not any(table.find_column(column.name) for table in tables):
                return str(column.name)
    return ""


#: Products that by default refuse a column with several values in a group (ONLY_FULL_GROUP_BY).
_FULL_GROUPS = ("MySQL", "PolarDB for MySQL", "TiDB")


def _find_ungrouped_column(sql: str, schema: Sequence[str]) -> str:
    """A selected column that may have several values in a group: of a query over one table,
    grouped by columns that hold no key of it and filtered by no equality, "" if there is none."""
    try:
        tree = sqlglot.parse_one(sql, read="mysql")
    except (SqlglotError, RecursionError):
        return ""
    tables = read_schema(schema, "mysql")
    for select in tree.find_all(exp.Select):
        source, group = select.args.get("from_"), select.args.get("group")
        if source is None or group is None or select.args.get("joins"):
            continue
        table = tables.find_table(source.this.name) if isinstance(source.this, exp.Table) else None
        where = select.args.get("where")
        if table is None or (where and where.find(exp.EQ, exp.In, exp.Is)):
            continue
        names = {part.name.lower() for part in group.expressions if isinstance(part, exp.Column)}
        if len(names) < len(group.expressions) or not all(map(table.find_column, names)):
            continue
        keys = ({name.lower() for name in key.columns} for key in table.keys)
        if any(key <= names for key in keys):
            continue
        for column in (c for item in select.selects for c in item.find_all(exp.Column)):
            inside = column.find_ancestor(exp.AggFunc, exp.AnyValue, exp.Select)
            is_grouped = inside is not select or column.name.lower() in names
            if not is_grouped and table.find_column(column.name):
                return column.name
    return ""


# What a database product has and the engine that stands in for it here lacks. A refusal by the
# stand-in says nothing of an answer that uses such a feature: it stays undecided until a real
# server runs it. Only a refusal that names the feature counts, in a statement that parses in the
# product's dialect, so that a misspelt word or an unknown column stays invalid. Sources: the
# reference manuals of MySQL 8.0 and openGauss; refusals by MariaDB 10.11 and PostgreSQL.

_MYSQL = ("MySQL", "PolarDB for MySQL", "TiDB", "OceanBase (MySQL mode)")
_GAUSS = ("openGauss", "GaussDB")
#: Products after Oracle, which turn values into the type that an operator or function takes.
_CASTING = (*_GAUSS, "KingbaseES", "DM", "OceanBase (Oracle mode)")
_ORACLE_FUNCTIONS = (
    "nvl|nvl2|decode|add_months|months_between|last_day|next_day|instr|to_number|sysdate"
    "|instrb|lengthb|substrb|rawtohex|hextoraw|bitand|systimestamp|listagg|regexp_like|rownum"
    "|regexp_count|regexp_instr|regexp_substr|to_clob|to_char|to_date|to_timestamp|lnnvl|nanvl"
    "|sys_guid|numtodsinterval|numtoyminterval|to_dsinterval|to_yminterval|wm_concat|remainder"
    "|ratio_to_report|userenv|sys_context|vsize|dump|median|ora_hash|sys_extract_utc|from_tz"
)
_DM_FUNCTIONS = (
    "ifnull|isnull|dateadd|datediff|datepart|datename|getdate|curdate|curtime|len|stuff|locate|space"
    "|group_concat|concat_ws|add_days|add_weeks|days_between|timestampadd|timestampdiff|weekday"
    "|year|month|day|hour|minute|second|week|quarter|dayofweek|dayofyear"
)
#: Functions that the product has, by how the refusal names them.
_FUNCTIONS = {
    **dict.fromkeys(
        _MYSQL,
        "any_value|grouping|regexp_like|bin_to_uuid|uuid_to_bin|is_uuid|json_schema_valid"
        "|json_storage_size|format_bytes|format_pico_time|icu_version|statement_digest",
    ),
    **dict.fromkeys(_CASTING, _ORACLE_FUNCTIONS),
    **dict.fromkeys(_GAUSS, f"{_ORACLE_FUNCTIONS}|group_concat"),
    "DM": f"{_ORACLE_FUNCTIONS}|{_DM_FUNCTIONS}",
}
_UNKNOWN_FUNCTION = r"(?:function|column)\s+[\"'`]?(?:\w+\.)?(?P<name>{names})\b"
#: Syntax that MySQL 8 has: how a statement shows it, and where MariaDB's message then points.
_MYSQL_SYNTAX = {
    "LATERAL": (r"\bLATERAL\s*\(", r"near '(?:LATERAL\b|\(\s*SELECT)"),
    "->>": (r"->>?\s*'", r"near '>"),
    "MEMBER OF": (r"\bMEMBER\s+OF\s*\(", r"near '(?:MEMBER\b|OF\b)"),
    "VALUES ROW": (r"\bVALUES\s+ROW\s*\(", r"near '(?:ROW\b|\()"),
    "a row alias": (r"\bVALUES\b.*\)\s*AS\s+\w+\s*ON\s+DUPLICATE\b", r"near '(?:AS\b|ON\b)"),
    "WITH before a change": (r"\A\s*WITH\b.*\b(?:DELETE|UPDATE)\b", r"near '(?:DELETE|UPDATE)\b"),
    "GROUPING": (r"\bGROUPING\s*\(", r"GROUPING|near '\("),
    "ROLLUP with ORDER BY": (r"\bROLLUP\b", r"CUBE/ROLLUP"),
    "arguments of REGEXP_*": (r"\bREGEXP_\w+\s*\(", r"parameter count .*'REGEXP_\w+'"),
    "types of CAST": (
        r"\bAS\s+(?:YEAR|FLOAT|REAL|JSON|POINT)\b",
        r"near '(?:YEAR|FLOAT|REAL|JSON|POINT)\b",
    ),
    "a named window": (r"\bOVER\s*\(\s*\w+\s+R", r"No order list in window specification"),
    "a feature": (r".", r"MariaDB doesn't yet support"),
}
#: Syntax that they have and PostgreSQL lacks, by how a statement shows it.
_ORACLE_SYNTAX = {
    "PIVOT": r"\b(?:UN)?PIVOT\s*\(",
    "INSERT ALL": r"\A\s*INSERT\s+(?:ALL|FIRST)\b",
    "MERGE with WHERE": r"\bMERGE\b.*\b(?:UPDATE\s+SET|INSERT)\b.*\bWHERE\b",
    "KEEP": r"\bKEEP\s*\(\s*DENSE_RANK\b",
    "MODEL": r"\bMODEL\b.*\bDIMENSION\s+BY\b",
    "ON DUPLICATE KEY": r"\bON\s+DUPLICATE\s+KEY\b",
    "CONNECT BY": r"\bCONNECT\s+BY\b",
    "PL/SQL": r"\A\s*(?:DECLARE|BEGIN|CREATE\b.{0,40}\b(?:PROCEDURE|FUNCTION|TRIGGER|PACKAGE))\b",
}
_DM_SYNTAX = {"TOP": r"\bSELECT\s+(?:DISTINCT\s+)?TOP\s+\(?\d"}
#: What PostgreSQL says where another product would turn a value into another type by itself.
_AT_CAST = (
    r"operator does not exist|recursive query .* column \d+ has type"
    r"|types .* cannot be matched|is of type .* but expression is of type"
    r"|function (?:\w+\.)?(?:substr|length|lpad|rpad|ltrim|rtrim|btrim|replace|upper|lower|instr"
    r"|concat|round|trunc|mod|ceil|floor|abs|power|greatest|least|sum|avg|to_char|to_date|to_number|translate"
    r"|add_months|months_between|last_day|next_day|string_agg|initcap|ascii|nullif)\("
)


#: What PostgreSQL names in `a MINUS SELECT b`, where it may take MINUS for an alias.
_AT_MINUS = r'syntax error at or near "(?:MINUS|SELECT|WITH|VALUES|TABLE|ALL|DISTINCT|\()"'
_OPERANDS = frozenset(
    (TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.TABLE, TokenType.L_PAREN)
)


def missing_feature(sql: str, title: str, message: str) -> str:
    """The feature of the product `title` over which its stand-in refused `sql` with `message`.

    "" where the refusal is about something else, and where the statement does not parse in the
    product's dialect.
    """
    if title not in _FUNCTIONS:
        return ""
    dialect = "mysql" if title in _MYSQL else "oracle" if "Oracle" in title else "postgres"
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
    if title in _CASTING and not feature:
        is_cast = re.search(_AT_CAST, message, re.I) and not _is_never_cast(text, message)
        feature = "implicit casts" if is_cast else ""
        if "syntax error" in message:
            shown = (_ORACLE_SYNTAX | (_DM_SYNTAX if title == "DM" else {})).items()
            feature = next((n for n, p in shown if re.search(p, text, re.I | re.S)), "")
    dialects = [dialect, *(["oracle"] if title in _CASTING else [])]
    dialects += ["mysql"] if feature == "ON DUPLICATE KEY" else []
    is_sql = any(_is_parsable(replace_minus(sql), name) for name in dialects)
    return feature if feature and is_sql else ""


#: No product turns an interval into a number, nor a text without digits.
_OF_INTERVAL = r"function (?:\w+\.)?(?:round|trunc|mod|ceil|floor|abs|power)\(interval"
_ADDED_TEXTS = r"operator does not exist: (?:text|character varying|unknown) \+ "
_LITERAL_ADDED = r"(?:\+\s*'[^'\d]+'(?!')|(?<!')'[^'\d]+'\s*\+)"


def _is_never_cast(text: str, message: str) -> bool:
    """Whether the value over which PostgreSQL refused a statement has no other type anywhere."""
    if re.search(_OF_INTERVAL, message, re.I):
        return True
    added = re.search(_ADDED_TEXTS, message, re.I) is not None
    return added and re.search(_LITERAL_ADDED, text) is not None


def _changes_its_own_name(text: str) -> bool:
    """Whether a statement changes what its WITH names, which MySQL refuses (error 1288)."""
    names = re.findall(r"\b(\w+)(?:\s*\([^()]*\))?\s+AS\s*\(", text, re.I)
    changed = re.findall(r"\b(?:DELETE\s+FROM|UPDATE)\s+(\w+)", text, re.I)
    return not {name.lower() for name in names}.isdisjoint(name.lower() for name in changed)


def replace_minus(sql: str, dialect: str = "postgres") -> str:
    """The statement with the set operator MINUS as the standard's EXCEPT, which it equals;
    an alias, a text or a comment of that word stays."""
    try:
        tokens = sqlglot.tokenize(sql, read=dialect)
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
