"""Load domains and tasks from a folder in any of three layouts, plain or gzip.

- JSON: `<domain>/` with one file a table (`users.json`), `policy.md` and `tasks_<split>.jsonl`;
- a checkout of tau-bench: the same below `tau_bench/envs/`, tables in `data/`, the policy in
  `wiki.md`, tasks in `tasks_<split>.py`, whose literals are parsed and never run;
- a checkout of tau2-bench (retail): `data/tau2/domains/<domain>/`, under tau-bench's tools and
  reward and therefore labelled `tau2-offline`; it compares with no published number.
"""

from __future__ import annotations

import ast
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from evalcore.benchmarks.tau_bench.environment import airline, retail
from evalcore.benchmarks.tau_bench.environment.database import Database
from evalcore.benchmarks.tau_bench.environment.reward import (
    OTHER_START,
    TAU2_OFFLINE,
    Task,
    flag_task,
)
from evalcore.benchmarks.tau_bench.environment.tools import Domain, Tool, find_bounds_problem
from evalcore.errors import DatasetError, UsageError
from evalcore.i18n import Note
from evalcore.records import Record

LARGEST_FILE = 64 * 2**20
_MAX_VALUES = 3_000_000


def find_data_file(folder: Path, name: str) -> Path | None:
    """The file of that name in a folder, or the same with `.gz`; None where there is neither."""
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)


def require_data_file(folder: Path, name: str) -> Path:
    """As `find_data_file`. Raises DatasetError where there is neither."""
    path = find_data_file(folder, name)
    if path is None:
        raise DatasetError(folder, None, "", Note("tau_no_file", name=name))
    return path


def read_data_text(path: Path) -> str:
    """The text of a file. Raises DatasetError for one that is no UTF-8 or that is too large."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise DatasetError(path, None, "", Note("file_larger", largest_file=LARGEST_FILE))
        return content.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DatasetError(path, None, "", Note("no_utf8_text", error=error)) from None


def read_data_json(path: Path) -> Any:
    """The JSON of a file. Raises DatasetError, also for one that is nested too deep."""
    return _parse_bounded_json(path, None, read_data_text(path))


def iter_jsonl_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines, with line numbers from 1. Raises DatasetError."""
    for number, line in enumerate(read_data_text(path).split("\n"), 1):
        if line.strip():
            row = _parse_bounded_json(path, number, line)
            if not isinstance(row, dict):
                raise DatasetError(path, number, "", Note("upload_not_object"))
            yield number, row


