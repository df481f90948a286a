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


def merge(folder: Path, settings: Settings) -> list[str]:
    """Move what is missing here from an unpacked folder into the data folder; returns its names.

    Nothing that is here is changed, and where moving fails nothing of it stays. Raises UsageError
    for cards that cannot be read.
    """
    came: list[str] = []
    try:
        for path in sorted(found for found in folder.rglob("*") if found.is_file()):
            name = path.relative_to(folder).as_posix()
            target = settings.data_dir / name
            if name != CARDS and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                came.append(name)
                os.replace(path, target)  # noqa: PTH105  (within one file system)
        if (cards := folder / CARDS).is_file():
            came += [CARDS] if _merge_cards(cards, settings.data_dir / CARDS) else []
    except BaseException:
        for name in came:
            (settings.data_dir / name).unlink(missing_ok=True)
        raise
    return came


def _merge_cards(theirs: Path, target: Path) -> bool:
    """Add the cards of targets that have none here; whether there were any."""
    try:
        read_cards(theirs)  # one broken card would cost those of all targets
        with FileLock(f"{target}.lock", timeout=_LOCK_SECONDS):
            kept = AtomicStorage(theirs).read() or {}
            here = AtomicStorage(target).read() or {}
            cards = {**kept.get(TABLE, {}), **here.get(TABLE, {})}
            if len(cards) == len(here.get(TABLE, {})):
                return False
            AtomicStorage(target).write({**here, TABLE: cards})
    except IndexFileError as error:
        raise UsageError(f"cards of targets: {error}") from None
    return True
