"""What a reward rests on, as sections for the Case page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalcore.benchmarks.tau_bench.environment import DatabaseDifference, Reward, Task
from evalcore.records import Section


def build_tau_sections(task: Task, reward: Reward, user: Mapping[str, Any]) -> tuple[Section, ...]:
    """The first entity that differs, what was never said, the user's goals and the true actions."""
    sections = []
    if reward.difference is not None:
        sections.append(_build_difference_section(reward.difference))
    if reward.missing_outputs:
        rows = [[text] for text in reward.missing_outputs]
        sections.append(_build_table_section("missing_outputs", ["output"], rows))
    if user.get("goals"):
        rows = [[goal["kind"], goal["order"], goal["progress"]] for goal in user["goals"]]
        sections.append(_build_table_section("goals", ["goal", "subject", "progress"], rows))
    if task.actions:
        calls = [{"name": action.name, "arguments": action.kwargs} for action in task.actions]
        sections.append(Section(kind="json", title="true_actions", body=calls))
    return tuple(sections)


def _build_difference_section(difference: DatabaseDifference) -> Section:
    path = ".".join((difference.table, difference.id, *map(str, difference.path)))
    pair = {"expected": difference.expected, "actual": difference.actual}
    body = {**pair, "differences": [{"path": path, **pair}]}
    return Section(kind="tree_diff", title="database_difference", body=body)


def _build_table_section(title: str, columns: list[str], rows: list[list[Any]]) -> Section:
    return Section(kind="table", title=title, body={"columns": columns, "rows": rows})
