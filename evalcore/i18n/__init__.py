"""The texts people read, in every language: JSON catalogues, one file per page or area.

The key `launch.title` is the entry `title` of `<language>/launch.json`. An entry may hold
placeholders in the form of `str.format`, as in "{count} cases"; only the entry is ever a template,
never a value, so a hostile name can be passed as a value.

What scorers, the runner and errors have to say is a `Note`: English text that keeps the key and
the values it was made of, so that a page says it in its reader's language, however it is worded by
then. Texts that came from a model, a provider or a library are never one; they are values of notes.
"""

from __future__ import annotations

import errno
import os
import re
import string
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import orjson

LANGUAGES: dict[str, str] = {"en": "English", "zh": "中文"}
DEFAULT = "en"
#: Languages in which a noun has one form.
_WITHOUT_PLURAL = frozenset({"zh"})
#: The note whose `fields` are names of fields of an answer, which the catalogues title.
_WRONG_FIELDS = "wrong"
_FOLDER = Path(__file__).parent
#: Variables that name the language of a terminal, the first that is set counts.
_VARIABLES = ("EVALBOARD_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
#: Errors of the system, which it describes in English, and `os.json` in every language.
_SYSTEM_ERRORS = (
    *("EACCES", "ECONNREFUSED", "ECONNRESET", "EDQUOT", "EEXIST", "EFBIG", "EIO", "EISDIR"),
    *("ELOOP", "EMFILE", "ENAMETOOLONG", "ENOENT", "ENOMEM", "ENOSPC", "ENOTDIR", "ENOTEMPTY"),
    *("EPERM", "EPIPE", "EROFS", "ETIMEDOUT", "EXDEV"),
)
#: Errors of Python's readers of JSON and ZIP, whose English texts `os.json` repeats.
_READER_ERRORS = (
    *("JSON_ARRAY", "JSON_COLON", "JSON_COMMA", "JSON_CONTROL", "JSON_ESCAPE", "JSON_EXTRA"),
    *("JSON_NAME", "JSON_OBJECT", "JSON_STRING", "JSON_VALUE", "ZIP_NONE"),
    *("CODEC_END", "CODEC_NEXT", "CODEC_START", "DNS_AGAIN", "DNS_NAME", "READ_TRUNCATED"),
)
#: Texts of msgspec, the codecs and Python about what they read, with the placeholders of `os.json`.
_READER_PATTERNS = (
    *("READ_AT", "READ_GOT", "READ_LENGTH", "READ_BOUND", "READ_UNKNOWN", "READ_MISSING"),
    *("READ_ENUM", "READ_MALFORMED", "CODEC_BYTE", "CODEC_BYTES", "SYSTEM_NUMBER", "MODULE_NONE"),
)
_LONGEST_ERROR = 400
#: Characters of a text that a note holds.
MAX_NOTE_VALUE = 4000


def t(key: str, language: str, **values: Any) -> str:
    """The text of `key` with its placeholders filled; raises KeyError for an unknown key."""
    text = lookup_text(key, language)
    if text is None:
        raise KeyError(f"no text {key!r} in the catalogue of {language!r}")
    return text.format(**values) if values else text


def t_count(key: str, language: str, count: int, **values: Any) -> str:
    """The text of a key that counts something: `<key>.one` where the language has a singular and
    `count` is 1, else `<key>.other`."""
    form = "one" if count == 1 and language not in _WITHOUT_PLURAL else "other"
    return t(f"{key}.{form}", language, count=count, **values)


def lookup_text(key: str, language: str) -> str | None:
    """The unfilled text of `key`, else the English one, else None: for keys made from data."""
    text = load_catalogue(language).get(key)
    return load_catalogue(DEFAULT).get(key) if text is None else text


def name_term(word: str, language: str) -> str:
    """A word or heading of a result in `language`; as it stands where no catalogue has it."""
    return lookup_text(f"term.{word}", language) or word


def name_code(code: str, language: str, *areas: str) -> str:
    """A code of a result (outcome, cause, state) as the first area of `common` has it; as it stands
    in English, where programs and filters go by it."""
    if language == DEFAULT:
        return code
    titles = (lookup_text(f"common.{area}.{code}", language) for area in areas)
    return next(filter(None, titles), code)


class Note(str):
    """The English text of the entry `note.<code>`, with `code` and `params`, the values it holds.

    Values are texts, numbers, notes or what `str` makes a text of, such as an error; those that the
    entry has no placeholder for are left out, and long texts are cut. `str()` of it, or of an error
    raised with it, is the note itself, so that it passes through handlers of errors; JSON holds its
    English text, see `pack`. Raises KeyError for an unknown code or a missing value.
    """

    code: str
    params: dict[str, Any]

    def __new__(cls, code: str, **params: Any) -> Note:
        note = super().__new__(cls, t(f"note.{code}", DEFAULT, **params))
        note.code = code
        note.params = {
            name: value if isinstance(value, int | float) else cut_note(str(value), MAX_NOTE_VALUE)
            for name, value in params.items()
            if name in _list_placeholders(code)
        }
        return note

    def __str__(self) -> str:
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (self.code,), self.params

    @property
    def english(self) -> str:
        """The text alone."""
        return str.__str__(self)

    def pack(self) -> dict[str, Any]:
        """As plain data for JSON; `unpack_note` reads it."""
        params = {k: v.pack() if isinstance(v, Note) else v for k, v in self.params.items()}
        return {"code": self.code, "params": params}


@cache
def _list_placeholders(code: str) -> frozenset[str]:
    entry = load_catalogue(DEFAULT)[f"note.{code}"]
    return frozenset(name for _, name, _, _ in string.Formatter().parse(entry) if name)


def cut_note(text: str, length: int) -> str:
    """The first `length` characters; a note stays one, with the texts that it holds cut as well."""
    return text if len(text) <= length else map_note(text, lambda part: part[:length])


def map_note(text: str, change: Callable[[str], str]) -> str:
    """`change(text)`; of a note a note, with the change made to the texts that it holds as well."""
    if not isinstance(text, Note):
        return change(text)
    note = str.__new__(Note, change(text.english))
    note.code = text.code
    note.params = {
        name: map_note(value, change) if isinstance(value, str) else value
        for name, value in text.params.items()
    }
    return note


def unpack_note(text: str, code: str, params: Mapping[str, Any]) -> str:
    """The note of a stored code; `text` where no catalogue has it or its values are others."""
    try:
        return _rebuild_note(code, params)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError):
        return text


