"""Which addresses of the network a page may be fetched from: public ones only.

A page chosen by a model must not reach this machine, its network, or a cloud's services for its
machines (169.254.169.254). What is checked is the address that is then connected to, never a name.
"""

from __future__ import annotations

from collections.abc import Callable

from evalcore import addresses
from evalcore.addresses import Address, NotPublic, Resolve, is_public, resolve_host
from evalcore.benchmarks.gaia.tools.tool import ToolError

__all__ = ["Address", "Resolve", "checked_addresses", "is_public", "resolve_host"]


def checked_addresses(
    host: str, port: int, allowed: Callable[[Address], bool], resolve: Resolve
) -> list[str]:
    """The addresses to connect to for a host. Raises Refusal unless all of them are allowed."""
    try:
        return addresses.resolve_public_addresses(host, port, resolve, allowed)
    except NotPublic as error:
        raise ToolError(str(error)) from None
