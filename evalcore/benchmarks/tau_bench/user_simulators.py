"""User simulators: the rule user, deterministic, which tells a slot only when asked and follows
the environment alone, and a model that is told the instruction.
"""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from evalcore.benchmarks.tau_bench import user_lexicon
from evalcore.benchmarks.tau_bench.agent_intent import (
    AgentIntent,
    GoalComparison,
    compare_to_goal,
    parse_agent_intent,
)
from evalcore.benchmarks.tau_bench.environment import Task, Write
from evalcore.benchmarks.tau_bench.user_goals import (
    IDENTITY,
    OPEN,
    SLOTS,
    Goal,
    Item,
    Scenario,
    Slot,
    UserState,
    can_answer_slot,
    from_slots,
    note_writes,
    parse_train_instruction,
    set_goal_progress,
    slot_key,
    to_slots,
)
from evalcore.benchmarks.tau_bench.user_lexicon import STOP
from evalcore.errors import EnvironmentFailure, TargetFailure
from evalcore.i18n import Note
from evalcore.records import Completion, GenerationRequest, Message

# `reply` is a pure function of the state, the agent's text and the write log. A goal counts as
# written only when the log shows a successful write of its kind to its order; no text of the agent
# can do that. A refusal, or a price above the limit, drops a goal for its fallback; a question is
# over when an answer with a number, or any statement, came, and only the reward knows whether it is
# right.

#: Turns in a row that may bring nothing new, before the user gives up.
PATIENCE = 6
#: How often the user asks again for what was refused.
INSISTS = 2
_ASKED_AGAIN = 2


class RuleUser:
    """The default user; it holds no state of its own."""

    def open(self, task: Task, seed: int) -> UserState:
        """The state with the opening line in `said`. The seed only selects wordings. Raises
        UsageError where the task has no usable slots and is not of the TRAIN template."""
        scenario = (
            parse_train_instruction(task.instruction)
            if task.slots is None
            else from_slots(task.slots)
        )
        return build_opening_state(scenario, zlib.crc32(f"{task.id}/{seed}".encode()))

    def reply(
        self, state: UserState, agent_text: str, writes: Sequence[Write]
    ) -> tuple[str, UserState, bool]:
        """The answer to one message of the agent; nothing that it says can raise."""
        if state.done:
            return "", state, True
        state = replace(state, turns=state.turns + 1)
        before = state.current
        state = note_writes(state, writes)
        goal_index = state.current
        if goal_index is None or goal_index != before:
            text, state = _advance_goal(state)
        else:
            agent_intent = parse_agent_intent(agent_text)
            text, state = _answer_agent(state, goal_index, agent_intent, agent_text)
        if state.idle >= PATIENCE and not state.done:
            text, state = _end_conversation(state, "give_up", "given_up")
        state = replace(state, last_message=text)
        return text, state, state.done


def build_opening_state(scenario: Scenario, seed: int) -> UserState:
    goals = scenario.goals
    first = user_lexicon.format_goal(scenario, goals[0], seed) if goals else ""
    message = f"{user_lexicon.format_line('hello', seed)} {first}".strip()
    return UserState(scenario, seed, message, goals, (OPEN,) * len(goals))


def _advance_goal(state: UserState, line: str = "next") -> tuple[str, UserState]:
    """The line after a goal was left behind: the next wish, or goodbye."""
    goal_index = state.current
    state = replace(state, idle=0, refusals=0)
    if goal_index is None:
        return _end_conversation(state, "bye", "satisfied")
    wish = _phrase_goal(state, goal_index, state.seed + goal_index)
    return f"{user_lexicon.format_line(line, state.seed + goal_index)} {wish}", state


def _end_conversation(state: UserState, line: str, ending: str) -> tuple[str, UserState]:
    if ending == "given_up":
        left = tuple("given_up" if each == "open" else each for each in state.progress)
        state = replace(state, progress=left)
    text = f"{user_lexicon.format_line(line, state.seed)} {STOP}"
    return text, replace(state, ending=ending)


