"""Who speaks for the user of an episode: the rules, or a model that is told the instruction.

Both are asked in turn and know when they are done; `told` is what the transcript keeps of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from evalcore.benchmarks.tau_bench.environment import Task, Write
from evalcore.benchmarks.tau_bench.users import RuleUser, UserState
from evalcore.benchmarks.tau_bench.users.phrases import STOP
from evalcore.errors import EnvironmentFailure, TargetFailure
from evalcore.records import Completion, GenerationRequest, Message

#: The answer of the model that plays the user, and its price in USD where known.
AskUser = Callable[[GenerationRequest], Awaitable[tuple[Completion, float | None]]]

_GREETING = "Hi! How can I help you today?"
_SILENCE = "..."
#: Ends of a request to the user's model that leave nothing to answer to.
_NO_ANSWER = ("content_filter", "context_overflow", "unparsable")
_ROLE = f"""You play a customer who writes to a support agent. What you want and know:

{{instruction}}

- Write one short message at a time, as a person would, and keep to the character above.
- Tell only what the present step needs, not everything at once.
- Make nothing up: what is not given above you do not know or do not remember.
- Say things in your own words instead of repeating the text above.
- When everything you want was done, or cannot be done, write {STOP} and nothing else. Not before.
- Stay the customer; never help or speak as the agent."""


class UserSimulator(Protocol):
    """`open` gives the first line, `reply` the next one and whether the user is done."""

    async def open(self) -> str: ...
    async def reply(self, text: str, writes: Sequence[Write]) -> tuple[str, bool]: ...
    def to_dict(self) -> dict[str, Any]:
        """`user_turns`, `ending`; of the rules `unrecognised`, `goals` as rows of kind, order and
        progress, and the `trace` of turns; of a model `user_cost` in USD, None if unknown."""
        ...


class RuleUserSimulator:
    """The deterministic user. The seed selects wordings alone."""

    def __init__(self, task: Task, seed: int) -> None:
        """Raises UsageError for a task whose wishes are free prose."""
        self._user = RuleUser()
        self._state: UserState = self._user.open(task, seed)
        self._trace: list[dict[str, Any]] = []

    async def open(self) -> str:
        return self._state.last_message

    async def reply(self, text: str, writes: Sequence[Write]) -> tuple[str, bool]:
        before = self._state
        message, self._state, done = self._user.reply(before, text, writes)
        now = self._state
        self._trace.append(
            {
                "goal": before.current,
                "told": [slot for slot in now.revealed_slots if slot not in before.revealed_slots],
                "progress": list(now.progress),
                "recognised": now.unrecognised == before.unrecognised,
            }
        )
        return message, done

    def to_dict(self) -> dict[str, Any]:
        state = self._state
        goals = [
            {"kind": goal.kind, "order": goal.order, "progress": progress}
            for goal, progress in zip(state.goals, state.progress, strict=True)
        ]
        return {
            "user_turns": state.turns,
            "unrecognised": state.unrecognised,
            "ending": state.ending,
            "goals": goals,
            "trace": self._trace,
        }


class LLMUserSimulator:
    """A model with the instruction, to whom the agent's words are those of another person."""

    def __init__(self, task: Task, ask: AskUser) -> None:
        system = _ROLE.format(instruction=task.instruction)
        self._messages = [Message("system", system)]
        self._ask = ask
        self._done = False
        self._cost: float | None = 0.0

    async def open(self) -> str:
        return await self._ask_model(_GREETING)

    async def reply(self, text: str, writes: Sequence[Write]) -> tuple[str, bool]:
        message = await self._ask_model(text or _SILENCE)
        return message, self._done

    def to_dict(self) -> dict[str, Any]:
        turns = sum(message.role == "user" for message in self._messages) - 1
        ending = "stopped" if self._done else ""
        return {"user_turns": turns, "ending": ending, "user_cost": self._cost}

    async def _ask_model(self, agent_text: str) -> str:
        """Raises EnvironmentFailure where the model gives no answer: no fault of the agent's."""
        self._messages.append(Message("user", agent_text))
        try:
            answer, cost = await self._ask(GenerationRequest(messages=tuple(self._messages)))
        except TargetFailure as error:
            raise EnvironmentFailure(f"the model that plays the user failed: {error}") from None
        self._cost = None if self._cost is None or cost is None else self._cost + cost
        if not answer.text.strip() and answer.finish_reason in _NO_ANSWER:
            raise EnvironmentFailure(f"the model that plays the user: {answer.finish_reason}")
        message = answer.text.strip() or _SILENCE
        self._messages.append(Message("assistant", message))
        self._done = STOP in message
        return message
