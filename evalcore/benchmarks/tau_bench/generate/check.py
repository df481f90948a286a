"""The proof of a generated task: its ground truth is replayed and must do just what it says."""

from __future__ import annotations

from evalcore.benchmarks.tau_bench.environment.reward import flagged, truth
from evalcore.benchmarks.tau_bench.environment.task import NOTHING_TO_DO, TRUTH_ERRS, Task
from evalcore.benchmarks.tau_bench.environment.tool import Domain
from evalcore.benchmarks.tau_bench.users.goals import Goal, from_slots, to_slots

#: The most tasks of a domain whose right outcome is that nothing is written.
MOST_REFUSALS = 10


def check(domain: Domain, tasks: list[Task]) -> None:
    """Raises ValueError naming the first task that does not keep the rules: no write of the ground
    truth errs or changes nothing, only refusals leave everything as it was, slots are usable."""
    refusals = 0
    for task in tasks:
        found = flagged(domain, task).flags
        scenario = from_slots(task.slots or {})
        denied = all(goal.refusal and goal.fallback is None for goal in scenario.goals)
        environment = truth(domain, task)
        before = domain.database.fork()
        refusals += denied
        _must(to_slots(scenario) == task.slots, task, "its slots do not survive reading")
        _must(TRUTH_ERRS not in found, task, "a write of its ground truth is refused")
        _must((NOTHING_TO_DO in found) == denied, task, "doing nothing is or is not right")
        _must(len(environment.writes) == len(task.actions), task, "an action writes nothing")
        _must(not task.actions or not environment.database.same(before), task, "nothing changes")
        _must(_ways(scenario.goals) == len(task.actions), task, "goals and actions do not match")
    if refusals > MOST_REFUSALS:
        raise ValueError(f"{domain.name}: {refusals} refusals are more than {MOST_REFUSALS}")


def _ways(goals: tuple[Goal, ...]) -> int:
    """How many writes the goals come to; a fallback stands for its goal."""
    return sum(
        goal.kind != "question" and not (goal.refusal and not goal.fallback) for goal in goals
    )


def _must(holds: bool, task: Task, problem: str) -> None:
    if not holds:
        raise ValueError(f"{task.id}: {problem}")
