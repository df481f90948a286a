"""Whether the ground truth of tasks runs: its calls are replayed on a fresh database."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from evalcore.benchmarks.base import DatasetIssue
from evalcore.benchmarks.tau_bench.dataset import load_sample_domain, to_task
from evalcore.benchmarks.tau_bench.environment import Task
from evalcore.benchmarks.tau_bench.environment.reward import faults
from evalcore.benchmarks.tau_bench.environment.task import TAU2_OFFLINE
from evalcore.errors import EnvironmentFailure
from evalcore.records import Sample, content_hash

#: Tasks of tau-bench's retail that upstream published with a refused write, by
#: `_hash_task_content`: the official reward follows that ground truth, so they are not refused.
_PUBLISHED_FAULTY_TASKS = frozenset(
    [
        "6e5937abd963",
        "b0aade9084ce",
        "e65491cf62e6",
        "8e8793fd4831",
        "46b3e56e466d",
        "7e9dc1168ea4",
        "081b3d91a556",
        "146faa9421f8",
        "196c81513fd6",
        "1fd3941fd0d6",
        "b820489ae857",
        "99caa50f1af7",
        "e0715e430b0f",
        "979b09a23a44",
        "f61829a0ba45",
        "1a26df35a458",
        "c2e26e9493b5",
        "c9c0ef8a2419",
        "0915f5b52835",
        "b641b7f8f1c7",
        "dcfe47142bc6",
        "f8cbd31c4d0d",
        "272e3d7bcb16",
    ]
)


def confirm_actions(sample: Sample) -> Iterator[DatasetIssue]:
    """A finding where a call of the ground truth is of no tool, or a write of it is refused."""
    task = to_task(sample)
    try:
        domain = load_sample_domain(sample)
    except EnvironmentFailure as error:
        yield DatasetIssue(sample.key, str(error), "actions", kind="unconfirmed")
        return
    problems = faults(domain, task)
    if not problems:
        return
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    if _hash_task_content(task) in _PUBLISHED_FAULTY_TASKS or domain.label == TAU2_OFFLINE:
        problem = f"the published ground truth does not run: {problems[0]}{more}"
        yield DatasetIssue(sample.key, problem, "actions", kind="unconfirmed")
        return
    yield DatasetIssue(sample.key, f"the ground truth does not run: {problems[0]}{more}", "actions")


def _hash_task_content(task: Task) -> str:
    return content_hash([task.instruction, msgspec.to_builtins(task.actions), task.outputs], 12)
