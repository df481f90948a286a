"""A world that an agent and a user act in: its tools, its first state, and one episode of it.

The state of a world is one database of the agent's side and, in worlds where the user has a device,
one of theirs. A call never raises and answers with a text, an error included; what a tool had
changed before it failed stays changed, as in tau2-bench.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any, Literal

from evalcore.benchmarks.agents import Schema
from evalcore.benchmarks.agents import Tool as BaseTool
from evalcore.benchmarks.tau_bench.environment.database import Database, EntityKey, clone_json
from evalcore.benchmarks.tau_bench.environment.reward import Write as BaseWrite
from evalcore.benchmarks.tau_bench.environment.tools import find_bounds_problem
from evalcore.records import Record

Requestor = Literal["assistant", "user"]
_LONGEST_NAME = 200


class State:
    """The databases of an episode. `user` is the agent's own where both sides share one; `notes`
    are what tools remember beside them."""

    def __init__(self, agent: Database, user: Database | None = None) -> None:
        self.agent = agent
        self.user = agent if user is None else user
        self.notes: dict[str, str] = {}

    def fork(self) -> State:
        agent = self.agent.fork()
        copy = State(agent, None if self.user is self.agent else self.user.fork())
        copy.notes = dict(self.notes)
        return copy

    def pop_touched_keys(self) -> tuple[EntityKey, ...]:
        touched = self.agent.pop_touched_keys()
        return touched if self.user is self.agent else (*touched, *self.user.pop_touched_keys())


#: What a tool does: it reads and edits the state and answers with JSON or a text.
Function = Callable[..., Any]


class Tool(BaseTool, frozen=True):
    """A tool as its caller sees it, and what it does. `mutates`: it may change the state, so that
    it is called again where an episode is scored. A `hidden` tool is offered to nobody: it has to
    be found in the knowledge base and be unlocked."""

    function: Function
    mutates: bool = False
    hidden: bool = False


def build_tool(
    function: Function,
    description: str,
    schemas: Mapping[str, Schema],
    *,
    mutates: bool = False,
    hidden: bool = False,
) -> Tool:
    """The tool of a function `(state, ...)` of the same name; arguments with a default may be left
    out. The schemas are by argument."""
    _, *arguments = signature(function).parameters.values()
    parameters = {
        "type": "object",
        "properties": {each.name: schemas[each.name] for each in arguments},
        "required": [each.name for each in arguments if each.default is Parameter.empty],
    }
    return Tool(function.__name__, description, parameters, function, mutates, hidden)


_AFTER_YES = " Say what will be done and have the user's yes before."
ToolMaker = Callable[[Callable[..., Any], str], Tool]


def bind_tool_makers(schemas: Mapping[str, Schema]) -> tuple[ToolMaker, ToolMaker]:
    """What makes the tools of a desk that only read, and those that write after a yes."""

    def build_read(function: Callable[..., Any], description: str) -> Tool:
        return build_tool(function, description, schemas)

    def build_write(function: Callable[..., Any], description: str) -> Tool:
        return build_tool(function, description + _AFTER_YES, schemas, mutates=True)

    return build_read, build_write


class World(Record, frozen=True):
    """A domain: `functions` are by side what a task may call before an episode (to set it up) and
    after it (to check it) beside the tools; `synchronize` carries over to the user's side what the
    agent's side has changed, and back. `documents` is the knowledge base, if any, `unwrap_data`
    finds the tables in the data that a task adds, and `note_ground_truth` is given the calls of a
    task's ground truth before its episode."""

    name: str
    state: State
    tools: tuple[Tool, ...]
    policy: str
    user_tools: tuple[Tool, ...] = ()
    functions: dict[Requestor, Mapping[str, Function]] = {}
    synchronize: Callable[[State], None] | None = None
    documents: tuple[Mapping[str, str], ...] = ()
    unwrap_data: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    note_ground_truth: Callable[[State, Iterable[tuple[str, Mapping[str, Any]]]], None] | None = (
        None
    )

    def offered_tools(self) -> tuple[Tool, ...]:
        return tuple(tool for tool in self.tools if not tool.hidden)

    def offered_user_tools(self) -> tuple[Tool, ...]:
        return tuple(tool for tool in self.user_tools if not tool.hidden)


class Call(Record, frozen=True):
    """A call of a tool; `kwargs` is whatever its caller wrote."""

    name: str
    kwargs: Any
    requestor: Requestor = "assistant"


class Write(BaseWrite, frozen=True):
    """A call that changed something, and the (table, id) of all that it touched."""

    requestor: Requestor = "assistant"


