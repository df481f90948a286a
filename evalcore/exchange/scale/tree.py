"""SCALE's public data folder: which months it has, and where each of its reports lies.

eval_reports/models-YYYY-MM.json, evaluation_case_reports/eval_run_case_YYYY-MM/CAPABILITY/ID.json,
evaluation_process_detail_logs/eval_run_logs_YYYY-MM/ID/CAPABILITY/INDICATOR.log. The ids of its
boards and the names of its files sometimes differ in letter case.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from evalcore.errors import DatasetError, UsageError
from evalcore.exchange.scale.forms import Indicator, MonthBoard, ScaleModel
from evalcore.intake.files import read_bytes
from evalcore.intake.json_text import FILE_LIMIT
from evalcore.records import Record

BOARDS, CASES, LOGS = (
    "eval_reports",
    "evaluation_case_reports",
    "evaluation_process_detail_logs",
)
_MONTH = re.compile(r"models-(\d{4}-(?:0[1-9]|1[0-2]))\.json")
T = TypeVar("T")


class CaseReport(Record, frozen=True):
    """A case report with the hash of its file, which tells carried-over ones."""

    digest: str
    indicators: tuple[Indicator, ...]


class ScaleDataFolder:
    """The folder at `root`; raises UsageError where it holds no monthly board."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.months = sorted(
            match[1]
            for path in (root / BOARDS).glob("models-*.json")
            if (match := _MONTH.fullmatch(path.name))
        )
        if not self.months:
            raise UsageError(
                f"{root} holds no {BOARDS}/models-YYYY-MM.json; give SCALE's folder public/data"
            )

    def read_models(self, month: str) -> tuple[ScaleModel, ...]:
        """The rows of a monthly board; raises DatasetError for a broken file."""
        path = board_path(self.root, month)
        return _decode_json(path, _read_limited_bytes(path), MonthBoard).models

    def iter_reports(self, month: str) -> Iterator[tuple[str, str, Path]]:
        """(capability, id, path) of every case report of a month."""
        for path in sorted(case_folder(self.root, month).glob("*/*.json")):
            yield path.parent.name, path.stem, path

    def find_report(self, month: str, capability: str, model: str) -> Path | None:
        """The case report behind a score, None where none was published."""
        return _find_ignoring_case(case_folder(self.root, month) / capability, f"{model}.json")

    def find_log(self, month: str, model: str, capability: str, indicator: str) -> Path | None:
        folder = _find_ignoring_case(self.root / LOGS / f"eval_run_logs_{month}", model)
        path = folder / capability / f"{indicator}.log" if folder else None
        return path if path is not None and path.is_file() else None


def board_path(root: Path, month: str) -> Path:
    return root / BOARDS / f"models-{month}.json"


def case_folder(root: Path, month: str) -> Path:
    return root / CASES / f"eval_run_case_{month}"


def log_path(root: Path, month: str, model: str, capability: str, indicator: str) -> Path:
    return root / LOGS / f"eval_run_logs_{month}" / model / capability / f"{indicator}.log"


def read_report(path: Path) -> CaseReport:
    """A case report; raises DatasetError naming the field that does not fit."""
    content = _read_limited_bytes(path)
    return CaseReport(_hash_bytes(content), _decode_json(path, content, tuple[Indicator, ...]))


def digest_of(path: Path) -> str:
    """The hash of a file, 16 hex digits; raises DatasetError where it cannot be read."""
    return _hash_bytes(_read_limited_bytes(path))


def _hash_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _find_ignoring_case(folder: Path, name: str) -> Path | None:
    """The entry of that name, letter case aside where there is none; a path is no name."""
    if "/" in name or name in (".", ".."):
        return None
    if (folder / name).exists():
        return folder / name
    entries = folder.iterdir() if folder.is_dir() else ()
    return next((path for path in entries if path.name.lower() == name.lower()), None)


def _read_limited_bytes(path: Path) -> bytes:
    try:
        return read_bytes(path, FILE_LIMIT)
    except UsageError as error:
        raise DatasetError(path, None, "", str(error).removeprefix(f"{path}: ")) from None


def _decode_json(path: Path, content: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=kind, strict=False)
    except msgspec.MsgspecError as error:
        problem, _, field = str(error).partition(" - at ")
        raise DatasetError(path, None, field.strip("`$."), problem) from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise DatasetError(path, None, "", f"is not UTF-8 or nested too deep: {error}") from None
