"""The two tools of BFCL's web entries: search and fetch a page, live or from recorded pages.

Recorded pages (`web_pages.jsonl`: {"url", "title", "snippet", "text"}) give the same answer each
time, without a network. Live, a search goes to the service that upstream uses, by a key in
SERPAPI_API_KEY, and pages come from the web, so that no second run sees quite the same.
"""

from __future__ import annotations

import html
import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urljoin

from evalcore.benchmarks.bfcl.entry import BfclEntry
from evalcore.benchmarks.bfcl.multi_turn.service import (
    FAILED_CALL,
    evaluate_call,
    format_tool_result,
)
from evalcore.benchmarks.bfcl.simulated.memory import rank_by_words
from evalcore.benchmarks.call_decoding.call import replace_surrogates
from evalcore.benchmarks.http_client import (
    HttpReply,
    HttpRequest,
    ToolError,
    Unreachable,
    is_public,
    send_http_request,
)
from evalcore.errors import DatasetError, EnvironmentFailure
from evalcore.i18n import Note
from evalcore.intake.json_text import read_rows

KEY_VARIABLE = "SERPAPI_API_KEY"
PAGES_FILE = "web_pages.jsonl"
_SEARCH_URL = "https://serpapi.com/search.json"
_MAX_RESULTS, _LONGEST_CALL = 20, 20_000
_LONGEST_PAGE = 200_000
_ATTEMPTS, _MAX_REDIRECTS = 4, 5
_HEADERS = {"User-Agent": "Mozilla/5.0 (compatible; Evalboard)", "Accept": "text/html,*/*"}

SearchResult = dict[str, str]


class Web(Protocol):
    """Where results and pages come from; `name` says whether they are recorded or live."""

    name: str

    def search(self, words: str, region: str) -> list[SearchResult]:
        """Results as {"title", "href", "body"}, the best first. Raises EnvironmentFailure."""
        ...

    def fetch(self, url: str) -> str:
        """The HTML of a page. Raises ToolError where there is none, EnvironmentFailure."""
        ...


class RecordedWeb:
    """Pages of a file; searching ranks their titles and excerpts by words."""

    name = "recorded"

    def __init__(self, pages: Sequence[Mapping[str, str]]) -> None:
        self._pages = {page["url"]: page for page in pages}

    def search(self, words: str, region: str) -> list[SearchResult]:
        by_text = {f"{page['title']} {page['snippet']}": page for page in self._pages.values()}
        ranked = [text for score, text in rank_by_words(words, list(by_text)) if score > 0]
        return [
            {
                "title": by_text[text]["title"],
                "href": by_text[text]["url"],
                "body": by_text[text]["snippet"],
            }
            for text in ranked
        ]

    def fetch(self, url: str) -> str:
        page = self._pages.get(url)
        if page is None:
            raise ToolError(f"404 Client Error: Not Found for url: {url}")
        body = "".join(f"<p>{html.escape(line)}</p>\n" for line in page["text"].split("\n"))
        title = html.escape(page["title"])
        return (
            f"<html><head><title>{title}</title></head><body><h1>{title}</h1>\n{body}</body></html>"
        )


class LiveWeb:
    """The search service that upstream uses, and the web. `pause` is for tests."""

    name = "live"

    def __init__(self, key: str, pause: Callable[[float], None] = time.sleep) -> None:
        self._key, self._pause = key, pause

    def search(self, words: str, region: str) -> list[SearchResult]:
        params = {"engine": "duckduckgo", "q": words, "kl": region, "api_key": self._key}
        reply = self._ask_service(HttpRequest(_SEARCH_URL, params=params))
        try:
            rows = json.loads(reply.content).get("organic_results") or []
            return [
                {"title": str(row["title"]), "href": str(row["link"]), "body": str(row["snippet"])}
                for row in rows
                if isinstance(row, dict) and {"title", "link", "snippet"} <= row.keys()
            ]
        except (ValueError, AttributeError, TypeError, RecursionError):
            raise EnvironmentFailure(Note("bfcl_search_unread")) from None

    def _ask_service(self, request: HttpRequest) -> HttpReply:
        """Asks again where the service is busy: what it lacks is never the model's fault."""
        problem = ""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                reply = send_http_request(request)
                if reply.status == 200:
                    return reply
                problem = f"status {reply.status}"
                if reply.status != 429 and reply.status < 500:
                    break
            except Unreachable as error:
                problem = str(error)
            if attempt < _ATTEMPTS:
                self._pause(2.0**attempt)
        raise EnvironmentFailure(Note("bfcl_search_fails", problem=problem, variable=KEY_VARIABLE))

    def fetch(self, url: str) -> str:
        for _ in range(_MAX_REDIRECTS + 1):
            try:
                reply = send_http_request(HttpRequest(url, headers=_HEADERS), allowed=is_public)
            except Unreachable as problem:
                raise ToolError(str(problem)) from None
            target = reply.headers.get("location", "")
            if not 300 <= reply.status < 400 or not target:
                break
            url = urljoin(url, target)
        if reply.status >= 400:
            raise ToolError(f"{reply.status} Client Error for url: {url}")
        return reply.content.decode("utf-8", "replace")


