"""The bundled data of tau_bench, made by rule from a seed: two domains, policies and tasks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any, Literal

import msgspec

from evalcore.benchmarks.tau_bench.environment.database import Database
from evalcore.benchmarks.tau_bench.environment.load import DOMAINS
from evalcore.benchmarks.tau_bench.environment.task import Task
from evalcore.benchmarks.tau_bench.environment.tool import Domain
from evalcore.benchmarks.tau_bench.users.goals import Scenario, to_slots
from tools.tau_tasks import policies
from tools.tau_tasks.airline_fixtures import new_airline
from tools.tau_tasks.airline_tasks import build_airline_plans
from tools.tau_tasks.check import validate_tasks
from tools.tau_tasks.plan import TaskPlan
from tools.tau_tasks.prose import build_instruction
from tools.tau_tasks.retail_fixtures import new_shop
from tools.tau_tasks.retail_tasks import build_retail_plans

SEED = 6
#: The one split of the tasks.
SPLIT = "bundled"
_Tables = dict[str, dict[str, dict[str, Any]]]


def generate_data_files(seed: int = SEED) -> dict[str, str]:
    """The texts of all files by path. Raises ValueError where a task breaks the rules of
    `validate_tasks`, LookupError where the draw has no room for one."""
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
    identity = _build_identity(name, index, plan.user_id, users[plan.user_id])
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


def _build_identity(name: str, index: int, user_id: str, user: Mapping[str, Any]) -> dict[str, str]:
    """What the user remembers: in the shop the zip code or the email, in turn."""
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
    """JSON with one record a line."""
    return (
        "{\n"
        + ",\n".join(f"{json.dumps(key)}:{_format_compact_json(row)}" for key, row in rows.items())
        + "\n}\n"
    )


def _format_json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{_format_compact_json(row)}\n" for row in rows)


def _format_compact_json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
