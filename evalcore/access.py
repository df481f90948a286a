"""Who may do what with this installation: the one place that allows or refuses.

Whatever starts a run, steers one, reads a key or writes to the store asks `require` first, so that
a page that forgot to hide a button gives nothing away. The command line belongs to the operator of
the host and acts as `OPERATOR`.
"""

from __future__ import annotations

from typing import Literal

from evalcore.errors import UsageError
from evalcore.records import Record
from evalcore.settings import Settings

#: launch: start and resume runs; steer: cancel, rescore, delete and restore them; edit: cards;
#: upload: hand in data sets and bundles; fetch: official data sets.
Act = Literal["launch", "steer", "edit", "upload", "fetch"]
Mode = Literal["open", "read-only", "passcode", "oidc"]


class AccessDenied(UsageError):
    """The visitor may not do that here."""


class Visitor(Record, frozen=True):
    """Who asks: `name` is what a login said, "" for anybody; `proved` that a login or passcode was
    checked; `operator` that the process is the host's own command line."""

    name: str = ""
    proved: bool = False
    operator: bool = False


ANYBODY, OPERATOR = Visitor(), Visitor(operator=True)


def require(settings: Settings, visitor: Visitor, act: Act) -> None:
    """Raises AccessDenied, with the reason for people, where the visitor may not do that."""
    refused = refusal(settings, visitor, act)
    if refused:
        raise AccessDenied(refused)


def refusal(settings: Settings, visitor: Visitor, act: Act) -> str:
    """Why the visitor may not do that, "" where he may."""
    if visitor.operator or settings.access == "open":
        return ""
    return "this board is read-only: nothing can be started or changed here"
