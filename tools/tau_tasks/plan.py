"""What a generated task is made of: deeds, each a wish and the calls that are right for it."""

from __future__ import annotations

import msgspec

from evalcore.benchmarks.tau_bench.environment.task import Action
from evalcore.benchmarks.tau_bench.users.goals import Goal
from evalcore.records import Record


class PlannedGoal(Record, frozen=True):
    """A goal of the user, the writes that fulfil it under the policy, and what has to be said."""

    goal: Goal
    actions: tuple[Action, ...] = ()
    outputs: tuple[str, ...] = ()


class TaskPlan(Record, frozen=True):
    """A task before its text: its deeds in order. `difficulty` is 1 to 3."""

    user_id: str
    topic: str
    difficulty: int
    planned_goals: tuple[PlannedGoal, ...]

    @property
    def goals(self) -> tuple[Goal, ...]:
        return tuple(planned.goal for planned in self.planned_goals)

    @property
    def actions(self) -> tuple[Action, ...]:
        return tuple(action for planned in self.planned_goals for action in planned.actions)

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(text for planned in self.planned_goals for text in planned.outputs)


def replace_goal_fields(goal: Goal, **fields: object) -> Goal:
    return msgspec.structs.replace(goal, **fields)


def plan_refusal(planned: PlannedGoal) -> PlannedGoal:
    """The same wish where policy forbids it: nothing is to be written."""
    return PlannedGoal(replace_goal_fields(planned.goal, refusal=True))


def plan_fallback(first: PlannedGoal, then: PlannedGoal) -> PlannedGoal:
    """A wish that cannot be fulfilled, and what the user wants in its place."""
    return PlannedGoal(
        replace_goal_fields(first.goal, refusal=True, fallback=then.goal), then.actions
    )


def plan_price_limit(first: PlannedGoal, limit: float, then: PlannedGoal) -> PlannedGoal:
    """A wish that costs more than the user's limit, and what the user wants in its place."""
    return PlannedGoal(
        replace_goal_fields(first.goal, limit=limit, fallback=then.goal), then.actions
    )


def hide_order_id(planned: PlannedGoal) -> PlannedGoal:
    """The same wish of a user who does not know the id of the order or reservation."""
    return PlannedGoal(
        replace_goal_fields(planned.goal, hidden=("order",)), planned.actions, planned.outputs
    )


def format_amount(value: float) -> str:
    """A number as short as it can be written: also a piece of the text with two decimals."""
    text = f"{value:.2f}"
    return text.rstrip("0").rstrip(".")
