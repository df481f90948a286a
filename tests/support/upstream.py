"""Checkouts of upstream projects to compare with, and the skip that says so where there is none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def upstream_checkout(name: str) -> Path:
    """A checkout of an upstream project; skips the test, saying why, where it is absent."""
    path = Path(os.environ.get("EVALBOARD_UPSTREAM", ROOT.parent / "upstream")) / name
    if not path.exists():
        pytest.skip(
            f"shared data absent: the upstream checkout {name} (set EVALBOARD_UPSTREAM to the "
            "folder of the checkouts)"
        )
    return path


def ask_upstream(driver: str, checkout: Path, question: Any) -> Any:
    """What a driver (a module of tests.support) answers, run over upstream's own code in a process
    of its own, with the JSON of the question on its standard input. A checkout that is a virtual
    environment runs it."""
    own_python = checkout / "bin" / "python"
    done = subprocess.run(
        [
            str(own_python) if own_python.exists() else sys.executable,
            "-m",
            f"tests.support.{driver}",
            str(checkout),
        ],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
