"""Answers already paid for: a SQLite file keyed by all that decides an answer.

The key covers the request as the target gets it, the target's identity and revision (dtype, batch
policy and endpoint are part of them), the seed and the epoch, so that repetitions stay independent.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

import msgspec

from evalcore.errors import UsageError
from evalcore.records import Completion, GenerationRequest, content_hash, from_json, to_json
from evalcore.targets.openai_reply import is_answer


def compute_cache_key(request: GenerationRequest, identity: str, revision: str, seed: int) -> str:
    """The name of an answer. The epoch stands beside the request as well as in it: that of the
    first is left out of a request, whose answers from before it was part of it are still good."""
    return content_hash([request, identity, revision, seed, request.epoch], 64)


class CompletionCache:
    """Completions by key; several processes may use one file.

    Raises UsageError for a file that is no such cache.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = sqlite3.connect(path, isolation_level=None, timeout=30)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, body BLOB)")
        except sqlite3.DatabaseError as error:
            raise UsageError(
                f"{path}: {error}; delete the file, it only spares requests made before"
            ) from None

    def get(self, name: str) -> Completion | None:
        """The answer; None where there is none, or one that the provider broke off or that cannot
        be read, which is asked for again."""
        try:
            row = self._db.execute("SELECT body FROM answers WHERE key = ?", (name,)).fetchone()
            completion = from_json(Completion, row[0]) if row else None
        except (sqlite3.Error, msgspec.MsgspecError):
            return None
        return completion if completion is not None and is_answer(completion) else None

    def put(self, name: str, completion: Completion) -> None:
        """Keep a completion; where it cannot be kept (a full disk) the answer is good without."""
        with suppress(sqlite3.Error):
            self._db.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?)", (name, to_json(completion))
            )

    def close(self) -> None:
        self._db.close()
