"""The state of a simulated user, what it needs of a task and of the environment, and its writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from evalcore.benchmarks.tau_bench.users.goals import IDENTITY, WRITE_TOOLS, Goal, Scenario, Slot
from evalcore.records import Record

Progress = Literal["open", "written", "answered", "refused", "given_up"]
OPEN: Progress = "open"


class TaskLike(Protocol):
    """What the user needs of a task: `slots` is a scenario, None for the TRAIN template."""

    @property
    def id(self) -> str: ...
    @property
    def instruction(self) -> str: ...
    @property
    def slots(self) -> Mapping[str, Any] | None: ...


class WriteLike(Protocol):
    """One successful write of the environment's log."""

    @property
    def tool(self) -> str: ...
    @property
    def kwargs(self) -> Mapping[str, Any]: ...


class UserState(Record, frozen=True):
    """Where the user stands. `last_message` is the last line; `progress` goes goal by goal.

    `idle` counts turns in a row that brought nothing, `refusals` those of the present goal,
    `unrecognised` all messages that no rule understood; `revealed_slots` the slots told, as
    `goal/slot` (identity once for all); `ending` is why the user stopped: satisfied, given_up.
    """

    scenario: Scenario
    seed: int
    last_message: str
    goals: tuple[Goal, ...]
    progress: tuple[Progress, ...]
    writes: int = 0
    turns: int = 0
    idle: int = 0
    refusals: int = 0
    unrecognised: int = 0
    revealed_slots: tuple[str, ...] = ()
    ending: str = ""

    @property
    def done(self) -> bool:
        return bool(self.ending)

    @property
    def current(self) -> int | None:
        """The index of the goal that the user is at."""
        return next((at for at, each in enumerate(self.progress) if each == OPEN), None)


class User(Protocol):
    """Who plays the user. `reply` returns the user's text, the new state and whether it is over;
    `writes` is the whole log of the episode so far."""

    def open(self, task: TaskLike, seed: int) -> UserState: ...
    def reply(
        self, state: UserState, agent_text: str, writes: Sequence[WriteLike]
    ) -> tuple[str, UserState, bool]: ...


def note_writes(state: UserState, writes: Sequence[WriteLike]) -> UserState:
    """Marks the goals that new writes of the log concern, each write one goal at most."""
    progress = list(state.progress)
    for write in writes[state.writes :]:
        for goal_index, goal in enumerate(state.goals):
            if progress[goal_index] == OPEN and is_write_for_goal(write, goal):
                progress[goal_index] = "written"
                break
    return replace_state(state, progress=tuple(progress), writes=max(state.writes, len(writes)))


def is_write_for_goal(write: WriteLike, goal: Goal) -> bool:
    """Whether a write is of the goal's kind and to its order; whether it is right is not asked."""
    if write.tool not in WRITE_TOOLS[goal.kind]:
        return False
    to = write.kwargs.get("order_id") or write.kwargs.get("reservation_id")
    return not goal.order or not to or to == goal.order


def slot_key(goal_index: int, slot: Slot) -> str:
    return slot if slot in IDENTITY else f"{goal_index}/{slot}"


def set_goal_progress(state: UserState, goal_index: int, value: Progress) -> UserState:
    progress = (*state.progress[:goal_index], value, *state.progress[goal_index + 1 :])
    return replace_state(state, progress=progress)


def replace_state(state: UserState, **changes: Any) -> UserState:
    return msgspec.structs.replace(state, **changes)
