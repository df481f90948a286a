"""Reading case files: jsonl by metric, every field checked, errors with file, line and field."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from msgspec.structs import replace

from evalcore.benchmarks.base import DatasetSource
from evalcore.errors import DatasetError, UsageError
from evalcore.i18n import Note
from evalcore.intake.json_text import ROWS_LIMIT, read_rows
from evalcore.records import Record, Sample
from evalcore.sqlkit.dialects import dialect_name

MAX_CASE_WEIGHT = 1_000_000.0  # of a case
ROWS_BYTES = 2 << 30  # of a Parquet file, unpacked
_BATCH = 64  # rows of a Parquet file in memory at once
#: Notes that ask for a value, whatever stands there.
_ASKED = frozenset(
    f"upload_{name}"
    for name in ("missing", "is_missing", "no_object", "level", "needs_fields", "dialect")
)


class CaseLine(Record, frozen=True):
    """One line of a case file, with readers that raise DatasetError for what does not fit."""

    path: Path
    number: int
    row: dict[str, Any]

    def raise_field_error(self, field: str, problem: str) -> NoReturn:
        """Raise DatasetError; a field that was to be filled in and is not is said to be missing."""
        is_asked = isinstance(problem, Note) and problem.code in _ASKED
        if is_asked and self.row.get(field) in (None, ""):
            problem = Note("upload_field_missing", field=field)
        raise DatasetError(self.path, self.number, field, problem)

    @property
    def source(self) -> str:
        return f"{self.path.name}:{self.number}"

    def parse_case_id(self, field: str = "case_id") -> str:
        value = self.row.get(field)
        if not isinstance(value, str | int) or isinstance(value, bool) or not str(value).strip():
            self.raise_field_error(field, Note("upload_missing"))
        return str(value)

    def parse_text(self, field: str) -> str:
        value = self.row.get(field)
        if not isinstance(value, str) or not value.strip():
            self.raise_field_error(field, Note("upload_missing"))
        return value

    def parse_optional_text(self, field: str) -> str:
        value = self.row.get(field, "")
        if not isinstance(value, str):
            self.raise_field_error(field, Note("upload_text"))
        return value

    def parse_text_list(self, field: str) -> list[str]:
        """A list of texts; one text stands for a list of it."""
        value = self.row.get(field, [])
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.raise_field_error(field, Note("upload_texts"))
        return value

    def parse_list(self, field: str) -> list[Any]:
        value = self.row.get(field, [])
        if not isinstance(value, list):
            self.raise_field_error(field, Note("upload_list"))
        return value

    def parse_databases(self, field: str) -> list[list[str]]:
        """A list of databases, each the statements that fill it."""
        databases = self.parse_list(field)
        for script in databases:
            if not isinstance(script, list) or not all(isinstance(text, str) for text in script):
                problem = "must be a list of databases, each a list of INSERT statements"
                self.raise_field_error(field, problem)
        return databases

    def parse_object(self, field: str) -> dict[str, Any]:
        value = self.row.get(field)
        if not isinstance(value, dict):
            self.raise_field_error(field, Note("upload_no_object"))
        return value

    def parse_bool(self, field: str) -> bool | None:
        """A boolean, None where the field is absent."""
        value = self.row.get(field)
        if value is not None and not isinstance(value, bool):
            self.raise_field_error(field, Note("upload_truth"))
        return value

    def parse_difficulty(self) -> int:
        value = str(self.row.get("difficulty_level", ""))
        if value not in ("1", "2", "3"):
            self.raise_field_error("difficulty_level", Note("upload_level", value=f"{value!r}"))
        return int(value)

    def parse_weight(self) -> float | None:
        """What the case weighs in place of its difficulty, None where the field is absent."""
        value = self.row.get("weight")
        if value is None:
            return None
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value <= MAX_CASE_WEIGHT:
            problem = Note("upload_weight", value=f"{value!r}", most=f"{MAX_CASE_WEIGHT:g}")
            self.raise_field_error("weight", problem)
        return float(value)

    def parse_dialect(self, field: str, default: str = "") -> str:
        """The internal name of the dialect named in a field."""
        try:
            return dialect_name(str(self.row.get(field, default)))
        except UsageError as error:
            self.raise_field_error(field, str(error))


def read_table_rows(path: Path, limit: int = ROWS_BYTES) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a Parquet file or of JSON lines with their numbers, from 1. Raises DatasetError
    for a file that cannot be read, and as `read_parquet_rows` does."""
    rows = read_rows(path) if path.suffix != ".parquet" else read_parquet_rows(path, limit)
    yield from rows


