"""Clauses that products have and the engines standing in for them lack: the default of LAG and
LEAD, LIMIT with the offset first, qualified names of columns that are set, and recursive queries
that are not called so.

All are rewritten on tokens, so that the rest of a statement stays as it was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sqlglot import Token, TokenType

from evalcore.sqlkit.products.token_edits import (
    Edit,
    apply_edits,
    find_closing,
    fold_word,
    is_name,
    iter_calls,
    read_tokens,
    split_arguments,
)

#: The dialect that statements for MariaDB are read in.
MYSQL = "mysql"
_LIMIT_VALUES = frozenset((TokenType.NUMBER, TokenType.PLACEHOLDER))


def replace_offset_defaults(sql: str, _: Sequence[str] = ()) -> str:
    """`LAG(x, n, d) OVER w`, and LEAD, for MariaDB, which knows no default: `d` where a constant of
    that row is NULL, which it is beyond the partition alone."""
    before = len(sql) + 1
    while True:
        tokens = read_tokens(sql, MYSQL)
        index = next(
            (
                index
                for index, word in iter_calls(tokens)
                if word in ("LAG", "LEAD") and tokens[index].start < before
            ),
            -1,
        )
        if index < 0:
            return sql
        before = tokens[index].start
        closing = find_closing(tokens, index + 1)
        arguments = split_arguments(sql, tokens, index + 1, closing) if closing > 0 else []
        if len(arguments) != 3 or closing + 2 >= len(tokens):
            continue
        if fold_word(tokens[closing + 1]) != "OVER":
            continue
        is_open = tokens[closing + 2].token_type == TokenType.L_PAREN
        last = find_closing(tokens, closing + 2) if is_open else closing + 2
        if last < 0:
            continue
        name, window = (
            fold_word(tokens[index]),
            sql[tokens[closing + 1].start : tokens[last].end + 1],
        )
        value, count, default = arguments
        text = (
            f"IF({name}(1, {count}) {window} IS NULL, {default}, {name}({value}, {count}) {window})"
        )
        sql = f"{sql[:before]}{text}{sql[tokens[last].end + 1 :]}"


def replace_offset_limits(sql: str, dialect: str) -> str:
    """`LIMIT a, b` as `LIMIT b OFFSET a`."""
    tokens = read_tokens(sql, dialect)
    edits: list[Edit] = []
    for index, token in enumerate(tokens[:-3]):
        offset, comma, count = tokens[index + 1 : index + 4]
        has_offset = fold_word(token) == "LIMIT" and comma.token_type == TokenType.COMMA
        if has_offset and {offset.token_type, count.token_type} <= _LIMIT_VALUES:
            edits.append((offset.start, count.end + 1, f"{count.text} OFFSET {offset.text}"))
    return apply_edits(sql, edits)


def unqualify_set_columns(sql: str, dialect: str) -> str:
    """`SET d.title = x` as `SET title = x` in UPDATE and in the UPDATE of a MERGE."""
    tokens = read_tokens(sql, dialect)
    if not tokens or fold_word(tokens[0]) not in ("UPDATE", "MERGE", "WITH"):
        return sql
    edits = [
        (tokens[index].start, tokens[index + 2].start, "")
        for index in _iter_set_targets(tokens)
        if [token.token_type for token in tokens[index + 1 : index + 4 : 2]]
        == [TokenType.DOT, TokenType.EQ]
        and is_name(tokens[index])
    ]
    return apply_edits(sql, edits)


def _iter_set_targets(tokens: Sequence[Token]) -> Iterator[int]:
    """Where each assignment after SET begins."""
    depth, at = 0, -1
    for index, token in enumerate(tokens):
        depth += token.token_type == TokenType.L_PAREN
        depth -= token.token_type == TokenType.R_PAREN
        word = fold_word(token)
        if word == "SET":
            at = depth
            yield index + 1
        elif at == depth and token.token_type == TokenType.COMMA:
            yield index + 1
        elif depth < at or word in ("WHERE", "WHEN", "FROM", ";"):
            at = -1


def mark_recursive_queries(sql: str, dialect: str) -> str:
    """`WITH r (n) AS (... FROM r)`, which Oracle takes for recursive by itself, with RECURSIVE."""
    tokens = read_tokens(sql, dialect)
    edits = [
        (token.end + 1, token.end + 1, " RECURSIVE")
        for index, token in enumerate(tokens)
        if fold_word(token) == "WITH" and any(_iter_self_references(tokens, index + 1))
    ]
    return apply_edits(sql, edits)


def _iter_self_references(tokens: Sequence[Token], index: int) -> Iterator[bool]:
    """Of each query of a WITH whether it reads from itself; nothing for any other WITH."""
    while index + 2 < len(tokens) and is_name(tokens[index]):
        name, opening = tokens[index].text.lower(), index + 1
        if tokens[opening].token_type == TokenType.L_PAREN:  # names of columns
            opening = find_closing(tokens, opening) + 1
        if not 0 < opening < len(tokens) - 1 or fold_word(tokens[opening]) != "AS":
            return
        closing = find_closing(tokens, opening + 1)
        yield any(
            token.text.lower() == name and fold_word(before) in ("FROM", "JOIN", ",")
            for before, token in pairwise(tokens[opening:closing])
        )
        if closing < 0 or fold_word(tokens[min(closing + 1, len(tokens) - 1)]) != ",":
            return
        index = closing + 2
