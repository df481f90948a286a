"""Who may do what with this installation: the one place that allows or refuses.

Whatever starts a run, steers one, reads a key or writes to the store asks `require_access` first,
so that a page that forgot to hide a button gives nothing away. The command line belongs to the
operator of the host and acts as `OPERATOR`.

Without the setting `access` the address decides: on this machine alone the board is open, on any
other address read-only. The server tells its address by `set_listen_address` when it starts; a
process that serves nobody (a shell, a worker) never does and is open. What a visitor may name in
any mode but open is decided further down, by `targets.allowed` and `runner.allowed`.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Literal

import msgspec

from evalcore import passcode
from evalcore.addresses import is_this_machine
from evalcore.errors import UsageError
from evalcore.records import Record
from evalcore.settings import Settings, check_access_mode

#: launch: start and resume runs; steer: cancel, rescore, delete and restore them; edit: cards;
#: upload: hand in data sets and bundles; fetch: official data sets.
AccessAction = Literal["launch", "steer", "edit", "upload", "fetch"]
Mode = Literal["open", "read-only", "passcode", "oidc"]


class AccessDenied(UsageError):
    """The visitor may not do that here."""


class Visitor(Record, frozen=True):
    """Who asks: `name` is what a login said, "" for anybody; `proved` that a passcode or a login
    was checked and lets him in; `operator` that the process is the host's own command line;
    `remote` that he does not sit at the machine of the server, as far as can be told."""

    name: str = ""
    proved: bool = False
    operator: bool = False
    remote: bool = False


ANYBODY, OPERATOR = Visitor(), Visitor(operator=True)

READ_ONLY = "this board is read-only: nothing can be started or changed here"
NO_PASSCODE = (
    f"this board asks for a passcode and has none: its operator sets {passcode.VARIABLE} "
    f"to at least {passcode.SHORTEST} characters"
)
ASKED_PASSCODE = "this needs the passcode of the board; it is asked for in the sidebar"
ASKED_LOGIN = "this needs a login; the button is in the sidebar"
NOT_LISTED = "this account is not on the list of those who may do that here"

#: What the server told: whether it can be reached from this machine only; None before that.
_is_local_server: bool | None = None


def set_listen_address(address: str | None) -> None:
    """The server says where it listens; empty means every address that the machine has."""
    global _is_local_server  # one server per process, and the only state of this module
    _is_local_server = is_this_machine(address or "")


def resolve_access_mode(settings: Settings, visitor: Visitor = ANYBODY) -> Mode:
    """The mode that holds for a visitor; raises UsageError for a setting that names none."""
    check_access_mode(settings.access)
    if visitor.operator:
        return "open"
    if settings.access:
        return settings.access  # type: ignore[return-value]  # checked above
    return "read-only" if _is_local_server is False or visitor.remote else "open"


def restrict_settings(settings: Settings, visitor: Visitor) -> Settings:
    """The settings with what holds for a visitor: his mode, for processes that know no server, and
    no text of gated data sets unless that is open."""
    mode = resolve_access_mode(settings, visitor)
    shown = settings.show_gated and mode == "open"
    return msgspec.structs.replace(settings, access=mode, show_gated=shown)


def is_restricted(settings: Settings) -> bool:
    """Whether the work is for somebody who does not run this installation."""
    return resolve_access_mode(settings) != "open"


def require_access(settings: Settings, visitor: Visitor, action: AccessAction) -> None:
    """Raises AccessDenied, with the reason for people, where the visitor may not do that."""
    refused = explain_denial(settings, visitor, action)
    if refused:
        raise AccessDenied(refused)


def explain_denial(settings: Settings, visitor: Visitor, action: AccessAction) -> str:
    """Why the visitor may not do that, "" where he may."""
    return _REFUSALS[resolve_access_mode(settings, visitor)](visitor)


def _explain_passcode_denial(visitor: Visitor) -> str:
    if not passcode.is_passcode_usable():
        return NO_PASSCODE
    return "" if visitor.proved else ASKED_PASSCODE


def _explain_login_denial(visitor: Visitor) -> str:
    if visitor.proved and visitor.name:
        return ""
    return NOT_LISTED if visitor.name else ASKED_LOGIN


_REFUSALS: dict[Mode, Callable[[Visitor], str]] = {
    "open": lambda visitor: "",
    "read-only": lambda visitor: READ_ONLY,
    "passcode": _explain_passcode_denial,
    "oidc": _explain_login_denial,
}


def compute_visitor_id(settings: Settings, visitor: Visitor) -> str:
    """A name for a visitor that tells his runs from those of others and nobody who he is.

    It is keyed by a secret of the data folder: a plain hash of an e-mail could be looked up. All
    who know the passcode share one.
    """
    text = f"{resolve_access_mode(settings, visitor)}:{visitor.name}"
    return hmac.new(
        _load_visitor_secret(settings.data_dir), text.encode(), hashlib.sha256
    ).hexdigest()[:16]


def _load_visitor_secret(data: Path) -> bytes:
    """The secret of a data folder, made when it is first asked for; whole for whoever reads it."""
    path = data / "visitors.key"
    if not path.exists():
        data.mkdir(parents=True, exist_ok=True)
        # only its owner reads it
        with NamedTemporaryFile(dir=data, prefix=".visitors.") as key_file:
            key_file.write(secrets.token_bytes(32))
            key_file.flush()
            with suppress(FileExistsError):
                os.link(key_file.name, path)
    return path.read_bytes()
