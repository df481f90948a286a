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
from urllib.parse import quote, quote_plus

_MARK = "[key removed]"
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
            for form in _forms(value.strip()):
                text = text.replace(form, _MARK)
    return _LIKELY.sub(lambda match: match.group(1) + _MARK, text)


def _forms(key: str) -> list[str]:
    """A key as it may stand in an address, in JSON or in a basic authorization, longest first."""
    forms = {key, quote(key, safe=""), quote_plus(key), json.dumps(key)[1:-1]}
    forms |= {b64encode(user + key.encode()).decode().rstrip("=") for user in (b"", b":")}
    return sorted(forms, key=len, reverse=True)
