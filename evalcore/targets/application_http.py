"""One exchange with a service over HTTP: bounded, to one host only, every failure classified."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import msgspec

from evalcore.errors import IntakeError, TargetFailure
from evalcore.intake.http import (
    ACCEPT_ENCODING,
    ERROR_BYTES,
    ReplyLimits,
    decode_json,
    read_body,
)
from evalcore.records import Failure, Record
from evalcore.targets import failures
from evalcore.targets.connections import Connections
from evalcore.targets.egress import EgressPolicy, parse_origin

if TYPE_CHECKING:
    from aiohttp import ClientResponse

_CHUNK = 65_536
_MAX_REDIRECTS = 3
_REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
_NO_KEY = "that the description names in its headers (it names none)"
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
                return Failure(kind="permanent", message="no request is sent to another server")
            sent = self._open_connections().request(
                outgoing.method,
                outgoing.url,
                data=outgoing.form or None,
                json=outgoing.json,
                params=outgoing.query,
                allow_redirects=False,
            )
            async with await sent as response:
                if response.status not in _REDIRECT_STATUSES:
                    return await _parse_service_reply(response, ", ".join(self._keys), self._limits)
                following = _build_redirect(outgoing, response.status, response.headers)
            if isinstance(following, Failure):
                return following
            outgoing = following
        return Failure(kind="permanent", message=f"more than {_MAX_REDIRECTS} redirects")

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
        message = "the service redirects to another host, where no request is sent"
        return Failure(kind="permanent", message=message, status=status)
    if status in _SAME_METHOD_REDIRECTS:
        return msgspec.structs.replace(outgoing, url=target, query={})
    return ServiceRequest("GET", target)


async def _parse_service_reply(
    response: ClientResponse, variables: str, limits: ReplyLimits
) -> Any:
    """The JSON of a reply, or the Failure that it is; `variables` hold the keys that were sent."""
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
    try:
        return decode_json(body)
    except IntakeError:
        start = body[:200].decode("utf-8", "replace").strip()
        return failures.malformed_failure(
            f"status {response.status} with no JSON: {start or 'nothing'}"
        )
