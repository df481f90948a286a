"""How far requests may reach: addresses of the open network, one origin for a target that somebody
else named, and the HTTP connections that hold to it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakSet

from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Record

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession
    from yarl import URL

# A request on behalf of somebody else must not reach this machine, its network, or a cloud's
# services for its machines. What is checked is the address that is then connected to, never a name:
# a name may mean another address a moment later.

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Sequence[str]]

#: Addresses here stand for the IPv4 address in their last 32 bits, reached by a translator
#: (RFC 6052); networks without IPv4 give them to all hosts that have nothing else.
_TRANSLATED = IPv6Network("64:ff9b::/96")
#: As above, of a translator of the own network (RFC 8215).
_TRANSLATED_HERE = IPv6Network("64:ff9b:1::/48")
#: These look public: a service of the Azure cloud for the machine that asks, and addresses for
#: protocols (RFC 6890), of which the Oracle cloud uses one as Azure does.
_SERVICES = (IPv4Network("168.63.129.16/32"), IPv4Network("192.0.0.0/24"))


class NotPublic(Exception):
    """A host that is not, or not only, of the addresses that may be reached, or not known."""


def is_public(address: Address) -> bool:
    """Whether an address is of the open network, and so is each IPv4 address it stands for."""
    if isinstance(address, IPv6Address):
        if address in _TRANSLATED:
            return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
        inner = (address.ipv4_mapped, address.sixtofour, *(address.teredo or ()))
        if address in _TRANSLATED_HERE or address.is_site_local:
            return False
        if not all(is_public(embedded) for embedded in inner if embedded is not None):
            return False
    if any(address in network for network in _SERVICES):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def is_this_machine(host: str) -> bool:
    """Whether a host, as an address or a name, can only mean the machine itself."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost" or host.lower().endswith(".localhost")


def resolve_host(host: str, port: int) -> list[str]:
    """The addresses of a host, in whatever form it is written. Raises OSError where it has none."""
    address_infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in address_infos))


def resolve_public_addresses(
    host: str,
    port: int,
    resolve: Resolve = resolve_host,
    allowed: Callable[[Address], bool] = is_public,
) -> list[str]:
    """The addresses to connect to for a host. Raises NotPublic unless there are some and all are
    allowed: one that is not, among others, would be found by trying again."""
    try:
        addresses = [ip_address(address.partition("%")[0]) for address in resolve(host, port)]
    except (OSError, UnicodeError, ValueError):
        raise NotPublic(Note("access_unknown_host", host=host[:100])) from None
    if not addresses or not all(map(allowed, addresses)):
        raise NotPublic(Note("access_not_public", host=host[:100]))
    return [str(address) for address in addresses]


def visitor_network(host: str, forwarded: str = "") -> str:
    """Name the network that a visitor's requests are counted for, "" where that cannot be told.

    An IPv4 address stands for itself, an IPv6 address for its /64, which is what one customer of a
    provider has. `forwarded` is the X-Forwarded-For header: the server itself has already taken the
    visitor's address from it if it came from a proxy named in FORWARDED_ALLOW_IPS. Any other proxy
    in the own network hides its visitors; a header from the open network is the sender's invention.
    """
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address
    hidden = forwarded and not is_public(address) and host not in forwarded
    if hidden:
        return ""
    return str(IPv6Network((address, 64), strict=False) if address.version == 6 else address)


# A server closes a connection when it has been idle for some seconds, is restarted, or has answered
# an error (uvicorn does after every unhandled one, without a word in the answer). A request that is
# on its way at that moment is never read. RFC 9112, section 9.3.1, has clients expect that, and
# send the request again. They can tell it from a server that crashes over the request: the
# connection had served before, and it ends before the head of a response.

#: Below the 5 s after which common servers close an idle connection.
KEEP_ALIVE_SECONDS = 4.0
CONNECTIONS = 1024
#: Whether the request of this task went over a connection that had served before.
_is_reuse: ContextVar[bool] = ContextVar("is_reuse", default=False)
_on_resend: ContextVar[Callable[[str], None] | None] = ContextVar("on_resend", default=None)


