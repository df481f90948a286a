"""The tasks about data sets: index them, describe, validate and keep uploads, which may be hostile.

Are the rows of an upload cases of a benchmark? Its own loader decides, which stops at the first
problem, while a person wants them all. So where the whole is refused, each row is loaded alone; a
field that is wrong is exchanged for that of a bundled case, and the row is loaded once more, which
brings the next problem of the same line.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from evalcore import catalog
from evalcore.access.policy import Visitor
from evalcore.benchmarks.base import DatasetSource
from evalcore.errors import DatasetError, EvalboardError
from evalcore.i18n import Note, cut_note, map_note
from evalcore.records import Sample
from evalcore.runner import uploads
from evalcore.runner.jobs import TaskContext
from evalcore.runner.plan import create_benchmark, dataset_hash
from evalcore.runner.uploads import (
    MAX_ERRORS,
    CasePreview,
    DatasetLocation,
    LineError,
    Upload,
    UploadRow,
    Validation,
    find_upload_form,
    read_upload,
)
from evalcore.settings import Settings
from evalcore.store import datasets
from evalcore.store.datasets import DatasetSummary, OwnCard

PREVIEW = 50
_ROW_CHECK_SECONDS = 60.0  # seconds for looking at single rows
_MAX_ROW_PROBLEMS = 8  # problems of one row
#: What a loader may raise of its own on a row that nobody foresaw.
_FAILURES = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


def index_datasets(context: TaskContext, locations: list[DatasetLocation]) -> int:
    """Read data sets and leave their indexes; what cannot be loaded says why in its own."""
    for location in locations:
        version = datasets.dataset_signature(
            location.benchmark, Path(location.path), location.options
        )
        if datasets.load_dataset_summary(context.settings, version) is None:
            samples, summary = _build_dataset_index(location)
            datasets.write_dataset_index(context.settings, version, samples, summary)
    return len(locations)


def _build_dataset_index(location: DatasetLocation) -> tuple[list[Sample], DatasetSummary]:
    try:
        benchmark = create_benchmark(location.benchmark, location.options)
        samples = list(benchmark.load_dataset(DatasetSource(path=location.path)))
    except EvalboardError as error:
        return [], DatasetSummary(problem=cut_note(str(error), 500))
    return samples, datasets.summarize_samples(samples, dataset_hash(samples))


def describe_templates(
    context: TaskContext, benchmark: str, parts: list[str]
) -> list[uploads.UploadPart]:
    """What the cases of parts of a benchmark look like, where a bundled one shows it."""
    loader = RowLoader(benchmark, context.settings)

    def describe_part(part: str) -> uploads.UploadPart | None:
        def can_load(row: dict[str, Any]) -> bool:
            return isinstance(loader.load_rows(folder, [(1, row)], part), list)

        return uploads.describe_part(benchmark, part, context.settings, can_load)

    with loader.open_scratch_folder() as folder:
        return [template for part in parts if (template := describe_part(part)) is not None]


def validate_upload(context: TaskContext, upload: Upload, room: str) -> Validation:
    """Read and load an upload. A valid one lies in the folder `room` as a data set afterwards: on
    the disk of the data sets, so that it can be moved to them. Who asked, and outlives this
    process, removes the folder."""
    ready, settings = Path(room), context.settings
    ready.mkdir(parents=True)
    loader, (rows, errors) = RowLoader(upload.benchmark, settings), _read_rows(upload, settings)
    names = ", ".join(loader.form.parts)
    errors += [
        LineError(line, "metric", Note("upload_none_of", value=f"{part[:60]!r}", names=names))
        for line, row in rows
        if (part := loader.form.part_of(row, upload.part)) not in loader.form.parts
    ]
    if not errors:
        loader.copy_companion_files(ready)
        loaded = loader.load_rows(ready, rows, upload.part)
        if not loaded:
            loaded = LineError(0, "", Note("upload_no_case"))
        if not isinstance(loaded, LineError):
            summary = datasets.summarize_samples(loaded, dataset_hash(loaded))
            return Validation(summary=summary, preview=tuple(map(_build_preview, loaded[:PREVIEW])))
        errors = [loaded]
    misplaced = {error.line for error in errors if error.line and error.field == "metric"}
    rows = [row for row in rows if row[0] not in misplaced]
    single, in_time = _check_rows_alone(loader, rows, upload.part, len(errors))
    reported = {(error.line, error.field) for error in single} | ({(0, "")} if single else set())
    errors = [error for error in errors if (error.line, error.field) not in reported]
    problems = sorted({*errors, *single}, key=lambda error: (error.line, error.field))
    more = len(problems) > MAX_ERRORS or not in_time
    return Validation(summary=DatasetSummary(), errors=tuple(problems[:MAX_ERRORS]), more=more)


def _read_rows(upload: Upload, settings: Settings) -> tuple[list[UploadRow], list[LineError]]:
    columns = uploads.list_csv_columns(upload.benchmark, settings)
    return read_upload(upload.content, upload.file, columns)


def map_upload_lines(context: TaskContext, upload: Upload) -> dict[str, list[int]]:
    """The lines of a valid upload by the name of the file that they went to, in its order."""
    form = find_upload_form(upload.benchmark)
    lines: dict[str, list[int]] = {}
    for line, row in _read_rows(upload, context.settings)[0]:
        name = form.file.format(part=form.part_of(row, upload.part))
        lines.setdefault(name, []).append(line)
    return lines


def save_upload(
    context: TaskContext, upload: Upload, room: str, card: OwnCard, visitor: Visitor, replace: bool
) -> tuple[Validation, OwnCard | None]:
    """Validate and, if nothing is wrong, keep: the card is that of what was kept."""
    datasets.check_card(context.settings, card)
    validation = validate_upload(context, upload, room)
    if not validation.ok:
        return validation, None
    summary = validation.summary
    card = msgspec.structs.replace(
        card, hash=summary.hash, samples=summary.samples, file=upload.file[:120]
    )
    return validation, datasets.install_own_dataset(
        context.settings, visitor, Path(room), card, replace=replace
    )


class RowLoader:
    """Loads uploaded rows with a benchmark's own loader."""

    def __init__(self, benchmark: str, settings: Settings) -> None:
        self.form = find_upload_form(benchmark)
        self._benchmark, self._settings = create_benchmark(benchmark, {}), settings

    @contextmanager
    def open_scratch_folder(self) -> Iterator[Path]:
        """A folder for looking at single rows."""
        with TemporaryDirectory(prefix="evalboard-upload-") as name:
            self.copy_companion_files(Path(name))
            yield Path(name)

    def copy_companion_files(self, folder: Path) -> None:
        """Copy the bundled files that cases need beside them."""
        card = catalog.benchmark_card(self._benchmark.key)
        home = catalog.find_bundled_folder(card, self._settings)
        for pattern in self.form.companion_files:
            for part in self.form.parts if "{part}" in pattern else ("",):
                for path in home.glob(pattern.format(part=part)):
                    there = folder / path.relative_to(home)
                    there.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, there)

    def load_rows(
        self, folder: Path, rows: Sequence[UploadRow], part: str
    ) -> list[Sample] | LineError:
        """The samples of rows, or the first problem by its line in the upload."""
        lines = self._write_part_files(folder, rows, part)
        line, field = rows[0][0] if len(rows) == 1 else 0, ""
        try:
            return list(self._benchmark.load_dataset(DatasetSource(path=str(folder))))
        except DatasetError as error:
            written = lines.get(Path(error.path).name if error.line else "", [])
            if error.line is not None and 0 < error.line <= len(written):
                line = written[error.line - 1]
            field, problem = error.field, error.problem
        except EvalboardError as error:
            problem = str(error)
        except _FAILURES as error:
            problem = Note("upload_odd", kind=type(error).__name__, message=error)
        # without the folder where it was looked for
        problem = map_note(
            problem, lambda text: text.replace(f"{folder}/", "").replace(str(folder), "the file")
        )
        return LineError(line, field, cut_note(problem, 300))

    def _write_part_files(
        self, folder: Path, rows: Sequence[UploadRow], part: str
    ) -> dict[str, list[int]]:
        """Rows in the files of their parts; the lines of the upload by the name of the file."""
        for part_name in self.form.parts:
            (folder / self.form.file.format(part=part_name)).unlink(missing_ok=True)
        groups: dict[str, list[UploadRow]] = {}
        for row in rows:
            groups.setdefault(self.form.part_of(row[1], part), []).append(row)
        lines: dict[str, list[int]] = {}
        for name, group in groups.items():
            path = folder / self.form.file.format(part=name)
            path.parent.mkdir(parents=True, exist_ok=True)
            json_lines = (json.dumps(row, ensure_ascii=False) + "\n" for _, row in group)
            path.write_text("".join(json_lines), encoding="utf-8", newline="\n")
            lines.setdefault(path.name, []).extend(line for line, _ in group)
        return lines if len(lines) == len(groups) else {}

    def iterate_row_problems(self, folder: Path, row: UploadRow, part: str) -> Iterator[LineError]:
        """Every problem of a row: what is wrong is mended by an example, then it is asked again."""
        line, content = row
        mended: set[str] = set()
        for _ in range(_MAX_ROW_PROBLEMS):
            result = self.load_rows(folder, [(line, content)], part)
            if not isinstance(result, LineError):
                return
            yield result
            field = result.field.partition(".")[0]
            examples = uploads.bundled_rows(self._benchmark.key, part, self._settings)
            if not field or field in mended or not examples or field not in examples[0]:
                return
            mended.add(field)
            content = content | {field: examples[0][field]}


