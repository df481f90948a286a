"""Fuzzed episodes of tau2-bench, played by our worlds and by upstream's own code beside them."""

from __future__ import annotations

import json
import os
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from evalcore.benchmarks.tau2_bench.environment import telecom
from evalcore.benchmarks.tau2_bench.environment.loaders import list_splits, load_tasks, load_world
from evalcore.benchmarks.tau2_bench.environment.reward import compute_reward, start_environment
from evalcore.benchmarks.tau2_bench.environment.tasks import Task, task_to_json
from evalcore.benchmarks.tau2_bench.environment.world import Environment, World
from evalcore.errors import DatasetError
from evalcore.settings import ROOT

#: What upstream answers in another way; no state depends on it.
_SEARCH = ("KB_search", "grep")
_ODD: tuple[Any, ...] = (None, 3, 2.5, "", "x", [], {}, True, "3", -1)
Call = dict[str, Any]


class Fuzzer:
    """Call sequences about the tasks of a domain: their ground truth in part, in another order,
    with other values, and other tools between."""

    def __init__(self, world: World, tasks: Sequence[Task], seed: int) -> None:
        self.world, self.tasks, self.rng = world, tasks, Random(f"{world.name}/{seed}")
        self.values: dict[str, list[Any]] = defaultdict(list)
        for task in tasks:
            for action in task.actions:
                for name, value in action.arguments.items():
                    self.values[name].append(value)
        for _, table in _iter_tables(world):
            for row in list(table.values())[:400]:
                for name, value in row.items():
                    if isinstance(value, str | int | float):
                        self.values[name].append(value)

    def draw(self) -> tuple[Task, list[Call], list[str]]:
        rng = self.rng
        task = rng.choice(self.tasks)
        calls: list[Call] = []
        for action in task.actions:
            if rng.random() < 0.9:
                calls.append(_build_call(action.name, action.arguments, action.requestor))
        mode = rng.random()
        if mode > 0.3:
            for _ in range(rng.randrange(1, 5)):
                calls.insert(rng.randrange(len(calls) + 1), self._draw_call())
        if mode > 0.6 and calls:
            self._change_value(rng.choice(calls))
        if mode > 0.9:
            rng.shuffle(calls)
        says = list(task.criteria.communicate_info or ())
        if rng.random() < 0.2:
            says = [f"It is {text}, I think." for text in says[1:]]
        return task, calls, says

    def _draw_call(self) -> Call:
        side = "user" if self.world.user_tools and self.rng.random() < 0.5 else "assistant"
        tools = self.world.user_tools if side == "user" else self.world.tools
        tool = self.rng.choice([tool for tool in tools if tool.name not in _SEARCH])
        arguments = {name: self._draw_value(name) for name in tool.parameters["properties"]}
        return _build_call(tool.name, arguments, side)

    def _draw_value(self, name: str) -> Any:
        known = self.values.get(name)
        if not known or self.rng.random() < 0.05:
            return self.rng.choice(_ODD)
        return json.loads(json.dumps(self.rng.choice(known)))

    def _change_value(self, call: Call) -> None:
        if not call["arguments"]:
            return
        name = self.rng.choice(sorted(call["arguments"]))
        if self.rng.random() < 0.15:
            call["arguments"].pop(name)
        else:
            call["arguments"][name] = self._draw_value(name)


def _build_call(name: str, arguments: dict[str, Any], requestor: str) -> Call:
    copy = json.loads(json.dumps(arguments))
    return {"name": name, "arguments": copy, "requestor": requestor}


def _iter_tables(world: World) -> Iterator[tuple[str, dict[str, Any]]]:
    databases = [world.state.agent]
    if world.state.user is not world.state.agent:
        databases.append(world.state.user)
    for database in databases:
        for name in database._base.tables:
            yield name, dict(database.rows(name))


def dump_state(environment: Environment) -> tuple[Any, Any]:
    """Both sides as upstream's program gives them: what changed, or all of a telephone's."""
    world, state = environment.domain, environment.state
    if world.name != "telecom":
        agent: dict[str, dict[str, Any]] = defaultdict(dict)
        for (table, row_id), row in state.agent.list_changed_entities().items():
            agent[table][row_id] = row
        return agent, agent if world.name == "banking_knowledge" else None
    lists = {name: [row for _, row in state.agent.rows(name)] for name in telecom.TABLES}
    user = {name: state.user.get(name, name) for name in state.user._base.tables}
    return lists, user


def dump_base(world: World) -> Any:
    """The database that episodes begin with, as upstream's program gives it."""
    if world.name == "telecom":
        return {}
    tables = {name: dict(world.state.agent.rows(name)) for name in world.state.agent._base.tables}
    return json.loads(json.dumps(tables))


