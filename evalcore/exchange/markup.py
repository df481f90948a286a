"""Tables as Markdown and as HTML. Every text in them is hostile: nothing of it is ever markup."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from evalcore.exchange.report_tables import ReportTable

_CELL = 160  # characters of a Markdown cell; the other formats hold the whole text

#: Invisible or reordering: controls but tab and line ends, and the bidirectional overrides.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)
_LINE_END = re.compile("\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]")
#: What can begin a tag, link, image, code, emphasis, formula, template or a new cell, and what
#: GitHub makes a link of by itself (`://`, `www.`, mail addresses); `_` within a word is none.
_MARKDOWN = re.compile(
    r"[&<>|`\\*\[\]{}~$@]|:(?=//)|(?<=www)\.|(?<![a-z0-9])_|_(?![a-z0-9])", re.IGNORECASE
)

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem; }
table { border-collapse: collapse; margin-bottom: 2rem; width: 100%; }
th, td { border-bottom: 1px solid #8886; padding: .3rem .6rem; text-align: left; }
td { overflow-wrap: anywhere; vertical-align: top; white-space: pre-wrap; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def render_markdown_tables(title: str, tables: Iterable[ReportTable]) -> str:
    """GitHub-flavoured Markdown; texts become one line and are cut, markup in them is shown."""
    lines = [f"# {_escape_markdown(title)}"]
    for table in tables:
        lines += ["", f"## {_escape_markdown(table.title)}", ""]
        lines.append(_render_markdown_row(table.columns))
        lines.append("|" + "---|" * len(table.columns))
        lines += [_render_markdown_row(row) for row in table.rows]
    return "\n".join(lines) + "\n"


def _render_markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(_escape_markdown(cell) for cell in cells) + " |"


def _escape_markdown(text: str) -> str:
    """Text as character references wherever Markdown would read more into it than text."""
    line = _LINE_END.sub(" ⏎ ", _escape_invisible(text)).replace("\t", " ").strip()
    short = line if len(line) <= _CELL else line[: _CELL - 1] + "…"
    return _MARKDOWN.sub(lambda match: f"&#{ord(match.group())};", short)


def render_html_tables(title: str, tables: Iterable[ReportTable]) -> str:
    """One HTML file that loads nothing and runs nothing; texts are whole and escaped."""
    body = [f"<h1>{_escape_html(title)}</h1>"]
    for table in tables:
        head = "".join(f"<th>{_escape_html(column)}</th>" for column in table.columns)
        rows = (
            "<tr>" + "".join(f"<td>{_escape_html(cell)}</td>" for cell in row) + "</tr>"
            for row in table.rows
        )
        body += [f"<h2>{_escape_html(table.title)}</h2>", f"<table><thead><tr>{head}</tr></thead>"]
        body += ["<tbody>", *rows, "</tbody></table>"]
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_escape_html(_POLICY)}">',
            f"<title>{_escape_html(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
            *body,
            "</body>\n</html>\n",
        ]
    )


def _escape_html(text: str) -> str:
    return html.escape(_escape_invisible(text), quote=True)


def _escape_invisible(text: str) -> str:
    """Characters that hide or reorder text, written out as their code points."""
    return _INVISIBLE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
