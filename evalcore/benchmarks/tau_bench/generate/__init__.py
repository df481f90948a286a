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
from evalcore.benchmarks.tau_bench.generate import policies
from evalcore.benchmarks.tau_bench.generate.airline_tasks import airline_plans
from evalcore.benchmarks.tau_bench.generate.airline_world import new_airline
from evalcore.benchmarks.tau_bench.generate.check import check
from evalcore.benchmarks.tau_bench.generate.plan import Plan
from evalcore.benchmarks.tau_bench.generate.prose import instruction
from evalcore.benchmarks.tau_bench.generate.retail_tasks import retail_plans
from evalcore.benchmarks.tau_bench.generate.retail_world import new_shop
from evalcore.benchmarks.tau_bench.users.goals import Scenario, to_slots

SEED = 6
#: The one split of the tasks.
SPLIT = "bundled"
_Tables = dict[str, dict[str, dict[str, Any]]]


def generate(seed: int = SEED) -> dict[str, str]:
    """The texts of all files by path. Raises ValueError where a task breaks the rules of `check`,
    LookupError where the draw has no room for one."""
    shop = new_shop(Random(f"{seed}/retail"))  # noqa: S311
    plans = retail_plans(shop)
    tables: _Tables = {"orders": shop.orders, "products": shop.products, "users": shop.users}
    files = _files("retail", tables, policies.RETAIL, plans)
    airline = new_airline(Random(f"{seed}/airline"))  # noqa: S311
    plans = airline_plans(airline)
    tables = {
        "flights": airline.flights,
        "reservations": airline.reservations,
        "users": airline.users,
    }
    return files | _files("airline", tables, policies.AIRLINE, plans)


def _files(
    name: Literal["retail", "airline"], tables: _Tables, policy: str, plans: Sequence[Plan]
) -> dict[str, str]:
    users = tables["users"]
    tasks = [_task(name, index, plan, users) for index, plan in enumerate(plans)]
    check(Domain(name, Database(tables), DOMAINS[name][1], policy), tasks)
    rows = [_row(task, plan) for task, plan in zip(tasks, plans, strict=True)]
    files = {f"{table}.json": _object(rows_of) for table, rows_of in tables.items()}
    files |= {"policy.md": policy, f"tasks_{SPLIT}.jsonl": _lines(rows)}
    return {f"{name}/{path}": text for path, text in files.items()}


def _task(name: str, index: int, plan: Plan, users: Mapping[str, Mapping[str, Any]]) -> Task:
    noun: Literal["order", "reservation"] = "order" if name == "retail" else "reservation"
    identity = _identity(name, index, plan.user_id, users[plan.user_id])
    scenario = Scenario(identity, plan.goals, noun)
    return Task(
        f"{name}/{SPLIT}/{index}",
        name,
        plan.user_id,
        instruction(scenario),
        plan.actions,
        plan.outputs,
        to_slots(scenario),
    )


def _identity(name: str, index: int, user_id: str, user: Mapping[str, Any]) -> dict[str, str]:
    """What the user remembers: in the shop the zip code or the email, in turn."""
    known = {"name": f"{user['name']['first_name']} {user['name']['last_name']}"}
    if name == "airline":
        return {**known, "user_id": user_id}
    if index % 2:
        return {**known, "email": user["email"]}
    return {**known, "zip": user["address"]["zip"]}


def _row(task: Task, plan: Plan) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(task)
    kept = ("user_id", "instruction", "actions", "outputs", "slots")
    row = {name: plain[name] for name in kept if name in plain}
    return {**row, "topic": plan.topic, "difficulty_level": plan.difficulty}


def _object(rows: Mapping[str, Any]) -> str:
    """JSON with one record a line."""
    return (
        "{\n" + ",\n".join(f"{json.dumps(key)}:{_json(row)}" for key, row in rows.items()) + "\n}\n"
    )


def _lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{_json(row)}\n" for row in rows)


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
