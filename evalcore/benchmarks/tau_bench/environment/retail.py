"""The retail domain: the tools over orders, products and users.

Each write checks all before it changes anything, in upstream's order, and answers with the record
as it is then. Prices and balances are kept as upstream's floating point leaves them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from evalcore.benchmarks.agents import Schema
from evalcore.benchmarks.tau_bench.environment.database import Database, Entity, clone_json
from evalcore.benchmarks.tau_bench.environment.tools import (
    GENERAL_TOOLS,
    Tool,
    ToolError,
    build_tool,
    get_user_details,
    require_entity,
    text_list_schema,
    text_schema,
)

REASONS = ("no longer needed", "ordered by mistake")


def cancel_pending_order(database: Database, order_id: str, reason: str) -> str:
    order = _require_order(database, order_id, "pending", "cancelled")
    if reason not in REASONS:
        raise ToolError("invalid reason")
    refunds = [
        _build_payment_entry("refund", paid["amount"], paid["payment_method_id"])
        for paid in order["payment_history"]
    ]
    order = database.edit("orders", order_id)
    for refund in refunds:
        if "gift_card" in refund["payment_method_id"]:
            _charge_gift_card(database, order, refund["payment_method_id"], -refund["amount"])
    order["status"] = "cancelled"
    order["cancel_reason"] = reason
    order["payment_history"] += refunds
    return json.dumps(order)


def modify_pending_order_address(
    database: Database,
    order_id: str,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,
) -> str:
    _require_order(database, order_id, "pending", "modified")
    order = database.edit("orders", order_id)
    order["address"] = _build_address(address1, address2, city, state, country, zip)
    return json.dumps(order)


def modify_user_address(
    database: Database,
    user_id: str,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,
) -> str:
    require_entity(database, "users", user_id, "user")
    user = database.edit("users", user_id)
    user["address"] = _build_address(address1, address2, city, state, country, zip)
    return json.dumps(user)


def modify_pending_order_payment(database: Database, order_id: str, payment_method_id: str) -> str:
    order = _require_order(database, order_id, "pending", "modified")
    method = _require_payment_method(database, order, payment_method_id)
    first = order["payment_history"][0]
    if len(order["payment_history"]) > 1 or first["transaction_type"] != "payment":
        raise ToolError("there should be exactly one payment for a pending order")
    former, amount = first["payment_method_id"], first["amount"]
    if former == payment_method_id:
        raise ToolError("the new payment method should be different from the current one")
    _check_gift_balance(method, amount, "order")
    order = database.edit("orders", order_id)
    order["payment_history"] += [
        _build_payment_entry("payment", amount, payment_method_id),
        _build_payment_entry("refund", amount, former),
    ]
    if method["source"] == "gift_card":
        _charge_gift_card(database, order, payment_method_id, amount)
    if "gift_card" in former:
        _charge_gift_card(database, order, former, -amount)
    return json.dumps(order)


def modify_pending_order_items(
    database: Database,
    order_id: str,
    item_ids: list[str],
    new_item_ids: list[str],
    payment_method_id: str,
) -> str:
    order = _require_order(database, order_id, "pending", "modified")
    difference = _price_difference(database, order, item_ids, new_item_ids)
    method = _require_payment_method(database, order, payment_method_id)
    _check_gift_balance(method, difference, "new item")
    order = database.edit("orders", order_id)
    kind = "payment" if difference > 0 else "refund"
    order["payment_history"].append(_build_payment_entry(kind, abs(difference), payment_method_id))
    if method["source"] == "gift_card":
        _charge_gift_card(database, order, payment_method_id, difference)
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
        item = _find_order_item(order, item_id)
        variant = _load_product_variants(database, item)[new_item_id]
        item["item_id"] = new_item_id
        item["price"] = variant["price"]
        item["options"] = clone_json(variant["options"])
    order["status"] = "pending (item modified)"
    return json.dumps(order)


def exchange_delivered_order_items(
    database: Database,
    order_id: str,
    item_ids: list[str],
    new_item_ids: list[str],
    payment_method_id: str,
) -> str:
    order = _require_order(database, order_id, "delivered", "exchanged")
    difference = round(_price_difference(database, order, item_ids, new_item_ids), 2)
    _check_gift_balance(
        _require_payment_method(database, order, payment_method_id), difference, "price difference"
    )
    returned_ids, new_ids = sorted(item_ids), sorted(new_item_ids)
    order = database.edit("orders", order_id)
    order["status"] = "exchange requested"
    order["exchange_items"] = returned_ids
    order["exchange_new_items"] = new_ids
    order["exchange_payment_method_id"] = payment_method_id
    order["exchange_price_difference"] = difference
    return json.dumps(order)


def return_delivered_order_items(
    database: Database, order_id: str, item_ids: list[str], payment_method_id: str
) -> str:
    order = _require_order(database, order_id, "delivered", "returned")
    _require_payment_method(database, order, payment_method_id)
    original = order["payment_history"][0]["payment_method_id"]
    if "gift_card" not in payment_method_id and payment_method_id != original:
        raise ToolError(
            "payment method should be either the original payment method or a gift card"
        )
    if _list_surplus_items(order, item_ids):
        raise ToolError("some item not found")
    returned_ids = sorted(item_ids)
    order = database.edit("orders", order_id)
    order["status"] = "return requested"
    order["return_items"] = returned_ids
    order["return_payment_method_id"] = payment_method_id
    return json.dumps(order)


def _require_order(database: Database, order_id: str, status: str, action: str) -> Entity:
    order = require_entity(database, "orders", order_id, "order")
    if order["status"] != status:
        raise ToolError(f"non-{status} order cannot be {action}")
    return order


def _require_payment_method(database: Database, order: Entity, method_id: str) -> Entity:
    methods: dict[str, Entity] = require_entity(database, "users", order["user_id"], "user")[
        "payment_methods"
    ]
    if method_id not in methods:
        raise ToolError("payment method not found")
    return methods[method_id]


def _check_gift_balance(method: Entity, amount: float, what: str) -> None:
    if method["source"] == "gift_card" and method["balance"] < amount:
        raise ToolError(f"insufficient gift card balance to pay for the {what}")


def _charge_gift_card(database: Database, order: Entity, method_id: str, amount: float) -> None:
    """Take an amount from a gift card of the order's user; a negative one is paid back."""
    card = database.edit("users", order["user_id"])["payment_methods"][method_id]
    card["balance"] = round(card["balance"] - amount, 2)


