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


class Place(Record, frozen=True):
    """Where a page lies: its path without language, such as boards/x.html, and its language; `base`
    is the address of the site, "" where it is not known."""

    path: str
    language: str
    base: str = ""

    @property
    def file(self) -> str:
        return folder_of(self.language) + self.path

    @property
    def top(self) -> str:
        return "../" * self.file.count("/")

    @property
    def home(self) -> str:
        return "../" * self.path.count("/")


def folder_of(language: str) -> str:
    """English lies at the top, every other language in a folder of its own."""
    return "" if language == "en" else f"{language}/"


def page(template: str, place: Place, view: Any, w: Words, head: Mapping[str, str]) -> bytes:
    """A page; `head` has site, title, about, here (its part of the navigation) and picture (the
    path of a preview, or "")."""
    languages = [
        (_TAGS[code], name, place.top + folder_of(code) + place.path)
        for code, name in LANGUAGES.items()
        if code != place.language
    ]
    told = {
        **head,
        "picture": place.base + head["picture"] if place.base and head["picture"] else "",
        "policy": _POLICY,
        "lang_tag": _TAGS[place.language],
        "top": place.top,
        "home": place.home,
        "languages": languages,
        "address": place.base + place.file if place.base else "",
        "alternates": [
            (_TAGS[code], f"{place.base}{folder_of(code)}{place.path}") for code in LANGUAGES
        ],
    }
    return _environment().get_template(template).render(page=told, view=view, w=w).encode()


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("evalcore.exchange.site"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_clean,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["symbols"] = _symbols
    return made


def _clean(value: Any) -> Any:
    """Text as it may stand in a document; what is markup already was made by us."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return UNSEEN.sub(" ", value)


def _symbols(text: str) -> Markup:
    """The letters of a formula, `$d$`, in italics."""
    forms = (_UPRIGHT, _ITALIC)  # what the pattern found stands at every second place
    parts = (forms[n % 2].format(part) for n, part in enumerate(_SYMBOL.split(text)))
    return Markup("").join(parts)
