"""The pace of requests to a target: concurrency, rate limits and retries."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from evalcore.errors import RunStopped, TargetFailure
from evalcore.i18n import Note
from evalcore.records import Completion, Failure, FailureKind, Record
from evalcore.settings import Settings
from evalcore.targets.failures import STALLED, find_lasting_cause

# Flow control of one target: how many requests are in flight, and how fast they start.
# The window of requests in flight starts small and doubles while all goes well. The first refusal
# (429) ends the doubling: from then on starts are paced at the rate that the server was seen to
# serve, which creeps up again, so that the server is kept busy near its limit and rarely refuses
# (where it has served nothing yet, the window is halved instead). A long Retry-After stops
# everything until then. Rates are per second, times are those of the event loop.

_KEEP = 0.97  # share of the observed rate that is kept after a refusal
_DEEPEST_CUT = 0.9  # share of the rate that one refusal leaves at least, before _KEEP
_CREEP = 0.03  # growth of the rate a second while nothing is refused
_BOLDER = 0.06  # what the square of the calm seconds since the last cut adds to it
_SETTLE = 0.1  # seconds after a cut in which a refusal says nothing new
_LONG_WAIT = 5.0  # a Retry-After from here on stops the whole flow, not one request
_SLOWEST = 1.0  # requests a second that are tried at least
_FAILURES_TO_SHRINK = 3  # server errors in a row that halve the window


class Share(Record, frozen=True):
    """What one of the `workers` of a run may use of the limits that they have together.

    `width` is the most that it may have in flight, `requests_per_minute` the most that it may
    start, 0 for no limit of its own.
    """

    position: int = 0
    workers: int = 1
    width: int = 0
    requests_per_minute: float = 0.0

    def split_width(self, total: int) -> int:
        """The share of `total` requests in flight, at least 1; those of all workers add up to it
        unless there are more workers than requests."""
        part = total // self.workers + (self.position < total % self.workers)
        return max(1, min(part, self.width or part))

    def split_rate(self, total: float | None) -> float | None:
        """The share of a rate a minute, None for no limit."""
        part = total / self.workers if total else None
        return min(filter(None, (part, self.requests_per_minute)), default=None)


WHOLE = Share()


class FlowCounts(Protocol):
    """What progress shows of the requests that are under way."""

    @property
    def in_flight(self) -> int: ...
    @property
    def limit(self) -> int: ...
    @property
    def refused(self) -> int: ...


class WaitTooLong(Exception):
    """The server asks for a wait beyond the deadline of the sample."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(Note("failure_wait", seconds=f"{seconds:.0f}"))


class Pacer:
    """Spaces starts evenly; `rate` None means no limit, `weight` is for tokens.

    Who waits stands in line and takes a start only when it comes, so that one who leaves (cancelled
    or out of time) takes none.
    """

    def __init__(self, rate: float | None = None) -> None:
        self.rate = rate
        self._next = 0.0
        self._line = asyncio.Lock()

    async def wait(self, weight: float = 1.0) -> None:
        if self.rate is None:
            return
        async with self._line:
            now = asyncio.get_running_loop().time()
            start = max(now, self._next)
            if start > now:
                await asyncio.sleep(start - now)
            self._next = start + weight / self.rate


