"""Our environment and reward against recorded episodes of the official ones, row by row."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from evalcore.benchmarks.tau_bench.environment import Environment, compute_reward
from evalcore.benchmarks.tau_bench.environment.reward import NOTHING_TO_DO, TRUTH_ERRS
from evalcore.benchmarks.tau_bench.environment.tools import find_name_problem, find_type_problem
from tests.support.shared_data import shared_data
from tests.support.tau import (
    observations,
    official_domain,
    official_tasks,
    recorded_rows,
    short_hash,
)

#: Tasks of which the recorded episodes showed it, by split.
NOTHING = {
    "retail/test": {10, 12, 25, 50, 57, 65, 106},
    "retail/dev": {17},
    "retail/train": {161, 214, 229, 288, 349},
    "airline/test": {12, 13, 15, 17, 18, 21, 24, 29, *range(35, 43), 47, 48, 49},
}
ERRS = {
    "retail/test": {12, 13, 64, 106},
    "retail/train": {24, 27, 81, 148, 161, 214, 229, 252, 253, 288}
    | {314, 349, 351, 369, 376, 427, 431, 441, 469},
}


@pytest.fixture(scope="module")
def folder() -> Path:
    return shared_data("tau_bench")


@pytest.fixture(scope="module")
def rows(folder):
    return recorded_rows(folder / "official_rewards.dev.jsonl.gz")


def test_every_observation_reward_and_hash_is_upstreams(folder, rows):
    differing = Counter()
    for row in rows:
        domain = official_domain(folder, row["domain"])
        task = official_tasks(folder)[f"{row['domain']}/{row['split']}/{row['task']}"]
        environment = Environment(domain)
        seen = [short_hash(text) for text in observations(environment, row["actions"])]
        got = compute_reward(domain, task, environment, row["says"], substring=True)
        recorded = (row["obs_sha"], row["reward"], row["final_db_hash"], row["gt_db_hash"])
        if (seen, got.value, got.db_hash, got.gt_hash) != recorded:
            differing[row["variant"]] += 1
        assert got.actions_ok == (got.db_hash == got.gt_hash)
    assert not differing
    assert len(rows) >= 1400
    assert {row["domain"] for row in rows} == {"retail", "airline"}


def test_numbers_as_numbers_change_no_recorded_reward(folder, rows):
    for row in rows:
        if row["outputs"]:
            domain = official_domain(folder, row["domain"])
            task = official_tasks(folder)[f"{row['domain']}/{row['split']}/{row['task']}"]
            environment = Environment(domain)
            observations(environment, row["actions"])
            assert compute_reward(domain, task, environment, row["says"]).value == row["reward"]


@pytest.mark.parametrize(("flag", "expected"), [(NOTHING_TO_DO, NOTHING), (TRUTH_ERRS, ERRS)])
def test_replay_flags_the_degenerate_tasks(folder, flag, expected):
    results: dict[str, set[int]] = {}
    for task in official_tasks(folder).values():
        if flag in task.flags:
            split, index = task.id.rsplit("/", 1)
            results.setdefault(split, set()).add(int(index))
    assert results == expected


def test_every_call_of_the_ground_truth_fits_its_schema(folder):
    for task in official_tasks(folder).values():
        tools = {tool.name: tool for tool in official_domain(folder, task.domain).tools}
        for action in task.actions:
            tool = tools[action.name]
            problem = find_name_problem(tool, action.kwargs) or find_type_problem(
                tool.parameters, action.kwargs
            )
            assert not problem, (task.id, action)
