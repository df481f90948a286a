"""A login that did not work is told to the app; all other answers pass as they are."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from evalcore.web.middleware import FailedLogin

IDENTITY, TOKENS = "_streamlit_user", "_streamlit_user_tokens"


def location(path: str, cookies: dict[str, str], gone: tuple[str, ...] = (), base: str = "") -> str:
    """Where an answer that sets cookies, and takes others away, leads behind the middleware."""

    def answer(request) -> Response:
        made = RedirectResponse(f"{base}/", status_code=302)
        for name, value in cookies.items():
            made.set_cookie(name, value)
        for name in gone:
            made.delete_cookie(name)
        return made

    places = (f"{base}/oauth2callback", f"{base}/auth/logout")
    app = FailedLogin(Starlette(routes=[Route(path, answer) for path in places]))
    return TestClient(app, follow_redirects=False).get(path).headers["location"]


def test_a_login_passes():
    assert location("/oauth2callback?code=c&state=s", {IDENTITY: "signed", TOKENS: "signed"}) == "/"


@pytest.mark.parametrize(
    ("cookies", "gone"),
    [({}, ()), ({}, (IDENTITY, TOKENS)), ({TOKENS: "signed"}, ()), ({"_xsrf": IDENTITY}, ())],
)
def test_no_identity_is_a_failure(cookies, gone):
    assert location("/oauth2callback?code=c&state=s", cookies, gone) == "/?login=failed"
    assert location("/b/oauth2callback?state=s", cookies, gone, base="/b") == "/b/?login=failed"


@pytest.mark.parametrize("path", ["/oauth2callback", "/oauth2callback?status=1", "/auth/logout"])
def test_the_way_back_from_logging_out_is_none(path):
    assert location(path, {}, (IDENTITY,)) == "/"


def test_an_answer_that_leads_nowhere_is_left_alone():
    app = FailedLogin(Starlette())
    answer = TestClient(app).get("/oauth2callback?state=s")
    assert answer.status_code == 404
    assert "location" not in answer.headers
