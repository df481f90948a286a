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
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from evalcore.access.egress import Connections, EgressPolicy, parse_origin
from evalcore.access.secrets import Secrets, redact_keys
from evalcore.errors import IntakeError, TargetFailure, UsageError
from evalcore.i18n import Note
from evalcore.intake.http import (
    ACCEPT_ENCODING,
    ANSWER_LIMIT,
    ERROR_BYTES,
    ReplyLimits,
    decode_json,
    read_body,
)
from evalcore.records import (
    Completion,
    Failure,
    FailureKind,
    GenerationRequest,
    ProgressCallback,
    Record,
    TargetSpec,
    content_hash,
)
from evalcore.settings import Settings
from evalcore.targets import application_card as values
from evalcore.targets import failures, registry
from evalcore.targets.application_card import (
    Branch,
    Description,
    MissingValue,
    Poll,
    ReplyKind,
    Submit,
    expand_variables,
    load_description,
)
from evalcore.targets.base import TargetInfo
from evalcore.targets.registry import check_address, is_loopback, resolve_egress, same_host

if TYPE_CHECKING:
    from aiohttp import ClientResponse

_CHUNK = 65_536
_MAX_REDIRECTS = 3
_REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
_NO_KEY = "that the description names in its headers (it names none)"
_FILE_NAME = "case.sql"
_SAME_METHOD_REDIRECTS = frozenset({307, 308})


class ServiceRequest(Record, frozen=True):
    """A request: `url` is absolute; `form` and `json` are bodies, at most one of them given.
    `timeout` in seconds goes before that of the session, where it is not 0."""

    method: str
    url: str
    form: dict[str, str] = {}
    json: Any = None
    query: dict[str, str] = {}
    timeout: float = 0.0
    multipart: dict[str, str] = {}
    files: dict[str, str] = {}
    reply: ReplyKind = "json"

    def build_body(self) -> dict[str, Any]:
        """The body as arguments of the client. A multipart one is bytes: it may be sent again."""
        if not (self.multipart or self.files):
            return {"data": self.form or None, "json": self.json}
        parts = [(name, "", text) for name, text in self.multipart.items()]
        parts += [(name, f'; filename="{_FILE_NAME}"', text) for name, text in self.files.items()]
        boundary = content_hash(parts, 32)
        lines = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{quote(name)}"{file}\r\n'
            f"Content-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n"
            for name, file, text in parts
        ]
        kind = f"multipart/form-data; boundary={boundary}"
        body = "".join([*lines, f"--{boundary}--\r\n"]).encode("utf-8", "replace")
        return {"data": body, "headers": {"Content-Type": kind}}


class ServiceSession:
    """A session with one service; `keys` are the values, by environment variable, that the headers
    hold and no message may show; `timeout` in seconds is of a request that names none; `reach` is
    None for a session that may go anywhere; `limits` bound each reply."""

    def __init__(
        self,
        headers: Mapping[str, str],
        keys: Mapping[str, str],
        timeout: float,
        egress: EgressPolicy | None = None,
        limits: ReplyLimits = ReplyLimits(),  # noqa: B008 - a frozen value
    ) -> None:
        self._egress, self._limits = egress, limits
        self._headers, self._keys, self._timeout = dict(headers), dict(keys), timeout
        self._connections: Connections | None = None

    async def send_request(self, outgoing: ServiceRequest) -> Any:
        """The JSON of the reply; raises TargetFailure, whose message holds no secret."""
        outcome = await self._try_exchange(outgoing)
        if isinstance(outcome, Failure):
            raise TargetFailure(failures.sanitize_failure(outcome, self._keys.values()))
        return outcome

    async def close(self) -> None:
        connections, self._connections = self._connections, None
        if connections is not None:
            await connections.close()

    async def _try_exchange(self, outgoing: ServiceRequest) -> Any:
        """Failures are returned: an exception raised from here would carry the request along."""
        try:
            async with asyncio.timeout(outgoing.timeout or self._timeout):
                return await self._follow_redirects(outgoing)
        except Exception as error:
            return failures.from_exception(error)

    async def _follow_redirects(self, outgoing: ServiceRequest) -> Any:
        for _ in range(_MAX_REDIRECTS + 1):
            if self._egress is not None and parse_origin(outgoing.url) != self._egress.origin:
                return Failure(kind="permanent", message=Note("other_server"))
            sent = self._open_connections().request(
                outgoing.method,
                outgoing.url,
                **outgoing.build_body(),
                params=outgoing.query,
                allow_redirects=False,
            )
            async with await sent as response:
                if response.status not in _REDIRECT_STATUSES:
                    return await _parse_service_reply(
                        response, ", ".join(self._keys), self._limits, outgoing.reply
                    )
                following = _build_redirect(outgoing, response.status, response.headers)
            if isinstance(following, Failure):
                return following
            outgoing = following
        return Failure(kind="permanent", message=Note("service_redirects", count=_MAX_REDIRECTS))

    def _open_connections(self) -> Connections:
        if self._connections is None:
            from aiohttp import DummyCookieJar

            self._connections = Connections(
                {"socket_factory": self._egress.open_socket if self._egress else None},
                {
                    "headers": {"Accept-Encoding": ACCEPT_ENCODING, **self._headers},
                    "auto_decompress": False,
                    "cookie_jar": DummyCookieJar(),
                },
            )
        return self._connections


