"""The data sets that people brought themselves: where they lie, their cards, their former versions.

An own set is a folder `<data>/datasets/own/<benchmark>/<name>/` with case files in the benchmark's
own layout and a card. It appears as a whole or not at all; what it replaces, and what is removed,
goes to the trash of the data folder and can be brought back.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from evalcore import access, catalog
from evalcore.access import Visitor
from evalcore.errors import UsageError
from evalcore.records import Record, from_json, to_json
from evalcore.settings import Settings

CARD_FILE, SOURCE_FILE = "card.json", "source.json"
_DATASET_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_ADDED_DATASET_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,120}")
_CARD_TEXT_LIMITS = {"who": 80, "licence": 80, "note": 1_000}
_MAX_VERSIONS = 5  # former versions of one set


class OwnCard(Record, frozen=True):
    """What is known of an own set: typed by people, so hostile text. `added` is ISO 8601 in UTC,
    `hash` that of its samples, `file` the name it was handed in under."""

    benchmark: str
    name: str
    who: str = ""
    licence: str = ""
    note: str = ""
    added: str = ""
    hash: str = ""
    samples: int = 0
    file: str = ""


def own_folder(settings: Settings, benchmark: str, name: str) -> Path:
    """Where a set lies, whether it is there or not; raises UsageError for an impossible name."""
    catalog.benchmark_card(benchmark)
    return settings.data_dir / "datasets" / "own" / benchmark / check_dataset_name(name)


def list_dataset_paths(settings: Settings, benchmark: str, name: str) -> list[Path]:
    """Where a data set of a name would lie that was added here: an own one, then a fetched one."""
    if not _ADDED_DATASET_NAME.fullmatch(name):
        return []
    home = settings.data_dir / "datasets"
    fetched = [home / name] if (home / name / SOURCE_FILE).is_file() else []
    return [home / "own" / benchmark / name, *fetched]


def check_dataset_name(name: str) -> str:
    """The name; raises UsageError for one that could not be a folder everywhere."""
    if not _DATASET_NAME.fullmatch(name):
        raise UsageError(
            f"{name[:60]!r} is no name of a data set: use up to 40 small letters, digits, - and _, "
            "beginning with a letter or digit"
        )
    return name


def check_card(settings: Settings, card: OwnCard) -> None:
    """Raises UsageError for a card with a name that is taken or a text that is too long."""
    own_folder(settings, card.benchmark, card.name)
    if (Path(settings.datasets) / card.name).exists():
        raise UsageError(f"{card.name!r} is the name of a bundled data set; choose another")
    if (settings.data_dir / "datasets" / card.name).exists():
        raise UsageError(f"{card.name!r} is the name of another data set; choose another")
    for field, longest in _CARD_TEXT_LIMITS.items():
        if len(getattr(card, field)) > longest:
            raise UsageError(f"{field}: at most {longest} characters")


def load_own_cards(settings: Settings) -> list[OwnCard]:
    """The card of every own set, by benchmark and name; a folder without a readable one is left
    out, since nothing but `install_own_dataset` makes them."""
    cards = []
    for path in sorted((settings.data_dir / "datasets" / "own").glob(f"*/*/{CARD_FILE}")):
        try:
            card = from_json(OwnCard, path.read_bytes())
        except (OSError, msgspec.MsgspecError):
            continue
        if (card.benchmark, card.name) == (path.parent.parent.name, path.parent.name):
            cards.append(card)
    benchmarks = catalog.benchmark_cards()
    return [card for card in cards if card.benchmark in benchmarks]


def install_own_dataset(
    settings: Settings, visitor: Visitor, staging_folder: Path, card: OwnCard, *, replace: bool
) -> OwnCard:
    """Put the folder `staging_folder` in its place, with its card; the former set goes to the
    trash.

    Raises AccessDenied, and UsageError for a name that is taken unless `replace`.
    """
    access.require_access(settings, visitor, "upload")
    check_card(settings, card)
    folder = own_folder(settings, card.benchmark, card.name)
    if folder.exists() and not replace:
        raise UsageError(f"there is a data set {card.name!r} already; replace it, or take a name")
    stored_card = msgspec.structs.replace(
        card, added=datetime.now(UTC).isoformat(timespec="seconds")
    )
    (staging_folder / CARD_FILE).write_bytes(to_json(stored_card))
    folder.parent.mkdir(parents=True, exist_ok=True)
    former = _move_to_trash(settings, folder) if folder.exists() else ""
    try:
        os.rename(staging_folder, folder)  # noqa: PTH104  (refuses a folder that was made meanwhile)
    except OSError:
        if former and not folder.exists():
            (_get_trash_folder(settings, card.benchmark, card.name) / former).rename(folder)
        raise UsageError(f"a data set {card.name!r} was made meanwhile; look at it first") from None
    return stored_card


def trash_own_dataset(settings: Settings, visitor: Visitor, benchmark: str, name: str) -> str:
    """Move a set to the trash; returns the version by which `restore_own_dataset` finds it."""
    access.require_access(settings, visitor, "upload")
    folder = own_folder(settings, benchmark, name)
    if not folder.is_dir():
        raise UsageError(f"there is no own data set {name!r} of {benchmark}")
    return _move_to_trash(settings, folder)


def list_trashed_versions(settings: Settings, benchmark: str, name: str) -> list[str]:
    """The former versions in the trash, newest first."""
    trash_folder = _get_trash_folder(settings, benchmark, check_dataset_name(name))
    return sorted((path.name for path in trash_folder.glob("*") if path.is_dir()), reverse=True)


def restore_own_dataset(
    settings: Settings, visitor: Visitor, benchmark: str, name: str, version: str
) -> OwnCard:
    """Bring a former version back; a set that stands in its place changes places with it."""
    access.require_access(settings, visitor, "upload")
    folder = own_folder(settings, benchmark, name)
    if version not in list_trashed_versions(settings, benchmark, name):
        raise UsageError(f"there is no former version {version!r} of {name!r}")
    version_folder = _get_trash_folder(settings, benchmark, name) / version
    card = from_json(OwnCard, (version_folder / CARD_FILE).read_bytes())
    aside = folder.with_name(f".{name}.{secrets.token_hex(6)}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    version_folder.rename(aside)
    if folder.exists():
        _move_to_trash(settings, folder)
    aside.rename(folder)
    return card


def _move_to_trash(settings: Settings, folder: Path) -> str:
    """Move a set to the trash and drop its oldest versions; returns the version."""
    trash_folder = _get_trash_folder(settings, folder.parent.name, folder.name)
    trash_folder.mkdir(parents=True, exist_ok=True)
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
    folder.rename(trash_folder / stamp)
    for old in sorted(trash_folder.glob("*"), reverse=True)[_MAX_VERSIONS:]:
        shutil.rmtree(old, ignore_errors=True)
    return stamp


def _get_trash_folder(settings: Settings, benchmark: str, name: str) -> Path:
    return settings.data_dir / "trash" / "datasets" / benchmark / name
