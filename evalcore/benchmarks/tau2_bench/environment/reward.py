"""The reward of an episode: the product of the parts that its task names.

Parts: the databases are left as the ground truth leaves them; assertions on the world hold; calls
of the ground truth were made; what had to be said was said. A part that only a model could judge is
left open, and with it the reward, unless another part is 0 already.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from evalcore.benchmarks.tau2_bench.environment.tasks import (
    BROKEN_START,
    NEEDS_JUDGE,
    NOTHING_TO_DO,
    TRUTH_ERRS,
    Assertion,
    Task,
    prepare_environment,
)
from evalcore.benchmarks.tau2_bench.environment.world import (
    Call,
    Environment,
    World,
    list_differences,
)
from evalcore.benchmarks.tau_bench.environment.database import DatabaseDifference
from evalcore.benchmarks.tau_bench.environment.reward import find_missing_outputs
from evalcore.records import Record


class Check(Record, frozen=True):
    """Whether one thing that a task asks for holds; `subject` names it."""

    subject: str
    holds: bool


class Reward(Record, frozen=True):
    """`value` is 0 or 1, or None where a model would have to judge. `parts` are the values of the
    parts in the basis by name; the other fields are what was found on each part, in the basis or
    not. The hashes are of both sides' databases."""

    value: float | None
    parts: dict[str, float | None]
    difference: DatabaseDifference | None
    assertions: tuple[Check, ...]
    actions: tuple[Check, ...]
    missing_outputs: tuple[str, ...]
    db_hash: str
    gt_hash: str


def compute_reward(
    world: World,
    task: Task,
    environment: Environment,
    agent_messages: Sequence[str],
    *,
    substring: bool = True,
) -> Reward:
    """The reward for an environment as its episode left it, and for what the agent said. Whether
    the episode came to its end, without which there is no reward, is the caller's to know."""
    criteria, calls = task.criteria, environment.calls
    if environment.has_stray_writes:
        environment = _replay_writes(world, task, calls)
    expected, _ = replay_ground_truth(world, task)
    differences = list_differences(expected.state, environment.state)
    if criteria.actions is None and criteria.env_assertions is None:
        differences = []
    assertions = tuple(
        Check(describe_assertion(each), check_assertion(environment, each))
        for each in criteria.env_assertions or ()
    )
    actions = tuple(
        Check(action.name, any(action.matches(call.name, call.kwargs) for call in calls))
        for action in task.actions
    )
    outputs = criteria.communicate_info or ()
    missing = find_missing_outputs(outputs, agent_messages, substring=substring)
    values: dict[str, float | None] = {
        "DB": float(not differences),
        "ENV_ASSERTION": float(all(check.holds for check in assertions)),
        "ACTION": float(all(check.holds for check in actions)),
        "COMMUNICATE": float(not missing),
        "NL_ASSERTION": None if criteria.nl_assertions else 1.0,
    }
    parts: dict[str, float | None] = {name: values[name] for name in criteria.reward_basis}
    return Reward(
        _multiply(list(parts.values())),
        parts,
        differences[0] if differences else None,
        assertions,
        actions,
        missing,
        _hash_state(environment),
        _hash_state(expected),
    )


def _replay_writes(world: World, task: Task, calls: Sequence[Call]) -> Environment:
    """A world after those calls alone whose tools may change it, as upstream replays an episode."""
    environment = start_environment(world, task)
    writers = {tool.name for tool in (*world.tools, *world.user_tools) if tool.mutates}
    for call in calls:
        if call.name in writers:
            environment.try_call(call.name, call.kwargs, call.requestor)
    environment.synchronize()
    return environment


def _multiply(parts: Sequence[float | None]) -> float | None:
    if any(part == 0 for part in parts):
        return 0.0
    return None if None in parts else 1.0


def _hash_state(environment: Environment) -> str:
    state = environment.state
    own = "" if state.user is state.agent else f":{state.user.hash()}"
    return f"{state.agent.hash()}{own}"


def describe_assertion(assertion: Assertion) -> str:
    values = ", ".join(f"{name}={value}" for name, value in assertion.arguments.items())
    wanted = "" if assertion.assert_value else " is false"
    return f"{assertion.func_name}({values}){wanted}"


def check_assertion(environment: Environment, assertion: Assertion) -> bool:
    """Whether an assertion holds; one that fails to run does not."""
    try:
        holds = environment.call_function(
            assertion.env_type, assertion.func_name, assertion.arguments
        )
    except Exception:  # what an assertion asks for may not be there
        return False
    return isinstance(holds, bool) and holds == assertion.assert_value


def replay_ground_truth(world: World, task: Task) -> tuple[Environment, list[str]]:
    """A world after the ground truth, and its writes that are refused, in words. As upstream, the
    sides are not synchronized in between. Raises ValueError for a world that cannot be set up."""
    environment = start_environment(world, task)
    refused = []
    for number, action in enumerate(task.actions, 1):
        tools = {tool.name: tool for tool in environment.list_tools(action.requestor)}
        tool = tools.get(action.name)
        try:
            if tool is None:
                raise KeyError(f"{world.name} has no tool {action.name[:60]!r}")
            tool.function(environment.state, **action.arguments)
        except Exception as error:  # upstream goes on, too
            if tool is not None and not tool.mutates:
                continue
            refused.append(f"action {number}: {action.name} is refused: {error}"[:300])
    return environment, refused


def start_environment(world: World, task: Task) -> Environment:
    """A fresh environment in which a task begins. Raises ValueError where it cannot be set up."""
    environment = Environment(world)
    prepare_environment(environment, task)
    return environment


def flag_task(world: World, task: Task) -> Task:
    """The task with the flags that a replay of its ground truth gives."""
    flags = list(task.flags)
    try:
        _, refused = replay_ground_truth(world, task)
        idle = compute_reward(world, task, start_environment(world, task), ())
    except ValueError:
        return msgspec.structs.replace(task, flags=(*flags, BROKEN_START))
    flags += [TRUTH_ERRS] if refused else []
    flags += [NOTHING_TO_DO] if idle.value == 1 else []
    needs_judge = "NL_ASSERTION" in task.criteria.reward_basis and task.criteria.nl_assertions
    flags += [NEEDS_JUDGE] if needs_judge else []
    return msgspec.structs.replace(task, flags=tuple(flags))


def list_faults(world: World, task: Task) -> list[str]:
    """What does not run of a task: its world, or actions of its ground truth."""
    try:
        return replay_ground_truth(world, task)[1]
    except ValueError as error:
        return [str(error)]
