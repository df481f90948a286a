"""What holds for all tests: nothing is kept in the cache of the person who runs them, and the order
in which workers take the files."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections import Counter

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
        "test_sql_pairs.py",
        "test_swe_run.py",
        "test_tiny_model.py",
    }
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, and those with a browser last: what they need of a small machine would
    disturb tests that look at the clock."""
    items.sort(key=_turn)
    _thin_samples(items)


def _thin_samples(items: list[pytest.Item]) -> None:
    """Leave to `make test-full` all rows of a test marked `sampled(step)` but every step-th."""
    rows: Counter[str] = Counter()
    for item in items:
        if (mark := item.get_closest_marker("sampled")) and not item.get_closest_marker("full"):
            test = item.nodeid.partition("[")[0]
            if rows[test] % mark.args[0]:
                item.add_marker("full")
            rows[test] += 1


def _turn(item: pytest.Item) -> int:
    if item.path.parent.name == "browser":
        return 2
    return 0 if item.path.name in _LONG else 1
