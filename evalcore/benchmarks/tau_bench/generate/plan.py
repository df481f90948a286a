"""What a generated task is made of: deeds, each a wish and the calls that are right for it."""

from __future__ import annotations

import msgspec

from evalcore.benchmarks.tau_bench.environment.task import Action
from evalcore.benchmarks.tau_bench.users.goals import Goal
from evalcore.records import Record


class Deed(Record, frozen=True):
    """A goal of the user, the writes that fulfil it under the policy, and what has to be said."""

    goal: Goal
    actions: tuple[Action, ...] = ()
    outputs: tuple[str, ...] = ()


class Plan(Record, frozen=True):
    """A task before its text: its deeds in order. `difficulty` is 1 to 3."""

    user_id: str
    topic: str
    difficulty: int
    deeds: tuple[Deed, ...]

    @property
    def goals(self) -> tuple[Goal, ...]:
        return tuple(deed.goal for deed in self.deeds)

    @property
    def actions(self) -> tuple[Action, ...]:
        return tuple(action for deed in self.deeds for action in deed.actions)

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(text for deed in self.deeds for text in deed.outputs)


def changed(goal: Goal, **fields: object) -> Goal:
    return msgspec.structs.replace(goal, **fields)


def refused(deed: Deed) -> Deed:
    """The same wish where policy forbids it: nothing is to be written."""
    return Deed(changed(deed.goal, refusal=True))


def instead(first: Deed, then: Deed) -> Deed:
    """A wish that cannot be fulfilled, and what the user wants in its place."""
    return Deed(changed(first.goal, refusal=True, fallback=then.goal), then.actions)


def dearer(first: Deed, limit: float, then: Deed) -> Deed:
    """A wish that costs more than the user's limit, and what the user wants in its place."""
    return Deed(changed(first.goal, limit=limit, fallback=then.goal), then.actions)


def unknown_id(deed: Deed) -> Deed:
    """The same wish of a user who does not know the id of the order or reservation."""
    return Deed(changed(deed.goal, hidden=("order",)), deed.actions, deed.outputs)


def amount(value: float) -> str:
    """A number as short as it can be written: also a piece of the text with two decimals."""
    text = f"{value:.2f}"
    return text.rstrip("0").rstrip(".")
