"""Web pages: their text with headings, lists, tables and links, by Python's own parser."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urljoin

from evalcore.benchmarks.gaia.attachments.paging import cut_by_lines
from evalcore.benchmarks.gaia.attachments.read_request import ReadRequest, Unreadable
from evalcore.benchmarks.gaia.attachments.readers.plain import decode_text

_HIDDEN_TAGS = ("script", "style", "template", "svg", "iframe", "object")
_BLOCKS = """
    p div section article header footer main nav aside ul ol dl dt dd table form address figure
    figcaption blockquote pre br hr thead tbody tfoot caption title body
"""
#: Tags that begin a new line, with what the line begins with.
_LINES = {
    **dict.fromkeys(_BLOCKS.split(), ""),
    **{f"h{level}": "#" * level + " " for level in range(1, 7)},
    "li": "- ",
    "tr": "| ",
}
_CELLS = ("td", "th")
_ROWS = ("tr", "table", "thead", "tbody", "tfoot", "caption")
#: A line of nothing else holds no text.
_LINE_MARKERS = "#-| "
_BLANKS = re.compile(r"\s+")


def read_html(content: bytes, request: ReadRequest) -> str:
    """The text of a page; its links are absolute where `request.base` is the page's address."""
    text_and_encoding = decode_text(content, declared=True)
    if text_and_encoding is None:
        raise Unreadable("the file is not text")
    page = _PageParser(request.base)
    # No tag is behind the last >, and looking for its end from each < would take for ever.
    tagged, end, rest = text_and_encoding[0].rpartition(">")
    page.feed(tagged + end)
    page.close()
    page.handle_data(unescape(rest))
    lines = page.finish_lines()
    return cut_by_lines(f"web page; {len(lines)} lines of text", lines, request)


class _PageParser(HTMLParser):
    """Collects lines while tags go by; unclosed and crossed tags do no harm."""

    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self.line: list[str] = []
        self.hidden_depth = self.preformatted = 0
        self.in_cell = False
        self.link = ""
        self.base = base

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag in _HIDDEN_TAGS:
            self.hidden_depth += 1
        elif tag in _CELLS:
            self.line.append(" | " if self.in_cell else "")
            self.in_cell = True
        elif tag in _LINES:
            self._begin_line(tag)
            self.preformatted += tag == "pre"
        elif tag == "a":
            self.link = self._resolve_link(attributes.get("href", ""))
        elif tag == "img" and attributes.get("alt", "").strip():
            self.line.append(f"[image: {attributes['alt'].strip()}]")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN_TAGS:
            self.hidden_depth = max(self.hidden_depth - 1, 0)
        elif tag in _CELLS:
            self.line.append(" | " if self.in_cell else "")
            self.in_cell = False
        elif tag in _LINES:
            self._begin_line(tag, ended=True)
            self.preformatted = max(self.preformatted - (tag == "pre"), 0)
        elif tag == "a" and self.link:
            self.line.append(f" ({self.link})")
            self.link = ""

    def handle_data(self, data: str) -> None:
        if self.hidden_depth:
            return
        if self.preformatted:
            first, *others = data.split("\n")
            self.line.append(first)
            for other in others:
                self._end_line()
                self.line.append(other)
            return
        self.line.append(_BLANKS.sub(" ", data))

    def finish_lines(self) -> list[str]:
        """All lines that hold a text."""
        self._end_line()
        return self.lines

    def _begin_line(self, tag: str, ended: bool = False) -> None:
        """A new line, except within a cell and where the one begun is still empty."""
        if self.in_cell and tag not in _ROWS:
            self.line.append(" ")
            return
        self.in_cell = False
        begun = "" if ended else _LINES[tag]
        if begun or ended or "".join(self.line).strip(_LINE_MARKERS):
            self._end_line()
            self.line.append(begun)

    def _end_line(self) -> None:
        text = "".join(self.line).rstrip()
        self.line.clear()
        if not self.preformatted:
            text = _BLANKS.sub(" ", text).strip()
        if text.strip(_LINE_MARKERS):
            self.lines.append(text)

    def _resolve_link(self, href: str) -> str:
        if not href or href.startswith(("#", "javascript:")):
            return ""
        try:
            return urljoin(self.base, href)
        except ValueError:  # an address that is none
            return href
