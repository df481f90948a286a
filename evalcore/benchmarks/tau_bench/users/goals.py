"""What a simulated user wants and knows: a scenario of goals, each with slots told only when asked.

A scenario is the `slots` object of a task; `from_slots` reads it. Nothing here is shown to the
agent but through `phrases`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import msgspec

from evalcore.errors import UsageError
from evalcore.records import Record

Kind = Literal[
    "cancel",
    "return",
    "exchange",
    "modify_items",
    "modify_address",
    "modify_payment",
    "profile_address",
    "book",
    "change_flights",
    "change_baggage",
    "change_passengers",
    "compensation",
    "question",
]
#: Slots a user may be asked for, in the order in which several are answered.
Slot = Literal[
    "name",
    "email",
    "zip",
    "user_id",
    "order",
    "items",
    "options",
    "payment",
    "address",
    "reason",
    "route",
    "date",
    "flight",
    "cabin",
    "passengers",
    "baggage",
    "insurance",
]
SLOTS: tuple[Slot, ...] = get_args(Slot)
IDENTITY: frozenset[Slot] = frozenset({"name", "email", "zip", "user_id"})

#: The write tools that fulfil a kind of goal.
WRITE_TOOLS: Mapping[Kind, tuple[str, ...]] = {
    "cancel": ("cancel_pending_order", "cancel_reservation"),
    "return": ("return_delivered_order_items",),
    "exchange": ("exchange_delivered_order_items",),
    "modify_items": ("modify_pending_order_items",),
    "modify_address": ("modify_pending_order_address",),
    "modify_payment": ("modify_pending_order_payment",),
    "profile_address": ("modify_user_address",),
    "book": ("book_reservation",),
    "change_flights": ("update_reservation_flights",),
    "change_baggage": ("update_reservation_baggages",),
    "change_passengers": ("update_reservation_passengers",),
    "compensation": ("send_certificate",),
    "question": (),
}


class Item(Record, frozen=True):
    """One thing of an order: what it is now (`options` as far as known) and what is to change.

    `change` None: nothing is (a return); empty: a new one with the very same options.
    """

    product: str
    options: dict[str, str] = {}
    change: dict[str, str] | None = None


class Goal(Record, frozen=True):
    """One wish. `order` is the id of the order or reservation that a write must concern, empty
    where none exists (a profile, a new booking).

    `details` holds the slots of travel (route, date, flight, cabin, passengers, baggage,
    insurance) as short texts. `hidden` slots exist but the user does not know them. A question is
    over when an answer came. `limit`: the most the user pays, as the agent states it; above it, and
    after a refusal, the wish is dropped for `fallback`. `refusal`: policy forbids it, so that no
    write is expected; the user cannot know that and behaves the same.
    """

    kind: Kind
    order: str = ""
    items: tuple[Item, ...] = ()
    payment: str = ""
    address: dict[str, str] = {}
    reason: str = ""
    details: dict[str, str] = {}
    hidden: tuple[Slot, ...] = ()
    question: str = ""
    limit: float | None = None
    refusal: bool = False
    fallback: Goal | None = None


class Scenario(Record, frozen=True):
    """A user: who they are as far as they remember (`identity` by slot), and the goals in order.

    `noun` is what the ids of the goals name.
    """

    identity: dict[str, str]
    goals: tuple[Goal, ...]
    noun: Literal["order", "reservation"] = "order"


def from_slots(slots: Mapping[str, object]) -> Scenario:
    """The scenario of a task's `slots`; raises UsageError naming the field that is wrong."""
    try:
        scenario = msgspec.convert(slots, Scenario)
    except msgspec.ValidationError as error:
        raise UsageError(f"the slots of the task are not usable: {error}") from None
    unknown = sorted(set(scenario.identity) - IDENTITY)
    if unknown:
        raise UsageError(f"unknown identity in the slots: {', '.join(unknown)}")
    for goal in scenario.goals:
        if goal.kind == "question" and not goal.question:
            raise UsageError("a goal of kind question needs the field question")
    return scenario


def to_slots(scenario: Scenario) -> dict[str, object]:
    """The plain object that `from_slots` reads."""
    plain: dict[str, object] = msgspec.to_builtins(scenario)
    return plain


def can_answer_slot(scenario: Scenario, goal: Goal, slot: Slot) -> bool:
    """Whether the user can answer for this slot."""
    if slot in goal.hidden:
        return False
    if slot in IDENTITY:
        return slot in scenario.identity
    if slot == "options":
        return any(item.change is not None for item in goal.items)
    if slot in ("order", "items", "payment", "address", "reason"):
        return bool(getattr(goal, slot))
    return slot in goal.details


def list_slot_values(scenario: Scenario, goal: Goal, slot: Slot) -> tuple[str, ...]:
    """The texts that answer a slot, none of which may be said before it was asked for."""
    if slot in IDENTITY:
        return (scenario.identity[slot],) if slot in scenario.identity else ()
    if slot == "items":
        return tuple(item.product for item in goal.items)
    if slot == "options":
        return tuple(text for item in goal.items for text in (item.change or {}).values())
    if slot == "address":
        return tuple(text for text in goal.address.values() if text)
    if slot in ("order", "payment", "reason"):
        text = getattr(goal, slot)
        return (text,) if text else ()
    return (goal.details[slot],) if slot in goal.details else ()
