"""A task of tau2-bench: who the user is, how the world begins, and what the agent is held to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from evalcore.benchmarks.tau2_bench.environment.world import Environment, Requestor, State
from evalcore.benchmarks.tau_bench.environment.database import clone_json
from evalcore.records import Record

#: What a reward may rest on.
Basis = Literal["DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION"]

#: Flags of tasks, found by replaying their ground truth.
TRUTH_ERRS = "truth-errs"  # an action of the ground truth is refused
NOTHING_TO_DO = "nothing-to-do"  # the reward is 1 for doing and saying nothing
NEEDS_JUDGE = "needs-judge"  # a model has to judge what was said
BROKEN_START = "broken-start"  # the world cannot be set up as the task says


class Action(Record, frozen=True):
    """A call of the ground truth. `compare_args` are the arguments that count where calls are
    compared; None stands for those that the compared call has."""

    name: str
    arguments: dict[str, Any] = {}
    requestor: Requestor = "assistant"
    compare_args: tuple[str, ...] | None = None

    def matches(self, name: str, kwargs: Any) -> bool:
        """Whether a call is this action, as upstream compares them."""
        if name != self.name:
            return False
        arguments = kwargs if isinstance(kwargs, Mapping) else {}
        compared = arguments.keys() if self.compare_args is None else set(self.compare_args)
        made = {name: value for name, value in arguments.items() if name in compared}
        due = {name: value for name, value in self.arguments.items() if name in compared}
        return not compared or made == due


class FunctionCall(Record, frozen=True):
    """A function of a side that is called to set the world up."""

    func_name: str
    arguments: dict[str, Any] = {}
    env_type: Requestor = "assistant"


class Assertion(Record, frozen=True):
    """A function that has to give `assert_value` once the episode is over."""

    func_name: str
    arguments: dict[str, Any] = {}
    env_type: Requestor = "assistant"
    assert_value: bool = True


class InitialData(Record, frozen=True):
    agent_data: dict[str, Any] | None = None
    user_data: dict[str, Any] | None = None


class InitialState(Record, frozen=True):
    initialization_data: InitialData | None = None
    initialization_actions: tuple[FunctionCall, ...] | None = None
    message_history: tuple[Any, ...] | None = None


class Criteria(Record, frozen=True):
    """What is checked; only the parts that `reward_basis` names decide the reward."""

    actions: tuple[Action, ...] | None = None
    env_assertions: tuple[Assertion, ...] | None = None
    communicate_info: tuple[str, ...] | None = None
    nl_assertions: tuple[str, ...] | None = None
    reward_basis: tuple[Basis, ...] = ("DB", "COMMUNICATE")


class Scenario(Record, frozen=True):
    """Who the user is; the instructions are a text, or named parts of one."""

    instructions: str | dict[str, Any]
    persona: str | None = None


class Task(Record, frozen=True):
    """One task. `user_tools` are the tools that the user is offered (None: all), `slots` what the
    rule user knows, `flags` what a replay found, `source` the file and line within the data."""

    id: str
    user_scenario: Scenario
    evaluation_criteria: Criteria | None = None
    initial_state: InitialState | None = None
    user_tools: tuple[str, ...] | None = None
    required_documents: tuple[str, ...] | None = None
    slots: dict[str, Any] | None = None
    flags: tuple[str, ...] = ()
    source: str = ""

    @property
    def criteria(self) -> Criteria:
        return self.evaluation_criteria or Criteria(reward_basis=())

    @property
    def actions(self) -> tuple[Action, ...]:
        return self.criteria.actions or ()


def read_task(row: Mapping[str, Any]) -> Task:
    """The task of a row. Raises msgspec.ValidationError."""
    return msgspec.convert(row, Task)


def task_to_json(task: Task) -> str:
    """The text that `task_from_json` reads: flags and source are no part of it."""
    plain = msgspec.to_builtins(task)
    return json.dumps({name: plain[name] for name in plain if name not in ("flags", "source")})


def task_from_json(text: str) -> Task:
    return msgspec.json.decode(text.encode(), type=Task)


def describe_scenario(task: Task) -> str:
    """The scenario as a person would read it: the persona, then each part under its name."""
    scenario = task.user_scenario
    parts = [f"Persona: {scenario.persona}"] if scenario.persona else []
    if isinstance(scenario.instructions, str):
        return "\n".join([*parts, scenario.instructions])
    for name, value in scenario.instructions.items():
        if value:
            parts.append(f"{name.replace('_', ' ').capitalize()}: {value}")
    return "\n".join(parts)


def prepare_environment(environment: Environment, task: Task) -> None:
    """Set the world up as a task begins. Raises ValueError where it cannot be."""
    initial = task.initial_state or InitialState()
    if initial.message_history:
        raise ValueError("the task begins amid a conversation, which is not played here")
    data = initial.initialization_data or InitialData()
    try:
        _merge_data(environment, "assistant", data.agent_data)
        _merge_data(environment, "user", data.user_data)
        if environment.domain.note_ground_truth is not None:
            calls = [(action.name, action.arguments) for action in task.actions]
            environment.domain.note_ground_truth(environment.state, calls)
        for call in initial.initialization_actions or ():
            environment.call_function(call.env_type, call.func_name, call.arguments)
        environment.synchronize()
    except Exception as error:  # whatever the data of a task brings about
        raise ValueError(f"the world of the task cannot be set up: {error}") from None
    finally:
        environment.state.pop_touched_keys()


def _merge_data(environment: Environment, side: Requestor, data: dict[str, Any] | None) -> None:
    """Merge a task's own records into a side's tables, field by field."""
    if not data:
        return
    unwrap = environment.domain.unwrap_data
    for table, rows in (unwrap(data) if unwrap else data).items():
        for row_id, row in rows.items():
            _merge_row(environment.state, side, table, row_id, row)


def _merge_row(state: State, side: Requestor, table: str, row_id: str, row: Any) -> None:
    database = state.agent if side == "assistant" else state.user
    former = database.get(table, row_id)
    database.put(table, row_id, _merge_values(former, row) if former else clone_json(row))


def _merge_values(former: Any, update: Any) -> Any:
    if not isinstance(former, dict) or not isinstance(update, dict):
        return clone_json(update)
    merged = {**former}
    for name, value in update.items():
        merged[name] = _merge_values(former.get(name), value)
    return merged
