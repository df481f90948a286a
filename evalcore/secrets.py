"""Keys: where they come from, and how no text ever carries one.

A key lives in memory or the environment only. A page or shell that starts a worker hands keys it
was given over a pipe (`Secrets.to_pipe`); whatever came from outside passes `scrub` before it may
enter a journal, a log, an exception or a page.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

_MARK = "[key removed]"
#: Looks like a key even where we do not know it: bearer headers and the vendors' usual prefixes.
_LIKELY = re.compile(
    r"(?i)(bearer\s+|api[-_]?key[\"'\s:=]+|\b(?=sk-|hf_|gsk_|AIza))([A-Za-z0-9_\-.]{12,})"
)


class Secrets:
    """Keys by environment-variable name: those typed for this session first, then os.environ."""

    def __init__(self, typed: Mapping[str, str] | None = None) -> None:
        self._typed = {name: value for name, value in (typed or {}).items() if value}

    def get(self, name: str) -> str | None:
        return self._typed.get(name) or os.environ.get(name) or None

    def has(self, name: str) -> bool:
        return self.get(name) is not None

    def to_pipe(self) -> dict[str, str]:
        """The typed keys, to be written to the standard input of a worker and nowhere else."""
        return dict(self._typed)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(sorted(self._typed)) or 'environment only'})"


def scrub(text: str, known: Iterable[str | None] = ()) -> str:
    """`text` without the `known` keys and without anything that looks like one."""
    for value in known:
        if value and len(value) >= 4:
            text = text.replace(value, _MARK)
    return _LIKELY.sub(lambda match: match.group(1) + _MARK, text)
