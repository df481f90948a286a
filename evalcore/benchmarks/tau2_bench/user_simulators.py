"""User simulators of tau2-bench: rule users, deterministic, and a model that is given the scenario.

A user who has tools of their own uses them between two of the agent's messages; the agent sees what
the user writes and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from evalcore.benchmarks.agents import build_tool_schemas, parse_native_turn
from evalcore.benchmarks.tau2_bench.bank_user import BANK_SLOT, BankUser
from evalcore.benchmarks.tau2_bench.environment.tasks import Task, describe_scenario
from evalcore.benchmarks.tau2_bench.environment.world import Environment, Tool
from evalcore.benchmarks.tau2_bench.phone_user import PHONE_SLOT, PhoneUser
from evalcore.benchmarks.tau_bench.environment import Task as BaseTask
from evalcore.benchmarks.tau_bench.user_lexicon import STOP
from evalcore.benchmarks.tau_bench.user_simulators import (
    GREETING,
    NO_ANSWER,
    SILENCE,
    AskUser,
    RuleUserSimulator,
    UserSimulator,
)
from evalcore.errors import EnvironmentFailure, TargetFailure, UsageError
from evalcore.i18n import Note
from evalcore.records import GenerationRequest, Message

#: What a user writes to end a conversation: satisfied, handed over, or out of what they know.
STOPS = (STOP, "###TRANSFER###", "###OUT-OF-SCOPE###")
#: The most calls of their own tools that a user may make before they write again.
MAX_OWN_CALLS = 20


def build_rule_user(task: Task, environment: Environment, seed: int) -> UserSimulator:
    """The rule user of a task. Raises UsageError for a task in free prose."""
    if task.slots is None:
        raise UsageError(Note("tau2_free_prose", id=task.id))
    if BANK_SLOT in task.slots:
        return BankUser(task.slots, environment, seed)
    if PHONE_SLOT in task.slots:
        return PhoneUser(task.slots, environment, seed)
    base = BaseTask(task.id, environment.domain.name, "", "", slots=task.slots)
    return RuleUserSimulator(base, seed)


_ROLE = f"""You play a customer who writes to a support agent. What you want and know:

{{scenario}}

- Write one short message at a time, as a person would, and keep to the character above.
- Tell only what the present step needs, not everything at once.
- Make nothing up: what is not given above, and what none of your tools shows, you do not know.
- Say things in your own words instead of repeating the text above.
- When everything you want was done, or cannot be done, write {STOPS[0]} and nothing else.
- When you are handed over to a person, write {STOPS[1]} and nothing else.
- When the text above does not tell you enough to go on, write {STOPS[2]} and nothing else.
- Stay the customer; never help or speak as the agent."""
_TOOLS = """
- Your tools are your own device. Use one only when the agent asks for it or for what it shows,
  one step at a time, and answer with what it showed."""


class ModelUser:
    """A model with the scenario and the user's tools, to whom the agent is another person."""

    def __init__(self, task: Task, environment: Environment, ask: AskUser) -> None:
        self._environment, self._ask = environment, ask
        self._tools = list_user_tools(task, environment)
        system = _ROLE.format(scenario=describe_scenario(task)) + (_TOOLS if self._tools else "")
        self._messages = [Message("system", system)]
        self._ending = ""
        self._cost: float | None = 0.0

    async def open(self) -> str:
        return await self._write_message(GREETING)

    async def reply(self, text: str, writes: Sequence[Any]) -> tuple[str, bool]:
        message = await self._write_message(text or SILENCE)
        return message, bool(self._ending)

    def to_dict(self) -> dict[str, Any]:
        turns = sum(message.role == "user" for message in self._messages) - 1
        return {"user_turns": turns, "ending": self._ending, "user_cost": self._cost}

    async def _write_message(self, agent_text: str) -> str:
        """The next message, after the calls that come before it. Raises EnvironmentFailure where
        the model gives no answer: no fault of the agent's."""
        self._messages.append(Message("user", agent_text))
        calls_left = MAX_OWN_CALLS
        while True:
            answer = await self._ask_model(with_tools=calls_left > 0)
            if not answer.tool_calls:
                return answer.content
            calls_left -= len(answer.tool_calls)

    async def _ask_model(self, *, with_tools: bool) -> Message:
        tools = build_tool_schemas(self._tools) if with_tools else ()
        request = GenerationRequest(messages=tuple(self._messages), tools=tools)
        try:
            answer, cost = await self._ask(request)
        except TargetFailure as error:
            raise EnvironmentFailure(Note("tau_user_failed", message=error)) from None
        self._cost = None if self._cost is None or cost is None else self._cost + cost
        if not answer.text.strip() and answer.finish_reason in NO_ANSWER:
            raise EnvironmentFailure(Note("tau_user_ended", reason=answer.finish_reason))
        if answer.tool_calls and with_tools:
            message = Message("assistant", answer.text, tool_calls=answer.tool_calls)
            self._messages.append(message)
            for call, read in zip(answer.tool_calls, parse_native_turn(answer).calls, strict=True):
                result = f"Error: {read.problem}" if read.problem else ""
                result = result or self._environment.call(read.name, read.kwargs, "user")
                self._messages.append(Message("tool", result, tool_call_id=call.id))
            return message
        message = Message("assistant", answer.text.strip() or SILENCE)
        self._messages.append(message)
        self._ending = "stopped" if any(stop in message.content for stop in STOPS) else ""
        return message


def list_user_tools(task: Task, environment: Environment) -> tuple[Tool, ...]:
    """The tools that the user of a task is offered."""
    tools = environment.domain.offered_user_tools()
    if task.user_tools is None:
        return tools
    return tuple(tool for tool in tools if tool.name in task.user_tools)


def format_call(name: str, kwargs: dict[str, Any]) -> str:
    """A call as the reference agent asks the user for it."""
    return f"{name}({', '.join(f'{key}={json.dumps(value)}' for key, value in kwargs.items())})"
