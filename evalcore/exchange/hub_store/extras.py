"""What comes back besides runs: a file that is missing here, a card that nobody wrote here."""

from __future__ import annotations

import os
from pathlib import Path

from filelock import FileLock

from evalcore.errors import IndexFileError, UsageError
from evalcore.settings import Settings
from evalcore.store.atomic_storage import AtomicStorage
from evalcore.target_cards import FILE as CARDS
from evalcore.target_cards import TABLE, read_cards

_LOCK_SECONDS = 10.0


def merge_extras(folder: Path, settings: Settings) -> list[str]:
    """Move what is missing here from an unpacked folder into the data folder; returns its names.

    Nothing that is here is changed, and where moving fails nothing of it stays. Raises UsageError
    for cards that cannot be read.
    """
    added: list[str] = []
    try:
        for path in sorted(candidate for candidate in folder.rglob("*") if candidate.is_file()):
            name = path.relative_to(folder).as_posix()
            target = settings.data_dir / name
            if name != CARDS and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                added.append(name)
                os.replace(path, target)  # noqa: PTH105  (within one file system)
        if (cards := folder / CARDS).is_file():
            added += [CARDS] if _merge_cards(cards, settings.data_dir / CARDS) else []
    except BaseException:
        for name in added:
            (settings.data_dir / name).unlink(missing_ok=True)
        raise
    return added


def _merge_cards(theirs: Path, target: Path) -> bool:
    """Add the cards of targets that have none here; whether there were any."""
    try:
        read_cards(theirs)  # one broken card would cost those of all targets
        with FileLock(f"{target}.lock", timeout=_LOCK_SECONDS):
            received = AtomicStorage(theirs).read() or {}
            local_tables = AtomicStorage(target).read() or {}
            cards = {**received.get(TABLE, {}), **local_tables.get(TABLE, {})}
            if len(cards) == len(local_tables.get(TABLE, {})):
                return False
            AtomicStorage(target).write({**local_tables, TABLE: cards})
    except IndexFileError as error:
        raise UsageError(f"cards of targets: {error}") from None
    return True