class Flow:
    """Admission of requests: `async with flow.slot(deadline)` around each, then a report."""

    def __init__(
        self,
        *,
        start: int,
        maximum: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> None:
        self.window = float(min(start, maximum))
        self.maximum = maximum
        self.in_flight = 0
        self.refused = 0
        self._ceiling = requests_per_minute / 60 if requests_per_minute else None
        self._pacer = Pacer(self._ceiling)
        self._tokens = Pacer(tokens_per_minute / 60 if tokens_per_minute else None)
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._served = 0  # since the last cut
        self._calm = 0  # successes since the window last grew
        self._failures = 0
        self._paused_until = 0.0
        self._last_cut = -1.0
        self._last_creep = 0.0
        self._first_start = -1.0

    def set_limits(
        self, maximum: int, requests_per_minute: float | None, tokens_per_minute: float | None
    ) -> None:
        """Take a smaller or a larger share of what several workers may use together. A window or a
        rate that is too large shrinks at once, others grow as they always do."""
        self.maximum = maximum
        self.window = max(1.0, min(self.window, float(maximum)))
        was_at_ceiling = self._pacer.rate == self._ceiling
        self._ceiling = requests_per_minute / 60 if requests_per_minute else None
        if was_at_ceiling:
            self._pacer.rate = self._ceiling
        elif self._ceiling is not None and self._pacer.rate is not None:
            self._pacer.rate = min(self._pacer.rate, self._ceiling)
        self._tokens.rate = tokens_per_minute / 60 if tokens_per_minute else None
        self._wake_waiters()

    @property
    def counts_tokens(self) -> bool:
        return self._tokens.rate is not None

    @property
    def limit(self) -> int:
        return int(self.window)

    async def enter(self, deadline: float, tokens: int = 0) -> float:
        """Wait for admission; returns the time of the start, to be handed to the report. Raises
        WaitTooLong where the server asked for a pause beyond `deadline`."""
        loop = asyncio.get_running_loop()
        while self.in_flight >= int(self.window):
            turn = loop.create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                self._wake_waiters()  # the turn may have been ours already
                raise
        self.in_flight += 1
        try:
            await self._wait_out_pause(deadline)
            await self._pacer.wait()
            await self._tokens.wait(tokens)
        except BaseException:
            self.leave()
            raise
        now = loop.time()
        self._first_start = now if self._first_start < 0 else self._first_start
        return now

    async def _wait_out_pause(self, deadline: float) -> None:
        loop = asyncio.get_running_loop()
        while (left := self._paused_until - loop.time()) > 0:
            if self._paused_until > deadline:
                raise WaitTooLong(left)
            await asyncio.sleep(left)

    def leave(self) -> None:
        """Give the place back."""
        self.in_flight -= 1
        self._wake_waiters()

    def _wake_waiters(self) -> None:
        room = int(self.window) - self.in_flight
        while room > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                room -= 1

    def record_success(self) -> None:
        """A request was answered: widen the window, or let the rate creep up."""
        self._failures = 0
        self._served += 1
        if self._pacer.rate is None or self._last_cut < 0:
            self._grow_window()
        else:
            self._raise_rate(asyncio.get_running_loop().time())

    def _grow_window(self) -> None:
        self._calm += 1
        if self._calm >= 2 * int(self.window) and self.window < self.maximum:
            self.window = min(self.window * 2, float(self.maximum))
            self._calm = 0

    def _raise_rate(self, now: float) -> None:
        passed = now - self._last_creep
        if passed < 0.05 or self._pacer.rate is None:
            return
        self._last_creep = now
        calm = now - self._last_cut  # the longer nothing is refused, the bolder
        rate = self._pacer.rate * (1 + passed * (_CREEP + _BOLDER * calm * calm))
        self._pacer.rate = min(rate, self._ceiling) if self._ceiling else rate

    def record_refusal(self, started: float, retry_after: float | None) -> None:
        """A request that began at `started` was refused; older ones than the last cut say
        nothing new."""
        now = asyncio.get_running_loop().time()
        self.refused += 1
        if retry_after is not None and retry_after >= _LONG_WAIT:
            self._paused_until = max(self._paused_until, now + retry_after)
        if started < self._last_cut + (_SETTLE if self._pacer.rate else 0.0):
            return
        if self._served or self._pacer.rate:
            self._pacer.rate = max(self._sustainable_rate(now), _SLOWEST)
        else:  # nothing is known of its rate yet: fewer at a time, each backs off by itself
            self._shrink_window()
        self._served = 0
        self._last_cut = self._last_creep = now

    def _sustainable_rate(self, now: float) -> float:
        """The rate that the server kept up between two refusals, when its allowance was used up
        both times. It may look low because we were slow ourselves: a cut is never deep."""
        rate = self._pacer.rate
        if rate is None:  # of those in flight some will be refused too
            return _KEEP * (self._served + self.in_flight / 2) / max(now - self._first_start, 0.1)
        seen = self._served / (now - self._last_cut)
        return _KEEP * min(rate, max(seen, rate * _DEEPEST_CUT))

    def record_failure(self) -> None:
        """A server error or lost connection: several in a row halve the window."""
        self._failures += 1
        if self._failures >= _FAILURES_TO_SHRINK:
            self._failures = 0
            self._shrink_window()

    def _shrink_window(self) -> None:
        self.window = max(1.0, self.window / 2)


# The one retry layer: which failures are tried again, how often, and how long to wait. The SDKs'
# own retries are off. A refusal waits as long as the server asks (also long) or backs off; whatever
# does not fit into the wall-clock limit of the sample ends at once. Failures of the same kind that
# speak of what the model wrote are the model's own: they end as a completion that says so.


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


#: Attempts that may end because nothing came: each may be paid for, as long as the model thinks.
_MOST_STALLED = 2


class Breaker:
    """Ends a run whose requests all fail for the same reason: a dead key, no credit, an unknown
    model. Five refusals alike in a row, with no answer between them, are enough."""

    _ENOUGH = 5

    def __init__(self) -> None:
        self._cause = ""
        self._alike = 0
        self._words = ""

    def check(self) -> None:
        """Raise RunStopped with the provider's words where nothing more is to be asked."""
        if self._alike >= self._ENOUGH:
            raise RunStopped(Note("run_refused", count=self._alike, message=self._words))

    def record_answer(self) -> None:
        self._alike = 0

    def record_failure(self, failure: Failure) -> None:
        """Count a failure; any that may be of one request alone says nothing."""
        cause = find_lasting_cause(failure)
        if cause is None or self._alike >= self._ENOUGH:
            return
        self._alike = self._alike + 1 if cause == self._cause else 1
        self._cause, self._words = cause, failure.localizable_message


async def with_retries(
    attempt: Callable[[], Awaitable[Completion]],
    flow: Flow,
    rules: RetryPolicy,
    deadline: float,
    report: Callable[[Failure], Any],
    tokens: int = 0,
) -> Completion:
    """Call `attempt` until it answers; raises TargetFailure when no further try is due. `deadline`
    is in the event loop's time; `report` is told of every failure."""
    counts: dict[FailureKind, int] = {}
    tries = stalled = 0
    while True:
        tries += 1
        try:
            done = await _attempt_once(attempt, flow, deadline, tokens)
            return done if tries == 1 else msgspec.structs.replace(done, attempts=tries)
        except TargetFailure as error:
            failure = msgspec.structs.replace(error.failure, attempts=tries)
        report(failure)
        counts[failure.kind] = counts.get(failure.kind, 0) + 1
        stalled += failure.message.startswith(STALLED)
        is_last = counts[failure.kind] >= rules.attempts.get(failure.kind, 1)
        if is_last or stalled >= _MOST_STALLED:
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
    return Completion(
        text=failure.model_text, finish_reason="unparsable", attempts=failure.attempts
    )


def _compute_wait(failure: Failure, count: int, rules: RetryPolicy) -> float:
    """Seconds until the next try: what the server asks, else exponential with jitter."""
    if failure.retry_after is not None:
        return failure.retry_after
    return min(rules.cap, rules.base * 2.0 ** (count - 1)) * random.uniform(0.5, 1.0)  # noqa: S311


def _too_long(failure: Failure, wait: float) -> Failure:
    problem = failure.localizable_message
    message = Note("failure_past_limit", problem=problem, seconds=f"{wait:.0f}")
    return msgspec.structs.replace(failure, message=message, packed_notes={})
