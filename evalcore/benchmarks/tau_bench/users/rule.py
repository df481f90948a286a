"""The rule user: deterministic, tells a slot only when asked, and follows the environment alone.

`reply` is a pure function of the state, the agent's text and the write log. A goal counts as
written only when the log shows a successful write of its kind to its order; no text of the agent
can do that. A refusal, or a price above the limit, drops a goal for its fallback; a question is
over when an answer with a number, or any statement, came, and only the reward knows whether it is
right.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from evalcore.benchmarks.tau_bench.users import phrases
from evalcore.benchmarks.tau_bench.users.compare import Compared, compare
from evalcore.benchmarks.tau_bench.users.goals import (
    IDENTITY,
    SLOTS,
    Goal,
    Scenario,
    Slot,
    from_slots,
    knows,
)
from evalcore.benchmarks.tau_bench.users.listen import Heard, listen
from evalcore.benchmarks.tau_bench.users.state import (
    OPEN,
    TaskLike,
    UserState,
    WriteLike,
    mark,
    note_writes,
    replaced,
    slot_key,
)
from evalcore.benchmarks.tau_bench.users.train_slots import parse_train

#: Turns in a row that may bring nothing new, before the user gives up.
PATIENCE = 6
#: How often the user asks again for what was refused.
INSISTS = 2
_ASKED_AGAIN = 2


class RuleUser:
    """The default user; it holds no state of its own."""

    def open(self, task: TaskLike, seed: int) -> UserState:
        """The state with the opening line in `said`. The seed only selects wordings.

        Raises UsageError where the task has no usable slots and is not of the TRAIN template.
        """
        scenario = parse_train(task.instruction) if task.slots is None else from_slots(task.slots)
        return opening(scenario, zlib.crc32(f"{task.id}/{seed}".encode()))

    def reply(
        self, state: UserState, agent_text: str, writes: Sequence[WriteLike]
    ) -> tuple[str, UserState, bool]:
        """The answer to one message of the agent; nothing that it says can raise."""
        if state.done:
            return "", state, True
        state = replaced(state, turns=state.turns + 1)
        before = state.current
        state = note_writes(state, writes)
        at = state.current
        if at is None or at != before:
            text, state = _advanced(state)
        else:
            text, state = _answer(state, at, listen(agent_text), agent_text)
        if state.idle >= PATIENCE and not state.done:
            text, state = _stop(state, "give_up", "given_up")
        state = replaced(state, said=text)
        return text, state, state.done


def opening(scenario: Scenario, seed: int) -> UserState:
    """The state of a scenario before the agent's first message."""
    goals = scenario.goals
    first = phrases.intent(scenario, goals[0], seed) if goals else ""
    said = f"{phrases.say('hello', seed)} {first}".strip()
    return UserState(scenario, seed, said, goals, (OPEN,) * len(goals))


def _advanced(state: UserState, line: str = "next") -> tuple[str, UserState]:
    """The line after a goal was left behind: the next wish, or goodbye."""
    at = state.current
    state = replaced(state, idle=0, refusals=0)
    if at is None:
        return _stop(state, "bye", "satisfied")
    wish = _wish(state, at, state.seed + at)
    return f"{phrases.say(line, state.seed + at)} {wish}", state


def _stop(state: UserState, line: str, ending: str) -> tuple[str, UserState]:
    if ending == "given_up":
        left = tuple("given_up" if each == "open" else each for each in state.progress)
        state = replaced(state, progress=left)
    return f"{phrases.say(line, state.seed)} {phrases.STOP}", replaced(state, ending=ending)


def _answer(state: UserState, at: int, heard: Heard, text: str) -> tuple[str, UserState]:
    """The answer while goal `at` is open. A price, a refusal or an answer to a question leave it;
    then what contradicts the goal goes before what is asked, and that before a bare yes."""
    goal = state.goals[at]
    compared = compare(text, state.scenario, goal)
    asks = _asks(state, goal, heard, compared)
    if goal.limit is not None and (compared.amount or 0) > goal.limit:
        return _drop(state, at, "limit")
    new = [slot for slot in asks if slot_key(at, slot) not in state.told]
    if heard.refuses and not (new and any(knows(state.scenario, goal, slot) for slot in new)):
        return _refused(state, at)
    if goal.kind == "question" and _is_answer(state, heard, asks):
        return _advanced(mark(state, at, "answered"))
    if heard.confirm and (compared.wrong_verb or compared.wrong):
        return _corrected(state, at, asks, compared)
    if asks:
        yes = heard.confirm and bool(compared.named)
        return _told(state, at, phrases.say("yes", _turn(state)) if yes else "", asks)
    if heard.confirm and not (heard.more and not compared.named):
        return phrases.say("yes", _turn(state)), replaced(state, idle=state.idle + 1)
    return _restate(state, at, heard)


