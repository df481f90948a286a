"""A task, the environment it is played in, and its reward: 1 if the database is left as the
ground truth leaves it and every expected output was said.

tau-bench takes an expected output as a piece of what was said, so that `10` is found in 1093.
Here a number has to stand alone and to be equal; `$1,093.50` is 1093.5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from evalcore.benchmarks.tau_bench.environment.database import (
    Database,
    DatabaseDifference,
    EntityKey,
    clone_json,
)
from evalcore.benchmarks.tau_bench.environment.tools import (
    Domain,
    Tool,
    clamp_numbers,
    find_bounds_problem,
    find_name_problem,
    find_type_problem,
)
from evalcore.records import Record

#: Flags of tasks, found by replaying their ground truth.
TRUTH_ERRS = "truth-errs"  # a write of the ground truth is refused, so it does less than it says
NOTHING_TO_DO = "nothing-to-do"  # the reward is 1 for doing and saying nothing
#: A label of domains and a flag of their tasks: tau2's data under tau-bench's tools and reward.
TAU2_OFFLINE = "tau2-offline"
OTHER_START = "other-start"  # the task begins in another state, which is not set up here


class Action(Record, frozen=True):
    """A call of a tool in the ground truth."""

    name: str
    kwargs: dict[str, Any] = {}


class Task(Record, frozen=True):
    """One task. `id` is `<domain>/<split>/<index>`, the index counted from 0. `outputs` are texts
    that the agent has to say. `slots` are the instruction as structured data, where the file has
    them, `source` is the task's file:line within the data, "" where unknown."""

    id: str
    domain: str
    user_id: str
    instruction: str
    actions: tuple[Action, ...] = ()
    outputs: tuple[str, ...] = ()
    slots: dict[str, Any] | None = None
    flags: tuple[str, ...] = ()
    source: str = ""


_LONGEST_NAME = 200


class Write(Record, frozen=True):
    """A call that wrote: its tool and arguments, and the (table, id) of all that it touched, also
    where the value was that before."""

    tool: str
    kwargs: dict[str, Any]
    changed: tuple[EntityKey, ...]


class Environment:
    """The world of one episode. What an agent sends is never trusted and never raises. Without
    `checks_types` a tool gets values of any type and size, as upstream's do: what Python makes of
    them is what happens."""

    def __init__(self, domain: Domain, *, checks_types: bool = True) -> None:
        self.domain = domain
        self._checks_types = checks_types
        self.database = domain.database.fork()
        self.writes: list[Write] = []
        self.terminated = False
        self._tools = {tool.name: tool for tool in domain.tools}

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the agent is offered."""
        return self.domain.tools

    def call(self, name: Any, kwargs: Any) -> str:
        """What a tool answers, or an error text; the texts are upstream's where it has one. A value
        of the wrong type is refused, unless the tool itself refuses the call first. A tool that
        ends the conversation does so whatever its arguments; after it every call is refused."""
        if self.terminated:
            return "Error: the conversation has ended"
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            return f"Unknown action {_format_unknown_name(name)}"
        self.terminated = tool.terminates
        if not isinstance(kwargs, Mapping):
            return "Error: the arguments must be an object of names and values"
        kwargs = dict(kwargs) if self._checks_types else clamp_numbers(dict(kwargs))
        problem = find_bounds_problem(kwargs) or find_name_problem(tool, kwargs)
        if problem:
            return f"Error: {problem}"
        checked = self._checks_types and not tool.open_arguments
        problem = find_type_problem(tool.parameters, kwargs) if checked else ""
        if problem:
            answer, done = _invoke_tool(tool, self.database.fork(), kwargs)
            return f"Error: {problem}" if done else answer
        return self._run_tool(tool, kwargs)

    def _run_tool(self, tool: Tool, kwargs: dict[str, Any]) -> str:
        answer, done = _invoke_tool(tool, self.database, kwargs)
        touched = self.database.pop_touched_keys()
        if done and touched:
            self.writes.append(Write(tool.name, clone_json(kwargs), touched))
        return answer


def _format_unknown_name(name: Any) -> str:
    """A name that no tool has, cut and as Unicode; empty if it is no text."""
    return name[:_LONGEST_NAME].encode(errors="replace").decode() if isinstance(name, str) else ""


def _invoke_tool(tool: Tool, database: Database, kwargs: dict[str, Any]) -> tuple[str, bool]:
    """What a tool says, and whether it did what it was called for."""
    try:
        return tool.run(database, kwargs), True
    except Exception as error:  # whatever a value brought about is the agent's to read
        return f"Error: {error}", False


_DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"
_WHOLE = re.compile(r"[0-9]+(?:\.[0-9]+)?")
# ASCII letters only: in Chinese a number may touch the words around it.
_NUMBER = re.compile(rf"(?<![0-9A-Za-z_])(?<![0-9][.,]){_DIGITS}(?![0-9A-Za-z_]|[.,][0-9])")


def find_missing_outputs(
    outputs: Sequence[str], agent_messages: Sequence[str], *, substring: bool
) -> tuple[str, ...]:
    """The expected texts that were never said, regardless of case and of commas in what was said.
    With `substring` numbers are texts too, as in tau-bench itself."""
    plain = [words.lower().replace(",", "") for words in agent_messages]
    numbers = set() if substring else _extract_numbers(agent_messages)
    return tuple(
        output
        for output in outputs
        if not (
            _plain_number(output) in numbers
            if not substring and _WHOLE.fullmatch(output)
            else any(output.lower() in words for words in plain)
        )
    )


def _extract_numbers(agent_messages: Sequence[str]) -> set[str]:
    return {_plain_number(number) for words in agent_messages for number in _NUMBER.findall(words)}


def _plain_number(text: str) -> str:
    """A number without commas and without zeros that say nothing after its point."""
    text = text.replace(",", "")
    return text.rstrip("0").rstrip(".") if "." in text else text


class Reward(Record, frozen=True):
    """`value` is 0 or 1; the hashes are upstream's sha256 of the whole database, in hex.
    `difference` is the first place where the database departs from the ground truth's."""

    value: float
    actions_ok: bool
    outputs_ok: bool
    db_hash: str
    gt_hash: str
    missing_outputs: tuple[str, ...] = ()
    difference: DatabaseDifference | None = None


