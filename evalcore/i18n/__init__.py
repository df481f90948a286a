"""The texts people read, in every language: JSON catalogues, one file per page or area.

The key `launch.title` is the entry `title` of `<language>/launch.json`. An entry may hold
placeholders in the form of `str.format`, as in "{count} cases"; only the entry is ever a template,
never a value, so a hostile name can be passed as a value.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

LANGUAGES: dict[str, str] = {"en": "English", "zh": "中文"}
DEFAULT = "en"


def t(key: str, language: str, **values: Any) -> str:
    """The text of `key` with its placeholders filled; raises KeyError for an unknown key."""
    text = lookup_text(key, language)
    if text is None:
        raise KeyError(f"no text {key!r} in the catalogue of {language!r}")
    return text.format(**values) if values else text


def lookup_text(key: str, language: str) -> str | None:
    """The unfilled text of `key`, else the English one, else None: for keys made from data."""
    text = load_catalogue(language).get(key)
    return load_catalogue(DEFAULT).get(key) if text is None else text


def translate_note(text: str, language: str) -> str:
    """A stored English sentence in `language` where the area `note` holds it, else as it stands.

    Runs store what scorers and the runner say in English; a sentence is known by the English entry
    that it fills. What fills `{problem}` is such a sentence itself.
    """
    for key, pattern in _compile_note_patterns():
        if match := pattern.fullmatch(text):
            values = match.groupdict()
            if "problem" in values:
                values["problem"] = translate_note(values["problem"], language)
            return t(key, language, **values)
    return text


def language_for_locale(locale: str | None) -> str:
    """The language to begin with for a browser's locale such as `zh-CN`."""
    prefix = (locale or "").replace("_", "-").split("-")[0].lower()
    return prefix if prefix in LANGUAGES else DEFAULT


@cache
def _compile_note_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Key and pattern of every English note; a placeholder stands for any text."""
    return tuple(
        (key, re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.*)", re.escape(text)), re.DOTALL))
        for key, text in load_catalogue(DEFAULT).items()
        if key.startswith("note.")
    )


@cache
def load_catalogue(language: str) -> dict[str, str]:
    """Every text of one language by full key; an unknown language has none."""
    folder = files(__name__) / language
    if not folder.is_dir():
        return {}
    texts: dict[str, str] = {}
    for file in folder.iterdir():
        area, dot, suffix = file.name.rpartition(".")
        if dot and suffix == "json":
            entries: dict[str, str] = orjson.loads(file.read_bytes())
            texts.update({f"{area}.{name}": text for name, text in entries.items()})
    return texts
