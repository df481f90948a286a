"""The client's clock over a statement, beside the server's, which a statement might change."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from evalcore.sqlkit.engines.served.database_pool import DatabaseSlot

#: Seconds that the server's own limit gets to act first; then between two cancels; then to give up.
_GRACE, _AGAIN, _CANCELS = 0.1, 0.1, 4


class StatementWatchdog:
    """Cancels the statement of a slot after `seconds`, and cuts its connection if that is ignored.

    `fired` tells that it did; the session must then be replaced, since a late cancel could still
    arrive.
    """

    def __init__(self, slot: DatabaseSlot, seconds: float) -> None:
        self.fired = False
        self._slot, self._seconds = slot, seconds
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._cancel_overdue, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()

    def _cancel_overdue(self) -> None:
        if self._done.wait(self._seconds + _GRACE):
            return
        self.fired = True
        for _ in range(_CANCELS):
            self._slot.cancel_statement()
            if self._done.wait(_AGAIN):
                return
        self._slot.cut_connection()
