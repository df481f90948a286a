"""The bundled data of tau2_bench: made by its generator, and what it promises of every task."""

import asyncio
from pathlib import Path

import pytest

from evalcore.benchmarks.base import DatasetSource, check_options
from evalcore.benchmarks.tau2_bench.benchmark import Tau2Bench
from evalcore.benchmarks.tau2_bench.card import CARD, DOMAINS
from evalcore.benchmarks.tau2_bench.dataset import load_sample_world, to_task
from evalcore.benchmarks.tau2_bench.environment.reward import start_environment
from evalcore.benchmarks.tau_bench.environment.database import Database
from tools.tau2_tasks.generate import generate_data_files

DATA = Path(__file__).parents[2] / "datasets" / "tau2_bench"


@pytest.fixture(scope="module")
def benchmark():
    return Tau2Bench(check_options(CARD, {}))


@pytest.fixture(scope="module")
def samples(benchmark):
    return benchmark.load_dataset(DatasetSource(str(DATA)))


def evaluate(benchmark, sample, prediction):
    return asyncio.run(
        benchmark.evaluate_sample(sample, benchmark.episode_from_answer(sample, prediction))
    )


def test_the_files_are_those_of_the_generator():
    for path, text in generate_data_files().items():
        assert (DATA / path).read_text("utf-8") == text, path


def test_there_are_at_least_60_tasks_with_a_user_who_acts(samples):
    assert len(samples) >= 60
    assert {sample.metric for sample in samples} == set(DOMAINS)
    assert any(action.requestor == "user" for s in samples for action in to_task(s).actions)


def test_the_reference_passes_and_doing_nothing_fails_every_task(benchmark, samples):
    for sample in samples:
        reference = asyncio.run(
            benchmark.evaluate_sample(sample, benchmark.reference_episode(sample))
        )
        assert reference.outcome == "passed", (sample.key, reference.note)
        assert evaluate(benchmark, sample, {}).outcome == "failed", sample.key


def test_handing_over_at_once_earns_two_tasks_at_most(benchmark, samples):
    call = {"name": "transfer_to_human_agents", "arguments": {"summary": "?"}}
    passed = [
        s.key for s in samples if evaluate(benchmark, s, {"actions": [call]}).outcome == "passed"
    ]
    assert len(passed) == 2


def test_most_tasks_need_three_writes_or_more(benchmark, samples):
    many = sum(
        asyncio.run(benchmark.evaluate_sample(sample, benchmark.reference_episode(sample))).details[
            "writes"
        ]
        >= 3
        for sample in samples
    )
    assert many >= 0.9 * len(samples)


def test_a_user_who_switches_everything_mends_no_phone(benchmark, samples):
    """An agent that has all settings changed, whatever they are, breaks what was right."""
    for sample in samples:
        if sample.metric != "telecom":
            continue
        world = load_sample_world(sample)
        switches = [
            {"name": tool.name, "arguments": {}, "requestor": "user"}
            for tool in world.user_tools
            if tool.mutates and not tool.parameters["required"]
        ]
        assert evaluate(benchmark, sample, {"actions": switches}).outcome == "failed", sample.key


def test_the_world_of_an_episode_leaves_the_shared_one_as_it_was(samples):
    sample = next(sample for sample in samples if sample.metric == "telecom")
    world = load_sample_world(sample)
    before = world.state.agent.hash(), world.state.user.hash()
    environment = start_environment(world, to_task(sample))
    for action in to_task(sample).actions:
        environment.call(action.name, action.arguments, action.requestor)
    assert (world.state.agent.hash(), world.state.user.hash()) == before
    assert isinstance(environment.state.user, Database)
