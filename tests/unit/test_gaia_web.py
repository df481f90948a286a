"""Searching and visiting the web: what is refused before a connection, and what a model gets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from ipaddress import ip_address

import msgspec
import pytest

from evalcore.access.secrets import Secrets
from evalcore.benchmarks import http_client
from evalcore.benchmarks.gaia.attachments import ReadRequest
from evalcore.benchmarks.gaia.tools import ToolError, web_tools
from evalcore.benchmarks.gaia.tools.toolset import Toolset
from evalcore.benchmarks.http_client import (
    Address,
    HttpRequest,
    Unreachable,
    checked_addresses,
    is_public,
    send_http_request,
)
from evalcore.errors import EnvironmentFailure, UsageError
from tests.support import gaia_files
from tests.support.gaia_web import Web, serve

pytestmark = pytest.mark.slow

OWN = """
    127.0.0.1 127.9.9.9 0.0.0.0 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1
    192.0.2.1 198.18.0.1 224.0.0.1 240.0.0.1 255.255.255.255 :: ::1 fe80::1 fc00::1 ff02::1
    ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 2002:7f00:1:: 2002:a00:1::
    ::127.0.0.1 2001:db8::1 fec0::1 64:ff9b:1::7f00:1 2001:0:808:808::80ff:fffe
