"""The way of a request to a target and back: cache, limits, retries, journal, and whose fault a
failure is."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from evalcore.access.egress import watch_resends
from evalcore.access.secrets import Secrets
from evalcore.errors import CannotWrite, TargetFailure, UsageError
from evalcore.i18n import Note
from evalcore.records import (
    Call,
    Completion,
    Failure,
    GenerationRequest,
    ProgressCallback,
    Record,
    RunSpec,
    TargetSpec,
    Usage,
    content_hash,
    from_json,
    to_json,
)
from evalcore.runner.budget import RunBudget, limit_budget
from evalcore.runner.limits import (
    ONCE,
    WHOLE,
    Breaker,
    Flow,
    RetryPolicy,
    Share,
    build_retry_policy,
    with_retries,
)
from evalcore.settings import Settings
from evalcore.store.case_lines import OWN_JOURNAL
from evalcore.store.journal import Journal, JournalReader, list_journals, scan_journal
from evalcore.store.run_folder import RunFolder
from evalcore.targets import pricing, registry
from evalcore.targets.base import Target
from evalcore.targets.endpoint.dialect import is_answer
from evalcore.targets.pricing import Quote

# Answers already paid for: a SQLite file keyed by all that decides an answer. The key covers the
# request as the target gets it, the target's identity and revision (dtype, batch policy and
# endpoint are part of them), the seed and the epoch, so that repetitions stay independent.


def compute_cache_key(request: GenerationRequest, identity: str, revision: str, seed: int) -> str:
    """The name of an answer. The epoch stands beside the request as well as in it: that of the
    first is left out of a request, whose answers from before it was part of it are still good."""
    return content_hash([request, identity, revision, seed, request.epoch], 64)


_CREATE_ANSWERS = """PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;
CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, body BLOB)"""
_CACHED_AT_ONCE = 256  # answers; a transaction each would take longer than all else of a request


class CompletionCache:
    """Completions by key; several processes may use one file. Raises UsageError for a file that is
    no such cache."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._pending: dict[str, Completion] = {}
        try:
            self._db = sqlite3.connect(path, isolation_level=None, timeout=30)
            with ExitStack() as on_error:
                on_error.callback(self._db.close)
                self._db.executescript(_CREATE_ANSWERS)
                on_error.pop_all()
        except sqlite3.DatabaseError as error:
            raise UsageError(Note("cache_broken", path=path, problem=error)) from None

    def get(self, name: str) -> Completion | None:
        """The answer; None where there is none, or one that the provider broke off or that cannot
        be read, which is asked for again."""
        completion = self._pending.get(name)
        try:
            if completion is None:
                row = self._db.execute("SELECT body FROM answers WHERE key = ?", (name,)).fetchone()
                completion = from_json(Completion, row[0]) if row else None
        except (sqlite3.Error, msgspec.MsgspecError):
            return None
        return completion if completion is not None and is_answer(completion) else None

    def put(self, name: str, completion: Completion) -> None:
        """Keep a completion, which the journal of calls has too: written some at a time."""
        self._pending[name] = completion
        if len(self._pending) >= _CACHED_AT_ONCE:
            self._write_pending()

    def close(self) -> None:
        self._write_pending()
        self._db.close()

    def _write_pending(self) -> None:
        """Where they cannot be kept (a full disk) the answers are good without."""
        rows = [(name, to_json(completion)) for name, completion in self._pending.items()]
        self._pending.clear()
        with suppress(sqlite3.Error):
            self._db.execute("BEGIN")
            try:
                self._db.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", rows)
            finally:
                self._db.execute("COMMIT")


# Telling a request that breaks a server from a server that is broken.
# Some servers answer with a bare 500 where they cannot parse the call that a model wrote, and do
# so for ever (`transformers serve` does). Nothing in such a reply tells it from an outage, but
# this does: a request that was answered before is answered again, and then the first fails as
# before. Only requests that offer tools are looked at: without them there is no call to break on.

_BROKEN = 500
#: A server that broke may close connections, on which further requests are lost.
_ATTRIBUTION_TRIES = 3

Attempt = Callable[[], Awaitable[Completion]]


