"""Comparisons of JSON in MySQL 8, which look at the type of a value, in words of MariaDB, which
compares the text of it: to MySQL the JSON text "5" is not the number 5.

Source: the reference manual of MySQL 8.0, "Comparison and Ordering of JSON Values".
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import Token, TokenType

from evalcore.sqlkit.products.clauses import MYSQL
from evalcore.sqlkit.products.token_edits import (
    Edit,
    Untranslatable,
    apply_edits,
    find_closing,
    fold_word,
    iter_calls,
    read_tokens,
)

_FEATURE = "a comparison of JSON"
_EQUALITIES = {TokenType.EQ: "", TokenType.NEQ: "NOT "}
#: Comparisons by the order of types, or with more than one value.
_OTHERS = frozenset(
    (TokenType.LT, TokenType.GT, TokenType.LTE, TokenType.GTE, TokenType.IN, TokenType.BETWEEN)
)
_COMPARED = _OTHERS | _EQUALITIES.keys() | {TokenType.NULLSAFE_EQ}
#: What may stand after a comparison that ends with a literal.
_ENDS = frozenset(
    (
        *("FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "UNION", "ON", "AS", "JOIN"),
        *("LEFT", "RIGHT", "INNER", "CROSS", "AND", "OR", "XOR", "&&", "||", "THEN", "ELSE", "END"),
        *("WHEN", ")", ",", ";"),
    )
)
_NUMBERS = "'INTEGER', 'DOUBLE', 'DECIMAL', 'UNSIGNED INTEGER'"


def replace_json_comparisons(sql: str, _: Sequence[str]) -> str:
    """A JSON value compared with a literal as a question for its type too.

    Raises Untranslatable for what compares by the order of types, with lists or with other values.
    """
    tokens = read_tokens(sql, MYSQL)
    edits: list[Edit] = []
    for index, word in iter_calls(tokens):
        if word != "JSON_EXTRACT" or fold_word(tokens[index - 2]) == "JSON_UNQUOTE":
            continue
        closing = find_closing(tokens, index + 1)
        after = tokens[closing + 1] if 0 < closing < len(tokens) - 1 else None
        before = tokens[index - 1] if index else None
        if before and (before.token_type in _COMPARED or fold_word(before) == "CASE"):
            raise Untranslatable(_FEATURE)
        if after is None or after.token_type not in _COMPARED | {TokenType.NOT}:
            continue
        if after.token_type == TokenType.NOT:
            if tokens[min(closing + 2, len(tokens) - 1)].token_type in _OTHERS:
                raise Untranslatable(_FEATURE)
            continue
        literal, last = _read_literal(tokens, closing + 2)
        if after.token_type not in _EQUALITIES or last < 0:
            raise Untranslatable(_FEATURE)
        value = sql[tokens[index].start : tokens[closing].end + 1]
        text = sql[tokens[closing + 2].start : tokens[last].end + 1]
        if literal == "boolean":
            continue
        test = f"JSON_TYPE({value}) IN ({_NUMBERS}) AND {value} = {text}"
        if literal == "text":
            test = f"JSON_TYPE({value}) = 'STRING' AND BINARY JSON_UNQUOTE({value}) = BINARY {text}"
        negation = _EQUALITIES[after.token_type]
        whole = f"({negation}IF({value} IS NULL, NULL, {test}))"
        edits.append((tokens[index].start, tokens[last].end + 1, whole))
    return apply_edits(sql, edits)


def _read_literal(tokens: Sequence[Token], start: int) -> tuple[str, int]:
    """The kind of the literal that stands alone from `start` on and the index of its last token,
    -1 where anything else stands there."""
    last = start + (start < len(tokens) and tokens[start].token_type == TokenType.DASH)
    if last >= len(tokens):
        return "", -1
    kinds = {TokenType.NUMBER: "number", TokenType.STRING: "text"}
    kinds |= dict.fromkeys((TokenType.TRUE, TokenType.FALSE), "boolean")
    kind = kinds.get(tokens[last].token_type, "")
    is_alone = last + 1 == len(tokens) or fold_word(tokens[last + 1]) in _ENDS
    return (kind, last) if kind and is_alone else ("", -1)
