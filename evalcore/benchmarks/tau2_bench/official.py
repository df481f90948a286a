"""tau2-bench as upstream asks: its prompts, tool schemas and user, by texts that a fetch read, and
its episodes: agent, user and tools in turn, both sides asked by upstream's messages.

The agent sees its own calls and their results, and what the user says; the user sees the agent as
another person, and the calls and results of their own. A step is one message, or one round of
results. Limits are looked at when a message is due from one of the two, never before the results
of a call; one that is reached then outweighs what the user said last. Upstream calls tools natively
and in no other way.
"""

from __future__ import annotations

import asyncio
import json
import re
import textwrap
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any

import msgspec

from evalcore.benchmarks.agents import Tool, classify_call_reading, is_withheld, parse_native_turn
from evalcore.benchmarks.call_decoding.call import replace_surrogates, to_plain_value
from evalcore.benchmarks.tau2_bench.card import BANK, RETRIEVALS
from evalcore.benchmarks.tau2_bench.environment.tasks import Scenario, Task
from evalcore.benchmarks.tau2_bench.environment.world import Requestor
from evalcore.benchmarks.tau2_bench.official_bank import BankTexts
from evalcore.benchmarks.tau2_bench.user_simulators import STOPS
from evalcore.benchmarks.tau_bench.conversation import (
    FILTERED,
    NOTHING_SPENT,
    OVERFLOW,
    USER_STOP,
    ConversationResult,
    add_answer_usage,
)
from evalcore.benchmarks.tau_bench.environment.tools import clamp_numbers
from evalcore.benchmarks.tau_bench.user_simulators import NO_ANSWER
from evalcore.errors import EnvironmentFailure, TargetFailure, UsageError
from evalcore.i18n import Note
from evalcore.records import Completion, Message, Record, ToolCall

_PERSONA = "<PERSONA_GUIDELINES>"
_LARGEST_SEED = 1_000_000
_PERFORMANCE = re.compile(r"('server_performance': )'(\w+)'")
#: Parts of a scenario, and what stands before each.
_PARTS = (
    ("domain", "Domain: "),
    ("reason_for_call", "Reason for call:\n"),
    ("known_info", "Known info:\n"),
    ("unknown_info", "Unknown info:\n"),
    ("task_instructions", "Task instructions:\n"),
)


class Tau2Texts(Record, frozen=True):
    """What upstream's code says. `tools` and `user_tools` are the schemas of each domain as JSON
    text, `toolkits` the classes that hold the tools by `domain/side`; `agent_prompt` has places for
    the instruction and the policy, `user_prompt` for the guidelines and the scenario. `endings` are
    what follows our own words in the answers of some tools (`tool` or `tool/case`). `max_steps`
    counts every message and every round of results; `seed` draws that of each trial. `bank` is
    what a checkout with a bank has of it."""

    tools: dict[str, str]
    user_tools: dict[str, str]
    toolkits: dict[str, str]
    endings: dict[str, str]
    agent_prompt: str
    agent_instruction: str
    user_prompt: str
    user_guidelines: str
    user_guidelines_tools: str
    greeting: str
    temperature: float
    user_temperature: float
    max_steps: int
    max_errors: int
    seed: int
    bank: BankTexts | None = None

    def list_tool_schemas(self, domain: str, retrieval: str = "") -> tuple[dict[str, Any], ...]:
        """The tools of a domain as a server takes them. Raises UsageError for one without any, and
        for a bank without a way to its documents."""
        if domain == BANK and self.bank is not None:
            if not retrieval:
                raise UsageError(Note("tau2_retrieval", names=", ".join(RETRIEVALS)))
            return tuple(self.bank.list_tool_schemas(retrieval))
        if domain not in self.tools:
            raise UsageError(Note("tau2_no_tools", tools=", ".join(self.tools), domain=domain))
        return tuple(json.loads(self.tools[domain]))

    def build_agent_prompt(self, policy: str) -> str:
        return self.agent_prompt.format(
            agent_instruction=self.agent_instruction, domain_policy=policy
        )

    def list_user_tool_schemas(self, task: Task, domain: str) -> tuple[dict[str, Any], ...]:
        """The tools that the user of a task is offered; none where the task names an unknown one,
        as upstream has it."""
        bank = self.bank.tools["user"] if domain == BANK and self.bank else "[]"
        schemas = json.loads(self.user_tools.get(domain, bank))
        if task.user_tools is None:
            return tuple(schemas)
        names = {schema["function"]["name"] for schema in schemas}
        if not names.issuperset(task.user_tools):
            return ()
        return tuple(each for each in schemas if each["function"]["name"] in task.user_tools)

    def build_user_prompt(self, scenario: Scenario, *, with_tools: bool = False) -> str:
        guidelines = self.user_guidelines_tools if with_tools else self.user_guidelines
        return self.user_prompt.format(
            global_user_sim_guidelines_with_persona=guidelines.replace(_PERSONA, ""),
            instructions=format_scenario(scenario),
        )

    def phrase_result(self, domain: str, side: str, tool: str, text: str, done: bool) -> str:
        """An answer of a side's tool in upstream's words. A call with other arguments than the
        tool has is named with the class of the tool."""
        if not done:
            own = f"Error: {tool}() "
            toolkit = self.toolkits.get(f"{domain}/{side}", "")
            return text.replace(own, f"Error: {toolkit}.{tool}() ", 1)
        text = _PERFORMANCE.sub(_name_member, text) if tool == "check_vpn_status" else text
        for key, ending in self.endings.items():
            name, _, case = key.partition("/")
            if name == tool and (not case or text.endswith(f"({case}).")):
                return text + ending
        return text

    def draw_seed(self, trial: int) -> int:
        """The seed that models are asked with in a trial, from 0."""
        drawn = Random(self.seed)  # noqa: S311  # as upstream draws
        return [drawn.randint(0, _LARGEST_SEED) for _ in range(trial + 1)][-1]


