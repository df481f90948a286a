"""Kept servers whose data folder is taken away while they run end at once and leave nothing."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalcore.errors import EnvironmentFailure
from evalcore.sqlkit.engines import Engine, Limits
from evalcore.sqlkit.engines.registry import open_engine
from tests.chaos.test_engine_servers import Clients, soon
from tests.support.engines import SERVERS, server_engine

SETUP = ["CREATE TABLE t (a INT)", "INSERT INTO t VALUES (7)"]
MARKS = ("keeper.sock", "server.sock", "server.pid", ".s.PGSQL.5432", ".s.PGSQL.5432.lock")
#: The folder's name below the data folder: a long path has its server in the temporary directory.
FOLDERS = {"in the folder": "engine", "in a substitute": "engine" * 20}
#: Either server in one of the folders for `make test`, in both for `make test-full`.
RUNNING = [
    pytest.param(
        (name, folder),
        id=f"{name}-{folder}",
        marks=() if (name == "mysql") is (folder == "in the folder") else pytest.mark.full,
    )
    for name in SERVERS
    for folder in FOLDERS
]


class Running:
    """A server that runs below `root`, with all that it holds of this machine."""

    def __init__(self, name: str, root: Path, folder: Path) -> None:
        self.clients = Clients(name, folder)
        self.root, self.place = root, self.clients.place
        self.engine: Engine = open_engine(name, Limits(), folder)
        assert self.engine.execute(SETUP, "SELECT a FROM t").status == "ok"
        keepers = self.clients.processes("engines.server_daemon")
        assert len(keepers) == 1
        self.processes = _descendants(keepers[0])
        assert len(self.processes) >= 2
        maps = "".join(Path(f"/proc/{pid}/maps").read_text() for pid in self.processes)
        self.segments = set(re.findall(r"/dev/shm/PostgreSQL\.\d+", maps))
        self.ids = set(re.findall(r"(\d+) +/SYSV", maps))
        assert bool(self.segments and self.ids) is (name == "postgres")

    @property
    def left(self) -> list[str]:
        """Processes and shared memory that are still there."""
        listed = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
        shared = self.ids & {line.split()[1] for line in listed}
        files = [segment for segment in self.segments if Path(segment).exists()]
        return [*map(str, filter(_is_alive, self.processes)), *shared, *files]

    @property
    def keepers(self) -> list[int]:
        words = (b"engines.server_daemon", bytes(self.clients.folder))
        return [
            int(entry.parent.name)
            for entry in Path("/proc").glob("[0-9]*/cmdline")
            if all(word in _read(entry) for word in words)
        ]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # ended meanwhile
        return b""


def _stat(pid: int) -> tuple[str, int]:
    """State and parent of a process."""
    words = _read(Path(f"/proc/{pid}/stat")).rpartition(b")")[2].split() or [b"X", b"0"]
    return words[0].decode(), int(words[1])


def _is_alive(pid: int) -> bool:
    return _stat(pid)[0] not in "XZ"


def _descendants(pid: int) -> list[int]:
    everybody = [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]
    children = [other for other in everybody if _stat(other)[1] == pid]
    return [pid, *(process for child in children for process in _descendants(child))]


@pytest.fixture
def root() -> Iterator[Path]:
    """A data folder that the server's user can reach."""
    with tempfile.TemporaryDirectory(
        prefix="evalboard-test-", ignore_cleanup_errors=True
    ) as folder:
        Path(folder).chmod(0o755)
        root = Path(folder) / "data"
        root.mkdir()
        yield root


def skip_without(name: str, root: Path) -> None:
    """Skip the test where the server cannot be started or its processes cannot be counted."""
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("this test counts processes by /proc; run it on Linux")
    server_engine(name, Limits(), root / "probe").close()


@pytest.fixture(params=RUNNING)
def running(request: pytest.FixtureRequest, root: Path) -> Iterator[Running]:
    name, kind = request.param
    skip_without(name, root)
    folder = root / "engines" / FOLDERS[kind]
    started = Running(name, root, folder)
    assert (started.place == folder) is (kind == "in the folder")
    yield started
    started.engine.close()
    assert soon(lambda: not started.keepers)
    shutil.rmtree(started.place, ignore_errors=True)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("connected", [True, False])
def test_a_removed_data_folder_ends_its_server(running: Running, connected: bool) -> None:
    if not connected:
        running.engine.close()
    shutil.rmtree(running.root, ignore_errors=True)
    shutil.rmtree(running.root, ignore_errors=True)  # what was written amid the first
    assert soon(lambda: not running.left), running.left
    assert soon(lambda: not running.place.exists())
    if connected:
        with pytest.raises(EnvironmentFailure, match="was removed or moved"):
            running.engine.execute(SETUP, "SELECT a FROM t")
    assert not running.root.exists()
    assert not running.place.exists()


@pytest.mark.sampled(2)
def test_a_moved_data_folder_ends_its_server_and_holds_no_marks(running: Running) -> None:
    moved = running.root.rename(running.root.with_name("moved"))
    assert soon(lambda: not running.left), running.left
    with pytest.raises(EnvironmentFailure, match="was removed or moved"):
        running.engine.execute(SETUP, "SELECT a FROM t")
    assert not running.root.exists()
    assert soon(lambda: not [path for path in moved.rglob("*") if path.name in MARKS])
    assert not list(moved.rglob("postmaster.pid"))
    with open_engine(running.clients.name, Limits(), moved / "engines" / "engine") as engine:
        assert engine.execute(SETUP, "SELECT a FROM t").status == "ok"


@pytest.mark.sampled(2)
def test_an_engine_goes_on_where_its_own_folder_alone_was_removed(running: Running) -> None:
    shutil.rmtree(running.clients.folder, ignore_errors=True)
    shutil.rmtree(running.clients.folder, ignore_errors=True)
    assert soon(lambda: not running.left), running.left
    assert running.engine.execute(SETUP, "SELECT a FROM t").status == "ok"


@pytest.mark.sampled(2)
def test_a_folder_of_the_same_name_is_another_one(running: Running) -> None:
    running.root.rename(running.root.with_name("moved"))
    running.clients.folder.mkdir(parents=True)
    assert soon(lambda: not running.left), running.left
    assert running.engine.execute(SETUP, "SELECT a FROM t").status == "ok"


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.full
def test_a_folder_that_goes_while_its_server_starts_leaves_none(name: str, root: Path) -> None:
    skip_without(name, root)
    clients = Clients(name, root / "engines" / "engine")
    folder = clients.place
    client = clients.start()
    try:
        assert soon(lambda: bool(clients.processes("engines.server_daemon")))
        shutil.rmtree(root, ignore_errors=True)
    finally:
        client.kill()
        client.communicate()

    def left() -> list[int]:
        commands = Path("/proc").glob("[0-9]*/cmdline")
        return [int(at.parent.name) for at in commands if bytes(folder) in _read(at)]

    assert soon(lambda: not left()), left()
