"""What holds for all tests: nothing is kept in the cache of the person who runs them."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

if "PYTEST_XDIST_WORKER" not in os.environ:  # workers share the folder of the one who started them
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="evalboard-cache-")
    atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)
