"""Scripted agents that see only the user's text and what the tools return.

An agent is a generator: it is sent the user's text, calls tools by `call(name, arguments)` and
yields its next message.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from tests.support.tau_episodes import (
    CONFIRMS,
    Agent,
    Call,
    Denied,
    Played,
    agreed,
    ask_all,
    play,
    serve,
)

__all__ = ["Played", "play"]
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


def competent(call: Call, seed: int) -> Agent:
    """Asks, looks up, holds the wish against the policy, names the price, confirms, writes. The
    seed selects wordings, and whether it asks for all details at once."""
    pick = random.Random(seed)
    user_id, wish = yield from _identify(call, pick)

    def act(intent: str) -> Generator[str, str, str]:
        arguments = yield from _collect(call, user_id, intent, pick)
        if isinstance(arguments, str):
            return arguments
        result = call(TOOLS[intent][0], arguments)
        if result.startswith("Error"):
            raise Denied(result[7:])
        return ""

    yield from serve(wish, lambda text: _answer(call, user_id, text), _INTENTS, act)


def _identify(call: Call, pick: random.Random) -> Generator[str, str, tuple[str, str]]:
    wish = yield ""
    while True:
        text = yield pick.choice(WHO)
        mail = re.search(r"[\w.]+@[\w.]+\w", text)
        name = re.search(r"(?:name is|I am) ([A-Z]\w+) ([A-Z]\w+)", text)
        code = re.search(r"\b\d{5}\b", text)
        actual_text = "Error"
        if mail:
            actual_text = call("find_user_id_by_email", {"email": mail[0]})
        elif name and code:
            arguments = {"first_name": name[1], "last_name": name[2], "zip": code[0]}
            actual_text = call("find_user_id_by_name_zip", arguments)
        if not actual_text.startswith("Error"):
            return actual_text, wish


def _collect(
    call: Call, user_id: str, intent: str, pick: random.Random
) -> Generator[str, str, dict[str, Any] | str]:
    """The arguments of the write after the user's yes, or what a user wants who dropped it."""
    slots = (*(("order",) if intent != "profile" else ()), *TOOLS[intent][1])
    while True:
        revealed = yield from ask_all(ASKS, slots, pick)
        if "order" in revealed and "#W" not in revealed["order"]:
            named = revealed.get("items") or (yield pick.choice(ASKS["items"]))
            revealed["order"] = _order_with(call, user_id, intent, named)
        arguments, lines = _arguments(call, revealed)
        if intent == "profile":
            arguments = {**arguments, "user_id": user_id}
            del arguments["order_id"]
        _check(call, user_id, intent, arguments, revealed)
        reply = yield from agreed(
            "\n".join([f"I will {_VERBS[intent]}.", *lines, pick.choice(CONFIRMS)])
        )
        if reply is None:
            return arguments
        if reply:
            return reply


def _orders(call: Call, user_id: str) -> list[dict[str, Any]]:
    user = json.loads(call("get_user_details", {"user_id": user_id}))
    return [json.loads(call("get_order_details", {"order_id": order})) for order in user["orders"]]


def _order_with(call: Call, user_id: str, intent: str, text: str) -> str:
    """The id of the user's order that has a product that the text names."""
    status = "delivered" if intent in ("return", "exchange") else "pending"
    for order in _orders(call, user_id):
        names = [item["name"] for item in order["items"]]
        if order["status"] == status and any(name in text for name in names):
            return str(order["order_id"])
    return ""


#: What the bundled policy lets nobody return.
_HYGIENE = ("Beard Trimmer", "Bath Sponge", "Ear Tips")


def _check(
    call: Call, user_id: str, intent: str, arguments: dict[str, Any], revealed: dict[str, str]
) -> None:
    """Raises Denied for what the policy forbids and no tool would stop."""
    if arguments.get("country", "USA") != "USA":
        raise Denied("we ship only to the USA")
    if re.search("better price", revealed.get("reason", "")):
        raise Denied("this is no reason to cancel")
    if "" in arguments.get("new_item_ids", ()):
        raise Denied("this variant is out of stock")
    if "order_id" in arguments:
        order = json.loads(call("get_order_details", {"order_id": arguments["order_id"]}))
        if order["user_id"] != user_id:
            raise Denied("the order belongs to someone else")
        chosen = arguments.get("item_ids", ())
        names = {item["name"] for item in order["items"] if item["item_id"] in chosen}
        if intent == "return" and names & set(_HYGIENE):
            raise Denied("such products stay with you for reasons of hygiene")


def _answer(call: Call, user_id: str, text: str) -> str:
    """The answer to a question of the bundled tasks; empty where the text asks none."""
    if paid := re.search(r"How much did I pay for order (#W\d+)", text):
        order = json.loads(call("get_order_details", {"order_id": paid[1]}))
        amount = order["payment_history"][0]["amount"]
    elif "left on my gift card" in text:
        user = json.loads(call("get_user_details", {"user_id": user_id}))
        methods = user["payment_methods"].values()
        amount = next(method["balance"] for method in methods if method["source"] == "gift_card")
    elif "all my pending orders cost" in text:
        pending = [item for item in _orders(call, user_id) if item["status"] == "pending"]
        prices = " + ".join(str(item["price"]) for entry in pending for item in entry["items"])
        amount = float(call("calculate", {"expression": prices}))
    elif product := re.search(r"cheapest (.+?) that is|variants of the (.+?) can", text):
        ids = json.loads(call("list_all_product_types", {}))
        product_id = ids[product[1] or product[2]]
        row = json.loads(call("get_product_details", {"product_id": product_id}))
        free = [value["price"] for value in row["variants"].values() if value["available"]]
        if product[2]:
            return f"There are {len(free)} of them."
        amount = min(free)
    else:
        return ""
    return f"It is ${amount:,.2f}."


