"""What people know of a target beyond its key (name, maker, size, licence, logo), and the
colour that is the same on each chart and page.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit
from zlib import crc32

import msgspec
from filelock import FileLock, Timeout

from evalcore.access import policy
from evalcore.access.policy import Visitor
from evalcore.access.redaction import mask_target
from evalcore.errors import FileError, IndexFileError, UsageError
from evalcore.i18n import Note
from evalcore.records import Record, from_json
from evalcore.settings import Settings, explain_disk_error
from evalcore.store.tinydb_storage import AtomicStorage, KeyedDatabase, file_signature

# Cards are typed in the app, so they are hostile text and live in a TinyDB file of their own: the
# index of runs is disposable, a card is not. A card belongs to a target key, so that every variant
# of a model (its temperatures, its dtypes) shows the same one; the card of a target that is named
# by a path belongs to its masked name (`privacy.mask_target`). Cards that come with the project
# stand beside the shipped runs and give way to those of the data folder.

FILE, TABLE = "targets.json", "cards"
LOGO_PIXELS, _LOGO_LARGEST = 64, 4096
_LOCK_SECONDS = 10.0
LONGEST = {"name": 60, "organization": 60, "licence": 60, "site": 200, "logo": 24_000}
_DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")
_LOGO = "data:image/png;base64,"

TargetType = Literal["", "chat", "thinking", "application", "baseline", "local"]


class TargetCard(Record, frozen=True):
    """What is unknown is "" or None. `parameters` are counted in billions, `released` is a year, a
    month or a day in ISO 8601, `site` an https address, `logo` comes from `encode_logo`."""

    name: str = ""
    organization: str = ""
    type: TargetType = ""
    parameters: float | None = None
    open_weights: bool | None = None
    released: str = ""
    licence: str = ""
    site: str = ""
    logo: str = ""


NO_CARD = TargetCard()


def load_cards(settings: Settings) -> dict[str, TargetCard]:
    """Every card by target key, shared and read only; raises IndexFileError for a file that cannot
    be understood."""
    paths = (Path(settings.shipped) / FILE, settings.data_dir / FILE)
    return _merge_card_files(paths, tuple(map(file_signature, paths)))


def load_local_card(settings: Settings, key: str) -> TargetCard:
    """What was typed here of a target, without what comes with the project; NO_CARD if nothing.
    Raises IndexFileError as `load_cards`."""
    path = settings.data_dir / FILE
    return _load_card_file(path, file_signature(path)).get(mask_target(key), NO_CARD)


def cards_signature(settings: Settings) -> str:
    """Changes whenever `load_cards` would."""
    paths = (Path(settings.shipped) / FILE, settings.data_dir / FILE)
    return "&".join(file_signature(path) for path in paths)


def save_card(settings: Settings, visitor: Visitor, key: str, card: TargetCard) -> None:
    """Insert or replace the card of a target key; `NO_CARD` takes back what was typed. Raises
    AccessDenied, UsageError naming the field that cannot be, and IndexFileError."""
    policy.require_access(settings, visitor, "edit")
    check_target_card(card)
    path = settings.data_dir / FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock", timeout=_LOCK_SECONDS):
            table = KeyedDatabase(storage=lambda: AtomicStorage(path)).get_keyed_table(TABLE)
            name = mask_target(key)
            for stored in (AtomicStorage(path).read() or {}).get(TABLE, {}):
                if stored != name and mask_target(stored) == name:  # as older versions wrote it
                    table.drop(stored)
            if card == NO_CARD:
                table.drop(name)
            else:
                table.put(name, msgspec.to_builtins(card))
    except Timeout:
        raise IndexFileError(Note("card_locked", path=path)) from None
    except OSError as error:
        raise IndexFileError(explain_disk_error(error, settings.data)) from None


def check_target_card(card: TargetCard) -> None:
    """Raises UsageError naming the first field that cannot be, and what it has to look like."""
    for field, problem in find_card_problems(card).items():
        raise FileError(field, problem)


def find_card_problems(card: TargetCard) -> dict[str, str]:
    """Describe, by field, what each invalid field has to look like; empty for a valid card."""
    problems: dict[str, str] = {
        field: Note("card_text", most=longest)
        for field, longest in LONGEST.items()
        if len(text := getattr(card, field)) > longest or not text.isprintable()
    }
    if card.parameters is not None and not 0 < card.parameters < 1e6:
        problems["parameters"] = Note("card_parameters")
    if card.released and not _DATE.fullmatch(card.released):
        problems["released"] = Note("card_date")
    if card.site and not _web_address(card.site):
        problems.setdefault("site", Note("card_site"))
    if card.logo and not card.logo.startswith(_LOGO):
        problems.setdefault("logo", Note("card_logo"))
    return problems


def encode_logo(content: bytes) -> str:
    """A picture file as the data URI of a PNG of at most `LOGO_PIXELS` a side, drawn anew so that
    nothing of the file but its pixels gets through; raises UsageError for what is no picture."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(BytesIO(content), formats=("PNG", "JPEG", "WEBP", "GIF")) as picture:
            if max(picture.size) > _LOGO_LARGEST:  # a small file may hold a picture of gigabytes
                raise UsageError(Note("card_logo_large", most=_LOGO_LARGEST))
            picture.thumbnail((LOGO_PIXELS, LOGO_PIXELS))
            small, out = picture.convert("RGBA"), BytesIO()
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError):
        raise UsageError(Note("card_logo_kind")) from None
    small.save(out, "PNG", optimize=True)
    return _LOGO + b64encode(out.getvalue()).decode()


