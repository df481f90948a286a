"""What Oracle and the products after its manner say, in PostgreSQL's words: types, names, calls.

What a function of the same arguments can do is left to those that `engines.postgres_shims` makes;
here is what needs other words. Hierarchies, ROWNUM and `(+)` are left to `trees`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from sqlglot import Token, TokenType

from evalcore.sqlkit.product_features import replace_minus
from evalcore.sqlkit.products.clauses import (
    mark_recursive_queries,
    replace_offset_limits,
    unqualify_set_columns,
)
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
from evalcore.sqlkit.products.trees import rewrite_trees

_TYPES = {
    "VARCHAR2": "varchar",
    "NVARCHAR2": "varchar",
    "NUMBER": "numeric",
    "CLOB": "text",
    "NCLOB": "text",
    "BLOB": "bytea",
    "RAW": "bytea",
    "BINARY_DOUBLE": "double precision",
    "BINARY_FLOAT": "real",
}
_SIZE_UNIT = re.compile(r"\(\s*(\d+)\s+(?:CHAR|BYTE)\s*\)", re.I)
#: Names without parentheses that are calls.
_CALLS_BY_NAME = {"SYSDATE": "sysdate()", "SYSTIMESTAMP": "systimestamp()"}
_SUBSTITUTES = "evalboard_functions"
#: Functions whose empty result is NULL where an empty text is.
_TEXTS = ("TRIM", "SUBSTRING")


def translate_for_postgres(
    sql: str,
    dialect: str,
    *,
    types: bool = False,
    empties: bool = False,
    dates: bool = False,
    tables: Sequence[str] = (),
    uncertain: frozenset[str] = frozenset(),
) -> str:
    """A statement or DDL for PostgreSQL with the schemas of `engines.postgres_shims` in its path.

    `types` translates the names of types, `empties` takes '' for NULL, `dates` gives dates a time
    of day. `tables` is the translated DDL, `uncertain` names functions that are not translated.
    Raises Untranslatable, which names the feature.
    """
    for _, word in iter_calls(read_tokens(sql, dialect)):
        if word in uncertain:
            raise Untranslatable(word)
    sql = _replace_words(sql, dialect, types=types, empties=empties, dates=dates)
    sql = _replace_calls(sql, dialect, empties=empties)
    sql = _replace_keep(sql, dialect)
    sql = _replace_listagg(sql, dialect)
    sql = replace_minus(sql)
    sql = unqualify_set_columns(replace_offset_limits(sql, dialect), dialect)
    sql = mark_recursive_queries(sql, dialect) if dialect == "oracle" else sql
    return rewrite_trees(sql, dialect, tables)


def _replace_words(sql: str, dialect: str, *, types: bool, empties: bool, dates: bool) -> str:
    tokens = read_tokens(sql, dialect)
    edits: list[Edit] = []
    for index, token in enumerate(tokens):
        word = fold_word(token)
        before = tokens[index - 1] if index else None
        after = tokens[index + 1] if index + 1 < len(tokens) else None
        is_member = before is not None and before.token_type == TokenType.DOT
        if empties and token.token_type == TokenType.STRING and not token.text:
            edits.append((token.start, token.end + 1, "NULL"))
        elif token.token_type == TokenType.RAW_STRING:
            quoted = str(token.text).replace("'", "''")
            edits.append((token.start, token.end + 1, f"'{quoted}'"))
        elif word in _CALLS_BY_NAME and not is_member:
            end = token.end + 1
            if after is not None and after.token_type == TokenType.L_PAREN:
                end = tokens[find_closing(tokens, index + 1)].end + 1
            edits.append((token.start, end, f"{_SUBSTITUTES}.{_CALLS_BY_NAME[word]}"))
        elif is_member and word in ("NEXTVAL", "CURRVAL") and index > 1:
            begin = _find_name_start(tokens, index - 2)
            name = sql[tokens[begin].start : tokens[index - 2].end + 1]
            edits.append((tokens[begin].start, token.end + 1, f"{word.lower()}('{name}')"))
        elif types and not is_member:
            edits += _edit_type(sql, tokens, index, dates=dates)
        if types and token.token_type == TokenType.IDENTIFIER and _is_folded_up(token):
            edits.append((token.start, token.end + 1, f'"{token.text.lower()}"'))
    if types and len(tokens) > 1 and fold_word(tokens[0]) == "DELETE" and is_name(tokens[1]):
        edits.append((tokens[0].start, tokens[0].end + 1, "DELETE FROM"))
    return apply_edits(sql, edits)


def _find_name_start(tokens: Sequence[Token], last: int) -> int:
    while last > 1 and tokens[last - 1].token_type == TokenType.DOT:
        last -= 2
    return last


def _is_folded_up(token: Token) -> bool:
    """Whether quotes change nothing for a server that folds names to upper case."""
    return re.fullmatch(r"[A-Z_][A-Z0-9_$#]*", str(token.text)) is not None


def _edit_type(sql: str, tokens: Sequence[Token], index: int, *, dates: bool) -> list[Edit]:
    word, edits = fold_word(tokens[index]), list[Edit]()
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    if word in _TYPES and not (index and fold_word(tokens[index - 1]) == "."):
        opens = after is not None and after.token_type == TokenType.L_PAREN
        closing = find_closing(tokens, index + 1) if opens else -1
        if word == "RAW" and closing > 0:
            return [(tokens[index].start, tokens[closing].end + 1, "bytea")]
        edits.append((tokens[index].start, tokens[index].end + 1, _TYPES[word]))
        if closing > 0 and after is not None:
            size = _SIZE_UNIT.fullmatch(sql[after.start : tokens[closing].end + 1])
            if size:
                edits.append((after.start, tokens[closing].end + 1, f"({size[1]})"))
    elif word == "DATE" and dates and (after is None or after.token_type != TokenType.L_PAREN):
        edits.append((tokens[index].start, tokens[index].end + 1, "timestamp(0)"))
    return edits


def _decode(arguments: list[str]) -> str | None:
    """DECODE, to which two NULLs are equal."""
    if len(arguments) < 3:
        return None
    subject, *rest = arguments
    pairs = zip(rest[0::2], rest[1::2], strict=False)
    whens = " ".join(
        f"WHEN {subject} IS NULL THEN {result}"
        if search.upper() == "NULL"
        else f"WHEN {subject} IS NOT DISTINCT FROM {search} THEN {result}"
        for search, result in pairs
    )
    other = f" ELSE {rest[-1]}" if len(rest) % 2 else ""
    return f"CASE {whens}{other} END"


def _nvl(arguments: list[str]) -> str | None:
    return f"COALESCE({', '.join(arguments)})" if len(arguments) == 2 else None


def _nvl2(arguments: list[str]) -> str | None:
    if len(arguments) != 3:
        return None
    return "CASE WHEN ({}) IS NOT NULL THEN {} ELSE {} END".format(*arguments)


def _choose_extreme(name: str, arguments: list[str]) -> str | None:
    """GREATEST and LEAST, which are NULL where an argument is; PostgreSQL passes that over."""
    absent = " OR ".join(f"({argument}) IS NULL" for argument in arguments)
    call = f"{name}({', '.join(arguments)})"
    return f"CASE WHEN {absent} THEN NULL ELSE {call} END" if arguments else None


def _lnnvl(arguments: list[str]) -> str | None:
    return f"(({arguments[0]}) IS NOT TRUE)" if len(arguments) == 1 else None


def _replace_calls(sql: str, dialect: str, *, empties: bool) -> str:
    rewriters = {"DECODE": _decode, "NVL": _nvl, "NVL2": _nvl2, "LNNVL": _lnnvl}
    if dialect == "oracle":
        rewriters |= {name: partial(_choose_extreme, name) for name in ("GREATEST", "LEAST")}
    if empties:
        for name in _TEXTS:
            rewriters[name] = lambda arguments, name=name: (  # type: ignore[misc]
                f"nullif({name}({', '.join(arguments)}), '')"
            )
    return rewrite_calls(sql, dialect, rewriters)


def _replace_keep(sql: str, dialect: str) -> str:
    """MAX(x) KEEP (DENSE_RANK LAST ORDER BY y), and MIN and FIRST, by the first element of a sorted
    array: of the rows that tie for y the greatest or least x comes first, NULLs last."""
    while True:
        tokens = read_tokens(sql, dialect)
        index = next((i for i, word in iter_calls(tokens) if word == "KEEP"), -1)
        words = [fold_word(token) for token in tokens[index + 2 : index + 7]]
        rank = [*" ".join(words).split()[:4], ""]
        if index < 1 or rank[0] != "DENSE_RANK":
            return sql
        opening, closing = find_opening(tokens, index - 1), find_closing(tokens, index + 1)
        follower = fold_word(tokens[closing + 1]) if closing + 1 < len(tokens) else ""
        name = fold_word(tokens[opening - 1]) if opening > 0 else ""
        order = next((i for i in range(index, closing) if fold_word(tokens[i]) == "ORDER BY"), -1)
        if name not in ("MAX", "MIN") or closing < 0 or order < 0 or follower == "OVER":
            raise Untranslatable("KEEP")
        value = sql[tokens[opening].end + 1 : tokens[index - 1].start].strip()
        keys = split_arguments(sql, tokens, order, closing)
        if rank[1] == "LAST":
            keys = [_reverse_order(key) for key in keys]
        keys.append(f"{value} {'DESC' if name == 'MAX' else 'ASC'} NULLS LAST")
        text = f"(array_agg({value} ORDER BY {', '.join(keys)}))[1]"
        sql = f"{sql[: tokens[opening - 1].start]}{text}{sql[tokens[closing].end + 1 :]}"


def _reverse_order(key: str) -> str:
    """A key of ORDER BY the other way round, NULLs as well; they come last unless descending."""
    parts = re.fullmatch(r"(.*?)(?:\s+(ASC|DESC))?(?:\s+NULLS\s+(FIRST|LAST))?", key, re.I | re.S)
    value, way, nulls = parts.groups() if parts else (key, None, None)
    descends = (way or "").upper() == "DESC"
    first = (nulls or ("FIRST" if descends else "LAST")).upper() == "FIRST"
    return f"{value} {'ASC' if descends else 'DESC'} NULLS {'LAST' if first else 'FIRST'}"


def _replace_listagg(sql: str, dialect: str) -> str:
    """LISTAGG(x, ',') WITHIN GROUP (ORDER BY y) by string_agg."""
    while True:
        tokens = read_tokens(sql, dialect)
        index = next((i for i, word in iter_calls(tokens) if word == "LISTAGG"), -1)
        if index < 0:
            return sql
        closing = find_closing(tokens, index + 1)
        words = [fold_word(token) for token in tokens[closing + 1 : closing + 5]]
        arguments = split_arguments(sql, tokens, index + 1, closing)
        if closing < 0 or words[:2] not in (["WITHIN", "GROUP"], ["WITHIN", "GROUP BY"]):
            order, end = "", closing
        else:
            end = find_closing(tokens, closing + 3)
            order = " " + sql[tokens[closing + 3].end + 1 : tokens[end].start].strip()
        if end + 1 < len(tokens) and fold_word(tokens[end + 1]) == "OVER":
            raise Untranslatable("LISTAGG OVER")
        if closing < 0 or not 1 <= len(arguments) <= 2:
            raise Untranslatable("LISTAGG")
        distinct = re.match(r"DISTINCT\s+", arguments[0], re.I)
        value = arguments[0][distinct.end() :] if distinct else arguments[0]
        if distinct and order:
            raise Untranslatable("LISTAGG")
        separator = arguments[1] if len(arguments) == 2 else "''"
        separator = f"coalesce({separator}, '')"
        text = f"string_agg({distinct[0] if distinct else ''}({value})::text, {separator}{order})"
        sql = f"{sql[: tokens[index].start]}{text}{sql[tokens[end].end + 1 :]}"


def nullify_empty_texts(sql: str, dialect: str) -> str:
    """A script of rows without texts of no characters."""
    return _replace_words(sql, dialect, types=False, empties=True, dates=False)
