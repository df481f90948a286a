"""What a parser does with SQL without a database: check, classify, fold and rewrite it.

The parser is sqlglot, one dialect at a time. It reads more than most servers accept, so an
engine's `check_syntax` is the stronger word where there is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError, TokenError

from evalcore.records import Record
from evalcore.sqlkit.dialects import dialect_name

Class = tuple[str, str]

STATEMENT_TYPES: dict[str, str] = {
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
    **{name: name for name in STATEMENT_TYPES},
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
_COMMENT_OR_TEXT = re.compile(rf"'(?:[^']|'')*'|{_COMMENT.pattern}", re.DOTALL)
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

    sql_type is DML, DDL, DCL or TCL; statement_type a key of `STATEMENT_TYPES`. What the parser
    cannot read is classed by its first word. Raises UsageError for an unknown dialect.
    """
    try:
        tree = next((t for t in sqlglot.parse(sql, read=dialect_name(dialect)) if t), None)
    except (SqlglotError, RecursionError):
        tree = None
    kind = next((name for node, name in _BY_TREE if isinstance(tree, node)), "")
    kind = kind or _class_by_word(sql)
    return (STATEMENT_TYPES[kind], kind) if kind else None


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
        verbs = _VERBS_OF_WITH.findall(_COMMENT_OR_TEXT.sub(" ", sql))
        return next((verb.upper() for verb in verbs if verb.upper() != "SELECT"), "SELECT")
    return _BY_WORD.get(word, "")


def _first_word(sql: str) -> str:
    match = re.match(r"[\s(;]*([A-Za-z_]+)", _COMMENT.sub(" ", sql))
    return match[1].upper() if match else ""


# Turning statements into another dialect, and asking what they change (by sqlglot).

_CHANGES = (exp.Insert, exp.Update, exp.Delete, exp.Merge)
#: First words of what sqlglot may read as one of these ("": none shows), and what that holds.
_MAY_CHANGE = frozenset(("", "DEL", "DELETE", "INS", "INSERT", "MERGE", "UPD", "UPDATE", "WITH"))
_CHANGE = re.compile(r"(?i)\b(?:ins|upd|del|merge)")


def transpile_sql(sql: str, source: str, target: str) -> str:
    """Statements in another dialect; what sqlglot cannot read is passed on as it is."""
    if source == target:
        return sql
    try:
        return ";\n".join(sqlglot.transpile(sql, read=source, write=target))
    except (sqlglot.errors.SqlglotError, RecursionError):
        return sql


def find_changed_table(sql: str, dialect: str) -> str | None:
    """The table whose rows a statement changes, as qualified; None for a query or RETURNING."""
    if _first_word(sql) not in _MAY_CHANGE or not _CHANGE.search(sql):  # parsing is slow
        return None
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return None
    if not isinstance(tree, _CHANGES) or tree.args.get("returning"):
        return None
    table = tree.this if isinstance(tree.this, exp.Table) else tree.this.find(exp.Table)
    return ".".join(part.name for part in table.parts) if table is not None else None


class Definition(Record, frozen=True):
    """What a statement does to the tables and views that there are, each name folded: it creates
    one, which a query fills or not, drops some, and says the names of columns."""

    created: str = ""
    filled: bool = False
    dropped: frozenset[str] = frozenset()
    columns: frozenset[str] = frozenset()


