"""The shop of tau2-bench: tools over orders, products and users.

The order of checks and changes is upstream's, and so are two oddities that a reward depends on: a
change of several items gives all of them the price and the options of the last one, and an order
whose items were changed still counts as pending for its address and payment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalcore.benchmarks.agents import Schema
from evalcore.benchmarks.tau2_bench.environment.shapes import (
    Shape,
    choice_of,
    first_fitting,
    list_of,
    map_of,
    optional,
    to_flag,
    to_number,
    to_text,
)
from evalcore.benchmarks.tau2_bench.environment.world import State, bind_tool_makers
from evalcore.benchmarks.tau_bench.environment.database import Entity, clone_json
from evalcore.benchmarks.tau_bench.environment.tools import ToolError, text_list_schema, text_schema
from evalcore.benchmarks.tau_bench.environment.tools import calculate as calculate_result

REASONS = ("no longer needed", "ordered by mistake")

VARIANT = Shape(
    {"item_id": to_text, "options": map_of(to_text), "available": to_flag, "price": to_number}
)
PRODUCT = Shape({"name": to_text, "product_id": to_text, "variants": map_of(VARIANT)})
ADDRESS = Shape(dict.fromkeys(("address1", "address2", "city", "country", "state", "zip"), to_text))
_PERSON = Shape({"first_name": to_text, "last_name": to_text})
_CREDIT_CARD = Shape(
    {"source": choice_of("credit_card"), "id": to_text, "brand": to_text, "last_four": to_text}
)
_GIFT_CARD = Shape({"source": choice_of("gift_card"), "id": to_text, "balance": to_number})
_PAYPAL = Shape({"source": choice_of("paypal"), "id": to_text})
USER = Shape(
    {
        "user_id": to_text,
        "name": _PERSON,
        "address": ADDRESS,
        "email": to_text,
        "payment_methods": map_of(first_fitting(_CREDIT_CARD, _GIFT_CARD, _PAYPAL)),
        "orders": list_of(to_text),
    }
)
_ITEM = Shape(
    {
        "name": to_text,
        "product_id": to_text,
        "item_id": to_text,
        "price": to_number,
        "options": map_of(to_text),
    }
)
PAYMENT = Shape(
    {
        "transaction_type": choice_of("payment", "refund"),
        "amount": to_number,
        "payment_method_id": to_text,
    }
)
_LATER_FIELDS: dict[str, Any] = {
    "cancel_reason": choice_of(*REASONS),
    "exchange_items": list_of(to_text),
    "exchange_new_items": list_of(to_text),
    "exchange_payment_method_id": to_text,
    "exchange_price_difference": to_number,
    "return_items": list_of(to_text),
    "return_payment_method_id": to_text,
}
_STATUSES = (
    *("processed", "pending", "pending (item modified)", "delivered", "cancelled"),
    *("exchange requested", "return requested"),
)
ORDER = Shape(
    {
        "order_id": to_text,
        "user_id": to_text,
        "address": ADDRESS,
        "items": list_of(_ITEM),
        "status": choice_of(*_STATUSES),
        "fulfillments": list_of(
            Shape({"tracking_id": list_of(to_text), "item_ids": list_of(to_text)})
        ),
        "payment_history": list_of(PAYMENT),
        **{name: optional(convert) for name, convert in _LATER_FIELDS.items()},
    },
    dict.fromkeys(_LATER_FIELDS),
)
TABLES = {"products": PRODUCT, "users": USER, "orders": ORDER}


def calculate(world: State, expression: str) -> str:
    try:
        return calculate_result(world.agent, expression)
    except ToolError as error:
        raise ValueError(str(error).capitalize()) from None


def transfer_to_human_agents(world: State, summary: str) -> str:
    return "Transfer successful"


def cancel_pending_order(world: State, order_id: str, reason: str) -> Entity:
    order = _require_order(world, order_id)
    _require_status(order, "pending", "Non-pending order cannot be cancelled")
    if reason not in REASONS:
        raise ValueError("Invalid reason")
    refunds = []
    for paid in order["payment_history"]:
        refunds.append(PAYMENT({**paid, "transaction_type": "refund"}))
        method = _require_payment_method(world, order["user_id"], paid["payment_method_id"])
        if method["source"] == "gift_card":
            _charge_gift_card(world, order, paid["payment_method_id"], -paid["amount"])
    order = world.agent.edit("orders", order_id)
    order["status"] = "cancelled"
    order["cancel_reason"] = reason
    order["payment_history"] += refunds
    return order


def exchange_delivered_order_items(
    world: State,
    order_id: str,
    item_ids: list[str],
    new_item_ids: list[str],
    payment_method_id: str,
) -> Entity:
    order = _require_order(world, order_id)
    _require_status(order, "delivered", "Non-delivered order cannot be exchanged")
    surplus = _find_surplus_item(order, item_ids)
    if surplus is not None:
        raise ValueError(f"Number of {surplus} not found.")
    if len(item_ids) != len(new_item_ids):
        raise ValueError("The number of items to be exchanged should match.")
    pairs = zip(item_ids, new_item_ids, strict=True)
    variants = [_require_variant(world, order, old, new) for old, new in pairs]
    difference = round(_price_difference(order, item_ids, variants), 2)
    method = _require_payment_method(world, order["user_id"], payment_method_id)
    if method["source"] == "gift_card" and method["balance"] < difference:
        raise ValueError("Insufficient gift card balance to pay for the price difference")
    order = world.agent.edit("orders", order_id)
    order["status"] = "exchange requested"
    order["exchange_items"] = sorted(item_ids)
    order["exchange_new_items"] = sorted(new_item_ids)
    order["exchange_payment_method_id"] = payment_method_id
    order["exchange_price_difference"] = difference
    return order


def modify_pending_order_address(
    world: State,
    order_id: str,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,
) -> Entity:
    _require_pending(_require_order(world, order_id))
    address = _read_address(address1, address2, city, state, country, zip)
    order = world.agent.edit("orders", order_id)
    order["address"] = address
    return order


def modify_pending_order_items(
    world: State,
    order_id: str,
    item_ids: list[str],
    new_item_ids: list[str],
    payment_method_id: str,
) -> Entity:
    order = _require_order(world, order_id)
    _require_status(order, "pending", "Non-pending order cannot be modified")
    surplus = _find_surplus_item(order, item_ids)
    if surplus is not None:
        raise ValueError(f"{surplus} not found")
    if len(item_ids) != len(new_item_ids):
        raise ValueError("The number of items to be exchanged should match")
    variants = []
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
        if item_id == new_item_id:
            raise ValueError("The new item id should be different from the old item id")
        variants.append(_require_variant(world, order, item_id, new_item_id))
    difference = _price_difference(order, item_ids, variants)
    method = _require_payment_method(world, order["user_id"], payment_method_id)
    if method["source"] == "gift_card" and method["balance"] < difference:
        raise ValueError("Insufficient gift card balance to pay for the new item")
    order = world.agent.edit("orders", order_id)
    kind = "payment" if difference > 0 else "refund"
    order["payment_history"].append(
        PAYMENT(
            {
                "transaction_type": kind,
                "amount": abs(difference),
                "payment_method_id": payment_method_id,
            }
        )
    )
    if method["source"] == "gift_card":
        _charge_gift_card(world, order, payment_method_id, difference)
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
        item = _require_item(order, item_id)
        item["item_id"] = new_item_id
        item["price"] = variants[-1]["price"]
        item["options"] = clone_json(variants[-1]["options"])
    order["status"] = "pending (item modified)"
    return order


def modify_pending_order_payment(world: State, order_id: str, payment_method_id: str) -> Entity:
    order = _require_order(world, order_id)
    _require_pending(order)
    method = _require_payment_method(world, order["user_id"], payment_method_id)
    history = order["payment_history"]
    if len(history) != 1 or history[0]["transaction_type"] != "payment":
        raise ValueError("There should be exactly one payment for a pending order")
    former, amount = history[0]["payment_method_id"], history[0]["amount"]
    if former == payment_method_id:
        raise ValueError("The new payment method should be different from the current one")
    if method["source"] == "gift_card" and method["balance"] < amount:
        raise ValueError("Insufficient gift card balance to pay for the order")
    order = world.agent.edit("orders", order_id)
    order["payment_history"] += [
        {"transaction_type": kind, "amount": amount, "payment_method_id": paid_with}
        for kind, paid_with in (("payment", payment_method_id), ("refund", former))
    ]
    if method["source"] == "gift_card":
        _charge_gift_card(world, order, payment_method_id, amount)
    if _require_payment_method(world, order["user_id"], former)["source"] == "gift_card":
        _charge_gift_card(world, order, former, -amount)
    return order


def modify_user_address(
    world: State,
    user_id: str,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,
) -> Entity:
    _require_user(world, user_id)
    address = _read_address(address1, address2, city, state, country, zip)
    user = world.agent.edit("users", user_id)
    user["address"] = address
    return user


def return_delivered_order_items(
    world: State, order_id: str, item_ids: list[str], payment_method_id: str
) -> Entity:
    order = _require_order(world, order_id)
    _require_status(order, "delivered", "Non-delivered order cannot be returned")
    method = _require_payment_method(world, order["user_id"], payment_method_id)
    original = order["payment_history"][0]["payment_method_id"]
    if method["source"] != "gift_card" and payment_method_id != original:
        raise ValueError("Payment method should be the original payment method")
    if _find_surplus_item(order, item_ids) is not None:
        raise ValueError("Some item not found")
    returned = sorted(item_ids)
    order = world.agent.edit("orders", order_id)
    order["status"] = "return requested"
    order["return_items"] = returned
    order["return_payment_method_id"] = payment_method_id
    return order


def find_user_id_by_email(world: State, email: str) -> str:
    lowered = email.lower()
    for user_id, user in world.agent.rows("users"):
        if user["email"].lower() == lowered:
            return user_id
    raise ValueError("User not found")


def find_user_id_by_name_zip(world: State, first_name: str, last_name: str, zip: str) -> str:
    full_name = (first_name.lower(), last_name.lower())
    for user_id, user in world.agent.rows("users"):
        name = user["name"]
        own_name = (name["first_name"].lower(), name["last_name"].lower())
        if own_name == full_name and user["address"]["zip"] == zip:
            return user_id
    raise ValueError("User not found")


def get_order_details(world: State, order_id: str) -> Entity:
    return _require_order(world, order_id)


def get_product_details(world: State, product_id: str) -> Entity:
    return _require_product(world, product_id)


def get_item_details(world: State, item_id: str) -> Entity:
    for _, product in world.agent.rows("products"):
        if item_id in product["variants"]:
            variant: Entity = product["variants"][item_id]
            return variant
    raise ValueError("Item not found")


def get_user_details(world: State, user_id: str) -> Entity:
    return _require_user(world, user_id)


def list_all_product_types(world: State) -> dict[str, str]:
    names = {each["name"]: each["product_id"] for _, each in world.agent.rows("products")}
    return dict(sorted(names.items()))


def _require_order(world: State, order_id: str) -> Entity:
    return world.agent.require_row("orders", order_id, "Order not found")


def _require_user(world: State, user_id: str) -> Entity:
    return world.agent.require_row("users", user_id, "User not found")


def _require_product(world: State, product_id: str) -> Entity:
    return world.agent.require_row("products", product_id, "Product not found")


def _require_payment_method(world: State, user_id: str, method_id: str) -> Entity:
    methods: dict[str, Entity] = _require_user(world, user_id)["payment_methods"]
    if method_id not in methods:
        raise ValueError("Payment method not found")
    return methods[method_id]


def _require_status(order: Entity, status: str, problem: str) -> None:
    if order["status"] != status:
        raise ValueError(problem)


def _require_pending(order: Entity) -> None:
    if "pending" not in order["status"]:
        raise ValueError("Non-pending order cannot be modified")


def _find_surplus_item(order: Entity, item_ids: Sequence[str]) -> str | None:
    """The first item that is named more often than the order has it."""
    owned = [item["item_id"] for item in order["items"]]
    return next((each for each in item_ids if item_ids.count(each) > owned.count(each)), None)


def _require_item(order: Entity, item_id: str) -> Entity:
    item: Entity | None = next(
        (each for each in order["items"] if each["item_id"] == item_id), None
    )
    if item is None:
        raise ValueError(f"Item {item_id} not found")
    return item


def _require_variant(world: State, order: Entity, item_id: str, new_item_id: str) -> Entity:
    """The variant that an item of an order is to become, which has to be available."""
    product = _require_product(world, _require_item(order, item_id)["product_id"])
    if new_item_id not in product["variants"]:
        raise ValueError("Variant not found")
    variant: Entity = product["variants"][new_item_id]
    if not variant["available"]:
        raise ValueError(f"New item {new_item_id} not found or available")
    return variant


def _price_difference(
    order: Entity, item_ids: Sequence[str], variants: Sequence[Entity]
) -> int | float:
    difference: int | float = 0
    for item_id, variant in zip(item_ids, variants, strict=True):
        difference += variant["price"] - _require_item(order, item_id)["price"]
    return difference


def _charge_gift_card(world: State, order: Entity, method_id: str, amount: float) -> None:
    """Take an amount from a gift card of the order's user; a negative one is paid back."""
    card = world.agent.edit("users", order["user_id"])["payment_methods"][method_id]
    card["balance"] = round(card["balance"] - amount, 2)


