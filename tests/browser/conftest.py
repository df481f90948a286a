"""A real server with an empty data folder, and a real Chromium that complains of every error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.full_board import LOCALES, open_tab
from tests.support.server import Served, serve

CHROMIUM = "/usr/bin/chromium"
PATIENCE = 30_000  # milliseconds
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
def served(tmp_path: Path) -> Iterator[Served]:
    """A server that has had no visitor yet."""
    with serve(tmp_path) as started:
        yield started


@pytest.fixture(scope="module")
def chromium():
    """One browser for a file's tests.

    Not for the whole session: while it lives, Playwright keeps an event loop running in this
    thread, and a later test could start none of its own.
    """
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is absent; install it with: apt-get install chromium")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)  # Playwright's own 5 s are too few on a busy machine
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def tabs(chromium):
    """A tab a language for a file's tests: a browser that was here before draws a page sooner."""
    with ExitStack() as opened:
        yield {language: opened.enter_context(open_tab(chromium, language)) for language in LOCALES}


@pytest.fixture
def page(chromium):
    """A page that fails its test on an error in the console or a request to another host."""
    with watched(chromium) as tab:
        yield tab


@pytest.fixture(scope="module")
def lasting_page(chromium):
    """The same for all tests of a file: what there was to complain of is told with the last."""
    with watched(chromium) as tab:
        yield tab


@contextmanager
def watched(chromium):
    context = chromium.new_context(locale="en-US", viewport={"width": 1440, "height": 1400})
    tab = context.new_page()
    tab.set_default_timeout(PATIENCE)
    complaints: list[str] = []

    def refused(response) -> None:
        if response.status >= 400 and not response.url.endswith(EXPECTED_404):
            complaints.append(f"{response.status} {response.url}")

    def said(message) -> None:
        if message.type == "error" and not any(known in message.text for known in EXPECTED_TEXT):
            complaints.append(message.text)

    def asked(request) -> None:
        if not request.url.startswith(("http://localhost:", "data:", "blob:")):
            complaints.append(f"foreign request to {request.url}")

    tab.on("response", refused)
    tab.on("console", said)
    tab.on("request", asked)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    yield tab
    context.close()
    assert complaints == []