def _build_redirect(
    outgoing: ServiceRequest, status: int, headers: Mapping[str, str]
) -> ServiceRequest | Failure:
    """The request that a redirect asks for; to another host none goes, for it holds the key."""
    target = urljoin(outgoing.url, headers.get("Location", ""))
    if urlsplit(target)[:2] != urlsplit(outgoing.url)[:2]:
        return Failure(kind="permanent", message=Note("service_other_host"), status=status)
    if status in _SAME_METHOD_REDIRECTS:
        return msgspec.structs.replace(outgoing, url=target, query={})
    return ServiceRequest("GET", target, reply=outgoing.reply)


async def _parse_service_reply(
    response: ClientResponse, variables: str, limits: ReplyLimits, kind: ReplyKind
) -> Any:
    """The JSON of a reply, its text as {"text": ...} where that is its kind, or the Failure that it
    is; `variables` hold the keys that were sent."""
    error = response.status >= 300
    if error:
        limits = replace(limits, per_reply=ERROR_BYTES)
    encoding = response.headers.get("Content-Encoding", "")
    chunks = response.content.iter_chunked(_CHUNK)
    body = await read_body(chunks, encoding, limits, cut=error)
    if error:
        headers = {name.lower(): value for name, value in response.headers.items()}
        text = body.decode("utf-8", "replace")
        return failures.from_status(response.status, headers, text, variables or _NO_KEY)
    if kind == "text":
        text = body.decode("utf-8", "replace").strip()  # never by a charset that a server names
        return {"text": text} if text else failures.malformed_failure(Note("reply_empty"))
    try:
        return decode_json(body)
    except IntakeError:
        start = body[:200].decode("utf-8", "replace").strip()
        note = Note("reply_no_json", status=response.status, text=start)
        return failures.malformed_failure(note if start else Note("reply_empty"))


_MAX_LOST_POLLS = 5  # polls in a row without a reply, after which the task is given up
_TRANSIENT_KINDS = frozenset({"retryable", "rate_limited", "malformed"})
_MIN_POLL_TIMEOUT = 0.1  # seconds that the last poll is given at least


class ApplicationOptions(Record, frozen=True, forbid_unknown_fields=True):
    """Options of a target: the address, where it is not the description's."""

    base_url: str = ""


def create_application(spec: TargetSpec, settings: Settings, secrets: Secrets) -> Application:
    """The target of a spec, not yet opened; raises UsageError for a bad description or option."""
    description, options = load_description(spec.key, settings), read_application_options(spec)
    return Application(spec, description, options, settings, secrets)


def read_application_options(spec: TargetSpec) -> ApplicationOptions:
    try:
        options = msgspec.convert(dict(spec.options), ApplicationOptions)
    except msgspec.ValidationError as error:
        raise UsageError(Note("app_option", owner=spec.key, problem=error)) from None
    if options.base_url:
        check_address(options.base_url)
    return options


def missing_variables(spec: TargetSpec, settings: Settings, secrets: Secrets) -> tuple[str, ...]:
    """The environment variables that a service needs and nobody has set."""
    description = load_description(spec.key, settings)
    needed = _list_needed_variables(description, read_application_options(spec))
    return tuple(name for name in needed if not secrets.has_key(name))


def _list_needed_variables(
    description: Description, options: ApplicationOptions
) -> tuple[str, ...]:
    addresses = () if options.base_url else description.address_variables
    return (*addresses, *description.key_variables)