def _list_surplus_items(order: Entity, item_ids: Sequence[str]) -> list[str]:
    """The items that are asked for more often than the order has them."""
    owned = [item["item_id"] for item in order["items"]]
    return [item_id for item_id in item_ids if item_ids.count(item_id) > owned.count(item_id)]


def _price_difference(
    database: Database, order: Entity, item_ids: Sequence[str], new_item_ids: Sequence[str]
) -> Any:
    """What the new items cost more than the old ones. Raises ToolError where one is not to be
    had."""
    if surplus := _list_surplus_items(order, item_ids):
        raise ToolError(f"{surplus[0]} not found")
    if len(item_ids) != len(new_item_ids):
        raise ToolError("the number of items to be exchanged should match")
    difference = 0
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
        item = _find_order_item(order, item_id)
        variants = _load_product_variants(database, item)
        if new_item_id not in variants or not variants[new_item_id]["available"]:
            raise ToolError(f"new item {new_item_id} not found or available")
        difference += variants[new_item_id]["price"] - item["price"]
    return difference


def _find_order_item(order: Entity, item_id: str) -> Entity:
    items: list[Entity] = order["items"]
    return next(item for item in items if item["item_id"] == item_id)


def _load_product_variants(database: Database, item: Entity) -> dict[str, Entity]:
    product = require_entity(database, "products", item["product_id"], "product")
    variants: dict[str, Entity] = product["variants"]
    return variants


def _build_payment_entry(kind: str, amount: float, method_id: str) -> Entity:
    return {"transaction_type": kind, "amount": amount, "payment_method_id": method_id}


def _build_address(
    address1: str, address2: str, city: str, state: str, country: str, zip: str
) -> Entity:
    return {
        "address1": address1,
        "address2": address2,
        "city": city,
        "state": state,
        "country": country,
        "zip": zip,
    }


