"""tau2-bench's own code beside ours: fuzzed episodes of every domain leave the same databases and
earn the same reward.

`EVALBOARD_TAU2_EPISODES` is the number of episodes of each domain. Our own data is played by both
sides where the checkout lacks a file.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from evalcore.benchmarks.tau2_bench.card import DOMAINS
from evalcore.benchmarks.tau2_bench.environment.loaders import has_official_database
from evalcore.benchmarks.tau2_bench.environment.reward import list_faults
from evalcore.benchmarks.tau2_bench.environment.tasks import BROKEN_START
from tests.support.tau2_parity import Upstream, iter_comparisons, load_all_tasks, require_world

OWN = Path(__file__).parents[2] / "datasets" / "tau2_bench"
_COUNT = int(os.environ.get("EVALBOARD_TAU2_EPISODES", "8"))
#: Tasks of each domain that a checkout without large files holds.
LOADED = {"retail": 114, "telecom": 20, "banking_knowledge": 97}


def compare_all(python, checkout, data, folder, domain):
    """The differences, and how many episodes earned the reward."""
    with Upstream(python, "tau2_upstream", checkout, data) as upstream:
        compared = list(iter_comparisons(upstream, folder, domain, range(_COUNT)))
    return [each for _, _, each in compared if each], sum(rewarded for _, rewarded, _ in compared)


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_task_that_is_there_loads(tau2_checkout, domain):
    require_world(tau2_checkout, domain)
    world, tasks = load_all_tasks(tau2_checkout, domain)
    assert len(tasks) >= LOADED.get(domain, 1)
    assert has_official_database(tau2_checkout, domain)
    broken = {task.id: list_faults(world, task) for task in tasks if BROKEN_START in task.flags}
    assert broken == {}


@pytest.mark.parametrize("domain", DOMAINS)
def test_official_tasks_earn_what_they_earn_upstream(tau2_checkout, tau2_python, domain):
    require_world(tau2_checkout, domain)
    data = tau2_checkout / "data"
    differences, _ = compare_all(tau2_python, tau2_checkout, data, tau2_checkout, domain)
    assert differences == []


@pytest.mark.parametrize("domain", ["retail", "airline"])
def test_bundled_tasks_earn_what_they_earn_upstream(tau2_checkout, tau2_python, domain, tmp_path):
    """Upstream's code on our data, which is smaller, and there where upstream's is not."""
    shutil.copytree(OWN / domain, tmp_path / "tau2" / "domains" / domain)
    differences, rewarded = compare_all(tau2_python, tau2_checkout, tmp_path, OWN, domain)
    assert differences == []
    assert rewarded
