"""TinyDB tables whose documents are found by keys of ours instead of running numbers.

TinyDB numbers documents by a counter that it keeps in memory, so two processes give one number to
two documents. A run id or a target key cannot collide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from tinydb import TinyDB
from tinydb.table import Table


class KeyedTable(Table):
    """A table with text keys; each method is one read and one write of the storage."""

    document_id_class = str  # type: ignore[assignment]

    def put(self, key: str, document: Mapping[str, Any]) -> None:
        """Insert the document, or replace the one of that key as a whole."""
        self._update_table(lambda rows: rows.update({key: document}))  # type: ignore[dict-item]

    def drop(self, key: str) -> None:
        """Remove the document of that key, if there is one."""
        self._update_table(lambda rows: rows.pop(key, None))  # type: ignore[call-overload]


class KeyedDatabase(TinyDB):
    """A TinyDB whose tables are `KeyedTable`s."""

    table_class = KeyedTable

    def get_keyed_table(self, name: str) -> KeyedTable:
        return cast(KeyedTable, self.table(name))
