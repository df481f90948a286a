"""tau2's JSON layout: one file each for the database, the tasks and the splits.

What an LLM would judge there is left out, and the tools and the reward are those of tau-bench, so
the results are labelled `tau2-offline` and compare with no published number.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalcore.benchmarks.tau_bench.environment.files import (
    find_data_file,
    read_data_json,
    require_data_file,
)
from evalcore.benchmarks.tau_bench.environment.task import OTHER_START, TAU2_OFFLINE
from evalcore.errors import DatasetError

_PARTS = ("reason_for_call", "known_info", "unknown_info", "task_instructions")


def load_tau2_splits(folder: Path) -> dict[str, list[str]]:
    """The ids of the tasks of each split; all of them are `base` where no file says otherwise.

    Raises DatasetError.
    """
    path = find_data_file(folder, "split_tasks.json")
    splits = (
        read_data_json(path)
        if path
        else {"base": [_get_task_id(task) for task in _read_task_list(folder)]}
    )
    if not isinstance(splits, dict) or not all(isinstance(ids, list) for ids in splits.values()):
        raise DatasetError(path or folder, None, "", "must hold a list of ids for each split")
    return {split: [str(task_id) for task_id in ids] for split, ids in splits.items()}


def load_tau2_tasks(folder: Path, split: str) -> list[tuple[str, dict[str, Any]]]:
    """Id and fields, in the names of tau-bench, of a split's tasks. Raises DatasetError."""
    task_ids = load_tau2_splits(folder)[split]
    tasks_by_id = {_get_task_id(task): task for task in _read_task_list(folder)}
    missing = next((task_id for task_id in task_ids if task_id not in tasks_by_id), None)
    if missing is not None:
        raise DatasetError(folder, None, "id", f"no task has the id {missing!r} of split {split}")
    return [(task_id, _convert_task_fields(folder, tasks_by_id[task_id])) for task_id in task_ids]


def _read_task_list(folder: Path) -> list[dict[str, Any]]:
    path = require_data_file(folder, "tasks.json")
    tasks = read_data_json(path)
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise DatasetError(path, None, "", "must hold a list of tasks")
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