def read_parquet_rows(
    path: Path, limit: int, columns: Collection[str] = ()
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a Parquet file with their numbers, from 1, few in memory at once; of `columns`
    those that are there, without any all. Raises DatasetError for a file that cannot be read, and
    for one of more than `limit` bytes or ROWS_LIMIT rows: by its footer, and as they come, since a
    text that repeats takes almost no room in the file."""
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            too_long = file.metadata.num_rows > ROWS_LIMIT
            if too_long or count_unpacked_bytes(file.metadata) > limit:
                raise DatasetError(path, None, "", Note("log_large", limit=limit >> 20))
            names = file.schema_arrow.names
            read = [name for name in names if name in columns] if columns else None
            number = size = 0
            for batch in file.iter_batches(_BATCH, columns=read):
                size += batch.nbytes
                if size > limit:
                    raise DatasetError(path, None, "", Note("log_large", limit=limit >> 20))
                yield from enumerate(batch.to_pylist(), number + 1)
                number += batch.num_rows
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        problem = Note("log_parquet", detail=" ".join(str(error).split())[:200])
        raise DatasetError(path, None, "", problem) from None


def count_unpacked_bytes(metadata: Any) -> int:
    """The bytes of all columns of a Parquet file, unpacked, by the metadata in its footer."""
    return sum(metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups))


def load_case_samples(
    source: DatasetSource,
    files: Mapping[str, Sequence[str]],
    parse_line: Callable[[CaseLine, str], Iterable[Sample]],
) -> list[Sample]:
    """The samples of a folder, or of one file, in the order of `files`. `files` maps the stem of a
    file to the metrics its lines feed; `parse_line(line, stem)` makes the samples of a line, where
    a line's field `metric` overrides the name of its file. Raises DatasetError, also for a case
    that stands there twice. A line's `weight` is that of each of its samples."""
    samples: dict[str, Sample] = {}
    for path in _find_case_files(source, files):
        for number, row in read_rows(path):
            line = CaseLine(path, number, row)
            stem = str(row.get("metric", path.stem))
            if stem not in files:
                problem = Note("upload_file_name", value=f"{stem!r}", names=", ".join(files))
                line.raise_field_error("metric", problem)
            weight = line.parse_weight()
            for sample in parse_line(line, stem):
                if weight is not None:
                    sample = replace(sample, weight=weight)
                if source.metrics and sample.metric not in source.metrics:
                    continue
                if sample.key in samples:
                    line.raise_field_error(
                        "case_id", Note("upload_here_twice", id=f"{sample.id!r}")
                    )
                samples[sample.key] = sample
    return list(samples.values())


def _find_case_files(source: DatasetSource, files: Mapping[str, Sequence[str]]) -> list[Path]:
    root = source.folder
    if root.is_file():
        return [root]
    if not root.is_dir():
        raise DatasetError(root, None, "", Note("no_such_path"))
    selected = set(source.metrics)
    stems = [stem for stem, metrics in files.items() if not selected or selected & set(metrics)]
    paths = [path for stem in stems if (path := root / f"{stem}.jsonl").is_file()]
    if not paths:
        names = ", ".join(f"{stem}.jsonl" for stem in stems)
        raise DatasetError(root, None, "", Note("holds_none_of", names=names))
    return paths
