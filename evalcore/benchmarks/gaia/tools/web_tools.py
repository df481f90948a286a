"""The tools of mode `web`: searching through a service that needs a key, and visiting pages.

A service that is down, rejects the key or is out of quota fails the episode as an environment
error: search results are part of the measurement, and their absence is not the model's fault.
"""

from __future__ import annotations

import html
import json
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from evalcore.access.secrets import Secrets
from evalcore.benchmarks.gaia.attachments import ReadRequest, Unreadable, read_content
from evalcore.benchmarks.gaia.attachments.read_request import detect_file_kind
from evalcore.benchmarks.gaia.tools import text_tool
from evalcore.benchmarks.http_client import (
    Address,
    HttpReply,
    HttpRequest,
    Resolve,
    ToolError,
    Unreachable,
    is_public,
    resolve_host,
    send_http_request,
)
from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.i18n import Note
from evalcore.records import Record

_MAX_RESULTS = 8
_LONGEST_QUERY = 400
_LONGEST_SNIPPET = 600
_ATTEMPTS = 3
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,40}>")

WEB_SEARCH_TOOL = text_tool(
    "web_search",
    "Searches the web and returns titles, addresses and excerpts of the first results.",
    {"query": f"the words to search for, at most {_LONGEST_QUERY} characters"},
)


class SearchProvider(Record, frozen=True):
    """A search service: its name, the variable of its key, its address, the header that takes the
    key with what stands before it, and where its replies keep the results and their parts."""

    name: str
    variable: str
    url: str
    header: str
    items: tuple[str, ...]
    address: str
    snippet: str
    before_key: str = ""


#: In the order of preference. Addresses and fields are those of the services' own references.
PROVIDERS = (
    SearchProvider(
        name="tavily",
        variable="TAVILY_API_KEY",
        url="https://api.tavily.com/search",
        header="Authorization",
        before_key="Bearer ",
        items=("results",),
        address="url",
        snippet="content",
    ),
    SearchProvider(
        name="serper",
        variable="SERPER_API_KEY",
        url="https://google.serper.dev/search",
        header="X-API-KEY",
        items=("organic",),
        address="link",
        snippet="snippet",
    ),
    SearchProvider(
        name="brave",
        variable="BRAVE_API_KEY",
        url="https://api.search.brave.com/res/v1/web/search",
        header="X-Subscription-Token",
        items=("web", "results"),
        address="url",
        snippet="description",
    ),
)


def select_provider(secrets: Secrets, provider_name: str = "") -> SearchProvider:
    """The first service that has a key, or the one that is wanted. Raises UsageError naming the
    variables looked for."""
    candidates = [provider for provider in PROVIDERS if provider_name in ("", provider.name)]
    for provider in candidates:
        if secrets.has_key(provider.variable):
            return provider
    names = ", ".join(provider.variable for provider in candidates or PROVIDERS)
    raise UsageError(Note("gaia_no_key", names=names))


def run_web_search(
    provider: SearchProvider, key: str, query: str, *, pause: Callable[[float], None] = time.sleep
) -> str:
    """The results as text, naming the service and the day (UTC). Raises ToolError for a query that
    the service does not take, EnvironmentFailure where it gives no results after three attempts. No
    message holds the key."""
    query = " ".join(query.split())
    if not query or len(query) > _LONGEST_QUERY:
        raise ToolError(f"a query has 1 to {_LONGEST_QUERY} characters")
    problem = ""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            reply = send_http_request(_build_search_request(provider, key, query))
            if reply.status == 200:
                return _format_search_results(provider, query, reply)
            problem = Note("gaia_search_status", status=reply.status)
            if reply.status in (400, 422):
                raise ToolError("the search does not take this query; ask in other words")
            if reply.status != 429 and reply.status < 500:
                break
        except Unreachable as error:
            problem = str(error)
        if attempt < _ATTEMPTS:
            pause(2.0 ** (attempt - 1))
    raise EnvironmentFailure(
        Note("gaia_search_fails", name=provider.name, problem=problem, variable=provider.variable)
    )


def _build_search_request(provider: SearchProvider, key: str, query: str) -> HttpRequest:
    headers = {provider.header: provider.before_key + key, "Accept": "application/json"}
    count = _MAX_RESULTS
    if provider.name == "brave":
        return HttpRequest(provider.url, headers=headers, params={"q": query, "count": str(count)})
    tavily_body = {"query": query, "max_results": count}
    body = tavily_body if provider.name == "tavily" else {"q": query, "num": count}
    return HttpRequest(provider.url, "POST", headers=headers, json=body)


def _format_search_results(provider: SearchProvider, query: str, reply: HttpReply) -> str:
    try:
        results: Any = json.loads(reply.content)
        for name in provider.items:
            results = results.get(name) or {}
        rows = [row for row in list(results)[:_MAX_RESULTS] if isinstance(row, dict)]
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise EnvironmentFailure(Note("gaia_search_unread", name=provider.name)) from None
    day = datetime.now(UTC).date().isoformat()
    lines = [f'[{len(rows)} results of {provider.name} on {day} for "{query}"]']
    for number, row in enumerate(rows, 1):
        lines.append(f"{number}. {_strip_markup(row.get('title'))}")
        lines.append(f"   {_strip_markup(row.get(provider.address))}")
        lines.append(f"   {_strip_markup(row.get(provider.snippet))}")
    return "\n".join(lines)


