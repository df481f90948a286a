"""`app:` targets: HTTP services that answer cases, as a description says (`application_card`).

One attempt per `generate`: submit, wait where the service works in the background, read the answer.
Polls are no attempts. An error of the service is a failure and never an answer, and a reply without
an answer is malformed: the input never stands in for one. A service that says it has nothing to
offer is quoted in words (`say`), which is an answer. Values of secrets live in the session's
headers alone. A run that is stopped while it waits submits the case again when it is resumed.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from evalcore.errors import TargetFailure, UsageError
from evalcore.intake.http import ANSWER_LIMIT
from evalcore.records import (
    Completion,
    Failure,
    FailureKind,
    GenerationRequest,
    Record,
    TargetSpec,
    content_hash,
)
from evalcore.secrets import Secrets, redact_keys
from evalcore.settings import Settings
from evalcore.targets import application_values as values
from evalcore.targets import failures
from evalcore.targets.allowed import reach_of
from evalcore.targets.application_card import Branch, Description, Poll, Submit, expanded, load
from evalcore.targets.application_http import Outgoing, Wire
from evalcore.targets.application_values import MissingValue
from evalcore.targets.base import TargetInfo
from evalcore.targets.endpoints import check_address, is_loopback, same_host
from evalcore.targets.reach import Reach

_LOST_POLLS = 5  # polls in a row without a reply, after which the task is given up
_PASSING = frozenset({"retryable", "rate_limited", "malformed"})
_SHORTEST_LOOK = 0.1  # seconds that the last poll is given at least


class Options(Record, frozen=True, forbid_unknown_fields=True):
    """Options of a target: the address, where it is not the description's."""

    base_url: str = ""


def create(spec: TargetSpec, settings: Settings, secrets: Secrets) -> Application:
    """The target of a spec, not yet opened; raises UsageError for a bad description or option."""
    return Application(spec, load(spec.key, settings), read_options(spec), settings, secrets)


def read_options(spec: TargetSpec) -> Options:
    try:
        options = msgspec.convert(dict(spec.options), Options)
    except msgspec.ValidationError as error:
        raise UsageError(f"{spec.key}: option not understood: {error}; known: base_url") from None
    if options.base_url:
        check_address(options.base_url)
    return options


def missing_variables(spec: TargetSpec, settings: Settings, secrets: Secrets) -> tuple[str, ...]:
    """The environment variables that a service needs and nobody has set."""
    described = load(spec.key, settings)
    needed = described.key_variables
    if not read_options(spec).base_url:
        needed = (*described.address_variables, *needed)
    return tuple(name for name in needed if not secrets.has_key(name))


