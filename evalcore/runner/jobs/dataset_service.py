"""Heavy verbs about data sets: `python -m evalcore.runner.jobs.dataset_service VERB`.

What comes in may be hostile: the process has limits of memory and of time.
"""

from __future__ import annotations

import json
import resource
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from evalcore import catalog
from evalcore.access.policy import Visitor
from evalcore.benchmarks.base import Benchmark, DatasetSource
from evalcore.errors import DatasetError, EvalboardError
from evalcore.records import Sample
from evalcore.runner import uploads
from evalcore.runner.plan import create_benchmark, dataset_hash
from evalcore.runner.uploads import (
    MAX_ERRORS,
    CasePreview,
    DatasetLocation,
    LineError,
    Upload,
    UploadForm,
    UploadRow,
    Validation,
    find_upload_form,
    read_upload,
)
from evalcore.settings import Settings, override_data_folder
from evalcore.store import datasets
from evalcore.store.datasets import DatasetSummary, OwnCard

# Are these rows cases of a benchmark? Its own loader decides, and is asked until all is told.
# The loader stops at the first problem, a person wants them all. So where the whole is refused,
# each row is loaded alone; a field that is wrong is exchanged for that of a bundled case, and the
# row is loaded once more, which brings the next problem of the same line.

PREVIEW = 50
_ROW_CHECK_SECONDS = 60.0  # seconds for looking at single rows
_MAX_ROW_PROBLEMS = 8  # problems of one row
#: What a loader may raise of its own on a row that nobody foresaw.
_FAILURES = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


def validate_upload(upload: Upload, settings: Settings, ready: Path) -> Validation:
    """Read and load an upload; a valid one lies in the folder `ready` as a data set afterwards."""
    rows, errors = read_upload(
        upload.content, upload.file, uploads.list_csv_columns(upload.benchmark, settings)
    )
    form = find_upload_form(upload.benchmark)
    errors += _find_misplaced_rows(rows, form, upload.part)
    if not errors:
        loaded = _load_upload(upload, rows, settings, ready)
        if not isinstance(loaded, LineError):
            summary = datasets.summarize_samples(loaded, dataset_hash(loaded))
            return Validation(summary=summary, preview=tuple(map(_build_preview, loaded[:PREVIEW])))
        errors = [loaded]
    bad = {error.line for error in errors if error.line and error.field == "metric"}
    single, in_time = _check_rows_alone(
        upload, [row for row in rows if row[0] not in bad], settings, len(errors)
    )
    reported = {(error.line, error.field) for error in single} | ({(0, "")} if single else set())
    errors = [error for error in errors if (error.line, error.field) not in reported]
    problems = sorted({*errors, *single}, key=lambda error: (error.line, error.field))
    more = len(problems) > MAX_ERRORS or not in_time
    return Validation(summary=DatasetSummary(), errors=tuple(problems[:MAX_ERRORS]), more=more)


def map_upload_lines(upload: Upload, settings: Settings) -> dict[str, list[int]]:
    """The lines of a valid upload by the name of the file that they went to, in its order."""
    rows, _ = read_upload(
        upload.content, upload.file, uploads.list_csv_columns(upload.benchmark, settings)
    )
    form = find_upload_form(upload.benchmark)
    lines: dict[str, list[int]] = {}
    for line, row in rows:
        name = form.file.format(part=form.part_of(row, upload.part))
        lines.setdefault(name, []).append(line)
    return lines


@contextmanager
def open_row_loader(
    benchmark: str, settings: Settings
) -> Iterator[Callable[[str, dict[str, Any]], bool]]:
    """A function that tells whether the loader takes a single row of a part."""
    created, form = create_benchmark(benchmark, {}), find_upload_form(benchmark)
    with _scratch_folder(benchmark, form, settings) as folder:
        yield lambda part, row: isinstance(
            _load_rows(created, form, folder, [(1, row)], part), list
        )


def _find_misplaced_rows(rows: Sequence[UploadRow], form: UploadForm, part: str) -> list[LineError]:
    names = ", ".join(form.parts)
    return [
        LineError(line, "metric", f"{row_part[:60]!r} is none of: {names}")
        for line, row in rows
        if (row_part := form.part_of(row, part)) not in form.parts
    ]


def _load_upload(
    upload: Upload, rows: Sequence[UploadRow], settings: Settings, ready: Path
) -> list[Sample] | LineError:
    """All rows at once, as a data set in a folder."""
    form = find_upload_form(upload.benchmark)
    _copy_companion_files(ready, upload.benchmark, form, settings)
    result = _load_rows(create_benchmark(upload.benchmark, {}), form, ready, rows, upload.part)
    if isinstance(result, list) and not result:
        return LineError(0, "", "holds no case that this benchmark would ask")
    return result


