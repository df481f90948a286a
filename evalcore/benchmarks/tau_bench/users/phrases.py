"""What the rule user says: several wordings of every line, chosen by the seed.

Only `format_slot_answer` and `correct` hold values of slots.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

from evalcore.benchmarks.tau_bench.users.goals import (
    Goal,
    Item,
    Kind,
    Scenario,
    Slot,
    can_answer_slot,
)

STOP = "###STOP###"

_INTENTS: Mapping[Kind, tuple[str, ...]] = {
    "cancel": (
        "I want to cancel {a_noun}.",
        "Please cancel {a_noun} for me.",
        "There is {a_noun} that I would like to cancel.",
    ),
    "return": (
        "I want to return something from {a_noun} that has arrived.",
        "I would like to send back part of {a_noun} that was delivered.",
        "Something that was delivered to me has to go back: I want a return.",
    ),
    "exchange": (
        "I want to exchange something from {a_noun} that was delivered.",
        "I got my delivery and would like an exchange.",
        "Something that I received should be exchanged for another variant.",
    ),
    "modify_items": (
        "I want to change what is in {a_noun} that is still pending.",
        "I would like to modify {a} pending {noun}: another variant of what I ordered.",
        "Something in {a_noun} that has not been shipped should be modified.",
    ),
    "modify_address": (
        "I want to change the shipping address of {a} pending {noun}.",
        "The address to which {a} pending {noun} goes should be changed.",
        "Please change where {a} pending {noun} is sent.",
    ),
    "modify_payment": (
        "I want to change the payment method of {a} pending {noun}.",
        "I want to have {a} pending {noun} paid in another way.",
        "Please change how {a} pending {noun} is paid.",
    ),
    "profile_address": (
        "I want to change the default address in my profile.",
        "My address has changed; please update my profile.",
        "Please put a new address into my account.",
    ),
    "book": (
        "I want to book a flight.",
        "I would like to make a new booking.",
        "Please book a trip for me.",
    ),
    "change_flights": (
        "I want to change the flights or the cabin of {a_noun}.",
        "I would like to change a trip that I booked.",
        "Please change an existing {noun} of mine.",
    ),
    "change_baggage": (
        "I want to add baggage to {a_noun}.",
        "I would like more baggage on a trip that I booked.",
        "Please change the baggage of an existing {noun}.",
    ),
    "change_passengers": (
        "I want to change passenger details of {a_noun}.",
        "The passenger data of a trip that I booked has to change.",
        "Please correct the passengers of an existing {noun}.",
    ),
    "compensation": (
        "I want a compensation for a trip that went wrong.",
        "I would like to be compensated for trouble with {a_noun}.",
        "I am unhappy with a trip and ask for a compensation.",
    ),
}
_LINES: Mapping[str, tuple[str, ...]] = {
    "hello": ("Hi!", "Hello.", "Good day.", "Hi there,"),
    "next": ("Thanks. There is one more thing.", "Great. Next:", "Good. Then also this:"),
    "instead": ("All right, then something else.", "I see. In that case:", "Then let us do this:"),
    "yes": ("Yes.", "Yes, please.", "Yes, that is right."),
    "no": ("No, that is not what I want.", "No.", "No, that is not right."),
    "partly": ("Not only that.", "Not just that.", "No, not only that."),
    "insist": (
        "I understand, but I would still like this. Can you not do it?",
        "That does not help me. Please try once more.",
        "I really want this done. Please do it.",
    ),
    "limit": ("That is more than I want to pay.", "That is too expensive for me.", "Too much."),
    "not_yet": (
        "I do not see that on my side yet.",
        "As far as I can see that has not happened yet.",
        "My account does not show that yet.",
    ),
    "still": ("Let me say it once more.", "To repeat it:", "Back to my request."),
    "menu": (
        "Which detail do you need: who I am, the {noun}, the items, the options, the payment, "
        "the address or the reason?",
        "I am not sure what you need. My identity, the {noun}, the items, the options, the "
        "payment, the address or the reason?",
        "Please ask for what you need: identity, {noun}, items, options, payment, address, reason.",
    ),
    "same": ("No change there.", "It stays as it is.", "I do not mind."),
    "go_on": ("All right.", "Okay.", "Sure."),
    "bye": (
        "Thank you, that is all.",
        "That was everything. Thanks for your help.",
        "Great, nothing else. Goodbye.",
    ),
    "give_up": (
        "I do not think that this leads anywhere. Goodbye.",
        "Let us leave it here. Goodbye.",
        "I will stop here, thank you.",
    ),
    "unknown": (
        "I do not remember {what}.",
        "I do not have {what} at hand.",
        "I don't know {what}.",
    ),
}
_TELL: Mapping[Slot, tuple[str, ...]] = {
    "name": ("My name is {v}.", "I am {v}.", "The name is {v}."),
    "email": ("My email is {v} .", "It is {v} .", "You can find me under {v} ."),
    "zip": ("My zip code is {v}.", "The zip is {v}.", "I live in {v}."),
    "user_id": ("My user id is {v}.", "The id is {v}.", "I am the user {v}."),
    "order": ("It is {noun} {v}.", "The {noun} is {v}.", "I mean {v}."),
    "items": ("It is about: {v}.", "I mean this: {v}.", "These: {v}."),
    "options": ("What I want: {v}.", "It should be: {v}.", "Please make it: {v}."),
    "payment": ("Please use {v}.", "Take {v}.", "My choice is {v}."),
    "address": ("The address is {v}.", "It should go to {v}.", "This one: {v}."),
    "reason": ("The reason: {v}.", "It was {v}.", "Because: {v}."),
}
_OTHER = ("The {slot}: {v}.", "{v}, as to the {slot}.", "For the {slot}: {v}.")
_WHAT: Mapping[Slot, str] = {
    "name": "my name",
    "email": "my email",
    "zip": "my zip code",
    "user_id": "my user id",
    "order": "the {noun} number",
    "items": "more about the items",
    "options": "such details",
}


def format_line(key: str, seed: int, *, noun: str = "order") -> str:
    """One of the wordings of a line."""
    return _pick_wording(_LINES[key], seed, key).format(noun=noun)


def format_goal(scenario: Scenario, goal: Goal, seed: int, *, again: bool = False) -> str:
    """The wish in words, without any value but what a question itself asks about; `again`: the
    same was wished for another order before."""
    if goal.kind == "question":
        return goal.question
    noun = scenario.noun
    article = "another" if again else "an" if noun == "order" else "a"
    wording = _pick_wording(_INTENTS[goal.kind], seed, goal.kind)
    pending = "another" if again else "a"
    return wording.format(noun=noun, a=pending, a_noun=f"{article} {noun}")


def format_slot_answer(scenario: Scenario, goal: Goal, slot: Slot, seed: int) -> str:
    """The answer to a question for one slot; the user invents nothing."""
    if not can_answer_slot(scenario, goal, slot):
        what = _WHAT.get(slot, f"anything about the {slot}").format(noun=scenario.noun)
        return _pick_wording(_LINES["unknown"], seed, slot).format(what=what)
    wording = _pick_wording(_TELL.get(slot, _OTHER), seed, slot)
    return wording.format(v=_format_slot_value(scenario, goal, slot), noun=scenario.noun, slot=slot)


def _format_slot_value(scenario: Scenario, goal: Goal, slot: Slot) -> str:
    if slot in scenario.identity:
        return scenario.identity[slot]
    if slot == "items":
        return "; ".join(_describe_item(item, item.options) for item in goal.items)
    if slot == "options":
        return "; ".join(_describe_change(item) for item in goal.items if item.change is not None)
    if slot == "address":
        return ", ".join(f"{name}: {text}" for name, text in goal.address.items())
    return str(getattr(goal, slot, "") or goal.details.get(slot, ""))


def _describe_item(item: Item, options: Mapping[str, str]) -> str:
    if not options:
        return item.product
    return f"{item.product} ({', '.join(f'{name}: {text}' for name, text in options.items())})"


def _describe_change(item: Item) -> str:
    if not item.change:
        return f"{item.product} (the very same options again)"
    return _describe_item(item, item.change)


def _pick_wording(wordings: Sequence[str], seed: int, key: str) -> str:
    return wordings[zlib.crc32(f"{seed}/{key}".encode()) % len(wordings)]
