"""Load worlds and tasks from a folder, in the layout of the bundled data or of tau2-bench.

- bundled: `<domain>/` with `db.json`, `user_db.json` where the user has a device, `policy.md`,
  `documents.jsonl` where there is a knowledge base, and `tasks_<split>.jsonl`;
- a checkout or a fetched copy of tau2-bench: `data/tau2/domains/<domain>/` with its own names.

Files that a checkout lacks are named; a telephone company without `tasks.json` has the tasks of
`tasks_small.json` alone.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from evalcore.benchmarks.tau2_bench.environment import (
    airline,
    banking,
    banking_desk,
    retail,
    telecom,
    telecom_device,
    telecom_phone,
    telecom_setup,
)
from evalcore.benchmarks.tau2_bench.environment.knowledge import Document, build_search_tools
from evalcore.benchmarks.tau2_bench.environment.reward import flag_task
from evalcore.benchmarks.tau2_bench.environment.shapes import Convert, Shape, ShapeError, to_text
from evalcore.benchmarks.tau2_bench.environment.tasks import Task, read_task
from evalcore.benchmarks.tau2_bench.environment.world import State, World
from evalcore.benchmarks.tau_bench.environment.database import Database
from evalcore.benchmarks.tau_bench.environment.loaders import (
    find_data_file,
    iter_jsonl_rows,
    read_data_json,
    read_data_text,
    require_data_file,
)
from evalcore.errors import DatasetError, UsageError
from evalcore.i18n import Note
from evalcore.records import Record

#: Where a checkout keeps the domains.
CHECKOUT_FOLDER = "data/tau2/domains"
#: The split of all tasks that upstream reports on.
ALL_TASKS_SPLIT = "base"
_SMALL_SPLIT = "small"
#: How the sha256 of the databases of tau2-bench 1.0.1 begins, by path below the domains.
OFFICIAL_DATABASES: Mapping[str, str] = MappingProxyType(
    {
        "retail/db.json": "413a65160adbdb5fde0ffc0015c49b6d",
        "airline/db.json": "1af9fea6e03ca7ca15a22bb3fcaf3e35",
        "telecom/db.toml": "562d647ef9d7df8df91eafd8ee76036e",
        "telecom/user_db.toml": "4886107ea0c16f8e16d74bef91cfb557",
        "banking_knowledge/db.json": "e692feb797c659f0e21ff7380aa87beb",
    }
)

Tables = dict[str, dict[str, Any]]


class DomainFiles(Record, frozen=True):
    """A domain's folder, and whether it is laid out as upstream's."""

    name: str
    folder: Path
    official: bool


def _build_tables(shapes: Mapping[str, Convert], rows: Any, path: Path) -> Tables:
    """Tables of rows by id, each in its shape. Raises DatasetError."""
    tables: Tables = {}
    for table, shape in shapes.items():
        rows_by_id = rows.get(table) if isinstance(rows, dict) else None
        if not isinstance(rows_by_id, dict):
            raise DatasetError(path, None, table, Note("must_hold_objects"))
        tables[table] = {
            row_id: _shape_row(shape, row, path, f"{table}.{row_id}")
            for row_id, row in rows_by_id.items()
        }
    return tables


def _build_listed_tables(rows: Any, path: Path) -> Tables:
    """Tables of telecom, whose files hold lists. Raises DatasetError."""
    tables: Tables = {}
    for table, (shape, id_field) in telecom.TABLES.items():
        listed = rows.get(table, []) if isinstance(rows, dict) else None
        if not isinstance(listed, list):
            raise DatasetError(path, None, table, Note("must_hold_list"))
        shaped = [_shape_row(shape, row, path, f"{table}[{at}]") for at, row in enumerate(listed)]
        tables[table] = {row[id_field]: row for row in shaped}
    return tables


def _shape_row(shape: Convert, row: Any, path: Path, place: str) -> Any:
    try:
        return shape(row)
    except ShapeError as error:
        raise DatasetError(path, None, place, str(error)) from None


def _load_retail(files: DomainFiles) -> World:
    path, rows = _read_database(files, "db")
    state = State(Database(_build_tables(retail.TABLES, rows, path)))
    return World(files.name, state, retail.TOOLS, _read_policy(files))


def _load_airline(files: DomainFiles) -> World:
    path, rows = _read_database(files, "db")
    state = State(Database(_build_tables(airline.TABLES, rows, path)))
    return World(files.name, state, airline.TOOLS, _read_policy(files))


def _load_telecom(files: DomainFiles) -> World:
    path, rows = _read_database(files, "db")
    agent = Database(_build_listed_tables(rows, path))
    path, rows = _read_database(files, "user_db")
    rows_by_id = rows if isinstance(rows, dict) else {}
    user = Database(
        {
            table: {table: _shape_row(shape, rows_by_id.get(table, {}), path, table)}
            for table, shape in telecom_phone.TABLES.items()
        }
    )
    return World(
        files.name,
        State(agent, user),
        telecom.TOOLS,
        _read_telecom_policy(files) if files.official else _read_policy(files),
        telecom_device.TOOLS,
        {"assistant": telecom.FUNCTIONS, "user": telecom_setup.FUNCTIONS},
        telecom_phone.synchronize,
        unwrap_data=_unwrap_phone,
    )


_DOCUMENT = Shape({"id": to_text, "title": to_text, "content": to_text})


def _load_bank(files: DomainFiles) -> World:
    path, rows = _read_database(files, "db")
    tables: Tables = {}
    for table in banking.TABLES:
        rows_by_id = rows.get(table, {}) if isinstance(rows, dict) else None
        data = rows_by_id.get("data", {}) if isinstance(rows_by_id, dict) else None
        if not isinstance(data, dict) or not all(isinstance(row, dict) for row in data.values()):
            raise DatasetError(path, None, table, "must hold objects by their ids in its data")
        tables[table] = data
    documents = tuple(_read_documents(files))
    return World(
        files.name,
        State(Database(tables)),
        (*banking_desk.AGENT_TOOLS, *build_search_tools(documents)),
        read_bank_prompt(files.folder, _OWN_SEARCH) if files.official else _read_policy(files),
        banking_desk.USER_TOOLS,
        documents=documents,
        unwrap_data=_unwrap_bank,
        note_ground_truth=banking_desk.note_ground_truth,
    )


def _unwrap_bank(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """A bank's data as tables of rows. Raises KeyError for a table that it has not."""
    unknown = sorted(data.keys() - set(banking.TABLES))
    if unknown:
        raise KeyError(f"the bank has no table {unknown[0]!r}")
    return {table: rows_by_id.get("data", {}) for table, rows_by_id in data.items()}


