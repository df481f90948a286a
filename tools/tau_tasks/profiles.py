"""Invented people and addresses for the bundled data of tau_bench.

A person has two first names; the second one fills the records' field for a family name.
"""

from __future__ import annotations

from random import Random
from typing import Any

FIRST = (
    "Mira", "Jonas", "Talia", "Enzo", "Priya", "Oskar", "Leila", "Mateo", "Anouk", "Kenji",
    "Zuri", "Henrik", "Noor", "Silas", "Ines", "Tomas", "Freya", "Ravi", "Elif", "Bruno",
    "Mei", "Caleb", "Salma", "Arvid", "Lucia", "Kofi", "Hana", "Declan", "Yara", "Emil",
)  # fmt: skip
SECOND = (
    "June", "Rose", "Ray", "Belle", "Dean", "Hope", "Jude", "Ivy", "Neil", "Pearl", "Ross",
    "Dawn", "Glen", "Faye", "Kurt", "Opal", "Seth", "Vera", "Wade", "Iris",
)  # fmt: skip
STREETS = (
    "Alder Street", "Quarry Road", "Meadow Lane", "Harbor Way", "Orchard Avenue", "Mill Court",
    "Larkspur Drive", "Foundry Street", "Willow Place", "Beacon Avenue", "Copper Lane",
    "Juniper Road", "Canal Street", "Ridge Drive", "Thistle Court", "Lantern Way",
)  # fmt: skip
#: Invented towns in states that exist.
TOWNS = (
    ("Larkfield", "OR"), ("Stonebrook", "OH"), ("Fernhollow", "WA"), ("Eastmere", "ME"),
    ("Copperdale", "AZ"), ("Brindle Bay", "FL"), ("Northwick", "MN"), ("Silverford", "CO"),
    ("Ashgrove", "GA"), ("Millhaven", "VT"), ("Redcliff Springs", "UT"), ("Oakpoint", "IL"),
)  # fmt: skip
PEOPLE = tuple((first, second) for first in FIRST for second in SECOND)


def random_digits(rng: Random, count: int) -> str:
    """Draw a number of `count` digits that does not start with 0."""
    return str(rng.randrange(10 ** (count - 1), 10**count))


def make_address(rng: Random) -> dict[str, Any]:
    """Draw an address in the form of the records."""
    city, state = rng.choice(TOWNS)
    return {
        "address1": f"{rng.randrange(10, 990)} {rng.choice(STREETS)}",
        "address2": f"{rng.choice(('Suite', 'Apt', 'Unit'))} {rng.randrange(2, 99)}",
        "city": city,
        "country": "USA",
        "state": state,
        "zip": random_digits(rng, 5),
    }


def make_user_profile(rng: Random, user_count: int) -> tuple[str, dict[str, Any]]:
    """Draw the id of a new user and the fields that all users have; `user_count` exist already."""
    first, second = PEOPLE[user_count * 37 % len(PEOPLE)]
    user_id = f"{first}_{second}_{random_digits(rng, 4)}".lower()
    return user_id, {
        "name": {"first_name": first, "last_name": second},
        "address": make_address(rng),
        "email": f"{first}.{second}{rng.randrange(10, 99)}@example.org".lower(),
    }