class WebSearchAPI:
    """Runs the calls of an entry; stands in the place of `Simulators`. Keeps nothing."""

    def __init__(self, web: Web, documents: Sequence[dict[str, Any]], snippets: bool) -> None:
        self._web, self._documents, self._snippets = web, list(documents), snippets
        self._tools: dict[str, Callable[..., Any]] = {
            "search_engine_query": self.search_engine_query,
            "fetch_url_content": self.fetch_url_content,
        }

    def list_documents(self, entry: BfclEntry) -> list[dict[str, Any]]:
        return [dict(document) for document in self._documents]

    def execute(self, entry: BfclEntry, done: Sequence[str], calls: Sequence[str]) -> list[str]:
        """The results of calls. Raises EnvironmentFailure where the search cannot be had."""
        return [replace_surrogates(self._run_call(call)) for call in calls]

    def _run_call(self, text: str) -> str:
        try:
            if len(text) > _LONGEST_CALL:
                raise ValueError(f"a call is longer than {_LONGEST_CALL} characters")
            result = evaluate_call(text, self._tools)
        except EnvironmentFailure:
            raise
        except Exception as error:  # whatever a malformed call raises is the model's to read
            return f"{FAILED_CALL}{error}"
        return format_tool_result(result)

    def search_engine_query(
        self, keywords: str, max_results: int = 10, region: str = "wt-wt"
    ) -> Any:
        results = self._web.search(str(keywords), str(region))[
            : min(int(max_results), _MAX_RESULTS)
        ]
        if not self._snippets:
            return [{"title": row["title"], "href": row["href"]} for row in results]
        return results

    def fetch_url_content(self, url: str, mode: str = "raw") -> Any:
        if not str(url).startswith(("http://", "https://")):
            raise ValueError(f"Invalid URL: {url}")
        try:
            content = self._web.fetch(str(url))[:_LONGEST_PAGE]
            if mode == "raw":
                return {"content": content}
            return {"content": read_page_text(content, markdown=_MODES[mode])}
        except (ToolError, KeyError) as problem:
            why = f"Unsupported mode: {mode}" if isinstance(problem, KeyError) else problem
            return {"error": f"An error occurred while fetching {url}: {why}"}


_MODES = {"markdown": True, "truncate": False}
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BLOCKS = frozenset({"p", "div", "br", "li", "tr", "ul", "ol", "table", "section", *_HEADINGS})


def read_page_text(content: str, *, markdown: bool) -> str:
    """The text of a page, a block to a line, without scripts and styles; with the marks of
    headings, lists and links where `markdown`."""
    reader = _PageReader(markdown=markdown)
    reader.feed(content)
    lines = (" ".join(line.split()) for line in "".join(reader.parts).split("\n"))
    return "\n".join(filter(None, lines))


class _PageReader(HTMLParser):
    def __init__(self, *, markdown: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._markdown, self._hidden, self._links = markdown, 0, [""]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("script", "style")
        if tag in _BLOCKS:
            self.parts.append("\n")
        if self._markdown:
            self.parts.append(_HEADINGS.get(tag, "* " if tag == "li" else ""))
            if tag == "a":
                self._links.append(dict(attrs).get("href") or "")
                self.parts.append("[")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style") and self._hidden > 0
        if self._markdown and tag == "a" and len(self._links) > 1:
            self.parts.append(f"]({self._links.pop()})")
        if tag in _BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data if data.strip() else " ")


_FIELDS = ("url", "title", "snippet", "text")


def load_pages(path: Path, digest: str = "") -> list[dict[str, str]]:
    """The pages of a file. Raises DatasetError for a line that is none, EnvironmentFailure for
    another content than the one whose sha256 is given."""
    check_unchanged(path, digest)
    pages = []
    for line, row in read_rows(path):
        field = next((name for name in _FIELDS if not isinstance(row.get(name), str)), "")
        if field:
            raise DatasetError(path, line, field, Note("upload_text"))
        pages.append({name: row[name] for name in _FIELDS})
    return pages


def open_web(path: str, digest: str) -> Web:
    """The recorded pages of a file, the web itself for no path. Raises what `load_pages` raises,
    and EnvironmentFailure where the search has no key."""
    if path:
        return RecordedWeb(load_pages(Path(path), digest))
    if not has_search_key():
        raise EnvironmentFailure(Note("bfcl_no_search_key", variable=KEY_VARIABLE))
    return LiveWeb(os.environ[KEY_VARIABLE].strip())


def hash_file(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def check_unchanged(path: Path, digest: str) -> None:
    """Raises EnvironmentFailure for a file that is gone or not as it was when the run began."""
    if not path.is_file() or (digest and hash_file(path) != digest):
        raise EnvironmentFailure(Note("bfcl_material_changed", path=path))


def has_search_key() -> bool:
    return bool(os.environ.get(KEY_VARIABLE, "").strip())


_WORDS = re.compile(r"[,./\-_*^()]")


def mentions_answer(text: str, accepted: Sequence[str]) -> bool:
    """Upstream's rule for agentic entries: an accepted answer stands in the text as whole words,
    whatever the case and some punctuation."""
    standard = _standardize(text)
    return any(
        re.search(rf"\b{re.escape(_standardize(answer))}\b", standard) for answer in accepted
    )


def _standardize(text: str) -> str:
    return _WORDS.sub("", text).lower().replace("'", '"')
