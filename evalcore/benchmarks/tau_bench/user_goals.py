"""What a simulated user wants and how far it has come: a scenario of goals, and the user's state.

A scenario is the `slots` object of a task, or an instruction of the official retail TRAIN split,
which follows one template. Nothing here is shown to the agent but through the user's lines.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar, get_args

import msgspec
from msgspec.structs import replace

from evalcore.benchmarks.tau_bench.environment import Write
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Record

_Record = TypeVar("_Record", bound=Record)
_RetailKind = Literal["cancel", "return", "exchange", "modify_items", "modify_address"]
_PaymentKind = Literal["modify_payment", "profile_address"]
_TravelKind = Literal["book", "change_flights", "change_baggage", "change_passengers"]
Kind = Literal[_RetailKind, _PaymentKind, _TravelKind, "compensation", "question"]
_IdentitySlot = Literal["name", "email", "zip", "user_id"]
_OrderSlot = Literal["order", "items", "options", "payment", "address", "reason"]
_TravelSlot = Literal["route", "date", "flight", "cabin", "passengers", "baggage", "insurance"]
#: Slots a user may be asked for, in the order in which several are answered.
Slot = Literal[_IdentitySlot, _OrderSlot, _TravelSlot]
SLOTS: tuple[Slot, ...] = get_args(Slot)
IDENTITY: frozenset[Slot] = frozenset(get_args(_IdentitySlot))

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
    `change` None: nothing is (a return); empty: a new one with the very same options."""

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
    `noun` is what the ids of the goals name."""

    identity: dict[str, str]
    goals: tuple[Goal, ...]
    noun: Literal["order", "reservation"] = "order"


def convert_slots(slots: Mapping[str, object], kind: type[_Record]) -> _Record:
    """A task's `slots` as the scenario of a kind of user. Raises UsageError naming the field that
    is wrong."""
    try:
        return msgspec.convert(slots, kind)
    except msgspec.ValidationError as error:
        raise UsageError(Note("user_slots", problem=error)) from None


def from_slots(slots: Mapping[str, object]) -> Scenario:
    """The scenario of a task's `slots`; raises UsageError naming the field that is wrong."""
    scenario = convert_slots(slots, Scenario)
    unknown = sorted(set(scenario.identity) - IDENTITY)
    if unknown:
        raise UsageError(Note("tau_unknown_identity", names=", ".join(unknown)))
    for goal in scenario.goals:
        if goal.kind == "question" and not goal.question:
            raise UsageError(Note("tau_question_field"))
    return scenario


def to_slots(scenario: Scenario) -> dict[str, object]:
    """The plain object that `from_slots` reads."""
    plain: dict[str, object] = msgspec.to_builtins(scenario)
    return plain


def can_answer_slot(scenario: Scenario, goal: Goal, slot: Slot) -> bool:
    if slot in goal.hidden:
        return False
    if slot in IDENTITY:
        return slot in scenario.identity
    if slot == "options":
        return any(item.change is not None for item in goal.items)
    if slot in ("order", "items", "payment", "address", "reason"):
        return bool(getattr(goal, slot))
    return slot in goal.details


Progress = Literal["open", "written", "answered", "refused", "given_up"]
OPEN: Progress = "open"


class UserState(Record, frozen=True):
    """Where the user stands. `last_message` is the last line; `progress` goes goal by goal. `idle`
    counts turns in a row that brought nothing, `refusals` those of the present goal, `unrecognised`
    all messages that no rule understood; `revealed_slots` the slots told, as `goal/slot` (identity
    once for all); `ending` is why the user stopped: satisfied, given_up."""

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
        return next((at for at, each in enumerate(self.progress) if each == OPEN), None)


def note_writes(state: UserState, writes: Sequence[Write]) -> UserState:
    """Marks the goals that new writes of the log concern, each write one goal at most."""
    progress = list(state.progress)
    for write in writes[state.writes :]:
        for goal_index, goal in enumerate(state.goals):
            if progress[goal_index] == OPEN and is_write_for_goal(write, goal):
                progress[goal_index] = "written"
                break
    return replace(state, progress=tuple(progress), writes=max(state.writes, len(writes)))


def is_write_for_goal(write: Write, goal: Goal) -> bool:
    """Whether a write is of the goal's kind and to its order; whether it is right is not asked."""
    if write.tool not in WRITE_TOOLS[goal.kind]:
        return False
    to = write.kwargs.get("order_id") or write.kwargs.get("reservation_id")
    return not goal.order or not to or to == goal.order


