"""Keys: where they come from, and how no text ever carries one.

A key lives in memory or the environment only. A page or shell that starts a worker hands keys it
was given over a pipe (`Secrets.to_pipe`); whatever came from outside passes `scrub` before it may
enter a journal, a log, an exception or a page.
"""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from functools import cache
from urllib.parse import quote, quote_plus

import msgspec

from evalcore.records import Completion, ToolCall

_MARK = "[key removed]"
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

    def has(self, name: str) -> bool:
        return self.get(name) is not None

    def typed(self, name: str) -> bool:
        """Whether the key was typed for this session, rather than set by the operator."""
        return name in self._typed

    def to_pipe(self) -> dict[str, str]:
        """The typed keys, to be written to the standard input of a worker and nowhere else."""
        return dict(self._typed)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(sorted(self._typed)) or 'environment only'})"


def scrub(text: str, known: Iterable[str | None] = ()) -> str:
    """`text` without the `known` keys, however encoded, and without anything that looks like one.

    Known keys shorter than 4 characters are left: they are placeholders, and would tear words.
    """
    for value in known:
        if value and len(value.strip()) >= 4:
            text = _without(text, value.strip())
    return _LIKELY.sub(lambda match: match.group(1) + _MARK, text)


def redact(text: str, keys: Iterable[str | None]) -> str:
    """Return an answer without the keys that were sent to whom it is from, however encoded.

    Nothing else is touched, since a changed answer would be scored differently: what merely looks
    like a key stays, and so does a key that is short or a plain word (`password`, `lm-studio` of a
    server that wants none), for it could be a name in an honest answer.
    """
    for key in filter(None, keys):
        bare = key.strip()
        if len(bare) >= _SHORTEST_IN_ANSWER and (not bare.isalpha() or len(bare) >= _LONG_WORD):
            text = _without(text, bare)
    return text


def redact_completion(completion: Completion, keys: Iterable[str | None]) -> Completion:
    """Return an answer without the keys that were sent for it, in none of its fields."""
    secret = list(keys)
    if not secret:
        return completion
    calls = tuple(
        ToolCall(redact(call.id, secret), redact(call.name, secret), redact(call.arguments, secret))
        for call in completion.tool_calls
    )
    return msgspec.structs.replace(
        completion,
        text=redact(completion.text, secret),
        reasoning=redact(completion.reasoning, secret),
        model=redact(completion.model, secret),
        tool_calls=calls,
    )


def _without(text: str, key: str) -> str:
    for form in _forms(key):
        text = text.replace(form, _MARK)
    if any(sign in text for sign in ("\\", "%", "&#")):
        text = _escaped(key).sub(_MARK, text)
    return text


@cache
def _escaped(key: str) -> re.Pattern[str]:
    """A key of which any character may be escaped, as JSON (also within JSON), an address or HTML
    does it."""
    characters = (
        rf"(?:{re.escape(c)}|\\+{re.escape(c)}|\\+u00{ord(c):02x}|\\+x{ord(c):02x}|%{ord(c):02x}"
        rf"|&\#0*{ord(c)};|&\#x0*{ord(c):x};)"
        for c in key
    )
    return re.compile("".join(characters), re.IGNORECASE)


@cache
def _forms(key: str) -> tuple[str, ...]:
    """A key as it may stand in an address, in JSON, in other case, in hexadecimal or in base64,
    longest first."""
    forms = {key, key.lower(), key.upper(), quote(key, safe=""), quote_plus(key)}
    forms |= {json.dumps(key)[1:-1], key.encode().hex(), key.encode().hex().upper()}
    for shift in range(3):  # bytes that stand before it in a group of three
        coded = b64encode(b"\0" * shift + key.encode()).decode().rstrip("=")
        whole = coded[-(-shift * 8 // 6) : (shift + len(key.encode())) * 8 // 6]
        forms |= {whole, whole.replace("+", "-").replace("/", "_")}
    return tuple(sorted(forms, key=len, reverse=True))