def _check_rows_alone(
    upload: Upload, rows: Sequence[UploadRow], settings: Settings, error_count: int
) -> tuple[list[LineError], bool]:
    """The problems of every row, and whether there was time for all of them."""
    form, benchmark = find_upload_form(upload.benchmark), create_benchmark(upload.benchmark, {})
    errors: list[LineError] = []
    first: dict[str, int] = {}
    deadline = time.monotonic() + _ROW_CHECK_SECONDS
    with _scratch_folder(upload.benchmark, form, settings) as folder:
        for line, row in rows:
            if error_count + len(errors) > MAX_ERRORS:
                return errors, False
            if time.monotonic() > deadline:
                return errors, False
            part = form.part_of(row, upload.part)
            errors += _iterate_row_problems(benchmark, form, folder, (line, row), part, settings)
            if (name := _find_row_identity(form, row, part)) and first.setdefault(
                name, line
            ) != line:
                problem = f"{name.partition('/')[2]!r} stands in line {first[name]} already"
                errors.append(LineError(line, form.identity, problem))
    return errors, True


def _find_row_identity(form: UploadForm, row: dict[str, Any], part: str) -> str:
    value = row.get(form.identity)
    return f"{part}/{value}" if isinstance(value, str | int) and str(value).strip() else ""


def _iterate_row_problems(
    benchmark: Benchmark,
    form: UploadForm,
    folder: Path,
    row: UploadRow,
    part: str,
    settings: Settings,
) -> Iterator[LineError]:
    """Every problem of a row: what is wrong is mended by an example, then it is asked again."""
    line, content = row
    mended: set[str] = set()
    for _ in range(_MAX_ROW_PROBLEMS):
        result = _load_rows(benchmark, form, folder, [(line, content)], part)
        if not isinstance(result, LineError):
            return
        yield result
        field = result.field.partition(".")[0]
        example = _find_example(benchmark.key, part, settings)
        if not field or field in mended or field not in example:
            return
        mended.add(field)
        content = content | {field: example[field]}


def _find_example(benchmark: str, part: str, settings: Settings) -> dict[str, Any]:
    rows = uploads.bundled_rows(benchmark, part, settings)
    return rows[0] if rows else {}


def _load_rows(
    benchmark: Benchmark, form: UploadForm, folder: Path, rows: Sequence[UploadRow], part: str
) -> list[Sample] | LineError:
    """The samples of rows, or the first problem by its line in the upload."""
    lines = _write_part_files(folder, form, rows, part)
    try:
        return benchmark.load_dataset(DatasetSource(path=str(folder)))
    except DatasetError as error:
        written = lines.get(Path(error.path).name if error.line else "", [])
        inside = error.line is not None and 0 < error.line <= len(written)
        line = written[error.line - 1] if inside and error.line else rows[0][0] * (len(rows) == 1)
        return LineError(line, error.field, _strip_folder(error.problem, folder))
    except EvalboardError as error:
        return LineError(rows[0][0] * (len(rows) == 1), "", _strip_folder(str(error), folder))
    except _FAILURES as error:
        what = f"cannot be understood: {type(error).__name__}: {error}"
        return LineError(rows[0][0] * (len(rows) == 1), "", _strip_folder(what, folder))


def _strip_folder(problem: str, folder: Path) -> str:
    """A problem without the place where it was looked for."""
    return problem.replace(f"{folder}/", "").replace(str(folder), "the file")[:300]


def _write_part_files(
    folder: Path, form: UploadForm, rows: Sequence[UploadRow], part: str
) -> dict[str, list[int]]:
    """Rows in the files of their parts; the lines of the upload by the name of the file."""
    for part_name in form.parts:
        (folder / form.file.format(part=part_name)).unlink(missing_ok=True)
    groups: dict[str, list[UploadRow]] = {}
    for row in rows:
        groups.setdefault(form.part_of(row[1], part), []).append(row)
    lines: dict[str, list[int]] = {}
    for name, group in groups.items():
        path = folder / form.file.format(part=name)
        path.parent.mkdir(parents=True, exist_ok=True)
        json_lines = (json.dumps(row, ensure_ascii=False) + "\n" for _, row in group)
        path.write_text("".join(json_lines), encoding="utf-8", newline="\n")
        lines.setdefault(path.name, []).extend(line for line, _ in group)
    return lines if len(lines) == len(groups) else {}


def _copy_companion_files(
    folder: Path, benchmark: str, form: UploadForm, settings: Settings
) -> None:
    """The bundled files that cases need beside them."""
    home = catalog.find_bundled_folder(catalog.benchmark_card(benchmark), settings)
    for pattern in form.companion_files:
        for part in form.parts if "{part}" in pattern else ("",):
            for path in home.glob(pattern.format(part=part)):
                there = folder / path.relative_to(home)
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, there)


