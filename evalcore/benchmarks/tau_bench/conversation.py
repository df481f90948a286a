"""The conversation of one episode: agent, tools and user in turn, until one of its ends or a
budget.

Whatever the agent writes is read, answered and kept; only failures of the target or of our own
side raise. Every request follows from the answers before, so that a resumed conversation finds
them in the journal.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from evalcore.benchmarks.agents import (
    OUTPUT,
    AgentCall,
    Style,
    Tool,
    assign_call_ids,
    build_answer_messages,
    classify_call_reading,
    is_withheld,
    parse_turn,
)
from evalcore.benchmarks.call_decoding.call import replace_surrogates
from evalcore.benchmarks.tau_bench.user_simulators import UserSimulator
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Completion, Message, Record, ToolCall

#: Ends of a conversation that tau-bench rewards.
USER_STOP, TRANSFER = "user_stop", "transfer"
OVERFLOW = "context_overflow"
#: The provider withheld the answer: whatever follows would be withheld too.
FILTERED = "content_filter"
MAX_TURNS = 200


class Budgets(Record, frozen=True):
    """0 is no limit. Turns are answers of the agent; tokens are all that it read and wrote, seconds
    those it took to answer, and cost is in USD, which limits nothing where no price is known."""

    max_turns: int = 30
    max_tool_errors: int = 10
    max_parse_errors: int = 5
    max_tokens: int = 0
    max_seconds: float = 0.0
    max_cost: float = 0.0


def parse_budgets(options: Mapping[str, Any], benchmark: str) -> Budgets:
    """The limits among a benchmark's options. Raises UsageError for one below 0, and for turns
    without end."""
    limits = {name: options[name] for name in Budgets.__struct_fields__}
    for name, limit in limits.items():
        if not 0 <= limit < float("inf"):
            raise UsageError(Note("tau_limit", benchmark=benchmark, name=name, value=limit))
    if not 1 <= limits["max_turns"] <= MAX_TURNS:
        raise UsageError(Note("tau_max_turns", benchmark=benchmark, most=MAX_TURNS))
    return Budgets(**limits)


#: What an episode took so far is counted in the fields of `Budgets`. All of it comes from the
#: answers themselves, so that an episode that is resumed adds up to the same.
NOTHING_SPENT = Budgets(0, 0, 0)


def find_exceeded_limit(spent: Budgets, budgets: Budgets) -> str:
    """The name of the first limit that is reached, else empty."""
    for name in Budgets.__struct_fields__:
        limit = getattr(budgets, name)
        if limit and getattr(spent, name) >= limit:
            return str(name)
    return ""


def add_answer_usage(spent: Budgets, answer: Completion, cost: float | None) -> Budgets:
    usage = answer.usage
    return msgspec.structs.replace(
        spent,
        max_turns=spent.max_turns + 1,
        max_tokens=spent.max_tokens + (usage.input_tokens or 0) + (usage.output_tokens or 0),
        max_seconds=spent.max_seconds + answer.latency,
        max_cost=spent.max_cost + (cost or 0.0),
    )


#: The agent's answer to the messages so far, and its price in USD where known.
Ask = Callable[[Sequence[Message]], Awaitable[tuple[Completion, float | None]]]

_ERRORS = ("Error", "Unknown action")


class ConversationResult(Record, frozen=True):
    """A conversation. `actions` are all calls in order, their arguments as JSON text; `says` what
    the user was told; `ended` the reason of the end, of `budgets` or the name of a limit;
    `call_readings` the turns with calls by how those were read."""

    messages: tuple[Message, ...]
    actions: tuple[dict[str, str], ...]
    says: tuple[str, ...]
    ended: str
    spent: Budgets
    finish_reason: str
    user: dict[str, Any]
    call_readings: dict[str, int] = {}


def is_tool_error(observation: str) -> bool:
    return observation.startswith(_ERRORS)


class World(Protocol):
    """What an agent acts on: the tools it is offered, what they did, and whether one of them ended
    the conversation."""

    @property
    def tools(self) -> Sequence[Tool]: ...
    @property
    def writes(self) -> Sequence[Any]: ...
    @property
    def terminated(self) -> bool: ...
    def call(self, name: Any, kwargs: Any) -> str: ...


class ConversationBase(ABC):
    """One episode while it is played. `_messages` are those of the transcript, `_sent` the same as
    the agent is shown them."""

    def __init__(self, user: UserSimulator, ask: Ask, style: Style) -> None:
        self._user, self._ask, self._style = user, ask, style
        self._messages: list[Message] = []
        self._sent: list[Message] = []
        self._actions: list[dict[str, str]] = []
        self._says: list[str] = []
        self._spent = NOTHING_SPENT
        self._finish_reason = ""
        self._readings: Counter[str] = Counter()

    async def play(self, opening: Sequence[Message]) -> ConversationResult:
        """The whole of it, from the system message and the user's first line on."""
        self._append_messages(*opening)
        ended = await self._run_steps()
        return ConversationResult(
            tuple(self._messages),
            tuple(self._actions),
            tuple(self._says),
            ended,
            self._spent,
            self._finish_reason,
            self._user.to_dict(),
            dict(self._readings),
        )

    @abstractmethod
    async def _run_steps(self) -> str:
        """Answers of the agent and what follows from them, up to the end; why it ended."""

    async def _request_answer(self) -> Completion:
        answer, cost = await self._ask(self._sent)
        self._spent = add_answer_usage(self._spent, answer, cost)
        self._finish_reason = answer.finish_reason
        return answer

    async def _tell_user(self, message: str, writes: Sequence[Any]) -> str:
        self._says.append(message)
        text, done = await self._user.reply(message, writes)
        self._append_messages(Message("user", replace_surrogates(text)))
        return USER_STOP if done else ""

    def _append_messages(self, *messages: Message) -> None:
        self._messages += messages
        self._sent += messages


