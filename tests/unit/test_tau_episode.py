"""Conversations: who is told what, in which form, and for which reason they end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from evalcore.errors import EnvironmentFailure, TargetFailure, UsageError
from evalcore.records import Completion, Episode, Failure, Message, ToolCall, Usage
from tests.support import tau_data
from tests.support.tau_data import CANCEL, HAND_OVER, Scripted, calls, says

CANCELLING, ASKING, REFUSED, PROSE = (f"retail/test/{at}" for at in (0, 1, 2, 4))
THINK = {"name": "think", "kwargs": {"thought": "Hm."}}
WRONG = {"name": "get_order_details", "kwargs": {"order_id": "#W9"}}
JSON_CANCEL = (
    '{"name": "cancel_pending_order", '
    '"arguments": {"order_id": "#W1", "reason": "no longer needed"}}'
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tau_data.write(tmp_path_factory.mktemp("tau") / "data")


def play(folder: Path, context: Scripted, task: str = CANCELLING, **options: Any) -> Episode:
    sample = tau_data.samples(folder)[task]
    return asyncio.run(tau_data.benchmark(**options).run_sample(sample, context))


def outcome(folder: Path, episode: Episode, task: str = CANCELLING) -> str:
    sample = tau_data.samples(folder)[task]
    verdict = asyncio.run(tau_data.benchmark().evaluate_sample(sample, episode))
    return verdict.outcome


def roles(episode: Episode) -> list[str]:
    return [message.role for message in episode.messages]


def test_native_calls_are_answered_in_messages_of_the_tool(folder):
    context = Scripted(says(calls(THINK, CANCEL), "Done. Is there anything else?"))
    episode = play(folder, context)
    assert roles(episode) == ["system", "user", "assistant", "tool", "tool", "assistant", "user"]
    ids = [call.id for call in episode.messages[2].tool_calls]
    assert [message.tool_call_id for message in episode.messages[3:5]] == ids
    assert '"cancelled"' in episode.messages[4].content
    assert {len(request.tools) for request in context.requests} == {16}
    assert episode.messages[0].content == "Be kind."
    assert episode.state["ended"] == "user_stop"
    assert episode.termination == ""
    assert outcome(folder, episode) == "passed"


@pytest.mark.parametrize(("style", "mode"), [("json", "prompt_name_arguments"), ("react", "react")])
def test_asked_by_prompt_results_come_in_a_users_message(folder, style, mode):
    context = Scripted(says(JSON_CANCEL, "Anything else?"), asking="prompt")
    episode = play(folder, context, style=style)
    assert roles(episode) == ["system", "user", "assistant", "user", "assistant", "user"]
    assert episode.messages[3].content.startswith('API output: {"order_id": "#W1"')
    assert not any(request.tools for request in context.requests)
    assert "cancel_pending_order" in episode.messages[0].content
    assert episode.state["mode"] == mode
    assert outcome(folder, episode) == "passed"


def test_requests_never_hold_what_only_the_user_knows(folder):
    context = Scripted(says("Hello?"))
    play(folder, context)
    for request in context.requests:
        assert request.input == {"benchmark": "tau_bench", "metric": "retail", "domain": "retail"}
    first = " ".join(message.content for message in context.requests[0].messages)
    assert "#W1" not in first
    assert "no longer needed" not in first


def test_calls_without_ids_get_ids_that_are_the_same_each_time(folder):
    nameless = Completion(tool_calls=(ToolCall("", "think", "{}"), ToolCall("", "think", "{}")))
    first, second = (play(folder, Scripted(says(nameless, "Bye."))) for _ in range(2))
    assert first == second
    assert [call.id for call in first.messages[2].tool_calls] == ["call_1_0", "call_1_1"]


def test_a_transfer_ends_the_conversation_and_is_rewarded(folder):
    context = Scripted(says(calls(HAND_OVER, CANCEL)))
    episode = play(folder, context, REFUSED)
    assert episode.state["ended"] == "transfer"
    assert len(context.requests) == 1
    assert [action["name"] for action in episode.state["actions"]] == [HAND_OVER["name"]]
    assert "has ended" in episode.messages[-1].content
    assert outcome(folder, episode, REFUSED) == "passed"


@pytest.mark.parametrize(
    ("answer", "options", "limit", "requests"),
    [
        (calls(THINK), {}, "max_turns", 30),
        (calls(THINK), {"max_turns": 15}, "max_turns", 15),
        (calls(WRONG), {}, "max_tool_errors", 10),
        (calls(WRONG, WRONG), {"max_tool_errors": 4}, "max_tool_errors", 2),
        (calls({"name": "none", "kwargs": {}}), {"max_tool_errors": 3}, "max_tool_errors", 3),
        (Completion(tool_calls=(ToolCall("a", "think", "{"),)), {}, "max_parse_errors", 5),
        (Completion(finish_reason="unparsable"), {"max_parse_errors": 2}, "max_parse_errors", 2),
        (calls(THINK, usage=Usage(90, 10)), {"max_tokens": 250}, "max_tokens", 3),
        (calls(THINK, latency=0.5), {"max_seconds": 1.0}, "max_seconds", 2),
        (calls(THINK), {"max_cost": 0.05}, "max_cost", 3),
        (Completion(finish_reason="context_overflow"), {}, "context_overflow", 1),
        (Completion(finish_reason="content_filter"), {}, "content_filter", 1),
    ],
)
def test_every_limit_ends_an_episode_for_its_own_reason(folder, answer, options, limit, requests):
    context = Scripted(says(answer), price=0.02)
    episode = play(folder, context, REFUSED, **options)
    assert (episode.termination, episode.state["ended"]) == (limit, limit)
    assert len(context.requests) == requests
    assert sum(message.role == "assistant" for message in episode.messages) == requests
    assert outcome(folder, episode, REFUSED) == "failed"  # though nothing was to be done


def test_no_limit_holds_where_it_is_zero(folder):
    context = Scripted(says(calls(WRONG)), price=None)
    episode = play(folder, context, max_tool_errors=0, max_cost=0.01)
    assert episode.state["ended"] == "max_turns"


@pytest.mark.parametrize(
    "options",
    [{"max_turns": 0}, {"max_turns": 9999}, {"max_tokens": -1}, {"max_cost": "nan"}],
)
def test_limits_that_are_none_are_refused(options):
    with pytest.raises(UsageError, match=next(iter(options))):
        tau_data.benchmark(**options)


def test_an_unreadable_call_is_told_to_the_agent_and_to_nobody_else(folder):
    context = Scripted(says("TOOL_CALL: {", JSON_CANCEL, "Done."), asking="json")
    episode = play(folder, context)
    assert episode.messages[3].content.startswith("API output: Error: ")
    assert episode.state["parse_errors"] == 1
    assert episode.state["says"] == ["Done."]
    assert outcome(folder, episode) == "passed"


@pytest.mark.parametrize("written", ["{", "", "{'thought': 'Hm.'}", "[1]"])
def test_arguments_that_are_no_json_object_are_kept_and_sent_as_one(folder, written):
    """Many servers fail on a history that they cannot read."""
    context = Scripted(says(Completion(tool_calls=(ToolCall("a", "think", written),)), "Bye."))
    episode = play(folder, context)
    assert episode.messages[2].tool_calls[0].arguments == written
    [sent] = context.requests[1].messages[2].tool_calls
    assert isinstance(json.loads(sent.arguments), dict)
    assert context.requests[1].messages[3] == episode.messages[3]


def test_the_user_is_traced(folder):
    context = Scripted(
        says("What is your order number?", "Blub blub.", calls(CANCEL), "It is cancelled.")
    )
    user = play(folder, context).state["user"]
    assert user["goals"] == [{"kind": "cancel", "order": "#W1", "progress": "written"}]
    assert (user["user_turns"], user["unrecognised"], user["ending"]) == (3, 1, "satisfied")
    assert [turn["told"] for turn in user["trace"]] == [["0/order"], [], []]
    assert [turn["recognised"] for turn in user["trace"]] == [True, False, True]
    assert [turn["progress"] for turn in user["trace"]] == [["open"], ["open"], ["written"]]


def test_epochs_differ_in_wording_and_equal_ones_in_nothing(folder):
    opened = {
        play(folder, Scripted(says("Bye."), epoch=epoch)).messages[1].content for epoch in range(9)
    }
    assert len(opened) > 1
    again = [play(folder, Scripted(says("Bye."), epoch=3)) for _ in range(2)]
    assert again[0] == again[1]


def test_a_model_plays_the_user_and_ends_it(folder):
    user = says("Cancel it, please.", "Yes.", "###STOP###")
    context = Scripted(says("Shall I cancel #W1?", calls(CANCEL), "Done."), user=user, price=0.25)
    episode = play(folder, context, PROSE, use_llm_user=True, user_model="openai:m")
    assert episode.state["ended"] == "user_stop"
    assert episode.messages[1] == Message("user", "Cancel it, please.")
    assert episode.state["user"] == {"user_turns": 2, "ending": "stopped", "user_cost": 0.75}
    assert outcome(folder, episode, PROSE) == "passed"
    messages = context.of_user[-1].messages
    assert "You want what you want." in messages[0].content
    assert [message.role for message in messages[1:]] == ["user", "assistant"] * 2 + ["user"]
    assert messages[-1].content == "Done."
    assert all(request.input == {} and not request.tools for request in context.of_user)
    assert not any("You want" in m.content for r in context.requests for m in r.messages)


def test_a_failing_user_model_is_no_fault_of_the_agent(folder):
    def fails(step: int, request: object) -> Completion:
        raise TargetFailure(Failure(kind="permanent", message="no such model"))

    context = Scripted(says("Hi."), user=fails)
    with pytest.raises(EnvironmentFailure, match="plays the user failed: no such model"):
        play(folder, context, PROSE, use_llm_user=True, user_model="openai:m")


def test_a_user_model_that_says_nothing_is_heard_as_silence(folder):
    context = Scripted(says("Hi."), user=says("Hello.", " ", "###STOP###"))
    episode = play(folder, context, PROSE, use_llm_user=True, user_model="openai:m")
    assert [m.content for m in episode.messages if m.role == "user"][1] == "..."
