"""What goes to the processes that look at data sets, and what comes back."""

from __future__ import annotations

from typing import Any

from evalcore.records import Record
from evalcore.store.dataset_index import DatasetSummary


class DatasetLocation(Record, frozen=True):
    """Where a data set lies, and the options by which its benchmark reads it."""

    benchmark: str
    path: str
    options: dict[str, Any] = {}


class Upload(Record, frozen=True):
    """A file as it was handed in; `part` is that of cases which name none."""

    benchmark: str
    file: str
    content: bytes
    part: str = ""


class LineError(Record, frozen=True):
    """What is wrong with a line (from 1; 0: the whole file) in a field ("": the whole line)."""

    line: int
    field: str
    problem: str


class CasePreview(Record, frozen=True):
    """A case in the preview."""

    metric: str
    id: str
    difficulty: int
    dialect: str
    text: str


class Validation(Record, frozen=True):
    """The numbers of a set that can be taken, or its errors by line and field (some of them, where
    there are `more`). Of its expected answers so many are `unconfirmed`, the first over `reason`.
    """

    summary: DatasetSummary
    errors: tuple[LineError, ...] = ()
    more: bool = False
    preview: tuple[CasePreview, ...] = ()
    unconfirmed: int = 0
    reason: str = ""

    @property
    def ok(self) -> bool:
        return not self.errors
