"""The proof of a generated task: its ground truth is replayed and must do just what it says."""

from __future__ import annotations

from evalcore.benchmarks.tau_bench.environment.reward import flag_task, replay_ground_truth
from evalcore.benchmarks.tau_bench.environment.task import NOTHING_TO_DO, TRUTH_ERRS, Task
from evalcore.benchmarks.tau_bench.environment.tool import Domain
from evalcore.benchmarks.tau_bench.users.goals import Goal, from_slots, to_slots

#: The most tasks of a domain whose right outcome is that nothing is written.
MOST_REFUSALS = 10


def validate_tasks(domain: Domain, tasks: list[Task]) -> None:
    """Raises ValueError naming the first task that does not keep the rules: no write of the ground
    truth errs or changes nothing, only refusals leave everything as it was, slots are usable."""
    refusals = 0
    for task in tasks:
        flags = flag_task(domain, task).flags
        scenario = from_slots(task.slots or {})
        denied = all(goal.refusal and goal.fallback is None for goal in scenario.goals)
        environment = replay_ground_truth(domain, task)
        before = domain.database.fork()
        refusals += denied
        _require_rule(to_slots(scenario) == task.slots, task, "its slots do not survive reading")
        _require_rule(TRUTH_ERRS not in flags, task, "a write of its ground truth is refused")
        _require_rule((NOTHING_TO_DO in flags) == denied, task, "doing nothing is or is not right")
        _require_rule(
            len(environment.writes) == len(task.actions), task, "an action writes nothing"
        )
        _require_rule(
            not task.actions or not environment.database.has_same_state(before),
            task,
            "nothing changes",
        )
        _require_rule(
            _count_expected_writes(scenario.goals) == len(task.actions),
            task,
            "goals and actions do not match",
        )
    if refusals > MOST_REFUSALS:
        raise ValueError(f"{domain.name}: {refusals} refusals are more than {MOST_REFUSALS}")


def _count_expected_writes(goals: tuple[Goal, ...]) -> int:
    """How many writes the goals come to; a fallback stands for its goal."""
    return sum(
        goal.kind != "question" and not (goal.refusal and not goal.fallback) for goal in goals
    )


def _require_rule(holds: bool, task: Task, problem: str) -> None:
    if not holds:
        raise ValueError(f"{task.id}: {problem}")
