"""Own cases that people hand in: the form for each benchmark, its template, and the text as rows.
Light on purpose: pages read it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from evalcore import catalog
from evalcore.catalog import UploadForm as UploadForm
from evalcore.catalog import benchmark_card
from evalcore.errors import IntakeError
from evalcore.i18n import DEFAULT, Note, t
from evalcore.intake.json_text import parse_json, read_rows
from evalcore.plain_text import to_single_line
from evalcore.records import Record
from evalcore.settings import Settings
from evalcore.store.datasets import DatasetSummary

# How own cases of each benchmark are handed in: as its card says, else in one file a metric.

#: What a person may hand in at once.
MAX_FILE_BYTES = 10 << 20
MAX_CASES = 5_000
MAX_LINE_LENGTH = 1 << 20
#: What an address of a data set on the Hub begins with.
HUB_SCHEME = "hf://"
#: What stands in the name of a configuration on the Hub for the folder of its file.
FOLDER_MARK = "--"
#: Errors that are listed before the rest is left out.
MAX_ERRORS = 200


def find_upload_form(benchmark: str) -> UploadForm:
    """The form of a benchmark; raises UsageError for one that is unknown."""
    card = benchmark_card(benchmark)
    return card.upload_form or UploadForm(parts=tuple(metric.key for metric in card.metrics))


def name_configuration(table: Path | PurePosixPath) -> str:
    """The configuration that a file of cases is; `FOLDER_MARK` stands for its folder."""
    return FOLDER_MARK.join(table.with_suffix("").parts)


def guess_part(benchmark: str, file_name: str) -> str:
    """The part that a file is named after, else the first."""
    parts, stem = find_upload_form(benchmark).parts, file_name.rpartition("/")[2].split(".")[0]
    return stem if stem in parts else parts[0]


# What goes to the processes that look at data sets, and what comes back.


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
    """Counts of an acceptable dataset, or its errors by line and field (some of them if there are
    `more`). `unconfirmed` counts expected answers not confirmed, the first because of `reason`."""

    summary: DatasetSummary
    errors: tuple[LineError, ...] = ()
    more: bool = False
    preview: tuple[CasePreview, ...] = ()
    unconfirmed: int = 0
    reason: str = ""

    @property
    def ok(self) -> bool:
        return not self.errors


# Reading what somebody handed in: bytes to rows, with every problem by line and field.
# Nothing of it is trusted: sizes, encodings, quoting and nesting are checked before a benchmark
# sees a row. Two forms are taken, JSON lines and CSV. In a CSV a column that holds anything but
# texts in the bundled cases is JSON in its cells; an empty cell is an absent field.

#: Columns of a CSV by name: whether its cells are JSON (True) or text as it stands.
UploadColumns = Mapping[str, bool]
UploadRow = tuple[int, dict[str, Any]]

_DELIMITERS = ",;\t"
#: What a line of JSON lines begins with that holds no case; no JSON text does.
COMMENT = "#"


class _UnreadableFile(Exception):
    """A file that cannot be read any further."""

    def __init__(self, line: int, problem: str) -> None:
        self.error = LineError(line, "", problem)
        super().__init__(problem)


def read_upload(
    content: bytes, file_name: str, columns: UploadColumns
) -> tuple[list[UploadRow], list[LineError]]:
    """The rows with their lines, and what is wrong with the other lines."""
    try:
        text = _decode_upload(content)
        rows_of = _iterate_csv if file_name.lower().endswith(".csv") else _iterate_jsonl
        parsed = list(rows_of(text, columns))
    except _UnreadableFile as refused:
        return [], [refused.error]
    errors = [item for item in parsed if isinstance(item, LineError)]
    rows = [item for item in parsed if not isinstance(item, LineError)]
    if len(rows) > MAX_CASES:
        return [], [LineError(0, "", Note("upload_many", count=len(rows), most=MAX_CASES))]
    if not parsed:
        errors = [LineError(0, "", Note("upload_empty"))]
    return rows, errors


def _decode_upload(content: bytes) -> str:
    """The file as text; a byte order mark and the line ends of other systems are no part of it."""
    if len(content) > MAX_FILE_BYTES:
        size, most = len(content) / (1 << 20), MAX_FILE_BYTES >> 20
        raise _UnreadableFile(0, Note("upload_big", size=f"{size:.1f}", most=most))
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _UnreadableFile(0, Note("upload_utf16"))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise _UnreadableFile(line, Note("upload_utf8", at=error.start)) from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise _UnreadableFile(line, Note("upload_nul"))
    return text


def _iterate_jsonl(text: str, columns: UploadColumns) -> Iterator[UploadRow | LineError]:
    if text.lstrip()[:1] == "[":
        raise _UnreadableFile(1, Note("upload_json_list"))
    for number, line in enumerate(text.split("\n"), 1):  # JSON may hold the other line ends
        if line.strip() and not line.lstrip().startswith(COMMENT):
            yield _parse_json_row(number, line.strip())


def _parse_json_row(number: int, line: str) -> UploadRow | LineError:
    if len(line) > MAX_LINE_LENGTH:
        return LineError(number, "", Note("upload_long", size=MAX_LINE_LENGTH >> 10))
    try:
        row = parse_json(line, strict=True)
    except IntakeError as error:
        return LineError(number, "", str(error))
    if not isinstance(row, dict):
        return LineError(number, "", Note("upload_not_object"))
    return number, row


def _iterate_csv(text: str, columns: UploadColumns) -> Iterator[UploadRow | LineError]:
    if not text.strip():
        return
    first = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    begin = 1
    try:
        csv.field_size_limit(MAX_LINE_LENGTH)
        for cells in reader:
            number, begin = begin, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = _parse_header(cells, columns)
                continue
            yield from _parse_cells(number, header, cells, columns)
    except csv.Error as error:
        raise _UnreadableFile(begin, Note("upload_csv", message=error)) from None


def _parse_header(cells: Sequence[str], columns: UploadColumns) -> list[str]:
    names = [cell.strip() for cell in cells]
    for name in names:
        if name not in columns:
            column_names = ", ".join(columns)
            raise _UnreadableFile(
                1, Note("upload_column", name=f"{name[:60]!r}", names=column_names)
            )
        if names.count(name) > 1:
            raise _UnreadableFile(1, Note("upload_column_twice", name=f"{name!r}"))
    return names


def _parse_cells(
    number: int, header: Sequence[str], cells: Sequence[str], columns: UploadColumns
) -> Iterator[UploadRow | LineError]:
    """The row of a line, or an error for each cell that is wrong."""
    if len(cells) != len(header):
        yield LineError(number, "", Note("upload_cells", cells=len(cells), columns=len(header)))
        return
    row, errors = {}, []
    for name, cell in zip(header, cells, strict=True):
        if not cell.strip():
            continue
        try:
            row[name] = parse_json(cell, strict=True) if columns[name] else cell
        except IntakeError as error:
            errors.append(LineError(number, name, Note("upload_cell", problem=error)))
    if errors:
        yield from errors
    else:
        yield number, row


# What a case of a benchmark looks like, told by its bundled cases: fields, examples, templates.
# Nothing is kept by hand: kinds and examples come from the bundled lines, and a field is required
# when the benchmark's own loader refuses the example without it.

_EXAMPLES = 2
_LONGEST_EXAMPLE = 160
_KINDS = {str: "text", bool: "truth", int: "number", float: "number", list: "list", dict: "object"}
#: Whether the loader takes a case.
RowPredicate = Callable[[dict[str, Any]], bool]


class UploadField(Record, frozen=True):
    """A field of a case: the kinds of values that it has in the bundled cases, whether it may be
    left out, how many bundled cases have it (share 0..1), and a value as one writes it in a CSV."""

    name: str
    kinds: tuple[str, ...]
    required: bool
    share: float
    example: str


class UploadPart(Record, frozen=True):
    """The cases of one part of a benchmark, with a template of each form."""

    name: str
    fields: tuple[UploadField, ...]
    jsonl: str
    csv: str


def bundled_rows(benchmark: str, part: str, settings: Settings) -> list[dict[str, Any]]:
    """The bundled cases of a part as their files have them, without what points to other files."""
    card, form = catalog.benchmark_card(benchmark), find_upload_form(benchmark)
    path = catalog.find_bundled_folder(card, settings)
    path /= (form.bundled_file or form.file).format(part=part)
    if not path.is_file():
        return []
    rows = [row for _, row in read_rows(path)]
    return [
        {name: value for name, value in row.items() if name not in form.left_out}
        for row in rows
        if not row.get(form.unsuitable_with)
    ]


def list_csv_columns(benchmark: str, settings: Settings) -> dict[str, bool]:
    """The columns that a CSV may have, with whether their cells are JSON."""
    form = find_upload_form(benchmark)
    json_columns: dict[str, bool] = {"metric": False} if len(form.parts) > 1 else {}
    for part in form.parts:
        for row in bundled_rows(benchmark, part, settings):
            for name, value in row.items():
                json_columns[name] = json_columns.get(name, False) or not isinstance(value, str)
    if "difficulty_level" in json_columns:
        json_columns.setdefault("weight", True)
    return json_columns


def describe_part(
    benchmark: str, part: str, settings: Settings, can_load: RowPredicate
) -> UploadPart | None:
    """The description of a part, None where no bundled case shows what it looks like."""
    rows = bundled_rows(benchmark, part, settings)
    examples = [row for row in rows[:20] if can_load(row)][:_EXAMPLES]
    if not examples:
        return None
    names = list(dict.fromkeys(name for row in [*examples, *rows] for name in row))
    json_columns = list_csv_columns(benchmark, settings)
    fields = [
        _describe_field(name, rows, examples[0], can_load, find_upload_form(benchmark))
        for name in names
    ]
    return UploadPart(
        name=part,
        fields=tuple(sorted(fields, key=lambda field: not field.required)),
        jsonl="".join(json.dumps(row, ensure_ascii=False) + "\n" for row in examples),
        csv=_format_csv(names, examples, json_columns),
    )


def build_starter(benchmark: str, parts: Sequence[UploadPart], language: str = DEFAULT) -> str:
    """A file to start from: in comments what a case of each part holds, then a case that is valid.
    It is taken as it stands."""
    head = t("cli.datasets.starter", language, benchmark=benchmark, comment=COMMENT)
    text = "".join(f"{COMMENT} {line}\n" for line in head.splitlines())
    for part in parts:
        text += f"{COMMENT}\n{COMMENT} {part.name}\n"
        for field in part.fields:
            need = t(f"cli.datasets.{'required' if field.required else 'optional'}", language)
            example = to_single_line(field.example, 80)
            kinds = " / ".join(t(f"datasets.kind.{kind}", language) for kind in field.kinds)
            text += f"{COMMENT}   {field.name} ({need}, {kinds}): {example}\n"
        row = {"metric": part.name} if len(parts) > 1 else {}
        row |= json.loads(part.jsonl.partition("\n")[0])
        text += json.dumps(row, ensure_ascii=False) + "\n"
    return text


def _describe_field(
    name: str,
    rows: Sequence[dict[str, Any]],
    example: dict[str, Any],
    can_load: RowPredicate,
    form: UploadForm,
) -> UploadField:
    values = [row[name] for row in rows if row.get(name) is not None]
    kinds = dict.fromkeys(_KINDS[type(value)] for value in values)
    without = {key: value for key, value in example.items() if key != name}
    example_value = next(
        (v for v in [example.get(name), *values] if v not in (None, "", [], {})), ""
    )
    return UploadField(
        name=name,
        kinds=tuple(kinds) or ("text",),
        required=name in example and (name == form.identity or not can_load(without)),
        share=len(values) / len(rows),
        example=_format_cell(example_value, as_json=tuple(kinds) != ("text",))[:_LONGEST_EXAMPLE],
    )


def _format_csv(
    names: Sequence[str], rows: Sequence[dict[str, Any]], json_columns: dict[str, bool]
) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(names)
    for row in rows:
        cells = [(row.get(name), json_columns[name]) for name in names]
        writer.writerow(
            [
                "" if value is None else _format_cell(value, as_json=as_json)
                for value, as_json in cells
            ]
        )
    return out.getvalue()


def _format_cell(value: Any, *, as_json: bool) -> str:
    return json.dumps(value, ensure_ascii=False) if as_json else str(value)
