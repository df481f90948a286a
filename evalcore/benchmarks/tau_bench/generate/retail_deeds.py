"""The wishes of the shop's users, each with the calls that fulfil it.

Every function makes the order that its wish is about.
"""

from __future__ import annotations

from evalcore.benchmarks.tau_bench.environment.retail_orders import REASONS
from evalcore.benchmarks.tau_bench.environment.task import Action
from evalcore.benchmarks.tau_bench.generate.plan import Deed, amount
from evalcore.benchmarks.tau_bench.generate.retail_world import (
    CHEAPER,
    DEARER,
    SOLD_OUT,
    Row,
    Shop,
    add_order,
    method,
    ranked,
)
from evalcore.benchmarks.tau_bench.generate.words import address
from evalcore.benchmarks.tau_bench.users.goals import Goal, Item, Kind

_CHANGES: dict[str, Kind] = {
    "exchange_delivered_order_items": "exchange",
    "modify_pending_order_items": "modify_items",
}
EXCHANGE, MODIFY = _CHANGES


def cancel(shop: Shop, order: Row, *, reason: str = "", named: bool = False) -> Deed:
    """Cancel an order; `named`: the user can say what is in it."""
    reason = reason or shop.rng.choice(REASONS)
    items = (Item(order["items"][0]["name"]),) if named else ()
    goal = Goal("cancel", order["order_id"], items, reason=reason)
    return Deed(goal, (_call("cancel_pending_order", order, reason=reason),))


def give_back(order: Row, count: int, payment: str = "") -> Deed:
    """Return the first so many items, to the original payment method or another one."""
    payment = payment or paid_with(order)
    items = order["items"][:count]
    wishes = tuple(Item(item["name"], item["options"]) for item in items)
    call = _call(
        "return_delivered_order_items",
        order,
        item_ids=[item["item_id"] for item in items],
        payment_method_id=payment,
    )
    return Deed(Goal("return", order["order_id"], wishes, payment), (call,))


def swap(
    shop: Shop, tool: str, order: Row, ranks: tuple[int, ...], payment: str = "", last: int = 0
) -> Deed:
    """Exchange or modify items for the variants at these places in the order of prices, from the
    item `last` on."""
    payment = payment or paid_with(order)
    items = order["items"][last : last + len(ranks)]
    fresh = [ranked(shop, item["name"])[rank] for item, rank in zip(items, ranks, strict=True)]
    wishes = tuple(
        Item(item["name"], item["options"], _apart(item["options"], new["options"]))
        for item, new in zip(items, fresh, strict=True)
    )
    call = _call(
        tool,
        order,
        item_ids=[item["item_id"] for item in items],
        new_item_ids=[variant["item_id"] for variant in fresh],
        payment_method_id=payment,
    )
    return Deed(Goal(_CHANGES[tool], order["order_id"], wishes, payment), (call,))


def surcharge(shop: Shop, order: Row, rank: int) -> float:
    """What the first item would cost more as the variant at that place."""
    item = order["items"][0]
    return round(float(ranked(shop, item["name"])[rank]["price"]) - float(item["price"]), 2)


def pay_by(order: Row, payment: str) -> Deed:
    goal = Goal("modify_payment", order["order_id"], payment=payment)
    return Deed(goal, (_call("modify_pending_order_payment", order, payment_method_id=payment),))


def redirect(
    shop: Shop, order: Row, *, country: str = "USA", named: bool = False, to: Row | None = None
) -> Deed:
    """Send an order elsewhere, to a new address or to the given one."""
    place = to or {**address(shop.rng), "country": country}
    items = (Item(order["items"][0]["name"]),) if named else ()
    goal = Goal("modify_address", order["order_id"], items, address=place)
    return Deed(goal, (_call("modify_pending_order_address", order, **place),))


def move(shop: Shop, user_id: str) -> Deed:
    """A new default address."""
    place = address(shop.rng)
    action = Action("modify_user_address", {"user_id": user_id, **place})
    return Deed(Goal("profile_address", address=place), (action,))


def ask_paid(order: Row) -> Deed:
    asked = f"How much did I pay for order {order['order_id']}?"
    return _question(asked, order["payment_history"][0]["amount"])


def ask_balance(shop: Shop, user_id: str) -> Deed:
    gift = shop.users[user_id]["payment_methods"][method(shop, user_id, "gift_card")]
    return _question("How much money is left on my gift card?", gift["balance"])


def ask_cheapest(shop: Shop, name: str) -> Deed:
    free = [variant for variant in ranked(shop, name) if variant["available"]]
    return _question(f"How much is the cheapest {name} that is in stock?", free[0]["price"])


def ask_pending(shop: Shop, user_id: str) -> Deed:
    orders = [shop.orders[one] for one in shop.users[user_id]["orders"]]
    prices = [i["price"] for one in orders if one["status"] == "pending" for i in one["items"]]
    asked = "How much do the items of all my pending orders cost together?"
    return _question(asked, sum(prices))


def ask_available(shop: Shop, name: str) -> Deed:
    count = sum(bool(variant["available"]) for variant in ranked(shop, name))
    return _question(f"How many variants of the {name} can be bought right now?", count)


def order_of(shop: Shop, user_id: str, status: str, paid: str = "credit_card") -> Row:
    """A new order among others that differ in status, so that the right one has to be found."""
    other = "delivered" if status == "pending" else "pending"
    made = [add_order(shop, user_id, one, paid=paid) for one in (other, status, "processed")]
    return made[1]


def paid_with(order: Row) -> str:
    return str(order["payment_history"][0]["payment_method_id"])


def cheaper(shop: Shop) -> int:
    return shop.rng.choice(CHEAPER)


def dearest(shop: Shop) -> int:
    return shop.rng.choice(DEARER)


def sold_out(shop: Shop) -> int:
    return shop.rng.choice(SOLD_OUT)


def _apart(old: dict[str, str], new: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in new.items() if old.get(name) != value}


def _question(text: str, value: float) -> Deed:
    return Deed(Goal("question", question=text), outputs=(amount(value),))


def _call(tool: str, order: Row, **arguments: object) -> Action:
    return Action(tool, {"order_id": order["order_id"], **arguments})