def _name_member(match: re.Match[str]) -> str:
    """How well the VPN works as Python shows the member of upstream's enumeration."""
    return f"{match[1]}<PerformanceLevel.{match[2].upper()}: '{match[2]}'>"


def format_scenario(scenario: Scenario) -> str:
    """The scenario as upstream writes it for the user."""
    lines = []
    if scenario.persona is not None:
        lines += ["Persona:", textwrap.indent(scenario.persona, "\t")]
    return "\n".join([*lines, "Instructions:", textwrap.indent(_format_parts(scenario), "\t")])


def _format_parts(scenario: Scenario) -> str:
    parts = scenario.instructions
    if isinstance(parts, str):
        return parts
    lines = []
    for name, head in _PARTS:
        value = parts.get(name)
        if value is not None:
            text = str(value)
            lines.append(head + (text if name == "domain" else textwrap.indent(text, "\t")))
    return "\n".join(lines)


#: The answer to the messages so far, and its price in USD where known.
Ask = Callable[[Sequence[Message]], Awaitable[tuple[Completion, float | None]]]
#: What upstream answers to a side's call of a tool, and whether that is no error.
UseTool = Callable[[Requestor, str, dict[str, Any]], tuple[str, bool]]
#: Names of limits as an episode's end is named by them.
_STEPS, _ERRORS, _UNREADABLE = "max_turns", "max_tool_errors", "max_parse_errors"


class Limits(Record, frozen=True):
    """Steps, and calls that fail, of both sides together."""

    max_steps: int
    max_errors: int


class Reading(Record, frozen=True):
    """The calls of an answer with their arguments; None where upstream cannot go on with it."""

    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    sent: tuple[ToolCall, ...] = ()


def read_answer(answer: Completion, step: int) -> Reading | None:
    """What upstream reads in an answer: arguments that are one JSON object, or a text that is not
    blank. Arguments go back as upstream writes them."""
    calls, sent = [], []
    for at, call in enumerate(answer.tool_calls):
        try:
            arguments = json.loads(call.arguments)
        except (ValueError, RecursionError):
            return None
        if not isinstance(arguments, dict):
            return None
        kwargs = to_plain_value(clamp_numbers(arguments))
        calls.append((replace_surrogates(call.name), kwargs))
        written, call_id = json.dumps(to_plain_value(arguments)), call.id or f"call_{step}_{at}"
        sent.append(msgspec.structs.replace(call, id=call_id, arguments=written))
    if not calls and not answer.text.strip():
        return None
    return Reading(tuple(calls), tuple(sent))


