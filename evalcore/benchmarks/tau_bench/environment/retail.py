"""The retail domain: looking up users, orders and products, and the list of all its tools.

Tables: orders, products and users.
"""

from __future__ import annotations

import json

from evalcore.benchmarks.agents.tool import Schema
from evalcore.benchmarks.tau_bench.environment import retail_orders as orders
from evalcore.benchmarks.tau_bench.environment.database import Database
from evalcore.benchmarks.tau_bench.environment.general import GENERAL_TOOLS
from evalcore.benchmarks.tau_bench.environment.tool import (
    ToolError,
    build_tool,
    require_entity,
    text_list_schema,
    text_schema,
)

TABLES = ("orders", "products", "users")


def find_user_id_by_email(database: Database, email: str) -> str:
    lowered_email = email.lower()
    for user_id, user in database.rows("users"):
        if user["email"].lower() == lowered_email:
            return user_id
    raise ToolError("user not found")


def find_user_id_by_name_zip(database: Database, first_name: str, last_name: str, zip: str) -> str:
    first, last = first_name.lower(), last_name.lower()
    for user_id, user in database.rows("users"):
        name = user["name"]
        if (name["first_name"].lower(), name["last_name"].lower()) == (first, last) and user[
            "address"
        ]["zip"] == zip:
            return user_id
    raise ToolError("user not found")


def get_user_details(database: Database, user_id: str) -> str:
    return json.dumps(require_entity(database, "users", user_id, "user"))


def get_order_details(database: Database, order_id: str) -> str:
    return json.dumps(require_entity(database, "orders", order_id, "order"))


def get_product_details(database: Database, product_id: str) -> str:
    return json.dumps(require_entity(database, "products", product_id, "product"))


def list_all_product_types(database: Database) -> str:
    names = {product["name"]: product["product_id"] for _, product in database.rows("products")}
    return json.dumps(dict(sorted(names.items())))


_ORDER = text_schema("The id of the order, with its leading '#', such as '#W0000000'.")
_USER = text_schema("The id of the user, such as 'given_family_0000'.")
_METHOD = text_schema("The id of a payment method in the user's profile, such as 'paypal_0000000'.")
_ITEMS = text_list_schema(
    "Ids of items of the order; an item that is there twice may be named twice."
)
_NEW_ITEMS = text_list_schema(
    "Ids of the new items, each in the place of the item it is for, of the same product."
)
_ADDRESS_FIELDS: dict[str, Schema] = {
    "address1": text_schema("First line of the address, such as '12 Long Street'."),
    "address2": text_schema("Second line of the address, such as 'Suite 3'; may be empty."),
    "city": text_schema("The city."),
    "state": text_schema("The state, such as 'NY'."),
    "country": text_schema("The country, such as 'USA'."),
    "zip": text_schema("The zip code, such as '12345'."),
}
_AFTER_YES = " Say what will be done and have the user's yes before."

TOOLS = (
    build_tool(
        orders.cancel_pending_order,
        "Cancel an order that is pending. Gift cards are refunded at once, other payment methods "
        "within days." + _AFTER_YES,
        {"order_id": _ORDER, "reason": text_schema("Why it is cancelled.", *orders.REASONS)},
        writes=True,
    ),
    build_tool(
        orders.exchange_delivered_order_items,
        "Exchange items of a delivered order for others of the same products; possible once for "
        "an order." + _AFTER_YES,
        {
            "order_id": _ORDER,
            "item_ids": _ITEMS,
            "new_item_ids": _NEW_ITEMS,
            "payment_method_id": _METHOD,
        },
        writes=True,
    ),
    build_tool(
        find_user_id_by_email,
        "Find the id of the user with an email address.",
        {"email": text_schema("The email address.")},
    ),
    build_tool(
        find_user_id_by_name_zip,
        "Find the id of a user by name and zip code; meant for users who cannot be found by email.",
        {
            "first_name": text_schema("The first name."),
            "last_name": text_schema("The last name."),
            "zip": text_schema("The zip code, such as '12345'."),
        },
    ),
    build_tool(
        get_order_details,
        "All about an order: its status, items and payments.",
        {"order_id": _ORDER},
    ),
    build_tool(
        get_product_details,
        "All about a product: its items with their options, prices and availability.",
        {"product_id": text_schema("The id of the product, which is not that of an item.")},
    ),
    build_tool(
        get_user_details,
        "All about a user: address, payment methods and orders.",
        {"user_id": _USER},
    ),
    build_tool(list_all_product_types, "The names and ids of all products of the shop.", {}),
    build_tool(
        orders.modify_pending_order_address,
        "Change the address that a pending order goes to." + _AFTER_YES,
        {"order_id": _ORDER, **_ADDRESS_FIELDS},
        writes=True,
    ),
    build_tool(
        orders.modify_pending_order_items,
        "Change items of a pending order to others of the same products; possible once for an "
        "order." + _AFTER_YES,
        {
            "order_id": _ORDER,
            "item_ids": _ITEMS,
            "new_item_ids": _NEW_ITEMS,
            "payment_method_id": _METHOD,
        },
        writes=True,
    ),
    build_tool(
        orders.modify_pending_order_payment,
        "Change what a pending order is paid with." + _AFTER_YES,
        {"order_id": _ORDER, "payment_method_id": _METHOD},
        writes=True,
    ),
    build_tool(
        orders.modify_user_address,
        "Change the default address of a user." + _AFTER_YES,
        {"user_id": _USER, **_ADDRESS_FIELDS},
        writes=True,
    ),
    build_tool(
        orders.return_delivered_order_items,
        "Return items of a delivered order. The refund goes to the original payment method or to "
        "a gift card." + _AFTER_YES,
        {"order_id": _ORDER, "item_ids": _ITEMS, "payment_method_id": _METHOD},
        writes=True,
    ),
    *GENERAL_TOOLS,
)
