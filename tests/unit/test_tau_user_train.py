"""The rule user on the official retail TRAIN split: all slots parsed, and a fair game."""

import gzip
import json

import pytest

from evalcore.benchmarks.tau_bench.environment import compute_reward, load_domain, load_tasks
from evalcore.benchmarks.tau_bench.user_goals import (
    WRITE_TOOLS,
    parse_train_instruction,
)
from evalcore.benchmarks.tau_bench.user_simulators import RuleUser, from_slots, to_slots
from evalcore.errors import UsageError
from tests.support import tau_agents
from tests.support.shared_data import shared_data
from tests.support.tau_agents import play
from tests.support.tau_data import list_slot_values

pytestmark = pytest.mark.slow

POOR = (
    tau_agents.lazy,
    tau_agents.chatty,
    tau_agents.always_yes,
    tau_agents.transfer,
    tau_agents.random_calls,
)


@pytest.fixture(scope="module")
def domain():
    return load_domain(shared_data("tau_bench"), "retail")


@pytest.fixture(scope="module")
def tasks(domain):
    return load_tasks(shared_data("tau_bench"), domain, "train")


@pytest.fixture(scope="module")
def clean(tasks):
    return [task for task in tasks if not task.flags]


def passed(domain, tasks, make, seed=0):
    """The share of tasks with reward 1, each with a seed of its own."""
    rewards = []
    for at, task in enumerate(tasks):
        played = play(domain, task, make, seed + at)
        rewards.append(compute_reward(domain, task, played.environment, played.agent_texts).value)
    return sum(rewards) / len(rewards)


def test_every_instruction_is_parsed_into_the_goals_of_its_actions(tasks):
    assert len(tasks) == 500
    for task in tasks:
        scenario = parse_train_instruction(task.instruction)
        assert from_slots(to_slots(scenario)) == scenario
        assert len(scenario.goals) == len(task.actions)
        for goal, action in zip(scenario.goals, task.actions, strict=True):
            assert action.name in WRITE_TOOLS[goal.kind]
            assert goal.order == action.kwargs["order_id"]
            assert goal.payment == action.kwargs.get("payment_method_id", "")
            assert goal.reason == action.kwargs.get("reason", "")
            assert len(goal.items) == len(action.kwargs.get("item_ids", ()))
            assert goal.address.items() <= action.kwargs.items()


def test_free_prose_is_refused():
    path = shared_data("tau_bench") / "retail" / "tasks_test.jsonl.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    for line in lines:
        with pytest.raises(UsageError):
            parse_train_instruction(json.loads(line)["instruction"])


def test_nothing_of_an_instruction_may_be_left_over(tasks):
    for extra in ("And be quick.", "Cancel order #W1 because why not. ", "Return #W1 via x: "):
        with pytest.raises(UsageError):
            parse_train_instruction(tasks[0].instruction + extra)


def test_the_opening_tells_no_slot(tasks):
    user = RuleUser()
    for seed in range(4):
        for task in tasks:
            state = user.open(task, seed)
            for slot in ("name", "email", "zip", "order", "payment", "items"):
                for value in list_slot_values(state.scenario, state.goals[0], slot):
                    assert value not in state.last_message, task.id


def test_a_competent_agent_passes(domain, clean):
    assert len(clean) >= 475
    assert passed(domain, clean, tau_agents.competent) >= 0.99


@pytest.mark.sampled(3)
@pytest.mark.parametrize("make", POOR, ids=lambda make: make.__name__)
def test_a_poor_agent_fails(domain, clean, make):
    assert passed(domain, clean, make) <= 0.02


def test_the_same_seed_gives_the_same_transcript_and_others_other_words(domain, clean):
    differ = 0
    for task in clean[:40]:
        first = play(domain, task, tau_agents.competent, 3)
        assert play(domain, task, tau_agents.competent, 3).lines == first.lines
        differ += play(domain, task, tau_agents.competent, 4).lines != first.lines
    assert differ >= 39


def test_every_message_of_the_competent_agent_is_recognised(domain, clean):
    for task in clean[:100]:
        played = play(domain, task, tau_agents.competent, 0)
        assert played.state.unrecognised == 0
        assert set(played.state.progress) == {"written"}
        assert played.state.ending == "satisfied"
