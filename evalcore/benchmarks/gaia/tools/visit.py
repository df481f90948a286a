"""The tool `visit_page`: a page of the open web as text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from urllib.parse import unquote, urljoin, urlsplit

from evalcore.benchmarks.gaia.attachments import ReadRequest, Unreadable, read_content
from evalcore.benchmarks.gaia.attachments.kinds import detect_file_kind
from evalcore.benchmarks.gaia.tools.addresses import Address, Resolve, is_public, resolve_host
from evalcore.benchmarks.gaia.tools.tool import ToolError, text_tool
from evalcore.benchmarks.gaia.tools.transfer import (
    HttpReply,
    HttpRequest,
    Unreachable,
    send_http_request,
)

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
    """The text of a page, below the address where it was found in the end.

    Raises Refusal for what cannot be visited or read, EnvironmentFailure where the process of the
    readers does not start. `allowed` and `resolve` are for tests.
    """
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
