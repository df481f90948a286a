"""What holds for all tests: nothing is kept in the cache of the person who runs them, and the order
in which workers take the files."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator

import pytest

if "PYTEST_XDIST_WORKER" not in os.environ:  # workers share the folder of the one who started them
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="evalboard-cache-")
    atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)

# The command line speaks the language of the terminal: of whoever runs the tests, if nobody asked.
for variable in ("EVALBOARD_LANG", "LC_ALL", "LC_MESSAGES"):
    os.environ.pop(variable, None)
os.environ["LANG"] = "C.UTF-8"

# A shell starts what runs in the background with Ctrl+C ignored; tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: Files that take a minute or more: they begin first, so that none is waited for at the end.
_LONG = frozenset(
    {
        "test_bundled_optimization.py",
        "test_first_screen.py",
        "test_golden_outputs.py",
        "test_kills.py",
        "test_looks.py",
        "test_scale_verify.py",
        "test_sql_pairs.py",
        "test_swe_run.py",
    }
)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Make the environment of lm-eval, which waits for the network most of the time, while others
    collect and test."""
    config = session.config
    is_whole = config.args == config.getini("testpaths") and not config.option.collectonly
    if is_whole and "PYTEST_XDIST_WORKER" not in os.environ and config.getoption("numprocesses", 0):
        code = "from tests.support.lm_eval import find_lm_eval_python; find_lm_eval_python()"
        quiet = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        making = subprocess.Popen([sys.executable, "-c", code], cwd=config.rootpath, **quiet)
        atexit.register(making.terminate)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Without the garbage collector, which takes a quarter of the time here: what is collected
    stays to the end, and is not looked at again either."""
    gc.disable()
    try:
        _share_imports(session)
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def _share_imports(session: pytest.Session) -> None:
    """Import another share of all files first in each worker: what one worker has rewritten and
    compiled in a fresh checkout is read by the others, instead of made three times."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if not worker or session.config.args != session.config.getini("testpaths"):
        return
    workers = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    files = sorted(session.config.rootpath.glob("tests/*/test_*.py"))
    for file in files[int(worker.removeprefix("gw")) :: workers]:
        sys.path.insert(0, str(file.parent))
        with contextlib.suppress(Exception, pytest.skip.Exception):  # said when it is collected
            importlib.import_module(file.stem)


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
    last = 2 if item.path.parent.name == "browser" else 0
    return last + (item.path.name not in _LONG)
