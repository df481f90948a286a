"""Where tau2-bench's own code is, and what runs it.

`EVALBOARD_TAU2_CHECKOUT` names a checkout of it, `EVALBOARD_TAU2_PYTHON` an interpreter with its
requirements, those that ask models only where a test says so.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tau2_checkout() -> Path:
    folder = os.environ.get("EVALBOARD_TAU2_CHECKOUT")
    if not folder or not Path(folder).is_dir():
        pytest.skip("shared data absent: EVALBOARD_TAU2_CHECKOUT names no checkout of tau2-bench")
    return Path(folder)


@pytest.fixture(scope="session")
def tau2_python() -> str:
    python = os.environ.get("EVALBOARD_TAU2_PYTHON", "")
    if not Path(python).is_file():
        pytest.skip("shared data absent: EVALBOARD_TAU2_PYTHON names no interpreter for tau2-bench")
    return python
