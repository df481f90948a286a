"""tau2-bench's own code beside ours: fuzzed episodes of every domain leave the same databases and
earn the same reward.

`EVALBOARD_TAU2_CHECKOUT` names a checkout of tau2-bench and `EVALBOARD_TAU2_PYTHON` an interpreter
with its requirements but for those that ask models. Our own data is played by both sides where the
checkout lacks a file.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from evalcore.benchmarks.tau2_bench.environment.loaders import load_world
from evalcore.benchmarks.tau2_bench.environment.reward import list_faults
from evalcore.benchmarks.tau2_bench.environment.tasks import BROKEN_START
from evalcore.errors import DatasetError
from tests.support.tau2_parity import Upstream, find_differences, load_all_tasks

OWN = Path(__file__).parents[2] / "datasets" / "tau2_bench"
_COUNT = int(os.environ.get("EVALBOARD_TAU2_EPISODES", "8"))
#: Tasks of each domain that a checkout without large files holds.
LOADED = {"retail": 114, "telecom": 20, "banking_knowledge": 97}


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
    return python


@pytest.mark.parametrize("domain", ["retail", "airline", "telecom", "banking_knowledge"])
def test_every_task_that_is_there_loads(checkout, domain):
    try:
        load_world(checkout, domain)
    except DatasetError as error:
        pytest.skip(f"shared data absent: {domain} is unproved: {error}")
    world, tasks = load_all_tasks(checkout, domain)
    assert len(tasks) >= LOADED.get(domain, 1)
    broken = {task.id: list_faults(world, task) for task in tasks if BROKEN_START in task.flags}
    assert broken == {}


@pytest.mark.parametrize("domain", ["telecom", "banking_knowledge"])
def test_official_tasks_earn_what_they_earn_upstream(checkout, python, domain):
    upstream = Upstream(python, checkout, checkout / "data")
    try:
        differences, _ = find_differences(upstream, checkout, domain, _COUNT)
    finally:
        upstream.close()
    assert differences == []


@pytest.mark.parametrize("domain", ["retail", "airline"])
def test_bundled_tasks_earn_what_they_earn_upstream(checkout, python, domain, tmp_path):
    """Upstream's code on our data, which is smaller, and there where upstream's is not."""
    shutil.copytree(OWN / domain, tmp_path / "tau2" / "domains" / domain)
    upstream = Upstream(python, checkout, tmp_path)
    try:
        differences, rewarded = find_differences(upstream, OWN, domain, _COUNT)
    finally:
        upstream.close()
    assert differences == []
    assert rewarded
