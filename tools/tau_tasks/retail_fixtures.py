"""A small shop: products with eight variants each, users, and orders made as tasks need them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product as combinations
from random import Random
from typing import Any

from tools.tau_tasks.profiles import make_user_profile, random_digits

Row = dict[str, Any]
_COLORS = ("red", "blue", "green", "grey")
_TWO = ("white", "black")
_SIZES = ("S", "M", "L")
_LENGTHS = ("short", "long")
_POWER = ("USB", "mains")
#: Base price in dollars and the values of each option. No name is a part of another.
PRODUCTS: dict[str, tuple[int, dict[str, tuple[str, ...]]]] = {
    "Rain Jacket": (95, {"color": _COLORS, "size": _SIZES}),
    "Trail Vest": (70, {"color": _COLORS, "size": _SIZES}),
    "Wool Scarf": (38, {"color": _COLORS, "length": _LENGTHS, "knit": ("plain", "cable")}),
    "Canvas Tote": (30, {"color": _COLORS, "size": _SIZES}),
    "Desk Fan": (45, {"color": _COLORS, "speeds": ("3", "5"), "power": _POWER}),
    "Table Lantern": (55, {"color": _COLORS, "bulb": ("warm", "cold"), "height": ("low", "tall")}),
    "Rice Cooker": (80, {"capacity": ("1 liter", "2 liters", "3 liters"), "color": _COLORS}),
    "Hand Blender": (60, {"power": ("400 W", "600 W", "800 W"), "color": _COLORS}),
    "Picnic Blanket": (40, {"color": _COLORS, "size": _SIZES}),
    "Camp Stove": (110, {"burners": ("1", "2"), "fuel": ("gas", "alcohol"), "color": _COLORS}),
    "Sleeping Bag": (130, {"season": ("summer", "winter", "all year"), "color": _COLORS}),
    "Board Game": (50, {"language": ("English", "Spanish", "French"), "players": ("2", "4", "6")}),
    "Ukulele": (120, {"size": ("soprano", "concert", "tenor"), "wood": ("koa", "spruce", "cedar")}),
    "Music Stand": (65, {"color": _COLORS, "height": ("low", "tall"), "foldable": ("yes", "no")}),
    "Bike Lock": (48, {"kind": ("chain", "cable", "frame"), "color": _COLORS}),
    "Bird Feeder": (35, {"material": ("cedar", "copper", "clay"), "size": _SIZES}),
    "Plant Pot": (28, {"material": ("clay", "zinc", "stone"), "size": _SIZES}),
    "Storage Box": (33, {"size": _SIZES, "lid": ("flat", "hinged"), "color": _TWO}),
    "Wall Mirror": (140, {"shape": ("round", "square", "oval"), "rim": ("oak", "steel", "brass")}),
    "Webcam": (85, {"resolution": ("HD", "full HD", "4K"), "sound": ("mono", "stereo", "none")}),
    "Drawing Pad": (150, {"size": _SIZES, "pen": ("battery", "passive"), "color": _TWO}),
    "Beard Trimmer": (58, {"blade": ("steel", "ceramic"), "color": _COLORS, "power": _POWER}),
    "Bath Sponge": (26, {"material": ("sea", "cotton", "loofah"), "size": _SIZES}),
    "Ear Tips": (29, {"material": ("foam", "silicone", "gel"), "size": _SIZES}),
}  # fmt: skip
#: Products that the policy lets nobody return once they are delivered.
HYGIENE = ("Beard Trimmer", "Bath Sponge", "Ear Tips")
_VARIANTS = 8
#: Places in the order of prices. Ordered items are of the middle, so that both cheaper and dearer
#: variants are to be had, and some is sold out.
_ORDERED_RANKS, CHEAPER_RANKS, DEARER_RANKS, SOLD_OUT_RANKS = (3, 4), (0, 1), (6, 7), (2, 5)


@dataclass
class Shop:
    """The tables as they grow; `used` are the products that each user has ordered."""

    rng: Random
    users: dict[str, Row] = field(default_factory=dict)
    products: dict[str, Row] = field(default_factory=dict)
    orders: dict[str, Row] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)
    used: dict[str, set[str]] = field(default_factory=dict)

    def new_id(self, count: int) -> str:
        """Digits that are no other id."""
        while (candidate := random_digits(self.rng, count)) in self.ids:
            pass
        self.ids.add(candidate)
        return candidate


def new_shop(rng: Random) -> Shop:
    """A shop with all products and nobody in it."""
    shop = Shop(rng)
    for name, (base, options) in PRODUCTS.items():
        spaces = [dict(zip(options, each, strict=True)) for each in combinations(*options.values())]
        variants = {}
        for rank, chosen in enumerate(rng.sample(spaces, _VARIANTS)):
            item = shop.new_id(10)
            price = round(base * (0.78 + 0.07 * rank + rng.random() * 0.04), 2)
            free = rank not in SOLD_OUT_RANKS
            variants[item] = {"item_id": item, "options": chosen, "available": free, "price": price}
        rows = dict(sorted(variants.items()))
        product_id = shop.new_id(10)
        shop.products[product_id] = {"name": name, "product_id": product_id, "variants": rows}
    return shop


def add_user(shop: Shop, balance: float = 0.0) -> str:
    """A new user with a credit card, PayPal and, given a balance, a gift card."""
    user_id, row = make_user_profile(shop.rng, len(shop.users))
    card, paypal = f"credit_card_{shop.new_id(7)}", f"paypal_{shop.new_id(7)}"
    methods: dict[str, Row] = {
        card: {
            "source": "credit_card",
            "brand": shop.rng.choice(("visa", "mastercard")),
            "last_four": random_digits(shop.rng, 4),
            "id": card,
        },
        paypal: {"source": "paypal", "id": paypal},
    }
    if balance:
        gift = f"gift_card_{shop.new_id(7)}"
        methods[gift] = {"source": "gift_card", "balance": balance, "id": gift}
    shop.users[user_id] = {**row, "payment_methods": methods, "orders": []}
    shop.used[user_id] = set()
    return user_id


def find_payment_method(shop: Shop, user_id: str, source: str) -> str:
    """The id of the user's payment method of a source."""
    methods: Row = shop.users[user_id]["payment_methods"]
    return next(name for name in methods if name.startswith(source))