def _parse_bounded_json(path: Path, line: int | None, text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DatasetError(path, line, "", Note("not_json", error=error)) from None
    problem = find_bounds_problem(value, _MAX_VALUES, LARGEST_FILE)
    if problem:
        raise DatasetError(path, line, "", problem)
    return value


def parse_python_tasks(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """The keywords of each `Task(...)` in the list that the file assigns, with its line; actions
    as {name, kwargs}. Raises DatasetError where anything but literals stands in them."""
    try:
        tree = ast.parse(read_data_text(path))
        for node in tree.body:
            value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
            if isinstance(value, ast.List) and value.elts:
                return [(item.lineno, _parse_call(item, "Task")) for item in value.elts]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise DatasetError(path, None, "", Note("tau_no_task_file", error=error)) from None
    raise DatasetError(path, None, "", Note("tau_no_task_list"))


def _parse_call(node: ast.expr, name: str) -> dict[str, Any]:
    """The keywords of `name(keyword=literal, ...)`. Raises ValueError for anything else."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)) or node.args:
        raise ValueError(f"line {node.lineno} is no {name}(...) of keywords")
    if node.func.id != name:
        raise ValueError(f"line {node.lineno} is no {name}(...)")
    return {word.arg or "": _parse_literal(word.arg, word.value) for word in node.keywords}


def _parse_literal(keyword: str | None, node: ast.expr) -> Any:
    if keyword == "actions" and isinstance(node, ast.List):
        return [_parse_call(item, "Action") for item in node.elts]
    return ast.literal_eval(node)


# tau2's JSON layout: one file each for the database, the tasks and the splits. What an LLM would
# judge there is left out, and the tools and the reward are those of tau-bench, so the results are
# labelled `tau2-offline` and compare with no published number.

_PARTS = ("reason_for_call", "known_info", "unknown_info", "task_instructions")


def load_tau2_splits(folder: Path) -> dict[str, list[str]]:
    """The ids of the tasks of each split; all of them are `base` where no file says otherwise.
    Raises DatasetError."""
    path = find_data_file(folder, "split_tasks.json")
    splits = (
        read_data_json(path)
        if path
        else {"base": [_get_task_id(task) for task in _read_task_list(folder)]}
    )
    if not isinstance(splits, dict) or not all(isinstance(ids, list) for ids in splits.values()):
        raise DatasetError(path or folder, None, "", Note("must_hold_splits"))
    return {split: [str(task_id) for task_id in ids] for split, ids in splits.items()}


def load_tau2_tasks(folder: Path, split: str) -> list[tuple[str, dict[str, Any]]]:
    """Id and fields, in the names of tau-bench, of a split's tasks. Raises DatasetError."""
    task_ids = load_tau2_splits(folder)[split]
    tasks_by_id = {_get_task_id(task): task for task in _read_task_list(folder)}
    missing = next((task_id for task_id in task_ids if task_id not in tasks_by_id), None)
    if missing is not None:
        raise DatasetError(folder, None, "id", Note("tau_no_task", missing=missing, split=split))
    return [(task_id, _convert_task_fields(folder, tasks_by_id[task_id])) for task_id in task_ids]


def _read_task_list(folder: Path) -> list[dict[str, Any]]:
    path = require_data_file(folder, "tasks.json")
    tasks = read_data_json(path)
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise DatasetError(path, None, "", Note("must_hold_tasks"))
    return tasks


def _get_task_id(task: dict[str, Any]) -> str:
    return str(task.get("id"))


def _convert_task_fields(folder: Path, task: dict[str, Any]) -> dict[str, Any]:
    try:
        criteria = task["evaluation_criteria"] or {}
        instructions = task["user_scenario"]["instructions"]
        if isinstance(instructions, dict):
            parts = [instructions.get(part) for part in _PARTS]
            instructions = "\n\n".join(part for part in parts if part)
        actions = [
            {"name": action["name"], "kwargs": action["arguments"]}
            for action in criteria.get("actions") or []
            if action.get("requestor", "assistant") == "assistant"
        ]
    except (AttributeError, KeyError, TypeError) as error:
        problem = f"task {_get_task_id(task)} is not in tau2's layout: {error!r}"
        raise DatasetError(folder / "tasks.json", None, "", problem) from None
    return {
        "instruction": instructions,
        "actions": actions,
        "outputs": criteria.get("communicate_info") or [],
        "flags": [TAU2_OFFLINE, *([OTHER_START] if _starts_elsewhere(task) else [])],
    }


def _starts_elsewhere(task: dict[str, Any]) -> bool:
    start = task.get("initial_state")
    return bool(start) and any(start.values()) if isinstance(start, dict) else bool(start)


#: Index or id of a task, its line if known, its fields.
_TaskRow = tuple[str, int | None, dict[str, Any]]

#: The tables and tools of each domain.
DOMAINS: MappingProxyType[str, tuple[tuple[str, ...], tuple[Tool, ...]]] = MappingProxyType(
    {"retail": (retail.TABLES, retail.TOOLS), "airline": (airline.TABLES, airline.TOOLS)}
)


class _DomainFiles(Record, frozen=True):
    """A domain's folder, the folder of its tables, and the file of its policy."""

    layout: Literal["json", "checkout", "tau2"]
    folder: Path
    tables: Path
    policy: str


def load_domain(folder: Path, name: str) -> Domain:
    """The domain `retail` or `airline`. Raises UsageError for another one, DatasetError for files
    that are missing or wrong."""
    if name not in DOMAINS:
        raise UsageError(Note("domain_unknown", name=name, names=", ".join(DOMAINS)))
    files, (tables, tools) = _locate_domain_files(folder, name), DOMAINS[name]
    policy = read_data_text(require_data_file(files.folder, files.policy))
    if files.layout == "tau2":
        path = require_data_file(files.tables, "db.json")
        whole = read_data_json(path)
        paths = dict.fromkeys(tables, path)
        rows: dict[str, Any] = dict(whole) if isinstance(whole, dict) else {}
    else:
        paths = {table: require_data_file(files.tables, f"{table}.json") for table in tables}
        rows = {table: read_data_json(path) for table, path in paths.items()}
    rows = {table: rows.get(table) for table in tables}
    for table, entities in rows.items():
        if not isinstance(entities, dict) or not all(
            isinstance(row, dict) for row in entities.values()
        ):
            raise DatasetError(paths[table], None, table, Note("must_hold_objects"))
    label = TAU2_OFFLINE if files.layout == "tau2" else ""
    return Domain(name, Database(rows), tools, policy, label)


def list_splits(folder: Path, name: str) -> tuple[str, ...]:
    """The splits of a domain's tasks, sorted. Raises DatasetError where the domain is missing."""
    files = _locate_domain_files(folder, name)
    if files.layout == "tau2":
        return tuple(sorted(load_tau2_splits(files.folder)))
    ending = ".py" if files.layout == "checkout" else ".jsonl*"
    names = (path.name.split(".")[0] for path in files.folder.glob(f"tasks_*{ending}"))
    return tuple(sorted({name.removeprefix("tasks_") for name in names}))


def load_tasks(folder: Path, domain: Domain, split: str) -> list[Task]:
    """The tasks of a split, flagged by replaying their ground truth on the domain. Raises
    UsageError for an unknown split, DatasetError naming file, line and field."""
    files = _locate_domain_files(folder, domain.name)
    available_splits = list_splits(folder, domain.name)
    if split not in available_splits:
        raise UsageError(
            Note(
                "domain_no_split",
                domain=domain.name,
                split=split,
                folder=folder,
                names=available_splits,
            )
        )
    path, rows = _read_task_rows(files, split)
    return [
        flag_task(
            domain,
            convert_task(
                path,
                line,
                {
                    **row,
                    "id": f"{domain.name}/{split}/{index}",
                    "source": f"{path.relative_to(folder)}:{line}" if line else "",
                },
                domain.name,
            ),
        )
        for index, line, row in rows
    ]


def _locate_domain_files(folder: Path, name: str) -> _DomainFiles:
    flat, checkout = folder / name, folder / "tau_bench" / "envs" / name
    tau2 = folder / "data" / "tau2" / "domains" / name
    if checkout.is_dir():
        return _DomainFiles("checkout", checkout, checkout / "data", "wiki.md")
    if name == "retail" and tau2.is_dir():
        return _DomainFiles("tau2", tau2, tau2, "policy.md")
    if flat.is_dir():
        return _DomainFiles("json", flat, flat, "policy.md")
    problem = f"holds no domain {name}: no folder {name}, tau_bench/envs/{name} or, of tau2's, "
    raise DatasetError(folder, None, "", problem + "data/tau2/domains/retail")


def _read_task_rows(files: _DomainFiles, split: str) -> tuple[Path, Iterable[_TaskRow]]:
    if files.layout == "tau2":
        rows = load_tau2_tasks(files.folder, split)
        return files.folder / "tasks.json", [(name, None, row) for name, row in rows]
    if files.layout == "checkout":
        path = files.folder / f"tasks_{split}.py"
        numbered_rows: Iterable[tuple[int, dict[str, Any]]] = parse_python_tasks(path)
    else:
        path = require_data_file(files.folder, f"tasks_{split}.jsonl")
        numbered_rows = iter_jsonl_rows(path)
    return path, ((str(index), line, row) for index, (line, row) in enumerate(numbered_rows))


def convert_task(path: Path, line: int | None, row: dict[str, Any], domain: str) -> Task:
    """A row as a task of a domain. Raises DatasetError for one that is none."""
    row = {"user_id": "", **row, "domain": domain}
    try:
        return msgspec.convert(row, Task)
    except msgspec.ValidationError as error:
        raise DatasetError(path, line, "", Note("no_task", error=error)) from None