@contextmanager
def _scratch_folder(benchmark: str, form: UploadForm, settings: Settings) -> Iterator[Path]:
    """A folder for looking at single rows."""
    with TemporaryDirectory(prefix="evalboard-upload-") as name:
        _copy_companion_files(Path(name), benchmark, form, settings)
        yield Path(name)


def _build_preview(sample: Sample) -> CasePreview:
    return CasePreview(
        metric=sample.metric,
        id=sample.id,
        difficulty=sample.difficulty,
        dialect=datasets.format_dialect(sample),
        text=datasets.build_case_gist(sample)[:200],
    )


# Heavy verbs about data sets: `python -m evalcore.runner.jobs.dataset_service VERB`, JSON in and
# out.
# As `service`, but what comes in may be hostile: the process has limits of memory and of time.

_MAX_MEMORY = 6 << 30
_MAX_SECONDS = 150

Verb = Callable[[Mapping[str, Any], Settings], Any]


def handle_index(payload: Mapping[str, Any], settings: Settings) -> int:
    """Read data sets and leave their indexes; what cannot be loaded says why in its own."""
    locations = msgspec.convert(payload["sets"], list[DatasetLocation])
    for location in locations:
        version = datasets.dataset_signature(Path(location.path), location.options)
        if datasets.load_dataset_summary(settings, version) is None:
            datasets.write_dataset_index(settings, version, *_build_dataset_index(location))
    return len(locations)


def _build_dataset_index(location: DatasetLocation) -> tuple[list[Any], DatasetSummary]:
    try:
        benchmark = create_benchmark(location.benchmark, location.options)
        samples = benchmark.load_dataset(DatasetSource(path=location.path))
    except EvalboardError as error:
        return [], DatasetSummary(problem=str(error)[:500])
    return samples, datasets.summarize_samples(samples, dataset_hash(samples))


def handle_validate(payload: Mapping[str, Any], settings: Settings) -> Validation:
    """Look at an upload; a valid one lies in the room as a data set for as long as that stays."""
    return validate_upload(_parse_upload(payload), settings, _create_upload_folder(payload))


def handle_lines(payload: Mapping[str, Any], settings: Settings) -> dict[str, list[int]]:
    """Where the cases of a valid upload stand in its file."""
    return map_upload_lines(_parse_upload(payload), settings)


def handle_save(payload: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Validate and, if nothing is wrong, keep: {"validation"} and, where it was kept, {"card"}."""
    upload = _parse_upload(payload)
    card = msgspec.convert(payload["card"], OwnCard)
    datasets.check_card(settings, card)
    visitor = msgspec.convert(payload["visitor"], Visitor)
    ready = _create_upload_folder(payload)
    validation = validate_upload(upload, settings, ready)
    if not validation.ok:
        return {"validation": validation}
    filled_card = msgspec.structs.replace(
        card,
        hash=validation.summary.hash,
        samples=validation.summary.samples,
        file=upload.file[:120],
    )
    saved_card = datasets.install_own_dataset(
        settings, visitor, ready, filled_card, replace=bool(payload["replace"])
    )
    return {"validation": validation, "card": saved_card}


def handle_template(payload: Mapping[str, Any], settings: Settings) -> uploads.UploadPart | None:
    """What the cases of one part of a benchmark look like."""
    with open_row_loader(payload["benchmark"], settings) as can_load:
        return uploads.describe_part(payload["benchmark"], payload["part"], settings, can_load)


def _parse_upload(payload: Mapping[str, Any]) -> Upload:
    return msgspec.convert(payload["upload"], Upload)  # its content comes as base64


def _create_upload_folder(payload: Mapping[str, Any]) -> Path:
    """A folder on the disk of the data sets, so that it can be moved to them; who asked, and
    outlives this process, removes it."""
    path = Path(payload["room"])
    path.mkdir(parents=True)
    return path


VERBS: dict[str, Verb] = {
    "index": handle_index,
    "validate": handle_validate,
    "lines": handle_lines,
    "save": handle_save,
    "template": handle_template,
}


def main() -> int:
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_MAX_SECONDS, _MAX_SECONDS))
    payload = json.loads(sys.stdin.read())
    try:
        settings = msgspec.convert(payload.pop("settings"), Settings)
        with override_data_folder(settings.data):
            result: dict[str, Any] = {"ok": VERBS[sys.argv[1]](payload, settings)}
    except (EvalboardError, msgspec.ValidationError, OSError, MemoryError) as error:
        result = {"error": str(error) or "there is not enough memory for this"}
    sys.stdout.buffer.write(msgspec.json.encode(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
