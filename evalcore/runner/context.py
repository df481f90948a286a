"""What a benchmark may do while it works on one sample, and how its target calls tools."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import get_args

import msgspec

from evalcore.benchmarks.base import Benchmark, ToolCallMode
from evalcore.errors import TargetFailure
from evalcore.i18n import Note
from evalcore.intake import add_numbers
from evalcore.records import (
    Call,
    Completion,
    CostSource,
    Failure,
    GenerationRequest,
    Message,
    Sample,
    Sampling,
    Usage,
    content_hash,
    utc_now,
)
from evalcore.results import add_usage
from evalcore.runner.budget import estimate_usage
from evalcore.runner.channels import TARGET, Channel, Channels
from evalcore.targets.base import Control, collect_partial_answers
from evalcore.targets.endpoint.dialect import is_answer

# How a target is asked for calls of tools: as its options say, else found out by one request.

#: What servers answer that do not take tools, or lack what they need for them.
_STATUSES = (400, 404, 405, 422, 500, 501)
_BROKEN = 500
_SPEAKS_OF_TOOLS = re.compile(r"(?i)\btools?\b|tool[_ -]?(choice|call|use)|function.?call|jinja")
_PROBE = GenerationRequest(
    messages=(Message("user", "What time is it?"),),
    tools=(
        {
            "type": "function",
            "function": {
                "name": "current_time",
                "description": "The present time.",
                "parameters": {"type": "object", "properties": {}},
            },
        },
    ),
    sampling=Sampling(max_tokens=64),
)


async def detect_tool_call_mode(channel: Channel, deadline: float) -> tuple[ToolCallMode, str]:
    """The option `asking` of the target, where it is not `auto`; else `native` if it takes tools.

    What the target does not say of itself is asked of its server, once; the second text is why that
    takes no tools, empty in every other case. Raises TargetFailure where the server does not
    answer.
    """
    configured = channel.spec.options.get("asking")
    for mode in get_args(ToolCallMode):
        if configured == mode:
            return mode, ""
    if channel.target.info.tools is not None:
        return ("native" if channel.target.info.tools else "prompt"), ""
    refusal = await _find_tool_refusal(channel, deadline)
    return ("prompt" if refusal else "native"), refusal


async def _find_tool_refusal(channel: Channel, deadline: float) -> str:
    """Why the server answers no request with tools, empty where it does. One that breaks without a
    word of them is down, or cannot bear them: it shows whether it answers without."""
    refusal = await _try_tools(channel, deadline)
    if refusal is None:
        await channel.generate(msgspec.structs.replace(_PROBE, tools=()), 0, deadline)
        refusal = await _try_tools(channel, deadline)
    return "the server breaks on a request with tools" if refusal is None else refusal


async def _try_tools(channel: Channel, deadline: float) -> str | None:
    """None where the server broke, and gave no reason."""
    try:
        await channel.generate(_PROBE, 0, deadline)
    except TargetFailure as error:
        if _refuses_tools(error.failure):
            return error.failure.localizable_message
        if error.failure.status == _BROKEN:
            return None
        raise
    return ""


def _refuses_tools(failure: Failure) -> bool:
    """Whether a server takes no tools. One that takes them by its other API is asked by that."""
    if "v1/responses" in failure.message:
        return False
    return failure.status in _STATUSES and bool(_SPEAKS_OF_TOOLS.search(failure.message))


# What a benchmark sees while it runs or scores one sample: `generate`, and all behind it.
# Each request is looked up in the journal of an earlier attempt, and goes through its channel
# only where it is not there; every answer is journaled before it is used.


@dataclass
class SampleContext:
    """`benchmarks.base.Context` for one sample in one epoch; adds up what the target took.

    `journal_key` names the sample in the journal of calls: its generation while it is run, itself
    while it is scored. `judges` is empty where this sample is not to be judged.
    """

    channels: Channels
    benchmark: Benchmark
    sample: Sample
    journal_key: str
    epoch: int
    deadline: float
    judges: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    cost_sources: set[CostSource] = field(default_factory=set)
    latency: float = 0.0
    first_tokens: list[float] = field(default_factory=list)
    queue_time: float | None = None
    attempts: int = 0
    completions: int = 0
    cached: bool = True
    _turns: dict[str, int] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        return self.channels.run.seed

    async def resolve_tool_call_mode(self) -> ToolCallMode:
        """How the target is asked for calls of tools; found out once for a run."""
        return await self.channels.memoize_async("asking", self._settle_tool_call_mode)

    async def _settle_tool_call_mode(self) -> ToolCallMode:
        mode, refusal = await detect_tool_call_mode(self.channels[TARGET], self.deadline)
        self.channels.note_tool_calls(mode, refusal)
        return mode

    def price(self, role: str, usage: Usage) -> float | None:
        """USD for one answer of the model in that role, None where its price is unknown."""
        return self.channels[role].price(usage).amount

    async def generate(self, request: GenerationRequest, role: str = "target") -> Completion:
        turn = self._turns.get(role, 0)
        self._turns[role] = turn + 1
        key = f"{self.benchmark.key}/{self.journal_key}"
        request = self._limit_answer(request, role)
        request_hash = content_hash(request)
        earlier = self.channels.find_earlier_call((key, self.epoch, role, turn))
        if (
            earlier is not None
            and earlier.request == request_hash
            and is_answer(earlier.completion)
        ):
            completion = earlier.completion
        else:

            def journal(answer: Completion) -> None:
                made = Call(key, self.epoch, turn, role, request_hash, answer, at=utc_now())
                self.channels.journal_call(made)

            with collect_partial_answers(journal):
                completion = await self._ask_model(request, role)
            journal(completion)
        if role == TARGET:
            self._count_completion(completion)
        return completion

    def _limit_answer(self, request: GenerationRequest, role: str) -> GenerationRequest:
        """The request with the limit of the benchmark where it has none and the target needs one;
        what a person set for the target goes before it, as before all that a benchmark asks."""
        limit = self.benchmark.card.answer_tokens
        unlimited = request.sampling.max_tokens is None and not request.continuations
        if role != TARGET or not (limit and unlimited):
            return request
        if not self.channels[TARGET].target.info.needs_limit:
            return request
        sampling = msgspec.structs.replace(request.sampling, max_tokens=limit)
        return msgspec.structs.replace(request, sampling=sampling)

    async def _ask_model(self, request: GenerationRequest, role: str) -> Completion:
        channel = self.channels[role]
        if isinstance(channel.target, Control):
            return self.benchmark.control(self.sample, channel.target.kind, request.messages)
        budget, answer, usage = self.channels.budget, None, Usage()
        reserved = await budget.reserve(role, request, channel.price)
        try:
            answer = await self._ask_in_time(channel, request, role)
            usage = estimate_usage(request, answer)
        finally:
            budget.settle(role, reserved, answer, usage, channel.price)
        return answer

    async def _ask_in_time(
        self, channel: Channel, request: GenerationRequest, role: str
    ) -> Completion:
        if role == TARGET:  # the runner ends a sample that takes too long
            return await channel.generate(request, self.epoch, self.deadline)
        try:
            async with asyncio.timeout_at(self.deadline):
                return await channel.generate(request, self.epoch, self.deadline)
        except TimeoutError:
            message = Note("run_sample_time", seconds=f"{self.channels.sample_limit:.0f}")
            raise TargetFailure(Failure(kind="timeout", message=message)) from None

    def _count_completion(self, completion: Completion) -> None:
        self.completions += 1
        self.usage = add_usage(self.usage, completion.usage)
        self.latency += completion.latency
        if completion.time_to_first_token is not None:
            self.first_tokens.append(completion.time_to_first_token)
        if completion.queue_time is not None:
            self.queue_time = (self.queue_time or 0.0) + completion.queue_time
        self.attempts += completion.attempts
        self.cached = self.cached and completion.cached
        quote = self.channels[TARGET].price(completion.usage)
        self.cost = add_numbers(self.cost, quote.amount)
        if quote.source:
            self.cost_sources.add(quote.source)