class Application:
    """A service as its description says. `poll_limit` is how many seconds a task is waited for at
    most, where that is less than the description allows."""

    def __init__(
        self,
        spec: TargetSpec,
        described: Description,
        options: Options,
        settings: Settings,
        secrets: Secrets,
    ) -> None:
        self.key = spec.key
        self.described = described
        self._options, self._secrets, self._settings = options, secrets, settings
        self.poll_limit = math.inf
        self._timeout = described.timeout or settings.request_timeout
        self._wire: Wire | None = None
        self._address = ""
        self._keys: list[str] = []
        self.info = TargetInfo(
            kind="application",
            title=described.title,
            max_in_flight=described.max_in_flight,
            start_in_flight=min(4, described.max_in_flight),
            revision=content_hash([described, options.base_url]),
            cacheable=True,
            card={"requests_per_minute": described.requests_per_minute},
        )

    def __repr__(self) -> str:
        return f"Application({self.key!r})"

    async def open(self, progress: Callable[[str], None]) -> None:
        """Settle address and headers; nothing is sent. Raises UsageError naming what is missing."""
        described = self.described
        needed = described.key_variables
        if not self._options.base_url:
            needed = (*described.address_variables, *needed)
        known = {name: (self._secrets.get(name) or "").strip() for name in needed}
        missing = [name for name, value in known.items() if not value]
        if missing:
            raise UsageError(f"{self.key} needs: set {', '.join(missing)}")
        self._address = self._settle_address()
        keys = {name: known[name] for name in described.key_variables}
        self._keys = list(keys.values())
        headers = {name: expanded(text, known) for name, text in described.headers.items()}
        if any(not text.isascii() or not text.isprintable() for text in headers.values()):
            raise UsageError(f"{self.key}: a variable of its headers holds characters no key has")
        progress(f"requests go to {self._address}")
        self._wire = Wire(headers, keys, self._timeout, self.reach(), self._settings.reply_limits)

    def reach(self) -> Reach | None:
        """How far its requests may go, None for anywhere: an address that was typed, as option or
        variable, must be allowed; the operator's own may be in his network.

        Raises UsageError for an address that is not allowed.
        """
        variables = self.described.address_variables
        typed = self._options.base_url or any(map(self._secrets.is_typed, variables))
        spec = TargetSpec(self.key)
        return reach_of(spec, self._settle_address(), self._settings, own=not typed)

    def _settle_address(self) -> str:
        """Where requests go. A key belongs to its host: where the description or the environment
        names one, an option moves the keys to this machine at most."""
        described = self.described
        known = {n: (self._secrets.get(n) or "").strip() for n in described.address_variables}
        own = expanded(described.base_url, known) if all(known.values()) else ""
        address = (self._options.base_url or own).rstrip("/")
        for place in filter(None, (address, own)):
            check_address(place)
        if urlsplit(address).query or urlsplit(address).fragment:
            raise UsageError(f"{self.key}: its address must end with a path")
        moved = own and not same_host(address, own) and not is_loopback(address)
        if moved and described.key_variables:
            raise UsageError(
                f"{self.key}: its keys go to {own} only; "
                "for another host write a description of your own"
            )
        return address

    async def generate(self, request: GenerationRequest) -> Completion:
        """The service's answer; raises TargetFailure with a classified Failure."""
        if self._wire is None:
            raise UsageError(f"{self.key} was not opened")
        began = time.perf_counter()
        given = request.input
        branch = self._branch(given)
        try:
            told = values.values_of(given, branch)
            reply = await self._ask(branch, self._outgoing(branch.submit, told))
            if branch.poll is not None:
                told |= {name: values.at(reply, path) for name, path in branch.take.items()}
                reply = await self._wait(branch, branch.poll, told)
        except MissingValue as error:
            raise self._failed("permanent", f"{self.key}: {error}") from None
        text = redact_keys(values.answer(branch, reply), self._keys)
        if not text:
            problem = f"the service's reply holds no answer at {branch.extract}"
            raise TargetFailure(failures.malformed(problem))
        if len(text) > ANSWER_LIMIT:
            problem = f"the service's answer has more than {ANSWER_LIMIT:,} characters"
            raise TargetFailure(failures.malformed(problem))
        return Completion(text=text, latency=time.perf_counter() - began, model=self.info.title)

    async def close(self) -> None:
        wire, self._wire = self._wire, None
        if wire is not None:
            await wire.close()

    def example(self) -> dict[str, Any]:
        """An input for a first try, of the kind that the first branch takes."""
        branch = self.described.branches[0]
        words = {field: next(iter(known), "") for field, known in branch.rename.items()}
        return {
            "benchmark": branch.benchmark,
            "metric": next(iter(branch.metrics), ""),
            "sql": "SELECT id FROM t WHERE id = 1",
            "schema": ["CREATE TABLE t (id INT PRIMARY KEY)"],
            "source_schema": ["CREATE TABLE t (id INT PRIMARY KEY)"],
            **dict.fromkeys(("explain", "description", "columns_selectivity"), ""),
            **dict.fromkeys(("dialect", "source_dialect", "target_dialect"), "MySQL"),
            **words,
        }

    def _branch(self, given: Mapping[str, Any]) -> Branch:
        benchmark, metric = str(given.get("benchmark", "")), str(given.get("metric", ""))
        branch = self.described.branch(benchmark, metric)
        if branch is None:
            raise self._failed(
                "permanent", f"{self.key}: its description has no branch for {benchmark}/{metric}"
            )
        return branch

    def _outgoing(self, submit: Submit, told: Mapping[str, Any]) -> Outgoing:
        return Outgoing(
            method=submit.method,
            url=self._address + values.fill_address(submit.url, told),
            form={name: values.fill_text(text, told) for name, text in submit.form.items()},
            json=values.fill(submit.json, told),
            query={name: values.fill_text(text, told) for name, text in submit.query.items()},
            timeout=submit.timeout,
        )

    def _look(self, poll: Poll, told: Mapping[str, Any]) -> Outgoing:
        """The request that asks for the state of a task."""
        return Outgoing(
            method=poll.method,
            url=self._address + values.fill_address(poll.url, told),
            json=values.fill(poll.json, told),
            query={name: values.fill_text(text, told) for name, text in poll.query.items()},
        )

    async def _ask(self, branch: Branch, outgoing: Outgoing) -> Any:
        """A reply that carries no error of the service."""
        assert self._wire is not None  # noqa: S101 - checked by generate
        reply = await self._wire.send(outgoing)
        wrong = values.first(branch.error, reply)
        if wrong is not None:
            raise self._service_error(branch, reply, wrong.kind)
        return reply

    async def _wait(self, branch: Branch, poll: Poll, told: Mapping[str, Any]) -> Any:
        """The reply of the finished task; a poll that is lost on the way is made up by the next."""
        look, patience = self._look(poll, told), min(poll.timeout, self.poll_limit)
        until, lost = time.monotonic() + patience, 0
        while True:
            pause = poll.interval
            left = max(until - time.monotonic(), _SHORTEST_LOOK)
            try:
                look = msgspec.structs.replace(look, timeout=min(self._timeout, left))
                reply = await self._ask(branch, look)
            except TargetFailure as error:
                lost += 1
                if error.failure.kind not in _PASSING or lost >= _LOST_POLLS:
                    raise
                pause = max(pause, error.failure.retry_after or 0.0)
            else:
                lost = 0
                wrong = values.first(poll.failed, reply)
                if wrong is not None:
                    raise self._service_error(branch, reply, wrong.kind)
                if values.first(poll.done, reply):
                    return reply
            if time.monotonic() + pause > until:
                raise self._failed("timeout", f"no result within {patience:g} s of polling")
            await asyncio.sleep(pause)

    def _service_error(self, branch: Branch, reply: Any, kind: FailureKind) -> TargetFailure:
        said = values.at(reply, branch.message)
        return self._failed(kind, f"the service reports an error: {said or 'without a message'}")

    def _failed(self, kind: FailureKind, message: str) -> TargetFailure:
        return TargetFailure(failures.clean(Failure(kind=kind, message=message), self._keys))
