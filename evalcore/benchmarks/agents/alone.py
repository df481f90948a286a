"""A sample worked on by an agent alone: the benchmark's prompt, tools, and the target's answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from evalcore.benchmarks import agents
from evalcore.benchmarks.agents.loop import Work, Worked
from evalcore.benchmarks.base import Benchmark, Context
from evalcore.benchmarks.beside import beside
from evalcore.records import Completion, GenerationRequest, Message, Record, Sample


class Tools(Record, frozen=True):
    """What an agent has: the tools, what a call of one brings, and the name of the final one."""

    offered: tuple[agents.Tool, ...]
    call: Callable[[str, Mapping[str, Any]], str]
    final: str


async def work(
    benchmark: Benchmark, sample: Sample, context: Context, tools: Tools, most_steps: int
) -> Worked:
    """The target's work on a sample. Tools are sent, or else told in the first message.

    Raises TargetFailure, and whatever the tools raise.
    """
    style = agents.style_of(await context.asking(), "json")
    first, *rest = benchmark.messages(sample)
    told = first.content + agents.described(tools.offered, style, alone=True)
    opening = (msgspec.structs.replace(first, content=told), *rest)

    async def ask(messages: Sequence[Message]) -> Completion:
        sent = agents.tools(tools.offered) if style == "native" else ()
        given = benchmark.request_input(sample)
        return await context.generate(GenerationRequest(tuple(messages), sent, input=given))

    async def call(name: str, arguments: Mapping[str, Any]) -> str:
        return await beside(partial(tools.call, name, arguments))

    return await Work(tools.offered, call, ask, style, tools.final).play(opening, most_steps)
