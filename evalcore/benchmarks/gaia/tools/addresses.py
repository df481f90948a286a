"""Which addresses of the network a page may be fetched from: public ones only.

A page chosen by a model must not reach this machine, its network, or a cloud's services for its
machines (169.254.169.254). What is checked is the address that is then connected to, never a name.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from evalcore.benchmarks.gaia.tools.tool import Refusal

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Sequence[str]]

#: Addresses here stand for the IPv4 address in their last 32 bits, reached by a translator
#: (RFC 6052); networks without IPv4 give them to all hosts that have nothing else.
_TRANSLATED = IPv6Network("64:ff9b::/96")


def is_public(address: Address) -> bool:
    """Whether an address is of the open network, and so is each IPv4 address it stands for."""
    if isinstance(address, IPv6Address):
        if address in _TRANSLATED:
            return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
        inner = (address.ipv4_mapped, address.sixtofour, *(address.teredo or ()))
        if address.is_site_local or not all(is_public(one) for one in inner if one is not None):
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def look_up(host: str, port: int) -> list[str]:
    """The addresses of a host. Raises OSError where it has none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def checked_addresses(
    host: str, port: int, allowed: Callable[[Address], bool], resolve: Resolve
) -> list[str]:
    """The addresses to connect to for a host. Raises Refusal unless all of them are allowed."""
    try:
        found = [ip_address(address.partition("%")[0]) for address in resolve(host, port)]
    except (OSError, UnicodeError, ValueError):
        raise Refusal(f"the host {host[:100]} is not known") from None
    if not found or not all(map(allowed, found)):
        raise Refusal(f"the host {host[:100]} is not a public one, and only those can be visited")
    return [str(address) for address in found]