def _rebuild_note(code: str, params: Mapping[str, Any]) -> Note:
    values = {
        name: _rebuild_note(value["code"], value["params"]) if isinstance(value, dict) else value
        for name, value in params.items()
    }
    return Note(code, **values)


def restore_notes(value: Any, packed_notes: Mapping[str, Any]) -> Any:
    """Plain data with a note for each text that `packed_notes` has the code and the values of."""
    if isinstance(value, dict):
        return {name: restore_notes(item, packed_notes) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(restore_notes(item, packed_notes) for item in value)
    packed = packed_notes.get(value) if isinstance(value, str) and packed_notes else None
    if not isinstance(packed, dict) or packed.keys() != {"code", "params"}:
        return value
    return unpack_note(value, **packed)


def translate_note(text: str, language: str, *, in_terminal: bool = False) -> str:
    """A note in `language`, as a page or a terminal says it; a plain text as it stands, unless runs
    of before notes stored it. A text `page_note.<code>` names the way on the pages, where
    `note.<code>` names a command."""
    if not isinstance(text, Note):
        return _translate_stored_text(_translate_system_error(text, language), language)
    values = {
        name: translate_note(value, language, in_terminal=in_terminal)
        if isinstance(value, Note)
        else _translate_system_error(value, language)
        for name, value in text.params.items()
    }
    if text.code == _WRONG_FIELDS:
        names = str(values["fields"]).split(", ")
        titles = (lookup_text(f"case.field.{name}", language) or name for name in names)
        values["fields"] = ", ".join(titles)
    has_own_words = not in_terminal and f"page_note.{text.code}" in load_catalogue(language)
    return t(f"{'page_note' if has_own_words else 'note'}.{text.code}", language, **values)


def _translate_system_error(value: Any, language: str) -> Any:
    """What the system or a reader of Python says of an error, such as "Permission denied"; any
    other value as it is."""
    if not isinstance(value, str) or language == DEFAULT or len(value) > _LONGEST_ERROR:
        return value
    if code := _list_system_errors().get(value):
        return t(f"os.{code}", language)
    for code, pattern in _compile_reader_patterns():
        if match := pattern.fullmatch(value):
            parts = match.groupdict().items()
            values = {name: _translate_system_error(part, language) for name, part in parts}
            return t(f"os.{code}", language, **values)
    return value


@cache
def _compile_reader_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((code, _compile_template(t(f"os.{code}", DEFAULT))) for code in _READER_PATTERNS)


def _compile_template(text: str) -> re.Pattern[str]:
    """What matches the texts that a template makes; a placeholder stands for any text."""
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.*)", re.escape(text)), re.DOTALL)


@cache
def _list_system_errors() -> dict[str, str]:
    texts = {os.strerror(getattr(errno, code)): code for code in _SYSTEM_ERRORS}
    return texts | {t(f"os.{code}", DEFAULT): code for code in _READER_ERRORS}


def find_environment_language() -> str:
    """The language that the environment asks a terminal or a program to speak."""
    return language_for_locale(next(filter(None, map(os.environ.get, _VARIABLES)), None))


def language_for_locale(locale: str | None) -> str:
    """The language to begin with for a browser's locale such as `zh-CN`."""
    prefix = (locale or "").replace("_", "-").split("-")[0].lower()
    return prefix if prefix in LANGUAGES else DEFAULT


def _translate_stored_text(text: str, language: str) -> str:
    """An English sentence that a run stored before notes kept their codes, in `language`.

    It is known by the entry of `stored_notes.json` that it fills: the wording of that time, which
    is never edited. What fills `{problem}` is such a sentence itself.
    """
    for code, pattern in _compile_stored_notes():
        if match := pattern.fullmatch(text):
            values = match.groupdict()
            if "problem" in values:
                values["problem"] = _translate_stored_text(values["problem"], language)
            return t(f"note.{code}", language, **values)
    return text


@cache
def _compile_stored_notes() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Code and pattern of every sentence."""
    stored: dict[str, str] = orjson.loads((_FOLDER / "stored_notes.json").read_bytes())
    return tuple((code, _compile_template(text)) for code, text in stored.items())


@cache
def load_catalogue(language: str) -> dict[str, str]:
    """Every text of one language by full key; an unknown language has none."""
    folder = _FOLDER / language
    if not folder.is_dir():
        return {}
    texts: dict[str, str] = {}
    for file in folder.iterdir():
        area, dot, suffix = file.name.rpartition(".")
        if dot and suffix == "json":
            entries: dict[str, str] = orjson.loads(file.read_bytes())
            texts.update({f"{area}.{name}": text for name, text in entries.items()})
    return texts
