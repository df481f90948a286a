"""Rows of SWE-bench as samples, and samples as tasks again.

Read are the older columns and those of version 5, from JSON lines or Parquet. The repository of a
task is a bundle that its row names, or is looked for in a folder: `<instance_id>` or
`<owner>__<name>`, as a bundle or a checkout. The commit hash says what is in it, so that nothing
else is recorded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.case_file import CaseLine, read_table_rows
from evalcore.benchmarks.swe_bench import Task
from evalcore.errors import DatasetError, UsageError
from evalcore.i18n import Note
from evalcore.records import Sample
from evalcore.settings import ROOT, relative_to_root

#: Metrics by the words of the column `difficulty` of Verified; UNRATED is for rows without it.
METRICS = {
    "<15 min fix": "under_15_min",
    "15 min - 1 hour": "up_to_1_hour",
    "1-4 hours": "up_to_4_hours",
    ">4 hours": "over_4_hours",
}
UNRATED = "unrated"
_FILES = ("*.jsonl", "*.parquet")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_EVAL_TYPES = ("pass_and_fail", "fail_only")
_TEXTS = ("version", "difficulty", "eval_script", "log_parser", "image", "text")
#: Fields of a task that decide what is right; the target knows the others.
_REFERENCE = (
    *("patch", "test_patch", "fail_to_pass", "pass_to_pass"),
    *("eval_script", "log_parser", "eval_type", "image"),
)


def load_swe_samples(source: DatasetSource, repositories: str = "") -> list[Sample]:
    """The samples of a file or of all files of a folder, in their order. Raises DatasetError naming
    file, line and field, also for a task that stands there twice."""
    if repositories and not Path(repositories).is_dir():
        raise UsageError(Note("swe_no_folder", path=repositories))
    samples: dict[str, Sample] = {}
    for line in _iter_task_rows(source.folder):
        sample = _build_task_sample(line, _parse_task(line, repositories))
        if source.metrics and sample.metric not in source.metrics:
            continue
        if sample.id in samples:
            line.raise_field_error("instance_id", Note("upload_here_twice", id=f"{sample.id!r}"))
        samples[sample.id] = sample
    return list(samples.values())


def to_swe_task(sample: Sample) -> Task:
    repository = str(sample.meta.get("repository", ""))
    about = {
        "instance_id": sample.id,
        "difficulty": sample.meta.get("difficulty", ""),
        "repository": str(ROOT / repository) if repository else "",
    }
    return msgspec.convert(sample.input | sample.reference | about, Task)


class _TaskLine(CaseLine, frozen=True):
    """A row of tasks. A partial one may lack commit, patch and tests, and is never executed."""

    is_partial: bool = False


def _iter_task_rows(source_path: Path) -> Iterator[_TaskLine]:
    if not source_path.exists():
        raise DatasetError(source_path, None, "", Note("no_such_path"))
    paths = sorted(path for form in _FILES for path in source_path.glob(form))
    if source_path.is_dir() and not paths:
        raise DatasetError(source_path, None, "", Note("swe_no_tasks"))
    for path in paths or [source_path]:
        for number, row in read_table_rows(path):
            yield _read_task_line(path, number, row)


def _read_task_line(path: Path, number: int, row: dict[str, Any]) -> _TaskLine:
    """A row, with SWE-bench's names where it is one of slm-evals."""
    if "instance_id" in row and "issue" not in row:
        return _TaskLine(path, number, row)
    renamed = {
        "repo": "unknown/repo",
        "instance_id": str(row.get("id") or f"row_{number}"),
        "problem_statement": row.get("issue"),
        **row,
    }
    return _TaskLine(path, number, renamed, is_partial=True)


