"""Where the servers of PostgreSQL and MariaDB are: kept in a folder, given by DSN, or missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalcore.errors import EnvironmentFailure, MissingDependency, UsageError
from evalcore.sqlkit.engines import local_server
from evalcore.sqlkit.engines.local_server import (
    PROGRAMS,
    acquire_server_lease,
    prepare_server_folder,
)
from evalcore.sqlkit.engines.registry import open_engine
from tests.support.engines import LIMITS, SERVERS, SETUP, rows, server_engine

pytestmark = pytest.mark.slow


@pytest.fixture
def private(tmp_path: Path) -> Iterator[Path]:
    """A folder whose servers nobody else uses; removed with what stands in for it."""
    yield tmp_path
    for name in SERVERS:
        shutil.rmtree(
            prepare_server_folder(tmp_path / name, PROGRAMS[name].users), ignore_errors=True
        )


def make_cluster(name: str, private: Path) -> Path:
    """The folder of a private server, and the skip where there can be none."""
    server_engine(name, LIMITS, private / name).close()
    return private / name


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SERVERS)
def test_closed_engines_open_again_and_drop_their_databases(name: str, private: Path) -> None:
    query = {
        "postgres": "SELECT count(*) FROM pg_database WHERE datname LIKE 'evalboard%'",
        "mysql": "SELECT count(*) FROM information_schema.schemata WHERE schema_name LIKE 'eval%'",
    }[name]
    with open_engine(name, LIMITS, make_cluster(name, private)) as engine:
        assert engine.execute(SETUP, "SELECT 1").status == "ok"
        assert engine.execute([], "SELECT 1").status == "ok"
        engine.close()
        engine.close()
        assert rows(engine.execute([], query)) == ((1,),)


def test_a_missing_engine_names_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(local_server.shutil, "which", lambda *_, **__: None)
    with pytest.raises(MissingDependency, match="apt-get install mariadb-server"):
        open_engine("mysql", folder=tmp_path)
    monkeypatch.setattr(local_server, "find_spec", lambda _: None)
    with pytest.raises(MissingDependency, match=r"evalboard\[postgres\]"):
        open_engine("postgres", folder=tmp_path)


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_by_dsn(monkeypatch: pytest.MonkeyPatch, private: Path, name: str) -> None:
    claim = acquire_server_lease(make_cluster(name, private), name)
    dsn = {
        "postgres": f"postgresql://postgres@/postgres?host={claim.server_folder}",
        "mysql": f"mysql://root@localhost/?unix_socket={claim.server_folder}/server.sock",
    }[name]
    monkeypatch.setenv(f"EVALBOARD_{name.upper()}_DSN", dsn)
    with open_engine(name, LIMITS, private / "unused") as engine:
        assert rows(engine.execute(SETUP, "SELECT count(*) FROM t")) == ((2,),)
    assert not (private / "unused").exists()
    claim.close()


@pytest.mark.parametrize("name", SERVERS)
def test_a_dsn_is_never_repeated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    server_engine(name, LIMITS).close()
    scheme = {"postgres": "postgresql", "mysql": "mysql"}[name]
    for dsn, error in (
        (f"{scheme}://u:secretpw@127.0.0.1:9/", EnvironmentFailure),
        ("oracle://u:secretpw@127.0.0.1/", UsageError),
        (f"{scheme}://u:secretpw@host:port/", UsageError),
    ):
        monkeypatch.setenv(f"EVALBOARD_{name.upper()}_DSN", dsn)
        with pytest.raises(error) as caught:
            open_engine(name, folder=tmp_path).execute([], "SELECT 1")
        assert "secretpw" not in str(caught.value)
