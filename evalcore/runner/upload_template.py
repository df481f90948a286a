"""What a case of a benchmark looks like, told by its bundled cases: fields, examples, templates.

Nothing is kept by hand: kinds and examples come from the bundled lines, and a field is required
when the benchmark's own loader refuses the example without it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from evalcore import catalog
from evalcore.intake.json_text import read_rows
from evalcore.records import Record
from evalcore.runner.upload_forms import UploadForm, find_upload_form
from evalcore.settings import Settings

_EXAMPLES = 2
_LONGEST_EXAMPLE = 160
_PATTERNS = {"tau_bench": "{part}/tasks_bundled.jsonl"}  # where bundled cases lie elsewhere
_KINDS = {str: "text", bool: "truth", int: "number", float: "number", list: "list", dict: "object"}
#: Whether the loader takes a case of a part.
RowPredicate = Callable[[str, dict[str, Any]], bool]


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
    path = Path(settings.datasets) / card.dataset
    path /= _PATTERNS.get(benchmark, form.file).format(part=part)
    if not path.is_file():
        return []
    rows = [row for _, row in read_rows(path)]
    return [
        {name: value for name, value in row.items() if name not in form.left_out}
        for row in rows
        if benchmark != "gaia" or not row.get("file_name")
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
    examples = [row for row in rows[:20] if can_load(part, row)][:_EXAMPLES]
    if not examples:
        return None
    names = list(dict.fromkeys(name for row in [*examples, *rows] for name in row))
    json_columns = list_csv_columns(benchmark, settings)
    fields = [
        _describe_field(
            name, rows, examples[0], lambda row: can_load(part, row), find_upload_form(benchmark)
        )
        for name in names
    ]
    return UploadPart(
        name=part,
        fields=tuple(sorted(fields, key=lambda field: not field.required)),
        jsonl="".join(json.dumps(row, ensure_ascii=False) + "\n" for row in examples),
        csv=_format_csv(names, examples, json_columns),
    )


def _describe_field(
    name: str,
    rows: Sequence[dict[str, Any]],
    example: dict[str, Any],
    can_load: Callable[[dict[str, Any]], bool],
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
