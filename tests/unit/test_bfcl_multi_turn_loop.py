"""Live conversations: what a target is asked, what it is told, and what ends a conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from evalcore.benchmarks.bfcl.multi_turn.conversations import (
    MAX_TURN_STEPS,
    NEW_FUNCTIONS_MESSAGE,
    NOT_RUN,
    run_conversation,
)
from evalcore.benchmarks.bfcl.multi_turn.simulators import Simulators
from evalcore.benchmarks.call_decoding import decode_calls
from evalcore.errors import DatasetError, TargetFailure
from evalcore.records import Completion, Failure, ToolCall, from_json, to_json
from tests.support.bfcl_multi_turn import check_prediction, shelf_entry, shelf_simulators

PUT = "put(box='b', item=1)"


@pytest.fixture(scope="module")
def simulators() -> Iterator[Simulators]:
    with shelf_simulators() as opened:
        yield opened


def called(*calls: tuple[str, str]) -> Completion:
    """An answer with native calls of (name, arguments)."""
    made = [ToolCall(f"c{number}", *call) for number, call in enumerate(calls)]
    return Completion(text="", tool_calls=tuple(made), finish_reason="tool_calls")


class Scripted:
    """A target that gives prepared answers, then the last one for ever; it keeps its requests."""

    def __init__(self, *answers: Completion | str) -> None:
        self._answers = [a if isinstance(a, Completion) else Completion(text=a) for a in answers]
        self.requests: list[tuple] = []

    async def __call__(self, messages, tools) -> Completion:
        self.requests.append((messages, [tool["name"] for tool in tools]))
        return self._answers[min(len(self.requests), len(self._answers)) - 1]


def read(text: str):
    return decode_calls(text, "prompt_python")


async def test_native_calls_are_run_and_answered(simulators):
    entry = shelf_entry([[PUT, "label()"], ["count()"]])
    put = ("put", '{"box": "b", "item": 1}')
    ask = Scripted(called(put, ("label", "{}")), "Done.", called(("count", "")), "Nothing.")
    conversation = await run_conversation(entry, ask, simulators)
    assert [message.role for message in conversation.messages] == [
        *("user", "assistant", "tool", "tool", "assistant"),
        *("user", "assistant", "tool"),
    ]
    results = [(m.tool_call_id, m.content) for m in conversation.messages if m.role == "tool"]
    assert results == [("c0", '{"items": 1}'), ("c1", "shelf"), ("c0", NOT_RUN)]
    assert conversation.prediction == ((("put(box='b',item=1)", "label()"),), ())
    assert conversation.results == ((('{"items": 1}', "shelf"),), ())
    assert (conversation.termination, conversation.requests) == ("", 3)
    assert check_prediction(entry, conversation.prediction, simulators).error_type.endswith(
        "empty_turn_model_response"
    )


async def test_calls_in_text_are_answered_by_the_user(simulators):
    entry = shelf_entry([[PUT], ["count()"]])
    ask = Scripted(f"[{PUT}, other()]", "All done.", "count()", "[]")
    conversation = await run_conversation(entry, ask, simulators, read)
    assert [message.role for message in conversation.messages] == ["user", "assistant"] * 4
    content = conversation.messages[2].content
    assert content.startswith("[{'role': 'tool', 'name': \"put(box='b', item=1)\", 'content': '{")
    assert "name 'other' is not defined" in content
    assert conversation.prediction == (((PUT, "other()"),), (("count()",),))
    assert check_prediction(entry, conversation.prediction, simulators).valid
    assert from_json(type(conversation), to_json(conversation)) == conversation


async def test_the_state_lasts_through_the_conversation(simulators):
    put = called(("put", '{"box": "b", "item": 1}'))
    ask = Scripted(put, put, "", put, "")
    conversation = await run_conversation(shelf_entry([[PUT], [PUT]]), ask, simulators)
    assert [result for turn in conversation.results for step in turn for result in step] == [
        f'{{"items": {number}}}' for number in (1, 2, 3)
    ]


async def test_too_many_steps_end_the_conversation(simulators):
    ask = Scripted(called(("count", "{}")))
    entry = shelf_entry([["count()"], ["count()"]])
    conversation = await run_conversation(entry, ask, simulators)
    assert (conversation.termination, conversation.requests) == ("step_limit", MAX_TURN_STEPS + 1)
    assert (
        check_prediction(entry, conversation.prediction, simulators).error_type
        == "multi_turn:force_terminated"
    )
    alone = shelf_entry([["count()"]])
    conversation = await run_conversation(alone, Scripted(called(("count", "{}"))), simulators)
    # as upstream: no turn is missing
    assert check_prediction(alone, conversation.prediction, simulators).valid


async def test_held_back_tools_are_handed_over_in_their_turn(simulators):
    question = [[{"role": "user", "content": "Put."}], []]
    entry = shelf_entry([[], [PUT]], question=question, missed_function={"1": ["put", "nothing"]})
    put = called(("put", '{"box": "b", "item": 1}'))
    ask = Scripted("I cannot.", put, "Done.")
    conversation = await run_conversation(entry, ask, simulators)
    assert ["put" in tools for _, tools in ask.requests] == [False, True, True]
    assert [message.content for message in conversation.messages[:3]] == [
        "Put.",
        "I cannot.",
        NEW_FUNCTIONS_MESSAGE,
    ]
    assert check_prediction(entry, conversation.prediction, simulators).valid
    ask = Scripted("I cannot.", PUT, "Done.")
    conversation = await run_conversation(entry, ask, simulators, read)
    assert not any("put" in tools for _, tools in ask.requests)
    documents, sentence = conversation.messages[2].content.split("\n")
    assert [document["name"] for document in json.loads(documents)] == ["put"]
    assert sentence == NEW_FUNCTIONS_MESSAGE
    assert check_prediction(entry, conversation.prediction, simulators).valid


async def test_a_call_that_hangs_ends_the_conversation():
    with shelf_simulators(seconds=1.0) as simulators:
        entry = shelf_entry([[PUT], [PUT]])
        conversation = await run_conversation(entry, Scripted(PUT, "wait()"), simulators, read)
        assert (conversation.termination, conversation.requests) == ("execution_timeout", 2)
        assert conversation.prediction == (((PUT,), ("wait()",)),)
        assert (
            await run_conversation(entry, Scripted(PUT, ""), simulators, read)
        ).termination == ""


async def test_failures_of_the_target_pass_through(simulators):
    async def fail(messages, tools) -> Completion:
        raise TargetFailure(Failure("timeout", "too slow"))

    with pytest.raises(TargetFailure):
        await run_conversation(shelf_entry([[PUT]]), fail, simulators)


@pytest.mark.parametrize(
    "extra",
    [{"question": [["Hello"]]}, {"missed_function": {"x": ["put"]}}, {"missed_function": [1]}],
)
async def test_entries_that_are_none_are_refused(simulators, extra):
    with pytest.raises(DatasetError):
        await run_conversation(shelf_entry([[PUT]], **extra), Scripted(""), simulators)
