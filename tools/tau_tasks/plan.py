"""The plan of a generated task: goals with the calls that fulfil them, and the instruction.

The instruction tells a user simulator that is a model who it is and what it wants.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from evalcore.benchmarks.tau_bench.environment.reward import Action
from evalcore.benchmarks.tau_bench.user_goals import Goal, Item, Kind, Scenario
from evalcore.records import Record

_GOAL_PHRASES: Mapping[Kind, str] = {
    "cancel": "cancel {what}",
    "return": "return items of {what}, which was delivered",
    "exchange": "exchange items of {what}, which was delivered",
    "modify_items": "change items of {what}, which is pending",
    "modify_address": "have {what} sent to another address",
    "modify_payment": "pay {what} in another way",
    "profile_address": "change the default address in your profile",
    "book": "book a trip",
    "change_flights": "change the flights or the cabin of {what}",
    "change_baggage": "have more checked bags on {what}",
    "change_passengers": "change the passengers of {what}",
    "compensation": "have a compensation for {what}",
}


class PlannedGoal(Record, frozen=True):
    """A goal of the user, the writes that fulfil it under the policy, and the outputs due."""

    goal: Goal
    actions: tuple[Action, ...] = ()
    outputs: tuple[str, ...] = ()


class TaskPlan(Record, frozen=True):
    """A task before its text: its goals in order. `difficulty` is 1 to 3."""

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
    """Plan a goal that policy forbids: nothing is to be written."""
    return PlannedGoal(replace_goal_fields(planned.goal, refusal=True))


def plan_fallback(first: PlannedGoal, then: PlannedGoal) -> PlannedGoal:
    """Plan a goal that cannot be fulfilled, and the goal that replaces it."""
    return PlannedGoal(
        replace_goal_fields(first.goal, refusal=True, fallback=then.goal), then.actions
    )


def plan_price_limit(first: PlannedGoal, limit: float, then: PlannedGoal) -> PlannedGoal:
    """Plan a goal that costs more than the user's limit, and the goal that replaces it."""
    return PlannedGoal(
        replace_goal_fields(first.goal, limit=limit, fallback=then.goal), then.actions
    )


def hide_order_id(planned: PlannedGoal) -> PlannedGoal:
    """Plan the goal of a user who does not know the id of the order or reservation."""
    return PlannedGoal(
        replace_goal_fields(planned.goal, hidden=("order",)), planned.actions, planned.outputs
    )


def format_amount(value: float) -> str:
    """Format a number as briefly as possible: a prefix of its form with two decimals."""
    text = f"{value:.2f}"
    return text.rstrip("0").rstrip(".")


def build_instruction(scenario: Scenario) -> str:
    """Describe who the user is and what they want, goal by goal, with conditions and unknowns."""
    identity_texts = {"name": "Your name is {}.", "zip": "Your zip code is {}."}
    identity_texts |= {"email": "Your email is {}.", "user_id": "Your user id is {}."}
    who = " ".join(identity_texts[slot].format(text) for slot, text in scenario.identity.items())
    lines = [_describe_goal(goal, scenario.noun) for goal in scenario.goals]
    joined = " Then ".join([lines[0], *(line[0].lower() + line[1:] for line in lines[1:])])
    return f"{who} {joined} You know nothing else, and tell each detail only when asked."


def _describe_goal(goal: Goal, noun: str) -> str:
    if goal.kind == "question":
        return f"You want to know: {goal.question}"
    what = (
        f"a {noun} whose id you do not know" if "order" in goal.hidden else f"{noun} {goal.order}"
    )
    if noun == "order" and "order" in goal.hidden:
        what = "an order whose id you do not know"
    phrase = _GOAL_PHRASES[goal.kind].format(what=what)
    text = f"You want to {phrase}{_describe_details(goal)}."
    if goal.limit is not None:
        text += (
            f" You pay ${goal.limit:g} more at most."
            if goal.kind != "book"
            else (f" You pay ${goal.limit:g} in all at most.")
        )
    if goal.fallback is not None:
        otherwise = _describe_goal(goal.fallback, noun)
        when = "If that is not possible" if goal.limit is None else "If it costs more"
        text += f" {when}, {otherwise[0].lower()}{otherwise[1:]}"
    elif goal.refusal:
        text += " If it is denied, insist twice and then let it be."
    return text


def _describe_details(goal: Goal) -> str:
    parts = [f"{slot}: {text}" for slot, text in goal.details.items()]
    if goal.items:
        parts.append("items: " + "; ".join(_describe_item(item) for item in goal.items))
    if goal.address:
        parts.append("new address: " + ", ".join(text for text in goal.address.values() if text))
    if goal.payment:
        parts.append(f"payment or refund by {goal.payment}")
    if goal.reason:
        parts.append(f"the reason: {goal.reason}")
    return f" ({' | '.join(parts)})" if parts else ""


def _describe_item(item: Item) -> str:
    now = f" ({_format_options(item.options)})" if item.options else ""
    return f"{item.product}{now}" + (f" to {_format_options(item.change)}" if item.change else "")


def _format_options(options: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in options.items())
