"""What MySQL 8 has and MariaDB lacks, said in MariaDB's words where that means the same.

Each rewriting is exact: what it cannot say exactly raises `Untranslatable`. ANY_VALUE leaves the
choice of a value to the server, so that a statement with it has several readings, of which each
must do what is asked. Sources: the reference manual of MySQL 8.0, runs on MariaDB 10.11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from evalcore.sqlkit.products.clauses import MYSQL, replace_offset_defaults
from evalcore.sqlkit.products.json_comparisons import replace_json_comparisons
from evalcore.sqlkit.products.rollup_and_lateral import rewrite_queries
from evalcore.sqlkit.products.token_edits import (
    Edit,
    Untranslatable,
    apply_edits,
    find_closing,
    find_opening,
    fold_word,
    is_name,
    iter_calls,
    read_tokens,
    rewrite_calls,
    split_arguments,
)

_COMPARISONS = frozenset(
    (
        TokenType.EQ,
        TokenType.NEQ,
        TokenType.LT,
        TokenType.GT,
        TokenType.LTE,
        TokenType.GTE,
        TokenType.IS,
    )
)
#: Where a query may begin, so that TABLE there is one.
_BEFORE_QUERY = frozenset(("", "(", "UNION", "ALL", "DISTINCT", "EXCEPT", "INTERSECT", "AS"))


def translate_for_mariadb(
    sql: str, schema: Sequence[str], uncertain: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    """The readings of a MySQL 8 statement in MariaDB, the statement itself where it needs nothing.

    `schema` is the DDL of its tables, `uncertain` names features that are not translated. Raises
    Untranslatable, which names the feature.
    """
    for feature, rewrite in _REWRITES.items():
        changed = rewrite(sql, schema)
        if changed != sql and feature in uncertain:
            raise Untranslatable(feature)
        sql = changed
    if "DECODE" in uncertain and any(
        word == "DECODE" for _, word in iter_calls(read_tokens(sql, MYSQL))
    ):
        raise Untranslatable("DECODE")
    _refuse_the_rest(sql)
    return _list_any_value_readings(sql)


def _replace_table_statements(sql: str, _: Sequence[str]) -> str:
    """`TABLE t` as `SELECT * FROM t`."""
    tokens = read_tokens(sql, MYSQL)
    edits: list[Edit] = []
    for index, token in enumerate(tokens[:-1]):
        if fold_word(token) != "TABLE" or not is_name(tokens[index + 1]):
            continue
        before = str(tokens[index - 1].text).upper() if index else ""
        inserted = fold_word(tokens[0]) in ("INSERT", "REPLACE") and (
            before == ")" or is_name(tokens[index - 1])
        )
        if before in _BEFORE_QUERY or inserted:
            edits.append((token.start, token.end + 1, "SELECT * FROM"))
    return apply_edits(sql, edits)


def _replace_value_rows(sql: str, _: Sequence[str]) -> str:
    """`VALUES ROW(1, 2)` as a SELECT of its columns, in an INSERT as `VALUES (1, 2)`."""
    while True:
        tokens = read_tokens(sql, MYSQL)
        start = next(
            (
                index
                for index in range(len(tokens) - 2, -1, -1)
                if fold_word(tokens[index]) == "VALUES" and fold_word(tokens[index + 1]) == "ROW"
            ),
            -1,
        )
        if start < 0:
            return sql
        rows, end = [], start + 1
        while end + 1 < len(tokens) and fold_word(tokens[end]) == "ROW":
            closing = find_closing(tokens, end + 1)
            if closing < 0:
                return sql
            rows.append(split_arguments(sql, tokens, end + 1, closing))
            end = closing + 1
            if end < len(tokens) and tokens[end].token_type == TokenType.COMMA:
                end += 1
        if not rows:
            return sql
        last = tokens[end - 1].end + 1
        in_insert = fold_word(tokens[0]) in ("INSERT", "REPLACE") and not any(
            token.token_type == TokenType.L_PAREN and find_closing(tokens, index) >= end
            for index, token in enumerate(tokens[:start])
        )
        text = (
            "VALUES " + ", ".join(f"({', '.join(row)})" for row in rows)
            if in_insert
            else _format_selected_rows(rows)
        )
        sql = f"{sql[: tokens[start].start]}{text}{sql[last:]}"


def _format_selected_rows(rows: list[list[str]]) -> str:
    first = ", ".join(f"{value} AS column_{number}" for number, value in enumerate(rows[0]))
    return " UNION ALL ".join(
        (f"SELECT {first}", *(f"SELECT {', '.join(row)}" for row in rows[1:]))
    )


def _replace_arrows(sql: str, _: Sequence[str]) -> str:
    """`c->'$.x'` and `c->>'$.x'` as calls. The first gives JSON, which MariaDB only compares as
    MySQL does where the comparison follows at once."""
    tokens = read_tokens(sql, MYSQL)
    edits: list[Edit] = []
    orders = any(fold_word(token) == "ORDER BY" for token in tokens)
    for index, token in enumerate(tokens):
        if token.token_type not in (TokenType.ARROW, TokenType.DARROW):
            continue
        if index + 1 == len(tokens) or tokens[index + 1].token_type != TokenType.STRING:
            continue  # MySQL refuses it too
        begin = index - 1
        while begin > 1 and tokens[begin - 1].token_type == TokenType.DOT:
            begin -= 2
        if begin < 0 or not is_name(tokens[begin]):
            continue
        follower = tokens[index + 2].token_type if index + 2 < len(tokens) else None
        plain = token.token_type == TokenType.ARROW
        if plain and orders and follower not in _COMPARISONS:
            raise Untranslatable("->")
        name = "JSON_EXTRACT" if plain else "JSON_UNQUOTE(JSON_EXTRACT"
        edits.append((tokens[begin].start, tokens[begin].start, f"{name}("))
        edits.append((token.start, token.end + 1, ", "))
        end = tokens[index + 1].end + 1
        edits.append((end, end, ")" if plain else "))"))
    return apply_edits(sql, edits)


def _replace_member_of(sql: str, _: Sequence[str]) -> str:
    """`x MEMBER OF (j)` by JSON_OVERLAPS, which looks at the elements of j and no deeper."""
    while True:
        tokens = read_tokens(sql, MYSQL)
        index = next(
            (n for n, token in enumerate(tokens) if token.token_type == TokenType.MEMBER_OF), -1
        )
        if index < 1 or index + 1 == len(tokens):
            return sql
        closing = find_closing(tokens, index + 1)
        begin = _find_operand(tokens, index - 1)
        if closing < 0 or begin < 0:
            raise Untranslatable("MEMBER OF")
        value = sql[tokens[begin].start : tokens[index - 1].end + 1]
        document = sql[tokens[index + 1].start : tokens[closing].end + 1]
        if re.match(r"CAST\s*\(", value, re.I):
            raise Untranslatable("MEMBER OF")
        text = f"IF({value} IS NULL, NULL, JSON_OVERLAPS({document}, JSON_ARRAY({value})))"
        sql = f"{sql[: tokens[begin].start]}{text}{sql[tokens[closing].end + 1 :]}"


def _find_operand(tokens: Sequence[Token], last: int) -> int:
    """Where a literal, a column or a call that ends at `last` begins, -1 for anything else."""
    begin = last
    if tokens[last].token_type == TokenType.R_PAREN:
        begin = find_opening(tokens, last)
        if begin > 0 and is_name(tokens[begin - 1]):
            begin -= 1
    elif tokens[last].token_type not in (TokenType.STRING, TokenType.NUMBER) and not is_name(
        tokens[last]
    ):
        return -1
    while begin > 1 and tokens[begin - 1].token_type == TokenType.DOT:
        begin -= 2
    return begin


_FLAGS = {"c": "(?-i)", "i": "(?i)", "m": "(?m)", "n": "(?s)"}


def _match_expression(arguments: list[str]) -> str | None:
    if len(arguments) not in (2, 3):
        return None
    subject, pattern, *rest = arguments
    flags = ""
    if rest:
        letters = re.fullmatch(r"'([cimn]*)'", rest[0])
        if letters is None:
            raise Untranslatable("REGEXP_LIKE")
        flags = "".join(map(_FLAGS.__getitem__, letters[1]))
    pattern = f"CONCAT('{flags}', {pattern})" if flags else f"({pattern})"
    return f"(({subject}) REGEXP {pattern})"


def _find_substring(arguments: list[str]) -> str | None:
    """MySQL gives NULL where nothing matches, MariaDB an empty text."""
    if len(arguments) < 2:
        return None
    if any(text != "1" for text in arguments[2:4]) or len(arguments) > 4:
        raise Untranslatable("REGEXP_SUBSTR")
    subject, pattern = arguments[:2]
    return f"IF(({subject}) REGEXP ({pattern}), REGEXP_SUBSTR({subject}, {pattern}), NULL)"


def _replace_expression(arguments: list[str]) -> str | None:
    """Groups are `$1` in MySQL and `\\1` in MariaDB."""
    if len(arguments) < 3:
        return None
    subject, pattern, replacement, *rest = arguments
    if rest not in ([], ["1"], ["1", "0"]):
        raise Untranslatable("REGEXP_REPLACE")
    if "$" in replacement:
        if not re.fullmatch(r"'[^'\\]*'", replacement):
            raise Untranslatable("REGEXP_REPLACE")
        replacement = re.sub(r"\$(\d)", r"\\\\\1", replacement)
    return f"REGEXP_REPLACE({subject}, {pattern}, {replacement})"


def _find_position(arguments: list[str]) -> str | None:
    if len(arguments) < 3:
        return None
    if any(text != "1" for text in arguments[2:4]) or arguments[4:] not in ([], ["0"]):
        raise Untranslatable("REGEXP_INSTR")
    return f"REGEXP_INSTR({arguments[0]}, {arguments[1]})"


def _replace_regular_expressions(sql: str, _: Sequence[str]) -> str:
    return rewrite_calls(
        sql,
        MYSQL,
        {
            "REGEXP_LIKE": _match_expression,
            "REGEXP_SUBSTR": _find_substring,
            "REGEXP_REPLACE": _replace_expression,
            "REGEXP_INSTR": _find_position,
        },
    )


def _replace_locking(sql: str, _: Sequence[str]) -> str:
    """FOR SHARE in its older words, and no OF, as one session alone looks at the tables."""
    sql = _sub_words(sql, ("FOR", "SHARE"), "LOCK IN SHARE MODE")
    tokens = read_tokens(sql, MYSQL)
    words = [fold_word(token) for token in tokens]
    for index in range(len(tokens) - 2):
        if words[index] == "OF" and words[index - 1] in ("UPDATE", "MODE"):
            end = index + 1
            while end + 2 < len(tokens) and tokens[end + 1].token_type == TokenType.COMMA:
                end += 2
            return sql[: tokens[index].start] + sql[tokens[end].end + 1 :]
    return sql


def _sub_words(sql: str, words: tuple[str, ...], text: str) -> str:
    tokens = read_tokens(sql, MYSQL)
    folded = [fold_word(token) for token in tokens]
    edits = [
        (tokens[index].start, tokens[index + len(words) - 1].end + 1, text)
        for index in range(len(tokens) - len(words) + 1)
        if tuple(folded[index : index + len(words)]) == words
    ]
    return apply_edits(sql, edits)


def _replace_column_lists(sql: str, _: Sequence[str]) -> str:
    """`(SELECT ...) AS d (x, y)` by a WITH inside, which may name the columns."""
    while True:
        tokens = read_tokens(sql, MYSQL)
        match = next(_iter_column_lists(tokens), None)
        if match is None:
            return sql
        opening, closing, name, last = match
        body = sql[tokens[opening].end + 1 : tokens[closing].start]
        alias = sql[tokens[name].start : tokens[name].end + 1]
        columns = sql[tokens[name + 1].start : tokens[last].end + 1]
        named = f"(WITH {alias}{columns} AS ({body}) SELECT * FROM {alias})"  # noqa: S608
        text = f"{named} AS {alias}"
        sql = f"{sql[: tokens[opening].start]}{text}{sql[tokens[last].end + 1 :]}"


def _iter_column_lists(tokens: Sequence[Token]) -> Iterator[tuple[int, int, int, int]]:
    """(opening, closing, alias, end) of each derived table with a list of column names."""
    for closing, token in enumerate(tokens):
        if token.token_type != TokenType.R_PAREN:
            continue
        name = closing + 1 + (closing + 1 < len(tokens) and fold_word(tokens[closing + 1]) == "AS")
        if name + 1 >= len(tokens) or not is_name(tokens[name]):
            continue
        opening = find_opening(tokens, closing)
        if opening < 1 or tokens[name + 1].token_type != TokenType.L_PAREN:
            continue
        before, first = fold_word(tokens[opening - 1]), fold_word(tokens[opening + 1])
        if before in ("FROM", "JOIN", ",") and first in ("SELECT", "WITH", "("):
            yield opening, closing, name, find_closing(tokens, name + 1)


def _move_with_into_tables(sql: str, _: Sequence[str]) -> str:
    """A WITH before UPDATE or DELETE into each place that names its tables."""
    tokens = read_tokens(sql, MYSQL)
    if not tokens or fold_word(tokens[0]) != "WITH":
        return sql
    depth = 0
    start = None
    for token in tokens:
        depth += token.token_type == TokenType.L_PAREN
        depth -= token.token_type == TokenType.R_PAREN
        if depth == 0 and fold_word(token) in ("SELECT", "UPDATE", "DELETE", "TABLE", "VALUES"):
            start = token
            break
    if start is None or fold_word(start) not in ("UPDATE", "DELETE"):
        return sql
    head = sql[: start.start].strip()
    try:
        tree = sqlglot.parse_one(sql, read=MYSQL)
    except (SqlglotError, RecursionError):
        raise Untranslatable("WITH before a change") from None
    names = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    edits: list[Edit] = []
    for table in tree.find_all(exp.Table):
        place = table.this.meta if isinstance(table.this, exp.Identifier) else {}
        if (
            table.name.lower() not in names
            or table.args.get("db")
            or place.get("start", 0) < start.start
        ):
            continue
        name = sql[place["start"] : place["end"] + 1]
        text = f"({head} SELECT * FROM {name})"  # noqa: S608 - what the answer itself says
        text += "" if table.alias else f" AS {name}"
        edits.append((place["start"], place["end"] + 1, text))
    if not edits:
        return sql[start.start :]
    changed = tree.this if isinstance(tree.this, exp.Table) else None
    if changed is not None and changed.name.lower() in names and not changed.args.get("joins"):
        return sql  # MySQL refuses to change what a WITH names
    return apply_edits(sql, edits)[start.start :]


def _replace_row_alias(sql: str, schema: Sequence[str]) -> str:
    """`VALUES (...) AS n ON DUPLICATE KEY UPDATE c = n.c` by VALUES(c)."""
    tokens = read_tokens(sql, MYSQL)
    words = [fold_word(token) for token in tokens]
    if not words or words[0] != "INSERT" or "DUPLICATE" not in words:
        return sql
    on = words.index("DUPLICATE") - 1
    depth_zero = _list_top_level(tokens)
    source = next((n for n in depth_zero if words[n] in ("VALUES", "VALUE", "SET", "SELECT")), -1)
    begin = next((n for n in depth_zero if source < n < on and words[n] == "AS"), -1)
    if source < 0 or words[source] == "SELECT" or begin < 0:
        return sql
    alias = str(tokens[begin + 1].text).lower()
    columns: dict[str, str] = {}
    if on - begin > 2:
        listed = split_arguments(sql, tokens, begin + 2, on - 1)
        targets = _list_insert_columns(sql, tokens, source)
        if len(listed) != len(targets):
            raise Untranslatable("a row alias")
        columns = {n.strip("`").lower(): t for n, t in zip(listed, targets, strict=True)}
    edits: list[Edit] = [(tokens[begin].start, tokens[on].start, "")]
    for index in range(on + 3, len(tokens)):
        token, text = tokens[index], str(tokens[index].text)
        dotted = tokens[index - 1].token_type == TokenType.DOT
        if not is_name(token):
            continue
        if dotted and str(tokens[index - 2].text).lower() == alias:
            column = columns.get(text.lower(), text if not columns else "")
            if not column:
                raise Untranslatable("a row alias")
            edits.append((tokens[index - 2].start, token.end + 1, f"VALUES({column})"))
        elif not dotted and text.lower() in columns and not _is_qualifier(tokens, index):
            edits.append((token.start, token.end + 1, f"VALUES({columns[text.lower()]})"))
    return apply_edits(sql, edits)


def _is_qualifier(tokens: Sequence[Token], index: int) -> bool:
    """Whether a name is followed by a dot, or is the column that an assignment sets."""
    follower = tokens[index + 1].token_type if index + 1 < len(tokens) else None
    before = tokens[index - 1]
    assigned = follower == TokenType.EQ and (
        before.token_type == TokenType.COMMA or fold_word(before) == "UPDATE"
    )
    return follower == TokenType.DOT or assigned


def _list_top_level(tokens: Sequence[Token]) -> list[int]:
    depth, indexes = 0, []
    for index, token in enumerate(tokens):
        depth += token.token_type == TokenType.L_PAREN
        if depth == 0:
            indexes.append(index)
        depth -= token.token_type == TokenType.R_PAREN
    return indexes


def _list_insert_columns(sql: str, tokens: Sequence[Token], source: int) -> list[str]:
    if tokens[source - 1].token_type != TokenType.R_PAREN:
        return []
    opening = find_opening(tokens, source - 1)
    return split_arguments(sql, tokens, opening, source - 1)


#: Features by name, in the order in which they are rewritten.
_REWRITES = {
    "the default of LAG": replace_offset_defaults,
    "TABLE": _replace_table_statements,
    "VALUES ROW": _replace_value_rows,
    "->": _replace_arrows,
    "a comparison of JSON": replace_json_comparisons,
    "MEMBER OF": _replace_member_of,
    "REGEXP_LIKE": _replace_regular_expressions,
    "FOR SHARE": _replace_locking,
    "a list of column names": _replace_column_lists,
    "WITH before a change": _move_with_into_tables,
    "a row alias": _replace_row_alias,
    "LATERAL": rewrite_queries,
}
#: What is left to a real server, by how it is seen in the words of a statement.
_LEFT = {
    "GROUPING": r"\bGROUPING\s*\(",
    "LATERAL": r"\bLATERAL\s*\(",
    "CAST AS JSON": r"\bAS\s+JSON\s*\)",
    "JSON_VALUE RETURNING": r"\bJSON_VALUE\s*\([^()]*\bRETURNING\b",
    "RANGE INTERVAL": r"\bRANGE\s+(?:BETWEEN\s+)?INTERVAL\b",
    "functional index": r"\b(?:INDEX|KEY)\b[^;]*?\(\s*\(",
    "UUID_TO_BIN": r"\bUUID_TO_BIN\s*\(",
    "BIN_TO_UUID": r"\bBIN_TO_UUID\s*\(",
    "JSON_SCHEMA_VALID": r"\bJSON_SCHEMA_VALID\s*\(",
}


def _refuse_the_rest(sql: str) -> None:
    """Raise Untranslatable for a feature that MariaDB is sure to refuse or to read otherwise."""
    tokens = read_tokens(sql, MYSQL)
    text = " ".join("''" if t.token_type == TokenType.STRING else str(t.text) for t in tokens)
    creates = bool(tokens) and fold_word(tokens[0]) in ("CREATE", "ALTER")
    for feature, pattern in _LEFT.items():
        if feature == "functional index" and not creates:
            continue
        if re.search(pattern, text, re.I):
            raise Untranslatable(feature)


def _list_any_value_readings(sql: str) -> tuple[str, ...]:
    """ANY_VALUE as each value that a group may give: any of its rows', the least, the greatest."""
    if not any(word == "ANY_VALUE" for _, word in iter_calls(read_tokens(sql, MYSQL))):
        return (sql,)
    try:
        calls = list(sqlglot.parse_one(sql, read=MYSQL).find_all(exp.AnyValue))
    except (SqlglotError, RecursionError):
        return (sql,)
    grouped = {_is_of_group(call) for call in calls}
    if len(grouped) > 1:
        raise Untranslatable("ANY_VALUE")
    return tuple(
        rewrite_calls(sql, MYSQL, {"ANY_VALUE": partial(_name_call, name)})
        for name in (("", "MIN", "MAX") if True in grouped else ("",))
    )


def _name_call(name: str, arguments: list[str]) -> str:
    return f"{name}({', '.join(arguments)})"


def _is_of_group(call: exp.Expr) -> bool:
    """Whether a call takes a value of a group of rows, not of a row or within an aggregate."""
    select = call.find_ancestor(exp.Select)
    above = call.find_ancestor(exp.AggFunc, exp.Window)
    if select is None or (above is not None and above.find_ancestor(exp.Select) is select):
        return False
    others = (agg for agg in select.find_all(exp.AggFunc) if not isinstance(agg, exp.AnyValue))
    return bool(select.args.get("group")) or any(
        agg.find_ancestor(exp.Select) is select and not isinstance(agg.parent, exp.Window)
        for agg in others
    )