def slot_key(goal_index: int, slot: Slot) -> str:
    return slot if slot in IDENTITY else f"{goal_index}/{slot}"


def set_goal_progress(state: UserState, goal_index: int, value: Progress) -> UserState:
    progress = (*state.progress[:goal_index], value, *state.progress[goal_index + 1 :])
    return replace(state, progress=progress)


# An instruction is "Your name is N and your (zip code|email) is V. You are ADJECTIVES." and then
# wishes: cancel, return, exchange, modify, change payment, change address. Manner is not simulated.

_LONGEST = 20_000
_WHO = re.compile(
    r"Your name is (?P<name>[^.]+?) and your (?P<what>zip code|email) is (?P<value>\S+)\."
    r" You are [a-z, ]+\.\s*"
)
_DICT = r"\{[^{}]*\}"
_CANCEL = re.compile(r"Cancel order (#W\d+) because (no longer needed|ordered by mistake)\.\s*")
_RETURN = re.compile(r"Return (#W\d+) via (\w+): ")
_CHANGE = re.compile(r"For (#W\d+), (exchange|modify) ")
_PAYMENT = re.compile(r"For (#W\d+), change payment to (\w+)\.\s*")
_ADDRESS = re.compile(rf"For (#W\d+), change address to ({_DICT}) \(same as #W\d+\)\.\s*")
_RETURNED = re.compile(rf"(?P<product>[A-Z][\w -]*?)(?: (?P<options>{_DICT}))?;\s*")
_CHANGED = re.compile(
    rf"(?P<product>[A-Z][\w -]*?) (?P<options>{_DICT}) to (?P<change>{_DICT});\s*"
)
_VIA = re.compile(r"via (\w+)\.\s*")
_CHANGES: dict[str, Kind] = {"exchange": "exchange", "modify": "modify_items"}


def parse_train_instruction(instruction: str) -> Scenario:
    """The scenario of one instruction; raises UsageError where any of its text is left over."""
    who = _WHO.match(instruction)
    if who is None or len(instruction) > _LONGEST:
        raise UsageError(Note("tau_no_template"))
    identity_slot = "zip" if who["what"] == "zip code" else "email"
    goals, position = [], who.end()
    while position < len(instruction):
        goal, position = _parse_goal(instruction, position)
        goals.append(goal)
    return Scenario({"name": who["name"], identity_slot: who["value"]}, tuple(goals))


def _parse_goal(text: str, position: int) -> tuple[Goal, int]:
    if match := _CANCEL.match(text, position):
        return Goal("cancel", match[1], reason=match[2]), match.end()
    if match := _PAYMENT.match(text, position):
        return Goal("modify_payment", match[1], payment=match[2]), match.end()
    if match := _ADDRESS.match(text, position):
        address = _parse_options(match[2])
        address.pop("order_id", None)
        return Goal("modify_address", match[1], address=address), match.end()
    if match := _RETURN.match(text, position):
        items, end = _parse_items(_RETURNED, text, match.end())
        return Goal("return", match[1], items, match[2]), end
    if match := _CHANGE.match(text, position):
        items, end = _parse_items(_CHANGED, text, match.end())
        paid = _VIA.match(text, end)
        if paid:
            return Goal(_CHANGES[match[2]], match[1], items, paid[1]), paid.end()
    raise UsageError(Note("goal_unread", text=repr(text[position : position + 60])))


def _parse_items(
    pattern: re.Pattern[str], text: str, position: int
) -> tuple[tuple[Item, ...], int]:
    items = []
    while match := pattern.match(text, position):
        parts = match.groupdict()
        change = parts.get("change")
        options = _parse_options(parts["options"] or "{}")
        changed = None if change is None else _parse_options(change)
        items.append(Item(parts["product"], options, changed))
        position = match.end()
    if not items:
        raise UsageError(Note("goal_no_item", text=repr(text[position : position + 60])))
    return tuple(items), position


def _parse_options(text: str) -> dict[str, str]:
    """A literal of texts by text; nothing of it is evaluated."""
    try:
        options = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        options = None
    if not isinstance(options, dict) or not all(
        isinstance(part, str) for pair in options.items() for part in pair
    ):
        raise UsageError(Note("goal_no_object", text=repr(text[:60])))
    return options
