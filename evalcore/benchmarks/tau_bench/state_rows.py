"""Tasks of slm-evals: a row holds tools, a state and the state that the agent has to leave.

A tool sets the values of the state that its arguments name, as it does there. Unlike there each
value is compared as JSON, what was not asked for may not change, and a row without an expected
state is refused: every answer would pass.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from evalcore.benchmarks.case_file import CaseLine
from evalcore.benchmarks.tau_bench.environment import Database, Domain, Tool, Write
from evalcore.benchmarks.tau_bench.environment.tools import find_bounds_problem
from evalcore.records import Sample, content_hash

#: What a sample holds of a row, as JSON text: the order of keys is that of the words.
STATE = "state"
_TABLE = "state"
_VALUE = "value"
_EXPECTED, _INITIAL = "ground_truth_state", "initial_state"
_GOALS = ("instruction", "user_goal")
_MAX_VALUES, _MAX_CHARACTERS = 20_000, 2_000_000
_POLICY = (
    "You serve a user. Use the tools to do what the user asks for, no more and no less. When it is "
    "done, tell the user so in a sentence that ends with the word DONE."
)
_DONE = re.compile(r"\bDONE\b[.!\s]*$")
DONE_TEXT = "All of it is DONE"
_CONTINUE = "Thank you, please continue."
_PATIENCE = 4  # messages without a change before the user leaves
_STOP = "###STOP###"


def is_state_row(row: Mapping[str, Any]) -> bool:
    """Whether a row is one of slm-evals, rather than of tau-bench."""
    return any(field in row for field in (_INITIAL, _EXPECTED, "user_goal", "tools"))


def build_state_sample(line: CaseLine, domain: str) -> Sample:
    """Raises DatasetError naming file, line and field."""
    row = line.row
    problem = find_bounds_problem(row, _MAX_VALUES, _MAX_CHARACTERS)
    if problem:
        line.raise_field_error("", problem)
    initial, expected = line.parse_object(_INITIAL), line.parse_object(_EXPECTED)
    if not expected:
        line.raise_field_error(_EXPECTED, "must hold the values that the agent has to leave")
    tools = [_read_tool(line, tool) for tool in line.parse_list("tools")]
    changed = {name: value for name, value in expected.items() if _differs(initial, name, value)}
    if changed and not tools:
        line.raise_field_error("tools", "must hold a tool: without one the state cannot change")
    outputs = line.parse_text_list("outputs")
    own_id = "" if row.get("id") in (None, "") else line.parse_case_id("id")
    state = {"tools": tools, _INITIAL: initial, "context": line.parse_optional_text("context")}
    return Sample(
        metric=domain,
        id=own_id or f"{domain}/rows/{line.number}",
        input={"domain": domain},
        reference={
            "instruction": line.parse_text(_GOALS["instruction" not in row]),
            "user_id": "",
            "actions": _list_actions(tools, changed),
            "outputs": outputs,
            "domain": content_hash(state),
            STATE: json.dumps(state, ensure_ascii=False),
        },
        meta={"source": line.source} | ({} if changed or outputs else {"flags": ["nothing-to-do"]}),
    )


def _differs(initial: Mapping[str, Any], name: str, value: Any) -> bool:
    return name not in initial or json.dumps(initial[name]) != json.dumps(value)


def _read_tool(line: CaseLine, tool: Any) -> dict[str, Any]:
    """Name, description and schema of a tool; OpenAI's wrapping is taken off."""
    inner = tool.get("function", tool) if isinstance(tool, dict) else None
    name = inner.get("name") if isinstance(inner, dict) else None
    if not isinstance(inner, dict) or not isinstance(name, str) or not name:
        line.raise_field_error("tools", "every tool must be an object with a name")
    schema = inner.get("parameters")
    schema = schema if isinstance(schema, dict) else {}
    properties, required = schema.get("properties"), schema.get("required")
    return {
        "name": name,
        "description": str(inner.get("description") or ""),
        "parameters": {
            "type": "object",
            "properties": properties if isinstance(properties, dict) else {},
            "required": [name for name in required if isinstance(name, str)]
            if isinstance(required, list)
            else [],
        },
    }


def _list_actions(
    tools: Sequence[Mapping[str, Any]], changed: Mapping[str, Any]
) -> list[dict[str, str]]:
    """The calls that leave the expected state: each value by the first tool that names it."""
    calls: dict[str, dict[str, Any]] = {}
    for name, value in changed.items():
        fitting = [tool for tool in tools if name in tool["parameters"]["properties"]]
        calls.setdefault((fitting or tools)[0]["name"], {})[name] = value
    return [{"name": tool, "kwargs": json.dumps(kwargs)} for tool, kwargs in calls.items()]


def build_state_domain(sample: Sample) -> Domain:
    """The world of one row."""
    return _build_domain(sample.metric, str(sample.reference[STATE]), _list_expected(sample))


def _list_expected(sample: Sample) -> tuple[str, ...]:
    """Values that the initial state lacks and the expected one has."""
    calls = [json.loads(action["kwargs"]) for action in sample.reference["actions"]]
    return tuple(name for call in calls for name in call)


@lru_cache(maxsize=64)
def _build_domain(name: str, text: str, expected: tuple[str, ...]) -> Domain:
    state: dict[str, Any] = json.loads(text)
    initial = dict.fromkeys(expected) | state[_INITIAL]
    tables = {_TABLE: {key: {_VALUE: value} for key, value in initial.items()}}
    tools = tuple(
        Tool(
            tool["name"],
            tool["description"],
            tool["parameters"],
            _build_setter(tool["name"]),
            writes=True,
            open_arguments=True,
        )
        for tool in state["tools"]
    )
    context = str(state["context"])
    policy = f"{context}\n\n{_POLICY}" if context else _POLICY
    return Domain(name, Database(tables), tools, policy, says_done=True)


def _build_setter(name: str) -> Any:
    def run(database: Database, arguments: Mapping[str, Any]) -> str:
        for key, value in arguments.items():
            if database.get(_TABLE, key) is not None:
                database.edit(_TABLE, key)[_VALUE] = value
        return json.dumps({"status": "ok", "tool": name, "args": arguments})

    return run


class StateUserSimulator:
    """A user who says all at once, thanks, and leaves when the agent is done or stands still."""

    def __init__(self, instruction: str) -> None:
        self._instruction = instruction
        self._turns = self._idle = self._writes = 0
        self._ending = ""

    async def open(self) -> str:
        return self._instruction

    async def reply(self, text: str, writes: Sequence[Write]) -> tuple[str, bool]:
        self._turns += 1
        self._idle = 0 if len(writes) > self._writes else self._idle + 1
        self._writes = len(writes)
        if _DONE.search(text):
            self._ending = "done"
        elif self._idle >= _PATIENCE:
            self._ending = "given_up"
        return (_STOP, True) if self._ending else (_CONTINUE, False)

    def to_dict(self) -> dict[str, Any]:
        return {"user_turns": self._turns, "ending": self._ending}
