"""The bank: hidden tools, what they note, search in its documents, and its rule user."""

import asyncio
import json
from pathlib import Path

import pytest

from evalcore.benchmarks.tau2_bench.environment.knowledge import KnowledgeBase
from evalcore.benchmarks.tau2_bench.environment.loaders import load_tasks, load_world
from evalcore.benchmarks.tau2_bench.environment.reward import compute_reward, start_environment
from evalcore.benchmarks.tau2_bench.environment.tasks import read_task
from evalcore.benchmarks.tau2_bench.environment.world import Environment
from evalcore.benchmarks.tau2_bench.user_simulators import build_rule_user

DATA = Path(__file__).parents[2] / "datasets" / "tau2_bench"


@pytest.fixture(scope="module")
def world():
    return load_world(DATA, "banking_knowledge")


@pytest.fixture(scope="module")
def tasks(world):
    return {task.topic: task for task in _with_topics(world)}


def _with_topics(world):
    rows = (DATA / "banking_knowledge" / "tasks_bundled.jsonl").read_text("utf-8").splitlines()
    topics = [json.loads(row)["topic"] for row in rows]
    for topic, task in zip(topics, load_tasks(DATA, world, "bundled"), strict=True):
        yield _Titled(topic, task)


class _Titled:
    def __init__(self, topic, task):
        self.topic, self.task = topic, task


def call(environment, tool, **arguments):
    kwargs = {"agent_tool_name": tool, "arguments": json.dumps(arguments)}
    return environment.call("call_discoverable_agent_tool", kwargs)


def test_a_hidden_tool_is_offered_to_nobody_and_has_to_be_unlocked(world):
    environment = Environment(world)
    tool = "freeze_debit_card_3892"
    assert tool not in {each.name for each in environment.tools}
    assert "not been unlocked" in call(environment, tool, card_id="x")
    assert environment.writes == []
    assert tool in environment.call("unlock_discoverable_agent_tool", {"agent_tool_name": tool})
    assert "not found" in call(environment, tool, card_id="x")
    rows = dict(environment.state.agent.rows("agent_discoverable_tools"))
    assert [row["tool_name"] for row in rows.values()] == [tool]
    assert "Unknown" in call(environment, "open_the_vault", amount=1)


@pytest.mark.parametrize(
    "arguments",
    ["{", "[]", "3", '{"card_id": NaN}', '{"card_id": ' + "[" * 4000 + "]" * 4000 + "}"],
)
def test_no_arguments_break_a_hidden_tool(world, arguments):
    environment = Environment(world)
    name = "freeze_debit_card_3892"
    environment.call("unlock_discoverable_agent_tool", {"agent_tool_name": name})
    kwargs = {"agent_tool_name": name, "arguments": arguments}
    assert environment.call("call_discoverable_agent_tool", kwargs).startswith("Error")
    assert environment.writes == []


def test_the_user_has_a_tool_only_once_it_was_given(world):
    environment = Environment(world)
    account = next(iter(dict(environment.state.agent.rows("accounts"))))
    arguments = json.dumps({"account_id": account, "check_amount": 50})
    kwargs = {"discoverable_tool_name": "deposit_check_3847", "arguments": arguments}
    assert "not given" in environment.call("call_discoverable_user_tool", kwargs, "user")
    given = {"discoverable_tool_name": "deposit_check_3847"}
    environment.call("give_discoverable_user_tool", given)
    assert "deposited" in environment.call("call_discoverable_user_tool", kwargs, "user")


def test_search_finds_what_the_documents_say(world):
    base = KnowledgeBase(world.documents)
    best = {
        query: base.search(query)[0][0]["id"]
        for query in ("lost debit card", "open a savings account", "refund of a monthly fee")
    }
    assert list(best.values()) == ["debit-card-lost", "savings-opening", "fee-refunds"]
    assert base.grep("FREEZE_debit_card_3892")[0][0]["id"] == "debit-card-mislaid"
    assert base.search("") == base.grep("") == base.search("qqq") == []
    environment = Environment(world)
    assert "deposit_check_3847" in environment.call("KB_search", {"query": "deposit a check"})


