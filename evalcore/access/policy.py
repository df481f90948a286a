"""Who may do what with this installation, and how many bytes a session may upload: the one place
that allows or refuses."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Literal

import msgspec

from evalcore.access import login
from evalcore.access.egress import is_this_machine
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Record
from evalcore.settings import Settings, check_access_mode

# Whatever starts a run, steers one, reads a key or writes to the store asks `require_access` first,
# so that a page that forgot to hide a button gives nothing away. The command line belongs to the
# operator of the host and acts as `OPERATOR`. Without the setting `access` the address decides: on
# this machine alone the board is open, on any other address read-only. The server tells its address
# by `set_listen_address` when it starts; a process that serves nobody (a shell, a worker) never
# does and is open. What a visitor may name in any mode but open is decided further down, by
# `targets.allowed` and `runner.allowed`.

#: launch: start and resume runs; steer: cancel, rescore, delete and restore them; edit: cards;
#: upload: hand in data sets and bundles; fetch: official data sets.
AccessAction = Literal["launch", "steer", "edit", "upload", "fetch"]
Mode = Literal["open", "read-only", "passcode", "oidc"]


class AccessDenied(UsageError):
    """The visitor may not do that here."""


class Visitor(Record, frozen=True):
    """Who asks: `name` is what a login said, "" for anybody; `proved` that a passcode or a login
    was checked and lets them in; `operator` that the process is the host's own command line;
    `remote` that they do not sit at the machine of the server, as far as can be told."""

    name: str = ""
    proved: bool = False
    operator: bool = False
    remote: bool = False


ANYBODY, OPERATOR = Visitor(), Visitor(operator=True)

READ_ONLY = Note("access_read_only")
NO_PASSCODE = Note("access_no_passcode", variable=login.VARIABLE, count=login.SHORTEST)
ASKED_PASSCODE = Note("access_passcode")
ASKED_LOGIN = Note("access_login")
NOT_LISTED = Note("access_not_listed")

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
    """The settings with what holds for a visitor: their mode, for processes that know no server,
    and no text of gated data sets unless that is open."""
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
    """Why the visitor may not do that, "" where they may."""
    return _REFUSALS[resolve_access_mode(settings, visitor)](visitor)


def _explain_passcode_denial(visitor: Visitor) -> str:
    if not login.is_passcode_usable():
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
    """A name for a visitor that tells their runs from those of others and nobody who they are. A
    secret of the data folder keys it: a plain hash of an e-mail could be looked up. All who know
    the passcode share one."""
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


# Streamlit takes files at one route for every session and keeps them in memory. A page that draws
# an uploader grants its session the right to use that route; leaving the page ends it. The
# middleware `evalcore.web.middleware` asks here before it reads the first byte of a file.

MEGABYTE = 1 << 20
#: Bytes of one request: the largest file of any uploader (`server.maxUploadSize`) and its frame.
PER_FILE = 51 * MEGABYTE
#: Bytes that a session holds, in memory and in flight; its oldest files make room for a new one.
PER_SESSION = 2 * PER_FILE
#: The same of all sessions together.
IN_SUM = 4 * PER_FILE
FILES_PER_SESSION = 20
REQUESTS_PER_SESSION = 4  # at the same time
#: Seconds from the end of a connection to the end of its session's files: a short break in the
#: network loses nothing. Streamlit forgets a disconnected session after 120.
GRACE = 100.0


class UploadRefused(Exception):
    """An upload that is not read: the HTTP status, and why for the log of the browser."""

    def __init__(self, status: int, reason: str) -> None:
        self.status, self.reason = status, reason
        super().__init__(reason)


@dataclass
class _Session:
    """Bytes of each file of a session by its id, the oldest first, and of each upload in flight."""

    page: str = ""
    files: dict[str, int] = field(default_factory=dict)
    in_flight: list[int] = field(default_factory=list)
    disconnected_at: float | None = None

    def count_bytes(self) -> int:
        return sum(self.files.values()) + sum(self.in_flight)


class UploadRegistry:
    """The permits and the bytes of every session; safe for any thread. `clock` gives seconds that
    never go back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._sessions: dict[str, _Session] = {}

    def permit_session(self, session: str, page: str) -> None:
        """Let a session upload while it is on a page."""
        with self._lock:
            self._sessions.setdefault(session, _Session()).page = page

    def restrict_session(self, session: str, page: str) -> None:
        """End the permit of a session unless it is for this page; "" is none."""
        with self._lock:
            entry = self._sessions.get(session)
            if entry is not None and entry.page != page:
                entry.page = ""
                self._drop_if_empty(session)

    def begin_upload(self, session: str, size: int) -> list[str]:
        """Reserve `size` bytes; returns the ids of files that make room, which the caller removes.
        Raises UploadRefused. Every call that returns needs one of `end_upload`."""
        with self._lock:
            entry = self._sessions.get(session)
            if entry is None or not entry.page:
                raise UploadRefused(403, "nothing can be uploaded here")
            if size > PER_FILE:
                raise UploadRefused(413, "the file is too large")
            if len(entry.in_flight) >= REQUESTS_PER_SESSION:
                raise UploadRefused(429, "too many uploads at the same time")
            if sum(entry.in_flight) + size > PER_SESSION:
                raise UploadRefused(429, "too many bytes at the same time")
            removed, remaining = [], dict(entry.files)
            in_flight = sum(entry.in_flight) + size
            while remaining and (
                len(remaining) + len(entry.in_flight) >= FILES_PER_SESSION
                or sum(remaining.values()) + in_flight > PER_SESSION
            ):
                removed.append(next(iter(remaining)))
                del remaining[removed[-1]]
            others = sum(
                other.count_bytes() for other in self._sessions.values() if other is not entry
            )
            if others + sum(remaining.values()) + in_flight > IN_SUM:
                raise UploadRefused(503, "the server holds as many files as it can; try again")
            entry.files = remaining
            entry.in_flight.append(size)
            return removed

    def end_upload(self, session: str, size: int, file: str, stored: int | None) -> None:
        """Give a reservation back; `stored` is how many bytes now lie in memory, None for none."""
        with self._lock:
            entry = self._sessions.setdefault(session, _Session())
            if size in entry.in_flight:
                entry.in_flight.remove(size)
            if stored is not None:
                entry.files.pop(file, None)
                entry.files[file] = stored
            self._drop_if_empty(session)

    def remove_file(self, session: str, file: str) -> None:
        """Count a file as removed by its owner."""
        with self._lock:
            if entry := self._sessions.get(session):
                entry.files.pop(file, None)
                self._drop_if_empty(session)

    def expire_sessions(self, is_active: Callable[[str], bool]) -> list[str]:
        """Forget and return the sessions that have been without a connection for `GRACE`."""
        with self._lock:
            now, ended = self._clock(), []
            for session, entry in list(self._sessions.items()):
                if is_active(session):
                    entry.disconnected_at = None
                elif entry.disconnected_at is None:
                    entry.disconnected_at = now
                elif now - entry.disconnected_at >= GRACE and not entry.in_flight:
                    ended.append(session)
                    del self._sessions[session]
            return ended

    def count_total_bytes(self) -> int:
        """Bytes in memory and in flight, of all sessions."""
        with self._lock:
            return sum(entry.count_bytes() for entry in self._sessions.values())

    def count_sessions(self) -> int:
        """How many sessions hold a permit or a file."""
        with self._lock:
            return len(self._sessions)

    def _drop_if_empty(self, session: str) -> None:
        entry = self._sessions[session]
        if not (entry.page or entry.files or entry.in_flight):
            del self._sessions[session]


#: The registry of this server.
UPLOADS = UploadRegistry()
