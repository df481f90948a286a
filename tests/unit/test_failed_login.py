"""A login leads back to its page, and one that did not work is told to the app; all other answers
pass as they are."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from starlette.applications import Starlette
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from evalcore.web.middleware import LoginReturn

BOARD = "https://board.example"
IDENTITY, TOKENS = "_streamlit_user", "_streamlit_user_tokens"


def location(
    path: str, cookies: dict[str, str], gone: tuple[str, ...] = (), base: str = "", page: str = ""
) -> str:
    """Where an answer that sets cookies, and takes others away, leads behind the middleware; with
    `page` after a login that was begun there."""

    def answer(request) -> Response:
        made = RedirectResponse(f"{base}/", status_code=302)
        for name, value in cookies.items():
            made.set_cookie(name, value)
        for name in gone:
            made.delete_cookie(name)
        return made

    places = (f"{base}/oauth2callback", f"{base}/auth/login", f"{base}/auth/logout")
    app = LoginReturn(Starlette(routes=[Route(path, answer) for path in places]))
    browser = TestClient(app, base_url=BOARD, follow_redirects=False)
    if page:
        browser.get(f"{base}/auth/login?provider=p", headers={"Referer": page})
    return browser.get(path).headers["location"]


def test_a_login_passes():
    assert location("/oauth2callback?code=c&state=s", {IDENTITY: "signed", TOKENS: "signed"}) == "/"


@pytest.mark.parametrize(
    ("cookies", "gone"),
    [({}, ()), ({}, (IDENTITY, TOKENS)), ({TOKENS: "signed"}, ()), ({"_xsrf": IDENTITY}, ())],
)
def test_no_identity_is_a_failure(cookies, gone):
    assert location("/oauth2callback?code=c&state=s", cookies, gone) == "/?login=failed"
    assert location("/b/oauth2callback?state=s", cookies, gone, base="/b") == "/b/?login=failed"


BACK = "/oauth2callback?code=c&state=s"


@pytest.mark.parametrize(
    "page",
    [
        "/",
        "/launch",
        "/runs?run=20261101-100000-aaaaaa&lang=zh",
        "/target?key=a%2Fb&x=//evil.example",
    ],
)
def test_a_login_leads_back_to_the_page_it_was_begun_on(page):
    assert location(BACK, {IDENTITY: "signed"}, page=BOARD + page) == page
    failed = location(BACK, {}, page=BOARD + page)
    assert failed == f"{page}{'&' if '?' in page else '?'}login=failed"
    based = location(f"/b{BACK}", {IDENTITY: "signed"}, base="/b", page=f"{BOARD}/b{page}")
    assert based == f"/b{page}"


@pytest.mark.parametrize(
    "page",
    [
        *("https://evil.example/launch", "https://board.example.evil.example/launch"),
        *("https://user@board.example/launch", "http://board.example:81/launch"),
        *(f"{BOARD}//evil.example", f"{BOARD}/\\evil.example", f"{BOARD}/evil.example/x"),
        *(
            f"{BOARD}/launch?a=%0d%0a b",
            f"{BOARD}/launch?{'a' * 2000}",
            "nonsense",
            f"{BOARD}/%2f%2fx",
        ),
    ],
)
def test_a_login_leads_to_no_other_address(page):
    assert location(BACK, {IDENTITY: "signed"}, page=page) == "/"


@pytest.mark.parametrize(
    "page", ["https://evil.example", "//evil.example", "/x\r\nSet-Cookie: a=b"]
)
def test_a_cookie_of_another_leads_to_no_other_address(page):
    app = LoginReturn(Starlette(routes=[Route("/oauth2callback", lambda _: RedirectResponse("/"))]))
    browser = TestClient(app, base_url=BOARD, follow_redirects=False)
    cookie = f"evalboard_return={quote(page, safe='')}"
    assert browser.get(BACK, headers={"Cookie": cookie}).headers["location"] == "/?login=failed"


@pytest.mark.parametrize("path", ["/oauth2callback", "/oauth2callback?status=1", "/auth/logout"])
def test_the_way_back_from_logging_out_is_none(path):
    assert location(path, {}, (IDENTITY,)) == "/"


def test_an_answer_that_leads_nowhere_is_left_alone():
    app = LoginReturn(Starlette())
    answer = TestClient(app).get("/oauth2callback?state=s")
    assert answer.status_code == 404
    assert "location" not in answer.headers