class OfficialConversation:
    """One episode while it is played. `opening` is the agent's system message, `user_prompt` the
    user's, `greeting` what the agent says first without being asked, `offered` the tools
    that a text of theirs may be a lost call of."""

    def __init__(
        self,
        use_tool: UseTool,
        ask_agent: Ask,
        ask_user: Ask,
        limits: Limits,
        opening: Sequence[Message],
        user_prompt: str,
        greeting: str,
        offered: Sequence[Tool],
    ) -> None:
        self._use_tool, self._limits, self._offered = use_tool, limits, offered
        self._ask_agent, self._ask_user = ask_agent, ask_user
        self._messages = [*opening, Message("assistant", greeting)]
        self._user_messages = [Message("system", user_prompt), Message("user", greeting)]
        self._says = [greeting]
        self._steps = self._errors = self._user_turns = 0
        self._spent = NOTHING_SPENT
        self._user_cost: float | None = 0.0
        self._finish_reason = ""
        self._readings: Counter[str] = Counter()

    async def play(self) -> ConversationResult:
        """The whole of it. Raises EnvironmentFailure where the user's model gives no answer that
        upstream could go on with: no fault of the agent's."""
        ended = ""
        while not ended:
            ended = await self._take_user_turns() or await self._take_agent_turns()
        ending = "stopped" if ended == USER_STOP else ""
        user = {"user_turns": self._user_turns, "ending": ending, "user_cost": self._user_cost}
        return ConversationResult(
            tuple(self._messages),
            (),
            tuple(self._says),
            ended,
            self._spent,
            self._finish_reason,
            user,
            dict(+self._readings),
        )

    async def _take_user_turns(self) -> str:
        """The user's calls up to their next words, which go to the agent; why it ended, if so."""
        while True:
            answer, reading = await self._ask_simulator()
            text = replace_surrogates(answer.text)
            self._user_messages.append(Message("assistant", text, tool_calls=reading.sent))
            self._steps += 1
            if not reading.calls:
                break
            self._user_messages += await self._execute(reading, "user")
            if ended := self._find_limit():
                return ended
        self._messages.append(Message("user", text))
        self._user_turns += 1
        stopped = any(stop in text for stop in STOPS)
        return self._find_limit() or (USER_STOP if stopped else "")

    async def _ask_simulator(self) -> tuple[Completion, Reading]:
        try:
            answer, cost = await self._ask_user(self._user_messages)
        except TargetFailure as error:
            raise EnvironmentFailure(Note("tau_user_failed", message=error)) from None
        known = self._user_cost is not None and cost is not None
        self._user_cost = (self._user_cost or 0.0) + (cost or 0.0) if known else None
        reading = read_answer(answer, self._steps)
        if reading is None:
            reason = answer.finish_reason if answer.finish_reason in NO_ANSWER else "unparsable"
            raise EnvironmentFailure(Note("tau_user_ended", reason=reason))
        return answer, reading

    async def _take_agent_turns(self) -> str:
        """The agent's calls up to its next words, which go to the user; why it ended, if so."""
        while True:
            answer, cost = await self._ask_agent(self._messages)
            self._spent = add_answer_usage(self._spent, answer, cost)
            self._finish_reason = answer.finish_reason
            reading = read_answer(answer, self._steps)
            text = replace_surrogates(answer.text)
            thought = replace_surrogates(answer.reasoning)
            calls = reading.sent if reading else answer.tool_calls
            self._messages.append(Message("assistant", text, thought, calls, opaque=answer.opaque))
            if answer.finish_reason == OVERFLOW:
                return OVERFLOW
            if is_withheld(answer):
                return FILTERED
            if reading is None or answer.finish_reason == "unparsable":
                self._readings["lost"] += 1
                self._spent = msgspec.structs.replace(self._spent, max_parse_errors=1)
                return _UNREADABLE
            self._steps += 1
            if text.strip():
                self._says.append(text)
            if not reading.calls:
                turn = parse_native_turn(answer)
                self._readings["lost"] += (
                    classify_call_reading(turn, "native", self._offered) == "lost"
                )
                self._user_messages.append(Message("user", text))
                return self._find_limit()
            self._readings["native"] += 1
            self._messages += await self._execute(reading, "assistant")
            if ended := self._find_limit():
                return ended

    async def _execute(self, reading: Reading, side: Requestor) -> list[Message]:
        """The results of calls, one step together."""
        results = []
        for (name, kwargs), call in zip(reading.calls, reading.sent, strict=True):
            text, done = await asyncio.to_thread(self._use_tool, side, name, kwargs)
            self._errors += not done
            results.append(Message("tool", replace_surrogates(text), tool_call_id=call.id))
        self._steps += 1
        return results

    def _find_limit(self) -> str:
        """The limit that is reached, else empty; that of errors outweighs that of steps."""
        if self._errors >= self._limits.max_errors:
            self._spent = msgspec.structs.replace(self._spent, max_tool_errors=self._errors)
            return _ERRORS
        return _STEPS if self._steps >= self._limits.max_steps else ""