def _read_address(
    address1: str, address2: str, city: str, state: str, country: str, zip: str
) -> Entity:
    return ADDRESS(
        {
            "address1": address1,
            "address2": address2,
            "city": city,
            "state": state,
            "country": country,
            "zip": zip,
        }
    )


_SCHEMAS: dict[str, Schema] = {
    "order_id": text_schema("The id of the order with its leading '#', such as '#W0000000'."),
    "reason": text_schema("Why it is cancelled.", *REASONS),
    "item_ids": text_list_schema(
        "Ids of items of the order; one that is there twice may be named twice."
    ),
    "new_item_ids": text_list_schema(
        "Ids of the new items, in the order of the items they replace."
    ),
    "payment_method_id": text_schema("The id of a payment method in the user's profile."),
    "product_id": text_schema("The id of the product, which is not that of an item."),
    "item_id": text_schema("The id of the item."),
    "user_id": text_schema("The id of the user."),
    "email": text_schema("The email address."),
    "first_name": text_schema("The first name."),
    "last_name": text_schema("The last name."),
    "address1": text_schema("First line of the address."),
    "address2": text_schema("Second line of the address; may be empty."),
    "city": text_schema("The city."),
    "state": text_schema("The state, such as 'NY'."),
    "country": text_schema("The country, such as 'USA'."),
    "zip": text_schema("The zip code."),
    "expression": text_schema("Numbers, + - * /, brackets and spaces."),
    "summary": text_schema("What the user wants and what was done so far."),
}
_build_read, _build_write = bind_tool_makers(_SCHEMAS)

