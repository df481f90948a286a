"""Entries of BFCL: reading an official folder (v4 or v3 names), one of its files, or a bundled set.

An official folder holds `BFCL_v4_<category>.json` (one object a line) and, of the same name, the
accepted answers in `possible_answer/`; both are joined by id. A bundled or local file may hold the
answers inline, as `ground_truth`.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from evalcore.benchmarks.bfcl.categories import (
    AGENTIC,
    CATEGORIES,
    DECODE_ONLY,
    SHARED_FILES,
    SINGLE_TURN,
    category_from_id,
    to_v4_category,
)
from evalcore.benchmarks.bfcl.slm_rows import convert_slm_row, is_slm_row
from evalcore.benchmarks.case_file import CaseLine
from evalcore.errors import DatasetError
from evalcore.i18n import Note
from evalcore.intake.json_text import read_rows
from evalcore.records import Record

_PREFIX = re.compile(r"^(BFCL_v\d+_)?(?P<category>.+?)(\.jsonl?)$")
_CATEGORIES = frozenset(CATEGORIES)
_OWN_FIELDS = {"id", "question", "function", "ground_truth"}


class BfclEntry(Record, frozen=True):
    """One case. `question` is a list of turns, each a list of {role, content}. `functions` are the
    descriptions as the file has them; `ground_truth` is None where the category asks only whether
    there is a call. `extra` holds the line's other fields, `source` is file:line, "" where
    unknown."""

    id: str
    category: str
    question: list[Any]
    functions: list[dict[str, Any]]
    ground_truth: list[Any] | None = None
    extra: dict[str, Any] = {}
    source: str = ""


def load_folder(folder: Path, categories: tuple[str, ...] = ()) -> list[BfclEntry]:
    """All entries of a folder, ordered by category; `categories` (v3 or v4 names) filters. Other
    files (format sensitivity) are passed over. Raises DatasetError for a folder without a file of
    the wanted categories, and what `load_file` raises."""
    selected = [to_v4_category(name) for name in categories] or list(CATEGORIES)
    files = question_files(folder)
    missing = [name for name in selected if name not in files] if categories else []
    if missing or not files:
        what = f"of {', '.join(missing)}" if missing else "named BFCL_v4_<category>.json"
        raise DatasetError(folder, None, "", Note("bfcl_no_file", what=what))
    return [
        entry
        for name in selected
        if name in files
        for entry in load_file(files[name])
        if entry.category == name
    ]


def question_files(folder: Path) -> dict[str, Path]:
    """The question files of a folder by category; the newest version where there are several. The
    categories of memory share a file, and so do those of web search."""
    files_by_category: dict[str, Path] = {}
    for path in sorted(folder.glob("*.json*")):
        category = file_category(path)
        for name in SHARED_FILES.get(category or "", (category,)):
            if name in _CATEGORIES:
                files_by_category[name] = path
    return files_by_category


def file_category(path: Path) -> str | None:
    """Return the v4 category that a file name stands for, None if it follows neither naming
    scheme."""
    match = _PREFIX.match(path.name)
    return to_v4_category(match["category"]) if match else None


def load_file(path: Path) -> list[BfclEntry]:
    """The entries of one file of questions, joined with the answers beside it. The category is the
    file's, else the line's field `category`, else what its id begins with. A file that several
    categories share gives an entry for each of them, with the category in its id, as upstream has
    it. Raises DatasetError naming the file, line and field: a line that is no entry, an id that is
    there twice, an answer that is missing."""
    named = file_category(path) or ""
    answers = _load_answers(path.parent / "possible_answer" / path.name)
    entries: dict[str, BfclEntry] = {}
    for line in starmap(partial(CaseLine, path), read_rows(path)):
        if named not in _CATEGORIES and named not in SHARED_FILES and is_slm_row(line.row):
            line = replace(line, row=convert_slm_row(line))
        for category in SHARED_FILES.get(named, (named if named in _CATEGORIES else None,)):
            entry = _build_entry(line, category, answers)
            if named in SHARED_FILES:
                number = entry.id.removeprefix(f"{named}_")
                entry = replace(entry, id=f"{category}_{number}")
            if entry.id in entries:
                line.raise_field_error("id", Note("there_twice", name=repr(entry.id)))
            entries[entry.id] = entry
    return list(entries.values())


def _load_answers(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    answers = {}
    for line, row in read_rows(path):
        if not isinstance(row.get("id"), str) or not isinstance(row.get("ground_truth"), list):
            raise DatasetError(path, line, "ground_truth", Note("bfcl_needs_answers"))
        answers[row["id"]] = row["ground_truth"]
    return answers


def _build_entry(line: CaseLine, category: str | None, answers: dict[str, Any]) -> BfclEntry:
    row = line.row
    sample_id = row.get("id")
    if not isinstance(sample_id, str) or not sample_id:
        line.raise_field_error("id", Note("upload_text"))
    name = str(row.get("category") or category_from_id(sample_id) or "")
    category = category or to_v4_category(name)
    if category not in _CATEGORIES:
        line.raise_field_error("category", f"unknown: {category or sample_id!r}")
    question, functions = row.get("question"), row.get("function", [])
    functions = [functions] if isinstance(functions, dict) else functions
    truth = row.get("ground_truth", answers.get(sample_id))
    if not isinstance(question, list):
        line.raise_field_error("question", "must be a list of turns")
    if not _all_mappings(functions):
        line.raise_field_error("function", "must be a list of objects")
    if category in DECODE_ONLY:
        truth = None
    elif not isinstance(truth, list) or not truth:
        line.raise_field_error("ground_truth", Note("upload_is_missing"))
    elif category in AGENTIC and not all(isinstance(answer, str) and answer for answer in truth):
        line.raise_field_error("ground_truth", "must be a list of accepted texts")
    elif category in SINGLE_TURN and not (_all_mappings(truth) and all(map(_is_answer, truth))):
        line.raise_field_error("ground_truth", "must hold {name: {parameter: [values]}}")
    extra = {key: value for key, value in row.items() if key not in _OWN_FIELDS}
    return BfclEntry(sample_id, category, question, functions, truth, extra, line.source)


def _all_mappings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _is_answer(call: dict[str, Any]) -> bool:
    values = list(call.values())
    return len(values) == 1 and isinstance(values[0], dict)