_VERBS = {
    "cancel": "cancel the order",
    "return": "return the items",
    "exchange": "exchange the items",
    "modify": "modify the items of the order",
    "pay": "change the payment method of the order",
    "address": "change the shipping address of the order",
    "profile": "update your default address",
}


def _arguments(call: Call, revealed: dict[str, str]) -> tuple[dict[str, Any], list[str]]:
    match = re.search(r"#W\d+", revealed.get("order", ""))
    arguments: dict[str, Any] = {"order_id": match[0] if match else ""}
    lines = [f"Order: {arguments['order_id']}"] if match else []
    if "items" in revealed:
        order = json.loads(call("get_order_details", {"order_id": arguments["order_id"]}))
        both = revealed["items"] == revealed.get("options")
        items = _chosen(order["items"], revealed["items"], half=both)
        arguments["item_ids"] = [item["item_id"] for item in items]
        lines += [f"Item: {item['name']} ({item['item_id']})" for item in items]
        if "options" in revealed:
            fresh = _variants(call, items, revealed["options"])
            arguments["new_item_ids"] = [variant["item_id"] for variant in fresh]
            lines += [f"New item: {v['item_id']} {json.dumps(v['options'])}" for v in fresh]
            more = sum(v["price"] for v in fresh) - sum(item["price"] for item in items)
            lines += [f"You would pay ${more:.2f} more."] if more > 0 else []
    if "payment" in revealed:
        payment = re.search(r"(?:credit_card|paypal|gift_card)_\d+", revealed["payment"])
        arguments["payment_method_id"] = payment[0] if payment else ""
        lines.append(f"Payment method: {arguments['payment_method_id']}")
    if "reason" in revealed:
        mistake = "mistake" in revealed["reason"]
        arguments["reason"] = "ordered by mistake" if mistake else "no longer needed"
        lines.append(f"Reason: {arguments['reason']}")
    if "address" in revealed:
        for field in _FIELDS:
            value = re.search(rf"\b{field}: ([^,]*?)(?:,|\.|$)", revealed["address"])
            arguments[field] = value[1] if value else ""
        lines.append("New address: " + ", ".join(arguments[field] for field in _FIELDS))
    return arguments, lines


def _mentions(name: str, text: str) -> list[dict[str, str]]:
    """The options that the text gives after each mention of a product."""
    matches = re.finditer(re.escape(name) + r"(?: \(([^)]*)\))?", text)
    pairs = ((part.split(": ", 1) for part in (m[1] or "").split(", ")) for m in matches)
    return [{pair[0]: pair[1] for pair in each if len(pair) == 2} for each in pairs]


def _chosen(items: list[dict[str, Any]], text: str, *, half: bool) -> list[dict[str, Any]]:
    """The items of an order that the text names, in its order; `half`: it goes on to name what
    they should become."""
    places = []
    for name in {item["name"] for item in items}:
        left = [item for item in items if item["name"] == name]
        starts = [match.start() for match in re.finditer(re.escape(name), text)]
        mentions = list(zip(starts, _mentions(name, text), strict=True))
        for at, options in mentions[: len(mentions) // 2] if half else mentions:
            fits = [i for i in left if options.items() <= i["options"].items()]
            if fits:
                left.remove(fits[0])
                places.append((at, fits[0]))
    return [item for _, item in sorted(places, key=lambda row: row[0])]


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
        expected = {**item["options"], **change}
        variants = [v for v in product["variants"].values() if v["available"]]
        fits = [v for v in variants if v["options"] == expected]
        fresh.append(fits[0] if fits else {"item_id": "", "options": expected, "price": 0})
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
    yield from at_random(call, seed, NEEDS, ASKS)


def at_random(
    call: Call,
    seed: int,
    tools: Mapping[str, Sequence[str]],
    asks: Mapping[str, Sequence[str]],
) -> Agent:
    """As `random_calls`, with the arguments of some tools and the questions of some domain."""
    pick = random.Random(seed)
    lines = [*WHO, *CONFIRMS, *(line for lines in asks.values() for line in lines)]
    read = ["no longer needed", "ordered by mistake", "1"]
    text = yield ""
    while True:
        read += _THINGS.findall(text)
        name = pick.choice(list(tools))
        needs: dict[str, Any] = {need: pick.choice(read) for need in tools[name]}
        needs |= {need: [value] for need, value in needs.items() if need.endswith("_ids")}
        read += _THINGS.findall(call(name, needs))[:50]
        text = yield pick.choice(lines)


_THINGS = re.compile(r"#W\d+|(?:[A-Z]\d){3}|\w+@[\w.]+\w|[a-z_]+_\d+|\b\d{5,10}\b|[A-Z]\w+")
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
