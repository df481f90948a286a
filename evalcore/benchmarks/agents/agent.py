"""A sample worked on by an agent alone: the benchmark's prompt, tools, and the target's answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from evalcore.benchmarks import agents
from evalcore.benchmarks.agents.loop import AgentLoop, AgentResult
from evalcore.benchmarks.base import Benchmark, Context
from evalcore.benchmarks.concurrency import run_in_thread
from evalcore.records import Completion, GenerationRequest, Message, Record, Sample


class Tools(Record, frozen=True):
    """What an agent has: the tools, what a call of one brings, and the name of the final one."""

    offered: tuple[agents.Tool, ...]
    call: Callable[[str, Mapping[str, Any]], str]
    final: str


async def run_agent(
    benchmark: Benchmark, sample: Sample, context: Context, tools: Tools, max_steps: int
) -> AgentResult:
    """The target's work on a sample. Tools are sent, or else told in the first message.

    Raises TargetFailure, and whatever the tools raise.
    """
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
