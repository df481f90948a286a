"""A session of an administrator on PostgreSQL, who gives slots and takes them back."""

from __future__ import annotations

import secrets
from contextlib import suppress
from itertools import count
from typing import LiteralString

import psycopg
from psycopg import sql

from evalcore.errors import EnvironmentFailure
from evalcore.sqlkit.engines.base import Limits
from evalcore.sqlkit.engines.served.database_pool import ConnectionLost, DatabaseSlot
from evalcore.sqlkit.engines.served.postgres_slot import Parameters, PostgresSlot, connect_postgres
from evalcore.sqlkit.engines.served.server_lease import ServerLease

_NAME = "evalboard_slot_{}"
_LOCKS = 0x45564C42  # the first half of the advisory locks by which slots are claimed
#: How a database is made so that text compares by code points, by the first version that has it.
_KINDS: tuple[tuple[int, LiteralString], ...] = (
    (170_000, "STRATEGY file_copy LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8'"),
    (150_000, "STRATEGY file_copy LOCALE_PROVIDER libc"),
    (0, ""),
)


class PostgresServer:
    """See `slots.Server`. `hold` is the claim on a kept server, None for one by DSN."""

    def __init__(
        self, parameters: Parameters, limits: Limits, lease: ServerLease | None = None
    ) -> None:
        self._parameters, self._limits, self._lease = parameters, limits, lease
        try:
            self._admin = connect_postgres(parameters)
        except psycopg.Error as error:
            reason = str(error).strip().splitlines()[0].rsplit(": ", 1)[-1]
            raise EnvironmentFailure(f"PostgreSQL takes no connection: {reason}") from None
        self._claimed: dict[int, PostgresSlot] = {}
        self.version = self._admin.info.parameter_status("server_version") or ""

    def claim_slot(self) -> DatabaseSlot:
        try:
            number = next(n for n in count(1) if n not in self._claimed and self._lock_slot(n))
            self._drop_slot(number)
            self._claimed[number] = slot = self._create_slot(number)
        except psycopg.errors.InsufficientPrivilege:
            raise EnvironmentFailure(
                "the user of EVALBOARD_POSTGRES_DSN must be allowed to create databases and roles"
            ) from None
        except psycopg.OperationalError:
            raise ConnectionLost from None
        return slot

    def close(self) -> None:
        for slot in self._claimed.values():
            slot.close()
        with suppress(psycopg.Error):  # a server that has gone holds nothing
            for number in self._list_slot_numbers():
                if number in self._claimed or self._lock_slot(number):
                    self._drop_slot(number)
        self._claimed.clear()
        self._admin.close()
        if self._lease is not None:
            self._lease.close()

    def _lock_slot(self, number: int) -> bool:
        """Claim a slot's name for as long as this session lasts."""
        cursor = self._admin.execute("SELECT pg_try_advisory_lock(%s, %s)", (_LOCKS, number))
        row = cursor.fetchone()
        return bool(row and row[0])

    def _list_slot_numbers(self) -> list[int]:
        beginning = _NAME.format("")
        query = "SELECT datname FROM pg_database WHERE starts_with(datname::text, %s)"
        names = (row[0] for row in self._admin.execute(query, (beginning,)))
        return [int(name[len(beginning) :]) for name in names]

    def _drop_slot(self, number: int) -> None:
        name = sql.Identifier(_NAME.format(number))
        self._admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))
        self._admin.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(name))

    def _create_slot(self, number: int) -> PostgresSlot:
        name, password = _NAME.format(number), secrets.token_hex(16)
        database = sql.Identifier(name)
        version = self._admin.info.server_version
        kind = next(text for since, text in _KINDS if version >= since)
        for command in (
            sql.SQL(
                "CREATE ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD {}"
            ).format(database, sql.Literal(password)),
            sql.SQL("GRANT {} TO CURRENT_USER").format(database),
            sql.SQL(
                "CREATE DATABASE {} OWNER {} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' "
                "LC_CTYPE 'C' {}"
            ).format(database, database, sql.SQL(kind)),
            sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database),
        ):
            self._admin.execute(command)
        own = {"dbname": name, "user": name, "password": password}
        return PostgresSlot({**self._parameters, **own}, self._limits)
