"""The HTTP of a target behind an endpoint: one aiohttp session, replies bounded in bytes and time.

`timeout` looks at progress: so many seconds without a byte end a request, and a streamed answer may
take as long as it keeps coming, up to the limit of the whole. Redirects are followed to the same
server only, since a request carries a key. A server that is not for everybody to reach is reached
as its `EgressPolicy` says: addresses are checked where the connection is made, without a proxy.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from evalcore.access import egress as egress_module
from evalcore.access.egress import (
    Connections,
    EgressPolicy,
    NotPublic,
    OutOfReach,
    parse_origin,
    resolve_public_addresses,
)
from evalcore.errors import IntakeError, UsageError
from evalcore.i18n import Note
from evalcore.intake.http import (
    ACCEPT_ENCODING,
    ERROR_BYTES,
    BoundedBody,
    ReplyLimits,
    ReplyTooLarge,
)
from evalcore.targets.endpoint.dialect import StreamAssembler
from evalcore.targets.endpoint.stream import EventReader, is_event_stream

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientTimeout, StreamReader
    from yarl import URL

_CONNECT_SECONDS = 10.0
_MAX_REDIRECTS = 3
_SAME_METHOD_REDIRECTS = (307, 308)
_MAX_ADDRESSES = 3  # of a host, tried one after another
#: Bytes of a body that are read without a share of the memory for large ones.
_SMALL = 1 << 18
#: Seconds that a server may take to end a stream after it said that the answer is whole.
_END_SECONDS = 3.0
#: What stands in a query as it is; the rest is escaped.
_QUERY_CHARACTERS = "%&=+,:;/?@!$'()*~-._[]"


class Redirected(Exception):
    """The server sends a request elsewhere, which is not followed."""


class TookTooLong(Exception):
    """A request was not done within the limit of the whole."""


@dataclass(slots=True)
class WireReply:
    """A reply: `content` is its body unless that was a stream of events, which went into the
    assembler (`is_stream`). `first_piece` is the time, in seconds from the request, to the first
    piece of the answer."""

    status: int
    headers: Mapping[str, str]
    content: bytes = b""
    is_stream: bool = False
    first_piece: float | None = None

    def first_words(self) -> str:
        """The beginning of a body as text; never by the charset that the server names."""
        return self.content[:ERROR_BYTES].decode("utf-8", "replace")


class Transport:
    """Connections to one server. `timeout` and `whole_limit` are in seconds."""

    def __init__(
        self,
        base_url: str,
        timeout: float,
        whole_limit: float,
        egress: EgressPolicy | None,
        limits: ReplyLimits,
    ) -> None:
        from aiohttp import ClientTimeout, DummyCookieJar

        self._address, self._egress, self._limits = urlsplit(base_url), egress, limits
        self._error_limits = replace(limits, per_reply=ERROR_BYTES)
        self._whole_limit = whole_limit
        self._timeout: ClientTimeout = ClientTimeout(
            sock_connect=min(_CONNECT_SECONDS, timeout), sock_read=timeout
        )
        self._proxy = None if egress else _find_proxy(base_url)
        connector: dict[str, Any] = {}
        if base_url.startswith("https:"):
            connector["ssl"] = _create_ssl_context()
        if egress:
            connector["socket_factory"] = egress.open_socket
            if parse_origin(base_url) != egress.origin:
                raise UsageError(Note("other_server"))
            if egress.public:
                connector |= {"resolver": _build_resolver(), "use_dns_cache": False}
        self._connections = Connections(
            connector,
            {
                "headers": {"Accept-Encoding": ACCEPT_ENCODING},
                "auto_decompress": False,
                "cookie_jar": DummyCookieJar(),
                "timeout": self._timeout,
            },
        )
        self._urls: dict[str, URL] = {}
        self.build_url("")

    def build_url(self, path: str) -> URL:
        """The address of a path below base_url, with the queries of both as they were written.
        Raises UsageError for an address that cannot be one."""
        url = self._urls.get(path)
        if url is None:
            from yarl import URL

            path_only, _, query = path.partition("?")
            queries = "&".join(filter(None, (self._address.query, query)))
            address = self._address._replace(
                path=self._address.path.rstrip("/") + path_only,
                query=quote(queries, safe=_QUERY_CHARACTERS),
                fragment="",
            )
            try:
                host = (address.hostname or "").encode("idna").decode()
                url = URL(address.geturl(), encoded=host == address.hostname)
            except (UnicodeError, ValueError):
                raise UsageError(Note("base_url_host")) from None
            if len(self._urls) < 100:
                self._urls[path] = url
        return url

    async def post(
        self,
        url: URL,
        body: bytes,
        headers: Mapping[str, str],
        start_stream: Callable[[], StreamAssembler],
    ) -> WireReply:
        """Send one request and read its reply; a stream of events goes into `start_stream()`,
        which is called for each such reply. Raises the errors of aiohttp, TimeoutError,
        IntakeError, ReplyTooLarge and ReplyUnreadable; what has arrived of a stream is then in the
        assembler. Raises TookTooLong where the limit of the whole ends a request."""
        began = time.perf_counter()
        return await self._limit_whole(self._post(url, body, headers, start_stream, began))

    async def _post(
        self,
        url: URL,
        body: bytes,
        headers: Mapping[str, str],
        start_stream: Callable[[], StreamAssembler],
        began: float,
    ) -> WireReply:
        for _ in range(_MAX_REDIRECTS + 1):
            response = await self._connections.request(
                "POST", url, data=body, headers=headers, allow_redirects=False, **self._via()
            )
            try:
                if response.status not in _SAME_METHOD_REDIRECTS:
                    return await self._read_reply(response, start_stream, began)
                url = self._follow(url, response.headers.get("Location", ""))
            finally:
                response.release()
        raise Redirected

    async def fetch_reply(self, url: URL, headers: Mapping[str, str]) -> WireReply:
        """Ask for what is at an address, without following it elsewhere. Raises as `post` does."""
        return await self._limit_whole(self._fetch(url, headers))

    async def _fetch(self, url: URL, headers: Mapping[str, str]) -> WireReply:
        response = await self._connections.request(
            "GET", url, headers=headers, allow_redirects=False, **self._via()
        )
        try:
            return await self._read_reply(response, _refuse_stream, 0.0)
        finally:
            response.release()

    async def _limit_whole(self, request: Coroutine[Any, Any, WireReply]) -> WireReply:
        """Raise TookTooLong where a request is not done within the limit of the whole."""
        try:
            async with asyncio.timeout(self._whole_limit) as whole:
                return await request
        except TimeoutError:
            if whole.expired():
                raise TookTooLong from None
            raise

    async def close(self) -> None:
        await self._connections.close()

    def _via(self) -> dict[str, Any]:
        return {"proxy": self._proxy} if self._proxy else {}

    def _follow(self, url: URL, location: str) -> URL:
        from yarl import URL

        target = urljoin(str(url), location)
        if self._egress or urlsplit(target)[:2] != urlsplit(str(url))[:2]:
            raise Redirected
        return URL(target)

    async def _read_reply(
        self, response: ClientResponse, start_stream: Callable[[], StreamAssembler], began: float
    ) -> WireReply:
        reply = WireReply(response.status, response.headers)
        is_error = reply.status >= 300
        encoding = response.headers.get("content-encoding", "")
        limits = self._error_limits if is_error else self._limits
        pieces = _read_pieces(response.content, encoding, limits, cut=is_error)
        return await read_reply(reply, pieces, start_stream, began)


async def read_reply(
    reply: WireReply,
    pieces: AsyncIterator[bytes],
    start_stream: Callable[[], StreamAssembler],
    began: float,
) -> WireReply:
    """The reply with the body that comes in pieces: a stream of events goes into
    `start_stream()`."""
    try:
        start = await anext(pieces, b"")
        kind = reply.headers.get("content-type", "")
        if reply.status < 300 and is_event_stream(kind, start):
            reply.is_stream = True
            await _read_events(start, pieces, start_stream(), reply, began)
        else:
            content = bytearray(start)
            async for piece in pieces:
                content += piece
            reply.content = bytes(content)
    finally:
        await pieces.aclose()  # type: ignore[attr-defined]
    return reply


def _refuse_stream() -> StreamAssembler:
    raise IntakeError(Note("stream_unasked"))


async def _read_pieces(
    content: StreamReader, encoding: str, limits: ReplyLimits, *, cut: bool
) -> AsyncIterator[bytes]:
    """The unpacked pieces of a body. A small one that is not packed needs no accounting."""
    size = 0
    while not (encoding or cut) and size <= _SMALL:
        piece = await content.readany()
        if not piece:
            return
        size += len(piece)
        yield piece
    limits = replace(limits, per_reply=max(1, limits.per_reply - size))
    async for piece in iter_bounded(content.iter_any(), encoding, limits, cut=cut):
        yield piece


async def iter_bounded(
    content: AsyncIterable[bytes], encoding: str, limits: ReplyLimits, *, cut: bool
) -> AsyncIterator[bytes]:
    """The unpacked pieces of a body within bounds."""
    async for piece in BoundedBody(content, encoding, limits, cut=cut):
        yield piece


async def _read_events(
    start: bytes,
    pieces: AsyncIterator[bytes],
    assembler: StreamAssembler,
    reply: WireReply,
    began: float,
) -> None:
    """Read a stream of events to its end; one whose answer is whole needs none."""
    from aiohttp import ClientPayloadError

    reader = EventReader()

    def take(events: Any) -> None:
        for event, data in events:
            if assembler.add_event(event, data) and reply.first_piece is None:
                reply.first_piece = time.perf_counter() - began

    try:
        async with asyncio.timeout(None) as ending:
            piece = start
            while piece:
                take(reader.feed(piece))
                if assembler.is_complete and ending.when() is None:
                    ending.reschedule(asyncio.get_running_loop().time() + _END_SECONDS)
                piece = await anext(pieces, b"")
            take(reader.end())
    except (TimeoutError, OSError, ReplyTooLarge, ClientPayloadError):
        if not assembler.is_complete:
            raise


def _find_proxy(base_url: str) -> str | None:
    """The proxy of the environment for an address."""
    parts = urlsplit(base_url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _create_ssl_context() -> ssl.SSLContext:
    """A context with the system's certificates (or those of SSL_CERT_FILE), else certifi's."""
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if not (paths.cafile or paths.capath):
        import certifi

        context.load_verify_locations(certifi.where())
    return context


def _build_resolver() -> Any:
    """A resolver for aiohttp that gives the addresses of a host only if all are of the open
    network."""
    from aiohttp.abc import AbstractResolver, ResolveResult

    class PublicResolver(AbstractResolver):
        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
        ) -> list[ResolveResult]:
            try:
                addresses = await asyncio.to_thread(
                    resolve_public_addresses, host, port, egress_module.resolve_host
                )
            except NotPublic as error:
                raise OutOfReach(str(error)) from None
            return [
                ResolveResult(
                    hostname=host,
                    host=address,
                    port=port,
                    family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                    proto=0,
                    flags=socket.AI_NUMERICHOST,
                )
                for address in addresses[:_MAX_ADDRESSES]
            ]

        async def close(self) -> None:
            """Nothing to close."""

    return PublicResolver()
