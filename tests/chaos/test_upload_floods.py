"""Uploads against a real server: what a visitor who may hand in nothing can make it hold."""

from __future__ import annotations

import json
import socket
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from websockets.exceptions import InvalidStatus

from tests.support.app_session import AppSession, form
from tests.support.server import serve

SIZE = 49 << 20


def status_of(url: str, head: bytes, body: bytes) -> int:
    """The status that an upload gets, 0 where the server closes the connection instead."""
    target = urlsplit(url)
    with socket.create_connection((target.hostname, target.port), timeout=60) as link:
        try:
            link.sendall(head)
            for start in range(0, len(body), 1 << 20):
                link.sendall(body[start : start + (1 << 20)])
        except OSError:
            pass  # it answered before it had everything
        try:
            answer = link.recv(64)
        except OSError:
            return 0
    return int(answer.split()[1]) if answer else 0


def memory_of(process: psutil.Process) -> int:
    """Resident bytes of the server and its children."""
    return sum(item.memory_info().rss for item in (process, *process.children(recursive=True)))


def peak_of(process: psutil.Process) -> int:
    """The most resident bytes that the server had since it started."""
    lines = Path(f"/proc/{process.pid}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))


@pytest.fixture
def server_process(monkeypatch):
    """The server that the test starts, found as the listener of its port."""

    def process_of(url: str) -> psutil.Process:
        port = urlsplit(url).port
        for child in psutil.Process().children(recursive=True):
            if any(link.laddr.port == port for link in child.net_connections("tcp")):
                return child
        raise AssertionError("no process listens there")

    return process_of


@pytest.mark.full
@pytest.mark.parametrize("uploads", [24, pytest.param(100, marks=pytest.mark.full)])
def test_uploads_cost_a_read_only_board_no_memory(tmp_path, monkeypatch, server_process, uploads):
    """Thirty grew a server sevenfold while the upload route took what anybody sent."""
    monkeypatch.setenv("EVALBOARD_ACCESS", "read-only")
    body = form(b"x" * SIZE)
    with serve(tmp_path) as served, AppSession(served.url) as visitor:
        for page in ("", "datasets", "runs"):
            visitor.open(page, "view=add")
        process = server_process(served.url)
        idle = max(memory_of(process), peak_of(process))

        def upload(number: int) -> int:
            length = len(body) if number % 2 else None
            head = visitor.head(f"file-{number}", length)
            in_chunks = b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"
            return status_of(served.url, head, body if length else in_chunks)

        with ThreadPoolExecutor(4) as threads:
            statuses = set(threads.map(upload, range(uploads)))
        assert statuses <= {0, 403}
        assert max(memory_of(process), peak_of(process)) <= 1.3 * idle
        assert visitor.open("datasets")


def test_a_session_on_a_page_with_an_uploader_uploads_and_loses_it_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALBOARD_ACCESS", "open")
    body = form(b'{"id": 1}\n')
    with serve(tmp_path) as served, AppSession(served.url) as visitor:

        def upload(**more) -> int:
            return status_of(served.url, visitor.head("f", len(body), **more), body)

        visitor.open()
        assert upload() == 403, "the ranking has no uploader"
        visitor.open("datasets", "view=add")
        assert upload() == 204
        assert upload(session="somebody-else") == 403
        visitor.open("methodology")
        assert upload() == 403


@pytest.mark.full
def test_what_a_session_holds_is_bounded(tmp_path, monkeypatch, server_process):
    monkeypatch.setenv("EVALBOARD_ACCESS", "open")
    body = form(b"x" * SIZE)
    with serve(tmp_path) as served, AppSession(served.url) as visitor:
        visitor.open("datasets", "view=add")
        process = server_process(served.url)
        before = memory_of(process)
        for number in range(12):
            head = visitor.head(f"file-{number}", len(body))
            assert status_of(served.url, head, body) == 204
        assert memory_of(process) - before < 5 * SIZE


def test_a_page_of_another_origin_opens_no_session(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALBOARD_ACCESS", "read-only")
    with serve(tmp_path) as served:
        for origin in ("http://evil.example", "http://localhost:9", "null"):
            with pytest.raises(InvalidStatus, match="403"):
                AppSession(served.url, origin=origin)
        log = (tmp_path / "server.log").read_text()
        assert "external IP" not in log, "it asks no foreign server either"
        with urllib.request.urlopen(f"{served.url}/_stcore/host-config", timeout=60) as answer:
            assert json.load(answer)["allowedOrigins"] == []


def test_the_wall_stands_under_a_server_of_another_kind_too(tmp_path, monkeypatch):
    """`uvicorn app:app` serves the same app, with settings of its own for websockets."""
    monkeypatch.setenv("EVALBOARD_ACCESS", "read-only")
    body = form(b"x" * 1000)
    with serve(tmp_path, program="uvicorn") as served, AppSession(served.url) as visitor:
        visitor.open("datasets", "view=add")
        assert status_of(served.url, visitor.head("f", len(body)), body) == 403


@pytest.mark.full
def test_the_files_of_a_session_leave_memory_with_it(tmp_path, monkeypatch, server_process):
    monkeypatch.setenv("EVALBOARD_ACCESS", "open")
    body = form(b"x" * SIZE)
    with serve(tmp_path, program="impatient") as served:
        process = server_process(served.url)
        with AppSession(served.url) as visitor:
            visitor.open("datasets", "view=add")
            before = memory_of(process)
            for number in range(2):
                head = visitor.head(f"file-{number}", len(body))
                assert status_of(served.url, head, body) == 204
            assert memory_of(process) - before > SIZE
        until = time.monotonic() + 180
        while memory_of(process) - before > SIZE // 2 and time.monotonic() < until:
            time.sleep(0.5)
        assert memory_of(process) - before <= SIZE // 2