@cache
def read_definition(sql: str, dialect: str) -> Definition:
    """What a CREATE, SELECT INTO, ALTER or DROP defines; nothing for any other statement."""
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except (SqlglotError, RecursionError):
        return Definition()
    if isinstance(tree, exp.Drop) and tree.kind in _RELATIONS:
        return Definition(
            dropped=frozenset(
                _fold_table_name(table, dialect) for table in tree.find_all(exp.Table)
            )
        )
    if isinstance(tree, exp.Alter):
        added = [node.name for node in tree.find_all(exp.ColumnDef)]
        renamed = [node.args["to"].name for node in tree.find_all(exp.RenameColumn)]
        columns = frozenset(map(str.lower, (*added, *renamed)))
        if (moved := tree.find(exp.AlterRename)) is not None:
            old = frozenset((_fold_table_name(tree.this, dialect),))
            return Definition(_fold_table_name(moved.this, dialect), True, old, columns)
        return Definition(columns=columns)
    into = tree.args.get("into") if isinstance(tree, exp.Select) else None
    table = (into or tree).find(exp.Table)
    if table is None or not (into or (isinstance(tree, exp.Create) and tree.kind in _RELATIONS)):
        return Definition()
    query = tree if into else tree.expression
    selects = query.selects if isinstance(query, exp.Query) else []
    names = [node.alias_or_name for node in selects if isinstance(node, exp.Alias | exp.Column)]
    if not into and isinstance(tree.this, exp.Schema):
        names = [node.name for node in tree.this.expressions]
    return Definition(
        created=_fold_table_name(table, dialect),
        filled=isinstance(query, exp.Query),
        columns=frozenset(name.lower() for name in names if name and name != "*"),
    )


_RELATIONS = ("TABLE", "VIEW")


def _fold_table_name(table: exp.Expr, dialect: str) -> str:
    if not isinstance(table, exp.Table):
        return ""
    quoted = len(table.parts) == 1 and table.this.args.get("quoted")
    if quoted and not re.fullmatch(r"[a-z_][a-z0-9_]*", table.name):
        return str(table.this.sql(dialect=dialect))
    return ".".join(part.name for part in table.parts).lower()


@cache
def has_order_by(sql: str, dialect: str) -> bool:
    """Whether the outermost query has an ORDER BY; a text that does not parse has none."""
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return False
    return isinstance(tree, exp.Query) and tree.args.get("order") is not None


@cache
def build_tie_breakers(
    sql: str, dialect: str, width: int, tables: tuple[tuple[str, tuple[str, ...]], ...] = ()
) -> tuple[str, ...]:
    """The query with every order made total in two opposite ways: its own by the output columns,
    that of ROW_NUMBER and its kin by the columns of their SELECT, a star by those of its one
    source, which may be one of `tables` (folded name, columns).

    Where both give what the query gives, ties decide nothing in it. Empty for a query that orders
    nothing, and for one that does not parse. Where the query takes ties in (WITH TIES), its own
    order is left as it is: a total one would cut them off.
    """
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return ()
    if not isinstance(tree, exp.Query):
        return ()
    ordered = tree.args.get("order") is not None and not _takes_ties_in(tree)
    if not ordered and tree.find(*_RANKING) is None:
        return ()
    # opposite for NULL, too; not every engine takes a word on where it stands
    nulls_are_small = sqlglot.Dialect.get_or_raise(dialect).NULL_ORDERING == "nulls_are_small"
    variants = []
    for descending in (False, True):
        arguments = {"desc": descending, "nulls_first": descending != nulls_are_small}
        variant = tree.copy()
        _break_ties_of_ranks(variant, arguments, dict(tables))
        if ordered:
            positions = (exp.Literal.number(n) for n in range(1, width + 1))
            variant.order_by(
                *(exp.Ordered(this=position, **arguments) for position in positions), copy=False
            )
        variants.append(variant.sql(dialect=dialect))
    return tuple(variants)


def _takes_ties_in(tree: exp.Query) -> bool:
    options = tree.args["limit"].args.get("limit_options") if tree.args.get("limit") else None
    return options is not None and bool(options.args.get("with_ties"))


_RANKING = (exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue)


def makes_one_choice(sql: str, dialect: str, column: str) -> bool:
    """Whether two rows that differ in one column can be put in order in one place of a query only,
    so that it has no more than two results: by one ranking or limit, over tables and CTEs that are
    each read once, with no list of that column."""
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return False
    sources = [table.name.lower() for table in tree.find_all(exp.Table)]
    if not isinstance(tree, exp.Query) or len(set(sources)) < len(sources):
        return False
    choices = sum(1 for _ in tree.find_all(*_RANKING, *_CUTTING))
    listed = (c.name.lower() for node in tree.find_all(*_LISTS) for c in node.find_all(exp.Column))
    return choices == 1 and column not in listed


