"""The one retry layer: which failures are tried again, how often, and how long to wait.

The SDKs' own retries are off. A refusal waits as long as the server asks (also long) or backs off;
whatever does not fit into the wall-clock limit of the sample ends at once. Failures of the same
kind that speak of what the model wrote are the model's own: they end as a completion that says so.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from evalcore.errors import TargetFailure
from evalcore.records import Completion, Failure, FailureKind, Record
from evalcore.runner.limits import Flow, WaitTooLong
from evalcore.settings import Settings


class RetryPolicy(Record, frozen=True):
    """Attempts by kind of failure; a kind that is absent is not tried again."""

    attempts: dict[str, int]
    base: float
    cap: float


#: No second try, whatever happens.
ONCE = RetryPolicy(attempts={}, base=0.0, cap=0.0)


def build_retry_policy(settings: Settings) -> RetryPolicy:
    max_attempts = settings.max_attempts
    return RetryPolicy(
        attempts={
            "rate_limited": max_attempts * 4,
            "retryable": max_attempts,
            "malformed": min(3, max_attempts),
            "model_output": min(3, max_attempts),
        },
        base=settings.retry_base,
        cap=settings.retry_cap,
    )


async def with_retries(
    attempt: Callable[[], Awaitable[Completion]],
    flow: Flow,
    rules: RetryPolicy,
    deadline: float,
    report: Callable[[Failure], Any],
    tokens: int = 0,
) -> Completion:
    """Call `attempt` until it answers; raises TargetFailure when no further try is due.

    `deadline` is in the event loop's time; `report` is told of every failure.
    """
    counts: dict[FailureKind, int] = {}
    tries = 0
    while True:
        tries += 1
        try:
            done = await _attempt_once(attempt, flow, deadline, tokens)
            return done if tries == 1 else msgspec.structs.replace(done, attempts=tries)
        except TargetFailure as error:
            failure = msgspec.structs.replace(error.failure, attempts=tries)
        report(failure)
        counts[failure.kind] = counts.get(failure.kind, 0) + 1
        if counts[failure.kind] >= rules.attempts.get(failure.kind, 1):
            return _give_up(failure)
        wait = _compute_wait(failure, counts[failure.kind], rules)
        if asyncio.get_running_loop().time() + wait > deadline:
            raise TargetFailure(_too_long(failure, wait))
        await asyncio.sleep(wait)


async def _attempt_once(
    attempt: Callable[[], Awaitable[Completion]], flow: Flow, deadline: float, tokens: int
) -> Completion:
    try:
        started = await flow.enter(deadline, tokens)
    except WaitTooLong as error:
        raise TargetFailure(
            Failure(kind="rate_limited", message=str(error), retry_after=error.seconds)
        ) from None
    try:
        done = await attempt()
    except TargetFailure as error:
        if error.failure.kind == "rate_limited":
            flow.record_refusal(started, error.failure.retry_after)
        elif error.failure.kind == "retryable":
            flow.record_failure()
        raise
    else:
        flow.record_success()
        return done
    finally:
        flow.leave()


def _give_up(failure: Failure) -> Completion:
    if failure.kind != "model_output":
        raise TargetFailure(failure)
    return Completion(finish_reason="unparsable", attempts=failure.attempts)


def _compute_wait(failure: Failure, count: int, rules: RetryPolicy) -> float:
    """Seconds until the next try: what the server asks, else exponential with jitter."""
    if failure.retry_after is not None:
        return failure.retry_after
    return min(rules.cap, rules.base * 2.0 ** (count - 1)) * random.uniform(0.5, 1.0)  # noqa: S311


def _too_long(failure: Failure, wait: float) -> Failure:
    message = f"{failure.message} (the next try, in {wait:.0f} s, is past the sample's time limit)"
    return msgspec.structs.replace(failure, message=message)
