"""The contract of a target: open, answer requests, close."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from evalcore.records import Completion, GenerationRequest, Record

TargetKind = Literal["endpoint", "local", "application", "baseline", "control"]


class TargetInfo(Record, frozen=True):
    """What a target says of itself. `revision` belongs to the cache key of its answers.

    `max_in_flight` is the width it can use, `start_in_flight` where the scheduler begins;
    `cacheable` is False where asking again costs nothing. `tools`: whether it takes tools, None
    where only its server knows. `card` records capabilities.
    """

    kind: TargetKind
    title: str
    max_in_flight: int = 64
    start_in_flight: int = 8
    revision: str = ""
    cacheable: bool = False
    tools: bool | None = False
    card: dict[str, Any] = {}


class Target(Protocol):
    """A system under test. `generate` may be called concurrently up to `info.max_in_flight`."""

    key: str
    info: TargetInfo

    async def open(self, progress: Callable[[str], None]) -> None:
        """Load or connect; `progress` takes a line for people. Raises UsageError with a remedy."""

    async def generate(self, request: GenerationRequest) -> Completion:
        """One attempt at an answer, never retried here; raises TargetFailure."""

    async def close(self) -> None:
        """Free everything; safe to call twice."""