class Conversation(ConversationBase):
    """An episode in which the agent may make several calls an answer, within budgets."""

    def __init__(
        self, environment: World, user: UserSimulator, ask: Ask, style: Style, budgets: Budgets
    ) -> None:
        super().__init__(user, ask, style)
        self._environment, self._budgets = environment, budgets

    async def _run_steps(self) -> str:
        ended = ""
        while not ended:
            ended = await self._run_step()
        return ended

    async def _run_step(self) -> str:
        """One answer of the agent and what follows from it; why the episode ended, if it did."""
        answer = await self._request_answer()
        turn = parse_turn(answer, self._style, self._environment.tools)
        if reading := classify_call_reading(turn, self._style, self._environment.tools):
            self._readings[reading] += 1
        native = self._style == "native"
        calls = assign_call_ids(answer.tool_calls, self._spent.max_turns) if native else ()
        written, sent = build_answer_messages(answer, calls, turn.calls)
        self._messages.append(written)
        self._sent.append(sent)
        if answer.finish_reason == OVERFLOW:
            return OVERFLOW
        if is_withheld(answer):
            return FILTERED
        if turn.calls:
            ended = self._execute_calls(turn.calls, calls)
        elif turn.problem:
            self._add_observations(self._record_parse_error(turn.problem))
            ended = ""
        else:
            ended = await self._tell_user(turn.user_message, self._environment.writes)
        return ended or find_exceeded_limit(self._spent, self._budgets)

    def _execute_calls(self, calls: Sequence[AgentCall], native: Sequence[ToolCall]) -> str:
        observations = [self._execute_call(requested) for requested in calls]
        if native:
            pairs = zip(observations, native, strict=True)
            self._append_messages(
                *(Message("tool", text, tool_call_id=call.id) for text, call in pairs)
            )
        else:
            self._add_observations(*observations)
        return TRANSFER if self._environment.terminated else ""

    def _execute_call(self, call: AgentCall) -> str:
        if call.problem:
            return self._record_parse_error(call.problem)
        if self._environment.terminated:  # what comes after the end is no action any more
            return self._environment.call(call.name, call.kwargs)
        self._actions.append({"name": call.name, "kwargs": json.dumps(call.kwargs)})
        observation = replace_surrogates(self._environment.call(call.name, call.kwargs))
        if is_tool_error(observation):
            self._update_error_counts(max_tool_errors=self._spent.max_tool_errors + 1)
        return observation

    def _record_parse_error(self, problem: str) -> str:
        self._update_error_counts(max_parse_errors=self._spent.max_parse_errors + 1)
        return f"Error: {problem}"

    def _add_observations(self, *observations: str) -> None:
        """Results as a message that stands for the environment."""
        self._append_messages(
            Message("user", "\n".join(f"{OUTPUT}{text}" for text in observations))
        )

    def _update_error_counts(self, **errors: int) -> None:
        self._spent = msgspec.structs.replace(self._spent, **errors)
