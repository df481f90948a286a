"""The tool `web_search`, by whichever service has a key in the environment.

A service that is down, refuses the key, or has no more quota fails the episode as a failure of
ours: its results are part of the measurement, and a model is not to be blamed for their absence.
"""

from __future__ import annotations

import html
import json
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from evalcore.benchmarks.gaia.tools.tool import ToolError, text_tool
from evalcore.benchmarks.gaia.tools.transfer import (
    HttpReply,
    HttpRequest,
    Unreachable,
    send_http_request,
)
from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.records import Record
from evalcore.secrets import Secrets

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
    """The first service that has a key, or the one that is wanted.

    Raises UsageError naming the variables looked for.
    """
    candidates = [provider for provider in PROVIDERS if provider_name in ("", provider.name)]
    for provider in candidates:
        if secrets.has_key(provider.variable):
            return provider
    names = ", ".join(provider.variable for provider in candidates or PROVIDERS)
    raise UsageError(f"no key for a web search: set one of {names}, or use the tool mode local")


def run_web_search(
    provider: SearchProvider, key: str, query: str, *, pause: Callable[[float], None] = time.sleep
) -> str:
    """The results as text, naming the service and the day (UTC).

    Raises Refusal for a query that the service does not take, EnvironmentFailure where it gives
    no results after three attempts. No message holds the key.
    """
    query = " ".join(query.split())
    if not query or len(query) > _LONGEST_QUERY:
        raise ToolError(f"a query has 1 to {_LONGEST_QUERY} characters")
    problem = ""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            reply = send_http_request(_build_search_request(provider, key, query))
            if reply.status == 200:
                return _format_search_results(provider, query, reply)
            problem = f"it answers with status {reply.status}"
            if reply.status in (400, 422):
                raise ToolError("the search does not take this query; ask in other words")
            if reply.status != 429 and reply.status < 500:
                break
        except Unreachable as error:
            problem = str(error)
        if attempt < _ATTEMPTS:
            pause(2.0 ** (attempt - 1))
    raise EnvironmentFailure(
        f"the web search {provider.name} fails: {problem}; check {provider.variable}, its quota "
        "and the network"
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
        raise EnvironmentFailure(
            f"the web search {provider.name} gives a reply that cannot be read; try another service"
        ) from None
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
