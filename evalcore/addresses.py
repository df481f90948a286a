"""Which addresses of the network are of the open one, and what a name resolves to.

A request on behalf of somebody else must not reach this machine, its network, or a cloud's services
for its machines. What is checked is the address that is then connected to, never a name: a name
may mean another address a moment later.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

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
        raise NotPublic(f"the host {host[:100]} is not known") from None
    if not addresses or not all(map(allowed, addresses)):
        raise NotPublic(f"the host {host[:100]} is not a public one, and only those can be visited")
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
