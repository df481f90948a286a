"""ASGI middleware: security headers, limits on requests, logins, scripts by gzip."""

from __future__ import annotations

import asyncio
import gzip
import logging
import os
import posixpath
import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol
from urllib.parse import parse_qs, quote, unquote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evalcore import settings
from evalcore.access import login
from evalcore.access.egress import is_this_machine, visitor_network
from evalcore.access.policy import GRACE, PER_FILE, UPLOADS, UploadRefused, UploadRegistry
from evalcore.errors import UsageError
from evalcore.i18n import Note

# Security headers on every answer of the server, the app shell and the API alike.
# The content security policy is the second wall behind escaping: even if text of a model were
# ever drawn as Markdown, no image, font or script of a foreign server could be loaded. Streamlit
# needs inline styles and scripts, and Vega compiles its expressions with `eval`.

_POLICY: dict[str, str] = {
    "default-src": "'self'",
    "img-src": "'self' data: blob:",
    "style-src": "'self' 'unsafe-inline'",
    "script-src": "'self' 'unsafe-inline' 'unsafe-eval' blob:",
    "worker-src": "'self' blob:",
    "font-src": "'self' data:",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
}
#: The same on every answer.
HEADERS: dict[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
POLICY = "Content-Security-Policy"
#: Set by the host in a Space of Hugging Face, whose boards are seen inside a page of the Hub.
SPACE = "SPACE_ID"
_OF_A_SPACE = ("https://huggingface.co", "https://*.hf.space")
#: The Host header of a browser; any other text would end up in the policy.
_HOST = re.compile(r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
_ANCESTOR = re.compile(r"https?://(?:\*\.)?[A-Za-z0-9._-]{1,253}(?::[0-9]{1,5})?")
_log = logging.getLogger(__name__)


def frame_ancestors(configured: tuple[str, ...], environment: Mapping[str, str]) -> str:
    """The pages that may show the board in a frame: its own, those of the setting, and in a Space
    those of the Hub. Raises UsageError for a setting that is no origin."""
    for origin in configured:
        if not _ANCESTOR.fullmatch(origin):
            raise UsageError(Note("setting_frame", origin=origin))
    of_space = _OF_A_SPACE if environment.get(SPACE, "").strip() else ()
    return " ".join(dict.fromkeys(("'self'", *of_space, *configured)))


def build_content_policy(host: str, ancestors: str) -> str:
    """The content security policy of an answer to a request for `host`.

    Browsers before the third level of the policy do not count websockets as 'self', so that those
    of this host are named beside it.
    """
    own = f" ws://{host} wss://{host}" if _HOST.fullmatch(host) else ""
    rules = _POLICY | {"connect-src": f"'self'{own}", "frame-ancestors": ancestors}
    return "; ".join(f"{name} {value}" for name, value in rules.items())


class SecurityHeaders:
    """ASGI middleware that adds `HEADERS` and the policy to each HTTP response and leaves sockets
    alone."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        try:
            self._ancestors = frame_ancestors(settings.load_settings().frame_ancestors, os.environ)
        except UsageError as error:  # the pages say so too, and nobody else frames them
            _log.error("%s", error)
            self._ancestors = "'self'"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        own = {POLICY: build_content_policy(Headers(scope=scope).get("host", ""), self._ancestors)}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS | own)
            await send(message)

        await self.app(scope, receive, send_with_headers)


# What one request may bring: bytes of its head and body, uploads, connections at a time, and an
# origin of its own.
# The wall stands before the app and Streamlit alike, in both ways of starting them (`streamlit
# run app.py` serves the ASGI app of that file, as `uvicorn app:app` does). Whatever it refuses is
# refused before the body is read, so that a visitor who sends it costs no memory.

QUERY = 16_384  # bytes
HEAD = 49_152  # bytes of all headers; a login is a cookie in several parts
BODY = 65_536  # bytes, of everything but uploads
IDLE = 30.0  # seconds without a byte of an upload
SLOWEST = 600.0  # seconds for an upload
CONNECTIONS = 512
#: Of one visitor's address, where it is known.
CONNECTIONS_PER_ADDRESS = 64

_UPLOAD = re.compile(r"/_stcore/upload_file/(?P<session>[^/]+)/(?P<file>[^/]+)$")
_SOCKET = "/_stcore/stream"
#: Streamlit's own measures, which name functions of the program: for a monitor on this machine.
_METRICS = "/_stcore/metrics"


class Sessions(Protocol):
    """The sessions of the app's runtime; called in the event loop only."""

    def is_active(self, session: str) -> bool:
        """Tell whether a browser is connected to a session."""

    def remove_file(self, session: str, file: str) -> None:
        """Remove a file of a session from memory."""

    def close(self, session: str) -> None:
        """End a session and free all it holds."""


class RequestLimits:
    """ASGI middleware that refuses what is too large, too many, or uploaded without a permit."""

    def __init__(
        self,
        app: ASGIApp,
        sessions: Sessions,
        registry: UploadRegistry = UPLOADS,
        allowed_hosts: Collection[str] = (),
    ) -> None:
        """`allowed_hosts` are those whose pages may connect, beside the one that is asked."""
        self.app, self._sessions, self._registry = app, sessions, registry
        self._allowed_hosts = frozenset(host.lower() for host in allowed_hosts)
        self._connections: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._handle_websocket(scope, receive, send)
        elif scope["type"] != "http":
            await self.app(scope, receive, send)
        elif (status := _head_refusal(scope)) is not None:
            await _send_refusal(
                status, "the address or its headers are too long", scope, receive, send
            )
        elif scope["path"].endswith(_METRICS) and not _is_local(scope):
            await _send_refusal(404, "Not Found", scope, receive, send)
        elif scope["method"] == "PUT" and (match := _UPLOAD.search(scope["path"])):
            await self._handle_upload(match["session"], match["file"], scope, receive, send)
        else:
            await self._handle_request(scope, receive, send)

    async def _handle_upload(
        self, session: str, file: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Pass a file on within its reservation: the length that is declared, else the largest."""
        self._sweep_sessions()
        size = _content_length(scope, PER_FILE)
        try:
            for old in self._registry.begin_upload(session, size):
                self._sessions.remove_file(session, old)
        except UploadRefused as refused:
            await _send_refusal(refused.status, refused.reason, scope, receive, send)
            return
        body, status = _BoundedBody(receive, size, IDLE, SLOWEST), 0

        async def track_status(message: Message) -> None:
            nonlocal status
            status = message["status"] if message["type"] == "http.response.start" else status
            await send(message)

        try:
            await self.app(scope, body.receive, track_status)
        except _BodyRefused as refused:
            if not status:
                await _send_refusal(refused.status, refused.reason, scope, receive, send)
        finally:
            stored = body.received if status == 204 else None
            self._registry.end_upload(session, size, file, stored)
        if stored is not None and not self._sessions.is_active(session):
            self._sweep_later()  # the visitor went while the file came

    async def _handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _content_length(scope, 0) > BODY:
            await _send_refusal(413, "the request is too large", scope, receive, send)
            return
        started = False

        async def track_start(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, _BoundedBody(receive, BODY).receive, track_start)
        except _BodyRefused as refused:
            if not started:
                await _send_refusal(refused.status, refused.reason, scope, receive, send)
        if scope["method"] == "DELETE" and (match := _UPLOAD.search(scope["path"])):
            self._registry.remove_file(match["session"], match["file"])

    async def _handle_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a websocket on while there are not too many, and note the end of its session.

        A page of another host may open none: it would act for the visitor who looks at it.
        Streamlit lets any page of `localhost` pass, and for all others asks a foreign server for
        the address of this machine, each time and while everybody waits.
        """
        headers, client = Headers(scope=scope), scope.get("client")
        if not self._is_own_origin(headers):
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        forwarded = headers.get("x-forwarded-for", "")
        address = visitor_network(client[0] if client else "", forwarded)
        full = self._connections.total() >= CONNECTIONS or (
            address and self._connections[address] >= CONNECTIONS_PER_ADDRESS
        )
        if full or _head_refusal(scope) is not None:
            await receive()
            await send({"type": "websocket.close", "code": 1013})
            return
        self._connections[address] += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self._connections[address] -= 1
            self._connections += Counter()  # drops addresses without a connection
            if scope["path"].endswith(_SOCKET):
                self._sweep_later()

    def _is_own_origin(self, headers: Headers) -> bool:
        """Whether a websocket comes from a page of this board, or from no page at all."""
        origin = headers.get("origin")
        if origin is None:
            return True
        try:
            parts = urlsplit(origin.lower())
            host = parts.hostname or ""
        except ValueError:
            return False
        return parts.netloc == headers.get("host", "").lower() or host in self._allowed_hosts

    def _sweep_later(self) -> None:
        """Note which sessions are without a connection, and look again when they may end."""
        self._sweep_sessions()
        if self._registry.count_sessions():
            asyncio.get_running_loop().call_later(GRACE + 1, self._sweep_sessions)

    def _sweep_sessions(self) -> None:
        for session in self._registry.expire_sessions(self._sessions.is_active):
            self._sessions.close(session)


class _BodyRefused(Exception):
    """A body that goes on for too long; raised where the app reads it."""

    def __init__(self, status: int, reason: str) -> None:
        self.status, self.reason = status, reason
        super().__init__(reason)


class _BoundedBody:
    """The body of a request of at most so many bytes, arriving within so many seconds."""

    def __init__(
        self,
        receive: Receive,
        max_bytes: int,
        idle: float | None = None,
        total: float | None = None,
    ) -> None:
        self._receive, self._max_bytes, self._idle = receive, max_bytes, idle
        self._deadline = None if total is None else asyncio.get_running_loop().time() + total
        self.received = 0

    async def receive(self) -> Message:
        if self._idle is None or self._deadline is None:
            message = await self._receive()
        else:
            latest = min(asyncio.get_running_loop().time() + self._idle, self._deadline)
            try:
                async with asyncio.timeout_at(latest):
                    message = await self._receive()
            except TimeoutError:
                raise _BodyRefused(408, "the upload is too slow") from None
        self.received += len(message.get("body", b""))
        if self.received > self._max_bytes:
            raise _BodyRefused(413, "the request is too large")
        return message


def _head_refusal(scope: Scope) -> int | None:
    if len(scope["query_string"]) > QUERY or len(scope["path"]) > QUERY:
        return 414
    total = sum(len(name) + len(value) for name, value in scope["headers"])
    return 431 if total > HEAD else None


def _content_length(scope: Scope, default: int) -> int:
    """The declared length of a body, `default` where none is declared or it is no number."""
    declared = Headers(scope=scope).get("content-length", "")
    return int(declared) if declared.isascii() and declared.isdigit() else default


def _is_local(scope: Scope) -> bool:
    """Whether a request was made on this machine, and by no proxy for somebody else."""
    client, headers = scope.get("client"), Headers(scope=scope)
    passed_on = any(name in headers for name in ("forwarded", "x-forwarded-for", "via"))
    return client is not None and is_this_machine(client[0]) and not passed_on


async def _send_refusal(
    status: int, reason: str, scope: Scope, receive: Receive, send: Send
) -> None:
    """Answer without reading the body, and close the connection, so that the rest is not sent."""
    headers = {"Connection": "close", "Cache-Control": "no-store"}
    await PlainTextResponse(reason, status, headers)(scope, receive, send)


# Brings visitors back to the page they logged in from, and tells the app of a login that failed:
# Streamlit leads to the first page without a word. Before the provider, a cookie takes the page
# from the Referer, which must be of this host; `/oauth2callback` leads there, and a page is nothing
# but a path and a query. Where no cookie then says who they are, the address says so. The way back
# from logging out is the same, but holds no `state`.

_IDENTITY = "_streamlit_user="
_EMPTY = (_IDENTITY + '""', _IDENTITY + ";")
_RETURN, _LONGEST_PAGE = "evalboard_return", 2000
_PAGE = re.compile(r"(?:/[A-Za-z0-9_-]+)*/?(?:\?[!-~]*)?")


class LoginReturn:
    """ASGI middleware around the way to the provider and back."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        query = parse_qs(scope.get("query_string", b""), keep_blank_values=True)
        is_return = path.endswith(login.CALLBACK) and b"state" in query
        if not is_return and not path.endswith(login.START):
            await self.app(scope, receive, send)
            return

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                change = lead_back if is_return else remember_page
                change(Request(scope), MutableHeaders(scope=message))
            await send(message)

        await self.app(scope, receive, send_on)


def remember_page(request: Request, headers: MutableHeaders) -> None:
    """Have the browser keep the page that asks for a login, if it is one of this host."""
    referrer = urlsplit(request.headers.get("referer", ""))
    page = referrer.path + (f"?{referrer.query}" if referrer.query else "")
    is_own = referrer.netloc and referrer.netloc == request.headers.get("host")
    if is_own and _PAGE.fullmatch(page) and len(page) <= _LONGEST_PAGE:
        look = "; Secure" if referrer.scheme == "https" else ""
        look += "; Path=/; Max-Age=600; HttpOnly; SameSite=Lax"
        headers.append("set-cookie", f"{_RETURN}={quote(page, safe='')}{look}")


def lead_back(request: Request, headers: MutableHeaders) -> None:
    """Change where an answer leads, if it leads anywhere; without an identity that is said."""
    location, cookies = headers.get("location"), headers.getlist("set-cookie")
    if not location:
        return
    page = unquote(request.cookies.get(_RETURN, ""))
    if page.startswith(location) and _PAGE.fullmatch(page):
        location = page
    if not any(c.startswith(_IDENTITY) and not c.startswith(_EMPTY) for c in cookies):
        location += f"{'&' if '?' in location else '?'}{login.RESULT}={login.FAILED}"
    headers["location"] = location
    headers.append("set-cookie", f"{_RETURN}=; Path=/; Max-Age=0")


# The scripts and style sheets of the pages, compressed.
# Streamlit sends them as they are: 2.8 MB before a first visitor sees a table, of which gzip leaves
# less than half. Each is compressed once, as its name changes with its content.

MAX_FILE = 8_000_000  # bytes that are held in memory while they are compressed
MAX_MEMORY = 32_000_000  # compressed bytes of all files together
_LEVEL = 6
_ASSET = re.compile(r"/static/[^?]+\.(?:js|css|svg)$")
_ACCEPTED = re.compile(
    r"(?:^|[\s,])(?:x-)?gzip\s*(?:;\s*q=(?!0(?:\.0*)?(?:[,\s]|$))[\d.]+)?(?:,|$)"
)


class CompressedFile(NamedTuple):
    """The headers of a response without those of its length, and its body by gzip."""

    headers: list[tuple[bytes, bytes]]
    body: bytes


class CompressedAssets:
    """ASGI middleware: sends a file that never changes by gzip to whoever accepts it.

    What is not a whole file of that kind passes as it is: ranges, revalidations, errors, and every
    answer without `immutable`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._files: dict[str, CompressedFile] = {}
        self._size = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_whole_asset(scope):
            await self.app(scope, receive, send)
            return
        path = str(scope["path"])
        if (stored := self._files.get(path)) is not None:
            await _send_file(stored, send)
            return
        start: Message = {}
        parts: list[bytes] = []

        async def compress_body(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_compressible(message):
                start = message
                return
            if not start or message["type"] != "http.response.body":
                await send(message)
                return
            parts.append(message.get("body", b""))
            if message.get("more_body"):
                return
            body = await asyncio.to_thread(gzip.compress, b"".join(parts), _LEVEL, mtime=0)
            file = CompressedFile(_list_headers(start, len(body)), body)
            if path not in self._files and self._size + len(body) <= MAX_MEMORY:
                self._files[path] = file
                self._size += len(body)
            await _send_file(file, send)

        await self.app(scope, receive, compress_body)


def _is_whole_asset(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] != "GET" or not _ASSET.search(scope["path"]):
        return False
    if posixpath.normpath(scope["path"]) != scope["path"]:  # other spellings of a name fill memory
        return False
    headers = Headers(scope=scope)
    asks_for_part = any(name in headers for name in ("range", "if-none-match", "if-modified-since"))
    return not asks_for_part and bool(_ACCEPTED.search(headers.get("accept-encoding", "").lower()))


def _is_compressible(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    length = headers.get("content-length", "")
    return (
        start["status"] == 200
        and "immutable" in headers.get("cache-control", "")
        and "content-encoding" not in headers
        and length.isdecimal()
        and int(length) <= MAX_FILE
    )


def _list_headers(start: Message, length: int) -> list[tuple[bytes, bytes]]:
    """Those of the answer; its tag and ranges are of the file as it was."""
    headers = MutableHeaders(raw=list(start["headers"]))
    for name in ("etag", "accept-ranges"):
        del headers[name]
    headers["content-length"] = str(length)
    headers["content-encoding"] = "gzip"
    headers.add_vary_header("Accept-Encoding")
    return headers.raw


async def _send_file(file: CompressedFile, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": list(file.headers)})
    await send({"type": "http.response.body", "body": file.body})
