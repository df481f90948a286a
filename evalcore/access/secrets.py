"""Keys: where they come from, and how no text ever carries one.

A key lives in memory or the environment only. A page or shell that starts a worker hands keys it
was given over a pipe (`Secrets.to_pipe`); whatever came from outside passes `scrub_secrets` before
it may enter a journal, a log, an exception or a page.
"""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from functools import cache
from html.entities import html5
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, quote_plus, unquote

import msgspec

import evalcore
from evalcore.i18n import Note, map_note
from evalcore.records import Completion, ToolCall

_MARK = "[key removed]"
_KEY_VARIABLE = re.compile(r"(?i)key|token|secret|passw|credential")
_HUB_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "TOKENIZERS_PARALLELISM")
_SHORTEST_IN_ANSWER = 8  # characters
_LONG_WORD = 16  # letters from which on a word is no name that an answer could hold
#: Looks like a key even where we do not know it: authorization headers and the vendors' usual
#: prefixes. A masked echo (`sk-ab***yz`) counts, for it still shows part of a key.
_LIKELY = re.compile(
    r"""(?ix)
    ( (?:bearer|authorization["'\s:=]+basic)\s+
    | \bapi[-_\s]?key["'\s]*[:=]["'\s]*
    | \b(?=sk-|(?-i:hf_)|gsk_|xai-|pplx-|nvapi-|ghp_|github_pat_|AIza)
    )
    ( [A-Za-z0-9_\-.*+/=]{12,} )
    """
)


class Secrets:
    """Keys by environment-variable name: those typed for this session first, then os.environ."""

    def __init__(self, typed: Mapping[str, str] | None = None) -> None:
        self._typed = {name: value for name, value in (typed or {}).items() if value}

    def get(self, name: str) -> str | None:
        return self._typed.get(name) or os.environ.get(name) or None

    def has_key(self, name: str) -> bool:
        return self.get(name) is not None

    def is_typed(self, name: str) -> bool:
        """Whether the key was typed for this session, rather than set by the operator."""
        return name in self._typed

    def to_pipe(self) -> dict[str, str]:
        """The typed keys, to be written to the standard input of a worker and nowhere else."""
        return dict(self._typed)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(sorted(self._typed)) or 'environment only'})"