def _read_documents(files: DomainFiles) -> Iterator[Document]:
    """The knowledge base, a file a document or a line a document. Raises DatasetError."""
    if files.official:
        for path in sorted((files.folder / "documents").glob("*.json")):
            yield _shape_row(_DOCUMENT, read_data_json(path), path, "")
        return
    path = require_data_file(files.folder, "documents.jsonl")
    for number, row in iter_jsonl_rows(path):
        yield _shape_row(_DOCUMENT, row, path, f"line {number}")


_COMPONENT = re.compile(r"\{\{component:(\w+)\}\}")
_OWN_SEARCH = "classic_rag_bm25"  # upstream's prompt for the two searches that are ours, too


def read_bank_prompt(folder: Path, name: str) -> str:
    """The prompt of a way to the documents, with its components. Raises DatasetError."""
    text = read_data_text(require_data_file(folder / "prompts", f"{name}.md"))

    def read_component(match: re.Match[str]) -> str:
        path = require_data_file(folder / "prompts" / "components", f"{match.group(1)}.md")
        return read_data_text(path)

    return _COMPONENT.sub(read_component, text)


def _unwrap_phone(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """A phone's data as tables of one row each. Raises ValueError for anything else."""
    if not data.keys() <= telecom_phone.TABLES.keys():
        raise ValueError("only the user's device and surroundings can be set by data")
    return {table: {table: row} for table, row in data.items()}


def _read_telecom_policy(files: DomainFiles) -> str:
    """The two policies of a checkout, each in the element that upstream puts around it."""
    parts = (("main_policy", "main_policy.md"), ("tech_support_policy", "tech_support_manual.md"))
    texts = ((tag, read_data_text(require_data_file(files.folder, name))) for tag, name in parts)
    return "\n".join(f"<{tag}>\n{text}\n</{tag}>" for tag, text in texts)


def _read_policy(files: DomainFiles) -> str:
    return read_data_text(require_data_file(files.folder, "policy.md"))


def _read_database(files: DomainFiles, name: str) -> tuple[Path, Any]:
    """The file of a database, JSON or TOML, and what it holds. Raises DatasetError."""
    path = find_data_file(files.folder, f"{name}.toml")
    if path is None:
        path = require_data_file(files.folder, f"{name}.json")
        return path, read_data_json(path)
    try:
        return path, tomllib.loads(read_data_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DatasetError(path, None, "", Note("not_toml", error=error)) from None


#: How each domain is loaded.
DOMAINS: Mapping[str, Callable[[DomainFiles], World]] = MappingProxyType(
    {
        "retail": _load_retail,
        "airline": _load_airline,
        "telecom": _load_telecom,
        "banking_knowledge": _load_bank,
    }
)


def load_world(folder: Path, name: str) -> World:
    """A domain. Raises UsageError for an unknown one, DatasetError for files that are missing or
    wrong."""
    return DOMAINS[name](locate_domain(folder, name))


def locate_domain(folder: Path, name: str) -> DomainFiles:
    """Where a domain's files are. Raises UsageError and DatasetError as `load_world`."""
    if name not in DOMAINS:
        raise UsageError(Note("domain_unknown", name=name, names=", ".join(DOMAINS)))
    for parent, official in ((folder / CHECKOUT_FOLDER, True), (folder, False)):
        if (parent / name).is_dir():
            return DomainFiles(name, parent / name, official)
    problem = f"holds no domain {name}: no folder {name} or {CHECKOUT_FOLDER}/{name}"
    raise DatasetError(folder, None, "", problem)


def has_official_database(folder: Path, name: str) -> bool:
    """Whether a domain's databases are upstream's, byte by byte."""
    domains = locate_domain(folder, name).folder.parent
    files = [(domains / path, OFFICIAL_DATABASES[path]) for path in OFFICIAL_DATABASES]
    return all(
        path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest().startswith(digest)
        for path, digest in files
        if path.parent.name == name
    )


def list_splits(folder: Path, name: str) -> tuple[str, ...]:
    """The splits of a domain's tasks, sorted. Raises DatasetError where the domain is missing."""
    files = locate_domain(folder, name)
    if files.official:
        return tuple(sorted(_read_official_splits(files)))
    names = (path.name.split(".")[0] for path in files.folder.glob("tasks_*.jsonl*"))
    return tuple(sorted({name.removeprefix("tasks_") for name in names}))


def load_tasks(folder: Path, world: World, split: str) -> list[Task]:
    """The tasks of a split, flagged by replaying their ground truth. Raises UsageError for an
    unknown split, DatasetError naming file, line and field."""
    files = locate_domain(folder, world.name)
    splits = list_splits(folder, world.name)
    if split not in splits:
        raise UsageError(
            Note(
                "domain_no_split",
                domain=world.name,
                split=split,
                folder=folder,
                names=", ".join(splits),
            )
        )
    rows = _iter_official_tasks(files, split) if files.official else _iter_tasks(files, split)
    return [flag_task(world, _convert_task(folder, *row)) for row in rows]


def _iter_tasks(files: DomainFiles, split: str) -> Iterator[tuple[Path, int | None, Any]]:
    path = require_data_file(files.folder, f"tasks_{split}.jsonl")
    for number, row in iter_jsonl_rows(path):
        yield path, number, {"id": f"{split}/{number - 1}", **row}


def _read_official_tasks(files: DomainFiles) -> list[tuple[Path, Any]]:
    """All tasks of a checkout's domain with their files. Raises DatasetError."""
    if (files.folder / "tasks").is_dir():
        paths = sorted((files.folder / "tasks").glob("task_*.json"))
        return [(path, read_data_json(path)) for path in paths]
    path = find_data_file(files.folder, "tasks.json")
    if path is None:
        path = find_data_file(files.folder, f"tasks_{_SMALL_SPLIT}.json")
    if path is None:
        path = require_data_file(files.folder, "tasks.json")
    tasks = read_data_json(path)
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise DatasetError(path, None, "", Note("must_hold_tasks"))
    return [(path, task) for task in tasks]


def _read_official_splits(files: DomainFiles) -> dict[str, list[str]]:
    """The ids of the tasks of each split, as far as all of them are there. Raises DatasetError."""
    present = {str(task.get("id")) for _, task in _read_official_tasks(files)}
    path = find_data_file(files.folder, "split_tasks.json")
    if path is None:
        return {ALL_TASKS_SPLIT: sorted(present)}
    splits = read_data_json(path)
    if not isinstance(splits, dict) or not all(isinstance(ids, list) for ids in splits.values()):
        raise DatasetError(path, None, "", Note("must_hold_splits"))
    whole = {
        name: list(map(str, ids))
        for name, ids in splits.items()
        if present.issuperset(map(str, ids))
    }
    return whole or {_SMALL_SPLIT: sorted(present)}


def _iter_official_tasks(files: DomainFiles, split: str) -> Iterable[tuple[Path, int | None, Any]]:
    chosen = set(_read_official_splits(files)[split])
    for path, task in _read_official_tasks(files):
        if str(task.get("id")) in chosen:
            yield path, None, task


def _convert_task(folder: Path, path: Path, line: int | None, row: Any) -> Task:
    source = f"{path.relative_to(folder)}:{line}" if line else ""
    try:
        return read_task({**row, "id": str(row["id"]), "source": source, "flags": []})
    except (msgspec.ValidationError, KeyError, TypeError) as error:
        raise DatasetError(path, line, "", Note("no_task", error=error)) from None


def hash_world(world: World) -> str:
    """What a world's first state is told apart by, in hex."""
    state = world.state
    own = "" if state.user is state.agent else state.user.hash()
    return json.dumps([state.agent.hash(), own])
