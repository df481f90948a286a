"""The text that tau-bench hashes: JSON data as Python writes it once every mapping is sorted.

A mapping becomes a tuple of its (key, value) pairs in the order of the keys, a list a tuple, the
rest stays: so the order of lists counts, and 1, 1.0 and True are three different values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def canonical_text(value: Any) -> str:
    """The text of JSON data. Raises RecursionError for data nested some hundred levels deep."""
    if isinstance(value, dict):
        return tuple_text([pair_text(key, canonical_text(value[key])) for key in sorted(value)])
    if isinstance(value, list):
        return tuple_text([canonical_text(item) for item in value])
    return repr(value)


def pair_text(key: str, text: str) -> str:
    return f"({key!r}, {text})"


def tuple_text(parts: Sequence[str]) -> str:
    """A tuple as Python writes it: a single part keeps its comma."""
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def clone_json(value: Any) -> Any:
    """A copy of JSON data that shares nothing that could be changed."""
    if isinstance(value, dict):
        return {key: clone_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clone_json(item) for item in value]
    return value
