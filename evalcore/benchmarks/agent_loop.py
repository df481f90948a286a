"""The loop of an agent that works alone: it calls tools until it answers, submits, or reaches a
limit.

The same answers lead to the same requests, so that a resumed run finds them in its journal.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, TypeVar

import msgspec

from evalcore.benchmarks import agents
from evalcore.benchmarks.agents import (
    OUTPUT,
    AgentCall,
    Style,
    Tool,
    assign_call_ids,
    classify_call_reading,
    parse_turn,
)
from evalcore.benchmarks.base import Benchmark, Context
from evalcore.benchmarks.call_decoding.call import replace_surrogates
from evalcore.records import Completion, GenerationRequest, Message, Record, Sample

# Programs run beside the event loop, one to a processor: more at once would only take the time of
# one another, and the clock that limits each runs on.

T = TypeVar("T")


async def run_in_thread(work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(_open_thread_pool(), work)


@cache
def _open_thread_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="beside")


# Whatever an agent writes is read and kept; only failures of the target or of our own side raise.
# All that is sent follows from the answers before: a loop that is begun again after a kill repeats
# the very same requests, as long as its tools answer the same.

OVERFLOW = "context_overflow"
MAX_STEPS, MAX_PARSE_ERRORS = "max_steps", "max_parse_errors"
#: So many calls in a row may be unreadable; one that can be read starts the count anew.
_MAX_UNREADABLE = 5

Ask = Callable[[Sequence[Message]], Awaitable[Completion]]
Call = Callable[[str, Mapping[str, Any]], Awaitable[str]]


class AgentResult(Record, frozen=True):
    """What an agent did. `final` are the arguments of the tool that ends the work, None where it
    was not called; `last_text` its last words; `calls` of {"name", "arguments", "result"} in order;
    `ended` the limit that ended it, or ""; `call_readings` the turns with calls by how those were
    read."""

    messages: tuple[Message, ...]
    calls: tuple[dict[str, Any], ...]
    last_text: str = ""
    final: dict[str, Any] | None = None
    ended: str = ""
    finish_reason: str = ""
    call_readings: dict[str, int] = {}


class AgentLoop:
    """One agent while it works. `final` names the tool that ends the work."""

    def __init__(
        self, tools: Sequence[Tool], call: Call, ask: Ask, style: Style, final: str
    ) -> None:
        self._tools, self._call, self._ask = tools, call, ask
        self._style, self._final = style, final
        self._messages: list[Message] = []
        self._sent: list[Message] = []
        self._calls: list[dict[str, Any]] = []
        self._unreadable = 0
        self._readings: Counter[str] = Counter()

    async def run(self, opening: Sequence[Message], max_steps: int) -> AgentResult:
        self._append_messages(*opening)
        reason = last_text = ""
        for step in range(max_steps):
            answer = await self._ask(self._sent)
            reason = answer.finish_reason
            turn = parse_turn(answer, self._style, self._tools)
            if reading := classify_call_reading(turn, self._style, self._tools):
                self._readings[reading] += 1
            self._append_answer(answer, turn.calls, step)
            last_text = turn.user_message
            if reason == OVERFLOW:
                return self._build_agent_result(reason, ended=OVERFLOW)
            if not turn.calls and not turn.problem:
                return self._build_agent_result(reason, last_text=last_text)
            final = await self._execute_calls(turn.calls, turn.problem)
            if final is not None:
                return self._build_agent_result(
                    reason, last_text=replace_surrogates(answer.text), final=final
                )
            if self._unreadable >= _MAX_UNREADABLE:
                return self._build_agent_result(reason, ended=MAX_PARSE_ERRORS)
        return self._build_agent_result(reason, last_text=last_text, ended=MAX_STEPS)

    def _append_answer(self, answer: Completion, read_as: Sequence[AgentCall], step: int) -> None:
        calls = assign_call_ids(answer.tool_calls, step) if self._style == "native" else ()
        written, sent = agents.build_answer_messages(answer, calls, read_as)
        self._messages.append(written)
        self._sent.append(sent)

    async def _execute_calls(
        self, calls: Sequence[AgentCall], problem: str
    ) -> dict[str, Any] | None:
        """What the calls bring; the arguments of the one that ends the work."""
        if problem:
            self._append_results([self._report_unreadable(problem)])
            return None
        results = []
        for call in calls:
            if call.name == self._final and not call.problem:
                return dict(call.kwargs)
            results.append(await self._call_tool(call))
        self._append_results(results)
        return None

    async def _call_tool(self, call: AgentCall) -> str:
        if call.problem:
            return self._report_unreadable(call.problem)
        self._unreadable = 0
        result = replace_surrogates(await self._call(call.name, call.kwargs))
        arguments = json.dumps(call.kwargs, ensure_ascii=False)
        self._calls.append({"name": call.name, "arguments": arguments, "result": result})
        return result

    def _report_unreadable(self, problem: str) -> str:
        self._unreadable += 1
        return f"Error: {problem}"

    def _append_results(self, results: Sequence[str]) -> None:
        tool_calls = self._messages[-1].tool_calls
        if len(tool_calls) == len(results):
            pairs = zip(results, tool_calls, strict=True)
            self._append_messages(
                *(Message("tool", text, tool_call_id=call.id) for text, call in pairs)
            )
        else:
            self._append_messages(Message("user", "\n".join(f"{OUTPUT}{text}" for text in results)))

    def _append_messages(self, *messages: Message) -> None:
        self._messages += messages
        self._sent += messages

    def _build_agent_result(self, reason: str, **fields: Any) -> AgentResult:
        messages, calls = tuple(self._messages), tuple(self._calls)
        readings = dict(self._readings)
        return AgentResult(messages, calls, finish_reason=reason, call_readings=readings, **fields)


class Tools(Record, frozen=True):
    """What an agent has: the tools, what a call of one brings, and the name of the final one."""

    offered: tuple[agents.Tool, ...]
    call: Callable[[str, Mapping[str, Any]], str]
    final: str


async def run_agent(
    benchmark: Benchmark, sample: Sample, context: Context, tools: Tools, max_steps: int
) -> AgentResult:
    """The target's work on a sample. Tools are sent, or else told in the first message. Raises
    TargetFailure, and whatever the tools raise."""
    style = agents.choose_style(await context.resolve_tool_call_mode(), "json")
    first, *rest = benchmark.messages(sample)
    first_content = first.content + agents.describe_tools(tools.offered, style, alone=True)
    opening = (msgspec.structs.replace(first, content=first_content), *rest)

    async def request_completion(messages: Sequence[Message]) -> Completion:
        tool_schemas = agents.build_tool_schemas(tools.offered) if style == "native" else ()
        sample_input = benchmark.request_input(sample)
        return await context.generate(
            GenerationRequest(tuple(messages), tool_schemas, input=sample_input)
        )

    async def call_tool(name: str, arguments: Mapping[str, Any]) -> str:
        return await run_in_thread(partial(tools.call, name, arguments))

    return await AgentLoop(tools.offered, call_tool, request_completion, style, tools.final).run(
        opening, max_steps
    )
