"""Write the bundled data of tau_bench: two domains, policies and tasks, by rule from a seed.

`python -m tools.tau_tasks.generate OUT [SEED]`. The ground truth of every task is replayed and must
do just what the task says.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Literal

import msgspec

from evalcore.benchmarks.tau_bench.environment.database import Database
from evalcore.benchmarks.tau_bench.environment.loaders import DOMAINS
from evalcore.benchmarks.tau_bench.environment.reward import (
    NOTHING_TO_DO,
    TRUTH_ERRS,
    Task,
    flag_task,
    replay_ground_truth,
)
from evalcore.benchmarks.tau_bench.environment.tools import Domain
from evalcore.benchmarks.tau_bench.user_goals import Goal, Scenario, from_slots, to_slots
from tools.tau_tasks import policies
from tools.tau_tasks.airline_fixtures import new_airline
from tools.tau_tasks.airline_tasks import build_airline_plans
from tools.tau_tasks.plan import TaskPlan, build_instruction
from tools.tau_tasks.retail_fixtures import new_shop
from tools.tau_tasks.retail_tasks import build_retail_plans

SEED = 6
#: The only split of the tasks.
SPLIT = "bundled"
#: The most tasks of a domain whose right outcome is that nothing is written.
MOST_REFUSALS = 10
_Tables = dict[str, dict[str, dict[str, Any]]]


def generate_data_files(seed: int = SEED) -> dict[str, str]:
    """Generate the texts of all files, by path.

    Raises ValueError if a task breaks a rule of `validate_tasks`, and LookupError if the drawn
    records leave no room for a task.
    """
    shop = new_shop(Random(f"{seed}/retail"))  # noqa: S311
    plans = build_retail_plans(shop)
    tables: _Tables = {"orders": shop.orders, "products": shop.products, "users": shop.users}
    files = _build_domain_files("retail", tables, policies.RETAIL, plans)
    airline = new_airline(Random(f"{seed}/airline"))  # noqa: S311
    plans = build_airline_plans(airline)
    tables = {
        "flights": airline.flights,
        "reservations": airline.reservations,
        "users": airline.users,
    }
    return files | _build_domain_files("airline", tables, policies.AIRLINE, plans)


def validate_tasks(domain: Domain, tasks: list[Task]) -> None:
    """Replay every ground truth: no write fails or changes nothing, only a refusal leaves the
    database as it was, and the slots survive a round trip.

    Raises ValueError naming the first task that breaks a rule, or a domain of too many refusals.
    """
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
            not task.actions or environment.database.hash() != before.hash(),
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


def _build_domain_files(
    name: Literal["retail", "airline"], tables: _Tables, policy: str, plans: Sequence[TaskPlan]
) -> dict[str, str]:
    users = tables["users"]
    tasks = [_build_tau_task(name, index, plan, users) for index, plan in enumerate(plans)]
    validate_tasks(Domain(name, Database(tables), DOMAINS[name][1], policy), tasks)
    rows = [_build_task_row(task, plan) for task, plan in zip(tasks, plans, strict=True)]
    files = {f"{table}.json": _format_records(entities) for table, entities in tables.items()}
    files |= {"policy.md": policy, f"tasks_{SPLIT}.jsonl": _format_json_lines(rows)}
    return {f"{name}/{path}": text for path, text in files.items()}


def _build_tau_task(
    name: str, index: int, plan: TaskPlan, users: Mapping[str, Mapping[str, Any]]
) -> Task:
    noun: Literal["order", "reservation"] = "order" if name == "retail" else "reservation"
    identity = build_identity(name, index, plan.user_id, users[plan.user_id])
    scenario = Scenario(identity, plan.goals, noun)
    return Task(
        f"{name}/{SPLIT}/{index}",
        name,
        plan.user_id,
        build_instruction(scenario),
        plan.actions,
        plan.outputs,
        to_slots(scenario),
    )


def build_identity(name: str, index: int, user_id: str, user: Mapping[str, Any]) -> dict[str, str]:
    """Build what the user remembers: in the shop the zip code or the email, in turn."""
    identity = {"name": f"{user['name']['first_name']} {user['name']['last_name']}"}
    if name == "airline":
        return {**identity, "user_id": user_id}
    if index % 2:
        return {**identity, "email": user["email"]}
    return {**identity, "zip": user["address"]["zip"]}


def _build_task_row(task: Task, plan: TaskPlan) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(task)
    fields = ("user_id", "instruction", "actions", "outputs", "slots")
    row = {name: plain[name] for name in fields if name in plain}
    return {**row, "topic": plan.topic, "difficulty_level": plan.difficulty}


def _format_records(rows: Mapping[str, Any]) -> str:
    """Format JSON with a record per line."""
    return (
        "{\n"
        + ",\n".join(f"{json.dumps(key)}:{_format_compact_json(row)}" for key, row in rows.items())
        + "\n}\n"
    )


def _format_json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{_format_compact_json(row)}\n" for row in rows)


def _format_compact_json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _count_expected_writes(goals: tuple[Goal, ...]) -> int:
    """Count the writes that the goals call for; a fallback replaces its goal."""
    return sum(
        goal.kind != "question" and not (goal.refusal and not goal.fallback) for goal in goals
    )


def _require_rule(holds: bool, task: Task, problem: str) -> None:
    if not holds:
        raise ValueError(f"{task.id}: {problem}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line: write all files into a folder."""
    parser = argparse.ArgumentParser(description="Write the bundled data of tau_bench.")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to write")
    parser.add_argument("seed", type=int, nargs="?", default=SEED, metavar="SEED")
    args = parser.parse_args(arguments)
    for path, text in generate_data_files(args.seed).items():
        destination = args.out / path
        destination.parent.mkdir(parents=True, exist_ok=True)
        destination.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