TABLES = ("orders", "products", "users")


def find_user_id_by_email(database: Database, email: str) -> str:
    lowered_email = email.lower()
    for user_id, user in database.rows("users"):
        if user["email"].lower() == lowered_email:
            return user_id
    raise ToolError("user not found")


def find_user_id_by_name_zip(database: Database, first_name: str, last_name: str, zip: str) -> str:
    for user_id, user in database.rows("users"):
        if user["name"]["first_name"].lower() != first_name.lower():
            continue  # upstream looks at the family name of nobody else
        last = user["name"]["last_name"].lower()
        if last == last_name.lower() and user["address"]["zip"] == zip:
            return user_id
    raise ToolError("user not found")


def get_order_details(database: Database, order_id: str) -> str:
    return json.dumps(require_entity(database, "orders", order_id, "order"))


def get_product_details(database: Database, product_id: str) -> str:
    return json.dumps(require_entity(database, "products", product_id, "product"))


def list_all_product_types(database: Database) -> str:
    names = {product["name"]: product["product_id"] for _, product in database.rows("products")}
    return json.dumps(dict(sorted(names.items())))


_SCHEMAS: dict[str, Schema] = {
    "order_id": text_schema("The id of the order, with its leading '#', such as '#W0000000'."),
    "reason": text_schema("Why it is cancelled.", *REASONS),
    "item_ids": text_list_schema(
        "Ids of items of the order; an item that is there twice may be named twice."
    ),
    "new_item_ids": text_list_schema(
        "Ids of the new items, each in the place of the item it is for, of the same product."
    ),
    "payment_method_id": text_schema(
        "The id of a payment method in the user's profile, such as 'paypal_0000000'."
    ),
    "product_id": text_schema("The id of the product, which is not that of an item."),
    "user_id": text_schema("The id of the user, such as 'given_family_0000'."),
    "email": text_schema("The email address."),
    "first_name": text_schema("The first name."),
    "last_name": text_schema("The last name."),
    "address1": text_schema("First line of the address, such as '12 Long Street'."),
    "address2": text_schema("Second line of the address, such as 'Suite 3'; may be empty."),
    "city": text_schema("The city."),
    "state": text_schema("The state, such as 'NY'."),
    "country": text_schema("The country, such as 'USA'."),
    "zip": text_schema("The zip code, such as '12345'."),
}
_AFTER_YES = " Say what will be done and have the user's yes before."


def _build_write(function: Callable[..., str], description: str) -> Tool:
    return build_tool(function, description + _AFTER_YES, _SCHEMAS, writes=True)


TOOLS = (
    _build_write(
        cancel_pending_order,
        "Cancel an order that is pending. Gift cards are refunded at once, other payment methods "
        "within days.",
    ),
    _build_write(
        exchange_delivered_order_items,
        "Exchange items of a delivered order for others of the same products; possible once for "
        "an order.",
    ),
    build_tool(find_user_id_by_email, "Find the id of the user with an email address.", _SCHEMAS),
    build_tool(
        find_user_id_by_name_zip,
        "Find the id of a user by name and zip code; meant for users who cannot be found by email.",
        _SCHEMAS,
    ),
    build_tool(get_order_details, "All about an order: its status, items and payments.", _SCHEMAS),
    build_tool(
        get_product_details,
        "All about a product: its items with their options, prices and availability.",
        _SCHEMAS,
    ),
    build_tool(
        get_user_details, "All about a user: address, payment methods and orders.", _SCHEMAS
    ),
    build_tool(list_all_product_types, "The names and ids of all products of the shop.", _SCHEMAS),
    _build_write(modify_pending_order_address, "Change the address that a pending order goes to."),
    _build_write(
        modify_pending_order_items,
        "Change items of a pending order to others of the same products; possible once for an "
        "order.",
    ),
    _build_write(modify_pending_order_payment, "Change what a pending order is paid with."),
    _build_write(modify_user_address, "Change the default address of a user."),
    _build_write(
        return_delivered_order_items,
        "Return items of a delivered order. The refund goes to the original payment method or to "
        "a gift card.",
    ),
    *GENERAL_TOOLS,
)
