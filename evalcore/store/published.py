"""What somebody else published: `published.json` beside the journals of an imported run."""

from __future__ import annotations

from typing import Any

import msgspec

from evalcore.errors import RunFolderError
from evalcore.records import Record, from_json, to_json
from evalcore.store.run_folder import RunFolder, write_atomic

PUBLISHED_FILE = "published.json"


class Flag(Record, frozen=True):
    """Something about a published score that a reader should know.

    `kind` is a word that pages have a text for; `metric` narrows it, `detail` holds the facts.
    """

    kind: str
    metric: str = ""
    detail: str = ""


class PublishedScore(Record, frozen=True):
    """One claimed score beside what its case report gives.

    `level` is 0 for a bare claim, 1 where a complete case report stands behind it; `own` is by the
    weights of the report, `recomputed` by those of the board; both None at level 0. What was not
    measured at all has no claim either.
    """

    level: int
    claimed: float | None
    recomputed: float | None = None
    own: float | None = None
    reading: str = ""
    judges: tuple[str, ...] = ()
    graded_at: str = ""
    flags: tuple[Flag, ...] = ()


class Published(Record, frozen=True):
    """The publisher's row: `facts` are its own fields, `files` the sha256 of each other file of the
    run folder by name, so that equal imports are known and share their files."""

    publisher: str
    month: str
    files: dict[str, str] = {}
    scores: dict[str, PublishedScore] = {}
    facts: dict[str, Any] = {}


def write_published(folder: RunFolder, published: Published) -> None:
    write_atomic(folder.path / PUBLISHED_FILE, to_json(published))


def read_published(folder: RunFolder) -> Published | None:
    """None for a run that nobody published; raises RunFolderError for a broken file."""
    path = folder.path / PUBLISHED_FILE
    if not path.exists():
        return None
    try:
        return from_json(Published, path.read_bytes())
    except (OSError, msgspec.MsgspecError) as error:
        raise RunFolderError(f"{path}: {error}") from None