def play_here(world: World, task: Task, calls: Sequence[Call], says: Sequence[str]) -> Any:
    environment = start_environment(world, task)
    done = [
        environment.try_call(call["name"], call["arguments"], call["requestor"])[1]
        for call in calls
    ]
    agent, user = dump_state(environment)
    reward = compute_reward(world, task, environment, says, substring=True)
    parts = [value for name, value in reward.parts.items() if name != "NL_ASSERTION"]
    value = float(all(part == 1 for part in parts))
    plain = json.loads(json.dumps({"agent": agent, "user": user}))
    return {"reward": value, "errors": [not each for each in done], **plain}


class Upstream:
    """Upstream's own code in another interpreter: one of the programs beside this file that answers
    a line with a line."""

    def __init__(self, python: str, program: str, checkout: Path, data: Path, *rest: str) -> None:
        self.process = subprocess.Popen(
            [python, "-m", f"tests.support.{program}", str(checkout), *rest],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={
                **os.environ,
                "TAU2_DATA_DIR": str(data),
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            },
        )

    def __enter__(self) -> Upstream:
        return self

    def __exit__(self, *reason: object) -> None:
        self.process.kill()
        self.process.communicate()

    def ask(self, **request: Any) -> Any:
        if "task" in request:
            request["task"] = build_official_task(request["task"])
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "upstream's interpreter ended"
        return json.loads(line)


def build_official_task(task: Task) -> dict[str, Any]:
    """A task as upstream reads it: with the fields that our records leave out as defaults."""
    fields = json.loads(task_to_json(task))
    fields.pop("slots", None)
    criteria, initial = fields.get("evaluation_criteria") or {}, fields.get("initial_state") or {}
    criteria["reward_basis"] = list(task.criteria.reward_basis)
    for number, action in enumerate(criteria.get("actions") or []):
        action |= {"action_id": str(number), "arguments": action.get("arguments", {})}
    starts, ends = initial.get("initialization_actions"), criteria.get("env_assertions")
    for call in (*(starts or []), *(ends or [])):
        call |= {
            "arguments": call.get("arguments", {}),
            "env_type": call.get("env_type", "assistant"),
        }
    return fields


def require_world(folder: Path, domain: str) -> World:
    """A domain of a checkout; the test is skipped where the checkout lacks a file of it."""
    try:
        return load_world(folder, domain)
    except DatasetError as error:
        pytest.skip(f"shared data absent: {domain} is unproved: {error}")


def load_all_tasks(folder: Path, domain: str) -> tuple[World, list[Task]]:
    world = load_world(folder, domain)
    tasks: dict[str, Task] = {}
    for split in list_splits(folder, domain):
        tasks |= {task.id: task for task in load_tasks(folder, world, split)}
    return world, list(tasks.values())


def iter_comparisons(
    upstream: Upstream, folder: Path, domain: str, numbers: Iterable[int], seed: int = 0
) -> Iterator[tuple[int, bool, Any]]:
    """Fuzzed episodes by number from 0: whether upstream rewards each, and the first field in which
    ours differs, with the calls and both values; None if nowhere."""
    world, tasks = load_all_tasks(folder, domain)
    theirs = _strip_notes(upstream.ask(domain=domain))
    assert theirs == dump_base(world), f"{domain}: upstream's database is another one"
    fuzzer, chosen = Fuzzer(world, tasks, seed), set(numbers)
    for number in range(max(chosen, default=-1) + 1):
        task, calls, says = fuzzer.draw()
        if number not in chosen:
            continue
        theirs = upstream.ask(domain=domain, task=task, calls=calls, says=says, states=True)
        ours = play_here(world, task, calls, says)
        names = (
            name
            for name in ("errors", "reward", "agent", "user")
            if _normalize(theirs[name], world) != _normalize(ours[name], world)
        )
        name = next(names, "")
        difference = (name, task.id, calls, theirs[name], ours[name]) if name else None
        yield number, theirs["reward"] == 1, difference


def _strip_notes(base: Any) -> Any:
    """Tables without the notes that a bank's have beside their rows."""
    return {
        name: table["data"] if set(table) == {"data", "notes"} else table
        for name, table in base.items()
    }


def _normalize(value: Any, world: World) -> Any:
    """Bills that an episode began have ids that upstream draws at random: they get one here. A row
    that equals its first state, but for the kind of a number, is none that changed."""
    if isinstance(value, dict) and world.name != "telecom":
        base = world.state.agent
        return {
            name: rows
            for name, table in value.items()
            if (rows := {key: row for key, row in table.items() if base.get(name, key) != row})
        }
    if isinstance(value, dict) and "bills" in value:
        drawn = {
            bill["bill_id"]
            for bill in value["bills"]
            if len(bill["bill_id"]) == 9 and bill["bill_id"][0] == "B"
        }
        text = json.dumps(value)
        for bill_id in drawn:
            text = text.replace(bill_id, "B-new")
        return json.loads(text)
    return value