def _answer_agent(
    state: UserState, goal_index: int, agent_intent: AgentIntent, text: str
) -> tuple[str, UserState]:
    """The answer while goal `goal_index` is open. A price, a refusal or an answer to a question
    leave it; then what contradicts the goal goes before what is asked, and that before a bare yes.
    """
    goal = state.goals[goal_index]
    comparison = compare_to_goal(text, state.scenario, goal)
    asks = _select_asked_slots(state, goal, agent_intent, comparison)
    if goal.limit is not None and (comparison.amount or 0) > goal.limit:
        return _drop_goal(state, goal_index, "limit")
    new = [slot for slot in asks if slot_key(goal_index, slot) not in state.revealed_slots]
    if agent_intent.refuses and not (
        new and any(can_answer_slot(state.scenario, goal, slot) for slot in new)
    ):
        return _handle_refusal(state, goal_index)
    if goal.kind == "question" and _is_answer(state, agent_intent, asks):
        return _advance_goal(set_goal_progress(state, goal_index, "answered"))
    if agent_intent.confirm and (comparison.wrong_verb or comparison.wrong):
        return _correct_agent(state, goal_index, asks, comparison)
    yes = user_lexicon.format_line("yes", _turn_seed(state))
    if asks:
        agrees = agent_intent.confirm and bool(comparison.named)
        return _reveal_slots(state, goal_index, yes if agrees else "", asks)
    if agent_intent.confirm and not (agent_intent.more and not comparison.named):
        return yes, replace(state, idle=state.idle + 1)
    return _restate_goal(state, goal_index, agent_intent)


def _select_asked_slots(
    state: UserState, goal: Goal, agent_intent: AgentIntent, comparison: GoalComparison
) -> tuple[Slot, ...]:
    """The slots to answer: what is asked, less what the message itself states for a yes (unless it
    leaves a choice), and less what has no meaning for the goal when a yes is what matters."""
    asks = set(agent_intent.asks)
    if agent_intent.identify:
        asks |= {slot for slot in IDENTITY if can_answer_slot(state.scenario, goal, slot)}
    if agent_intent.question or agent_intent.confirm:
        offered = comparison.choice - set(comparison.wrong)
        asks |= {slot for slot in offered if can_answer_slot(state.scenario, goal, slot)}
    if "address" in asks and goal.address and not asks & {"name", "email"}:
        asks.discard("zip")
    if agent_intent.confirm and comparison.named:
        stated = comparison.named - comparison.choice
        asks = {slot for slot in asks - stated if can_answer_slot(state.scenario, goal, slot)}
    answerable = {slot for slot in asks if can_answer_slot(state.scenario, goal, slot)}
    if answerable and not asks <= IDENTITY:
        asks = answerable | {slot for slot in asks if slot == "order"}
    return tuple(sorted(asks, key=SLOTS.index))


def _is_answer(state: UserState, agent_intent: AgentIntent, asks: Sequence[Slot]) -> bool:
    """Whether a message can be the answer to the user's question, asked three times at most."""
    if asks or agent_intent.waits or agent_intent.intent:
        return False
    plain = not agent_intent.confirm and not agent_intent.question and not agent_intent.filler
    states_number = agent_intent.number and not agent_intent.confirm
    return plain or states_number or agent_intent.more or state.idle >= _ASKED_AGAIN


def _reveal_slots(
    state: UserState, goal_index: int, first: str, slots: Sequence[Slot]
) -> tuple[str, UserState]:
    """The answers to several slots; a turn that tells nothing new is idle."""
    goal = state.goals[goal_index]
    lines = [
        user_lexicon.format_slot_answer(state.scenario, goal, slot, _turn_seed(state))
        for slot in slots
    ]
    answerable = [slot for slot in slots if can_answer_slot(state.scenario, goal, slot)]
    fresh = {slot_key(goal_index, slot) for slot in answerable} - set(state.revealed_slots)
    revealed = (*state.revealed_slots, *sorted(fresh))
    state = replace(state, revealed_slots=revealed, idle=0 if fresh else state.idle + 1)
    return " ".join([line for line in (first, *lines) if line]), state


def _correct_agent(
    state: UserState, goal_index: int, asks: Sequence[Slot], comparison: GoalComparison
) -> tuple[str, UserState]:
    """No, and the right value of everything that was wrong."""
    partly = comparison.wrong == ("items",) and not comparison.wrong_verb
    first = user_lexicon.format_line("partly" if partly else "no", _turn_seed(state))
    if comparison.wrong_verb:
        first = f"{first} {_phrase_goal(state, goal_index, state.seed)}"
    slots = sorted({*asks, *comparison.wrong}, key=SLOTS.index)
    return _reveal_slots(state, goal_index, first, slots)


def _handle_refusal(state: UserState, goal_index: int) -> tuple[str, UserState]:
    if state.goals[goal_index].fallback is None and state.refusals < INSISTS:
        wish = _phrase_goal(state, goal_index, state.seed + state.refusals)
        line = user_lexicon.format_line("insist", state.seed + state.refusals)
        return f"{line} {wish}", replace(state, refusals=state.refusals + 1)
    return _drop_goal(state, goal_index, "instead")


