"""A model as the user of tau2-bench, and the parts of a reward that it or a judge would decide."""

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from evalcore.benchmarks.tau2_bench.environment.loaders import load_tasks, load_world
from evalcore.benchmarks.tau2_bench.environment.reward import compute_reward, start_environment
from evalcore.benchmarks.tau2_bench.environment.tasks import Action, Criteria, read_task
from evalcore.benchmarks.tau2_bench.user_simulators import MAX_OWN_CALLS, ModelUser, build_rule_user
from evalcore.errors import EnvironmentFailure, TargetFailure, UsageError
from evalcore.records import Completion, Failure, ToolCall

DATA = Path(__file__).parents[2] / "datasets" / "tau2_bench"


@pytest.fixture(scope="module")
def world():
    return load_world(DATA, "telecom")


@pytest.fixture(scope="module")
def task(world):
    return load_tasks(DATA, world, "bundled")[0]


def play(world, task, *answers):
    """A model user who gives these completions; its environment, requests and messages."""
    environment, requests, left = start_environment(world, task), [], list(answers)

    async def ask(request):
        requests.append(request)
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer, 0.5

    return environment, requests, ModelUser(task, environment, ask)


def call(name, **arguments):
    tool_call = ToolCall("1", name, json.dumps(arguments))
    return Completion(tool_calls=(tool_call,), finish_reason="tool_calls")


def test_a_model_uses_its_phone_before_it_writes(world, task):
    environment, requests, user = play(
        world, task, Completion(text="Hello"), call("toggle_data"), Completion(text="It is off now")
    )
    assert asyncio.run(user.open()) == "Hello"
    message, done = asyncio.run(user.reply("Please toggle your data.", []))
    assert (message, done) == ("It is off now", False)
    assert [(each.name, each.requestor) for each in environment.calls] == [("toggle_data", "user")]
    tools = {tool["function"]["name"] for tool in requests[0].tools}
    assert "toggle_data" in tools
    assert "enable_roaming" not in tools
    assert task.user_scenario.instructions in requests[0].messages[0].content
    assert "evaluation" not in requests[0].messages[0].content
    assert user.to_dict()["user_cost"] == 1.5


@pytest.mark.parametrize("text", ["###STOP###", "Bye ###TRANSFER###", "###OUT-OF-SCOPE###"])
def test_a_model_ends_the_conversation(world, task, text):
    _, _, user = play(world, task, Completion(text="Hi"), Completion(text=text))
    asyncio.run(user.open())
    assert asyncio.run(user.reply("Anything else?", []))[1]


def test_a_model_without_an_end_to_its_calls_has_to_write(world, task):
    calls = [call("check_status_bar")] * MAX_OWN_CALLS
    _, requests, user = play(world, task, *calls, Completion(text="I looked."))
    assert asyncio.run(user.open()) == "I looked."
    assert requests[-1].tools == ()


@pytest.mark.parametrize(
    "answer",
    [
        TargetFailure(Failure("timeout", "too slow")),
        Completion(text="", finish_reason="content_filter"),
    ],
)
def test_a_fault_of_the_users_model_is_never_the_agents(world, task, answer):
    _, _, user = play(world, task, answer)
    with pytest.raises(EnvironmentFailure):
        asyncio.run(user.open())


def test_free_prose_is_nothing_for_the_rule_user(world, task):
    free = msgspec.structs.replace(task, slots=None)
    with pytest.raises(UsageError):
        build_rule_user(free, start_environment(world, free), 0)


def reward_of(world, task, criteria, says=()):
    held = msgspec.structs.replace(task, evaluation_criteria=criteria)
    return compute_reward(world, held, start_environment(world, held), says).value


def test_a_reward_is_the_product_of_its_parts(world, task):
    said = Criteria(communicate_info=("12",), reward_basis=("COMMUNICATE",))
    assert reward_of(world, task, said) == 0
    assert reward_of(world, task, said, ("You have 1,2 GB",)) == 1
    judged = Criteria(nl_assertions=("is kind",), reward_basis=("NL_ASSERTION",))
    assert reward_of(world, task, judged) is None
    both = msgspec.structs.replace(judged, communicate_info=("12",))
    both = msgspec.structs.replace(both, reward_basis=("NL_ASSERTION", "COMMUNICATE"))
    assert reward_of(world, task, both) == 0
    made = Criteria(actions=(Action("make_payment", requestor="user"),), reward_basis=("ACTION",))
    assert reward_of(world, task, made) == 0


@pytest.mark.parametrize(
    ("compared", "arguments", "matches"),
    [
        (None, {"a": 1}, True),
        (None, {"a": 1.0}, True),
        (None, {"a": 2}, False),
        (None, {}, True),
        (None, {"a": 1, "b": 2}, False),
        (("a",), {"a": 1, "b": 2}, True),
        ((), {"a": 7}, True),
        (("a",), {}, False),
    ],
)
def test_calls_are_compared_as_upstream_compares_them(compared, arguments, matches):
    action = Action("tool", {"a": 1}, compare_args=compared)
    assert action.matches("tool", arguments) is matches
    assert not action.matches("other", arguments)


def test_a_task_needs_its_scenario():
    with pytest.raises(msgspec.ValidationError, match="user_scenario"):
        read_task({"id": "x"})
