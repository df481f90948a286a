"""Write the bundled data of tau2_bench: domains, policies and tasks, by rule from a seed.

`python -m tools.tau2_tasks.generate OUT [SEED]`. The ground truth of every task is played through
the tools and must earn the reward; doing nothing must not.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Literal

import msgspec

from evalcore.benchmarks.tau2_bench.environment.loaders import load_tasks, load_world
from evalcore.benchmarks.tau2_bench.environment.reward import compute_reward, start_environment
from evalcore.benchmarks.tau2_bench.environment.tasks import Task
from evalcore.benchmarks.tau2_bench.environment.world import World
from evalcore.benchmarks.tau_bench.user_goals import Scenario, to_slots
from tools.tau2_tasks import bank_documents, policies
from tools.tau2_tasks.bank_tasks import Bank, build_bank_tasks
from tools.tau2_tasks.phone_fixtures import build_phone, new_phone_company
from tools.tau2_tasks.phone_tasks import build_phone_tasks
from tools.tau2_tasks.shop_tasks import build_shop_plans
from tools.tau2_tasks.trip_tasks import build_trip_plans
from tools.tau_tasks.airline_fixtures import new_airline
from tools.tau_tasks.generate import build_identity
from tools.tau_tasks.plan import TaskPlan, build_instruction
from tools.tau_tasks.policies import AIRLINE, RETAIL
from tools.tau_tasks.retail_fixtures import new_shop

SEED = 11
SPLIT = "bundled"
Row = dict[str, Any]


def generate_data_files(seed: int = SEED) -> dict[str, str]:
    """Generate the texts of all files, by path. Raises ValueError if a task breaks a rule of
    `validate_tasks`, and LookupError if the drawn records leave no room for a task."""
    files = {
        **_build_shop(seed),
        **_build_airline(seed),
        **_build_phone_company(seed),
        **_build_bank(seed),
    }
    with TemporaryDirectory() as folder:
        write_files(Path(folder), files)
        for domain in sorted({path.split("/")[0] for path in files}):
            world = load_world(Path(folder), domain)
            validate_tasks(world, load_tasks(Path(folder), world, SPLIT))
    return files


def validate_tasks(world: World, tasks: Sequence[Task]) -> None:
    """Play every ground truth: it runs and earns the reward, and doing nothing earns none. Raises
    ValueError naming the first task that breaks a rule."""
    for task in tasks:
        environment = start_environment(world, task)
        for action in task.actions:
            answer = environment.call(action.name, action.arguments, action.requestor)
            _require(not answer.startswith("Error"), task, f"{action.name}: {answer}")
        says = task.criteria.communicate_info or ()
        reward = compute_reward(world, task, environment, says, substring=False)
        _require(reward.value == 1, task, f"its ground truth earns no reward: {reward}"[:2000])
        _require(not task.flags, task, f"it is flagged: {task.flags}")


def _require(holds: bool, task: Task, problem: str) -> None:
    if not holds:
        raise ValueError(f"{task.id}: {problem}")


def _build_shop(seed: int) -> dict[str, str]:
    shop = new_shop(Random(f"{seed}/retail"))  # noqa: S311
    plans = build_shop_plans(shop)
    users = {user_id: {"user_id": user_id, **user} for user_id, user in shop.users.items()}
    tables = {"products": shop.products, "users": users, "orders": shop.orders}
    return _build_files("retail", tables, RETAIL, _build_plan_rows("retail", plans, users))


def _build_airline(seed: int) -> dict[str, str]:
    airline = new_airline(Random(f"{seed}/airline"))  # noqa: S311
    plans = build_trip_plans(airline)
    users = {user_id: {"user_id": user_id, **user} for user_id, user in airline.users.items()}
    flights = {number: _add_landing_times(flight) for number, flight in airline.flights.items()}
    tables = {"flights": flights, "users": users, "reservations": airline.reservations}
    return _build_files("airline", tables, AIRLINE, _build_plan_rows("airline", plans, users))


def _add_landing_times(flight: Row) -> Row:
    """A flight whose landed days have the times that tau2-bench's records hold: those planned."""
    times = {
        f"actual_{name}_time_est": flight[f"scheduled_{name}_time_est"]
        for name in ("departure", "arrival")
    }
    dates = {
        day: {**on_day, **{name: f"{day}T{time}" for name, time in times.items()}}
        if on_day["status"] == "landed"
        else on_day
        for day, on_day in flight["dates"].items()
    }
    return {**flight, "dates": dates}