def _check_rows_alone(
    loader: RowLoader, rows: Sequence[UploadRow], chosen_part: str, error_count: int
) -> tuple[list[LineError], bool]:
    """The problems of every row, and whether there was time for all of them."""
    form = loader.form
    errors: list[LineError] = []
    first: dict[str, int] = {}
    deadline = time.monotonic() + _ROW_CHECK_SECONDS
    with loader.open_scratch_folder() as folder:
        for line, row in rows:
            if error_count + len(errors) > MAX_ERRORS or time.monotonic() > deadline:
                return errors, False
            part = form.part_of(row, chosen_part)
            errors += loader.iterate_row_problems(folder, (line, row), part)
            value = row.get(form.identity)
            name = f"{part}/{value}" if isinstance(value, str | int) and str(value).strip() else ""
            if name and first.setdefault(name, line) != line:
                problem = Note("upload_twice", id=f"{name.partition('/')[2]!r}", line=first[name])
                errors.append(LineError(line, form.identity, problem))
    return errors, True


def _build_preview(sample: Sample) -> CasePreview:
    return CasePreview(
        metric=sample.metric,
        id=sample.id,
        difficulty=sample.difficulty,
        dialect=datasets.format_dialect(sample),
        text=datasets.build_case_gist(sample)[:200],
    )
