"""Where the real data of other systems lies, and the skip that says so where it does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def shared_data(name: str) -> Path:
    """A folder of the shared data; skips the test, saying why, where it is absent."""
    path = Path(os.environ.get("EVALBOARD_SHARED_DATA", ROOT.parent / "shared" / "data")) / name
    if not path.exists():
        pytest.skip(f"shared data absent: {name} (set EVALBOARD_SHARED_DATA to its folder)")
    return path
