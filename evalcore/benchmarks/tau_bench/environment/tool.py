"""What a domain is made of: tools with their schemas, a database and a policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evalcore.benchmarks.agents.tool import Schema
from evalcore.benchmarks.agents.tool import Tool as BaseTool
from evalcore.benchmarks.tau_bench.environment.base import Entity
from evalcore.benchmarks.tau_bench.environment.database import Database
from evalcore.records import Record


class ToolError(Exception):
    """A tool does nothing and says why; the agent reads the message after `Error: `."""


class Tool(BaseTool, frozen=True):
    """A tool as an agent sees it, and what it does.

    `run` takes the database and arguments whose names fit the schema; it raises Refused, or
    anything else where their values do not fit. `terminates` ends the conversation, whatever `run`
    says.
    """

    run: Callable[[Database, Mapping[str, Any]], str]
    writes: bool = False
    terminates: bool = False


class Domain(Record, frozen=True):
    """A shop or an airline. `database` is its first state, of which every episode has a fork;
    `label` says where its rules are not those of tau-bench itself."""

    name: str
    database: Database
    tools: tuple[Tool, ...]
    policy: str
    label: str = ""


def build_tool(
    function: Callable[..., str],
    description: str,
    properties: Mapping[str, Schema],
    *,
    writes: bool = False,
    terminates: bool = False,
) -> Tool:
    """The tool of a function `(database, **arguments)` of the same name; it needs all arguments."""

    def run(database: Database, arguments: Mapping[str, Any]) -> str:
        return function(database, **arguments)

    parameters = {"type": "object", "properties": dict(properties), "required": list(properties)}
    return Tool(function.__name__, description, parameters, run, writes, terminates)


def text_schema(description: str, *choices: str) -> Schema:
    """The schema of a text, or of one of some texts."""
    schema: Schema = {"type": "string", "description": description}
    return {**schema, "enum": list(choices)} if choices else schema


def text_list_schema(description: str) -> Schema:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def object_list_schema(description: str, properties: Mapping[str, Schema]) -> Schema:
    """The schema of a list of objects that have at least these properties."""
    item = {"type": "object", "properties": dict(properties), "required": list(properties)}
    return {"type": "array", "items": item, "description": description}


def require_entity(database: Database, table: str, entity: str, what: str) -> Entity:
    """An entity to read. Raises Refused where there is none."""
    value = database.get(table, entity)
    if value is None:
        raise ToolError(f"{what} not found")
    return value