class Application:
    """A service as its description says. `poll_limit` is how many seconds a task is waited for at
    most, where that is less than the description allows."""

    def __init__(
        self,
        spec: TargetSpec,
        description: Description,
        options: ApplicationOptions,
        settings: Settings,
        secrets: Secrets,
    ) -> None:
        self.key = spec.key
        self.description = description
        self._options, self._secrets, self._settings = options, secrets, settings
        self.poll_limit = math.inf
        self._timeout = description.timeout or settings.request_timeout
        self._session: ServiceSession | None = None
        self._address = ""
        self._keys: list[str] = []
        self.info = TargetInfo(
            kind="application",
            title=description.title,
            max_in_flight=description.max_in_flight,
            start_in_flight=min(4, description.max_in_flight),
            revision=content_hash([description, options.base_url]),
            cacheable=True,
            card={"requests_per_minute": description.requests_per_minute},
        )

    def __repr__(self) -> str:
        return f"Application({self.key!r})"

    async def open(self, progress: ProgressCallback) -> None:
        """Settle address and headers; nothing is sent. Raises UsageError naming what is missing."""
        description = self.description
        needed = _list_needed_variables(description, self._options)
        variable_values = {name: (self._secrets.get(name) or "").strip() for name in needed}
        missing = [name for name, value in variable_values.items() if not value]
        if missing:
            raise UsageError(Note("app_needs", owner=self.key, names=", ".join(missing)))
        self._address = self._resolve_address()
        keys = {name: variable_values[name] for name in description.key_variables}
        self._keys = list(keys.values())
        headers = {
            name: expand_variables(text, variable_values)
            for name, text in description.headers.items()
        }
        if any(not text.isascii() or not text.isprintable() for text in headers.values()):
            raise UsageError(Note("app_variable", owner=self.key))
        progress(Note("requests_go_to", address=self._address, api="HTTP"))
        self._session = ServiceSession(
            headers, keys, self._timeout, self.egress_policy(), self._settings.reply_limits
        )

    def egress_policy(self) -> EgressPolicy | None:
        """How far its requests may go, None for anywhere: an address that was typed, as option or
        variable, must be allowed; the operator's own may be in their network. Raises UsageError for
        an address that is not allowed."""
        variables = self.description.address_variables
        typed = self._options.base_url or any(map(self._secrets.is_typed, variables))
        spec = TargetSpec(self.key)
        return resolve_egress(
            spec, self._resolve_address(), self._settings, operator_address=not typed
        )

    def _resolve_address(self) -> str:
        """Where requests go. A key belongs to its host: where the description or the environment
        names one, an option moves the keys to this machine at most."""
        description = self.description
        variable_values = {
            n: (self._secrets.get(n) or "").strip() for n in description.address_variables
        }
        own = (
            expand_variables(description.base_url, variable_values)
            if all(variable_values.values())
            else ""
        )
        address = (self._options.base_url or own).rstrip("/")
        for candidate in filter(None, (address, own)):
            check_address(candidate)
        if urlsplit(address).query or urlsplit(address).fragment:
            raise UsageError(Note("app_path", owner=self.key))
        moved = own and not same_host(address, own) and not is_loopback(address)
        if moved and description.key_variables:
            raise UsageError(Note("app_other_host", owner=self.key, host=own))
        return address

    async def generate(self, request: GenerationRequest) -> Completion:
        """The service's answer; raises TargetFailure with a classified Failure."""
        if self._session is None:
            raise UsageError(Note("target_closed", owner=self.key))
        began = time.perf_counter()
        sample_input = request.input
        branch = self._select_branch(sample_input)
        try:
            template_values = values.build_template_values(sample_input, branch)
            submit = self._build_request(branch.submit, template_values)
            reply = await self._send_checked(branch, submit)
            if branch.poll is not None:
                template_values |= {
                    name: values.find_value(reply, path) for name, path in branch.take.items()
                }
                reply = await self._wait_for_result(branch, branch.poll, template_values)
        except MissingValue as error:
            raise self._build_target_failure("permanent", f"{self.key}: {error}") from None
        text = redact_keys(values.extract_service_answer(branch, reply), self._keys)
        if not text:
            problem = Note("service_no_answer", path=branch.extract)
            raise TargetFailure(failures.malformed_failure(problem))
        if len(text) > ANSWER_LIMIT:
            problem = Note("service_long", count=f"{ANSWER_LIMIT:,}")
            raise TargetFailure(failures.malformed_failure(problem))
        return Completion(text=text, latency=time.perf_counter() - began, model=self.info.title)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def build_example_input(self) -> dict[str, Any]:
        """An input for a first try, of the kind that the first branch takes."""
        branch = self.description.branches[0]
        words = {field: next(iter(words), "") for field, words in branch.rename.items()}
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

    def _select_branch(self, sample_input: Mapping[str, Any]) -> Branch:
        benchmark, metric = (str(sample_input.get(name, "")) for name in ("benchmark", "metric"))
        branch = self.description.find_branch(benchmark, metric)
        if branch is None:
            raise self._build_target_failure(
                "permanent", f"{self.key}: its description has no branch for {benchmark}/{metric}"
            )
        return branch

    def _build_request(
        self, step: Submit | Poll, template_values: Mapping[str, Any]
    ) -> ServiceRequest:
        """The request that hands a case over, or that asks for the state of its task."""

        def fill(texts: Mapping[str, str]) -> dict[str, str]:
            return {name: values.fill_text(text, template_values) for name, text in texts.items()}

        # The timeout of a poll is that of all polls together.
        submit = step if isinstance(step, Submit) else Submit(url="")
        return ServiceRequest(
            method=step.method,
            url=self._address + values.fill_address(step.url, template_values),
            form=fill(submit.form),
            json=values.fill_template(step.json, template_values),
            query=fill(step.query),
            timeout=submit.timeout,
            multipart=fill(submit.multipart),
            files=fill(submit.files),
            reply=step.reply,
        )

    async def _send_checked(self, branch: Branch, outgoing: ServiceRequest) -> Any:
        """A reply that carries no error of the service."""
        assert self._session is not None  # noqa: S101 - checked by generate
        reply = await self._session.send_request(outgoing)
        error_condition = values.find_met_condition(branch.error, reply)
        if error_condition is not None:
            raise self._build_service_error(branch, reply, error_condition.kind)
        return reply

    async def _wait_for_result(
        self, branch: Branch, poll: Poll, template_values: Mapping[str, Any]
    ) -> Any:
        """The reply of the finished task; a poll that is lost on the way is made up by the next."""
        poll_request = self._build_request(poll, template_values)
        patience = min(poll.timeout, self.poll_limit)
        until, lost = time.monotonic() + patience, 0
        while True:
            pause = poll.interval
            left = max(until - time.monotonic(), _MIN_POLL_TIMEOUT)
            try:
                timeout = min(self._timeout, left)
                poll_request = msgspec.structs.replace(poll_request, timeout=timeout)
                reply = await self._send_checked(branch, poll_request)
            except TargetFailure as error:
                lost += 1
                if error.failure.kind not in _TRANSIENT_KINDS or lost >= _MAX_LOST_POLLS:
                    raise
                pause = max(pause, error.failure.retry_after or 0.0)
            else:
                lost = 0
                failed_condition = values.find_met_condition(poll.failed, reply)
                if failed_condition is not None:
                    raise self._build_service_error(branch, reply, failed_condition.kind)
                if values.find_met_condition(poll.done, reply):
                    return reply
            if time.monotonic() + pause > until:
                note = Note("service_late", seconds=f"{patience:g}")
                raise self._build_target_failure("timeout", note)
            await asyncio.sleep(pause)

    def _build_service_error(self, branch: Branch, reply: Any, kind: FailureKind) -> TargetFailure:
        message = values.find_value(reply, branch.message)
        note = Note("service_error", message=message) if message else Note("service_error_bare")
        return self._build_target_failure(kind, note)

    def _build_target_failure(self, kind: FailureKind, message: str) -> TargetFailure:
        failure = Failure(kind=kind, message=message)
        return TargetFailure(failures.sanitize_failure(failure, self._keys))


# What the card of the kind names: how far a service may reach, and which variables it needs.


def find_service_egress(
    spec: TargetSpec, settings: Settings, secrets: Secrets
) -> EgressPolicy | None:
    """How far a service may reach, None where its address is still missing."""
    if missing_variables(spec, settings, secrets):
        return None
    return create_application(spec, settings, secrets).egress_policy()


def list_missing_keys(spec: TargetSpec, settings: Settings) -> tuple[str, ...]:
    """The variables of a service that are not set; raises UsageError for one not allowed."""
    registry.check_target(spec, settings, Secrets())
    return missing_variables(spec, settings, Secrets())


def list_key_variables(spec: TargetSpec, settings: Settings) -> tuple[str, ...]:
    described = values.load_description(spec.key, settings)
    return (*described.address_variables, *described.key_variables)
