"""Tells the app of a login that did not work: Streamlit leads back to the board without a word.

The provider sends a visitor to `/oauth2callback`, which sends him on to the board, with a cookie
that says who he is. Where there is no such cookie, the address of the board says so. The way back
from logging out is the same, but holds no `state`.
"""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evalcore import login

_IDENTITY = "_streamlit_user="
_EMPTY = (_IDENTITY + '""', _IDENTITY + ";")


class FailedLogin:
    """ASGI middleware that adds `?login=failed` to the way back of a login without an identity."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].endswith(login.CALLBACK):
            await self.app(scope, receive, send)
            return
        of_a_login = b"state" in parse_qs(scope["query_string"], keep_blank_values=True)

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start" and of_a_login:
                mark_failed_login(MutableHeaders(scope=message))
            await send(message)

        await self.app(scope, receive, send_on)


def mark_failed_login(headers: MutableHeaders) -> None:
    """Change where an answer leads, if it leads anywhere and brings no identity."""
    location, cookies = headers.get("location"), headers.getlist("set-cookie")
    has_identity = any(
        cookie.startswith(_IDENTITY) and not cookie.startswith(_EMPTY) for cookie in cookies
    )
    if location and not has_identity:
        headers["location"] = f"{location}?{login.RESULT}={login.FAILED}"