def add_order(
    shop: Shop, user_id: str, status: str, *, only: tuple[str, ...] = (), paid: str = "credit_card"
) -> Row:
    """A new order of two to four products (or of `only`), each of which the user has once at most
    over all orders."""
    used = shop.used[user_id]
    free = [name for name in PRODUCTS if name not in used and name not in HYGIENE]
    names = only or tuple(shop.rng.sample(free, shop.rng.randrange(2, 5)))
    used.update(names)
    items = [_build_order_item(shop, name) for name in names]
    order_id = f"#W{shop.new_id(7)}"
    sent = {
        "tracking_id": [shop.new_id(12)],
        "item_ids": [item["item_id"] for item in items],
    }
    shop.orders[order_id] = {
        "order_id": order_id,
        "user_id": user_id,
        "address": dict(shop.users[user_id]["address"]),
        "items": items,
        "fulfillments": [] if status == "pending" else [sent],
        "status": status,
        "payment_history": [
            {
                "transaction_type": "payment",
                "amount": round(sum(item["price"] for item in items), 2),
                "payment_method_id": find_payment_method(shop, user_id, paid),
            }
        ],
    }
    shop.users[user_id]["orders"].append(order_id)
    return shop.orders[order_id]


def find_product(shop: Shop, name: str) -> Row:
    return next(row for row in shop.products.values() if row["name"] == name)


def rank_variants(shop: Shop, name: str) -> list[Row]:
    """The variants of a product from the cheapest to the dearest."""
    variants: list[Row] = list(find_product(shop, name)["variants"].values())
    return sorted(variants, key=lambda variant: float(variant["price"]))


def _build_order_item(shop: Shop, name: str) -> Row:
    variant = rank_variants(shop, name)[shop.rng.choice(_ORDERED_RANKS)]
    return {
        "name": name,
        "product_id": find_product(shop, name)["product_id"],
        "item_id": variant["item_id"],
        "price": variant["price"],
        "options": dict(variant["options"]),
    }