TOOLS = (
    _build_read(calculate, "Work out an expression of numbers, such as a total."),
    _build_write(cancel_pending_order, "Cancel a pending order and refund it."),
    _build_write(
        exchange_delivered_order_items,
        "Exchange items of a delivered order for others of the same products, once for an order.",
    ),
    _build_read(find_user_id_by_name_zip, "Find the id of a user by name and zip code."),
    _build_read(find_user_id_by_email, "Find the id of a user by email address."),
    _build_read(get_order_details, "All about an order: its status, items and payments."),
    _build_read(get_product_details, "All about a product: its variants with options and prices."),
    _build_read(get_item_details, "One variant of a product, by the id of the item."),
    _build_read(get_user_details, "All about a user: address, payment methods and orders."),
    _build_read(list_all_product_types, "The names and ids of all products."),
    _build_write(modify_pending_order_address, "Change the address that a pending order goes to."),
    _build_write(
        modify_pending_order_items,
        "Change items of a pending order to others of the same products, once for an order.",
    ),
    _build_write(modify_pending_order_payment, "Change what a pending order is paid with."),
    _build_write(modify_user_address, "Change the default address of a user."),
    _build_write(
        return_delivered_order_items,
        "Return items of a delivered order, refunded to its payment method or to a gift card.",
    ),
    _build_read(
        transfer_to_human_agents,
        "Hand the user over to a person, for what no tool can do under the policy.",
    ),
)
