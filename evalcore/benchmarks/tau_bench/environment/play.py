"""An episode's environment: calls of tools on a database of its own, and the log of writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalcore.benchmarks.tau_bench.environment.arguments import (
    find_bounds_problem,
    find_name_problem,
    find_type_problem,
)
from evalcore.benchmarks.tau_bench.environment.base import EntityKey
from evalcore.benchmarks.tau_bench.environment.canonical import clone_json
from evalcore.benchmarks.tau_bench.environment.database import Database
from evalcore.benchmarks.tau_bench.environment.tool import Domain, Tool
from evalcore.records import Record

_LONGEST_NAME = 200


class Write(Record, frozen=True):
    """A call that wrote: its tool and arguments, and the (table, id) of all that it touched, also
    where the value was that before."""

    tool: str
    kwargs: dict[str, Any]
    changed: tuple[EntityKey, ...]


class Environment:
    """The world of one episode. What an agent sends is never trusted and never raises."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.database = domain.database.fork()
        self.writes: list[Write] = []
        self.terminated = False
        self._tools = {tool.name: tool for tool in domain.tools}

    def call(self, name: Any, kwargs: Any) -> str:
        """What a tool answers, or an error text; the texts are upstream's where it has one.

        A value of the wrong type is refused, unless the tool itself refuses the call first. A tool
        that ends the conversation does so whatever its arguments; after it every call is refused.
        """
        if self.terminated:
            return "Error: the conversation has ended"
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            return f"Unknown action {_format_unknown_name(name)}"
        self.terminated = tool.terminates
        if not isinstance(kwargs, Mapping):
            return "Error: the arguments must be an object of names and values"
        kwargs = dict(kwargs)
        problem = find_bounds_problem(kwargs) or find_name_problem(tool, kwargs)
        if problem:
            return f"Error: {problem}"
        problem = find_type_problem(tool.parameters, kwargs)
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
