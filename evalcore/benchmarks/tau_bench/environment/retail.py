"""The retail domain: looking up users, orders and products, and the list of all its tools.

Tables: orders, products and users.
"""

from __future__ import annotations

import json

from evalcore.benchmarks.agents.tool import Schema
from evalcore.benchmarks.tau_bench.environment import retail_orders as orders
from evalcore.benchmarks.tau_bench.environment.database import Database
from evalcore.benchmarks.tau_bench.environment.general import GENERAL_TOOLS
from evalcore.benchmarks.tau_bench.environment.tool import Refused, found, text, texts, tool

TABLES = ("orders", "products", "users")


def find_user_id_by_email(database: Database, email: str) -> str:
    wanted = email.lower()
    for user_id, user in database.rows("users"):
        if user["email"].lower() == wanted:
            return user_id
    raise Refused("user not found")


def find_user_id_by_name_zip(database: Database, first_name: str, last_name: str, zip: str) -> str:
    first, last = first_name.lower(), last_name.lower()
    for user_id, user in database.rows("users"):
        name = user["name"]
        if (name["first_name"].lower(), name["last_name"].lower()) == (first, last) and user[
            "address"
        ]["zip"] == zip:
            return user_id
    raise Refused("user not found")


def get_user_details(database: Database, user_id: str) -> str:
    return json.dumps(found(database, "users", user_id, "user"))


def get_order_details(database: Database, order_id: str) -> str:
    return json.dumps(found(database, "orders", order_id, "order"))


def get_product_details(database: Database, product_id: str) -> str:
    return json.dumps(found(database, "products", product_id, "product"))


def list_all_product_types(database: Database) -> str:
    names = {product["name"]: product["product_id"] for _, product in database.rows("products")}
    return json.dumps(dict(sorted(names.items())))


_ORDER = text("The id of the order, with its leading '#', such as '#W0000000'.")
_USER = text("The id of the user, such as 'given_family_0000'.")
_METHOD = text("The id of a payment method in the user's profile, such as 'paypal_0000000'.")
_ITEMS = texts("Ids of items of the order; an item that is there twice may be named twice.")
_NEW_ITEMS = texts(
    "Ids of the new items, each in the place of the item it is for, of the same product."
)
_PLACE: dict[str, Schema] = {
    "address1": text("First line of the address, such as '12 Long Street'."),
    "address2": text("Second line of the address, such as 'Suite 3'; may be empty."),
    "city": text("The city."),
    "state": text("The state, such as 'NY'."),
    "country": text("The country, such as 'USA'."),
    "zip": text("The zip code, such as '12345'."),
}
_AFTER_YES = " Say what will be done and have the user's yes before."

TOOLS = (
    tool(
        orders.cancel_pending_order,
        "Cancel an order that is pending. Gift cards are refunded at once, other payment methods "
        "within days." + _AFTER_YES,
        {"order_id": _ORDER, "reason": text("Why it is cancelled.", *orders.REASONS)},
        writes=True,
    ),
    tool(
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
    tool(
        find_user_id_by_email,
        "Find the id of the user with an email address.",
        {"email": text("The email address.")},
    ),
    tool(
        find_user_id_by_name_zip,
        "Find the id of a user by name and zip code; meant for users who cannot be found by email.",
        {
            "first_name": text("The first name."),
            "last_name": text("The last name."),
            "zip": text("The zip code, such as '12345'."),
        },
    ),
    tool(
        get_order_details,
        "All about an order: its status, items and payments.",
        {"order_id": _ORDER},
    ),
    tool(
        get_product_details,
        "All about a product: its items with their options, prices and availability.",
        {"product_id": text("The id of the product, which is not that of an item.")},
    ),
    tool(
        get_user_details,
        "All about a user: address, payment methods and orders.",
        {"user_id": _USER},
    ),
    tool(list_all_product_types, "The names and ids of all products of the shop.", {}),
    tool(
        orders.modify_pending_order_address,
        "Change the address that a pending order goes to." + _AFTER_YES,
        {"order_id": _ORDER, **_PLACE},
        writes=True,
    ),
    tool(
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
    tool(
        orders.modify_pending_order_payment,
        "Change what a pending order is paid with." + _AFTER_YES,
        {"order_id": _ORDER, "payment_method_id": _METHOD},
        writes=True,
    ),
    tool(
        orders.modify_user_address,
        "Change the default address of a user." + _AFTER_YES,
        {"user_id": _USER, **_PLACE},
        writes=True,
    ),
    tool(
        orders.return_delivered_order_items,
        "Return items of a delivered order. The refund goes to the original payment method or to "
        "a gift card." + _AFTER_YES,
        {"order_id": _ORDER, "item_ids": _ITEMS, "payment_method_id": _METHOD},
        writes=True,
    ),
    *GENERAL_TOOLS,
)