#: What picks among rows, and what makes a list of them.
_CUTTING = (exp.Limit, exp.Fetch, exp.Offset, exp.AnyValue, exp.First, exp.Last)
_LISTS = (exp.GroupConcat, exp.ArrayAgg, exp.JSONArrayAgg, exp.JSONObjectAgg, exp.Anonymous)


def _break_ties_of_ranks(
    tree: exp.Query, arguments: Mapping[str, bool], tables: Mapping[str, tuple[str, ...]]
) -> None:
    ctes = {cte.alias.lower(): tuple(cte.this.named_selects) for cte in tree.find_all(exp.CTE)}
    for window in tree.find_all(exp.Window):
        order, select = window.args.get("order"), window.find_ancestor(exp.Select)
        if order is None or select is None or window.find(*_RANKING) is None:
            continue
        outputs = [part for part in select.selects if part.find(exp.Window) is None]
        columns = [
            column
            for part in outputs
            for column in part.find_all(exp.Column)
            if not isinstance(column.this, exp.Star) and column.find_ancestor(exp.Select) is select
        ]
        if any(part.is_star for part in outputs):
            columns += _list_source_columns(select, {**tables, **ctes})
        for column in columns:
            order.append("expressions", exp.Ordered(this=column.copy(), **arguments))


def _list_source_columns(
    select: exp.Select, named: Mapping[str, tuple[str, ...]]
) -> list[exp.Column]:
    """What a star stands for where all rows come from one table, CTE or query in FROM."""
    source = select.args["from_"].this if select.args.get("from_") else None
    if source is None or select.args.get("joins"):
        return []
    is_query = isinstance(source, exp.Subquery) and isinstance(source.this, exp.Query)
    names = source.this.named_selects if is_query else named.get(source.name.lower(), ())
    return [] if "*" in names else [exp.column(name) for name in names if name]


_CREATE_TABLE = re.compile(r"\bCREATE\s+TABLE\b", re.I)
_ENGINE = re.compile(r"\bENGINE\s*=\s*\w+", re.I)
_QUOTED_OR_BRACKET = re.compile(r"'(?:[^'\\]|\\.|'')*'|`[^`]*`|\"[^\"]*\"|[()]", re.S)


def use_aria_engine(ddl: str) -> str:
    """MariaDB's CREATE TABLEs on Aria, which keeps rows as they came, where InnoDB sorts by key."""
    text = _ENGINE.sub("", ddl)
    for create in reversed(list(_CREATE_TABLE.finditer(text))):
        end = _find_closing_bracket(text, create.end())
        text = f"{text[:end]} ENGINE=Aria{text[end:]}"
    return text


def _find_closing_bracket(text: str, start: int) -> int:
    """The place after the bracket that closes the first one from `start` on."""
    depth = 0
    for match in _QUOTED_OR_BRACKET.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if match[0] == ")" and depth == 0:
            return match.end()
    return len(text)


# Disguises of a statement that save nothing: the floors of whatever pays for a rewrite.

ROWS = 1_000  # of the limit that is added


def disguise_query(kind: str, sql: str, dialect: str) -> str:
    """The statement in a CTE (`cte`), with a limit where it has none (`limit`), or with a condition
    that always holds (`tautology`); as it is where it cannot be read.

    Raises KeyError for another kind.
    """
    change = {"cte": _in_cte, "limit": _with_limit, "tautology": _with_tautology}[kind]
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
        return change(tree).sql(dialect=dialect) if isinstance(tree, exp.Query) else sql
    except (SqlglotError, RecursionError, ValueError):
        return sql


def _in_cte(tree: exp.Query) -> exp.Query:
    return exp.select("*").from_("q").with_("q", as_=tree)


def _with_limit(tree: exp.Query) -> exp.Query:
    return tree if tree.args.get("limit") else tree.limit(ROWS)


def _with_tautology(tree: exp.Query) -> exp.Query:
    """In the first branch of a union."""
    branch: exp.Expr = tree
    while isinstance(branch, exp.SetOperation | exp.Subquery):
        branch = branch.this
    if isinstance(branch, exp.Select):
        branch.where("1 = 1", copy=False)
    return tree