class Environment:
    """One episode of a world. `terminated` is never set: only the user ends a conversation.
    `has_stray_writes`: a tool that only reads left a trace, which is no part of what is scored."""

    def __init__(self, domain: World) -> None:
        self.domain = domain
        self.state = domain.state.fork()
        self.calls: list[Call] = []
        self.writes: list[Write] = []
        self.has_stray_writes = False
        self.terminated = False
        self._tools: Mapping[Requestor, dict[str, Tool]] = {
            "assistant": {tool.name: tool for tool in domain.tools},
            "user": {tool.name: tool for tool in domain.user_tools},
        }

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the agent is offered."""
        return self.domain.offered_tools()

    def call(self, name: Any, kwargs: Any, requestor: Requestor = "assistant") -> str:
        """What a tool answers to a call, after which both sides are synchronized."""
        answer, _ = self.try_call(name, kwargs, requestor)
        return answer

    def try_call(self, name: Any, kwargs: Any, requestor: Requestor) -> tuple[str, bool]:
        """What a tool answers, and whether it did what it was called for."""
        self.calls.append(Call(name if isinstance(name, str) else "", kwargs, requestor))
        problem = self._find_call_problem(name, kwargs, requestor)
        if problem:
            return f"Error: {problem}", False
        try:
            answer = self._tools[requestor][name].function(self.state, **kwargs)
            self.synchronize()
            return render_answer(answer), True
        except Exception as error:  # whatever a value brought about is the caller's to read
            return f"Error: {error}", False
        finally:
            touched = self.state.pop_touched_keys()
            if touched and self._tools[requestor][name].mutates:
                self.writes.append(Write(name, clone_json(kwargs), touched, requestor))
            elif touched:
                self.has_stray_writes = True

    def _find_call_problem(self, name: Any, kwargs: Any, requestor: Requestor) -> str:
        tool = self._tools[requestor].get(name) if isinstance(name, str) else None
        if requestor == "user" and not self._tools["user"]:
            return "User tools not available"
        if tool is None:
            shown = name[:_LONGEST_NAME] if isinstance(name, str) else ""
            return f"Tool '{shown.encode(errors='replace').decode()}' not found."
        if not isinstance(kwargs, Mapping):
            return "the arguments must be an object of names and values"
        return find_bounds_problem(dict(kwargs)) or find_name_problem(tool, kwargs)

    def synchronize(self) -> None:
        if self.domain.synchronize is not None:
            self.domain.synchronize(self.state)

    def call_function(self, side: Requestor, name: str, kwargs: Mapping[str, Any]) -> Any:
        """What a function of a side gives, a tool or not, then both sides synchronized. Raises
        whatever it raises, and KeyError for a function that is not there."""
        function = self.find_function(side, name)
        answer = function(self.state, **kwargs)
        self.synchronize()
        return answer

    def find_function(self, side: Requestor, name: str) -> Function:
        functions = self.domain.functions.get(side, {})
        if name in functions:
            return functions[name]
        if name not in self._tools[side]:
            raise KeyError(f"{self.domain.name} has no function {name[:60]!r} for {side}")
        return self._tools[side][name].function

    def list_tools(self, requestor: Requestor) -> Iterable[Tool]:
        return self._tools[requestor].values()


def find_name_problem(tool: BaseTool, arguments: Mapping[str, Any]) -> str:
    """Which argument the tool does not know or misses; empty if none."""
    for name in arguments:
        if name not in tool.parameters["properties"]:
            return f"{tool.name}() got an unexpected keyword argument {name!r}"
    missing = [repr(name) for name in tool.parameters["required"] if name not in arguments]
    if not missing:
        return ""
    plural = "s" if len(missing) > 1 else ""
    names = " and ".join([", ".join(missing[:-1]), missing[-1]] if len(missing) > 1 else missing)
    return f"{tool.name}() missing {len(missing)} required positional argument{plural}: {names}"


def render_answer(answer: Any) -> str:
    """An answer as the caller reads it: texts as they are, anything else as JSON."""
    return answer if isinstance(answer, str) else json.dumps(answer)


def list_differences(expected: State, actual: State) -> Sequence[Any]:
    """The first difference of each side that is not as expected."""
    sides = [(expected.agent, actual.agent)]
    if expected.user is not expected.agent:
        sides.append((expected.user, actual.user))
    differences = (mine.first_difference(theirs) for theirs, mine in sides)
    return [each for each in differences if each is not None]
