"""Multi-turn conversations: hold them with a target, replay them, and check them against the ground
truth.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Protocol

import msgspec

from evalcore.benchmarks.agents import is_withheld
from evalcore.benchmarks.bfcl.categories import MULTI_TURN
from evalcore.benchmarks.bfcl.entry import BfclEntry
from evalcore.benchmarks.bfcl.multi_turn.service import (
    ReplayOutcome,
    calls_to_text,
    list_call_steps,
)
from evalcore.benchmarks.bfcl.multi_turn.simulators import Overrun, Simulators
from evalcore.benchmarks.bfcl.score import ViewResult
from evalcore.benchmarks.call_decoding import Call, DecodeError, decode_calls
from evalcore.call_formats import ParsedCall
from evalcore.call_formats.python_source import parse_python_calls
from evalcore.call_formats.values import OfferedTools
from evalcore.errors import DatasetError
from evalcore.i18n import Note
from evalcore.records import Completion, Episode, Message, Record, ToolCall

# A live multi-turn conversation: a target is asked, its calls run, their results told to it.
# Upstream's rules. A turn begins with the user's messages and goes on, step by step, until an
# answer holds no calls that decode; the 21st step with calls in a turn ends the whole conversation.
# Tools of `missed_function` are handed over in their turn. `excluded_function` has no effect. What
# differs: a native answer whose calls do not decode ends the turn as upstream, but each of its
# calls is answered by an error first, since servers refuse a history with unanswered calls.

MAX_TURN_STEPS = 20
STEP_LIMIT = "step_limit"
OVERFLOW = "context_overflow"
NEW_FUNCTIONS_MESSAGE = "More functions are available from now on. Please try again with them."
NOT_RUN = "Error: the calls of this answer could not be read; none was run."

Ask = Callable[[Sequence[Message], Sequence[dict[str, Any]]], Awaitable[Completion]]
#: The words that introduce the documents of added functions, natively or by prompt.
Announce = Callable[[Sequence[dict[str, Any]], bool], str]
Read = Callable[[str], list[Call]]


class ToolRunner(Protocol):
    """What runs the calls of a conversation; `Simulators` is one."""

    def list_documents(self, entry: BfclEntry) -> list[dict[str, Any]]: ...

    def execute(self, entry: BfclEntry, done: Sequence[str], calls: Sequence[str]) -> list[str]: ...


class Conversation(Record, frozen=True):
    """What happened. `prediction` holds the calls as text, by turn and step, as
    `examine_prediction` takes them, `results` what each was answered, alike. `termination` is
    empty, `step_limit`, `context_overflow`, `content_filter`, or the kind of the `Overrun` that a
    call ended it by; later turns are then missing."""

    messages: tuple[Message, ...] = ()
    prediction: tuple[tuple[tuple[str, ...], ...], ...] = ()
    results: tuple[tuple[tuple[str, ...], ...], ...] = ()
    termination: str = ""
    requests: int = 0


class _ConversationRun:
    """The state of a running conversation."""

    def __init__(
        self,
        entry: BfclEntry,
        ask: Ask,
        simulators: ToolRunner,
        read: Read | None,
        announce: Announce,
        done: Sequence[str],
    ) -> None:
        self._entry, self._ask, self._simulators, self._read = entry, ask, simulators, read
        self._announce = announce
        self._tools, self._later_tools = split_tools_by_turn(
            entry, entry.functions or simulators.list_documents(entry)
        )
        self._done = list(done)
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
        native = self._read is None
        if native:
            self._tools = [*self._tools, *documents]
        return Message("user", self._announce(documents, native))

    async def _run_step(self) -> bool:
        """Request one answer and run its calls; return whether it had any."""
        answer = await self._ask(tuple(self.messages), tuple(self._tools))
        self.requests += 1
        if answer.finish_reason == OVERFLOW or is_withheld(answer):
            self.termination = answer.finish_reason
            return False
        native = self._read is None
        tool_calls = answer.tool_calls if native else ()
        reply = Message(
            "assistant", answer.text, answer.reasoning, tool_calls, opaque=answer.opaque
        )
        self.messages.append(reply)
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


def announce_functions(documents: Sequence[dict[str, Any]], native: bool) -> str:
    """Our own words where functions are added; by prompt with their documents."""
    if native:
        return NEW_FUNCTIONS_MESSAGE
    return f"{json.dumps(documents, ensure_ascii=False)}\n{NEW_FUNCTIONS_MESSAGE}"


async def run_conversation(
    entry: BfclEntry,
    ask: Ask,
    simulators: ToolRunner,
    read: Read | None = None,
    announce: Announce = announce_functions,
    done: Sequence[str] = (),
) -> Conversation:
    """The whole conversation of an entry with a target.

    `ask(messages, tools)` gets the history and the documents of the tools known by then. `read`
    makes calls of the text of an answer (raising DecodeError), and tool results then go back in a
    user's message; without it the target's native tool calls count. With `read` tools that come
    later are described in their turn's message and `tools` stays as it was. `done` are calls that
    were made before it began.

    Raises what `ask` raises, EnvironmentFailure where the APIs cannot be run, DatasetError for an
    entry that is none.
    """
    messages_by_turn = [_convert_turn_messages(entry, turn) for turn in entry.question]
    run = _ConversationRun(entry, ask, simulators, read, announce, done)
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
    """Return the documents offered from the first turn on, and those added later, by turn. Raises
    DatasetError for a `missed_function` that is not {turn: [names]}."""
    tools = list(documents)
    tools_by_turn: dict[int, list[dict[str, Any]]] = {}
    for turn, names in _load_missed_functions(entry).items():
        by_name = {document["name"]: document for document in reversed(tools)}
        tools_by_turn[turn] = [by_name[name] for name in names if name in by_name]
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


INFERENCE = "multi_turn:inference_error"
TERMINATED = "multi_turn:force_terminated"

#: Two error types of ours, for calls that overran their limits.
OVERRUNS = ("execution_timeout", "execution_lost")


class Examination(Record, frozen=True):
    """A verdict and what it rests on: the turn that failed, the first difference of the states,
    the results that are missing, and what was called in each turn with what result."""

    scored: ViewResult
    outcome: ReplayOutcome


def examine_prediction(entry: BfclEntry, prediction: Any, simulators: Simulators) -> Examination:
    """Upstream's verdict on a prediction: a list of turns, each a list of steps
    (`list_call_steps`). Raises nothing for what a model wrote; EnvironmentFailure where the APIs
    cannot be run, DatasetError for an entry that is none."""
    truth = ground_truth(entry)
    outcome = _find_turn_mismatch(truth, prediction)
    if outcome is None:
        turns = [list_call_steps(turn) for turn in prediction]
        outcome = _replay_turns(entry, truth, turns, simulators)
    valid = not outcome.error_type
    scored = ViewResult(valid, outcome.error_type, outcome.message, score=float(valid))
    return Examination(scored, outcome)


def ground_truth(entry: BfclEntry) -> list[list[str]]:
    """Return the calls of every turn as text; raises DatasetError for anything else."""
    truth = entry.ground_truth
    if not truth or not all(
        isinstance(turn, list) and all(isinstance(call, str) for call in turn) for turn in truth
    ):
        raise DatasetError(entry.id, None, "ground_truth", Note("bfcl_turns"))
    return truth


def _find_turn_mismatch(truth: Sequence[Any], prediction: Any) -> ReplayOutcome | None:
    if not isinstance(prediction, list | tuple):
        return ReplayOutcome(INFERENCE, "the prediction is no list of turns")
    if len(prediction) != len(truth):
        message = Note("turn_ended", turn=len(prediction), total=len(truth))
        return ReplayOutcome(TERMINATED, message)
    return None


def _replay_turns(
    entry: BfclEntry, truth: list[list[str]], turns: list[list[list[str]]], simulators: Simulators
) -> ReplayOutcome:
    try:
        return simulators.replay(entry, truth, turns)
    except Overrun as overrun:
        return ReplayOutcome(overrun.kind, str(overrun))


_DONE = "Done."


def list_added_names(entry: BfclEntry) -> set[str]:
    """The names of functions that come in a later turn."""
    return {name for names in _load_missed_functions(entry).values() for name in names}


def list_initial_functions(entry: BfclEntry) -> list[dict[str, Any]]:
    if entry.category in MULTI_TURN:
        return split_tools_by_turn(entry, entry.functions)[0]
    return entry.functions


async def run_entry_conversation(
    entry: BfclEntry,
    opening: Sequence[Message],
    mode: str,
    ask: Ask,
    simulators: Simulators,
    announce: Announce = announce_functions,
) -> Conversation:
    """The conversation that the messages of `opening` begin, answers read in a mode of `MODES`.
    Raises what `ask` raises, and EnvironmentFailure where the APIs cannot be run."""
    simulators.list_documents(entry)  # says what is missing before anything is asked
    first = msgspec.to_builtins(list(opening))
    begun = msgspec.structs.replace(entry, question=[first, *entry.question[1:]])
    read = None if mode == "fc" else partial(decode_calls, mode=mode)
    return await run_conversation(begun, ask, simulators, read, announce)


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
    done = transcript[-1].role == "tool"
    calls = [] if done else [_parse_truth_call(text, entry) for text in truth[turn]]
    if not calls:
        return Completion(text=_DONE)
    made = tuple(
        ToolCall(f"call_{number}", name, json.dumps(arguments, ensure_ascii=False))
        for number, (name, arguments) in enumerate(calls, len(transcript))
    )
    return Completion(tool_calls=made, finish_reason="tool_calls")


def _turns_begun(transcript: Sequence[Message]) -> int:
    asked = [message.role in ("system", "user") for message in transcript]
    return sum(now and not before for before, now in zip([False, *asked], asked, strict=False))


def _parse_truth_call(text: str, entry: BfclEntry) -> tuple[str, dict[str, Any]]:
    tools = OfferedTools(entry.functions)
    [call] = parse_python_calls(text, tools, lenient=True) or [ParsedCall(text, {})]
    return call.name, call.arguments if isinstance(call.arguments, dict) else {}
