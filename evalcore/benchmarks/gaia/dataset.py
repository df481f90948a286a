"""Load rows of GAIA (Parquet or JSON lines) as samples, with the files attached to them.

A sample names its file by hash, and a file that changed since is never used. No file outside the
data folder is ever opened. Rows of the official set, which must not be shared, are recognized by
their UUIDs and marked.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.case_file import CaseLine, read_table_rows
from evalcore.errors import DatasetError, EnvironmentFailure
from evalcore.i18n import Note
from evalcore.records import Sample
from evalcore.settings import ROOT, relative_to_root

# Finding and reading the rows of GAIA: Parquet or JSON lines, in the layouts they come in. The Hub
# has `2023/<split>/metadata.parquet` and one such file a level; earlier copies have JSON lines
# under the same names; our own sets are `<split>.jsonl`.

SPLITS = ("validation", "test")
YEAR = "2023"
_SPLIT_FILES = ("metadata.parquet", "metadata.jsonl")
_LEVEL_FILES = tuple(f"metadata.level{level}.parquet" for level in (1, 2, 3))
#: Bytes of a Parquet file once unpacked, by what it says itself; the real ones have under 1 MB.
_LIMIT = 512 << 20

Row = tuple[Path, int, dict[str, Any]]


def iter_gaia_rows(source: Path, split: str) -> Iterator[Row]:
    """Yield file, row number (from 1) and content of each row of a file, or of one split of a
    folder. Raises DatasetError if there is no such file or it cannot be read."""
    for path in _find_row_files(source, split):
        for number, row in read_table_rows(path, _LIMIT):
            yield path, number, row


def _find_row_files(source: Path, split: str) -> list[Path]:
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise DatasetError(source, None, "", Note("no_such_path"))
    for folder in _list_split_folders(source, split):
        for names in (*((name,) for name in _SPLIT_FILES), _LEVEL_FILES):
            paths = [path for name in names if (path := folder / name).is_file()]
            if paths:
                return paths
    return _find_file_by_name(source, split)


def _list_split_folders(folder: Path, split: str) -> list[Path]:
    """Where the files of a split may be: never in the folder of another one."""
    others = {name for name in SPLITS if name != split}
    own = [] if folder.name in others else [folder]
    return [folder / YEAR / split, folder / split, *own]


def _find_file_by_name(folder: Path, split: str) -> list[Path]:
    """A file named after the split, else the only one of JSON lines that is not of another."""
    for name in (f"{split}.jsonl", f"{split}.parquet"):
        if (folder / name).is_file():
            return [folder / name]
    paths = [path for path in sorted(folder.glob("*.jsonl")) if path.stem not in SPLITS]
    if len(paths) != 1:
        expected = f"neither {YEAR}/{split}/{_SPLIT_FILES[0]} nor {split}.jsonl"
        problem = f"has no split {split!r}: {expected}; choose another split or folder"
        raise DatasetError(folder, None, "", problem)
    return paths


UNLEVELLED = "unlevelled"
METRICS = ("level_1", "level_2", "level_3", UNLEVELLED)
_ANSWER, _ANNOTATED = "Final answer", "Annotator Metadata"
#: What the test split has in place of an answer.
_HIDDEN = ("?", "")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
_WEB = re.compile(
    r"\b(?:web|websites?|browsers?|search|internet|online|google|youtube|wikipedia|urls?)\b", re.I
)
_NUMBER = re.compile(r"\s*(\d{1,4})\b")


class _DatasetLine(CaseLine, frozen=True):
    """One row and where it is from; `base` is the folder that its file must be in."""

    base: Path
    split: str

    @property
    def source(self) -> str:
        return f"{self.path.relative_to(self.base).as_posix()}:{self.number}"

    @property
    def is_scoring(self) -> bool:
        """Whether it is a row of a scoring set: an id and its reference, nothing to ask."""
        return "reference" in self.row and "Question" not in self.row

    @property
    def id_field(self) -> str:
        return "id" if self.is_scoring else "task_id"


def load_gaia_samples(source: DatasetSource, split: str, levels: Sequence[int]) -> list[Sample]:
    """The samples of a folder's split, or of a file, of some levels (none: of all). Rows without a
    level are always among them, and metrics that the source names go before the levels. Raises
    DatasetError naming file, line and field, also for a file that is missing."""
    metrics = source.metrics or (*(f"level_{level}" for level in levels or (1, 2, 3)), UNLEVELLED)
    base = source.folder if source.folder.is_dir() else source.folder.parent
    samples: dict[str, Sample] = {}
    for path, number, row in iter_gaia_rows(source.folder, split):
        line = _DatasetLine(path, number, _rename_fields(row, number), base, split)
        sample = _build_scoring_sample(line) if line.is_scoring else _build_question_sample(line)
        if sample.id in samples:
            line.raise_field_error(line.id_field, Note("upload_here_twice", id=f"{sample.id!r}"))
        samples[sample.id] = sample
    chosen = [sample for sample in samples.values() if sample.metric in metrics]
    if not chosen:
        raise DatasetError(
            source.folder, None, "Level", Note("gaia_no_question", names=", ".join(metrics))
        )
    return chosen


#: Fields as slm-evals reads them, by GAIA's own names.
_OTHER_NAMES = {
    "Question": ("question",),
    _ANSWER: ("final_answer", "answer"),
    "Level": ("level",),
    "task_id": ("id",),
}


def _rename_fields(row: dict[str, Any], number: int) -> dict[str, Any]:
    """A row of slm-evals with GAIA's names; others as they are."""
    if "Question" not in row and "question" not in row:
        return row
    renamed = dict(row)
    for name, others in _OTHER_NAMES.items():
        other = next((other for other in others if other in row), None)
        if name not in row and other is not None:
            renamed[name] = row[other]
    return {"task_id": f"row_{number}"} | renamed