def _web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc


def read_cards(path: Path) -> dict[str, TargetCard]:
    """The cards of a file by target key; raises IndexFileError for one that cannot be understood
    or has a card that cannot be."""
    return _load_card_file(path, file_signature(path))


@lru_cache(maxsize=8)
def _merge_card_files(paths: tuple[Path, ...], versions: tuple[str, ...]) -> dict[str, TargetCard]:
    """The cards of all files, those of a later one before those of an earlier."""
    files = zip(paths, versions, strict=True)
    return {
        key: card for path, version in files for key, card in _load_card_file(path, version).items()
    }


@lru_cache(maxsize=8)
def _load_card_file(path: Path, version: str) -> dict[str, TargetCard]:
    """The cards of one version of a file, which nobody may change."""
    if not version:
        return {}
    rows = (AtomicStorage(path).read() or {}).get(TABLE, {})
    try:
        cards = {mask_target(key): from_json(TargetCard, row.raw) for key, row in rows.items()}
        for card in cards.values():  # the file may have been edited by hand
            check_target_card(card)
        return cards
    except (msgspec.MsgspecError, UsageError) as error:
        raise IndexFileError(Note("card_broken", path=path, problem=error)) from None


# The colour follows from the target's name alone. Two targets may share one, so a chart names its
# targets in words as well; where only a legend does, `assign_colours` tells them apart.

#: Equally light in OKLCH, so that no target stands out; a contrast of 3.5:1 and more against both
#: themes. The orange of the floors is left out.
COLOURS = (
    *("#c75374", "#c9593d", "#977e0d", "#6c8e03", "#0f9958", "#059488"),
    *("#068fa7", "#0486d3", "#6875d8", "#9565c7", "#b559a3"),
)


def colour_of(identity: str) -> str:
    """The colour of a target as "#rrggbb"."""
    return COLOURS[crc32(identity.encode()) % len(COLOURS)]


def assign_colours(identities: Iterable[str]) -> dict[str, str]:
    """A colour for each target, its own unless one before it has that: no two alike while there
    are enough."""
    assigned: dict[str, str] = {}
    for identity in dict.fromkeys(identities):
        own = COLOURS.index(colour_of(identity))
        ring = COLOURS[own:] + COLOURS[:own]
        free = [colour for colour in ring if colour not in assigned.values()]
        assigned[identity] = (free or ring)[0]
    return assigned
