"""Logging in, in a real browser with a real provider: who gets in, and what is kept of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")
pytest.importorskip("authlib", reason="needs authlib: pip install -e .[auth]")

from playwright.sync_api import expect

from evalcore.store.run_folder import RunFolder
from tests.support.identity_provider import CLIENT, SEALS, SECRET, SPOILT, Provider, provide
from tests.support.server import Served, free_port, serve

RUN_TIME = 120_000  # milliseconds a run of the baseline may take on a busy machine
ADA = {
    "sub": "subject-of-ada",
    "email": "ada@listed.example",
    "email_verified": True,
    "name": "Ada of the list",
}
OUTSIDE = {
    "another address": ADA | {"email": "eve@other.example"},
    "an address not verified": ADA | {"email_verified": False},
}


class Board(NamedTuple):
    """A board with a login, the provider it trusts, and the log of its server."""

    served: Served
    provider: Provider
    log: Path

    @property
    def launch(self) -> str:
        return f"{self.served.url}/launch"


@pytest.fixture(scope="module")
def board(tmp_path_factory) -> Iterator[Board]:
    folder, port = tmp_path_factory.mktemp("board"), free_port()
    with (
        provide(f"http://localhost:{port}/oauth2callback") as provider,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in {
            "EVALBOARD_ACCESS": "oidc",
            "EVALBOARD_ALLOW_EMAILS": ADA["email"],
            "EVALBOARD_ALLOW_ORGANIZATIONS": "our-lab",
            "OPENID_PROVIDER_URL": provider.url,
            "OAUTH_CLIENT_ID": CLIENT,
            "OAUTH_CLIENT_SECRET": SECRET,
            "SPACE_HOST": f"localhost:{port}",
        }.items():
            patch.setenv(name, value)
        with serve(folder, port) as served:
            yield Board(served, provider, folder / "server.log")


def log_in(page, board: Board, account: dict, answer: str = "Go on") -> None:
    """Press the button of the board, then the one of the provider."""
    board.provider.account, board.provider.spoil = account, ""
    page.get_by_role("button", name="Log in").first.click()
    page.get_by_role("link", name=answer).click()


def passes(page, board: Board, start: str, spoil: str = "", answer: str = "allow") -> bool:
    """Whether the way through the provider, without drawing its pages, leads to a login."""
    board.provider.spoil = spoil
    asked = page.request.get(start)
    ended = page.request.get(asked.url.replace("/authorize?", f"/{answer}?"))
    expected = "_streamlit_user" in {cookie["name"] for cookie in page.context.cookies()}
    assert ended.url == f"{board.served.url}/" + ("" if expected else "?login=failed")
    return expected


def outside(page) -> None:
    """Nobody is logged in, and nothing can be started."""
    expect(page.get_by_role("button", name="Log in").first).to_be_visible()
    expect(page.get_by_role("button", name="Log out")).to_have_count(0)


def collect_identities(board: Board) -> dict[str, list[str]]:
    """The files of the data folder and the log that hold something that belongs into neither."""
    private = [SECRET, *board.provider.issued, ADA["email"], ADA["name"], ADA["sub"], "eve@other"]
    files = [path for path in board.served.data.rglob("*") if path.is_file()]
    results = {}
    for path in (*files, board.log):
        held = path.read_bytes()
        results[path.name] = [secret for secret in private if secret.encode() in held]
    return {name: secrets for name, secrets in results.items() if secrets}


@pytest.mark.full
def test_somebody_on_the_list_launches_and_leaves(board, page):
    begun = f"{board.launch}?benchmark=sql_understanding"
    page.goto(begun)
    page.get_by_text("Runs cannot be started here").wait_for()
    assert page.get_by_role("button", name="Start").count() == 0
    log_in(page, board, ADA)
    expect(page.get_by_text(ADA["name"])).to_be_visible()
    expect(page.get_by_role("heading", name="Launch an evaluation")).to_be_visible()
    assert page.url.startswith(begun), "back where the login was begun"
    most = page.get_by_role("spinbutton", name="Case limit")
    most.fill("2")
    most.press("Enter")
    page.get_by_text("At most 2 cases").wait_for()
    page.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile(r"/runs\?run=[0-9]{8}-"), timeout=RUN_TIME)
    expect(page.locator(".stMarkdownBadge", has_text="Done")).to_be_visible(timeout=RUN_TIME)
    spec = RunFolder(board.served.data / "runs" / page.url.partition("run=")[2]).read_spec()
    assert spec.access == "oidc"
    assert re.fullmatch("[0-9a-f]{16}", spec.started_by)
    page.get_by_role("button", name="Delete").wait_for()

    there = page.url
    page.get_by_role("button", name="Log out").click()
    outside(page)
    page.goto(there)
    expect(page.locator(".stMarkdownBadge", has_text="Done")).to_be_visible()
    assert page.get_by_role("button", name="Delete").count() == 0
    page.goto(board.launch)
    page.get_by_text("Runs cannot be started here").wait_for()
    assert collect_identities(board) == {}


@pytest.mark.full
@pytest.mark.parametrize("who", OUTSIDE)
def test_others_are_told_that_they_are_not_on_the_list(board, page, who):
    page.goto(board.launch)
    log_in(page, board, OUTSIDE[who])
    expect(page.get_by_text("may not do that here").first).to_be_visible()
    page.get_by_role("link", name="Launch").first.click()
    page.get_by_text("Runs cannot be started here").wait_for()
    expect(page.get_by_text("may not do that here")).to_have_count(2)
    assert page.get_by_role("button", name="Start").count() == 0
    page.get_by_role("button", name="Log out").click()
    outside(page)


@pytest.mark.full
def test_a_token_that_does_not_hold_logs_nobody_in(board, page):
    page.goto(board.served.url)
    board.provider.account = ADA
    with page.expect_request("**/auth/login?*") as pressed:
        page.get_by_role("button", name="Log in").first.click()
    page.get_by_role("link", name="Go on").wait_for()
    for spoil in (*SPOILT, *SEALS):
        assert not passes(page, board, pressed.value.url, spoil), spoil
    page.goto(board.served.url)
    log_in(page, board, ADA, answer="Refuse")
    page.get_by_text("Login failed.").wait_for()
    page.wait_for_url(f"{board.served.url}/")
    outside(page)
    assert passes(page, board, pressed.value.url), "and the same with a token that holds"
    assert collect_identities(board) == {}


@pytest.mark.full
def test_neither_the_way_back_of_another_browser_nor_a_made_up_cookie_logs_in(board, page):
    code = board.provider.code({"nonce": "n", "code_challenge": "c"})
    page.goto(f"{board.served.url}/oauth2callback?code={code}&state=of-another-browser")
    outside(page)
    claims = '{"is_logged_in": true, "email": "ada@listed.example", "email_verified": true}'
    page.context.add_cookies(
        [{"name": "_streamlit_user", "value": claims, "url": board.served.url}]
    )
    page.goto(board.launch)
    outside(page)
    page.get_by_text("Runs cannot be started here").wait_for()