def _drop_goal(state: UserState, goal_index: int, line: str) -> tuple[str, UserState]:
    """Leaves a goal unreached; its fallback, if any, becomes the next goal."""
    fallback = state.goals[goal_index].fallback
    state = set_goal_progress(state, goal_index, "refused")
    if fallback is not None:
        goals = (*state.goals[: goal_index + 1], fallback, *state.goals[goal_index + 1 :])
        progress = (*state.progress[: goal_index + 1], OPEN, *state.progress[goal_index + 1 :])
        revealed_slots = tuple(_shift_slot_key(key, goal_index) for key in state.revealed_slots)
        state = replace(state, goals=goals, progress=progress, revealed_slots=revealed_slots)
    return _advance_goal(state, line)


def _shift_slot_key(key: str, goal_index: int) -> str:
    index, _, slot = key.partition("/")
    return f"{int(index) + 1}/{slot}" if index.isdigit() and int(index) > goal_index else key


def _restate_goal(
    state: UserState, goal_index: int, agent_intent: AgentIntent
) -> tuple[str, UserState]:
    """The wish again, without values; a message that is not understood first gets a menu."""
    wish = _phrase_goal(state, goal_index, state.seed + goal_index)
    lost = state.unrecognised + (not agent_intent.is_recognised)
    state = replace(state, idle=state.idle + 1, unrecognised=lost)
    key = "still"
    if not agent_intent.is_recognised:
        key = "menu" if agent_intent.question or lost % 2 else "still"
    elif agent_intent.claims:
        key = "not_yet"
    elif agent_intent.waits or agent_intent.filler:
        key = "go_on"
    line = user_lexicon.format_line(key, _turn_seed(state), noun=state.scenario.noun)
    return f"{line} {wish}", state


def _phrase_goal(state: UserState, goal_index: int, seed: int) -> str:
    goal = state.goals[goal_index]
    again = any(
        each.kind == goal.kind and each.order != goal.order for each in state.goals[:goal_index]
    )
    return user_lexicon.format_goal(state.scenario, goal, seed, again=again)


def _turn_seed(state: UserState) -> int:
    return state.seed + state.turns


#: The answer of the model that plays the user, and its price in USD where known.
AskUser = Callable[[GenerationRequest], Awaitable[tuple[Completion, float | None]]]

GREETING = "Hi! How can I help you today?"
SILENCE = "..."
#: Ends of a request to the user's model that leave nothing to answer to.
NO_ANSWER = ("content_filter", "context_overflow", "unparsable")
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
    """A model with the instruction, to whom the agent's words are those of another person. With a
    `prompt` and a `greeting` of upstream's it is asked as there, and its words stay as they are."""

    def __init__(self, task: Task, ask: AskUser, prompt: str = "", greeting: str = "") -> None:
        system = prompt or _ROLE.format(instruction=task.instruction)
        self._messages = [Message("system", system)]
        self._ask, self._greeting, self._verbatim = ask, greeting or GREETING, bool(prompt)
        self._done = False
        self._cost: float | None = 0.0

    async def open(self) -> str:
        return await self._ask_model(self._greeting)

    async def reply(self, text: str, writes: Sequence[Write]) -> tuple[str, bool]:
        message = await self._ask_model(text or ("" if self._verbatim else SILENCE))
        return message, self._done

    def to_dict(self) -> dict[str, Any]:
        turns = sum(message.role == "user" for message in self._messages) - 1
        ending = "stopped" if self._done else ""
        return {"user_turns": turns, "ending": ending, "user_cost": self._cost}

    async def _ask_model(self, agent_text: str) -> str:
        """Raises EnvironmentFailure where the model gives no answer: no fault of the agent's."""
        self._messages.append(Message("user", agent_text))
        try:
            request = GenerationRequest(messages=tuple(self._messages))
            answer, cost = await self._ask(request)
        except TargetFailure as error:
            raise EnvironmentFailure(Note("tau_user_failed", message=error)) from None
        self._cost = None if self._cost is None or cost is None else self._cost + cost
        if not answer.text.strip() and answer.finish_reason in NO_ANSWER:
            raise EnvironmentFailure(Note("tau_user_ended", reason=answer.finish_reason))
        message = answer.text if self._verbatim else answer.text.strip() or SILENCE
        self._messages.append(Message("assistant", message))
        self._done = STOP in message
        return message


__all__ = ["Goal", "Item", "Scenario", "UserState", "from_slots", "to_slots"]
