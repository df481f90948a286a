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
from evalcore.benchmarks.tau_bench.environment.files import json_of, needed, rows_of, text_of
from evalcore.benchmarks.tau_bench.environment.reward import flagged
from evalcore.benchmarks.tau_bench.environment.task import TAU2_OFFLINE, Task
from evalcore.benchmarks.tau_bench.environment.tau2 import tau2_splits, tau2_tasks
from evalcore.benchmarks.tau_bench.environment.tool import Domain, Tool
from evalcore.benchmarks.tau_bench.environment.upstream import python_tasks
from evalcore.errors import DatasetError, UsageError
from evalcore.records import Record

#: Index or id of a task, its line if known, its fields.
_Row = tuple[str, int | None, dict[str, Any]]

#: The tables and tools of each domain.
DOMAINS: MappingProxyType[str, tuple[tuple[str, ...], tuple[Tool, ...]]] = MappingProxyType(
    {"retail": (retail.TABLES, retail.TOOLS), "airline": (airline.TABLES, airline.TOOLS)}
)


class _Place(Record, frozen=True):
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
    place, (tables, tools) = _place(folder, name), DOMAINS[name]
    policy = text_of(needed(place.folder, place.policy))
    if place.layout == "tau2":
        path = needed(place.tables, "db.json")
        whole = json_of(path)
        paths = dict.fromkeys(tables, path)
        rows: dict[str, Any] = dict(whole) if isinstance(whole, dict) else {}
    else:
        paths = {table: needed(place.tables, f"{table}.json") for table in tables}
        rows = {table: json_of(path) for table, path in paths.items()}
    rows = {table: rows.get(table) for table in tables}
    for table, found in rows.items():
        if not isinstance(found, dict) or not all(isinstance(row, dict) for row in found.values()):
            raise DatasetError(paths[table], None, table, "must hold objects by their ids")
    label = TAU2_OFFLINE if place.layout == "tau2" else ""
    return Domain(name, Database(rows), tools, policy, label)


def splits(folder: Path, name: str) -> tuple[str, ...]:
    """The splits of a domain's tasks, sorted. Raises DatasetError where the domain is missing."""
    place = _place(folder, name)
    if place.layout == "tau2":
        return tuple(sorted(tau2_splits(place.folder)))
    ending = ".py" if place.layout == "checkout" else ".jsonl*"
    names = (path.name.split(".")[0] for path in place.folder.glob(f"tasks_*{ending}"))
    return tuple(sorted({name.removeprefix("tasks_") for name in names}))


def load_tasks(folder: Path, domain: Domain, split: str) -> list[Task]:
    """The tasks of a split, flagged by replaying their ground truth on the domain.

    Raises UsageError for an unknown split, DatasetError naming file, line and field.
    """
    place = _place(folder, domain.name)
    known = splits(folder, domain.name)
    if split not in known:
        raise UsageError(f"{domain.name} has no split {split!r} in {folder}; it has: {known}")
    path, rows = _rows(place, split)
    return [
        flagged(
            domain,
            _task(
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


def _place(folder: Path, name: str) -> _Place:
    flat, checkout = folder / name, folder / "tau_bench" / "envs" / name
    tau2 = folder / "data" / "tau2" / "domains" / name
    if checkout.is_dir():
        return _Place("checkout", checkout, checkout / "data", "wiki.md")
    if name == "retail" and tau2.is_dir():
        return _Place("tau2", tau2, tau2, "policy.md")
    if flat.is_dir():
        return _Place("json", flat, flat, "policy.md")
    problem = f"holds no domain {name}: no folder {name}, tau_bench/envs/{name} or, of tau2's, "
    raise DatasetError(folder, None, "", problem + "data/tau2/domains/retail")


def _rows(place: _Place, split: str) -> tuple[Path, Iterable[_Row]]:
    if place.layout == "tau2":
        rows = tau2_tasks(place.folder, split)
        return place.folder / "tasks.json", [(name, None, row) for name, row in rows]
    if place.layout == "checkout":
        path = place.folder / f"tasks_{split}.py"
        found: Iterable[tuple[int, dict[str, Any]]] = python_tasks(path)
    else:
        path = needed(place.folder, f"tasks_{split}.jsonl")
        found = rows_of(path)
    return path, ((str(index), line, row) for index, (line, row) in enumerate(found))


def _task(path: Path, line: int | None, row: dict[str, Any]) -> Task:
    row = {"user_id": "", **row, "domain": row["id"].split("/")[0]}
    try:
        return msgspec.convert(row, Task)
    except msgspec.ValidationError as error:
        raise DatasetError(path, line, "", f"is no task: {error}") from None
