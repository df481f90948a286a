"""Conversations as the benchmark needs them: one as an episode, and the steps of the reference."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from evalcore.benchmarks.bfcl.categories import MULTI_TURN
from evalcore.benchmarks.bfcl.decode import decode_calls
from evalcore.benchmarks.bfcl.decode.loose_python import calls_in_python
from evalcore.benchmarks.bfcl.decode.tolerant import build_signatures
from evalcore.benchmarks.bfcl.entry import BfclEntry
from evalcore.benchmarks.bfcl.multi_turn.loop import (
    Ask,
    Conversation,
    run_conversation,
    split_tools_by_turn,
)
from evalcore.benchmarks.bfcl.multi_turn.replay import ground_truth
from evalcore.benchmarks.bfcl.multi_turn.simulators import Simulators
from evalcore.records import Completion, Episode, Message, ToolCall

_DONE = "Done."


def list_initial_functions(entry: BfclEntry) -> list[dict[str, Any]]:
    """The functions that are offered with the first message."""
    return (
        split_tools_by_turn(entry, entry.functions)[0]
        if entry.category in MULTI_TURN
        else entry.functions
    )


async def run_entry_conversation(
    entry: BfclEntry, opening: Sequence[Message], mode: str, ask: Ask, simulators: Simulators
) -> Conversation:
    """The conversation that the messages of `opening` begin, answers read in a mode of `MODES`.

    Raises what `ask` raises, and EnvironmentFailure where the APIs cannot be run.
    """
    simulators.list_documents(entry)  # says what is missing before anything is asked
    first = msgspec.to_builtins(list(opening))
    begun = msgspec.structs.replace(entry, question=[first, *entry.question[1:]])
    read = None if mode == "fc" else partial(decode_calls, mode=mode)
    return await run_conversation(begun, ask, simulators, read)


def conversation_to_episode(conversation: Conversation, key: str, epoch: int, mode: str) -> Episode:
    """A conversation as an episode; its state holds the calls by turn and step."""
    replies = [message.content for message in conversation.messages if message.role == "assistant"]
    return Episode(
        key=key,
        epoch=epoch,
        answer=replies[-1] if replies else "",
        messages=conversation.messages,
        finish_reason="stop",
        termination=conversation.termination,
        state={"mode": mode, "turns": msgspec.to_builtins(conversation.prediction)},
    )


def reference_step(entry: BfclEntry, transcript: Sequence[Message]) -> Completion:
    """What the reference says next: all calls of a turn at once, then that it is done."""
    truth = ground_truth(entry)
    turn = min(_turns_begun(transcript), len(truth)) - 1
    calls = (
        []
        if transcript[-1].role == "tool"
        else [_parse_truth_call(text, entry) for text in truth[turn]]
    )
    if not calls:
        return Completion(text=_DONE)
    numbered = enumerate(calls, len(transcript))
    made = tuple(
        ToolCall(f"call_{number}", name, json.dumps(arguments, ensure_ascii=False))
        for number, (name, arguments) in numbered
    )
    return Completion(tool_calls=made, finish_reason="tool_calls")


def _turns_begun(transcript: Sequence[Message]) -> int:
    asked = [message.role in ("system", "user") for message in transcript]
    return sum(now and not before for before, now in zip([False, *asked], asked, strict=False))


def _parse_truth_call(text: str, entry: BfclEntry) -> tuple[str, dict[str, Any]]:
    """A call of the ground truth with all its arguments by name."""
    [call] = calls_in_python(text, build_signatures(entry.functions)) or [{text: {}}]
    return next(iter(call.items()))
