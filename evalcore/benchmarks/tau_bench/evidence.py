"""What a reward rests on, as sections for the Case page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalcore.benchmarks.tau_bench.environment import Difference, Reward, Task
from evalcore.records import Section


def sections(task: Task, found: Reward, user: Mapping[str, Any]) -> tuple[Section, ...]:
    """The first entity that differs, what was never said, the user's goals and the true actions."""
    made = []
    if found.difference is not None:
        made.append(_difference(found.difference))
    if found.missing_outputs:
        rows = [[text] for text in found.missing_outputs]
        made.append(_table("missing_outputs", ["output"], rows))
    if user.get("goals"):
        rows = [[goal["kind"], goal["order"], goal["progress"]] for goal in user["goals"]]
        made.append(_table("goals", ["goal", "subject", "progress"], rows))
    if task.actions:
        calls = [{"name": one.name, "arguments": one.kwargs} for one in task.actions]
        made.append(Section(kind="json", title="true_actions", body=calls))
    return tuple(made)


def _difference(found: Difference) -> Section:
    path = ".".join((found.table, found.id, *map(str, found.path)))
    pair = {"expected": found.expected, "actual": found.actual}
    body = {**pair, "differences": [{"path": path, **pair}]}
    return Section(kind="tree_diff", title="database_difference", body=body)


def _table(title: str, columns: list[str], rows: list[list[Any]]) -> Section:
    return Section(kind="table", title=title, body={"columns": columns, "rows": rows})
