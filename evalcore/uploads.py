"""Which sessions may upload files to the server, and how many bytes they may hold in its memory.

Streamlit takes files at one route for every session and keeps them in memory. A page that draws an
uploader grants its session the right to use that route; leaving the page ends it. The middleware
`evalcore.web.limits` asks here before it reads the first byte of a file.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

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
    """The permits and the bytes of every session; safe for any thread.

    `clock` gives seconds that never go back.
    """

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

        Raises UploadRefused. Every call that returns needs one of `end_upload`.
        """
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