def _asks(state: UserState, goal: Goal, heard: Heard, compared: Compared) -> tuple[Slot, ...]:
    """The slots to answer: what is asked, less what the message itself states for a yes (unless it
    leaves a choice), and less what has no meaning for the goal when a yes is what matters."""
    asks = set(heard.asks)
    if heard.identify:
        asks |= {slot for slot in IDENTITY if knows(state.scenario, goal, slot)}
    if heard.question or heard.confirm:
        offered = compared.choice - set(compared.wrong)
        asks |= {slot for slot in offered if knows(state.scenario, goal, slot)}
    if "address" in asks and goal.address and not asks & {"name", "email"}:
        asks.discard("zip")
    if heard.confirm and compared.named:
        stated = compared.named - compared.choice
        asks = {slot for slot in asks - stated if knows(state.scenario, goal, slot)}
    known = {slot for slot in asks if knows(state.scenario, goal, slot)}
    if known and not asks <= IDENTITY:
        asks = known | {slot for slot in asks if slot == "order"}
    return tuple(sorted(asks, key=SLOTS.index))


def _is_answer(state: UserState, heard: Heard, asks: Sequence[Slot]) -> bool:
    """Whether a message can be the answer to the user's question, asked three times at most."""
    if asks or heard.waits or heard.intent:
        return False
    plain = not heard.confirm and not heard.question and not heard.filler
    said = heard.number and not heard.confirm
    return plain or said or heard.more or state.idle >= _ASKED_AGAIN


def _told(state: UserState, at: int, first: str, slots: Sequence[Slot]) -> tuple[str, UserState]:
    """The answers to several slots; a turn that tells nothing new is idle."""
    goal = state.goals[at]
    lines = [phrases.tell(state.scenario, goal, slot, _turn(state)) for slot in slots]
    new = {slot_key(at, slot) for slot in slots if knows(state.scenario, goal, slot)}
    fresh = new - set(state.told)
    state = replaced(
        state,
        told=(*state.told, *sorted(fresh)),
        idle=0 if fresh else state.idle + 1,
    )
    return " ".join([line for line in (first, *lines) if line]), state


def _corrected(
    state: UserState, at: int, asks: Sequence[Slot], compared: Compared
) -> tuple[str, UserState]:
    """No, and the right value of everything that was wrong."""
    partly = compared.wrong == ("items",) and not compared.wrong_verb
    first = phrases.say("partly" if partly else "no", _turn(state))
    if compared.wrong_verb:
        first = f"{first} {_wish(state, at, state.seed)}"
    slots = sorted({*asks, *compared.wrong}, key=SLOTS.index)
    return _told(state, at, first, slots)


def _refused(state: UserState, at: int) -> tuple[str, UserState]:
    if state.goals[at].fallback is None and state.refusals < INSISTS:
        wish = _wish(state, at, state.seed + state.refusals)
        line = phrases.say("insist", state.seed + state.refusals)
        return f"{line} {wish}", replaced(state, refusals=state.refusals + 1)
    return _drop(state, at, "instead")


def _drop(state: UserState, at: int, line: str) -> tuple[str, UserState]:
    """Leaves a goal unreached; its fallback, if any, becomes the next goal."""
    fallback = state.goals[at].fallback
    state = mark(state, at, "refused")
    if fallback is not None:
        goals = (*state.goals[: at + 1], fallback, *state.goals[at + 1 :])
        progress = (*state.progress[: at + 1], OPEN, *state.progress[at + 1 :])
        told = tuple(_moved(key, at) for key in state.told)
        state = replaced(state, goals=goals, progress=progress, told=told)
    return _advanced(state, line)


def _moved(key: str, at: int) -> str:
    index, _, slot = key.partition("/")
    return f"{int(index) + 1}/{slot}" if index.isdigit() and int(index) > at else key


def _restate(state: UserState, at: int, heard: Heard) -> tuple[str, UserState]:
    """The wish again, without values; a message that is not understood first gets a menu."""
    wish = _wish(state, at, state.seed + at)
    lost = state.unrecognised + (not heard.recognised)
    state = replaced(state, idle=state.idle + 1, unrecognised=lost)
    if not heard.recognised:
        key = "menu" if heard.question or lost % 2 else "still"
    else:
        key = "not_yet" if heard.claims else "go_on" if heard.waits or heard.filler else "still"
    return f"{phrases.say(key, _turn(state), noun=state.scenario.noun)} {wish}", state


def _wish(state: UserState, at: int, seed: int) -> str:
    """What goal `at` is about, in words."""
    goal = state.goals[at]
    again = any(each.kind == goal.kind and each.order != goal.order for each in state.goals[:at])
    return phrases.intent(state.scenario, goal, seed, again=again)


def _turn(state: UserState) -> int:
    return state.seed + state.turns
