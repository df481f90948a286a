"""The retry layer: what is tried again, how often, and when it is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from evalcore.errors import TargetFailure
from evalcore.records import Completion, Failure, FailureKind
from evalcore.runner.limits import Flow, build_retry_policy, with_retries
from evalcore.settings import Settings
from evalcore.targets import failures

RULES = build_retry_policy(Settings(retry_base=0.001, retry_cap=0.002, max_attempts=4))


class Script:
    """An attempt that fails in the given ways, then answers."""

    def __init__(self, *failures: Failure) -> None:
        self.failures = list(failures)
        self.calls = 0

    async def __call__(self) -> Completion:
        self.calls += 1
        if self.failures:
            raise TargetFailure(self.failures.pop(0))
        return Completion(text="ok")


def failing(kind: FailureKind, times: int, retry_after: float | None = None) -> list[Failure]:
    return [Failure(kind=kind, message=f"{kind}!", retry_after=retry_after)] * times


async def run(
    script: Callable, seen: list[Failure] | None = None, seconds: float = 30
) -> Completion:
    deadline = asyncio.get_running_loop().time() + seconds
    report = (seen if seen is not None else []).append
    return await with_retries(script, Flow(start=4, maximum=4), RULES, deadline, report)


@pytest.mark.parametrize("kind", ["rate_limited", "retryable", "malformed", "model_output"])
async def test_what_may_pass_is_tried_again(kind: FailureKind) -> None:
    seen: list[Failure] = []
    script = Script(*failing(kind, 2))
    done = await run(script, seen)
    assert (done.text, done.attempts, script.calls) == ("ok", 3, 3)
    assert [failure.attempts for failure in seen] == [1, 2]


@pytest.mark.parametrize(
    ("kind", "calls"),
    [("permanent", 1), ("malformed", 3), ("retryable", 4), ("rate_limited", 16)],
)
async def test_what_stays_is_given_up(kind: FailureKind, calls: int) -> None:
    script = Script(*failing(kind, 100))
    with pytest.raises(TargetFailure) as caught:
        await run(script)
    assert script.calls == calls
    assert caught.value.failure.kind == kind
    assert caught.value.failure.attempts == calls


async def test_a_request_that_nothing_came_of_is_sent_twice_at_most() -> None:
    """Each may be paid for: a model that thinks for long answers none of them in time."""
    stalled = [failures.from_exception(TimeoutError())] * 100
    script = Script(*stalled)
    with pytest.raises(TargetFailure):
        await run(script)
    assert script.calls == 2


async def test_what_the_model_wrote_is_its_own() -> None:
    script = Script(*failing("model_output", 100))
    done = await run(script)
    assert (done.finish_reason, done.text, script.calls) == ("unparsable", "", 3)
    quoted = Failure(kind="model_output", message="no", model_text="<function=f>")
    done = await run(Script(*[quoted] * 3))
    assert (done.finish_reason, done.text) == ("unparsable", "<function=f>")


async def test_retry_after_is_honoured() -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    await run(Script(*failing("rate_limited", 1, retry_after=0.2)))
    assert loop.time() - began >= 0.2


async def test_a_wait_beyond_the_deadline_ends_at_once_and_says_so() -> None:
    with pytest.raises(TargetFailure, match="3600 s"):  # waiting would take an hour
        await run(Script(*failing("rate_limited", 1, retry_after=3600)), seconds=60)


async def test_kinds_are_counted_apart() -> None:
    script = Script(*failing("malformed", 2), *failing("retryable", 3))
    assert (await run(script)).attempts == 6


async def test_a_pause_of_the_flow_beyond_the_deadline_ends_at_once() -> None:
    loop = asyncio.get_running_loop()
    flow = Flow(start=4, maximum=4)
    flow.record_refusal(await flow.enter(loop.time() + 1), 3600.0)
    flow.leave()
    seen: list[Failure] = []
    script = Script()
    with pytest.raises(TargetFailure, match="past the sample's time limit"):
        await with_retries(script, flow, RULES, loop.time() + 60, seen.append)
    assert (script.calls, len(seen), flow.in_flight) == (0, 1, 0)