def _build_phone_company(seed: int) -> dict[str, str]:
    company = new_phone_company(Random(f"{seed}/telecom"))  # noqa: S311
    rows = build_phone_tasks(company)
    files = _build_files("telecom", company.to_tables(), policies.TELECOM, rows)
    return {**files, "telecom/user_db.json": f"{_format_compact(build_phone())}\n"}


def _build_bank(seed: int) -> dict[str, str]:
    bank = Bank(Random(f"{seed}/banking"))  # noqa: S311
    rows = build_bank_tasks(bank)
    documents = (
        {"id": name, "title": title, "content": content}
        for name, title, content in bank_documents.DOCUMENTS
    )
    text = "".join(f"{_format_compact(document)}\n" for document in documents)
    files = _build_files("banking_knowledge", bank.to_tables(), bank_documents.BANKING, rows)
    return {**files, "banking_knowledge/documents.jsonl": text}


def _build_plan_rows(
    domain: Literal["retail", "airline"], plans: Sequence[TaskPlan], users: Mapping[str, Row]
) -> list[Row]:
    rows = []
    for index, plan in enumerate(plans):
        identity = build_identity(domain, index, plan.user_id, users[plan.user_id])
        noun: Literal["order", "reservation"] = "order" if domain == "retail" else "reservation"
        scenario = Scenario(identity, plan.goals, noun)
        criteria: Row = {
            "actions": [
                {"name": action.name, "arguments": action.kwargs} for action in plan.actions
            ],
            "communicate_info": list(plan.outputs),
            "reward_basis": ["DB", "COMMUNICATE"],
        }
        rows.append(
            {
                "id": f"{domain}_{index:02}",
                "user_scenario": {"instructions": build_instruction(scenario)},
                "evaluation_criteria": msgspec.to_builtins(criteria),
                "slots": to_slots(scenario),
                "topic": plan.topic,
                "difficulty_level": plan.difficulty,
            }
        )
    return rows


def _build_files(
    domain: str, tables: Mapping[str, Any], policy: str, rows: Iterable[Row]
) -> dict[str, str]:
    tasks = "".join(f"{_format_compact(row)}\n" for row in rows)
    files = {"db.json": _format_tables(tables), "policy.md": policy, f"tasks_{SPLIT}.jsonl": tasks}
    return {f"{domain}/{name}": text for name, text in files.items()}


def _format_tables(tables: Mapping[str, Any]) -> str:
    """Format JSON with a record a line."""
    return (
        "{\n"
        + ",\n".join(f"{json.dumps(name)}:{_format_rows(rows)}" for name, rows in tables.items())
        + "\n}\n"
    )


def _format_rows(rows: Any) -> str:
    if isinstance(rows, list):
        return "[\n" + ",\n".join(map(_format_compact, rows)) + "\n]"
    lines = (f"{json.dumps(key)}:{_format_compact(row)}" for key, row in rows.items())
    return "{\n" + ",\n".join(lines) + "\n}"


def _format_compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        destination = folder / path
        destination.parent.mkdir(parents=True, exist_ok=True)
        destination.write_text(text, encoding="utf-8", newline="\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line: write all files into a folder."""
    parser = argparse.ArgumentParser(description="Write the bundled data of tau2_bench.")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to write")
    parser.add_argument("seed", type=int, nargs="?", default=SEED, metavar="SEED")
    args = parser.parse_args(arguments)
    write_files(args.out, generate_data_files(args.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
