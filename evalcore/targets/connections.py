"""HTTP connections of targets: they are reused, and a request that one loses is sent once more.

A server closes a connection when it has been idle for some seconds, is restarted, or has answered
an error (uvicorn does after every unhandled one, without a word in the answer). A request that is
on its way at that moment is never read. RFC 9112, section 9.3.1, has clients expect that, and send
the request again. They can tell it from a server that crashes over the request: the connection had
served before, and it ends before the head of a response.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2
    from aiohttp import ClientResponse, ClientSession

#: Below the 5 s after which common servers close an idle connection.
KEEP_ALIVE_SECONDS = 4.0
CONNECTIONS = 1024
_CHUNK_BYTES = 16_384


class Connections:
    """Connections for requests of aiohttp; opened at the first, within an event loop.

    `connector` are options of its TCPConnector, `session` of its ClientSession.
    """

    def __init__(self, connector: dict[str, Any], session: dict[str, Any]) -> None:
        self._connector, self._session = connector, session
        self._reusing: ClientSession | None = None
        self._single_use: ClientSession | None = None

    async def request(self, method: str, url: str, **options: Any) -> ClientResponse:
        """Send a request, and again on a new connection if a reused one is closed unanswered.

        Raises the errors of aiohttp.
        """
        from aiohttp import ClientOSError, ServerDisconnectedError

        if self._reusing is None:
            self._reusing = self._open(keepalive_timeout=KEEP_ALIVE_SECONDS)
        use = SimpleNamespace(is_reuse=False)
        try:
            return await self._reusing.request(method, url, trace_request_ctx=use, **options)
        except (ServerDisconnectedError, ClientOSError, ConnectionResetError):
            if not use.is_reuse:
                raise
        if self._single_use is None:
            self._single_use = self._open(force_close=True)
        return await self._single_use.request(method, url, **options)

    async def close(self) -> None:
        for session in (self._reusing, self._single_use):
            if session is not None:
                await session.close()
        self._reusing = self._single_use = None

    def _open(self, **options: Any) -> ClientSession:
        from aiohttp import ClientSession, TCPConnector, TraceConfig

        def note(is_reuse: bool) -> Any:
            async def set_use(_: ClientSession, context: SimpleNamespace, __: object) -> None:
                if context.trace_request_ctx is not None:
                    context.trace_request_ctx.is_reuse = is_reuse

            return set_use

        trace = TraceConfig()
        trace.on_connection_reuseconn.append(note(True))
        trace.on_connection_create_start.append(note(False))
        connector = TCPConnector(limit=CONNECTIONS, **options, **self._connector)
        return ClientSession(connector=connector, trace_configs=[trace], **self._session)


def aiohttp_client(timeout: httpx2.Timeout, **options: Any) -> httpx2.AsyncClient:
    """An httpx2 client, with `options` of httpx2.AsyncClient, that sends through `Connections`.

    aiohttp takes half the CPU of httpx2's own transport. Proxies of the environment are used.
    Errors of aiohttp are not renamed: see `failures.from_exception`.
    """
    import aiohttp
    import httpx2

    class Body(httpx2.AsyncByteStream):
        def __init__(self, response: ClientResponse) -> None:
            self._response = response

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in self._response.content.iter_chunked(_CHUNK_BYTES):
                yield chunk

        async def aclose(self) -> None:
            self._response.release()
            await self._response.wait_for_close()

    class Transport(httpx2.AsyncBaseTransport):
        def __init__(self, proxy: httpx2.Proxy | None = None) -> None:
            self._connections = Connections({"ssl": httpx2.create_ssl_context()}, {})
            self._proxy: dict[str, Any] = {}
            if proxy is not None:
                self._proxy = {
                    "proxy": str(proxy.url),
                    "proxy_auth": aiohttp.BasicAuth(*proxy.auth) if proxy.auth else None,
                    "proxy_headers": proxy.headers,
                }

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            seconds = request.extensions.get("timeout", {})
            response = await self._connections.request(
                request.method,
                str(request.url),
                headers=request.headers,
                data=await request.aread() or None,
                allow_redirects=False,
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(
                    sock_connect=seconds.get("connect"),
                    sock_read=seconds.get("read"),
                    connect=seconds.get("pool"),
                ),
                **self._proxy,
            )
            return httpx2.Response(
                response.status, headers=response.raw_headers, stream=Body(response)
            )

        async def aclose(self) -> None:
            await self._connections.close()

    class Client(httpx2.AsyncClient):
        def _init_transport(self, *_: Any, **__: Any) -> httpx2.AsyncBaseTransport:
            return Transport()

        def _init_proxy_transport(
            self, proxy: httpx2.Proxy, *_: Any, **__: Any
        ) -> httpx2.AsyncBaseTransport:
            return Transport(proxy)

    return Client(timeout=timeout, **options)