async def attribute_failure(
    failures: Sequence[Failure], again: Attempt, control: Attempt
) -> Completion | None:
    """The answer to a request that was given up, empty and `unparsable` where it is at fault; None
    where the server may be.

    `failures` are those of its tries; `again` sends it once more, `control` one that was answered
    before.
    """
    words = {failure.message for failure in failures if failure.status == _BROKEN}
    if len(words) != 1 or not await _is_server_up(control):
        return None
    for tried in range(1, _ATTRIBUTION_TRIES + 1):
        try:
            return await again()
        except TargetFailure as error:
            failure = error.failure
        if failure.status == _BROKEN and failure.message in words:
            return Completion(finish_reason="unparsable", attempts=len(failures) + tried)
    return None


async def _is_server_up(control: Attempt) -> bool:
    for _ in range(_ATTRIBUTION_TRIES):
        with suppress(TargetFailure):
            await control()
            return True
    return False


# The calls of earlier attempts, by what they were made for: a table on the disk says in which line
# each is, so that a million of them take no memory.

CallKey = tuple[str, int, str, int]


class _CallName(Record, frozen=True):
    key: str
    epoch: int
    turn: int
    role: str


class EarlierCalls:
    """The calls that a run has journaled so far; of several of one name the last counts."""

    def __init__(self, folder: RunFolder) -> None:
        self._paths = list_journals(folder.path / "calls")
        self._readers: dict[int, JournalReader] = {}
        self._table = sqlite3.connect("", isolation_level=None)  # a file that nobody else sees
        with ExitStack() as on_error:
            on_error.callback(self._table.close)
            self._table.execute("PRAGMA journal_mode=OFF")
            columns = "key INTEGER PRIMARY KEY, role TEXT, file INTEGER, start INTEGER"
            self._table.execute(f"CREATE TABLE calls ({columns})")
            self._table.execute("BEGIN")
            for file, path in enumerate(self._paths):
                self._table.executemany(
                    "INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?)",
                    (
                        (_hash_call_key((c.key, c.epoch, c.role, c.turn)), c.role, file, start)
                        for start, _, c in scan_journal(path, _CallName)
                    ),
                )
            self._table.execute("COMMIT")
            on_error.pop_all()
        self._is_empty = not self._table.execute("SELECT 1 FROM calls LIMIT 1").fetchall()

    def find(self, key: CallKey) -> Call | None:
        if self._is_empty:
            return None
        rows = self._table.execute(
            "SELECT file, start FROM calls WHERE key = ?", (_hash_call_key(key),)
        ).fetchall()
        call = self._read(*rows[0]) if rows else None
        same = call is not None and (call.key, call.epoch, call.role, call.turn) == key
        return call if same else None

    def iterate_role(self, role: str) -> Iterator[Call]:
        """The calls of one role, in the order of their lines."""
        rows = self._table.execute(
            "SELECT file, start FROM calls WHERE role = ? ORDER BY file, start", (role,)
        )
        for file, start in rows:
            yield self._read(file, start)

    def _read(self, file: int, start: int) -> Call:
        reader = self._readers.get(file)
        if reader is None:
            reader = self._readers[file] = JournalReader(self._paths[file])
        return from_json(Call, reader.read_line(start))

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()
        self._table.close()


