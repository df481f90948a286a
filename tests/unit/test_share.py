"""Links that are shared: title, words and picture of what they show, and the way on to the app."""

from __future__ import annotations

import re
from io import BytesIO

import pytest
from PIL import Image

from evalcore.access.policy import OPERATOR
from evalcore.charts.pictures import to_drawable_text
from evalcore.target_cards import TargetCard, save_card
from pages.shared.exports import build_share_addresses
from tests.support.api import HOSTILE, client, fill
from tests.support.pages import store as store

PICTURE = "/api/v1/preview.png"


@pytest.fixture
def api(store):
    fill(store)
    return client()


def read_preview(answer):
    """The meta tags of a page by name."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    pattern = r'<meta (?:property|name|http-equiv)="([^"]+)" content="([^"]*)">'
    return dict(re.findall(pattern, answer.text))


def test_a_shared_target_says_score_interval_and_rank(api):
    meta = read_preview(
        api.get("/share/target", params={"key": "openai:strong", "view": "history"})
    )
    row = api.get("/api/v1/ranking").json()["items"][0]
    assert meta["og:title"] == meta["twitter:title"] == "openai:strong"
    text = f"{row['score']:.1f} [{row['low']:.1f}–{row['high']:.1f}] · rank 1"
    assert text in meta["og:description"]
    assert "of 3" in meta["og:description"]
    assert meta["og:image"] == f"http://testserver{PICTURE}?target=openai%3Astrong"
    onward = "0; url=http://testserver/target?key=openai%3Astrong&amp;view=history"
    assert meta["refresh"] == onward


def test_a_shared_board_names_its_leader_and_passes_the_query_on(api):
    meta = read_preview(api.get("/share", params={"suite": "sql", "q": "a b", "lang": "zh"}))
    assert "领先" in meta["og:description"]
    assert meta["refresh"] == "0; url=http://testserver/?suite=sql&amp;q=a+b&amp;lang=zh"


def test_the_form_without_a_path_shares_a_target_too(api):
    meta = read_preview(api.get("/share", params={"page": "target", "key": "openai:middle"}))
    assert meta["og:title"] == "openai:middle"
    assert meta["refresh"].startswith("0; url=http://testserver/?page=target&amp;key=")


def test_what_is_unknown_is_said_kindly(api):
    meta = read_preview(api.get("/share/target", params={"key": "openai:gone", "board": "none"}))
    assert "openai:gone is not on this board." in meta["og:description"]
    assert read_preview(api.get("/share/nothing"))["refresh"] == "0; url=http://testserver/"
    assert (
        read_preview(api.get("/share", params={"suite": "x", "by": "y"}))["og:title"]
        == "SQL · Ranking"
    )


def test_an_empty_store_has_a_page_and_a_picture(store):
    empty = client()
    assert read_preview(empty.get("/share"))["og:description"] == "Nothing has been ranked yet"
    assert empty.get(PICTURE).content.startswith(b"\x89PNG")


def test_hostile_text_is_never_markup(api):
    query = {"key": HOSTILE, "x": '"><script>alert(1)</script>'}
    answer = api.get("/share/target", params=query, headers={"host": 'e"><script>'})
    assert "<script" not in answer.text
    assert "&lt;script&gt;" in answer.text
    assert len(read_preview(api.get("/share", params={"q": "x" * 9000}))["refresh"]) < 3000


def test_a_proxy_that_speaks_tls_is_believed_and_nothing_else(api):
    meta = read_preview(api.get("/share", headers={"x-forwarded-proto": "https"}))
    assert meta["og:image"].startswith("https://testserver/")
    meta = read_preview(api.get("/share", headers={"x-forwarded-proto": "javascript"}))
    assert meta["og:image"].startswith("http://testserver/")


def test_the_same_page_is_not_sent_twice(api, store):
    first = api.get("/share")
    again = api.get("/share", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    save_card(store, OPERATOR, "openai:strong", TargetCard(name="Strong One"))
    renamed = api.get("/share", headers={"if-none-match": first.headers["etag"]})
    assert renamed.status_code == 200
    assert "Strong One leads" in renamed.text


def test_the_picture_has_the_size_of_previews_and_is_kept(api):
    first = api.get(PICTURE, params={"target": "openai:strong"})
    assert first.headers["content-type"] == "image/png"
    with Image.open(BytesIO(first.content)) as picture:
        assert picture.size == (1200, 630)
    tag = {"if-none-match": first.headers["etag"]}
    assert api.get(PICTURE, params={"target": "openai:strong"}, headers=tag).status_code == 304
    board = api.get(PICTURE)
    assert board.content != first.content
    assert api.get(PICTURE, params={"target": "openai:gone"}).content == board.content
    assert api.get(PICTURE, params={"target": HOSTILE}).status_code == 200
    assert api.get(PICTURE, params={"nonsense": "1"}).status_code == 400


@pytest.mark.parametrize(
    ("text", "fallback", "shown"),
    [
        ("GPT · 4", "openai:gpt", "GPT · 4"),
        ("通义", "qwen:max", "qwen:max"),
        ("Café – x", "", "Cafe - x"),
        ("中", "文", "?"),
    ],
)
def test_a_picture_holds_only_letters_that_its_font_has(text, fallback, shown):
    assert to_drawable_text(text, fallback) == shown


def test_the_addresses_of_a_page():
    query = [("key", "a b"), ("kind", "x"), ("kind", "y")]
    asked = "key=a+b&kind=x&kind=y"
    assert build_share_addresses("https://h/app/target", "target", query) == {
        "preview": f"https://h/app/share/target?{asked}",
        "direct": f"https://h/app/target?{asked}",
        "bare": f"https://h/app/?page=target&{asked}",
    }
    site = build_share_addresses("https://h/app/target", "target", query, "https://s/board/")
    assert site["static"].startswith("https://s/board/target.html?")
    zh = build_share_addresses("https://h/", "", [("suite", "sql"), ("lang", "zh")], "https://s/b")
    assert zh["static"] == "https://s/b/zh/open.html?suite=sql"
    assert "static" not in build_share_addresses("https://h/runs", "runs", [], "https://s/b")
    assert "static" not in build_share_addresses("https://h/", "", [], "javascript:alert(1)")
    assert build_share_addresses("http://localhost:8501/", "", []) == {
        "preview": "http://localhost:8501/share",
        "direct": "http://localhost:8501/",
    }
