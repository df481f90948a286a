"""Whole episodes of tau2-bench under protocol=official beside upstream's own orchestrator: every
request to agent and user, and the reward.

Upstream asks by litellm, which its interpreter has to have. `EVALBOARD_TAU2_TASKS` is the number of
tasks of each domain (0: all). What a checkout without large files lacks stays unproved.
"""

from __future__ import annotations

import os
import subprocess

import pytest

from evalcore.benchmarks.tau2_bench.card import DOMAINS
from tests.support.tau2_episodes import compare_episodes
from tests.support.tau2_parity import require_world

_COUNT = int(os.environ.get("EVALBOARD_TAU2_TASKS", "6"))
_SEED = int(os.environ.get("EVALBOARD_TAU2_SEED", "0"))


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_request_and_reward_is_upstreams(
    tau2_checkout, tau2_python, domain, tmp_path, monkeypatch
):
    require_world(tau2_checkout, domain)
    if subprocess.run(
        [tau2_python, "-c", "import litellm"], capture_output=True, check=False
    ).returncode:
        pytest.skip("shared data absent: EVALBOARD_TAU2_PYTHON has no litellm")
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path))
    differences, counts = compare_episodes(tau2_checkout, tau2_python, domain, _COUNT, _SEED)
    assert differences == []
    assert counts["episodes"]
    assert counts["requests"] > counts["episodes"]
