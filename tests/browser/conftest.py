"""Real servers and a real Chromium that complains of every error, shared by all tests here."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.full_board import open_tab, serve_board
from tests.support.server import ROOT, Served, serve

CHROMIUM = "/usr/bin/chromium"
PATIENCE = 180_000  # milliseconds
SIZE = {"width": 1440, "height": 1400}
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
#: Streamlit asks for these beside a deep link before it finds its base path: known and harmless.
EXPECTED_404 = ("/_stcore/health", "/_stcore/host-config")
#: What the console says of these, and of a path that names no page.
EXPECTED_TEXT = ("404 (Not Found)", "The page that you have requested does not seem to exist")


@pytest.fixture
def fresh_server(tmp_path: Path) -> Iterator[Served]:
    """A server that has had no visitor yet."""
    with serve(tmp_path) as started:
        yield started


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture
def served(server: Served) -> Served:
    """A server over an empty store; it has served other stores before."""
    shutil.rmtree(server.data)
    (server.data / "runs").mkdir(parents=True)
    return server


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests here.

    While it lives, Playwright keeps an event loop running in this thread, and a later test could
    start none of its own: tests with a browser come last, see `tests/conftest.py`.
    """
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is absent; install it with: apt-get install chromium")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)  # Playwright's own 5 s are too few on a busy machine
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def tabs(chromium) -> Iterator[Callable[..., Any]]:
    """`tabs(language, width, height)`: the same tab whenever the same is asked for, as a browser
    that was here before draws a page sooner."""
    with ExitStack() as stack:
        yield cache(lambda *size: stack.enter_context(open_tab(chromium, *size)))


@pytest.fixture(scope="session")
def full_board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server over a board with everything on it, which tests only look at."""
    with serve_board(tmp_path_factory.mktemp("full-board")) as started:
        yield started


@pytest.fixture(scope="session")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server over the runs and the publications that come with the project."""
    with serve(tmp_path_factory.mktemp("shipped"), shipped=ROOT / "data" / "shipped") as started:
        yield started


@pytest.fixture
def page(tabs):
    """A page that fails its test on an error in the console or a request to another host.

    The same tab for all tests: a tab that is new has to compile the scripts of a page again, which
    takes longer than most tests.
    """
    tab = tabs("en")
    tab.context.clear_cookies()
    tab.set_viewport_size(SIZE)
    tab.emulate_media(media="screen", color_scheme="light")
    complaints: list[str] = []

    def refused(response) -> None:
        if response.status >= 400 and not response.url.endswith(EXPECTED_404):
            complaints.append(f"{response.status} {response.url}")

    def log_message(message) -> None:
        if message.type == "error" and not any(
            expected in message.text for expected in EXPECTED_TEXT
        ):
            complaints.append(message.text)

    def asked(request) -> None:
        if not request.url.startswith(("http://localhost:", "data:", "blob:")):
            complaints.append(f"foreign request to {request.url}")

    watches = {
        "response": refused,
        "console": log_message,
        "request": asked,
        "pageerror": lambda error: complaints.append(str(error)),
    }
    for event, watch in watches.items():
        tab.on(event, watch)
    yield tab
    tab.goto("about:blank")  # else it looks for a server that has ended
    for event, watch in watches.items():
        tab.remove_listener(event, watch)
    assert complaints == []
