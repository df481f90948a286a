"""Scripted agents for retail that see only the user's text and what the tools return.

An agent is a generator: it is sent the user's text, calls tools by `call(name, arguments)` and
yields its next message.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from evalcore.benchmarks.tau_bench.environment import Domain, Environment
from evalcore.benchmarks.tau_bench.users import RuleUser, UserState
from evalcore.benchmarks.tau_bench.users.state import TaskLike

#: Messages of an agent in one episode, as tau-bench limits them.
MOST_TURNS = 60
Call = Callable[[str, dict[str, Any]], str]
Agent = Generator[str, str, None]
MakeAgent = Callable[[Call, int], Agent]

WHO = (
    "Happy to help! Could you please provide your email address, or your full name and zip code?",
    "I need to verify your identity first. Please share your email or your name and postal code.",
    "To get started, please tell me:\n1. Your first and last name\n2. Your zip code\n"
    "3. The e-mail on file",
    "Sure! May I have the email associated with your account? If you do not have it, "
    "what are your name and ZIP?",
)
ASKS = {
    "order": (
        "What is the order number?",
        "Which order is it? Please share the order id.",
        "Could you give me the order ID (it starts with #W)?",
        "Please provide the order you would like me to look at.",
    ),
    "items": (
        "Which items is it about?",
        "Which product or products from the order do you mean?",
        "Please list all the items concerned.",
    ),
    "options": (
        "Which options would you like instead?",
        "What color, size or other specifications do you want the new one to have?",
        "What would you like to exchange it for? Please give me the new options.",
    ),
    "payment": (
        "Which payment method should I use?",
        "How would you like to pay, or be refunded: which payment method?",
        "Please specify the credit card, PayPal account or gift card to use.",
    ),
    "address": (
        "What is the new address?",
        "Where should it be shipped to? I need street, city, state, country and zip.",
        "Please provide the full new shipping address.",
    ),
    "reason": (
        "What is the reason for the cancellation?",
        "Why do you want to cancel it?",
        "May I know the reason: no longer needed, or ordered by mistake?",
    ),
}
CONFIRMS = (
    "Do you confirm (yes/no)?",
    "Shall I proceed?",
    "Is that correct? Please reply yes to go ahead.",
    "Would you like me to go ahead with this?",
)
TOOLS = {
    "cancel": ("cancel_pending_order", ("reason",)),
    "return": ("return_delivered_order_items", ("items", "payment")),
    "exchange": ("exchange_delivered_order_items", ("items", "options", "payment")),
    "modify": ("modify_pending_order_items", ("items", "options", "payment")),
    "pay": ("modify_pending_order_payment", ("payment",)),
    "address": ("modify_pending_order_address", ("address",)),
    "profile": ("modify_user_address", ("address",)),
}
_INTENTS = (
    ("cancel", r"\bcancel"),
    ("exchange", r"\bexchange"),
    ("return", r"\breturn|send back|go back"),
    ("pay", r"payment method|\bpaid\b"),
    ("profile", r"\bprofile|\baccount"),
    ("address", r"\baddress|is sent"),
    ("modify", r"\bmodif|change what is in"),
)
_FIELDS = ("address1", "address2", "city", "country", "state", "zip")


class Played(NamedTuple):
    """An episode: `lines` are (who, text) in order, `said` what the agent said."""

    environment: Environment
    state: UserState
    lines: list[tuple[str, str]]

    @property
    def said(self) -> list[str]:
        return [text for who, text in self.lines if who == "agent"]


def play(domain: Domain, task: TaskLike, make: MakeAgent, seed: int) -> Played:
    """An episode of the rule user with a scripted agent, in a fresh environment."""
    environment, user = Environment(domain), RuleUser()
    state = user.open(task, seed)
    agent = make(environment.call, seed)
    next(agent)
    lines = [("user", state.said)]
    for _ in range(MOST_TURNS):
        lines.append(("agent", agent.send(state.said)))
        if environment.terminated:
            break
        text, state, done = user.reply(state, lines[-1][1], environment.writes)
        lines.append(("user", text))
        if done:
            break
    return Played(environment, state, lines)


def competent(call: Call, seed: int) -> Agent:
    """Asks, looks up, confirms, writes. The seed selects wordings, and whether it asks for all
    details at once."""
    pick = random.Random(seed)
    text = yield from _identify(call, pick)
    user_id, wish = text
    while True:
        intent = next((name for name, words in _INTENTS if re.search(words, wish)), None)
        if intent is None:
            wish = yield "What can I do for you?"
            continue
        arguments = yield from _collect(call, intent, pick)
        if intent == "profile":
            arguments = {**arguments, "user_id": user_id}
            del arguments["order_id"]
        result = call(TOOLS[intent][0], arguments)
        if result.startswith("Error"):
            wish = yield f"I am sorry, but that is not possible: {result[7:]}."
        else:
            wish = yield "That has been done. Is there anything else I can help you with?"


def _identify(call: Call, pick: random.Random) -> Generator[str, str, tuple[str, str]]:
    wish = yield ""
    while True:
        text = yield pick.choice(WHO)
        mail = re.search(r"[\w.]+@[\w.]+\w", text)
        name = re.search(r"(?:name is|I am) ([A-Z]\w+) ([A-Z]\w+)", text)
        code = re.search(r"\b\d{5}\b", text)
        found = "Error"
        if mail:
            found = call("find_user_id_by_email", {"email": mail[0]})
        elif name and code:
            arguments = {"first_name": name[1], "last_name": name[2], "zip": code[0]}
            found = call("find_user_id_by_name_zip", arguments)
        if not found.startswith("Error"):
            return found, wish


def _collect(call: Call, intent: str, pick: random.Random) -> Generator[str, str, dict[str, Any]]:
    """The arguments of the write, after the user said yes to them."""
    slots = (*(("order",) if intent != "profile" else ()), *TOOLS[intent][1])
    while True:
        told = {}
        if pick.random() < 0.3:
            text = yield " ".join(pick.choice(ASKS[slot]) for slot in slots)
            told = dict.fromkeys(slots, text)
        else:
            for slot in slots:
                told[slot] = yield pick.choice(ASKS[slot])
        arguments, lines = _arguments(call, told)
        question = "\n".join([f"I will {_VERBS[intent]}.", *lines, pick.choice(CONFIRMS)])
        answer = yield question
        if answer.startswith("Yes"):
            return arguments


_VERBS = {
    "cancel": "cancel the order",
    "return": "return the items",
    "exchange": "exchange the items",
    "modify": "modify the items of the order",
    "pay": "change the payment method of the order",
    "address": "change the shipping address of the order",
    "profile": "update your default address",
}


def _arguments(call: Call, told: dict[str, str]) -> tuple[dict[str, Any], list[str]]:
    found = re.search(r"#W\d+", told.get("order", ""))
    arguments: dict[str, Any] = {"order_id": found[0] if found else ""}
    lines = [f"Order: {arguments['order_id']}"] if found else []
    if "items" in told:
        order = json.loads(call("get_order_details", {"order_id": arguments["order_id"]}))
        both = told["items"] == told.get("options")
        items = _chosen(order["items"], told["items"], half=both)
        arguments["item_ids"] = [item["item_id"] for item in items]
        lines += [f"Item: {item['name']} ({item['item_id']})" for item in items]
        if "options" in told:
            fresh = _variants(call, items, told["options"])
            arguments["new_item_ids"] = [variant["item_id"] for variant in fresh]
            lines += [f"New item: {v['item_id']} {json.dumps(v['options'])}" for v in fresh]
    if "payment" in told:
        payment = re.search(r"(?:credit_card|paypal|gift_card)_\d+", told["payment"])
        arguments["payment_method_id"] = payment[0] if payment else ""
        lines.append(f"Payment method: {arguments['payment_method_id']}")
    if "reason" in told:
        mistake = "mistake" in told["reason"]
        arguments["reason"] = "ordered by mistake" if mistake else "no longer needed"
        lines.append(f"Reason: {arguments['reason']}")
    if "address" in told:
        for field in _FIELDS:
            value = re.search(rf"\b{field}: ([^,]*?)(?:,|\.|$)", told["address"])
            arguments[field] = value[1] if value else ""
        lines.append("New address: " + ", ".join(arguments[field] for field in _FIELDS))
    return arguments, lines


def _mentions(name: str, text: str) -> list[dict[str, str]]:
    """The options that the text gives after each mention of a product."""
    found = re.finditer(re.escape(name) + r"(?: \(([^)]*)\))?", text)
    pairs = ((part.split(": ", 1) for part in (m[1] or "").split(", ")) for m in found)
    return [{pair[0]: pair[1] for pair in each if len(pair) == 2} for each in pairs]


def _chosen(items: list[dict[str, Any]], text: str, *, half: bool) -> list[dict[str, Any]]:
    """The items of an order that the text names, in its order; `half`: it goes on to name what
    they should become."""
    places = []
    for name in {item["name"] for item in items}:
        left = [item for item in items if item["name"] == name]
        starts = [found.start() for found in re.finditer(re.escape(name), text)]
        mentions = list(zip(starts, _mentions(name, text), strict=True))
        for at, options in mentions[: len(mentions) // 2] if half else mentions:
            fits = [i for i in left if options.items() <= i["options"].items()]
            if fits:
                left.remove(fits[0])
                places.append((at, fits[0]))
    return [item for _, item in sorted(places, key=lambda place: place[0])]


def _variants(call: Call, items: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """The variants that the items should become; the k-th mention is for the k-th such item."""
    fresh, seen = [], dict[str, int]()
    for item in items:
        product = json.loads(call("get_product_details", {"product_id": item["product_id"]}))
        changes = _mentions(item["name"], text)
        at = seen[item["name"]] = seen.get(item["name"], -1) + 1
        # Where one text tells the items and the options, the later mentions are the options.
        at += len(changes) - sum(other["name"] == item["name"] for other in items)
        change = changes[at] if 0 <= at < len(changes) else {}
        wanted = {**item["options"], **change}
        fits = [v for v in product["variants"].values() if v["options"] == wanted]
        fresh.append(fits[0] if fits else {"item_id": "", "options": wanted})
    return fresh


def lazy(call: Call, seed: int) -> Agent:
    """Claims that all is done."""
    yield ""
    while True:
        yield "Your request has been completed successfully. Is there anything else?"


def chatty(call: Call, seed: int) -> Agent:
    """Asks for everything, asks for a yes, and never calls a tool."""
    pick = random.Random(seed)
    lines = [*WHO, *CONFIRMS, *(line for lines in ASKS.values() for line in lines)]
    yield ""
    while True:
        yield pick.choice(lines)


def always_yes(call: Call, seed: int) -> Agent:
    """Agrees to whatever comes."""
    yield ""
    while True:
        yield "Yes, of course!"


def transfer(call: Call, seed: int) -> Agent:
    """Hands the user to a person at once."""
    yield ""
    call("transfer_to_human_agents", {"summary": "The user needs help."})
    while True:
        yield "YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON."


def random_calls(call: Call, seed: int) -> Agent:
    """Asks anything, and calls any tool with whatever it has read, in any place."""
    pick = random.Random(seed)
    lines = [*WHO, *CONFIRMS, *(line for lines in ASKS.values() for line in lines)]
    read = ["no longer needed", "ordered by mistake", "1"]
    text = yield ""
    while True:
        read += _THINGS.findall(text)
        name = pick.choice(list(NEEDS))
        needs = {need: pick.choice(read) for need in NEEDS[name]}
        several = {need: [value] for need, value in needs.items() if need.endswith("_ids")}
        read += _THINGS.findall(call(name, {**needs, **several}))[:50]
        text = yield pick.choice(lines)


_THINGS = re.compile(r"#W\d+|\w+@[\w.]+\w|[a-z_]+_\d+|\b\d{5,10}\b|[A-Z]\w+")
_ITEMS = ("order_id", "item_ids", "new_item_ids", "payment_method_id")
NEEDS = {
    "find_user_id_by_email": ("email",),
    "find_user_id_by_name_zip": ("first_name", "last_name", "zip"),
    "get_user_details": ("user_id",),
    "get_order_details": ("order_id",),
    "get_product_details": ("product_id",),
    "list_all_product_types": (),
    "calculate": ("expression",),
    "think": ("thought",),
    "transfer_to_human_agents": ("summary",),
    "cancel_pending_order": ("order_id", "reason"),
    "return_delivered_order_items": ("order_id", "item_ids", "payment_method_id"),
    "exchange_delivered_order_items": _ITEMS,
    "modify_pending_order_items": _ITEMS,
    "modify_pending_order_payment": ("order_id", "payment_method_id"),
    "modify_pending_order_address": ("order_id", *_FIELDS),
    "modify_user_address": ("user_id", *_FIELDS),
}
