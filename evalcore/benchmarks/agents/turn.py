"""One turn of an agent: words to the user, or calls of tools."""

from __future__ import annotations

from typing import Any

from evalcore.records import Record


class AgentCall(Record, frozen=True):
    """A call that an agent wrote; with a `problem` its arguments could not be read."""

    name: str
    kwargs: dict[str, Any] = {}
    problem: str = ""


class AgentTurn(Record, frozen=True):
    """`calls`, else what is `user_message` to the user, else a `problem`: a call that nobody can
    read.

    Words beside calls are for nobody, as in tau-bench.
    """

    user_message: str = ""
    calls: tuple[AgentCall, ...] = ()
    problem: str = ""


def replace_surrogates(text: str) -> str:
    """The text in characters that a file can hold: halves of surrogate pairs are replaced."""
    return text if text.isascii() else text.encode(errors="replace").decode()