@contextmanager
def watch_resends(report: Callable[[str], None]) -> Iterator[None]:
    """Report why each request of this task is sent again on a new connection."""
    token = _on_resend.set(report)
    try:
        yield
    finally:
        _on_resend.reset(token)


class Connections:
    """Connections for requests of aiohttp; opened at the first, within an event loop. `connector`
    are options of its TCPConnector, `session` of its ClientSession."""

    def __init__(self, connector: dict[str, Any], session: dict[str, Any]) -> None:
        self._connector, self._session = connector, session
        self._reusing: ClientSession | None = None
        self._single_use: ClientSession | None = None

    async def request(self, method: str, url: str | URL, **options: Any) -> ClientResponse:
        """Send a request, and again on a new connection if a reused one is closed unanswered.
        Raises the errors of aiohttp."""
        from aiohttp import ClientOSError, ServerDisconnectedError

        if self._reusing is None:
            self._reusing = self._open(keepalive_timeout=KEEP_ALIVE_SECONDS)
        _is_reuse.set(False)
        try:
            return await self._reusing.request(method, url, **options)
        except (ServerDisconnectedError, ClientOSError, ConnectionResetError) as error:
            if not _is_reuse.get():
                raise
            if (report := _on_resend.get()) is not None:
                report(type(error).__name__)
        if self._single_use is None:
            self._single_use = self._open(force_close=True)
        return await self._single_use.request(method, url, **options)

    async def close(self) -> None:
        for session in (self._reusing, self._single_use):
            if session is not None:
                await session.close()
        self._reusing = self._single_use = None

    def _open(self, **options: Any) -> ClientSession:
        from aiohttp import ClientSession, TCPConnector

        class Connector(TCPConnector):
            """Notes whether a connection had served before: aiohttp's traces would say so too, for
            a tenth of the time that a request takes."""

            served: WeakSet[Any] = WeakSet()

            async def connect(self, *args: Any, **named: Any) -> Any:
                connection = await super().connect(*args, **named)
                _is_reuse.set(connection.protocol in self.served)
                if connection.protocol is not None:
                    self.served.add(connection.protocol)
                return connection

        connector = Connector(limit=CONNECTIONS, **options, **self._connector)
        return ClientSession(connector=connector, **self._session)


# The address is checked where the connection is made, not only before: a name that was harmless
# when the run was planned may mean this machine when it is asked for again. No redirect is
# followed, and no proxy of the environment is used, which would look the name up by itself.

_PORTS = {"http": 80, "https": 443}


class OutOfReach(OSError):
    """A connection that is not made, whatever the settings of the network say."""


class Origin(Record, frozen=True):
    """Scheme, host (in lower case) and port: what a request is allowed to go to."""

    scheme: str
    host: str
    port: int


class EgressPolicy(Record, frozen=True):
    """`public`: only addresses of the open network. Off for a server that the operator named by
    its own address, which may be in their own network."""

    origin: Origin
    public: bool = True

    def verify_host(self) -> None:
        """Look the host up; raises UsageError where it is, even in part, not of the open network.
        May take seconds, and holds for this moment only."""
        if not self.public:
            return
        try:
            resolve_public_addresses(self.origin.host, self.origin.port, resolve_host)
        except NotPublic as error:
            raise UsageError(Note("access_address", problem=error)) from None

    def open_socket(self, address_info: Any) -> socket.socket:
        """A socket for an address that was found, as aiohttp asks for before each connection.
        Raises OutOfReach for an address that must not be reached."""
        family, kind, protocol, _, socket_address = address_info
        if self.public and not is_public(ip_address(str(socket_address[0]).partition("%")[0])):
            raise OutOfReach("the host is not public, and only public hosts can be reached")
        return socket.socket(family=family, type=kind, proto=protocol)


def parse_origin(address: str) -> Origin:
    """The origin of a http(s) address; raises UsageError for one that has none."""
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").lower(), parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        raise UsageError(Note("address_form")) from None
    plain = host.isascii() and host.isprintable() and not set(host) & set(" \\@/?#%")
    if not host or not plain or parts.username is not None:
        raise UsageError(Note("address_plain_host"))
    return Origin(parts.scheme, host, port)
