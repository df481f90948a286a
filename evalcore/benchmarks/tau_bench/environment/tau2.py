"""tau2's JSON layout: one file each for the database, the tasks and the splits.

What an LLM would judge there is left out, and the tools and the reward are those of tau-bench, so
the results are labelled `tau2-offline` and compare with no published number.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalcore.benchmarks.tau_bench.environment.files import existing, json_of, needed
from evalcore.benchmarks.tau_bench.environment.task import OTHER_START, TAU2_OFFLINE
from evalcore.errors import DatasetError

_PARTS = ("reason_for_call", "known_info", "unknown_info", "task_instructions")


def tau2_splits(folder: Path) -> dict[str, list[str]]:
    """The ids of the tasks of each split; all of them are `base` where no file says otherwise.

    Raises DatasetError.
    """
    path = existing(folder, "split_tasks.json")
    found = json_of(path) if path else {"base": [_id(task) for task in _tasks(folder)]}
    if not isinstance(found, dict) or not all(isinstance(ids, list) for ids in found.values()):
        raise DatasetError(path or folder, None, "", "must hold a list of ids for each split")
    return {split: [str(one) for one in ids] for split, ids in found.items()}


def tau2_tasks(folder: Path, split: str) -> list[tuple[str, dict[str, Any]]]:
    """Id and fields, in the names of tau-bench, of a split's tasks. Raises DatasetError."""
    wanted = tau2_splits(folder)[split]
    known = {_id(task): task for task in _tasks(folder)}
    missing = next((one for one in wanted if one not in known), None)
    if missing is not None:
        raise DatasetError(folder, None, "id", f"no task has the id {missing!r} of split {split}")
    return [(one, _fields(folder, known[one])) for one in wanted]


def _tasks(folder: Path) -> list[dict[str, Any]]:
    path = needed(folder, "tasks.json")
    found = json_of(path)
    if not isinstance(found, list) or not all(isinstance(task, dict) for task in found):
        raise DatasetError(path, None, "", "must hold a list of tasks")
    return found


def _id(task: dict[str, Any]) -> str:
    return str(task.get("id"))


def _fields(folder: Path, task: dict[str, Any]) -> dict[str, Any]:
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
        problem = f"task {_id(task)} is not in tau2's layout: {error!r}"
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
