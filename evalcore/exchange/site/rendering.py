"""Templates into pages. Every value is escaped, and cleared of what hides or reorders text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evalcore.exchange.site.words import Words
from evalcore.i18n import LANGUAGES
from evalcore.plain_text import UNSEEN
from evalcore.records import Record

#: `file:` stands for `'self'` where a page is opened without a server and a browser has no such.
_POLICY = (
    "default-src 'none'; style-src 'self' file:; script-src 'self' file:; "
    "img-src 'self' file: data:; base-uri 'none'; form-action 'none'"
)
_TAGS = {"en": "en", "zh": "zh-Hans"}
_ITALIC, _UPRIGHT = Markup("<i>{}</i>"), Markup("{}")
_SYMBOL = re.compile(r"\$(\w)\$")


class PageLocation(Record, frozen=True):
    """Where a page lies: its path without language, such as boards/x.html, and its language; `base`
    is the address of the site, "" where it is not known."""

    path: str
    language: str
    base: str = ""

    @property
    def file_path(self) -> str:
        return folder_of(self.language) + self.path

    @property
    def root_prefix(self) -> str:
        return "../" * self.file_path.count("/")

    @property
    def language_prefix(self) -> str:
        return "../" * self.path.count("/")


def folder_of(language: str) -> str:
    """English lies at the top, every other language in a folder of its own."""
    return "" if language == "en" else f"{language}/"


def render_page(
    template: str, location: PageLocation, view: Any, w: Words, head: Mapping[str, str]
) -> bytes:
    """A page; `head` has site, title, about, here (its part of the navigation) and picture (the
    path of a preview, or "")."""
    languages = [
        (_TAGS[code], name, location.root_prefix + folder_of(code) + location.path)
        for code, name in LANGUAGES.items()
        if code != location.language
    ]
    context = {
        **head,
        "picture": location.base + head["picture"] if location.base and head["picture"] else "",
        "policy": _POLICY,
        "lang_tag": _TAGS[location.language],
        "top": location.root_prefix,
        "home": location.language_prefix,
        "languages": languages,
        "address": location.base + location.file_path if location.base else "",
        "alternates": [
            (_TAGS[code], f"{location.base}{folder_of(code)}{location.path}") for code in LANGUAGES
        ],
    }
    return _build_environment().get_template(template).render(page=context, view=view, w=w).encode()


@cache
def _build_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("evalcore.exchange.site"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_strip_unseen,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["symbols"] = _render_symbols
    return environment


def _strip_unseen(value: Any) -> Any:
    """Text as it may stand in a document; what is markup already was made by us."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return UNSEEN.sub(" ", value)


def _render_symbols(text: str) -> Markup:
    """The letters of a formula, `$d$`, in italics."""
    forms = (_UPRIGHT, _ITALIC)  # what the pattern found stands at every second place
    parts = (forms[n % 2].format(part) for n, part in enumerate(_SYMBOL.split(text)))
    return Markup("").join(parts)
