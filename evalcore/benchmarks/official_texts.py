"""Upstream's own texts of a benchmark: prompts, tool schemas, sampling, limits.

`protocol=official` asks as upstream asks. Its texts are no part of this package: a fetch reads them
out of upstream's package or checkout (`evalcore.intake.python_source`) and leaves them beside the
data and, by their hash, in the data folder, where a run finds them. The hash is an option of the
column, so that scores under other texts stand elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from evalcore.cards import BOARD, OFFICIAL
from evalcore.errors import IntakeError, UsageError
from evalcore.i18n import Note
from evalcore.records import Record, content_hash, from_json, to_json
from evalcore.settings import Settings, load_settings

TEXTS_FILE = "official.json"
_STORE = "official"
_HASH = re.compile(r"[0-9a-f]{12}")
_MAX_BYTES = 4 << 20
T = TypeVar("T")


class OfficialTexts(Record, frozen=True):
    """The texts of a benchmark by name, and the release or commit that they were read from. What
    depends on the order of its keys is JSON text."""

    benchmark: str
    source: str
    texts: dict[str, Any]

    @property
    def hash(self) -> str:
        return content_hash([self.benchmark, self.texts], 12)

    def read_as(self, kind: type[T]) -> T:
        """The texts as a record; raises UsageError where they lack one."""
        try:
            return msgspec.convert(self.texts, kind)
        except msgspec.ValidationError as error:
            raise UsageError(
                Note(
                    "official_texts_unusable",
                    benchmark=self.benchmark,
                    source=self.source,
                    problem=error,
                )
            ) from None


def write_official_texts(texts: OfficialTexts, folder: Path) -> None:
    """Leave the texts beside a data set."""
    (folder / TEXTS_FILE).write_bytes(to_json(texts))


def store_official_texts(texts: OfficialTexts, settings: Settings) -> None:
    """Leave the texts where a run finds them by their hash."""
    path = _get_stored_path(settings.data_dir, texts.benchmark, texts.hash)
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        staged = path.with_name(f".{path.name}")
        staged.write_bytes(to_json(texts))
        staged.replace(path)


def read_official_texts(folder: Path, benchmark: str) -> OfficialTexts | None:
    """The texts beside a data set, None where there are none of that benchmark."""
    try:
        texts = _read_texts_file(folder / TEXTS_FILE)
    except (OSError, IntakeError):
        return None
    return texts if texts.benchmark == benchmark else None


def find_official_texts(benchmark: str, dataset_path: Path, settings: Settings) -> OfficialTexts:
    """The texts that came with a data set, else those of the newest fetch, which then are where a
    run finds them. Raises UsageError where none were fetched."""
    home = dataset_path if dataset_path.is_dir() else dataset_path.parent
    fetched = sorted(
        (settings.data_dir / "datasets").glob(f"*/{TEXTS_FILE}"),
        key=lambda path: path.stat().st_mtime,
        reverse=True,
    )
    for folder in (home, *(path.parent for path in fetched)):
        texts = read_official_texts(folder, benchmark)
        if texts is not None:
            store_official_texts(texts, settings)
            return texts
    raise UsageError(Note("official_texts_missing", benchmark=benchmark))


def load_official_texts(benchmark: str, digest: str) -> OfficialTexts:
    """The texts of a hash. Raises UsageError where they are not in the data folder, or changed."""
    return _load_stored_texts(load_settings().data_dir, benchmark, digest)


@lru_cache(maxsize=32)
def _load_stored_texts(data_folder: Path, benchmark: str, digest: str) -> OfficialTexts:
    try:
        if not _HASH.fullmatch(digest):
            raise IntakeError(Note("texts_no_hash", hash=repr(digest[:40])))
        texts = _read_texts_file(_get_stored_path(data_folder, benchmark, digest))
        if (texts.benchmark, texts.hash) != (benchmark, digest):
            raise IntakeError(Note("texts_changed"))
    except (OSError, IntakeError) as error:
        problem = getattr(error, "strerror", None) or error
        raise UsageError(
            Note("official_texts_gone", benchmark=benchmark, hash=digest[:12], problem=problem)
        ) from None
    return texts


def _read_texts_file(path: Path) -> OfficialTexts:
    with path.open("rb") as file:
        content = file.read(_MAX_BYTES + 1)
    try:
        if len(content) > _MAX_BYTES:
            raise IntakeError(Note("texts_large"))
        return from_json(OfficialTexts, content)
    except (msgspec.MsgspecError, IntakeError) as error:
        raise IntakeError(Note("texts_none", path=path, problem=error)) from None


def _get_stored_path(data_folder: Path, benchmark: str, digest: str) -> Path:
    return data_folder / _STORE / f"{benchmark}-{digest}.json"


def is_official(options: Mapping[str, Any]) -> bool:
    """Whether the options of a benchmark ask as upstream asks."""
    return str(options.get("protocol", BOARD)) == OFFICIAL
