"""What a benchmark sees while it runs one sample: `generate`, and all that lives behind it.

Each request is looked up in the journal of an earlier attempt, then in the response cache, and is
asked only then, under the flow control and the retry layer; every answer is journaled before it is
used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from evalcore.benchmarks.base import Benchmark
from evalcore.records import (
    Call,
    Completion,
    Failure,
    GenerationRequest,
    Sample,
    TargetSpec,
    Usage,
    content_hash,
    now,
)
from evalcore.runner.cache import Cache
from evalcore.runner.cache import key as cache_key
from evalcore.runner.limits import Flow
from evalcore.runner.retry import Policy, with_retries
from evalcore.store.journal import Journal
from evalcore.targets.base import Target
from evalcore.targets.control import Control

CallKey = tuple[str, int, str, int]


@dataclass(frozen=True)
class Services:
    """What all samples of a run share."""

    target: Target
    spec: TargetSpec
    flow: Flow
    policy: Policy
    calls: Journal
    journaled: Mapping[CallKey, Call]
    cache: Cache | None
    price: Callable[[Usage], float | None]
    report: Callable[[Failure], None]
    seed: int


@dataclass
class SampleContext:
    """`benchmarks.base.Context` for one sample in one epoch; adds up what the requests took."""

    services: Services
    benchmark: Benchmark
    sample: Sample
    epoch: int
    deadline: float
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    latency: float = 0.0
    attempts: int = 0
    completions: int = 0
    cached: bool = True
    _turns: dict[str, int] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        return self.services.seed

    async def generate(self, request: GenerationRequest, role: str = "target") -> Completion:
        turn = self._turns.get(role, 0)
        self._turns[role] = turn + 1
        key = f"{self.benchmark.key}/{self.benchmark.generation_key(self.sample)}"
        asked = content_hash(request)
        earlier = self.services.journaled.get((key, self.epoch, role, turn))
        if earlier is not None and earlier.request == asked:
            completion = earlier.completion
        else:
            completion = await self._ask(request)
            self.services.calls.append(
                Call(
                    key=key,
                    epoch=self.epoch,
                    turn=turn,
                    role=role,
                    request=asked,
                    completion=completion,
                    at=now(),
                )
            )
        self._count(completion)
        return completion

    async def _ask(self, request: GenerationRequest) -> Completion:
        target = self.services.target
        if isinstance(target, Control):
            return self.benchmark.control(self.sample, target.kind, request.messages)
        cache = self.services.cache
        if cache is None or not target.info.cacheable:
            return await self._request(request)
        name = cache_key(
            request, self.services.spec.identity, target.info.revision, self.seed, self.epoch
        )
        found = cache.get(name)
        if found is not None:
            return _as_cached(found)
        completion = await self._request(request)
        cache.put(name, completion)
        return completion

    async def _request(self, request: GenerationRequest) -> Completion:
        started = asyncio.get_running_loop().time()
        completion = await with_retries(
            lambda: self.services.target.generate(request),
            self.services.flow,
            self.services.policy,
            self.deadline,
            self.services.report,
            tokens=_rough_tokens(request) if self.services.flow.counts_tokens else 0,
        )
        if not completion.latency:
            elapsed = asyncio.get_running_loop().time() - started
            return msgspec.structs.replace(completion, latency=elapsed)
        return completion

    def _count(self, completion: Completion) -> None:
        self.completions += 1
        self.usage = add_usage(self.usage, completion.usage)
        self.latency += completion.latency
        self.attempts += completion.attempts
        self.cached = self.cached and completion.cached
        price = self.services.price(completion.usage)
        known = self.cost is not None and price is not None
        self.cost = (self.cost or 0.0) + (price or 0.0) if known else None


def _as_cached(completion: Completion) -> Completion:
    return msgspec.structs.replace(completion, cached=True, attempts=0)


def _rough_tokens(request: GenerationRequest) -> int:
    return sum(len(message.content) for message in request.messages) // 4


def add_usage(left: Usage, right: Usage) -> Usage:
    """Token counts added field by field; what neither reports stays unknown."""
    return Usage(
        input_tokens=_add(left.input_tokens, right.input_tokens),
        output_tokens=_add(left.output_tokens, right.output_tokens),
        reasoning_tokens=_add(left.reasoning_tokens, right.reasoning_tokens),
        cached_tokens=_add(left.cached_tokens, right.cached_tokens),
    )


def _add(left: int | None, right: int | None) -> int | None:
    return right if left is None else left if right is None else left + right
