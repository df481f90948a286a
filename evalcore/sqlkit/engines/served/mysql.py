"""A session of an administrator on MySQL or MariaDB, who gives slots and takes them back."""

from __future__ import annotations

import secrets
from contextlib import suppress
from itertools import count
from typing import Any

import pymysql

from evalcore.errors import EnvironmentFailure
from evalcore.sqlkit.engines.base import Limits
from evalcore.sqlkit.engines.served.database_pool import ConnectionLost, DatabaseSlot
from evalcore.sqlkit.engines.served.mysql_dialect import DEFAULT
from evalcore.sqlkit.engines.served.mysql_slot import MysqlSlot, connect_mysql, fetch_rows
from evalcore.sqlkit.engines.served.server_lease import ServerLease

_NAME = "evalboard_slot_{}"
_RIGHTS = (
    "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, REFERENCES, INDEX, ALTER, CREATE VIEW, "
    "SHOW VIEW, CREATE TEMPORARY TABLES, CREATE ROUTINE, ALTER ROUTINE, EXECUTE, TRIGGER"
)
Parameters = dict[str, Any]


class MysqlServer:
    """See `slots.Server`. `hold` is the claim on a kept server, None for one by DSN."""

    def __init__(
        self, parameters: Parameters, limits: Limits, lease: ServerLease | None = None
    ) -> None:
        self._parameters, self._limits, self._lease = parameters, limits, lease
        try:
            self._admin = connect_mysql(parameters)
            self.version = str(fetch_rows(self._admin, "SELECT VERSION()")[0][0])
        except pymysql.MySQLError as error:
            code = error.args[0] if error.args else ""
            raise EnvironmentFailure(f"MySQL takes no connection (error {code})") from None
        self._claimed: set[int] = set()

    def claim_slot(self) -> DatabaseSlot:
        try:
            number = next(n for n in count(1) if n not in self._claimed and self._lock_slot(n))
            self._drop_slot(number)
            return self._create_slot(number)
        except pymysql.MySQLError as error:
            if not self._admin.open:
                raise ConnectionLost from None
            raise EnvironmentFailure(
                f"the user of EVALBOARD_MYSQL_DSN must be allowed to create databases and users "
                f"(error {error.args[0]})"
            ) from None

    def close(self) -> None:
        with suppress(pymysql.MySQLError):  # a server that has gone holds nothing
            for number in self._list_slot_numbers():
                if number in self._claimed or self._lock_slot(number):
                    self._drop_slot(number)
            self._admin.close()
        self._claimed.clear()
        if self._lease is not None:
            self._lease.close()

    def _lock_slot(self, number: int) -> bool:
        """Claim a slot's name for as long as this session lasts."""
        return bool(fetch_rows(self._admin, f"SELECT GET_LOCK('{_NAME.format(number)}', 0)")[0][0])

    def _list_slot_numbers(self) -> list[int]:
        beginning = _NAME.format("")
        rows = fetch_rows(self._admin, f"SHOW DATABASES LIKE '{beginning}%'")
        return [int(row[0][len(beginning) :]) for row in rows]

    def _drop_slot(self, number: int) -> None:
        name = _NAME.format(number)
        fetch_rows(self._admin, f"DROP DATABASE IF EXISTS {name}")
        fetch_rows(self._admin, f"DROP USER IF EXISTS {name}")

    def _create_slot(self, number: int) -> MysqlSlot:
        name, password = _NAME.format(number), f"{secrets.token_hex(16)}Aa1!"
        fetch_rows(self._admin, f"CREATE USER {name} IDENTIFIED BY '{password}'")
        fetch_rows(self._admin, f"GRANT {_RIGHTS} ON {name}.* TO {name}")
        self._claimed.add(number)
        own = {**self._parameters, "user": name, "password": password}
        return MysqlSlot(name, own, self, self._limits)

    def recreate_database(self, name: str) -> None:
        """Make the database of a slot anew."""
        fetch_rows(self._admin, f"DROP DATABASE IF EXISTS {name}")
        collation = f" COLLATE {DEFAULT}" if self.is_mariadb else ""
        fetch_rows(self._admin, f"CREATE DATABASE {name} CHARACTER SET utf8mb4{collation}")

    def set_password(self, name: str, password: str) -> None:
        """Give a slot's user its password back."""
        fetch_rows(self._admin, f"ALTER USER {name} IDENTIFIED BY '{password}'")

    @property
    def is_mariadb(self) -> bool:
        return "MariaDB" in self.version

    def kill_query(self, session: int) -> None:
        """End the statement of a session; from a session of its own, as this runs in any thread."""
        with suppress(pymysql.MySQLError):  # the statement may have ended just now
            other = connect_mysql(self._parameters)
            try:
                fetch_rows(other, f"KILL QUERY {session}")
            finally:
                other.close()
