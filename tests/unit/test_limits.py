"""Flow control: the window grows while all goes well, a refusal paces the starts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from evalcore.runner.limits import Flow, Pacer, WaitTooLong

FAR = 1e12


@pytest.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[], float]:
    """The time of the loop, which passes only while all wait, and then at once."""
    loop, now = asyncio.get_running_loop(), [0.0]
    selector = loop._selector  # type: ignore[attr-defined]
    select = selector.select

    def skip(timeout: float | None) -> object:
        now[0] += timeout or 0.0
        return select(0 if timeout else timeout)

    monkeypatch.setattr(loop, "time", lambda: now[0])
    monkeypatch.setattr(selector, "select", skip)
    return loop.time


async def serve(flow: Flow, count: int) -> None:
    for _ in range(count):
        await flow.enter(FAR)
        flow.record_success()
        flow.leave()


async def test_the_window_doubles_up_to_its_maximum() -> None:
    flow = Flow(start=2, maximum=10)
    await serve(flow, 4)
    assert flow.limit == 4
    await serve(flow, 100)
    assert flow.limit == 10


async def test_no_more_than_the_window_is_in_flight() -> None:
    flow = Flow(start=3, maximum=3)
    seen = []

    async def send_request() -> None:
        await flow.enter(FAR)
        seen.append(flow.in_flight)
        await asyncio.sleep(0.001)
        flow.leave()

    await asyncio.gather(*(send_request() for _ in range(20)))
    assert max(seen) == 3
    assert flow.in_flight == 0


async def test_a_cancelled_waiter_passes_its_turn_on() -> None:
    flow = Flow(start=1, maximum=1)
    await flow.enter(FAR)
    first, second = (asyncio.create_task(flow.enter(FAR)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    flow.leave()
    assert await asyncio.wait_for(second, 60) > 0


async def test_a_refusal_ends_the_growth_and_paces_the_starts() -> None:
    flow = Flow(start=8, maximum=64)
    started = [await flow.enter(FAR) for _ in range(8)]
    for _ in range(7):
        flow.record_success()
    flow.record_refusal(started[7], None)
    for _ in range(8):
        flow.leave()
    before = flow.limit
    await serve(flow, 3)
    assert flow.limit == before
    assert flow.refused == 1
    assert flow._pacer.rate is not None


async def test_a_flow_refused_before_it_served_anything_recovers() -> None:
    flow = Flow(start=8, maximum=64)
    for _ in range(6):
        flow.record_refusal(await flow.enter(FAR), None)
        flow.leave()
        await asyncio.sleep(0.001)
    assert flow.limit == 1
    await serve(flow, 300)
    assert flow.limit == 64


async def test_refusals_of_older_requests_do_not_cut_twice() -> None:
    flow = Flow(start=8, maximum=64)
    started = [await flow.enter(FAR) for _ in range(8)]
    flow.record_success()
    flow.record_refusal(started[0], None)
    rate = flow._pacer.rate
    flow.record_refusal(started[1], None)
    assert flow._pacer.rate == rate


async def test_a_long_retry_after_stops_everybody(clock: Callable[[], float]) -> None:
    flow = Flow(start=4, maximum=4)
    flow.record_refusal(await flow.enter(FAR), 30.0)
    flow.leave()
    with pytest.raises(WaitTooLong) as caught:
        await flow.enter(clock() + 5)
    assert caught.value.seconds == 30
    assert flow.in_flight == 0


async def test_failures_in_a_row_halve_the_window_and_success_forgives() -> None:
    flow = Flow(start=8, maximum=8)
    for _ in range(3):
        flow.record_failure()
    assert flow.limit == 4
    flow.record_failure()
    flow.record_failure()
    await serve(flow, 1)
    flow.record_failure()
    assert flow.limit == 4
    for _ in range(50):
        flow.record_failure()
    assert flow.limit == 1


async def test_a_known_limit_is_kept_from_the_start(clock: Callable[[], float]) -> None:
    flow = Flow(start=50, maximum=50, requests_per_minute=60 * 100)
    began = clock()
    await serve(flow, 21)
    assert clock() - began >= 0.19


async def test_tokens_are_paced_by_their_number(clock: Callable[[], float]) -> None:
    pacer = Pacer(1000.0)
    began = clock()
    await pacer.wait(100)
    await pacer.wait(1)
    assert clock() - began >= 0.09


async def test_who_leaves_the_line_takes_no_start(clock: Callable[[], float]) -> None:
    flow = Flow(start=8, maximum=8, requests_per_minute=60 * 5)
    first = await flow.enter(FAR)
    waiting = [asyncio.create_task(flow.enter(FAR)) for _ in range(7)]
    await asyncio.sleep(0.01)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert flow.in_flight == 1
    assert await flow.enter(FAR) == pytest.approx(first + 0.2)
