"""Reading results of PostgreSQL as they come, with values as JSON has them.

Results arrive in portions, so that of one without end no more is taken than its cap. What Python's
types cannot hold (a year after 9999, thousands of digits) stays text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal
from typing import Any

import psycopg
from psycopg import pq
from psycopg.abc import Buffer
from psycopg.adapt import Loader, Transformer
from psycopg.generators import fetch, send

from evalcore.sqlkit.engines import Limits, StatementResult
from evalcore.sqlkit.engines.backend import fetch_table

_PORTION = 256
_LONGEST_NUMBER = 300
_PORTIONS_SINCE = 17_00_00  # libpq's version that can send rows in portions
_ROWS = (pq.ExecStatus.TUPLES_CHUNK, pq.ExecStatus.SINGLE_TUPLE, pq.ExecStatus.TUPLES_OK)
_DONE = (*_ROWS, pq.ExecStatus.COMMAND_OK, pq.ExecStatus.EMPTY_QUERY)
_COPIES = (pq.ExecStatus.COPY_IN, pq.ExecStatus.COPY_OUT)
_CHANGES = (b"INSERT", b"UPDATE", b"DELETE", b"MERGE")
Result = pq.abc.PGresult
Session = psycopg.Connection[Any]


class _Text(Loader):
    """A value as the server spells it."""

    def load(self, data: Buffer) -> Any:
        return bytes(data).decode()


class _Number(Loader):
    """A number, unless it is too long to be worth one."""

    def load(self, data: Buffer) -> Any:
        text = bytes(data).decode()
        return Decimal(text) if len(text) <= _LONGEST_NUMBER else text


class _Date(Loader):
    """A date where Python has it."""

    def load(self, data: Buffer) -> Any:
        text = bytes(data).decode()
        try:
            return date.fromisoformat(text)
        except ValueError:
            return text


_LOADERS: dict[str, type[Loader]] = {
    "numeric": _Number,
    "date": _Date,
    **dict.fromkeys(("timestamp", "timestamptz", "time", "timetz", "interval"), _Text),
}


def register_loaders(session: Session) -> None:
    """Make a session's results load as this module says."""
    for name, loader in _LOADERS.items():
        session.adapters.register_loader(name, loader)


def run_postgres_statement(
    session: Session, sql: str, limits: Limits, *, last: bool
) -> StatementResult:
    """Run one statement; raises psycopg.Error.

    Rows beyond the limits are cancelled, which aborts the transaction, or thrown away one by one
    where another statement is to follow (`last` is false).
    """
    session.pgconn.send_query_params(sql.encode(), None)
    _ask_for_portions(session.pgconn)
    session.wait(send(session.pgconn))
    results = _ResultStream(session)
    try:
        result = _read_postgres_result(results, limits)
        if result.table is not None and result.table.truncated and last:
            session.cancel_safe()
            results.drain_results()
            return result
        results.consume_rest()
    except psycopg.Error:
        results.drain_results()
        raise
    return result


def _ask_for_portions(connection: pq.abc.PGconn) -> None:
    if pq.version() >= _PORTIONS_SINCE:
        connection.set_chunked_rows_mode(_PORTION)
    else:
        connection.set_single_row_mode()


def _read_postgres_result(results: _ResultStream, limits: Limits) -> StatementResult:
    first = results.next_result()
    if first is None or first.status not in _ROWS:
        return StatementResult(affected=_count_changed_rows(first))
    columns = [(first.fname(number) or b"").decode() for number in range(first.nfields)]
    table = fetch_table(columns, results.make_batch_fetcher(first), limits)
    changed = results.tag.startswith(_CHANGES) and not table.truncated
    return StatementResult(tables=(table,), affected=len(table.rows) if changed else None)


def _count_changed_rows(result: Result | None) -> int | None:
    """The number of rows by the tag of a command that changes rows."""
    tag = (result.command_status if result else None) or b""
    return result.command_tuples if result and tag.startswith(_CHANGES) else None


class _ResultStream:
    """The results of one statement, one after the other; `tag` is what the command calls itself."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.tag = b""

    def next_result(self) -> Result | None:
        """The next one, None after the last; raises the error that it may be."""
        result: Result | None = self._session.wait(fetch(self._session.pgconn))
        if result is None:
            return None
        if result.status in _COPIES:
            self._refuse_copy(result.status)
        if result.status not in _DONE:
            raise psycopg.errors.error_from_result(result)
        self.tag = result.command_status or self.tag
        return result

    def _refuse_copy(self, status: int) -> None:
        """Get out of the mode in which a COPY to or from the client has left the session."""
        connection = self._session.pgconn
        if status == pq.ExecStatus.COPY_IN:
            connection.put_copy_end(b"refused")
        else:
            self._session.cancel_safe()
            with suppress(psycopg.Error):
                while connection.get_copy_data(0)[0] > 0:
                    pass
        raise psycopg.errors.InsufficientPrivilege("COPY is not run")

    def make_batch_fetcher(self, first: Result) -> Callable[[int], Sequence[Sequence[Any]]]:
        """A function that gives the next rows at each call, none at the end."""
        transformer = Transformer(self._session)
        pending: list[Result] = [first]

        def fetch_batch(_: int) -> Sequence[Sequence[Any]]:
            while (result := pending.pop() if pending else self.next_result()) is not None:
                if result.ntuples:
                    transformer.set_pgresult(result)
                    return transformer.load_rows(0, result.ntuples, tuple)
            return ()

        return fetch_batch

    def consume_rest(self) -> None:
        while self.next_result() is not None:
            pass

    def drain_results(self) -> None:
        """Take what is still on the way, errors too, so that the session can go on."""
        while self._session.pgconn.status == pq.ConnStatus.OK:
            if self._session.wait(fetch(self._session.pgconn)) is None:
                return