def build_child_environment(
    defaults: Mapping[str, str], keys: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """The environment of a process that runs libraries of Hugging Face and this package: this one
    over the defaults, but of its keys only the Hub's, and the given ones."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name in _HUB_VARIABLES or not _KEY_VARIABLE.search(name)
    }
    root = str(Path(evalcore.__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    return {**defaults, **inherited, **keys, "PYTHONPATH": path}


def scrub_secrets(text: str, keys: Iterable[str | None] = ()) -> str:
    """`text` without the `keys` keys, however encoded, and without anything that looks like one.
    Known keys shorter than 4 characters are left: they are placeholders, and would tear words."""
    if isinstance(text, Note):
        known_keys = list(keys)
        return map_note(text, lambda part: scrub_secrets(part, known_keys))
    for value in keys:
        if value and len(value.strip()) >= 4:
            text = _remove_key(text, value.strip())
    return _LIKELY.sub(lambda match: match.group(1) + _MARK, text)


_ADDRESS = re.compile(r"([^/?#]*://)(?:([^/?#]*)@)?([^?#]*)")


def describe_address(url: str) -> str:
    """An address without user, password and options; what is none as it is."""
    parts = _ADDRESS.match(url)
    return f"{parts[1]}{parts[3]}" if parts else url


def scrub_address(text: str, url: str) -> str:
    """A message in one line, without what the address in it may hold of keys."""
    parts = _ADDRESS.match(url)
    password = (parts[2] or "").partition(":")[2] if parts else ""
    line = " ".join(text.split()).replace(url, describe_address(url))
    return scrub_secrets(line, [password, unquote(password)])


def redact_keys(text: str, keys: Iterable[str | None]) -> str:
    """Return an answer without the keys that were sent to whom it is from, however encoded.

    Nothing else is touched, since a changed answer would be scored differently: what merely looks
    like a key stays, and so does a key that is short or a plain word (`password`, `lm-studio` of a
    server that wants none), for it could be a name in an honest answer.

    A server that has a key can always spell it in a way that no reader of texts foresees: split
    over two fields or two answers, reversed, with blanks, in other alphabets, enciphered. What is
    redacted is what echoes and the usual encodings leave: escapes of JSON, addresses and HTML, also
    nested and with invisible characters in between; other case; hexadecimal and base64 as a whole.
    """
    for key in filter(None, keys):
        bare = key.strip()
        if len(bare) >= _SHORTEST_IN_ANSWER and (not bare.isalpha() or len(bare) >= _LONG_WORD):
            text = _remove_key(text, bare)
    return text


def redact_completion(completion: Completion, keys: Iterable[str | None]) -> Completion:
    """Return an answer without the keys that were sent for it, in none of its fields."""
    secret = list(keys)
    if not secret:
        return completion
    calls = tuple(
        ToolCall(
            redact_keys(call.id, secret),
            redact_keys(call.name, secret),
            redact_keys(call.arguments, secret),
        )
        for call in completion.tool_calls
    )
    return msgspec.structs.replace(
        completion,
        text=redact_keys(completion.text, secret),
        reasoning=redact_keys(completion.reasoning, secret),
        model=redact_keys(completion.model, secret),
        tool_calls=calls,
        opaque=_redact_texts(completion.opaque, secret),
    )


def _redact_texts(value: Any, keys: list[str | None]) -> Any:
    """Plain data with `redact_keys` of every text in it."""
    if isinstance(value, dict):
        return {name: _redact_texts(item, keys) for name, item in value.items()}
    if isinstance(value, list):
        return [_redact_texts(item, keys) for item in value]
    return redact_keys(value, keys) if isinstance(value, str) else value


def _remove_key(text: str, key: str) -> str:
    for form in _list_key_forms(key):
        text = text.replace(form, _MARK)
    if any(sign in text for sign in ("\\", "%", "&")) or _INVISIBLE.search(text):
        text = _build_escaped_pattern(key).sub(_MARK, text)
    return text


#: Characters that take no room on a screen: controls but tab and line ends, format characters,
#: fillers and variation selectors.
_INVISIBLE = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)
#: Repetitions are bounded, so that a text of nothing but backslashes takes time linear in it.
_SLASHES, _PERCENT, _ENTITY = r"\\{1,16}", "%(?:25){0,8}", "&(?:amp;){0,8}"


@cache
def _build_escaped_pattern(key: str) -> re.Pattern[str]:
    """A key of which any character may be escaped, as JSON (also within JSON), an address or HTML
    does it, with invisible characters between them that may be escaped too."""
    gap = f"(?:{_INVISIBLE.pattern}|{_build_invisible_pattern()})*+"
    return re.compile(
        gap.join(f"(?:{re.escape(c)}|{_build_character_pattern(c)})" for c in key), re.IGNORECASE
    )


def _build_character_pattern(character: str) -> str:
    """Pattern of a character as JSON, addresses and HTML escape it."""
    code = ord(character)
    octets = "".join(f"{_PERCENT}{octet:02x}" for octet in character.encode())
    names = "|".join(
        name for name, value in html5.items() if value == character and name[-1] == ";"
    )
    return (
        rf"{_SLASHES}(?:u0{{0,4}}{code:02x}|u\{{0{{0,6}}{code:x}\}}|x{code:02x}|{re.escape(character)})"
        rf"|{octets}|{_PERCENT}u{code:04x}"
        rf"|{_ENTITY}(?:\#0{{0,8}}{code};|\#x0{{0,8}}{code:x};{'|' + names if names else ''})"
    )


@cache
def _build_invisible_pattern() -> str:
    """Pattern of the invisible characters that are in use, escaped."""
    return "|".join(map(_build_character_pattern, "\xad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"))


@cache
def _list_key_forms(key: str) -> tuple[str, ...]:
    """A key as it may stand in an address, in JSON, in other case, in hexadecimal or in base64,
    longest first."""
    forms = {key, key.lower(), key.upper(), quote(key, safe=""), quote_plus(key)}
    forms |= {json.dumps(key)[1:-1], key.encode().hex(), key.encode().hex().upper()}
    for shift in range(3):  # bytes that stand before it in a group of three
        coded = b64encode(b"\0" * shift + key.encode()).decode().rstrip("=")
        whole = coded[-(-shift * 8 // 6) : (shift + len(key.encode())) * 8 // 6]
        forms |= {whole, whole.replace("+", "-").replace("/", "_")}
    return tuple(sorted(forms, key=len, reverse=True))