def converse(world, task, steps):
    """Play an agent's lines and calls; what the rule user answers to the lines."""
    environment = start_environment(world, task)
    user = build_rule_user(task, environment, 0)
    answers, done = [asyncio.run(user.open())], False
    for step in steps:
        if isinstance(step, str):
            answer, done = asyncio.run(user.reply(step, environment.writes))
            answers.append(answer)
        else:
            environment.call(*step)
    return environment, answers, done


def test_the_user_proves_who_they_are_and_tells_details_when_asked(world, tasks):
    task = tasks["a card that is gone"].task
    _, answers, done = converse(
        world,
        task,
        ["May I have your name and date of birth?", "Was it lost or stolen? What is the reason?",
         "What is your customer id?", "Shall I close the card?"],
    )  # fmt: skip
    assert "born on" in answers[1]
    assert answers[2].startswith("It was")
    assert answers[3] == "I do not know that."
    assert answers[4].startswith("Yes, please.")
    assert answers[0].count("/") == 0
    assert not done


def test_claims_end_no_wish_and_the_user_gives_up(world, tasks):
    task = tasks["a card that is gone"].task
    environment, answers, done = converse(world, task, ["It is done."] * 6)
    assert done
    assert environment.writes == []
    assert all("gone" in answer for answer in answers[:5])


def test_the_user_calls_their_tool_once_it_is_given(world, tasks):
    task = tasks["cash back"].task
    given = {"discoverable_tool_name": "submit_cash_back_dispute_0589"}
    environment, answers, _ = converse(
        world, task, ["How can I help?", ("give_discoverable_user_tool", given), "Please use it."]
    )
    assert "RESOLVED" in answers[-1]
    assert "put right" in answers[-1]
    assert [call.requestor for call in environment.calls] == ["assistant", "user"]


_READER = "get_user_dispute_history_7291"


def build_task(*actions):
    return read_task(
        {
            "id": "1",
            "user_scenario": {"instructions": "x"},
            "evaluation_criteria": {
                "actions": [{"name": name, "arguments": kwargs} for name, kwargs in actions],
                "reward_basis": ["DB"],
            },
        }
    )


def read_disputes(environment):
    environment.call("unlock_discoverable_agent_tool", {"agent_tool_name": _READER})
    call(environment, _READER, user_id="u1")
    return [row["tool_name"] for _, row in environment.state.agent.rows("agent_discoverable_tools")]


def test_looking_costs_nothing_unless_the_ground_truth_looks_too(world):
    free = build_task()
    environment = start_environment(world, free)
    assert read_disputes(environment) == []
    assert compute_reward(world, free, environment, ()).value == 1.0
    kwargs = {"agent_tool_name": _READER, "arguments": '{"user_id": "u1"}'}
    due = build_task(
        ("unlock_discoverable_agent_tool", {"agent_tool_name": _READER}),
        ("call_discoverable_agent_tool", kwargs),
    )
    environment = start_environment(world, due)
    assert compute_reward(world, due, environment, ()).value == 0.0
    assert read_disputes(environment) == [_READER]
    assert compute_reward(world, due, environment, ()).value == 1.0


def test_the_trace_of_a_tool_that_only_reads_is_not_scored(world):
    task, tool = build_task(), "get_card_last_4_digits"
    given = {"discoverable_tool_name": tool}
    environment = start_environment(world, task)
    environment.call("give_discoverable_user_tool", given)
    before = compute_reward(world, task, environment, ())
    environment.call(tool, {"credit_card_account_id": "c1"}, "user")
    assert environment.has_stray_writes
    after = compute_reward(world, task, environment, ())
    assert (after.value, after.db_hash) == (before.value, before.db_hash)