def compute_reward(
    domain: Domain,
    task: Task,
    environment: Environment,
    agent_messages: Sequence[str],
    *,
    substring: bool = False,
) -> Reward:
    """The reward for an environment as an agent left it, and the texts it said to the user.
    `substring` compares expected numbers as tau-bench itself does. Whether the episode came to its
    end at all, without which there is no reward, is the caller's to know."""
    expected = replay_ground_truth(domain, task).database
    unsaid = find_missing_outputs(task.outputs, agent_messages, substring=substring)
    difference = environment.database.first_difference(expected)
    return Reward(
        float(difference is None and not unsaid),
        difference is None,
        not unsaid,
        environment.database.hash(),
        expected.hash(),
        unsaid,
        difference,
    )


def replay_ground_truth(domain: Domain, task: Task) -> Environment:
    """A fresh environment after the actions of the ground truth; those that end the conversation
    are left out, as upstream does."""
    return _replay_actions(domain, task)[0]


def faults(domain: Domain, task: Task) -> list[str]:
    """List the ground-truth calls that do not run: refused writes, and calls of unknown tools."""
    _, refused, unknown = _replay_actions(domain, task)
    return [*refused, *unknown]


def flag_task(domain: Domain, task: Task) -> Task:
    """The task, with the flags that a replay of its ground truth gives."""
    environment, refused, _ = _replay_actions(domain, task)
    flags = [*task.flags, *([TRUTH_ERRS] if refused else [])]
    if not task.outputs and not environment.database.list_changed_entities():
        flags.append(NOTHING_TO_DO)
    return msgspec.structs.replace(task, flags=tuple(flags))


def _replay_actions(domain: Domain, task: Task) -> tuple[Environment, list[str], list[str]]:
    """The environment after the ground truth, its writes that were refused and its calls of no
    tool, both in words."""
    tools = {tool.name: tool for tool in domain.tools}
    environment = Environment(domain)
    refused: list[str] = []
    unknown: list[str] = []
    for number, action in enumerate(task.actions, 1):
        tool = tools.get(action.name)
        if tool is None:
            unknown.append(f"action {number}: {domain.name} has no tool {action.name[:60]!r}")
        elif not tool.terminates:
            answer = environment.call(action.name, action.kwargs)
            if tool.writes and answer.startswith("Error"):
                refused.append(f"action {number}: {action.name} is refused: {answer[:200]}")
    return environment, refused, unknown
