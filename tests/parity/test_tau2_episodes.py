"""Whole episodes of tau2-bench under protocol=official beside upstream's own orchestrator: every
request to agent and user, and the reward.

`EVALBOARD_TAU2_CHECKOUT` names a checkout of tau2-bench and `EVALBOARD_TAU2_PYTHON` an interpreter
with its requirements and litellm, by which upstream asks. `EVALBOARD_TAU2_TASKS` is the number of
tasks of each domain (0: all). What a checkout without large files lacks stays unproved.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from evalcore.benchmarks.tau2_bench.card import OFFICIAL_DOMAINS
from evalcore.benchmarks.tau2_bench.environment.loaders import load_world
from evalcore.errors import DatasetError
from tests.support.tau2_episodes import compare_episodes

_COUNT = int(os.environ.get("EVALBOARD_TAU2_TASKS", "6"))
_SEED = int(os.environ.get("EVALBOARD_TAU2_SEED", "0"))


@pytest.fixture(scope="module")
def checkout() -> Path:
    folder = os.environ.get("EVALBOARD_TAU2_CHECKOUT")
    if not folder or not Path(folder).is_dir():
        pytest.skip("shared data absent: EVALBOARD_TAU2_CHECKOUT names no checkout of tau2-bench")
    return Path(folder)


@pytest.fixture(scope="module")
def python() -> str:
    python = os.environ.get("EVALBOARD_TAU2_PYTHON", "")
    if not Path(python).is_file():
        pytest.skip("shared data absent: EVALBOARD_TAU2_PYTHON names no interpreter for tau2-bench")
    if subprocess.run(
        [python, "-c", "import litellm"], capture_output=True, check=False
    ).returncode:
        pytest.skip("shared data absent: EVALBOARD_TAU2_PYTHON has no litellm")
    return python


@pytest.mark.parametrize("domain", OFFICIAL_DOMAINS)
def test_every_request_and_reward_is_upstreams(checkout, python, domain, tmp_path, monkeypatch):
    try:
        load_world(checkout, domain)
    except DatasetError as error:
        pytest.skip(f"shared data absent: {domain} is unproved: {error}")
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path))
    differences, counts = compare_episodes(checkout, python, domain, _COUNT, _SEED)
    assert differences == []
    assert counts["episodes"]
    assert counts["requests"] > counts["episodes"]
