"""One exchange over HTTP within bounds of time and size, to an address that was checked.

A page chosen by a model must not reach this machine, its network, or a cloud's services for its
machines (169.254.169.254). What is checked is the address that is then connected to, never a name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from evalcore.access import egress
from evalcore.access.egress import Address, NotPublic, Resolve, is_public, resolve_host
from evalcore.intake.http import ReplyLimits, ReplyTooLarge, ReplyUnreadable, read_body
from evalcore.records import Record

if TYPE_CHECKING:
    import httpx2


class ToolError(Exception):
    """What the model asked for cannot be done; the message is for the model."""


def checked_addresses(
    host: str, port: int, allowed: Callable[[Address], bool], resolve: Resolve
) -> list[str]:
    """The addresses to connect to for a host. Raises ToolError unless all of them are allowed."""
    try:
        return egress.resolve_public_addresses(host, port, resolve, allowed)
    except NotPublic as error:
        raise ToolError(str(error)) from None


SECONDS = 20.0
MAX_REPLY_BYTES = 5_000_000
_CONNECT_SECONDS = 5.0
_MAX_ADDRESSES = 3
_PORTS = {"http": 80, "https": 443}


class Unreachable(Exception):
    """There was no whole reply: no connection, no end in time, too many bytes."""


class HttpRequest(Record, frozen=True):
    """A request; `json` is None where it has no body."""

    url: str
    method: str = "GET"
    headers: dict[str, str] = {}
    params: dict[str, str] | None = None
    json: Any = None


class HttpReply(Record, frozen=True):
    """A whole reply; names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    content: bytes


def send_http_request(
    outgoing: HttpRequest,
    *,
    allowed: Callable[[Address], bool] | None = None,
    resolve: Resolve = resolve_host,
    seconds: float = SECONDS,
    max_bytes: int = MAX_REPLY_BYTES,
) -> HttpReply:
    """Send a request and read its reply; no redirect is followed. With `allowed` the connection
    goes to an address of the host that was checked and no proxy is used. Synchronous; call it in a
    thread that runs no event loop. Raises Unreachable, and ToolError for an address that is none or
    not allowed."""
    return asyncio.run(_send_with_timeout(outgoing, allowed, resolve, seconds, max_bytes))


async def _send_with_timeout(
    outgoing: HttpRequest,
    allowed: Callable[[Address], bool] | None,
    resolve: Resolve,
    seconds: float,
    max_bytes: int,
) -> HttpReply:
    import httpx2

    # The timeouts of a client are per step; a server that sends a byte now and then needs the sum.
    timeout = httpx2.Timeout(seconds, connect=_CONNECT_SECONDS)
    try:
        async with (
            asyncio.timeout(seconds),
            httpx2.AsyncClient(timeout=timeout, trust_env=allowed is None) as client,
        ):
            if allowed is None:
                return await _receive_reply(
                    client, _build_httpx_request(client, outgoing), max_bytes
                )
            return await _send_to_checked_address(client, outgoing, allowed, resolve, max_bytes)
    except TimeoutError:
        raise Unreachable(f"no whole reply within {seconds:g} seconds") from None
    except httpx2.InvalidURL:
        raise ToolError("not an address of a web page") from None
    except httpx2.HTTPError as error:  # its text may hold the address with a key: only its name
        raise Unreachable(f"no reply ({type(error).__name__})") from None


async def _send_to_checked_address(
    client: httpx2.AsyncClient,
    outgoing: HttpRequest,
    allowed: Callable[[Address], bool],
    resolve: Resolve,
    max_bytes: int,
) -> HttpReply:
    """To the first address that takes the connection. The name in the address is replaced by the
    number that was checked, so that it is not looked up a second time with another outcome."""
    import httpx2

    url = httpx2.URL(outgoing.url)
    if url.scheme not in _PORTS or not url.host:
        raise ToolError("only addresses beginning with http:// or https:// can be visited")
    if url.userinfo:
        raise ToolError("an address with a name and password cannot be visited")
    host, port = url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme]
    addresses = await asyncio.to_thread(checked_addresses, host, port, allowed, resolve)
    for number, address in enumerate(addresses[:_MAX_ADDRESSES], 1):
        request = _build_httpx_request(
            client, outgoing, url.copy_with(host=address), {"Host": url.netloc.decode("ascii")}
        )
        request.extensions = {**request.extensions, "sni_hostname": host}
        try:
            return await _receive_reply(client, request, max_bytes)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            if number == min(len(addresses), _MAX_ADDRESSES):
                raise
    raise Unreachable("the host has no address")


def _build_httpx_request(
    client: httpx2.AsyncClient,
    outgoing: HttpRequest,
    url: httpx2.URL | None = None,
    extra_headers: Mapping[str, str] | None = None,
) -> httpx2.Request:
    headers = {"Accept-Encoding": "identity", **outgoing.headers, **(extra_headers or {})}
    return client.build_request(
        outgoing.method,
        url or outgoing.url,
        headers=headers,
        params=outgoing.params,
        json=outgoing.json,
    )


async def _receive_reply(
    client: httpx2.AsyncClient, request: httpx2.Request, max_bytes: int
) -> HttpReply:
    reply = await client.send(request, stream=True)
    headers = {name.lower(): value for name, value in reply.headers.items()}
    encoding = headers.get("content-encoding", "")
    try:
        content = await read_body(reply.aiter_raw(), encoding, ReplyLimits(per_reply=max_bytes))
    except ReplyTooLarge:
        raise Unreachable(f"the reply has more than {max_bytes} bytes") from None
    except ReplyUnreadable as error:
        raise Unreachable(f"the reply is {error}") from None
    finally:
        await reply.aclose()
    return HttpReply(reply.status_code, headers, content)


__all__ = ["Address", "Resolve", "ToolError", "is_public", "resolve_host"]
