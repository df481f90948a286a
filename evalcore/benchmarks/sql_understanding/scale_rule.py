"""The published verdict of SCALE, kept exactly, quirks included.

Source: actiontech/sql-llm-benchmark, evaluator/utils/comparison.py and agent.py as of 2026-07
(the rule; the code here is our own). Order and keys must be equal, texts are case-sensitive,
numbers compare as decimals and a text that reads as a number is one (also "1_000"), there is no
tolerance. A boolean beside something unequal made the published evaluator drop the case.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any

_FENCE_EDGE = re.compile(r"^```(?:json)?\s*|```$", re.IGNORECASE | re.MULTILINE)


class UndefinedComparison(Exception):
    """The published evaluator raised on this comparison and dropped the case."""


def parse_published_answer(text: str) -> Any:
    """An answer as the published agent read it: JSON where it parses, else the bare text."""
    cleaned = "\n".join(
        line for line in map(_strip_fence_line, text.splitlines()) if line is not None
    )
    try:
        return json.loads(_FENCE_EDGE.sub("", cleaned.strip()))
    except (ValueError, RecursionError):
        return cleaned


def _strip_fence_line(line: str) -> str | None:
    """A line that opens or closes a fence goes, unless an object starts on it."""
    if not line.startswith("```"):
        return line
    return line[3:] if line[3:].strip().startswith("{") else None


def passes_published_rule(answer: Any, expected: Any) -> bool:
    """The published comparison of a parsed answer; raises Undefined where that raised."""
    return _is_equal(_fold_text(answer), _fold_text(expected))


def _fold_text(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def _is_equal(left: Any, right: Any) -> bool:
    if left == right:
        return True
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_is_equal(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_is_equal, left, right))
    numbers = _parse_decimal(left), _parse_decimal(right)
    if None in numbers:
        return False
    try:
        return numbers[0] == numbers[1]
    except InvalidOperation:  # a signalling NaN
        raise UndefinedComparison from None


def _parse_decimal(value: Any) -> Decimal | None:
    if isinstance(value, bool):
        raise UndefinedComparison
    if isinstance(value, int | float | str):
        try:
            return Decimal(str(value))
        except InvalidOperation:
            return None
    return None
