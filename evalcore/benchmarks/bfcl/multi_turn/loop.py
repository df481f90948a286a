"""A live multi-turn conversation: a target is asked, its calls run, their results told to it.

Upstream's rules. A turn begins with the user's messages and goes on, step by step, until an answer
holds no calls that decode; the 21st step with calls in a turn ends the whole conversation. Tools of
`missed_function` are handed over in their turn. `excluded_function` has no effect.

What differs: a native answer whose calls do not decode ends the turn as upstream, but each of its
calls is answered by an error first, since servers refuse a history with unanswered calls.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from evalcore.benchmarks.bfcl.decode import Call, DecodeError, decode_calls
from evalcore.benchmarks.bfcl.entry import BfclEntry
from evalcore.benchmarks.bfcl.multi_turn.calls import calls_to_text
from evalcore.benchmarks.bfcl.multi_turn.simulators import Overrun, Simulators
from evalcore.errors import DatasetError
from evalcore.records import Completion, Message, Record, is_withheld

MAX_TURN_STEPS = 20
STEP_LIMIT = "step_limit"
OVERFLOW = "context_overflow"
NEW_FUNCTIONS_MESSAGE = "More functions are available from now on. Please try again with them."
NOT_RUN = "Error: the calls of this answer could not be read; none was run."

Ask = Callable[[Sequence[Message], Sequence[dict[str, Any]]], Awaitable[Completion]]
Read = Callable[[str], list[Call]]


class Conversation(Record, frozen=True):
    """What happened. `prediction` holds the calls as text, by turn and step, as `replay.examine`
    takes them, `results` what each was answered, alike. `termination` is empty, `step_limit`,
    `context_overflow`, `content_filter`, or the kind of the `Overrun` that a call ended it by;
    later turns are then missing."""

    messages: tuple[Message, ...] = ()
    prediction: tuple[tuple[tuple[str, ...], ...], ...] = ()
    results: tuple[tuple[tuple[str, ...], ...], ...] = ()
    termination: str = ""
    requests: int = 0


class _ConversationRun:
    """A conversation while it lasts."""

    def __init__(
        self, entry: BfclEntry, ask: Ask, simulators: Simulators, read: Read | None
    ) -> None:
        self._entry, self._ask, self._simulators, self._read = entry, ask, simulators, read
        self._tools, self._later_tools = split_tools_by_turn(
            entry, entry.functions or simulators.list_documents(entry)
        )
        self._done: list[str] = []
        self.messages: list[Message] = []
        self.prediction: list[list[list[str]]] = []
        self.results: list[list[list[str]]] = []
        self.termination = ""
        self.requests = 0

    async def run_turn(self, number: int, turn_messages: list[Message]) -> None:
        """Ask until an answer holds no calls, or a limit ends the conversation."""
        if number in self._later_tools:
            turn_messages = [self._introduce_tools(self._later_tools[number]), *turn_messages]
        self.messages += turn_messages
        self.prediction.append([])
        self.results.append([])
        while not self.termination and await self._run_step():
            if len(self.prediction[-1]) > MAX_TURN_STEPS:
                self.termination = STEP_LIMIT

    def _introduce_tools(self, documents: list[dict[str, Any]]) -> Message:
        if self._read is None:
            self._tools = [*self._tools, *documents]
            return Message("user", NEW_FUNCTIONS_MESSAGE)
        return Message(
            "user", f"{json.dumps(documents, ensure_ascii=False)}\n{NEW_FUNCTIONS_MESSAGE}"
        )

    async def _run_step(self) -> bool:
        """One answer; whether it held calls, which have then been run."""
        answer = await self._ask(tuple(self.messages), tuple(self._tools))
        self.requests += 1
        if answer.finish_reason == OVERFLOW:
            self.termination = OVERFLOW
            return False
        if is_withheld(answer):
            self.termination = answer.finish_reason
            return False
        native = self._read is None
        tool_calls = answer.tool_calls if native else ()
        self.messages.append(Message("assistant", answer.text, answer.reasoning, tool_calls))
        try:
            decoded = (
                self._read(answer.text) if self._read else decode_calls(list(tool_calls), "fc")
            )
            calls = calls_to_text(decoded, native=native)
        except DecodeError:
            self.messages += [Message("tool", NOT_RUN, tool_call_id=call.id) for call in tool_calls]
            return False
        if not calls:
            return False
        self.prediction[-1].append(calls)
        results = await self._execute_calls(calls)
        if native:
            pairs = zip(results, tool_calls, strict=False)
            self.messages += [Message("tool", text, tool_call_id=call.id) for text, call in pairs]
        else:
            self.messages.append(Message("user", format_results_message(calls, results)))
        return True

    async def _execute_calls(self, calls: list[str]) -> list[str]:
        try:
            results = await asyncio.to_thread(
                self._simulators.execute, self._entry, self._done, calls
            )
        except Overrun as overrun:
            self.termination = overrun.kind
            return []
        self._done += calls
        self.results[-1].append(results)
        return results


async def run_conversation(
    entry: BfclEntry, ask: Ask, simulators: Simulators, read: Read | None = None
) -> Conversation:
    """The whole conversation of an entry with a target.

    `ask(messages, tools)` gets the history and the documents of the tools known by then. `read`
    makes calls of the text of an answer (raising DecodeError), and tool results then go back in a
    user's message; without it the target's native tool calls count. With `read` tools that come
    later are described in their turn's message and `tools` stays as it was.

    Raises what `ask` raises, EnvironmentFailure where the APIs cannot be run, DatasetError for an
    entry that is none.
    """
    messages_by_turn = [_convert_turn_messages(entry, turn) for turn in entry.question]
    run = _ConversationRun(entry, ask, simulators, read)
    for number, messages in enumerate(messages_by_turn):
        if run.termination:
            break
        await run.run_turn(number, messages)
    return Conversation(
        tuple(run.messages),
        tuple(tuple(map(tuple, turn)) for turn in run.prediction),
        tuple(tuple(map(tuple, turn)) for turn in run.results),
        run.termination,
        run.requests,
    )


def split_tools_by_turn(
    entry: BfclEntry, documents: Sequence[dict[str, Any]]
) -> tuple[list[dict[str, Any]], dict[int, list[dict[str, Any]]]]:
    """The documents offered from the first turn on, and those handed over later, by turn.

    Raises DatasetError for a `missed_function` that is not {turn: [names]}.
    """
    tools = list(documents)
    tools_by_turn: dict[int, list[dict[str, Any]]] = {}
    for turn, names in _load_missed_functions(entry).items():
        tools_by_turn[turn] = [document for document in tools if document["name"] in names]
        tools = [document for document in tools if document["name"] not in names]
    return tools, tools_by_turn


def format_results_message(calls: Sequence[str], results: Sequence[str]) -> str:
    """Results of calls as upstream writes them into a user's message."""
    pairs = zip(calls, results, strict=False)
    return repr([{"role": "tool", "name": call, "content": text} for call, text in pairs])


def _load_missed_functions(entry: BfclEntry) -> dict[int, list[str]]:
    try:
        return msgspec.convert(
            entry.extra.get("missed_function", {}), dict[int, list[str]], strict=False
        )
    except msgspec.ValidationError as error:
        raise DatasetError(entry.id, None, "missed_function", str(error)) from None


def _convert_turn_messages(entry: BfclEntry, turn: Any) -> list[Message]:
    try:
        return msgspec.convert(turn, list[Message])
    except msgspec.ValidationError as error:
        raise DatasetError(entry.id, None, "question", str(error)) from None
