"""The door of a board in a real browser: shut, opened by the passcode, and shut for the next."""

from __future__ import annotations

import pytest

from tests.support.server import serve

CODE = "correct horse battery"


@pytest.fixture
def board(tmp_path, monkeypatch):
    """A board with a passcode."""
    monkeypatch.setenv("EVALBOARD_ACCESS", "passcode")
    monkeypatch.setenv("EVALBOARD_PASSCODE", CODE)
    with serve(tmp_path) as started:
        yield started


def test_the_passcode_opens_the_launcher_of_this_tab(board, page):
    page.goto(f"{board.url}/launch")
    page.get_by_text("Runs cannot be started here").wait_for()
    assert page.get_by_role("button", name="Start").count() == 0
    page.get_by_text("Passcode", exact=True).first.click()
    page.get_by_label("Passcode of this board").fill("not the one")
    page.get_by_role("button", name="Unlock").click()
    page.get_by_text("Wrong passcode.").wait_for()
    page.get_by_label("Passcode of this board").fill(CODE)
    page.get_by_role("button", name="Unlock").click()
    page.get_by_text("Kind of target").first.wait_for()
    page.get_by_text("You can launch runs here.").wait_for()
    assert CODE.replace(" ", "") not in page.url.replace("%20", "").replace("+", "")
    page.reload()
    page.get_by_text("Runs cannot be started here").wait_for()


def test_a_server_on_all_addresses_reads_only_until_it_is_told(tmp_path, page, monkeypatch):
    monkeypatch.delenv("EVALBOARD_ACCESS", raising=False)
    monkeypatch.setenv("STREAMLIT_SERVER_ADDRESS", "0.0.0.0")
    with serve(tmp_path) as started:
        page.goto(f"{started.url}/launch")
        page.get_by_text("Runs cannot be started here").wait_for()
        assert page.get_by_role("link", name="Launch").count() == 0
