"""How far a target may reach that somebody else named: one origin, and the open network only.

The address is checked where the connection is made, not only before: a name that was harmless when
the run was planned may mean this machine when it is asked for again. No redirect is followed, and
no proxy of the environment is used, which would look the name up by itself.
"""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from evalcore import addresses
from evalcore.addresses import NotPublic, is_public
from evalcore.errors import UsageError
from evalcore.records import Record
from evalcore.targets.connections import CONNECTIONS, KEEP_ALIVE_SECONDS

if TYPE_CHECKING:
    import httpx2

_PORTS = {"http": 80, "https": 443}
_MAX_ADDRESSES = 3


class OutOfReach(OSError):
    """A connection that is not made, whatever the settings of the network say."""


class Origin(Record, frozen=True):
    """Scheme, host (in lower case) and port: what a request is allowed to go to."""

    scheme: str
    host: str
    port: int


class EgressPolicy(Record, frozen=True):
    """`public`: only addresses of the open network. Off for a server that the operator named by
    its own address, which may be in his own network."""

    origin: Origin
    public: bool = True

    def verify_host(self) -> None:
        """Look the host up; raises UsageError where it is, even in part, not of the open network.

        May take seconds, and holds for this moment only.
        """
        if not self.public:
            return
        try:
            addresses.resolve_public_addresses(
                self.origin.host, self.origin.port, addresses.resolve_host
            )
        except NotPublic as error:
            raise UsageError(f"this address cannot be used here: {error}") from None

    def open_socket(self, address_info: Any) -> socket.socket:
        """A socket for an address that was found, as aiohttp asks for before each connection.

        Raises OutOfReach for an address that must not be reached.
        """
        family, kind, protocol, _, socket_address = address_info
        if self.public and not is_public(ip_address(str(socket_address[0]).partition("%")[0])):
            raise OutOfReach("the host is not a public one, and only those can be visited")
        return socket.socket(family=family, type=kind, proto=protocol)

    def build_client(self, timeout: httpx2.Timeout, **options: Any) -> httpx2.AsyncClient:
        """An HTTP client that reaches nothing else; `options` are options of httpx2.AsyncClient."""
        import httpx2

        return httpx2.AsyncClient(
            timeout=timeout,
            transport=_build_transport(self),
            follow_redirects=False,
            trust_env=False,
            **options,
        )


def parse_origin(address: str) -> Origin:
    """The origin of a http(s) address; raises UsageError for one that has none."""
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").lower(), parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        raise UsageError(
            "an address must look like https://HOST/v1 or http://HOST:PORT/v1"
        ) from None
    plain = host.isascii() and host.isprintable() and not set(host) & set(" \\@/?#%")
    if not host or not plain or parts.username is not None:
        raise UsageError("an address must name a plain host, without a user before it")
    return Origin(parts.scheme, host, port)


def _build_transport(egress: EgressPolicy) -> httpx2.AsyncBaseTransport:
    import httpx2

    single_use = httpx2.AsyncHTTPTransport(limits=httpx2.Limits(max_keepalive_connections=0))

    class Transport(httpx2.AsyncHTTPTransport):
        """Sends to a number that was checked; the name is not looked up a second time."""

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            url = request.url
            host, port = url.raw_host.decode("ascii").lower(), url.port or _PORTS.get(url.scheme, 0)
            if Origin(url.scheme, host, port) != egress.origin:
                raise OutOfReach("no request is sent to another server")
            if not egress.public:
                return await self._send(request)
            try:
                checked_addresses = await asyncio.to_thread(
                    addresses.resolve_public_addresses, host, port, addresses.resolve_host
                )
            except NotPublic as error:
                raise OutOfReach(str(error)) from None
            request.extensions = {**request.extensions, "sni_hostname": host}
            tried = checked_addresses[:_MAX_ADDRESSES]
            for number, address in enumerate(tried, 1):
                request.url = url.copy_with(host=address)
                try:
                    return await self._send(request)
                except (httpx2.ConnectError, httpx2.ConnectTimeout):
                    if number == len(tried):
                        raise
                finally:
                    request.url = url
            raise httpx2.ConnectError("the host has no address")

        async def _send(self, request: httpx2.Request) -> httpx2.Response:
            """Send a request, and again on a new connection if a reused one is closed unanswered
            (see `connections`)."""
            is_reuse = True

            async def note_opening(event: str, _: Any) -> None:
                nonlocal is_reuse
                is_reuse = is_reuse and not event.startswith("connection.connect")

            request.extensions = {**request.extensions, "trace": note_opening}
            try:
                return await super().handle_async_request(request)
            except (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError):
                if not is_reuse:
                    raise
            return await single_use.handle_async_request(request)

        async def aclose(self) -> None:
            await super().aclose()
            await single_use.aclose()

    return Transport(
        limits=httpx2.Limits(
            max_connections=CONNECTIONS,
            max_keepalive_connections=CONNECTIONS,
            keepalive_expiry=KEEP_ALIVE_SECONDS,
        )
    )