def _parse_task(line: _TaskLine, repositories: str) -> Task:
    identity, repo = _require_pattern(line, "instance_id", _NAME), line.parse_text("repo")
    eval_type = line.row.get("eval_type") or _EVAL_TYPES[0]
    if eval_type not in _EVAL_TYPES:
        line.raise_field_error(
            "eval_type",
            Note("upload_none_of", value=f"{eval_type!r}", names=", ".join(_EVAL_TYPES)),
        )
    fields: dict[str, Any] = {
        "instance_id": identity,
        "repo": repo,
        "eval_type": eval_type,
        "problem_statement": line.parse_text("problem_statement"),
    }
    texts = ("patch", "test_patch")
    if line.is_partial:
        fields |= {name: _read_optional_text(line, name) for name in ("base_commit", *texts)}
        fields |= {"fail_to_pass": (), "pass_to_pass": ()}
    else:
        fields |= {name: line.parse_text(name) for name in texts}
        fields |= {
            "base_commit": _require_pattern(line, "base_commit", _COMMIT),
            "fail_to_pass": _parse_test_list(line, "FAIL_TO_PASS"),
            "pass_to_pass": _parse_test_list(line, "PASS_TO_PASS"),
            "repository": _find_repository(line, identity, repo, repositories),
        }
    fields |= {name: _read_optional_text(line, name) for name in _TEXTS}
    return msgspec.convert(fields, Task)


def _build_task_sample(line: CaseLine, task: Task) -> Sample:
    fields = msgspec.to_builtins(task)
    input_names = ("repo", "base_commit", "version", "problem_statement")
    shown = {name: getattr(task, name) for name in input_names}
    meta = {
        "difficulty": task.difficulty,
        "repository": task.repository,
        # Right or wrong patches as predictions that are taken as they stand.
        **{
            name: [{"model_patch": patch} for patch in line.parse_text_list(name)]
            for name in ("variants", "counterexamples")
        },
        "source": line.source,
    }
    return Sample(
        metric=METRICS.get(task.difficulty, UNRATED),
        id=task.instance_id,
        input=shown | ({"text": task.text} if task.text else {}),
        reference={name: fields[name] for name in _REFERENCE if name in fields},
        meta={name: value for name, value in meta.items() if value},
    )


def _require_pattern(line: CaseLine, field: str, pattern: re.Pattern[str]) -> str:
    value = line.parse_text(field)
    if not pattern.fullmatch(value):
        line.raise_field_error(field, f"{value[:80]!r} is not of the form {pattern.pattern}")
    return value


def _read_optional_text(line: CaseLine, field: str) -> str:
    return "" if line.row.get(field) is None else line.parse_optional_text(field)


def _parse_test_list(line: CaseLine, field: str) -> tuple[str, ...]:
    """A list of test ids, which upstream holds as JSON text."""
    value = line.row.get(field)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            line.raise_field_error(field, "is not the JSON of a list of tests")
    if not isinstance(value, list) or not all(isinstance(test, str) for test in value):
        line.raise_field_error(field, "must be a list of tests, or the JSON text of one")
    return tuple(value)


def _find_repository(line: CaseLine, identity: str, repo: str, folder: str) -> str:
    """Where the repository is, relative to the project where it is inside of it; "" for nowhere."""
    bundle_name = _read_optional_text(line, "bundle")
    if bundle_name:
        home = line.path.parent.resolve()
        bundle_path = (home / bundle_name).resolve()
        if not bundle_path.is_relative_to(home):
            problem = f"{bundle_name!r} is outside the folder of the dataset"
            line.raise_field_error("bundle", problem)
        if not bundle_path.is_file():
            problem = f"{bundle_name!r} is missing; it should be next to {line.path.name}"
            line.raise_field_error("bundle", problem)
        return relative_to_root(bundle_path)
    if not folder:
        return ""
    for name in (identity, repo.replace("/", "__")):
        if not _NAME.fullmatch(name):
            line.raise_field_error("repo", f"{repo[:80]!r} must be owner/name")
        for candidate in (Path(folder) / f"{name}.bundle", Path(folder) / name):
            if candidate.exists():
                return relative_to_root(candidate)
    return ""


def filter_difficulties(samples: Sequence[Sample], difficulties: Sequence[str]) -> list[Sample]:
    """Those of the named difficulties, written as upstream or as metrics; all without names. Raises
    UsageError for a name that is none."""
    if not difficulties:
        return list(samples)
    metrics = (*METRICS.values(), UNRATED)
    chosen = [METRICS.get(name, name) for name in difficulties]
    for name, metric in zip(difficulties, chosen, strict=True):
        if metric not in metrics:
            raise UsageError(Note("swe_difficulty", name=name, names=", ".join(metrics)))
    return [sample for sample in samples if sample.metric in chosen]