def find_attachments(sample: Sample) -> tuple[Path, ...]:
    """The files of a sample. Raises EnvironmentFailure where one is gone or was changed."""
    hashes: dict[str, str] = sample.reference.get("files", {})
    if not hashes:
        return ()
    base, relative = ROOT / str(sample.meta.get("folder", "")), str(sample.meta.get("file", ""))
    path = _resolve_inside(base, relative)
    if path is None:
        raise EnvironmentFailure(Note("gaia_file_gone", file=relative, case=sample.id, folder=base))
    if _hash_attachment(path) != hashes.get(path.name):
        raise EnvironmentFailure(Note("gaia_file_changed", path=path))
    return (path,)


def _build_scoring_sample(line: _DatasetLine) -> Sample:
    """Never hidden: its reference is given to score by, whatever it is."""
    level = line.row.get("Level", line.row.get("level"))
    return Sample(
        metric=_parse_level_metric(line, level),
        id=line.parse_case_id(line.id_field),
        input={},
        reference={"answer": _parse_reference_answer(line)},
        meta={"source": line.source},
    )


def _build_question_sample(line: _DatasetLine) -> Sample:
    level = line.row.get("Level")
    metric, answer = _parse_level_metric(line, level), _parse_reference_answer(line)
    question_fields: dict[str, Any] = {"question": line.parse_text("Question")}
    reference: dict[str, Any] = {"answer": answer}
    meta: dict[str, Any] = {}
    if metric != UNLEVELLED:
        question_fields["level"] = int(metric[-1])
    if path := _find_row_file(line):
        question_fields["file_name"] = path.name
        reference["files"] = {path.name: _hash_attachment(path) or _raise_unreadable(line, path)}
        meta["folder"] = relative_to_root(line.base)
        meta["file"] = path.relative_to(line.base.resolve()).as_posix()
    if line.row.get("derivation"):
        reference["derivation"] = _parse_derivation(line)
    return Sample(
        metric=metric,
        id=line.parse_case_id(line.id_field),
        input=question_fields,
        reference=reference,
        meta=meta | _build_sample_meta(line),
    )


def _build_sample_meta(line: _DatasetLine) -> dict[str, Any]:
    """What is known of a question and is neither asked nor right or wrong."""
    annotator_notes = _parse_annotations(line)
    tools = str(annotator_notes.get("Tools") or "")
    steps = _NUMBER.match(str(annotator_notes.get("Number of steps", "")))
    wrong = line.row.get("wrong") or []
    if not isinstance(wrong, list):
        line.raise_field_error("wrong", Note("upload_texts"))
    meta = {
        "tools": tools,
        "needs_web": bool(_WEB.search(tools)),
        "steps": int(steps[1]) if steps else 0,
        "gated": bool(_UUID.fullmatch(line.parse_case_id(line.id_field))),
        "hidden": line.split == SPLITS[1] or _parse_reference_answer(line).strip() in _HIDDEN,
        "topic": str(line.row.get("topic") or ""),
        "counterexamples": [str(text) for text in wrong],
        "source": line.source,
    }
    return {name: value for name, value in meta.items() if value}