def _hash_call_key(key: CallKey) -> int:
    digest = hashlib.blake2b(repr(key).encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


# The models that a run asks, by role: each behind its own flow control, retries and prices.
# Role `target` is the one under test; `judge:SPEC` is a judge of the panel. They share the
# response cache and the journal of calls, which are opened when the first of them is and closed
# with the last.

T = TypeVar("T")

#: The role of the model under test.
TARGET = "target"
#: How the roles of judges begin: the others of a panel vote where one cannot be asked.
_JUDGES = "judge:"


@dataclass(frozen=True)
class Channel:
    """One model: how it is asked, once or many times at a time. `answered` holds the last request
    with tools that an endpoint answered, if any."""

    target: Target
    spec: TargetSpec
    flow: Flow
    policy: RetryPolicy
    cache: CompletionCache | None
    price: Callable[[Usage], Quote]
    report: Callable[[Failure], None]
    note_resend: Callable[[str], None]
    seed: int
    breaker: Breaker | None = None
    answered: list[GenerationRequest] = field(default_factory=list)

    @cached_property
    def identity(self) -> str:
        return self.spec.identity

    async def generate(self, request: GenerationRequest, epoch: int, deadline: float) -> Completion:
        """An answer from the cache or the model; raises TargetFailure when none can be had."""
        request = msgspec.structs.replace(request, epoch=epoch)
        if self.cache is None or not self.target.info.cacheable:
            return await self._generate_uncached(request, deadline)
        name = compute_cache_key(request, self.identity, self.target.info.revision, self.seed)
        cached = self.cache.get(name)
        if cached is not None:
            return msgspec.structs.replace(cached, cached=True, attempts=0)
        completion = await self._generate_uncached(request, deadline)
        self.cache.put(name, completion)
        return completion

    async def _generate_uncached(self, request: GenerationRequest, deadline: float) -> Completion:
        started = asyncio.get_running_loop().time()
        failures: list[Failure] = []
        try:
            completion = await self._attempt(request, deadline, self.policy, failures)
        except TargetFailure:
            settled = await self._attribute_failure(request, deadline, failures)
            if settled is None:
                raise
            completion = settled
        else:
            served = self.target.info.kind == "endpoint" or "engine" in self.target.info.card
            if served and request.tools:
                self.answered[:] = [request]
        if not completion.latency:
            elapsed = asyncio.get_running_loop().time() - started
            return msgspec.structs.replace(completion, latency=elapsed)
        return completion

    async def _attribute_failure(
        self, request: GenerationRequest, deadline: float, failures: list[Failure]
    ) -> Completion | None:
        """The answer to a request that was given up, None where it is not known to be at fault.
        Only one with tools can be: what breaks a server is a call that the model wrote."""
        if not request.tools or not self.answered:
            return None
        answered_request = self.answered[-1]
        return await attribute_failure(
            failures,
            lambda: self._attempt(request, deadline, ONCE, []),
            lambda: self._attempt(answered_request, deadline, ONCE, []),
        )

    async def _attempt(
        self,
        request: GenerationRequest,
        deadline: float,
        rules: RetryPolicy,
        failures: list[Failure],
    ) -> Completion:
        """An answer after as many tries as the rules allow; each failure is added to `failures`."""

        def note_failure(failure: Failure) -> None:
            failures.append(failure)
            self.report(failure)
            if self.breaker is not None:
                self.breaker.record_failure(failure)

        return await with_retries(
            lambda: self._send(request),
            self.flow,
            rules,
            deadline,
            note_failure,
            tokens=_rough_tokens(request) if self.flow.counts_tokens else 0,
        )

    async def _send(self, request: GenerationRequest) -> Completion:
        """Ask the target once; raises RunStopped where nothing more is to be asked of it."""
        if self.breaker is not None:
            self.breaker.check()
        with watch_resends(self.note_resend):
            completion = await self.target.generate(request)
        if self.breaker is not None:
            self.breaker.record_answer()
        return completion


class Channels:
    """The open channels of one run, and the journal of what went through them."""

    def __init__(
        self,
        folder: RunFolder,
        run: RunSpec,
        settings: Settings,
        secrets: Secrets,
        journal_name: str = OWN_JOURNAL,
    ) -> None:
        self.run = run
        #: Is called once with how calls of tools are asked for, and why that is not natively.
        self.note_tool_calls: Callable[[str, str], None] = lambda mode, refusal: None
        #: Is called with the cause when a request is sent again on a new connection.
        self.note_resend: Callable[[str], None] = lambda cause: None
        self.sample_limit = run.sample_timeout or settings.sample_timeout
        self._folder, self._settings, self._secrets = folder, settings, secrets
        self._journal_name = journal_name
        self._share = WHOLE
        self._open: dict[str, Channel] = {}
        self._calls: Journal | None = None
        self._cache: CompletionCache | None = None
        self._earlier: EarlierCalls | None = None
        self._handed: dict[CallKey, Call] = {}
        self._memoized: dict[str, asyncio.Future[Any]] = {}
        self.budget = RunBudget(limit_budget(run, folder.read_raised_budget(), settings))

    async def open(
        self,
        role: str,
        spec: TargetSpec,
        on_progress: ProgressCallback,
        report: Callable[[Failure], None],
    ) -> Channel:
        """Load or connect; raises UsageError where that cannot be done."""
        target = registry.create_target(spec, self._settings, self._secrets)
        self.budget.check_price(spec, target.info, self._settings)
        if self._calls is None:
            self._earlier = EarlierCalls(self._folder)
            self._calls = self._folder.open_journal("calls", self._journal_name)
        caches = self.run.use_cache and target.info.cacheable
        if caches and self._cache is None:
            self._cache = CompletionCache(Path(self._settings.data_dir) / "cache.sqlite")
        self._open[role] = channel = Channel(
            target=target,
            spec=spec,
            flow=self._build_flow(target),
            policy=build_retry_policy(self._settings),
            cache=self._cache if caches else None,
            price=pricing.build_target_pricer(target.info, self._settings),
            report=report,
            note_resend=self.note_resend,
            seed=self.run.seed,
            breaker=None if role.startswith(_JUDGES) else Breaker(),
        )
        earlier = self._earlier if self.budget.limit else None
        for call in earlier.iterate_role(role) if earlier else ():  # paid by an earlier attempt
            if not call.completion.cached:
                self.budget.record_cost(channel.price(call.completion.usage).amount)
        await target.open(on_progress)
        return channel

    def __getitem__(self, role: str) -> Channel:
        return self._open[role]

    def __iter__(self) -> Iterator[Channel]:
        return iter(self._open.values())

    def add_earlier_calls(self, calls: Iterable[Call]) -> None:
        """Take the answers of an earlier attempt that another worker journaled."""
        self._handed.update(((c.key, c.epoch, c.role, c.turn), c) for c in calls)

    def find_earlier_call(self, key: CallKey) -> Call | None:
        """The call of an earlier attempt at this place of the run."""
        return self._handed.get(key) or (self._earlier.find(key) if self._earlier else None)

    def journal_call(self, call: Call) -> None:
        assert self._calls is not None  # noqa: S101 - open since the first channel
        try:
            self._calls.append(call)
        except OSError as error:
            raise CannotWrite(self._calls.path, error) from None

    async def memoize_async(self, name: str, compute: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What `compute` gives, found out once for the run; tried again by the next after a
        failure. Who waits may be cancelled without ending the search for the others."""
        task = self._memoized.get(name)
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            task = self._memoized[name] = asyncio.ensure_future(compute())
        result: T = await asyncio.shield(task)
        return result

    async def close(self) -> None:
        """Free everything; safe to call twice."""
        for task in self._memoized.values():
            task.cancel()
        for role in list(self._open):
            await self._open.pop(role).target.close()
        if self._earlier:
            self._earlier.close()
            self._earlier = None
        if self._calls:
            self._calls.close()
        if self._cache:
            self._cache.close()

    def set_share(self, share: Share) -> None:
        """Use this share of the limits, now and with every channel that is opened later."""
        self._share = share
        for channel in self:
            width, requests, tokens = self._compute_limits(channel.target)
            channel.flow.set_limits(width, requests, tokens)

    def _build_flow(self, target: Target) -> Flow:
        width, requests, tokens = self._compute_limits(target)
        chosen = self.run.concurrency // 2  # who names a width knows a server that bears it
        return Flow(
            start=min(max(target.info.start_in_flight, chosen), width),
            maximum=width,
            requests_per_minute=requests,
            tokens_per_minute=tokens,
        )

    def _compute_limits(self, target: Target) -> tuple[int, float | None, float | None]:
        """The requests in flight, and the requests and tokens a minute, that a target is asked at
        most by this worker. Each worker has a local model of its own, which it need not share."""
        card = target.info.card
        local = target.info.kind == "local"  # as many as it can batch, no server to spare
        usual = target.info.max_in_flight if local else self._settings.concurrency
        width = self.run.concurrency or usual
        width = min(width, target.info.max_in_flight, self._max_queue_depth(card))
        if local and not self.run.concurrency:
            return width, None, None
        share, tokens = self._share, card.get("tokens_per_minute")
        requests = share.split_rate(card.get("requests_per_minute"))
        return share.split_width(width), requests, tokens / share.workers if tokens else None

    def _max_queue_depth(self, card: Mapping[str, Any]) -> int:
        """How many may wait for a start, at a known limit, and still be within their time."""
        rate = card.get("requests_per_minute")
        return max(1, int(rate / 60 * self.sample_limit / 2)) if rate else sys.maxsize


def _rough_tokens(request: GenerationRequest) -> int:
    return sum(len(message.content) for message in request.messages) // 4
