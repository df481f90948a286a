"""Asking servers as a visitor would have us ask them, and a server that counts who reaches it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from evalcore.access import login, policy
from evalcore.access.policy import Visitor
from evalcore.access.secrets import Secrets
from evalcore.records import GenerationRequest, Message, TargetSpec
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Settings
from evalcore.targets import registry
from evalcore.targets.application import ServiceRequest, ServiceSession

INSIDE = Visitor(proved=True)
KEY = "sk-0123456789abcdef0123"
ASKED = GenerationRequest(messages=(Message(role="user", content="hello"),))


class Counter:
    """A server on the loopback that counts connections; `answer` is sent to each."""

    def __init__(self, answer: bytes) -> None:
        self.answer, self.reached = answer, 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.reached += 1
            with connection:
                connection.recv(65536)
                connection.sendall(self.answer)


@contextmanager
def counter(answer: bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}") -> Iterator[Counter]:
    made = Counter(answer)
    try:
        yield made
    finally:
        made.socket.close()


def bound_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings of a passcode board that allow one host."""
    monkeypatch.setenv(login.VARIABLE, "correct horse battery")
    monkeypatch.setattr(policy, "_is_local_server", None)
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    return Settings(
        access="passcode",
        allow_endpoints=("allowed.example", "allowed.example:443"),
        allow_applications=("sqlflash",),
        data=str(folder / "data"),
        shipped=str(folder / "none"),
        request_timeout=5.0,
        run_budget=0.0,
    )


def listing(settings: Settings, *hosts: str) -> Settings:
    """The same settings, with these hosts alone allowed."""
    return msgspec.structs.replace(settings, allow_endpoints=hosts)


def to(address: str) -> RunRequest:
    """A request to a server by its address."""
    return RunRequest(
        target="openai:x", target_options={"base_url": address}, benchmarks=("sql_understanding",)
    )


async def ask(spec: TargetSpec, settings: Settings) -> None:
    """One question to a target, as the worker puts it."""
    target = registry.create_target(spec, settings, Secrets({"OPENAI_API_KEY": KEY}))
    await target.open(lambda line: None)
    try:
        await target.generate(ASKED)
    finally:
        await target.close()


async def sent(wire: ServiceSession, outgoing: ServiceRequest) -> None:
    """One request over a wire, which is closed behind it."""
    try:
        await wire.send_request(outgoing)
    finally:
        await wire.close()
