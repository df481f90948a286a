"""Two very small domains of tau-bench, and the replay of recorded episodes."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from evalcore.benchmarks.tau_bench.environment import (
    Database,
    Domain,
    Environment,
    Task,
    list_splits,
    load_domain,
    load_tasks,
)
from evalcore.benchmarks.tau_bench.environment.loaders import DOMAINS

ADDRESS = {
    "address1": "1 Long Street",
    "address2": "",
    "city": "Town",
    "state": "NY",
    "country": "USA",
    "zip": "10001",
}


PRICES = {"lamp": {"l1": 10.5, "l2": 20.6, "l3": 9.25}, "cup": {"c1": 3.1, "c2": 2.0}}
SHOP_METHODS = {
    "card_1": {"source": "credit_card", "id": "card_1"},
    "paypal_1": {"source": "paypal", "id": "paypal_1"},
    "gift_card_1": {"source": "gift_card", "balance": 15, "id": "gift_card_1"},
    "gift_card_2": {"source": "gift_card", "balance": 1.5, "id": "gift_card_2"},
}
AIR_METHODS = {
    "card_1": {"source": "credit_card", "id": "card_1"},
    "gift_card_1": {"source": "gift_card", "amount": 120, "id": "gift_card_1"},
    "certificate_1": {"source": "certificate", "amount": 100, "id": "certificate_1"},
}
DAY = {
    "status": "available",
    "available_seats": {"basic_economy": 9, "economy": 2, "business": 1},
    "prices": {"basic_economy": 50, "economy": 100, "business": 400},
}
FLIGHTS = (
    ("AF1", "SFO", "JFK", "20:00:00", "02:00:00+1"),
    ("AF2", "JFK", "BOS", "06:00:00", "07:00:00"),
    ("AF3", "SFO", "BOS", "06:00:00", "12:00:00"),
)


def _variant(name: str, item: str) -> dict[str, Any]:
    return {"item_id": item, "options": {"kind": item}, "price": PRICES[name][item]}


def _product(name: str) -> dict[str, Any]:
    variants = {item: {**_variant(name, item), "available": item != "l3"} for item in PRICES[name]}
    return {"name": name, "product_id": f"p_{name}", "variants": variants}


def retail(**order: Any) -> Domain:
    """One user, a lamp and a cup in some variants (l3 is sold out), and order #W1, pending unless
    `order` says otherwise, of the lamp l1 and the cup c1, paid by card_1."""
    items = [
        {"name": name, "product_id": f"p_{name}", **_variant(name, item)}
        for name, item in (("lamp", "l1"), ("cup", "c1"))
    ]
    paid = {"transaction_type": "payment", "amount": 13.6, "payment_method_id": "card_1"}
    made = {
        "order_id": "#W1",
        "user_id": "user_1",
        "address": dict(ADDRESS),
        "items": items,
        "status": "pending",
        "payment_history": [paid],
        **order,
    }
    user = {
        "name": {"first_name": "Given", "last_name": "Family"},
        "address": dict(ADDRESS),
        "email": "User.One@example.com",
        "payment_methods": SHOP_METHODS,
        "orders": ["#W1"],
    }
    products = {f"p_{name}": _product(name) for name in PRICES}
    tables = {"orders": {"#W1": made}, "products": products, "users": {"user_1": user}}
    return Domain("retail", Database(tables), DOMAINS["retail"][1], "Be kind.")


def airline() -> Domain:
    """One user with reservation R1 (AF1 on the 20th, economy, two passengers, one free bag), and
    the flights AF1 (arrives a day later), AF2 and AF3 on two days, late on a third."""
    flights = {
        name: {
            "flight_number": name,
            "origin": origin,
            "destination": destination,
            "scheduled_departure_time_est": departure,
            "scheduled_arrival_time_est": arrival,
            "dates": {"2024-05-20": DAY, "2024-05-21": DAY, "2024-05-22": {"status": "delayed"}},
        }
        for name, origin, destination, departure, arrival in FLIGHTS
    }
    booked = {"flight_number": "AF1", "date": "2024-05-20", "price": 90}
    people = [{"first_name": name, "last_name": "F", "dob": "1990-01-01"} for name in "AB"]
    reservation = {
        "reservation_id": "R1",
        "user_id": "user_1",
        "cabin": "economy",
        "flights": [{"origin": "SFO", "destination": "JFK", **booked}],
        "passengers": people,
        "payment_history": [{"payment_id": "card_1", "amount": 180}],
        "total_baggages": 1,
        "nonfree_baggages": 0,
        "insurance": "no",
    }
    user = {"payment_methods": AIR_METHODS, "reservations": ["R1"]}
    tables = {"flights": flights, "reservations": {"R1": reservation}, "users": {"user_1": user}}
    return Domain("airline", Database(tables), DOMAINS["airline"][1], "Be on time.")


def observations(environment: Environment, actions: Iterable[Mapping[str, Any]]) -> list[str]:
    """What each call of `{name, kwargs}` answers, in turn."""
    return [environment.call(action["name"], action["kwargs"]) for action in actions]


def short_hash(text: str) -> str:
    """How the recorded episodes hold an observation."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def official_domain(folder: Path, name: str) -> Domain:
    return load_domain(folder, name)


@cache
def official_tasks(folder: Path) -> dict[str, Task]:
    """All tasks of both domains by id."""
    return {
        task.id: task
        for name in DOMAINS
        for split in list_splits(folder, name)
        for task in load_tasks(folder, official_domain(folder, name), split)
    }


def recorded_rows(path: Path) -> list[dict[str, Any]]:
    """The recorded episodes of the official environment."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
