"""Visitors of a page: sessions over the websocket without a browser, and Chromium for what is seen.

A session sends what a browser sends to have a page drawn anew and reads all that comes back.
"""

from __future__ import annotations

import asyncio
import time
from typing import NamedTuple

from perf.page_server import Server

_PATIENCE = 300.0  # seconds
CHROMIUM = "/usr/bin/chromium"
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


class Drawn(NamedTuple):
    """A page drawn `len(cpu)` times in a warm session: milliseconds of the server's processor and
    of the clock each, and the bytes sent the last time."""

    cpu: list[float]
    wall: list[float]
    size: int


def reruns(server: Server, page: str, query: str, repeats: int) -> Drawn:
    """Draw a page again and again in one session; the first two times do not count."""
    return asyncio.run(_reruns(server, page, query, repeats))


async def _reruns(server: Server, page: str, query: str, repeats: int) -> Drawn:
    drawn = Drawn([], [], 0)
    async with _session(server) as socket:
        for number in range(repeats + 2):
            before, begun = server.settled_cpu(), time.perf_counter()
            size = await _draw(socket, page, query)
            wall = time.perf_counter() - begun
            cpu = server.settled_cpu() - before
            if number > 1:
                drawn.cpu.append(1000 * cpu)
                drawn.wall.append(1000 * wall)
                drawn = drawn._replace(size=size)
    return drawn


def first_loads(server: Server, page: str, query: str, visitors: int) -> list[float]:
    """Seconds until each of some visitors who come at the same moment has the whole page."""

    async def visit() -> float:
        begun = time.perf_counter()
        async with _session(server) as socket:
            await _draw(socket, page, query)
        return time.perf_counter() - begun

    async def visits() -> list[float]:
        return list(await asyncio.gather(*(visit() for _ in range(visitors))))

    return sorted(asyncio.run(visits()))


def visible(server: Server, address: str, selector: str, repeats: int) -> list[float]:
    """Seconds from a reload in a warm browser until what `selector` names is seen."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS)
        try:
            tab = browser.new_page(viewport={"width": 1440, "height": 900}, locale="en-US")
            tab.set_default_timeout(1000 * _PATIENCE)
            seconds = []
            for number in range(repeats + 2):
                begun = time.perf_counter()
                tab.goto(f"{server.url}/{address}", wait_until="commit")
                tab.locator(selector).first.wait_for(state="visible")
                if number > 1:
                    seconds.append(time.perf_counter() - begun)
        finally:
            browser.close()
    return seconds


def _session(server: Server):  # type: ignore[no-untyped-def]  # the library's own context manager
    from websockets.asyncio.client import connect

    address = f"ws://localhost:{server.port}/_stcore/stream"
    return connect(address, subprotocols=["streamlit"], max_size=None, proxy=None)


async def _draw(socket, page: str, query: str) -> int:  # type: ignore[no-untyped-def]
    """Have a page drawn and read it to its end; the bytes that came. An exception on it raises."""
    from streamlit.proto.BackMsg_pb2 import BackMsg
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

    wish = BackMsg()
    wish.rerun_script.page_name, wish.rerun_script.query_string = page, query
    await socket.send(wish.SerializeToString())
    size = 0
    while True:
        content = await asyncio.wait_for(socket.recv(), _PATIENCE)
        size += len(content)
        message = ForwardMsg()
        message.ParseFromString(content)
        if message.HasField("delta") and message.delta.new_element.HasField("exception"):
            raise RuntimeError(f"page {page!r}: {message.delta.new_element.exception.message}")
        if message.WhichOneof("type") == "script_finished":
            return size
