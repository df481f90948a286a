"""The goals of the shop's users, each with the calls that fulfil it.

Every function takes, or adds to the shop, the order that its goal is about.
"""

from __future__ import annotations

from evalcore.benchmarks.tau_bench.environment.retail import REASONS
from evalcore.benchmarks.tau_bench.environment.reward import Action
from evalcore.benchmarks.tau_bench.user_goals import Goal, Item, Kind
from tools.tau_tasks.plan import PlannedGoal, format_amount
from tools.tau_tasks.profiles import make_address
from tools.tau_tasks.retail_fixtures import (
    CHEAPER_RANKS,
    DEARER_RANKS,
    SOLD_OUT_RANKS,
    Row,
    Shop,
    add_order,
    find_payment_method,
    rank_variants,
)

_CHANGES: dict[str, Kind] = {
    "exchange_delivered_order_items": "exchange",
    "modify_pending_order_items": "modify_items",
}
EXCHANGE, MODIFY = _CHANGES


def plan_order_cancellation(
    shop: Shop, order: Row, *, reason: str = "", named: bool = False
) -> PlannedGoal:
    """Cancel an order; `named`: the user can say what is in it."""
    reason = reason or shop.rng.choice(REASONS)
    items = (Item(order["items"][0]["name"]),) if named else ()
    goal = Goal("cancel", order["order_id"], items, reason=reason)
    return PlannedGoal(goal, (_build_order_action("cancel_pending_order", order, reason=reason),))


def plan_return(order: Row, count: int, payment: str = "") -> PlannedGoal:
    """Plan to return the first items, refunded to the original or another payment method."""
    payment = payment or find_order_payment(order)
    items = order["items"][:count]
    goal_items = tuple(Item(item["name"], item["options"]) for item in items)
    call = _build_order_action(
        "return_delivered_order_items",
        order,
        item_ids=[item["item_id"] for item in items],
        payment_method_id=payment,
    )
    return PlannedGoal(Goal("return", order["order_id"], goal_items, payment), (call,))


def plan_item_swap(
    shop: Shop, tool: str, order: Row, ranks: tuple[int, ...], payment: str = "", last: int = 0
) -> PlannedGoal:
    """Exchange or modify items for the variants at these places in the order of prices, from the
    item `last` on."""
    payment = payment or find_order_payment(order)
    items = order["items"][last : last + len(ranks)]
    variants = [
        rank_variants(shop, item["name"])[rank] for item, rank in zip(items, ranks, strict=True)
    ]
    goal_items = tuple(
        Item(item["name"], item["options"], _diff_options(item["options"], new["options"]))
        for item, new in zip(items, variants, strict=True)
    )
    call = _build_order_action(
        tool,
        order,
        item_ids=[item["item_id"] for item in items],
        new_item_ids=[variant["item_id"] for variant in variants],
        payment_method_id=payment,
    )
    return PlannedGoal(Goal(_CHANGES[tool], order["order_id"], goal_items, payment), (call,))


def compute_surcharge(shop: Shop, order: Row, rank: int) -> float:
    """Compute how much more the first item would cost as the variant of that price rank."""
    item = order["items"][0]
    return round(float(rank_variants(shop, item["name"])[rank]["price"]) - float(item["price"]), 2)


def plan_payment_change(order: Row, payment: str) -> PlannedGoal:
    goal = Goal("modify_payment", order["order_id"], payment=payment)
    return PlannedGoal(
        goal,
        (_build_order_action("modify_pending_order_payment", order, payment_method_id=payment),),
    )


def plan_address_change(
    shop: Shop, order: Row, *, country: str = "USA", named: bool = False, to: Row | None = None
) -> PlannedGoal:
    """Plan to send an order elsewhere: to the address `to`, or a new one."""
    new_address = to or {**make_address(shop.rng), "country": country}
    items = (Item(order["items"][0]["name"]),) if named else ()
    goal = Goal("modify_address", order["order_id"], items, address=new_address)
    return PlannedGoal(
        goal, (_build_order_action("modify_pending_order_address", order, **new_address),)
    )


def plan_profile_address(shop: Shop, user_id: str) -> PlannedGoal:
    """A new default address."""
    new_address = make_address(shop.rng)
    action = Action("modify_user_address", {"user_id": user_id, **new_address})
    return PlannedGoal(Goal("profile_address", address=new_address), (action,))


def ask_paid(order: Row) -> PlannedGoal:
    question = f"How much did I pay for order {order['order_id']}?"
    return _build_question_goal(question, order["payment_history"][0]["amount"])


def ask_balance(shop: Shop, user_id: str) -> PlannedGoal:
    gift = shop.users[user_id]["payment_methods"][find_payment_method(shop, user_id, "gift_card")]
    return _build_question_goal("How much money is left on my gift card?", gift["balance"])


def ask_cheapest(shop: Shop, name: str) -> PlannedGoal:
    in_stock = [variant for variant in rank_variants(shop, name) if variant["available"]]
    return _build_question_goal(
        f"How much is the cheapest {name} that is in stock?", in_stock[0]["price"]
    )


def ask_pending(shop: Shop, user_id: str) -> PlannedGoal:
    orders = [shop.orders[order] for order in shop.users[user_id]["orders"]]
    prices = [
        i["price"] for order in orders if order["status"] == "pending" for i in order["items"]
    ]
    question = "How much do the items of all my pending orders cost together?"
    return _build_question_goal(question, sum(prices))


def ask_available(shop: Shop, name: str) -> PlannedGoal:
    count = sum(bool(variant["available"]) for variant in rank_variants(shop, name))
    return _build_question_goal(f"How many variants of the {name} can be bought right now?", count)


def add_target_order(shop: Shop, user_id: str, status: str, paid: str = "credit_card") -> Row:
    """Add an order between two of another status, so that the agent has to search for it."""
    other = "delivered" if status == "pending" else "pending"
    orders = [
        add_order(shop, user_id, order_status, paid=paid)
        for order_status in (other, status, "processed")
    ]
    return orders[1]


def find_order_payment(order: Row) -> str:
    return str(order["payment_history"][0]["payment_method_id"])


def pick_cheaper_rank(shop: Shop) -> int:
    return shop.rng.choice(CHEAPER_RANKS)


def pick_dearer_rank(shop: Shop) -> int:
    return shop.rng.choice(DEARER_RANKS)


def pick_sold_out_rank(shop: Shop) -> int:
    return shop.rng.choice(SOLD_OUT_RANKS)


def _diff_options(old: dict[str, str], new: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in new.items() if old.get(name) != value}


def _build_question_goal(text: str, value: float) -> PlannedGoal:
    return PlannedGoal(Goal("question", question=text), outputs=(format_amount(value),))


def _build_order_action(tool: str, order: Row, **arguments: object) -> Action:
    return Action(tool, {"order_id": order["order_id"], **arguments})
