"""What holds for all tests: nothing is kept in the cache of the person who runs them, and the order
in which workers take the files."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import pytest

if "PYTEST_XDIST_WORKER" not in os.environ:  # workers share the folder of the one who started them
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="evalboard-cache-")
    atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)

#: Files that take a minute or more: they begin first, so that none is waited for at the end.
_LONG = frozenset(
    {
        "test_bundled_optimization.py",
        "test_hf_run.py",
        "test_kills.py",
        "test_scale_verify.py",
        "test_swe_run.py",
        "test_tiny_model.py",
    }
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, and those with a browser spread over all others: several browsers at once
    would wait for each other on a small machine."""
    files = list(dict.fromkeys(item.path for item in items))
    shown = [file for file in files if file.parent.name == "browser"]
    others = sorted((file for file in files if file not in shown), key=_begins_late)
    places = _spread(shown) | _spread(others)
    items.sort(key=lambda item: places[item.path])


def _begins_late(file: Path) -> bool:
    return file.name not in _LONG


def _spread(files: list[Path]) -> dict[Path, float]:
    """The place of each file between 0 and 1."""
    return {file: number / len(files) for number, file in enumerate(files)}
