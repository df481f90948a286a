"""A visitor of a running server without a browser: Streamlit's websocket, and its upload route."""

from __future__ import annotations

import urllib.request
from typing import Any, Self
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

BOUNDARY = "----evalboard"


class AppSession:
    """One connected session; `id` is the name under which its files are uploaded."""

    def __init__(self, url: str, *, origin: str = "", headers: dict[str, str] | None = None):
        self.url, self.host = url, urlsplit(url).netloc
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=180) as answer:
            cookie = answer.headers["set-cookie"].partition(";")[0]
        self.cookie, self.token = cookie, cookie.partition("=")[2]
        self.socket = connect(
            f"ws://{self.host}/_stcore/stream",
            subprotocols=["streamlit", self.token],
            origin=origin or url,
            additional_headers={"Cookie": cookie, **(headers or {})},
            max_size=None,
            open_timeout=30,
            legacy=True,
        )
        self.id = ""

    def open(self, page: str = "", query: str = "") -> list[Any]:
        """Run the script as the browser does at a page's address; returns all messages of it."""
        message = BackMsg()
        message.rerun_script.query_string = query
        message.rerun_script.page_name = page
        self.socket.send(message.SerializeToString())
        messages = []
        while True:
            forward_msg = ForwardMsg()
            forward_msg.ParseFromString(self.socket.recv(timeout=180))
            messages.append(forward_msg)
            if forward_msg.WhichOneof("type") == "new_session":
                self.id = forward_msg.new_session.initialize.session_id or self.id
            if forward_msg.WhichOneof("type") == "script_finished":
                return messages

    def head(self, file: str, length: int | None, session: str = "", method: str = "PUT") -> bytes:
        """The head of an upload; `length` None is a body in chunks of unknown length."""
        size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
        return (
            f"{method} /_stcore/upload_file/{session or self.id}/{file} HTTP/1.1\r\n"
            f"Host: {self.host}\r\nCookie: {self.cookie}\r\nX-Xsrftoken: {self.token}\r\n"
            f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n{size}\r\n\r\n"
        ).encode()

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()


def form(content: bytes, name: str = "cases.jsonl") -> bytes:
    """The body of an upload of one file."""
    before = (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    return before.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()
