"""The airline domain: looking up users, reservations and flights, and the list of all its tools.

Tables: flights, reservations and users. Two oddities of upstream's are kept: an unknown reservation
is answered by `user not found`, and the second leg of a connection that arrives a day later shows
the seats and prices of the first day.
"""

from __future__ import annotations

import json
from typing import Any

from evalcore.benchmarks.tau_bench.environment import airline_bookings as bookings
from evalcore.benchmarks.tau_bench.environment.base import Entity
from evalcore.benchmarks.tau_bench.environment.database import Database
from evalcore.benchmarks.tau_bench.environment.general import GENERAL_TOOLS
from evalcore.benchmarks.tau_bench.environment.tool import (
    build_tool,
    object_list_schema,
    require_entity,
    text_schema,
)

TABLES = ("flights", "reservations", "users")

#: The airports and their cities, in the order they are listed in.
AIRPORTS = {
    "SFO": "San Francisco",
    "JFK": "New York",
    "LAX": "Los Angeles",
    "ORD": "Chicago",
    "DFW": "Dallas",
    "DEN": "Denver",
    "SEA": "Seattle",
    "ATL": "Atlanta",
    "MIA": "Miami",
    "BOS": "Boston",
    "PHX": "Phoenix",
    "IAH": "Houston",
    "LAS": "Las Vegas",
    "MCO": "Orlando",
    "EWR": "Newark",
    "CLT": "Charlotte",
    "MSP": "Minneapolis",
    "DTW": "Detroit",
    "PHL": "Philadelphia",
    "LGA": "LaGuardia",
}


def get_user_details(database: Database, user_id: str) -> str:
    return json.dumps(require_entity(database, "users", user_id, "user"))


def get_reservation_details(database: Database, reservation_id: str) -> str:
    return json.dumps(require_entity(database, "reservations", reservation_id, "user"))


def list_all_airports(database: Database) -> str:
    return json.dumps(AIRPORTS)


def search_direct_flight(database: Database, origin: str, destination: str, date: str) -> str:
    return json.dumps(
        [
            _on_day(flight, date)
            for _, flight in database.rows("flights")
            if flight["origin"] == origin
            and flight["destination"] == destination
            and _is_available(flight, date)
        ]
    )


def search_onestop_flight(database: Database, origin: str, destination: str, date: str) -> str:
    flights = [flight for _, flight in database.rows("flights")]
    arriving = [flight for flight in flights if flight["destination"] == destination]
    connections = []
    for first in flights:
        if first["origin"] != origin:
            continue
        arrival = first["scheduled_arrival_time_est"]
        for second in arriving:
            if second["origin"] != first["destination"]:
                continue
            day = f"2024-05-{int(date[-2:]) + 1}" if "+1" in arrival else date
            in_time = arrival <= second["scheduled_departure_time_est"]
            if in_time and _can_connect(first, date, second, day):
                legs = _on_day(first, date), _on_day(second, date)
                connections.append([{**legs[0], "date": date}, {**legs[1], "date": day}])
    return json.dumps(connections)


def _can_connect(first: Entity, date: str, second: Entity, day: str) -> bool:
    """Whether both legs can be had, each on its day; both days are looked for first."""
    if date not in first["dates"] or day not in second["dates"]:
        return False
    return _is_available(first, date) and _is_available(second, day)


def _is_available(flight: Entity, date: str) -> bool:
    return date in flight["dates"] and flight["dates"][date]["status"] == "available"


def _on_day(flight: Entity, date: str) -> dict[str, Any]:
    """A flight without its calendar, and with what holds on one day of it."""
    plain = {name: value for name, value in flight.items() if name != "dates"}
    return {**plain, **flight["dates"][date]}


