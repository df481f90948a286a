"""Opening a served engine: by the DSN that names a server, or on a server kept in a folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from evalcore.errors import EnvironmentFailure, MissingDependency, UsageError
from evalcore.sqlkit.engines.base import Limits
from evalcore.sqlkit.engines.served.database_pool import DatabaseServer
from evalcore.sqlkit.engines.served.engine import ServedEngine
from evalcore.sqlkit.engines.served.server_binaries import PROGRAMS, SOCKET
from evalcore.sqlkit.engines.served.server_lease import acquire_server_lease

_RETRY_SECONDS, _PAUSE_SECONDS = 10.0, 0.2
#: The client's library of each kind of server, which is also in an extra of its name.
_CLIENT_LIBRARIES = {"postgres": "psycopg", "mysql": "pymysql"}
_SCHEMES = {"postgres": ("postgres", "postgresql"), "mysql": ("mysql", "mariadb")}


def open_served(name: str, limits: Limits, folder: Path, dsn: str = "") -> ServedEngine:
    """The engine `name` (postgres, mysql), which connects at its first use.

    Raises MissingDependency, with the remedy, where a library or the server's programs are missing
    and no DSN names a server, and UsageError for a DSN that cannot be read.
    """
    if find_spec(_CLIENT_LIBRARIES[name]) is None:
        raise MissingDependency(
            f"SQL engine {name} needs the extra {name} (pip install 'evalboard[{name}]')"
        )
    if dsn:
        parameters = _parse_dsn(name, dsn)
        return ServedEngine(name, limits, lambda: _SERVERS[name](parameters, limits, None))
    PROGRAMS[name].find()
    return ServedEngine(name, limits, _build_local_connector(name, limits, folder))


def _build_local_connector(name: str, limits: Limits, folder: Path) -> Callable[[], DatabaseServer]:
    """What connects to the kept server: to a new one where it has died, unless its folder was
    removed with the data folder above, which is not made anew."""
    connected = False

    def connect_server() -> DatabaseServer:
        nonlocal connected
        if connected and not folder.parent.exists():
            raise EnvironmentFailure(
                f"the folder {folder.parent} was removed or moved while the {name} server ran "
                "below it; start again with a data folder that stays"
            )
        server = _connect_local(name, limits, folder)
        connected = True
        return server

    return connect_server


def _connect_local(name: str, limits: Limits, folder: Path) -> DatabaseServer:
    """A session on the kept server; again where it has just died and its keeper is yet to see."""
    deadline = time.monotonic() + _RETRY_SECONDS
    while True:
        lease = acquire_server_lease(folder, name)
        try:
            return _SERVERS[name](_LOCAL_PARAMETERS[name](lease.server_folder), limits, lease)
        except EnvironmentFailure:
            lease.close()
            if time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE_SECONDS)


def _parse_dsn(name: str, dsn: str) -> dict[str, Any]:
    """A DSN as the parameters of its library. No message repeats it, as it holds a password."""
    variable = f"EVALBOARD_{name.upper()}_DSN"
    example = f"{_SCHEMES[name][0]}://user:password@host:port/"
    try:
        parts = urlsplit(dsn)
        port = parts.port
    except ValueError:
        raise UsageError(f"{variable} cannot be read; its form is {example}") from None
    if parts.scheme not in _SCHEMES[name]:
        raise UsageError(f"{variable} must have the form {example}")
    parameters = {
        "host": unquote(parts.hostname or ""),
        "port": port,
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
    }
    if name == "postgres":
        parameters["dbname"] = unquote(parts.path.strip("/")) or "postgres"
    return {key: value for key, value in parameters.items() if value} | dict(parse_qsl(parts.query))


def _open_postgres_server(parameters: dict[str, Any], limits: Limits, lease: Any) -> DatabaseServer:
    from evalcore.sqlkit.engines.served.postgres import PostgresServer

    return PostgresServer(parameters, limits, lease)


def _open_mysql_server(parameters: dict[str, Any], limits: Limits, lease: Any) -> DatabaseServer:
    from evalcore.sqlkit.engines.served.mysql import MysqlServer

    return MysqlServer(parameters, limits, lease)


_SERVERS: dict[str, Callable[[dict[str, Any], Limits, Any], DatabaseServer]] = {
    "postgres": _open_postgres_server,
    "mysql": _open_mysql_server,
}
_LOCAL_PARAMETERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "postgres": lambda server_folder: {
        "host": str(server_folder),
        "user": "postgres",
        "dbname": "postgres",
    },
    "mysql": lambda server_folder: {"unix_socket": str(server_folder / SOCKET), "user": "root"},
}
