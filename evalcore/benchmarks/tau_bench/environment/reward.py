"""tau-bench's reward: 1 if the database is left as the ground truth leaves it, and all was said."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from evalcore.benchmarks.tau_bench.environment.database import DatabaseDifference
from evalcore.benchmarks.tau_bench.environment.output_check import find_missing_outputs
from evalcore.benchmarks.tau_bench.environment.play import Environment
from evalcore.benchmarks.tau_bench.environment.task import NOTHING_TO_DO, TRUTH_ERRS, Task
from evalcore.benchmarks.tau_bench.environment.tool import Domain
from evalcore.records import Record


class Reward(Record, frozen=True):
    """`value` is 0 or 1; the hashes are upstream's sha256 of the whole database, in hex.

    `difference` is the first place where the database departs from the ground truth's.
    """

    value: float
    actions_ok: bool
    outputs_ok: bool
    db_hash: str
    gt_hash: str
    missing_outputs: tuple[str, ...] = ()
    difference: DatabaseDifference | None = None


def compute_reward(
    domain: Domain,
    task: Task,
    environment: Environment,
    agent_messages: Sequence[str],
    *,
    substring: bool = False,
) -> Reward:
    """The reward for an environment as an agent left it, and the texts it said to the user.

    `substring` compares expected numbers as tau-bench itself does. Whether the episode came to its
    end at all, without which there is no reward, is the caller's to know.
    """
    expected = replay_ground_truth(domain, task).database
    unsaid = find_missing_outputs(task.outputs, agent_messages, substring=substring)
    difference = environment.database.first_difference(expected)
    return Reward(
        float(difference is None and not unsaid),
        difference is None,
        not unsaid,
        environment.database.hash(),
        expected.hash(),
        unsaid,
        difference,
    )


def replay_ground_truth(domain: Domain, task: Task) -> Environment:
    """A fresh environment after the actions of the ground truth; those that end the conversation
    are left out, as upstream does."""
    return _replay_actions(domain, task)[0]


def faults(domain: Domain, task: Task) -> list[str]:
    """What does not run of the ground truth: writes that are refused, and calls of no tool."""
    _, refused, unknown = _replay_actions(domain, task)
    return [*refused, *unknown]


def flag_task(domain: Domain, task: Task) -> Task:
    """The task, with the flags that a replay of its ground truth gives."""
    environment, refused, _ = _replay_actions(domain, task)
    flags = [*task.flags, *([TRUTH_ERRS] if refused else [])]
    if not task.outputs and not environment.database.list_changed_entities():
        flags.append(NOTHING_TO_DO)
    return msgspec.structs.replace(task, flags=tuple(flags))


def _replay_actions(domain: Domain, task: Task) -> tuple[Environment, list[str], list[str]]:
    """The environment after the ground truth, its writes that were refused and its calls of no
    tool, both in words."""
    tools = {tool.name: tool for tool in domain.tools}
    environment = Environment(domain)
    refused: list[str] = []
    unknown: list[str] = []
    for number, action in enumerate(task.actions, 1):
        tool = tools.get(action.name)
        if tool is None:
            unknown.append(f"action {number}: {domain.name} has no tool {action.name[:60]!r}")
        elif not tool.terminates:
            answer = environment.call(action.name, action.kwargs)
            if tool.writes and answer.startswith("Error"):
                refused.append(f"action {number}: {action.name} is refused: {answer[:200]}")
    return environment, refused, unknown