"""
OPEN = "93.184.216.34 8.8.8.8 2606:4700::1111 64:ff9b::808:808"
KEY = "tvly-0123456789abcdef"


@pytest.fixture
def site() -> Iterator[Web]:
    with serve() as result:
        yield result


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in web_tools.PROVIDERS:
        monkeypatch.delenv(provider.variable, raising=False)


def first_loopback(address: Address) -> bool:
    """Stands for "public" in tests: of all addresses only 127.0.0.1."""
    return str(address) == "127.0.0.1"


def visited(url: str, **asked: str) -> str:
    return web_tools.visit_page(url, ReadRequest(**asked), allowed=first_loopback)  # type: ignore[arg-type]


@pytest.mark.parametrize("address", OWN.split())
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", OPEN.split())
def test_addresses_that_are_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost/",
        "http://localhost.:8080/",
        "http://127.1/",
        "http://0x7f000001/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[fe80::1%25lo]/",
        "http://169.254.169.254/latest/meta-data/",
        "http://0/",
        "https://10.0.0.1/",
    ],
)
def test_own_and_private_hosts_are_never_visited(url: str) -> None:
    with pytest.raises(ToolError):
        web_tools.visit_page(url, ReadRequest())


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.org/",
        "gopher://127.0.0.1:6379/_x",
        "data:text/html,x",
        "javascript:alert(1)",
        "http://",
        "http:///x",
        "//example.org",
        "example.org",
        "",
        "http://user:word@example.org/",
        "http://exa mple.org/",
        "http://[::1",
        "http://example.org:99999/",
        "http://" + "a" * 3000 + ".org/",
        "http://\u0000.org/",
        "http://" + "ü" * 300 + ".org/",
    ],
)
def test_what_is_no_address_of_a_page(url: str) -> None:
    with pytest.raises(ToolError):
        web_tools.visit_page(url, ReadRequest(), resolve=lambda host, port: [])


def test_a_public_name_that_resolves_to_the_loopback_is_refused() -> None:
    for result in (
        ["127.0.0.1"],
        ["93.184.216.34", "127.0.0.1"],
        ["::ffff:10.0.0.1"],
        ["fe80::1%2"],
    ):
        with pytest.raises(ToolError, match="is not public"):
            checked_addresses("example.org", 80, is_public, lambda host, port, f=result: f)


def test_a_name_is_looked_up_once_and_that_address_is_used(site: Web) -> None:
    """A second look-up may give another address than the one that was checked."""
    url = site.put("/", "<p>hello", content_type="text/html").replace("127.0.0.1", "rebind.example")
    answers = [["127.0.0.1"], ["127.0.0.2"]]
    text = web_tools.visit_page(
        url, ReadRequest(), allowed=first_loopback, resolve=lambda host, port: answers.pop(0)
    )
    assert "hello" in text
    assert len(answers) == 1
    assert site.seen[0][1]["Host"] == f"rebind.example:{site.port}"


def test_every_redirect_is_checked(site: Web) -> None:
    there = f"http://127.0.0.2:{site.port}/secret"
    site.put("/secret", "secret")
    site.put("/away", "", 302, location=there)
    site.put("/file", "", 302, location="file:///etc/passwd")
    with pytest.raises(ToolError, match="is not public"):
        visited(f"{site.base}/away")
    with pytest.raises(ToolError, match="only addresses beginning with http"):
        visited(f"{site.base}/file")
    assert [path for path, _, _ in site.seen] == ["/away", "/file"]


def test_redirects_are_followed_some_times(site: Web) -> None:
    site.put("/a", "", 301, location="b?x=1")
    site.put("/b", "<p>end of the way", content_type="text/html")
    text = visited(f"{site.base}/a")
    assert text.startswith(f"[{site.base}/b?x=1]\n")
    assert "end of the way" in text
    site.put("/round", "", 302, location="/round")
    with pytest.raises(ToolError, match="more than 5 redirects"):
        visited(f"{site.base}/round")


def test_a_page_is_read_by_its_kind(site: Web) -> None:
    page = site.put(
        "/page", '<h1>Head</h1><a href="/next">go</a>', content_type="text/html; charset=utf-8"
    )
    text = visited(page)
    assert "# Head" in text
    assert f"go ({site.base}/next)" in text
    paper = site.put("/paper", gaia_files.pdf(), content_type="application/pdf")
    assert "Third page" in visited(paper, pages="3")
    table = site.put("/table.csv", "a,b\n1,2\n", content_type="text/plain")
    assert "2 rows" in visited(table)
    assert "bare words" in visited(site.put("/words", "bare words"))
    assert "[web page" in visited(site.put("/unnamed", "<p>x"))
    with pytest.raises(ToolError, match="status 404"):
        visited(f"{site.base}/none")


def test_a_page_in_parts(site: Web) -> None:
    body = "".join(f"<p>line {number}</p>" for number in range(1, 501))
    url = site.put("/long", body, content_type="text/html")
    assert 'read on with "range"' in web_tools.visit_page(
        url, ReadRequest(limit=1000), allowed=first_loopback
    )
    assert "line 400\nline 401\n[lines 400-401 of 500]" in visited(url, range="400-401")


def test_large_slow_and_packed_pages_end(site: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolError, match="more than 5000000 bytes"):
        visited(site.put("/large", b"x" * 6_000_000))
    assert "packed words" in visited(site.put_packed("/packed", b"<p>packed words"))
    with pytest.raises(ToolError, match="more than 5000000 bytes"):
        visited(site.put_packed("/bomb", bytes(300_000_000)))
    with pytest.raises(ToolError, match="packed by br"):
        visited(site.put("/br", b"x", content_encoding="br"))
    with pytest.raises(ToolError, match="ends too early"):
        visited(site.put("/torn", b"x", content_encoding="gzip"))
    with pytest.raises(ToolError, match="packed in a way"):
        visited(site.put("/wrong", b"no gzip at all", content_encoding="gzip"))
    with pytest.raises(Unreachable, match=r"within 0\.5 seconds"):
        send_http_request(HttpRequest(f"{site.base}/drip"), allowed=first_loopback, seconds=0.5)
    assert not site.dripped_out


def test_nobody_answers() -> None:
    with pytest.raises(ToolError, match=r"cannot be fetched: no reply \(ConnectError\)"):
        visited("http://127.0.0.1:9/")
    with pytest.raises(ToolError, match="cannot be resolved"):
        web_tools.visit_page("http://no-such-host.invalid/", ReadRequest(), resolve=_unknown)


def _unknown(host: str, port: int) -> list[str]:
    raise OSError("not known")


def provider_at(site: Web, name: str) -> web_tools.SearchProvider:
    match = next(provider for provider in web_tools.PROVIDERS if provider.name == name)
    return msgspec.structs.replace(match, url=f"{site.base}/search")


REPLIES = {
    "tavily": {
        "results": [{"title": "T", "url": "https://t.example", "content": "about <b>t</b>"}]
    },
    "serper": {"organic": [{"title": "T", "link": "https://t.example", "snippet": "about t"}]},
    "brave": {
        "web": {
            "results": [
                {
                    "title": "T",
                    "url": "https://t.example",
                    "description": "about <strong>t</strong>",
                }
            ]
        }
    },
}
HEADERS = {
    "tavily": ("Authorization", f"Bearer {KEY}"),
    "serper": ("X-Api-Key", KEY),
    "brave": ("X-Subscription-Token", KEY),
}


@pytest.mark.parametrize("name", REPLIES)
def test_each_service_is_asked_in_its_way(site: Web, name: str) -> None:
    site.put_json("/search", REPLIES[name])
    text = web_tools.run_web_search(provider_at(site, name), KEY, " who  is\nt? ")
    lines = text.splitlines()
    assert lines[0].startswith(f"[1 results of {name} on 20")
    assert lines[0].endswith('for "who is t?"]')
    assert lines[1:] == ["1. T", "   https://t.example", "   about t"]
    path, headers, body = site.seen[0]
    header, value = HEADERS[name]
    assert {key.title(): actual_header for key, actual_header in headers.items()}[
        header.title()
    ] == value
    asked = path if name == "brave" else json.dumps(json.loads(body))
    assert "who is t?" in asked.replace("+", " ").replace("%20", " ").replace("%3F", "?")


def test_a_search_is_tried_again_where_that_may_help(site: Web) -> None:
    provider = provider_at(site, "tavily")
    site.put_json("/search", {}, 503)
    site.put_json("/search", {}, 429)
    site.put_json("/search", REPLIES["tavily"])
    pauses: list[float] = []
    assert "1. T" in web_tools.run_web_search(provider, KEY, "t", pause=pauses.append)
    assert pauses == [1.0, 2.0]


@pytest.mark.parametrize(("status", "requests"), [(401, 1), (403, 1), (432, 1), (500, 3), (429, 3)])
def test_a_failing_service_is_our_failure_and_tells_no_key(
    site: Web, status: int, requests: int
) -> None:
    site.put("/search", f"bad key {KEY}", status)
    with pytest.raises(EnvironmentFailure, match=f"status {status}; check TAVILY_API_KEY") as error:
        web_tools.run_web_search(provider_at(site, "tavily"), KEY, "t", pause=lambda _: None)
    assert KEY not in str(error.value)
    assert len(site.seen) == requests


def test_a_service_that_is_not_there_or_talks_nonsense(site: Web) -> None:
    nowhere = msgspec.structs.replace(provider_at(site, "brave"), url="http://127.0.0.1:9/")
    with pytest.raises(EnvironmentFailure, match="ConnectError"):
        web_tools.run_web_search(nowhere, KEY, "t", pause=lambda _: None)
    for body in ("<html>", "[]", '{"web": 3}', '{"web": {"results": 7}}', "[" * 50_000):
        site.pages.clear()
        site.put("/search", body)
        with pytest.raises(EnvironmentFailure, match="cannot be read"):
            web_tools.run_web_search(provider_at(site, "brave"), KEY, "t")
    site.pages.clear()
    site.put_json("/search", {"web": {"results": [None, 5, {"title": None}]}})
    assert web_tools.run_web_search(provider_at(site, "brave"), KEY, "t").startswith(
        "[1 results of brave"
    )
    site.pages.clear()
    site.put_json("/search", {})
    assert web_tools.run_web_search(provider_at(site, "brave"), KEY, "t").startswith(
        "[0 results of brave"
    )


@pytest.mark.parametrize("query", ["", "  ", "x" * 401])
def test_a_query_of_no_or_too_many_words(query: str) -> None:
    with pytest.raises(ToolError, match="1 to 400"):
        web_tools.run_web_search(web_tools.PROVIDERS[0], KEY, query)


def test_a_query_that_the_service_refuses_is_the_models(site: Web) -> None:
    site.put("/search", "", 422)
    with pytest.raises(ToolError, match="in other words"):
        web_tools.run_web_search(provider_at(site, "brave"), KEY, "t")


def test_the_service_is_the_first_that_has_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="TAVILY_API_KEY, SERPER_API_KEY, BRAVE_API_KEY"):
        web_tools.find_provider_name()
    with pytest.raises(UsageError):
        web_tools.Browser()
    monkeypatch.setenv("BRAVE_API_KEY", KEY)
    assert web_tools.find_provider_name() == "brave"
    monkeypatch.setenv("SERPER_API_KEY", KEY)
    assert web_tools.find_provider_name() == "serper"
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    assert web_tools.Browser().provider == "tavily"


def test_a_service_may_be_wanted_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    monkeypatch.setenv("SERPER_API_KEY", KEY)
    assert (
        web_tools.find_provider_name("serper")
        == web_tools.Browser(provider_name="serper").provider
        == "serper"
    )
    with pytest.raises(UsageError, match="set one of BRAVE_API_KEY"):
        web_tools.find_provider_name("brave")


def test_the_answers_to_the_official_questions_are_not_visited(site: Web) -> None:
    for path in ("/datasets/gaia-benchmark/GAIA", "/datasets/GAIA%2Dbenchmark/x"):
        with pytest.raises(ToolError, match="holds the answers"):
            web_tools.visit_page(f"{site.base}{path}", ReadRequest(), allowed=first_loopback)


@pytest.mark.parametrize("key", ["key\r\nX-Other: 1", "schlüssel", "a\x00b"])
def test_a_key_that_is_none_is_refused_unnamed(key: str) -> None:
    with pytest.raises(UsageError, match="TAVILY_API_KEY") as error:
        web_tools.Browser(Secrets({"TAVILY_API_KEY": key}))
    assert key not in str(error.value)


def test_the_desk_offers_the_web_where_there_is_a_browser(
    site: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_tools, "PROVIDERS", (provider_at(site, "tavily"),))
    site.put_json("/search", REPLIES["tavily"])
    url = site.put("/page", "<p>words of a page", content_type="text/html")
    browser = web_tools.Browser(Secrets({"TAVILY_API_KEY": KEY}), allowed=first_loopback)
    with Toolset([], browser=browser) as desk:
        assert {"web_search", "visit_page"} < {tool.name for tool in desk.tools}
        assert "1. T" in desk.call("web_search", {"query": "t"})
        assert "words of a page" in desk.call("visit_page", {"url": url})
        assert desk.call("visit_page", {"url": "http://127.0.0.3/"}).startswith("Error: ")
        assert desk.call("visit_page", {"url": 5}).startswith("Error: ")
    with Toolset([]) as desk:
        assert desk.call("web_search", {"query": "t"}).startswith("Error: there is no tool")


def test_a_transfer_names_no_address_in_its_errors() -> None:
    with pytest.raises(Unreachable) as error:
        http_client.send_http_request(HttpRequest("http://127.0.0.1:9/?key=secret"))
    assert "secret" not in str(error.value)