def _parse_reference_answer(line: _DatasetLine) -> str:
    """The right answer as text, "" where there is none; only the test split may lack it."""
    field = "reference" if line.is_scoring else _ANSWER
    value = line.row.get(field, "" if line.split == SPLITS[1] else line)
    if value is None:
        return ""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        line.raise_field_error(field, Note("upload_missing"))
    return str(value)


def _parse_level_metric(line: _DatasetLine, level: Any) -> str:
    """Levels are numbers in some versions of the data and texts in others."""
    if level in (None, ""):
        return UNLEVELLED
    level_texts = {"1", "2", "3", "1.0", "2.0", "3.0"}
    if isinstance(level, bool) or str(level).strip() not in level_texts:
        line.raise_field_error("Level", f"{str(level)[:40]!r} is not 1, 2 or 3")
    return f"level_{str(level).strip()[0]}"


def _parse_annotations(line: _DatasetLine) -> Mapping[str, Any]:
    """The annotator's notes: a struct in Parquet, an object or its JSON text elsewhere."""
    value = line.row.get(_ANNOTATED)
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            line.raise_field_error(_ANNOTATED, "is not JSON")
    if value and not isinstance(value, dict):
        line.raise_field_error(_ANNOTATED, "is not an object")
    return value or {}


def _parse_derivation(line: _DatasetLine) -> list[dict[str, Any]]:
    steps = line.row["derivation"]
    fits = isinstance(steps, list) and all(
        isinstance(step, dict)
        and isinstance(step.get("tool"), str)
        and isinstance(step.get("arguments"), dict)
        for step in steps
    )
    if not fits:
        line.raise_field_error("derivation", 'must be a list of {"tool", "arguments"}')
    return [{"tool": step["tool"], "arguments": step["arguments"]} for step in steps]


def _find_row_file(line: _DatasetLine) -> Path | None:
    """The file of a row: by its path from the root of the data, else beside its row."""
    names, paths = {}, []
    for field in ("file_path", "file_name"):
        value = line.row.get(field) or ""
        if not isinstance(value, str) or (value and not _is_safe_path(value)):
            line.raise_field_error(
                field, f"{str(value)[:80]!r} is no path within the folder of the data"
            )
        names[field] = value
    if names["file_path"]:
        paths.append(line.base / names["file_path"])
    if name := names["file_name"]:
        row_folder = line.path.parent
        paths += [row_folder / name, row_folder / "files" / name, row_folder / line.split / name]
    for path in paths:
        if path.is_file():
            relative = path.relative_to(line.base).as_posix()
            resolved = _resolve_inside(line.base, relative)
            if resolved is None:
                problem = f"{relative} is a link that leaves the folder of the data"
                line.raise_field_error("file_name", problem)
            return resolved
    if paths:
        problem = f"there is no file {name or names['file_path']} next to the rows"
        line.raise_field_error("file_name", problem)
    return None


def _is_safe_path(name: str) -> bool:
    """Whether a name is a plain relative path: no root, no drive, no way up."""
    path = PurePosixPath(name)
    plain = not any(mark in name for mark in ("\\", ":", "\0"))
    return plain and not path.is_absolute() and ".." not in path.parts and bool(path.name)


def _resolve_inside(base: Path, relative: str) -> Path | None:
    """The file itself, None where it is gone or a link leads out of the folder."""
    if not _is_safe_path(relative):
        return None
    root, path = base.resolve(), (base / relative).resolve()
    return path if path.is_relative_to(root) and path.is_file() else None


def _raise_unreadable(line: _DatasetLine, path: Path) -> NoReturn:
    line.raise_field_error("file_name", f"{path} cannot be read; check its permissions")


def _hash_attachment(path: Path) -> str:
    """The hash of a file, "" where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
