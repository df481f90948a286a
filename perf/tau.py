"""How fast tau-bench episodes are played and rewarded, beside copying the whole database.

    python perf/tau.py [FOLDER] [--official PLACE]

FOLDER holds the data (default: `tau_bench` in the folder that EVALBOARD_SHARED_DATA names, or in
../shared/data beside the project), PLACE a checkout of tau-bench (default: EVALBOARD_TAU_BENCH),
which is left out where it or its libraries are absent. An episode is the task's ground truth, every
call of it, and the reward. `plain` is upstream's way with the same tools: the database deep-copied
for the episode and for the ground truth, and each hashed as a whole. `cold` remembers no hash from
one episode to the next. Prints episodes per second on one core and ratios to `plain`. Exit status 1
says that fewer than 100 a second were reached.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import os
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from evalcore.benchmarks.tau_bench.environment import (  # noqa: E402
    Database,
    Domain,
    Environment,
    Task,
    compute_reward,
    list_splits,
    load_domain,
    load_tasks,
)
from evalcore.benchmarks.tau_bench.environment.loaders import DOMAINS  # noqa: E402

#: Episodes per second that have to be reached.
LIMIT = 100


def play(environment: Environment, task: Task) -> None:
    for action in task.actions:
        environment.call(action.name, action.kwargs)


def ours(domain: Domain, task: Task) -> None:
    environment = Environment(domain)
    play(environment, task)
    compute_reward(domain, task, environment, task.outputs)


def frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((key, frozen(item)) for key, item in sorted(value.items()))
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def plain(tables: dict[str, Any], domain: Domain, task: Task) -> None:
    hashes = []
    for _ in range(2):
        data = copy.deepcopy(tables)
        environment = Environment(Domain(domain.name, Database(data), domain.tools, ""))
        play(environment, task)
        for (table, entity), value in environment.database.list_changed_entities().items():
            data[table][entity] = value
        hashes.append(hashlib.sha256(str(frozen(data)).encode()).hexdigest())


def rate(work: Callable[[Task], None], tasks: list[Task], seconds: float) -> float:
    """Tasks per second of CPU, over all tasks in turn, for at least some seconds."""
    done, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        work(tasks[done % len(tasks)])
        done += 1
    return done / (time.process_time() - start)


def official(checkout: str | None, name: str) -> Callable[[Task], None] | None:
    """An episode in the environment of a checkout; None where that cannot be imported."""
    if not checkout:
        return None
    sys.path.insert(0, checkout)
    stub = types.ModuleType("litellm")  # only the simulated user, which is not played, needs it
    stub.completion = None  # type: ignore[attr-defined]
    sys.modules.setdefault("litellm", stub)
    try:
        from tau_bench.envs import get_env
        from tau_bench.types import Action
    except ImportError as error:
        print(f"official environment absent: {error}")
        return None

    def episode(task: Task) -> None:
        _, split, index = task.id.split("/")
        world = get_env(name, "human", "", split, "", int(index))
        for action in task.actions:
            world.step(Action(name=action.name, kwargs=action.kwargs))
        world.calculate_reward()

    return episode


def measured(folder: Path, name: str, checkout: str | None, seconds: float) -> dict[str, float]:
    """Episodes per second of each way to play the tasks of a domain."""
    start = time.process_time()
    domain = load_domain(folder, name)
    tasks = [
        task for split in list_splits(folder, name) for task in load_tasks(folder, domain, split)
    ]
    domain.database.hash()
    print(f"{name}: {len(tasks)} tasks loaded in {time.process_time() - start:.2f} s")
    tables = {table: dict(domain.database.rows(table)) for table in DOMAINS[name][0]}
    base = domain.database._base

    def cold(task: Task) -> None:
        base._hashes.clear()
        ours(domain, task)

    ways: dict[str, Callable[[Task], None] | None] = {
        "plain": lambda task: plain(tables, domain, task),
        "ours, cold": cold,
        "ours": lambda task: ours(domain, task),
        "official": official(checkout, name),
    }
    return {way: rate(work, tasks, seconds) for way, work in ways.items() if work}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    shared = Path(os.environ.get("EVALBOARD_SHARED_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("folder", nargs="?", type=Path, default=shared / "tau_bench")
    parser.add_argument("--official", default=os.environ.get("EVALBOARD_TAU_BENCH"))
    parser.add_argument("--seconds", type=float, default=2.0, help="for each measurement")
    args = parser.parse_args()
    slowest = float("inf")
    for name in DOMAINS:
        rates = measured(args.folder, name, args.official, args.seconds)
        for way, value in rates.items():
            print(f"{name}, {way}: {value:.1f} episodes/s, {value / rates['plain']:.1f} x plain")
        slowest = min(slowest, rates["ours, cold"])
    return 0 if slowest >= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
