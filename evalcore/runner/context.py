"""What a benchmark sees while it runs or scores one sample: `generate`, and all behind it.

Each request is looked up in the journal of an earlier attempt, and goes through its channel only
where it is not there; every answer is journaled before it is used.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from evalcore.benchmarks.base import Benchmark, ToolCallMode
from evalcore.errors import TargetFailure
from evalcore.intake import add_numbers
from evalcore.records import (
    Call,
    Completion,
    CostSource,
    Failure,
    GenerationRequest,
    Sample,
    Usage,
    add_usage,
    content_hash,
    utc_now,
)
from evalcore.runner.channels import TARGET, Channel, Channels
from evalcore.runner.run_budget import estimate_usage
from evalcore.runner.tool_calling import detect_tool_call_mode
from evalcore.targets.control import Control
from evalcore.targets.openai_reply import is_answer


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
    attempts: int = 0
    completions: int = 0
    cached: bool = True
    _turns: dict[str, int] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        return self.channels.run.seed

    async def resolve_tool_call_mode(self) -> ToolCallMode:
        """How the target is asked for calls of tools; found out once for a run."""
        return await self.channels.memoize_async(
            "asking", lambda: detect_tool_call_mode(self.channels[TARGET], self.deadline)
        )

    def price(self, role: str, usage: Usage) -> float | None:
        """USD for one answer of the model in that role, None where its price is unknown."""
        return self.channels[role].price(usage).amount

    async def generate(self, request: GenerationRequest, role: str = "target") -> Completion:
        turn = self._turns.get(role, 0)
        self._turns[role] = turn + 1
        key = f"{self.benchmark.key}/{self.journal_key}"
        request_hash = content_hash(request)
        earlier = self.channels.find_earlier_call((key, self.epoch, role, turn))
        if (
            earlier is not None
            and earlier.request == request_hash
            and is_answer(earlier.completion)
        ):
            completion = earlier.completion
        else:
            completion = await self._ask_model(request, role)
            self.channels.journal_call(
                Call(
                    key=key,
                    epoch=self.epoch,
                    turn=turn,
                    role=role,
                    request=request_hash,
                    completion=completion,
                    at=utc_now(),
                )
            )
        if role == TARGET:
            self._count_completion(completion)
        return completion

    async def _ask_model(self, request: GenerationRequest, role: str) -> Completion:
        channel = self.channels[role]
        if isinstance(channel.target, Control):
            return self.benchmark.control(self.sample, channel.target.kind, request.messages)
        self.channels.budget.check_remaining()
        completion = await self._ask_in_time(channel, request, role)
        if not completion.cached:
            self.channels.budget.record_cost(
                channel.price(estimate_usage(request, completion)).amount
            )
        return completion

    async def _ask_in_time(
        self, channel: Channel, request: GenerationRequest, role: str
    ) -> Completion:
        if role == TARGET:  # the runner ends a sample that takes too long
            return await channel.generate(request, self.epoch, self.deadline)
        try:
            async with asyncio.timeout_at(self.deadline):
                return await channel.generate(request, self.epoch, self.deadline)
        except TimeoutError:
            message = f"no answer within the {self.channels.sample_limit:.0f} s allowed"
            raise TargetFailure(Failure(kind="timeout", message=message)) from None

    def _count_completion(self, completion: Completion) -> None:
        self.completions += 1
        self.usage = add_usage(self.usage, completion.usage)
        self.latency += completion.latency
        self.attempts += completion.attempts
        self.cached = self.cached and completion.cached
        quote = self.channels[TARGET].price(completion.usage)
        self.cost = add_numbers(self.cost, quote.amount)
        if quote.source:
            self.cost_sources.add(quote.source)