def _strip_markup(value: Any) -> str:
    """A field without marks of HTML, on one line."""
    text = html.unescape(_TAG.sub("", str(value or "")[: 4 * _LONGEST_SNIPPET]))
    return " ".join(text.split())[:_LONGEST_SNIPPET]


#: Where the answers to GAIA's own questions lie, for those who may see them.
_BLOCKED_DATASET = "gaia-benchmark"
_MAX_REDIRECTS = 5
_LONGEST_ADDRESS = 2000
_HEADERS = {"User-Agent": "Mozilla/5.0 (compatible; Evalboard)", "Accept": "*/*"}
#: The ending by which a reply is read, by the type that a server gives it.
_ENDINGS = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "application/pdf": ".pdf",
    "application/json": ".json",
    "application/ld+json": ".json",
    "application/xml": ".xml",
    "text/xml": ".xml",
    "text/csv": ".csv",
    "text/plain": ".txt",
}

VISIT_PAGE_TOOL = text_tool(
    "visit_page",
    "Fetches a public page of the web and returns its text with tables and links; also PDF and "
    "other files that can be read. A long text is cut, with a note of how to read on.",
    {"url": "the address, beginning with http:// or https://"},
    {"range": "lines of the text, like 10-40", "pages": "pages of a pdf, like 1-3"},
)


def visit_page(
    url: str,
    request: ReadRequest,
    *,
    allowed: Callable[[Address], bool] = is_public,
    resolve: Resolve = resolve_host,
) -> str:
    """The text of a page, below the address where it was found in the end. Raises ToolError for
    what cannot be visited or read, EnvironmentFailure where the process of the readers does not
    start. `allowed` and `resolve` are for tests."""
    url, reply = _follow_redirects(url.strip(), allowed, resolve)
    if reply.status >= 400:
        raise ToolError(f"{url[:200]} answers with status {reply.status}")
    header = f"[{url[:_LONGEST_ADDRESS]}]\n"
    page_request = ReadRequest(
        name=_choose_reply_name(url, reply),
        range=request.range,
        pages=request.pages,
        limit=request.limit - len(header),
        base=url,
    )
    try:
        return header + read_content(reply.content, page_request)
    except Unreadable as problem:
        raise ToolError(f"{url[:200]}: {problem}") from None


def _follow_redirects(
    url: str, allowed: Callable[[Address], bool], resolve: Resolve
) -> tuple[str, HttpReply]:
    """The reply at the end of the redirects; each of their addresses is checked anew."""
    for _ in range(_MAX_REDIRECTS + 1):
        if len(url) > _LONGEST_ADDRESS:
            raise ToolError(f"the address is longer than {_LONGEST_ADDRESS} characters")
        if _BLOCKED_DATASET in unquote(url).lower():
            raise ToolError(f"{url[:200]} holds the answers to such questions")
        try:
            reply = send_http_request(
                HttpRequest(url, headers=_HEADERS), allowed=allowed, resolve=resolve
            )
        except Unreachable as problem:
            raise ToolError(f"{url[:200]} cannot be fetched: {problem}") from None
        target = reply.headers.get("location", "")
        if not 300 <= reply.status < 400 or not target:
            return url, reply
        try:
            url = urljoin(url, target)
        except ValueError:
            raise ToolError(f"{url[:200]} leads to an address that is none") from None
    raise ToolError(f"more than {_MAX_REDIRECTS} redirects")


def _choose_reply_name(url: str, reply: HttpReply) -> str:
    """A name that tells the readers of what kind the reply is."""
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    name = PurePosixPath(urlsplit(url).path).name
    if kind in _ENDINGS and not (kind == "text/plain" and detect_file_kind(name, b"")):
        return f"page{_ENDINGS[kind]}"
    if not kind and reply.content.lstrip()[:1] == b"<":
        return "page.html"
    return name or "page"


def find_provider_name(provider_name: str = "") -> str:
    """The name of the search service that has a key, for the record of a run. Raises UsageError
    naming the variables that are looked for."""
    return select_provider(Secrets(), provider_name).name


class Browser:
    """Searches and visits for one run; `find_provider_name` names the service, which may be
    chosen by name. Usable from several threads. Raises UsageError where there is no key.
    `allowed` says which addresses may be visited; another choice than public ones is for tests."""

    def __init__(
        self,
        secrets: Secrets | None = None,
        *,
        provider_name: str = "",
        allowed: Callable[[Address], bool] = is_public,
    ) -> None:
        keys = secrets or Secrets()
        self._provider = select_provider(keys, provider_name)
        self._key = (keys.get(self._provider.variable) or "").strip()
        if not self._key.isascii() or not self._key.isprintable() or not self._key:
            raise UsageError(Note("key_characters", variable=self._provider.variable))
        self._allowed = allowed
        self.provider = self._provider.name

    def search(self, query: str) -> str:
        """Results as text. Raises ToolError and EnvironmentFailure."""
        return run_web_search(self._provider, self._key, query)

    def visit(self, url: str, request: ReadRequest) -> str:
        """The text of a page. Raises ToolError and EnvironmentFailure."""
        return visit_page(url, request, allowed=self._allowed)
