"""Kept servers: shared while used, gone soon after the last client, whatever dies in between."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from evalcore.errors import EnvironmentFailure
from evalcore.sqlkit.engines import Limits
from evalcore.sqlkit.engines.cards import SOCKET
from evalcore.sqlkit.engines.local_server import (
    PROGRAMS,
    acquire_server_lease,
    prepare_server_folder,
)
from evalcore.sqlkit.engines.mysql import connect_mysql, fetch_rows
from evalcore.sqlkit.engines.registry import open_engine
from tests.support.engines import SERVERS, server_engine

USERS = PROGRAMS["mysql"].users
SOON = 180.0
CLIENT = """
import sys, pathlib
from evalcore.sqlkit.engines.mysql import connect_mysql, fetch_rows
from evalcore.sqlkit.engines.registry import open_engine
engine = open_engine(sys.argv[1], folder=pathlib.Path(sys.argv[2]))
print(engine.execute(["CREATE TABLE t (a INT)"], "SELECT count(*) FROM t").status, flush=True)
sys.stdin.read()
"""


class Clients:
    """Processes that use the server of a folder until they are killed."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.started: list[subprocess.Popen[bytes]] = []

    @property
    def place(self) -> Path:
        return prepare_server_folder(self.folder, PROGRAMS[self.name].users)

    def start(self) -> subprocess.Popen[bytes]:
        client = subprocess.Popen(
            [sys.executable, "-c", CLIENT, self.name, str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.started.append(client)
        return client

    def work(self, client: subprocess.Popen[bytes]) -> bool:
        assert client.stdout is not None
        return client.stdout.readline() == b"ok\n"

    def processes(self, *words: str) -> list[int]:
        """The processes that have this server's place and `words` in their command line."""
        expected = [os.fsencode(self.place), *map(str.encode, words)]
        return [pid for pid, line in _commands() if all(word in line for word in expected)]

    @property
    def servers(self) -> list[int]:
        return self.processes("/data")

    @property
    def keepers(self) -> list[int]:
        return self.processes("engines.server_daemon")


def _commands() -> Iterator[tuple[int, bytes]]:
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield int(entry.parent.name), entry.read_bytes()
        except OSError:  # ended meanwhile
            continue


def soon(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.1)
    return holds()


@pytest.fixture(params=SERVERS)
def clients(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Clients]:
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("this test counts processes by /proc; run it on Linux")
    server_engine(request.param, Limits(), tmp_path).close()
    result = Clients(request.param, tmp_path)
    yield result
    for client in result.started:
        client.kill()
        client.communicate()
    assert soon(lambda: not result.servers and not result.keepers)
    shutil.rmtree(result.place)


@pytest.mark.sampled(2)
def test_two_clients_share_one_server_that_ends_with_the_last(clients: Clients) -> None:
    first, second = clients.start(), clients.start()
    assert clients.work(first)
    assert clients.work(second)
    assert (len(clients.servers), len(clients.keepers)) == (1, 1)
    first.kill()
    first.wait()
    time.sleep(3)
    assert len(clients.servers) == 1
    second.kill()
    second.wait()
    assert soon(lambda: not clients.servers and not clients.keepers)


@pytest.mark.full
def test_a_client_killed_while_the_server_starts_leaves_none(clients: Clients) -> None:
    assert soon(lambda: not clients.keepers)
    client = clients.start()
    assert soon(lambda: bool(clients.keepers))
    client.kill()
    assert soon(lambda: not clients.servers and not clients.keepers)


@pytest.mark.sampled(2)
def test_a_killed_keeper_takes_its_server_along(clients: Clients) -> None:
    client = clients.start()
    assert clients.work(client)
    (keeper,) = clients.keepers
    os.kill(keeper, signal.SIGKILL)
    assert soon(lambda: not clients.servers)
    again = clients.start()
    assert clients.work(again)
    assert len(clients.servers) == 1


@pytest.mark.sampled(2)
def test_an_engine_finds_a_new_server_when_its_own_has_died(clients: Clients) -> None:
    with open_engine(clients.name, folder=clients.folder) as engine:
        setup = ["CREATE TABLE t (a INT)", "INSERT INTO t VALUES (7)"]
        assert engine.execute(setup, "SELECT a FROM t").status == "ok"
        for pid in clients.servers:
            os.kill(pid, signal.SIGKILL)
        result = engine.execute(setup, "SELECT a FROM t")
        assert result.table is not None, result
        assert result.table.rows == ((7,),)


@pytest.mark.sampled(2)
def test_a_server_that_outlived_its_keeper_is_ended(clients: Clients) -> None:
    """As where no kernel ends it: the next keeper finds it by its note, and not a stranger."""
    assert soon(lambda: not clients.keepers)
    left = subprocess.Popen(["sleep", "60", str(clients.place)], start_new_session=True)
    stranger = subprocess.Popen(["sleep", "61"])
    try:
        for process, ended in ((left, True), (stranger, False)):
            (clients.place / "server.pid").write_text(str(process.pid))
            acquire_server_lease(clients.folder, clients.name).close()
            assert (process.poll() is not None) is ended
            assert soon(lambda: not clients.keepers)
    finally:
        for process in (left, stranger):
            process.kill()
            process.wait()


@pytest.mark.sampled(2)
def test_stale_and_broken_files_do_not_hinder_a_start(clients: Clients) -> None:
    assert soon(lambda: not clients.keepers)
    for name in ("keeper.sock", "server.sock", "data/postmaster.pid", "server.pid"):
        (clients.place / name).write_text("1\nleft over\n")
    assert clients.work(clients.start())
    clients.started[-1].kill()
    assert soon(lambda: not clients.keepers)
    for name in ("global/pg_control", "ibdata1"):
        (clients.place / "data" / name).unlink(missing_ok=True)
    assert clients.work(clients.start())


@pytest.mark.sampled(2)
def test_databases_of_a_killed_client_are_dropped(clients: Clients) -> None:
    query = {
        "postgres": "SELECT count(*) FROM pg_database WHERE datname LIKE 'evalboard%'",
        "mysql": "SELECT count(*) FROM information_schema.schemata WHERE schema_name LIKE 'eval%'",
    }[clients.name]
    client = clients.start()
    assert clients.work(client)
    with open_engine(clients.name, folder=clients.folder) as engine:
        engine.execute([], query)
        client.kill()
        client.wait()
        assert soon(lambda: len(clients.servers) == 1)
    with open_engine(clients.name, folder=clients.folder) as engine:
        result = engine.execute([], query)
        assert result.table is not None
        assert result.table.rows == ((1,),)


def test_a_place_of_another_user_is_refused(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away; run this test as root")
    folder = tmp_path / "theirs"
    server_folder = prepare_server_folder(folder, ("nobody",))
    os.chown(server_folder, 12345, 12345)
    with pytest.raises(EnvironmentFailure, match="belongs to another user"):
        prepare_server_folder(folder, ("nobody",))


def test_a_full_server_takes_what_its_client_gives_up(tmp_path: Path) -> None:
    """Statements on many setups run though the server has no connection left for all of them."""
    with open_engine("mysql", folder=tmp_path / "server") as engine:
        assert engine.execute((), "SELECT 1").status == "ok"
        where = {"unix_socket": str(prepare_server_folder(tmp_path / "server", USERS) / SOCKET)}
        with closing(connect_mysql({**where, "user": "root"})) as other:
            fetch_rows(other, "SET GLOBAL max_connections = 10")
            done = [
                engine.execute((f"CREATE TABLE t{number} (a INT)",), f"SELECT * FROM t{number}")
                for number in range(25)
            ]
    assert [execution.status for execution in done] == ["ok"] * 25
