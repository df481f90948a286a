"""Reading domains and tasks from a folder, in any of three layouts.

- JSON: `<domain>/` with one file a table (`users.json`), `policy.md` and `tasks_<split>.jsonl`;
- a checkout of tau-bench: the same below `tau_bench/envs/`, tables in `data/`, the policy in
  `wiki.md`, tasks in `tasks_<split>.py`, which are parsed and never run;
- a checkout of tau2-bench (retail): `data/tau2/domains/<domain>/`, labelled `tau2-offline`.

JSON files may be gzip files (`users.json.gz`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from evalcore.benchmarks.tau_bench.environment import airline, retail
from evalcore.benchmarks.tau_bench.environment.database import Database
from evalcore.benchmarks.tau_bench.environment.files import (
    iter_jsonl_rows,
    read_data_json,
    read_data_text,
    require_data_file,
)
from evalcore.benchmarks.tau_bench.environment.reward import flag_task
from evalcore.benchmarks.tau_bench.environment.task import TAU2_OFFLINE, Task
from evalcore.benchmarks.tau_bench.environment.tau2 import load_tau2_splits, load_tau2_tasks
from evalcore.benchmarks.tau_bench.environment.tool import Domain, Tool
from evalcore.benchmarks.tau_bench.environment.upstream import parse_python_tasks
from evalcore.errors import DatasetError, UsageError
from evalcore.records import Record

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
        raise UsageError(f"unknown domain {name!r}; one of {', '.join(DOMAINS)}")
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
            raise DatasetError(paths[table], None, table, "must hold objects by their ids")
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
    """The tasks of a split, flagged by replaying their ground truth on the domain.

    Raises UsageError for an unknown split, DatasetError naming file, line and field.
    """
    files = _locate_domain_files(folder, domain.name)
    available_splits = list_splits(folder, domain.name)
    if split not in available_splits:
        raise UsageError(
            f"{domain.name} has no split {split!r} in {folder}; it has: {available_splits}"
        )
    path, rows = _read_task_rows(files, split)
    return [
        flag_task(
            domain,
            _convert_task(
                path,
                line,
                {
                    **row,
                    "id": f"{domain.name}/{split}/{index}",
                    "source": f"{path.relative_to(folder)}:{line}" if line else "",
                },
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


def _convert_task(path: Path, line: int | None, row: dict[str, Any]) -> Task:
    row = {"user_id": "", **row, "domain": row["id"].split("/")[0]}
    try:
        return msgspec.convert(row, Task)
    except msgspec.ValidationError as error:
        raise DatasetError(path, line, "", f"is no task: {error}") from None