_USER = text_schema("The id of the user, such as 'given_family_0000'.")
_RESERVATION = text_schema("The id of the reservation, six letters and digits such as 'ABC123'.")
_FROM = text_schema("Where the trip starts, as the three letters of the airport, such as 'SFO'.")
_TO = text_schema("Where the trip goes to, as the three letters of the airport, such as 'JFK'.")
_DAY = text_schema("The day of the flight, such as '2024-05-01'.")
_CABIN = text_schema("The cabin of all flights.", "basic_economy", "economy", "business")
_METHOD = text_schema(
    "The id of a payment method in the user's profile, such as 'gift_card_0000000'."
)
_FLIGHT = {
    "flight_number": text_schema("The number of the flight, such as 'HAT001'."),
    "date": _DAY,
}
_PASSENGERS = object_list_schema(
    "All passengers.",
    {
        "first_name": text_schema("The first name."),
        "last_name": text_schema("The last name."),
        "dob": text_schema("The date of birth, such as '1990-01-01'."),
    },
)
_TOTAL = {"type": "integer", "description": "How many checked bags there are in all."}
_NONFREE = {"type": "integer", "description": "How many of the checked bags are not free."}

TOOLS = (
    build_tool(
        bookings.book_reservation,
        "Book a trip for a user. The payments have to add up to the total price.",
        {
            "user_id": _USER,
            "origin": _FROM,
            "destination": _TO,
            "flight_type": text_schema("Whether the trip goes back.", "one_way", "round_trip"),
            "cabin": _CABIN,
            "flights": object_list_schema("All flights of the trip, in order.", _FLIGHT),
            "passengers": _PASSENGERS,
            "payment_methods": object_list_schema(
                "What is paid with which payment method.",
                {
                    "payment_id": _METHOD,
                    "amount": {"type": "number", "description": "The amount in dollars."},
                },
            ),
            "total_baggages": _TOTAL,
            "nonfree_baggages": _NONFREE,
            "insurance": text_schema("Whether the trip is insured.", "yes", "no"),
        },
        writes=True,
    ),
    build_tool(
        bookings.cancel_reservation,
        "Cancel a whole reservation.",
        {"reservation_id": _RESERVATION},
        writes=True,
    ),
    build_tool(
        get_reservation_details,
        "All about a reservation: its flights, passengers, bags and payments.",
        {"reservation_id": _RESERVATION},
    ),
    build_tool(
        get_user_details,
        "All about a user: payment methods, membership and reservations.",
        {"user_id": _USER},
    ),
    build_tool(list_all_airports, "All airports and their cities.", {}),
    build_tool(
        search_direct_flight,
        "Find flights between two airports on a day, without a stop.",
        {"origin": _FROM, "destination": _TO, "date": _DAY},
    ),
    build_tool(
        search_onestop_flight,
        "Find connections between two airports on a day, with one stop.",
        {"origin": _FROM, "destination": _TO, "date": _DAY},
    ),
    build_tool(
        bookings.send_certificate,
        "Give a user a travel certificate. Use it only where the policy allows it.",
        {
            "user_id": _USER,
            "amount": {"type": "number", "description": "The worth of it in dollars."},
        },
        writes=True,
    ),
    build_tool(
        bookings.update_reservation_baggages,
        "Change how many bags a reservation has.",
        {
            "reservation_id": _RESERVATION,
            "total_baggages": _TOTAL,
            "nonfree_baggages": _NONFREE,
            "payment_id": _METHOD,
        },
        writes=True,
    ),
    build_tool(
        bookings.update_reservation_flights,
        "Change the flights or the cabin of a reservation.",
        {
            "reservation_id": _RESERVATION,
            "cabin": _CABIN,
            "flights": object_list_schema(
                "All flights of the changed reservation, in order, also those that stay.", _FLIGHT
            ),
            "payment_id": _METHOD,
        },
        writes=True,
    ),
    build_tool(
        bookings.update_reservation_passengers,
        "Change who flies; the number of passengers stays.",
        {"reservation_id": _RESERVATION, "passengers": _PASSENGERS},
        writes=True,
    ),
    *GENERAL_TOOLS,
)
