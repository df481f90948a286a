"""Security headers on every answer of the server, the app shell and the API alike.

The content security policy is the second wall behind escaping: even if text of a model were ever
drawn as Markdown, no image, font or script of a foreign server could be loaded. Streamlit needs
inline styles and scripts, and Vega compiles its expressions with `eval`.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evalcore import settings
from evalcore.errors import UsageError

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
            raise UsageError(
                f"setting frame_ancestors (EVALBOARD_FRAME_ANCESTORS) holds {origin!r}; write "
                "origins such as https://example.org or https://*.example.org"
            )
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
